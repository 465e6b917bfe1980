/* The collector: finds rings, empties them in the order of time, assigns kernels to spans, and reports how
 * far it is. */
#include "record/timeline/collector.h"

#include "base/mapped.h"
#include "base/private_file.h"
#include "base/status.h"
#include "record/timeline/collector_parts.h"
#include "record/timeline/identity.h"
#include "record/timeline/ring.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- one ring: mapped, but read by copying, since its file may be truncated at any time */

#define TAIL_EVERY  4096u  /* records between two updates of the producer's free space */
#define CHUNK_BYTES 16384u /* per copy: more is not faster; little even for a thousand rings */

static bool header_makes_sense(const jm_ring_header *header, off_t file_bytes)
{
    bool spans = header->writer == JM_WRITER_CORE || header->writer == JM_WRITER_NVTX;
    size_t record_size = spans ? sizeof(jm_ring_span) : sizeof(jm_ring_kernel);
    uint64_t capacity = header->capacity;
    return (spans || header->writer == JM_WRITER_INJECT) && header->record_size == record_size &&
           capacity > 0 && (capacity & (capacity - 1)) == 0 && header->pid > 0 &&
           (uint64_t)file_bytes >= JM_RING_HEADER_SIZE + capacity * record_size;
}

/* Maps a ring and copies its header; false if it is no ring, or not yet. */
static bool map_ring(collector_reader *reader, int folder, jm_ring_header *first)
{
    int fd = jm__private_file_at(folder, reader->name, O_RDWR);
    if (fd < 0) return false;
    struct stat file;
    void *map = MAP_FAILED;
    if (fstat(fd, &file) == 0 && file.st_size >= (off_t)JM_RING_HEADER_SIZE)
        map = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED) return false;
    reader->header = map;
    reader->mapped_bytes = (size_t)file.st_size;
    reader->records = (const char *)map + JM_RING_HEADER_SIZE;
    /* The magic number is stored last, so the rest is read after it. */
    uint64_t magic = 0;
    bool valid = jm__mapped_read(&magic, &reader->header->magic, sizeof magic) && magic == JM_RING_MAGIC;
    atomic_thread_fence(memory_order_acquire);
    if (!valid || !jm__mapped_read(first, map, sizeof *first) || !header_makes_sense(first, file.st_size)) {
        munmap(map, reader->mapped_bytes);
        return false;
    }
    reader->capacity = first->capacity;
    reader->record_size = first->record_size;
    reader->tail = atomic_load_explicit(&first->tail, memory_order_relaxed);
    return true;
}

/* Converts CLOCK_MONOTONIC of the program's time namespace to ours. The stamp may be garbage; wrapping does
 * no harm. */
static int64_t time_here(const collector_reader *reader, int64_t t_ns)
{
    return (int64_t)((uint64_t)t_ns + reader->clock_shift_ns);
}

static void free_reader(collector_reader *reader)
{
    if (reader->header != NULL) munmap(reader->header, reader->mapped_bytes);
    free(reader->chunk);
    free(reader->name);
    free(reader);
}

/* Gives up a truncated ring: counts the records that it still had. */
static void abandon_ring(jm__collector *collector, collector_reader *reader)
{
    uint64_t known = reader->head - reader->tail;
    jm__collector_report_loss(
        collector, reader->process->row_id, known == 0 ? 1 : known, "ring",
        "the file of a ring was cut short: these records and all later ones of it are gone");
    reader->tail = reader->head;
    reader->ended = true;
}

static void report_lost(jm__collector *collector, collector_reader *reader, const jm_ring_header *header)
{
    uint64_t lost = atomic_load_explicit(&header->lost, memory_order_relaxed);
    if (lost > reader->lost_reported) {
        jm__collector_report_loss(collector, reader->process->row_id, lost - reader->lost_reported, "ring",
                                  reader->writer == JM_WRITER_INJECT
                                      ? "the ring of kernel records was full"
                                      : "the ring of a thread's spans was full");
    }
    reader->lost_reported = lost;
    uint64_t refused = atomic_load_explicit(&header->names_refused, memory_order_relaxed);
    if (refused > reader->names_refused_reported)
        reader->process->refused_names += refused - reader->names_refused_reported;
    reader->names_refused_reported = refused;
}

