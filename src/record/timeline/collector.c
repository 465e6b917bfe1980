/* The collector: finds rings, empties them in the order of time, tells how far it is. */
#include "record/timeline/collector.h"

#include "base/mapped.h"
#include "base/private_file.h"
#include "base/status.h"
#include "record/timeline/collector_parts.h"
#include "record/timeline/identity.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Between reading the clock and publishing the record a thread may be put aside: records younger than this
 * wait for the next poll, so that those of several threads can be taken in the order of time. */
#define SETTLING_NS JM_NS_PER_MS
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
    jm__collector_clock_update(collector);
    *out = collector;
    return JM_OK;
}

static bool attach_reader(jm__collector *collector, collector_reader *reader, const jm_ring_header *header)
{
    reader->writer = header->writer;
    reader->realtime = header->realtime != 0;
    jm_ring_identity told;
    if (!jm__mapped_read(&told, (const char *)reader->header + JM_RING_IDENTITY_AT, sizeof told))
        told = (jm_ring_identity){0};
    reader->later_ns = (uint64_t)collector->ahead_ns - (uint64_t)header->ahead_ns;
    reader->process = jm__collector_process_of(collector, header->pid,
                                               jm__collector_time_here(reader, header->created_ns), &told);
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

static void look_at_file(jm__collector *collector, int folder, const char *name)
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
    if (!jm__collector_ring_map(reader, folder, &first)) {
        jm__collector_ring_free(reader);
    } else if (!attach_reader(collector, reader, &first)) {
        jm__map_remove(&collector->files, &key);
        jm__collector_ring_free(reader);
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
        look_at_file(collector, fd, entry->d_name);
    closedir(folder);
    return JM_OK;
}

static const jm_ring_span *next_span(const collector_reader *reader)
{
    return jm__collector_ring_next(reader);
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
        if (reader->thread == NULL || !jm__collector_ring_has_record(collector, reader)) continue;
        if (!jm__vec_push(&collector->heap, reader)) collector->out_of_memory = true;
    }
    for (size_t i = collector->heap.count / 2; i > 0; i--)
        sift(collector, i - 1);
    while (collector->heap.count > 0) {
        collector_reader *reader = collector->heap.items[0];
        jm_ring_span record = *next_span(reader);
        if (record.t_ns > limit_ns) break;
        jm__collector_span_record(collector, reader, &record);
        jm__collector_ring_advance(collector, reader);
        if (!jm__collector_ring_has_record(collector, reader))
            collector->heap.items[0] = collector->heap.items[--collector->heap.count];
        sift(collector, 0);
    }
}

static void drain_kernels(jm__collector *collector)
{
    for (size_t i = 0; i < collector->readers.count; i++) {
        collector_reader *reader = collector->readers.items[i];
        if (reader->thread != NULL) continue;
        while (jm__collector_ring_has_record(collector, reader)) {
            jm__collector_kernel_record(collector, reader, jm__collector_ring_next(reader));
            jm__collector_ring_advance(collector, reader);
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

/* Give back the room, and the files of those that will write no more. */
static void release(jm__collector *collector)
{
    size_t kept = 0;
    for (size_t i = 0; i < collector->readers.count; i++) {
        collector_reader *reader = collector->readers.items[i];
        jm__collector_ring_release(reader);
        if (!reader->ended || reader->tail != reader->head) {
            collector->readers.items[kept++] = reader;
            continue;
        }
        remove_file(collector, reader);
        reader->process->readers--;
        if (reader->thread != NULL) reader->thread->readers--;
        jm__collector_ring_free(reader);
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
    for (size_t i = 0; i < collector->readers.count; i++)
        jm__collector_ring_look(collector, collector->readers.items[i]);
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
        jm__collector_ring_free(collector->readers.items[i]);
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
