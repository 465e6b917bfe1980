/* The collector: finds rings, empties them in the order of time, tells how far it is. */
#include "timeline/collector.h"

#include "base/status.h"
#include "timeline/collector_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Between reading the clock and publishing the record a thread may be put aside: records younger than this
 * wait for the next poll, so that those of several threads can be taken in the order of time. */
#define SETTLING_NS JM_NS_PER_MS
#define TAIL_EVERY  4096u /* records between two releases of room to the producer */
/* Longer than this nobody waits for what may still be with CUPTI: it may hold a buffer with nothing in it. */
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
    if (gethostname(collector->host, sizeof collector->host - 1) != 0) collector->host[0] = '\0';
    collector->sink = *sink;
    collector->files.key_size = sizeof(uint64_t);
    collector->classes.key_size = 40;
    collector->now_ns = collector->complete_ns = jm__now_ns();
    collector->clock_checked_ns = collector->now_ns;
    jm__collector_clock_update(collector);
    *out = collector;
    return JM_OK;
}

static bool header_makes_sense(const jm_ring_header *header, off_t file_bytes)
{
    bool spans = header->writer == JM_WRITER_CORE || header->writer == JM_WRITER_NVTX;
    size_t record_size = spans ? sizeof(jm_ring_span) : sizeof(jm_ring_kernel);
    uint64_t capacity = header->capacity;
    return (spans || header->writer == JM_WRITER_INJECT) && header->record_size == record_size &&
           capacity > 0 && (capacity & (capacity - 1)) == 0 && header->pid > 0 &&
           (uint64_t)file_bytes >= JM_RING_HEADER_SIZE + capacity * record_size;
}

/* Map a ring; false if it is none, or none yet. */
static bool map_ring(collector_reader *reader)
{
    int fd = open(reader->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
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
    if (atomic_load_explicit(&reader->header->magic, memory_order_acquire) != JM_RING_MAGIC ||
        !header_makes_sense(reader->header, file.st_size)) {
        munmap(map, reader->mapped_bytes);
        return false;
    }
    reader->capacity = reader->header->capacity;
    reader->tail = atomic_load_explicit(&reader->header->tail, memory_order_relaxed);
    return true;
}

static void reader_free(collector_reader *reader)
{
    if (reader->header != NULL) munmap(reader->header, reader->mapped_bytes);
    free(reader->path);
    free(reader);
}

static bool attach_reader(jm__collector *collector, collector_reader *reader)
{
    const jm_ring_header *header = reader->header;
    reader->process = jm__collector_process_of(collector, header->pid, header->created_ns);
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

static void look_at_file(jm__collector *collector, const char *name)
{
    int pid, end = 0;
    char writer;
    unsigned number;
    if (sscanf(name, "%d-%c-%u" JM_RING_SUFFIX "%n", &pid, &writer, &number, &end) != 3 || end == 0) return;
    if (pid <= 0 || number >= 1u << 24 || name[end] != '\0') return;
    uint64_t key = (uint64_t)pid << 32 | (uint64_t)(unsigned char)writer << 24 | number;
    if (jm__map_find(&collector->files, &key) != NULL) return;
    collector_reader *reader = calloc(1, sizeof *reader);
    size_t size = strlen(collector->run_dir) + strlen(name) + 2;
    if (reader != NULL) reader->path = malloc(size);
    if (reader == NULL || reader->path == NULL) {
        free(reader);
        collector->out_of_memory = true;
        return;
    }
    snprintf(reader->path, size, "%s/%s", collector->run_dir, name);
    reader->file_key = key;
    if (!map_ring(reader)) {
        reader_free(reader);
    } else if (!attach_reader(collector, reader)) {
        jm__map_remove(&collector->files, &key);
        reader_free(reader);
        collector->out_of_memory = true;
    }
}

static jm_status scan(jm__collector *collector, jm_error *err)
{
    DIR *folder = opendir(collector->run_dir);
    if (folder == NULL)
        return jm__fail(err, JM_IO, errno, "opendir", "cannot read the run's folder %s: %s",
                        collector->run_dir, strerror(errno));
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        look_at_file(collector, entry->d_name);
    closedir(folder);
    return JM_OK;
}

/* Note down how far each ring goes now, and tell what was lost since. */
static void look_at_heads(jm__collector *collector)
{
    for (size_t i = 0; i < collector->readers.count; i++) {
        collector_reader *reader = collector->readers.items[i];
        reader->ended =
            reader->process->dead || atomic_load_explicit(&reader->header->closed, memory_order_acquire) != 0;
        /* before `head`: what it promises is below that head */
        reader->flushed_ns = atomic_load_explicit(&reader->header->flushed_ns, memory_order_acquire);
        if (reader->flushed_ns > reader->process->flushed_ns)
            reader->process->flushed_ns = reader->flushed_ns;
        reader->head = atomic_load_explicit(&reader->header->head, memory_order_acquire);
        if (reader->head - reader->tail > reader->capacity) { /* not ours: a damaged file */
            reader->process->malformed++;
            reader->tail = reader->head;
        }
        uint64_t lost = atomic_load_explicit(&reader->header->lost, memory_order_relaxed);
        if (lost > reader->lost_told) {
            jm__collector_tell_loss(collector, reader->process->row_id, lost - reader->lost_told, "ring",
                                    reader->header->writer == JM_WRITER_INJECT
                                        ? "the ring of kernel records was full"
                                        : "the ring of a thread's spans was full");
        }
        reader->lost_told = lost;
        uint64_t refused = atomic_load_explicit(&reader->header->names_refused, memory_order_relaxed);
        if (refused > reader->names_refused_told)
            reader->process->refused_names += refused - reader->names_refused_told;
        reader->names_refused_told = refused;
    }
}

static void advance(jm__collector *collector, collector_reader *reader)
{
    reader->tail++;
    collector->taken++;
    if (reader->tail % TAIL_EVERY == 0)
        atomic_store_explicit(&reader->header->tail, reader->tail, memory_order_release);
}

static const jm_ring_span *next_span(const collector_reader *reader)
{
    return (const jm_ring_span *)reader->records + (reader->tail & (reader->capacity - 1));
}

/* Restore the heap from `at` down. */
static void sift(jm__collector *collector, size_t at)
{
    collector_reader **heap = collector->heap.items;
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < collector->heap.count; child++)
            if (next_span(heap[child])->t_ns < next_span(heap[least])->t_ns) least = child;
        if (least == at) return;
        collector_reader *moved = heap[at];
        heap[at] = heap[least];
        heap[least] = moved;
        at = least;
    }
}