static void read_header(jm__collector *collector, collector_reader *reader)
{
    jm_ring_header header; /* read before `head`: its counts concern records below that head */
    bool dead = reader->process->dead;
    bool there = jm__mapped_read(&header, reader->header, sizeof header);
    atomic_thread_fence(memory_order_acquire);
    if (!there || !jm__mapped_read_head(&reader->head, &reader->header->head)) {
        abandon_ring(collector, reader);
        return;
    }
    reader->ended = dead || atomic_load_explicit(&header.closed, memory_order_relaxed) != 0;
    int64_t flushed_ns = atomic_load_explicit(&header.flushed_ns, memory_order_relaxed);
    reader->flushed_ns = flushed_ns == 0 ? 0 : time_here(reader, flushed_ns);
    if (reader->flushed_ns > reader->process->flushed_ns) reader->process->flushed_ns = reader->flushed_ns;
    if (reader->head - reader->tail > reader->capacity) { /* the file is damaged */
        reader->process->malformed++;
        reader->tail = reader->head;
    }
    report_lost(collector, reader, &header);
}

static void publish_tail(collector_reader *reader)
{
    atomic_thread_fence(memory_order_release);
    jm__mapped_write(&reader->header->tail, &reader->tail, sizeof reader->tail);
}

static void advance(jm__collector *collector, collector_reader *reader)
{
    reader->tail++;
    collector->taken++;
    if (reader->tail % TAIL_EVERY == 0) publish_tail(reader);
}

/* The number of contiguous records from `tail`. */
static uint64_t count_chunk(const collector_reader *reader, uint64_t at)
{
    uint64_t count = CHUNK_BYTES / reader->record_size;
    if (count > reader->head - reader->tail) count = reader->head - reader->tail;
    return count < reader->capacity - at ? count : reader->capacity - at;
}

/* Converts stamps of the program's time namespace. CLOCK_REALTIME is the same in all. */
static void set_times(const collector_reader *reader)
{
    if (reader->clock_shift_ns == 0 || reader->realtime) return;
    for (uint64_t i = 0; i < reader->chunk_count; i++) {
        void *record = reader->chunk + i * reader->record_size;
        jm_ring_span *span = record;
        jm_ring_kernel *kernel = record;
        if (reader->writer != JM_WRITER_INJECT) {
            span->t_ns = time_here(reader, span->t_ns);
        } else {
            kernel->start_ns = time_here(reader, kernel->start_ns);
            kernel->end_ns = time_here(reader, kernel->end_ns);
        }
    }
}

/* Copies records from `tail`; false if there are none or memory is out. Records in a truncated part of the
 * file are counted as lost. */
static bool load_chunk(jm__collector *collector, collector_reader *reader)
{
    if (reader->chunk == NULL) reader->chunk = malloc(CHUNK_BYTES);
    if (reader->chunk == NULL) {
        collector->out_of_memory = true;
        return false;
    }
    while (reader->tail != reader->head) {
        uint64_t at = reader->tail & (reader->capacity - 1), count = count_chunk(reader, at);
        const char *from = reader->records + at * reader->record_size;
        reader->chunk_from = reader->tail;
        reader->chunk_count = count;
        if (jm__mapped_read(reader->chunk, from, count * reader->record_size)) {
            set_times(reader);
            return true;
        }
        jm__collector_report_loss(collector, reader->process->row_id, count, "ring",
                                  "the file of a ring was cut short: these records are gone");
        reader->tail += count;
        reader->chunk_count = 0;
    }
    return false;
}

static bool has_record(jm__collector *collector, collector_reader *reader)
{
    if (reader->tail == reader->head) return false;
    return reader->tail - reader->chunk_from < reader->chunk_count || load_chunk(collector, reader);
}

static const void *next_record(const collector_reader *reader)
{
    return reader->chunk + (reader->tail - reader->chunk_from) * reader->record_size;
}

static void release_ring(collector_reader *reader)
{
    publish_tail(reader);
    if (reader->tail != reader->head) return;
    free(reader->chunk);
    reader->chunk = NULL;
    reader->chunk_count = 0;
}

/* ---- converting CUPTI's CLOCK_REALTIME stamps to CLOCK_MONOTONIC, even across a step of the realtime
 * clock */

