/* Ring files and names as a crashed, hostile or newer program may leave them, read by the collector.
 *
 * An input is a row of files: { uint8 kind, uint16 length (little end first), bytes }. Kinds 'c', 'n', 'i':
 * a ring of that writer, whose first bytes are its header, the rest its records; 'C', 'N', 'I': the
 * names of that writer. */
#include "fuzz.h"

#include "record/timeline/collector.h"
#include "record/timeline/ring_format.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct seen {
    int64_t names;
    int64_t classes;
    int64_t streams;
    size_t open;
    size_t ended;
    size_t bytes; /* of text read: whoever hands over a text, lets it be read whole */
} seen;

static int64_t take_name(void *context, const char *text)
{
    seen *s = context;
    s->bytes += strlen(text);
    return ++s->names;
}

static void take_process(void *context, const jm__process *process)
{
    seen *s = context;
    if (process->command) s->bytes += strlen(process->command);
}

static void take_begin(void *context, const jm__span *span)
{
    seen *s = context;
    FUZZ_PROMISE(span->id > 0);
    FUZZ_PROMISE(span->end_ns == -1);
    FUZZ_PROMISE(span->kind > JM_SPAN_NONE && span->kind < JM_SPAN_KIND_COUNT);
    s->open++;
}

static void take_end(void *context, const jm__span_end *end)
{
    seen *s = context;
    FUZZ_PROMISE(end->span_id > 0);
    s->ended++;
    FUZZ_PROMISE(s->ended <= s->open);
}

static void take_mark(void *context, const jm__mark *mark)
{
    seen *s = context;
    if (mark->meta) s->bytes += strlen(mark->meta);
}

static int64_t take_class(void *context, const jm__kernel_class *kernel_class)
{
    seen *s = context;
    FUZZ_PROMISE(kernel_class->work >= JM_WORK_KERNEL && kernel_class->work <= JM_WORK_MEMSET);
    return ++s->classes;
}

static int64_t take_stream(void *context, const jm__stream *stream, const char *board_uuid)
{
    seen *s = context;
    (void)stream;
    if (board_uuid) s->bytes += strlen(board_uuid);
    return ++s->streams;
}

static void take_kernels(void *context, const jm__kernel *kernels, size_t count)
{
    seen *s = context;
    for (size_t i = 0; i < count; i++) {
        FUZZ_PROMISE(kernels[i].calls >= 1);
        FUZZ_PROMISE(kernels[i].end_ns >= kernels[i].start_ns);
        FUZZ_PROMISE(kernels[i].class_id > 0 && kernels[i].class_id <= s->classes);
        FUZZ_PROMISE(kernels[i].stream_id > 0 && kernels[i].stream_id <= s->streams);
    }
}

static void take_loss(void *context, const jm__loss *loss)
{
    seen *s = context;
    FUZZ_PROMISE(loss->count > 0);
    s->bytes += strlen(loss->source) + strlen(loss->reason);
}

static void take_note(void *context, int64_t pid, const char *text)
{
    seen *s = context;
    (void)pid;
    s->bytes += strlen(text);
}

#define PID      4100000 /* beyond what this system gives out: that process is gone */
#define FILE_MAX (1u << 20)

/* A ring file as long as its header says, if that is within reason: zeros where the input ends. */
static void write_ring(char writer, int number, const uint8_t *data, size_t size)
{
    char name[64];
    snprintf(name, sizeof name, "%d-%c-%d%s", PID, writer, number, JM_RING_SUFFIX);
    jm_ring_header header = {0};
    size_t header_size = size < sizeof header ? size : sizeof header;
    memcpy(&header, data, header_size);
    if (header.magic != 0)
        header.magic = JM_RING_MAGIC; /* any other is refused at once: nothing to find there */
    uint64_t wanted = JM_RING_HEADER_SIZE + (uint64_t)header.capacity * header.record_size;
    size_t file_size = JM_RING_HEADER_SIZE + size - header_size;
    if (wanted > file_size && wanted <= FILE_MAX) file_size = (size_t)wanted;
    uint8_t *file = calloc(1, file_size);
    FUZZ_PROMISE(file != NULL);
    memcpy(file, &header, sizeof header);
    memcpy(file + JM_RING_HEADER_SIZE, data + header_size, size - header_size);
    fuzz_file(name, file, file_size);
    free(file);
}

/* Names numbered far apart are allowed and only cost memory, hence time: bring most of them near. */
static void write_names(char writer, const uint8_t *data, size_t size)
{
    uint8_t *file = malloc(size + 1);
    FUZZ_PROMISE(file != NULL);
    memcpy(file, data, size);
    uint32_t entry[2]; /* number, length */
    for (size_t at = 0; at + sizeof entry <= size; at += sizeof entry + entry[1]) {
        memcpy(entry, file + at, sizeof entry);
        if (entry[0] > UINT16_MAX && entry[0] < UINT32_MAX / 2) entry[0] &= 0xff;
        memcpy(file + at, entry, sizeof entry);
        if (entry[1] > size) break;
    }
    char name[64];
    snprintf(name, sizeof name, "%d-%c%s", PID, writer, JM_NAMES_SUFFIX);
    fuzz_file(name, file, size);
    free(file);
}

static void write_files(const uint8_t *data, size_t size)
{
    for (int number = 1; size >= 3 && number <= 8; number++) {
        char kind = (char)data[0];
        size_t length = (size_t)data[1] | (size_t)data[2] << 8;
        data += 3;
        size -= 3;
        if (length > size) length = size;
        if (strchr("cni", kind) && kind) {
            write_ring(kind, number, data, length);
        } else if (strchr("CNI", kind) && kind) {
            write_names((char)tolower(kind), data, length);
        }
        data += length;
        size -= length;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    seen s = {0};
    jm__collector_sink sink = {
        .context = &s,
        .name = take_name,
        .process = take_process,
        .span_begin = take_begin,
        .span_end = take_end,
        .mark = take_mark,
        .kernel_class = take_class,
        .stream = take_stream,
        .kernels = take_kernels,
        .loss = take_loss,
        .note = take_note,
    };
    fuzz_clear();
    write_files(data, size);
    jm__collector *collector = NULL;
    jm_error err;
    if (jm__collector_create(&collector, fuzz_path("."), &sink, &err) != JM_OK) return 0;
    for (int poll = 0; poll < 3; poll++) {
        size_t records = 0;
        if (jm__collector_poll(collector, &records, &err) != JM_OK) break;
        (void)jm__collector_complete_ns(collector);
    }
    (void)jm__collector_finish(collector, &err);
    FUZZ_PROMISE(s.ended <= s.open);
    jm__collector_free(collector);
    return 0;
}