/* All span rings at once, merged by time, up to limit_ns. */
static void drain_spans(jm__collector *collector, int64_t limit_ns)
{
    collector->heap.count = 0;
    for (size_t i = 0; i < collector->readers.count; i++) {
        collector_reader *reader = collector->readers.items[i];
        if (reader->thread == NULL || reader->tail == reader->head) continue;
        if (!jm__vec_push(&collector->heap, reader)) collector->out_of_memory = true;
    }
    for (size_t i = collector->heap.count / 2; i > 0; i--)
        sift(collector, i - 1);
    while (collector->heap.count > 0) {
        collector_reader *reader = collector->heap.items[0];
        jm_ring_span record = *next_span(reader);
        if (record.t_ns > limit_ns) break;
        jm__collector_span_record(collector, reader, &record);
        advance(collector, reader);
        if (reader->tail == reader->head)
            collector->heap.items[0] = collector->heap.items[--collector->heap.count];
        sift(collector, 0);
    }
}

static void drain_kernels(jm__collector *collector)
{
    for (size_t i = 0; i < collector->readers.count; i++) {
        collector_reader *reader = collector->readers.items[i];
        if (reader->thread != NULL) continue;
        const jm_ring_kernel *records = reader->records;
        while (reader->tail != reader->head) {
            jm__collector_kernel_record(collector, reader, &records[reader->tail & (reader->capacity - 1)]);
            advance(collector, reader);
        }
    }
}

/* Give back the room, and the files of those that will write no more. */
static void release(jm__collector *collector)
{
    size_t kept = 0;
    for (size_t i = 0; i < collector->readers.count; i++) {
        collector_reader *reader = collector->readers.items[i];
        atomic_store_explicit(&reader->header->tail, reader->tail, memory_order_release);
        if (!reader->ended || reader->tail != reader->head) {
            collector->readers.items[kept++] = reader;
            continue;
        }
        if (unlink(reader->path) == 0) jm__map_remove(&collector->files, &reader->file_key);
        reader->process->readers--;
        if (reader->thread != NULL) reader->thread->readers--;
        reader_free(reader);
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

static jm_status take_all(jm__collector *collector, size_t *records, jm_error *err)
{
    collector->taken = 0;
    collector->out_of_memory = false;
    collector->now_ns = jm__now_ns();
    jm__collector_clock_update(collector);
    jm__collector_processes_check(collector);
    jm_status status = scan(collector, err);
    int64_t limit_ns = collector->final ? INT64_MAX : collector->now_ns - SETTLING_NS;
    look_at_heads(collector);
    drain_spans(collector, limit_ns);
    collector->spans_done_ns = collector->final ? collector->now_ns : limit_ns;
    drain_kernels(collector);
    release(collector);
    jm__collector_waiting_retry(collector);
    find_complete(collector);
    jm__collector_batch_flush(collector);
    jm__collector_histories_prune(collector);
    jm__collector_tell_unplaced(collector);
    jm__collector_processes_tell(collector);
    jm__collector_processes_reap(collector);
    if (records != NULL) *records = collector->taken;
    if (status == JM_OK && collector->out_of_memory) return jm__no_memory(err, "jm__collector_poll");
    return status;
}

jm_status jm__collector_poll(jm__collector *collector, size_t *records, jm_error *err)
{
    return take_all(collector, records, err);
}

jm_status jm__collector_finish(jm__collector *collector, jm_error *err)
{
    collector->final = true;
    return take_all(collector, NULL, err);
}

int64_t jm__collector_complete_ns(const jm__collector *collector)
{
    return collector->complete_ns;
}

void jm__collector_free(jm__collector *collector)
{
    if (collector == NULL) return;
    for (size_t i = 0; i < collector->readers.count; i++)
        reader_free(collector->readers.items[i]);
    for (size_t i = 0; i < collector->processes.count; i++)
        jm__collector_process_free(collector->processes.items[i]);
    jm__vec_free(&collector->readers);
    jm__vec_free(&collector->heap);
    jm__vec_free(&collector->processes);
    jm__vec_free(&collector->waiting);
    jm__map_free(&collector->files);
    jm__map_free(&collector->classes);
    free(collector->run_dir);
    free(collector);
}