static void update_clock(jm__collector *collector)
{
    jm__anchor anchor = jm__anchor_take();
    int64_t offset_ns = anchor.monotonic_ns - anchor.realtime_ns;
    if (collector->segment_count > 0) {
        int64_t change_ns = offset_ns - collector->segments[collector->segment_count - 1].offset_ns;
        if (change_ns > -JM_CLOCK_STEP_NS && change_ns < JM_CLOCK_STEP_NS) {
            collector->clock_checked_ns = anchor.monotonic_ns;
            return;
        }
    }
    if (collector->segment_count == JM_CLOCK_SEGMENTS) {
        memmove(collector->segments, collector->segments + 1,
                (JM_CLOCK_SEGMENTS - 1) * sizeof collector->segments[0]);
        collector->segment_count--;
    }
    collector->segments[collector->segment_count++] =
        (collector_clock_segment){.from_ns = collector->clock_checked_ns, .offset_ns = offset_ns};
    collector->clock_checked_ns = anchor.monotonic_ns;
}

/* A stamp belongs to the newest segment that makes it possible: neither before the last poll of the previous
 * segment nor in the future. */
int64_t jm__collector_clock_convert(const jm__collector *collector, int64_t realtime_ns)
{
    size_t last = collector->segment_count - 1;
    for (size_t i = last; i > 0; i--) {
        int64_t t_ns = realtime_ns + collector->segments[i].offset_ns;
        if (t_ns >= collector->segments[i].from_ns && t_ns <= collector->now_ns + JM_CLOCK_STEP_NS)
            return t_ns;
    }
    /* Otherwise it belongs to the oldest segment, or lies between segments. */
    int64_t t_ns = realtime_ns + collector->segments[0].offset_ns;
    if (last > 0 && t_ns > collector->segments[1].from_ns)
        t_ns = realtime_ns + collector->segments[last].offset_ns;
    return t_ns;
}

/* ---- kernels, copies and sets: assigned to a span by their launch, grouped into classes, sent in batches */

/* A launch call may return and be reported this long after the end of its kernel. */
#define LAUNCH_LATE_NS JM_NS_PER_S

static int64_t stream_of(jm__collector *collector, collector_process *process, const jm_ring_kernel *record)
{
    uint64_t key[2] = {record->device, (uint64_t)record->context << 32 | record->stream};
    jm__map_value *found = jm__map_find(&process->streams, key);
    if (found != NULL) return found->id;
    jm__stream row = {.process_id = process->row_id, .context = record->context, .stream = record->stream};
    int64_t id = collector->sink.stream(collector->sink.context, &row, process->board_uuids[record->device]);
    if (id > 0 && !jm__map_put(&process->streams, key, (jm__map_value){.id = id}))
        collector->out_of_memory = true;
    return id;
}

static jm__work work_of(const jm_ring_kernel *record)
{
    if (record->op == JM_RING_MEMCPY) return JM_WORK_MEMCPY;
    return record->op == JM_RING_MEMSET ? JM_WORK_MEMSET : JM_WORK_KERNEL;
}

static int64_t class_of(jm__collector *collector, collector_names *names, const jm_ring_kernel *record)
{
    struct {
        int64_t name_id;
        uint32_t grid[3], block[3];
        uint32_t work, zero;
    } key;
    _Static_assert(sizeof key == 40, "no padding in the key");
    memset(&key, 0, sizeof key);
    key.name_id = jm__collector_name_row(collector, names, record->name);
    key.work = (uint32_t)work_of(record);
    for (int i = 0; i < 3 && record->op == JM_RING_KERNEL; i++) {
        key.grid[i] = record->grid[i];
        key.block[i] = record->block[i];
    }
    jm__map_value *found = jm__map_find(&collector->classes, &key);
    if (found != NULL) return found->id;
    if (collector->classes.count >= JM_KERNEL_CLASSES_MAX) return -1;
    jm__kernel_class row = {.name_id = key.name_id, .work = work_of(record)};
    memcpy(row.grid, key.grid, sizeof row.grid);
    memcpy(row.block, key.block, sizeof row.block);
    int64_t id = collector->sink.kernel_class(collector->sink.context, &row);
    if (id > 0 && !jm__map_put(&collector->classes, &key, (jm__map_value){.id = id}))
        collector->out_of_memory = true;
    return id;
}

static void flush_batch(jm__collector *collector)
{
    if (collector->batch_count == 0) return;
    collector->sink.kernels(collector->sink.context, collector->batch, collector->batch_count);
    collector->batch_count = 0;
}

/* 0: not part of a graph. */
static uint64_t node_of(const jm_ring_kernel *record)
{
    return record->op == JM_RING_KERNEL ? record->bytes : (uint64_t)record->grid[1] << 32 | record->grid[0];
}

/* Sends a kernel to the sink. Its times are CLOCK_MONOTONIC, `subscription` as when it was read. With `wait`,
 * false means that its launch is not known yet. */
static bool send_kernel(jm__collector *collector, collector_process *process, collector_names *names,
                        const jm_ring_kernel *record, uint32_t subscription, bool wait)
{
    collector_launch *launch = jm__collector_launch_find(process, record->correlation, subscription);
    if (wait && (launch == NULL || process->board_uuids[record->device] == NULL)) return false;
    if (wait && launch->t_ns >= collector->spans_done_ns) return false;
    jm__kernel row = {.start_ns = record->start_ns,
                      .end_ns = record->end_ns,
                      .launch_ns = -1,
                      .bytes = record->op == JM_RING_KERNEL ? 0 : (int64_t)record->bytes,
                      .calls = 1};
    if (launch == NULL) {
        process->no_launch++;
    } else {
        row.launch_ns = launch->t_ns;
        if (!jm__collector_innermost(process, launch->tid, launch->t_ns, &row.span_id)) process->no_history++;
        uint64_t node = node_of(record);
        if (node != 0) row.span_id = jm__collector_replayed(collector, process, launch, node, row.span_id);
    }
    row.class_id = class_of(collector, names, record);
    row.stream_id = stream_of(collector, process, record);
    if (row.class_id <= 0 || row.stream_id <= 0) {
        jm__collector_report_loss(collector, process->row_id, 1, "recorder",
                                  "a kernel's class or stream was refused");
        return true;
    }
    collector->batch[collector->batch_count++] = row;
    if (collector->batch_count == JM_KERNEL_BATCH) flush_batch(collector);
    return true;
}

static void work_record(jm__collector *collector, collector_reader *reader, const jm_ring_kernel *record)
{
    collector_process *process = reader->process;
    if (record->end_ns < record->start_ns || record->start_ns <= 0) {
        process->malformed++;
        return;
    }
    jm__collector_process_saw(process, record->start_ns, record->end_ns);
    uint32_t subscription = process->subscription;
    if (send_kernel(collector, process, reader->names, record, subscription, !collector->final)) return;
    collector_waiting waiting = {*record, subscription, collector->now_ns, process, reader->names};
    if (collector->waiting.count < JM_WAITING_MAX && jm__vec_push(&collector->waiting, waiting)) return;
    send_kernel(collector, process, reader->names, record, subscription,
                false); /* the queue is full: send it without its launch */
}

static void device_record(jm__collector *collector, collector_reader *reader, const jm_ring_kernel *record)
{
    const char *uuid = jm__collector_name_text(collector, reader->names, record->name);
    char **known = &reader->process->board_uuids[record->device];
    if (uuid == NULL || *known != NULL) return;
    *known = strdup(uuid);
    if (*known == NULL) collector->out_of_memory = true;
}

static void take_kernel(jm__collector *collector, collector_reader *reader, const jm_ring_kernel *record)
{
    if (!jm__collector_is_stamp(record->start_ns) || !jm__collector_is_stamp(record->end_ns)) {
        reader->process->malformed++;
        return;
    }
    const char *text;
    jm_ring_kernel converted = *record;
    if (reader->realtime && record->start_ns > 0) {
        converted.start_ns = jm__collector_clock_convert(collector, record->start_ns);
        /* One offset for both ends: a step in between must not change the duration. */
        converted.end_ns = converted.start_ns + (record->end_ns - record->start_ns);
    }
    switch (record->op) {
    case JM_RING_KERNEL:
    case JM_RING_MEMCPY:
    case JM_RING_MEMSET:
        work_record(collector, reader, &converted);
        break;
    case JM_RING_DEVICE:
        device_record(collector, reader, record);
        break;
    case JM_RING_LOST:
        text = jm__collector_name_text(collector, reader->names, record->name);
        jm__collector_report_loss(collector, reader->process->row_id, record->bytes, "cupti",
                                  text == NULL ? "CUPTI lost these records" : text);
        break;
    case JM_RING_NOTE:
        text = jm__collector_name_text(collector, reader->names, record->name);
        if (text != NULL) collector->sink.note(collector->sink.context, reader->process->pid, text);
        break;
    case JM_RING_AGAIN:
        reader->process->subscription = (uint32_t)record->bytes;
        break;
    case JM_RING_GRAPHS:
        reader->process->reports_graphs = true;
        break;
    default:
        reader->process->malformed++;
    }
}

static void retry_waiting(jm__collector *collector)
{
    size_t kept = 0;
    for (size_t i = 0; i < collector->waiting.count; i++) {
        collector_waiting waiting = collector->waiting.items[i];
        /* Once CUPTI has flushed past the end of the kernel, its launch will not come any more. */
        bool over = collector->final || collector->now_ns - waiting.since_ns > JM_WAITING_NS ||
                    (waiting.process->dead && waiting.process->readers == 0) ||
                    waiting.record.end_ns + LAUNCH_LATE_NS < waiting.process->flushed_ns;
        if (!send_kernel(collector, waiting.process, waiting.names, &waiting.record, waiting.subscription,
                         !over))
            collector->waiting.items[kept++] = waiting;
    }
    collector->waiting.count = kept;
}

/* ---- all rings */

/* A thread may be preempted between reading the clock and publishing the record. Records younger than this
 * wait for the next poll, so that all threads' records can be merged by time. */
#define SETTLING_NS JM_NS_PER_MS
/* Longest wait for records inside CUPTI, which may hold an empty buffer. */
#define HELD_MAX_NS (INT64_C(3) * JM_NS_PER_S)

jm_status jm__collector_create(jm__collector **out, const char *run_dir, const jm__collector_sink *sink,
                               jm_error *err)
{
    jm__collector *collector = calloc(1, sizeof *collector);
    char *copy = strdup(run_dir);
    if (collector == NULL || copy == NULL) {
        free(collector);
        free(copy);
        return jm__no_memory(err, "jm__collector_create");
    }
    collector->run_dir = copy;
    collector->pid_namespace = jm__namespace_of(JM_SELF, "pid");
    collector->time_namespace = jm__namespace_of(JM_SELF, "time");
    collector->ahead_ns = jm__clock_ahead_ns();
    if (gethostname(collector->host, sizeof collector->host - 1) != 0) collector->host[0] = '\0';
    collector->sink = *sink;
    collector->files.key_size = sizeof(uint64_t);
    collector->classes.key_size = 40;
    collector->replay_span_ns = JM_REPLAY_SPAN_NS;
    collector->now_ns = collector->complete_ns = jm__now_ns();
    collector->clock_checked_ns = collector->now_ns;
    update_clock(collector);
    *out = collector;
    return JM_OK;
}

static bool attach_reader(jm__collector *collector, collector_reader *reader, const jm_ring_header *header)
{
    reader->writer = header->writer;
    reader->realtime = header->realtime != 0;
    jm_ring_identity identity;
    if (!jm__mapped_read(&identity, (const char *)reader->header + JM_RING_IDENTITY_AT, sizeof identity))
        identity = (jm_ring_identity){0};
    reader->clock_shift_ns = (uint64_t)collector->ahead_ns - (uint64_t)header->ahead_ns;
    reader->process =
        jm__collector_process_of(collector, header->pid, time_here(reader, header->created_ns), &identity);
    if (reader->process == NULL) return false;
    reader->names = jm__collector_names_of(collector, reader->process, header->writer, header->names_file);
    if (reader->names == NULL) return false;
    if (header->writer != JM_WRITER_INJECT) {
        reader->thread = jm__collector_thread_of(collector, reader->process, header->tid);
        if (reader->thread == NULL) return false;
    }
    reader->replaces = header->names_file > 0;
    if (!jm__map_put(&collector->files, &reader->file_key, (jm__map_value){.object = reader})) return false;
    if (!jm__vec_push(&collector->readers, reader)) return false;
    reader->process->readers++;
    if (reader->thread != NULL) reader->thread->readers++;
    return true;
}

static void open_ring_file(jm__collector *collector, int folder, const char *name)
{
    int pid, end = 0;
    char writer;
    unsigned number;
    if (sscanf(name, "%d-%c-%u" JM_RING_SUFFIX "%n", &pid, &writer, &number, &end) != 3 || end == 0) return;
    if (pid <= 0 || number >= 1u << 24 || name[end] != '\0') return;
    uint64_t key = (uint64_t)pid << 32 | (uint64_t)(unsigned char)writer << 24 | number;
    if (jm__map_find(&collector->files, &key) != NULL) return;
    collector_reader *reader = calloc(1, sizeof *reader);
    if (reader != NULL) reader->name = strdup(name);
    if (reader == NULL || reader->name == NULL) {
        free(reader);
        collector->out_of_memory = true;
        return;
    }
    reader->file_key = key;
    jm_ring_header first;
    if (!map_ring(reader, folder, &first)) {
        free_reader(reader);
    } else if (!attach_reader(collector, reader, &first)) {
        jm__map_remove(&collector->files, &key);
        free_reader(reader);
        collector->out_of_memory = true;
    }
}

static jm_status scan(jm__collector *collector, jm_error *err)
{
    int fd = jm__private_folder(collector->run_dir);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL && fd >= 0) close(fd);
    if (folder == NULL)
        return jm__fail(err, JM_IO, errno, "opendir", "cannot read the run's folder %s: %s",
                        collector->run_dir, strerror(errno));
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        open_ring_file(collector, fd, entry->d_name);
    closedir(folder);
    return JM_OK;
}

static int64_t time_of_next(const collector_reader *reader)
{
    return ((const jm_ring_span *)next_record(reader))->t_ns;
}

/* Restores the heap below `at`. */
static void sift_down(jm__collector *collector, size_t at)
{
    collector_reader **heap = collector->heap.items;
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < collector->heap.count; child++)
            if (time_of_next(heap[child]) < time_of_next(heap[least])) least = child;
        if (least == at) return;
        collector_reader *moved = heap[at];
        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
    }
}

/* Merges all span rings by time, up to limit_ns. */
static void drain_spans(jm__collector *collector, int64_t limit_ns)
{
    collector->heap.count = 0;
    for (size_t i = 0; i < collector->readers.count; i++) {
        collector_reader *reader = collector->readers.items[i];
        if (reader->thread == NULL || !has_record(collector, reader)) continue;
        if (!jm__vec_push(&collector->heap, reader)) collector->out_of_memory = true;
    }
    for (size_t i = collector->heap.count / 2; i > 0; i--)
        sift_down(collector, i - 1);
    while (collector->heap.count > 0) {
        collector_reader *reader = collector->heap.items[0];
        jm_ring_span record = *(const jm_ring_span *)next_record(reader);
        if (record.t_ns > limit_ns) break;
        jm__collector_span_record(collector, reader, &record);
        advance(collector, reader);
        if (!has_record(collector, reader))
            collector->heap.items[0] = collector->heap.items[--collector->heap.count];
        sift_down(collector, 0);
    }
}

static void drain_kernels(jm__collector *collector)
{
    for (size_t i = 0; i < collector->readers.count; i++) {
        collector_reader *reader = collector->readers.items[i];
        if (reader->thread != NULL) continue;
        while (has_record(collector, reader)) {
            take_kernel(collector, reader, next_record(reader));
            advance(collector, reader);
        }
    }
}

static void remove_file(jm__collector *collector, const collector_reader *reader)
{
    int folder = jm__private_folder(collector->run_dir);
    if (folder < 0) return;
    if (unlinkat(folder, reader->name, 0) == 0) jm__map_remove(&collector->files, &reader->file_key);
    close(folder);
}

/* Frees ring space, and removes the files of finished writers. */
static void release(jm__collector *collector)
{
    size_t kept = 0;
    for (size_t i = 0; i < collector->readers.count; i++) {
        collector_reader *reader = collector->readers.items[i];
        release_ring(reader);
        if (!reader->ended || reader->tail != reader->head) {
            collector->readers.items[kept++] = reader;
            continue;
        }
        remove_file(collector, reader);
        reader->process->readers--;
        if (reader->thread != NULL) reader->thread->readers--;
        free_reader(reader);
    }
    collector->readers.count = kept;
}

static void find_complete(jm__collector *collector)
{
    int64_t complete_ns = collector->spans_done_ns, held_ns = collector->now_ns - HELD_MAX_NS;
    for (size_t i = 0; i < collector->readers.count; i++) {
        const collector_reader *reader = collector->readers.items[i];
        if (reader->thread != NULL) continue;
        int64_t flushed_ns = reader->flushed_ns;
        if (flushed_ns < held_ns) flushed_ns = held_ns;
        if (flushed_ns < complete_ns) complete_ns = flushed_ns;
    }
    for (size_t i = 0; i < collector->waiting.count; i++) {
        const collector_waiting *waiting = &collector->waiting.items[i];
        if (waiting->since_ns > held_ns && waiting->record.start_ns < complete_ns)
            complete_ns = waiting->record.start_ns;
    }
    if (complete_ns > collector->complete_ns) collector->complete_ns = complete_ns;
}

/* Reports records that had no ring. */
static void report_ringless(jm__collector *collector)
{
    static const char *const reasons[JM_LOST_KINDS] = {
        [JM_LOST_SPANS] = ("a thread had no ring for its spans and marks: no room in the run's folder, or no "
                           "descriptor left in its program"),
        [JM_LOST_NAMES] = "there were too many different names: these go without theirs",
        [JM_LOST_PROGRAMS] = "a program had no ring for its kernels: none of them are here",
        [JM_LOST_NODES] =
            ("nodes of CUDA graphs found no room: kernels of theirs belong to what was open when "
             "the graph was launched"),
    };
    uint64_t counts[JM_LOST_KINDS];
    if (!jm__lost_read(collector->run_dir, counts)) return;
    for (int kind = 0; kind < JM_LOST_KINDS; kind++) {
        if (counts[kind] <= collector->lost_reported[kind]) continue;
        jm__collector_report_loss(collector, 0, counts[kind] - collector->lost_reported[kind], "ring",
                                  reasons[kind]);
        collector->lost_reported[kind] = counts[kind];
    }
}

jm_status jm__collector_poll(jm__collector *collector, size_t *records, jm_error *err)
{
    collector->taken = 0;
    collector->out_of_memory = false;
    collector->now_ns = jm__now_ns();
    update_clock(collector);
    jm__collector_processes_check(collector);
    jm_status status = scan(collector, err);
    int64_t limit_ns = collector->final ? INT64_MAX : collector->now_ns - SETTLING_NS;
    for (size_t i = 0; i < collector->readers.count; i++)
        read_header(collector, collector->readers.items[i]);
    drain_spans(collector, limit_ns);
    collector->spans_done_ns = collector->final ? collector->now_ns : limit_ns;
    drain_kernels(collector);
    release(collector);
    retry_waiting(collector);
    find_complete(collector);
    flush_batch(collector);
    jm__collector_histories_prune(collector);
    report_ringless(collector);
    jm__collector_processes_report(collector);
    jm__collector_processes_reap(collector);
    if (records != NULL) *records = collector->taken;
    if (status == JM_OK && collector->out_of_memory) return jm__no_memory(err, "jm__collector_poll");
    return status;
}

jm_status jm__collector_finish(jm__collector *collector, jm_error *err)
{
    collector->final = true;
    return jm__collector_poll(collector, NULL, err);
}

int64_t jm__collector_complete_ns(const jm__collector *collector)
{
    return collector->complete_ns;
}

void jm__collector_free(jm__collector *collector)
{
    if (collector == NULL) return;
    for (size_t i = 0; i < collector->readers.count; i++)
        free_reader(collector->readers.items[i]);
    for (size_t i = 0; i < collector->processes.count; i++)
        jm__collector_process_free(collector->processes.items[i]);
    jm__vec_free(&collector->readers);
    jm__vec_free(&collector->heap);
    jm__vec_free(&collector->processes);
    jm__vec_free(&collector->waiting);
    jm__map_free(&collector->files);
    jm__map_free(&collector->classes);
    free(collector->recent);
    free(collector->run_dir);
    free(collector);
}
