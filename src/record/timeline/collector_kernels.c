/* Kernels, copies and sets: tied through their launch to a span, folded into classes, handed on in batches.
 */
#include "record/timeline/collector_parts.h"

#include <string.h>

/* The call may return, and be reported, after its kernel has ended. */
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

void jm__collector_batch_flush(jm__collector *collector)
{
    if (collector->batch_count == 0) return;
    collector->sink.kernels(collector->sink.context, collector->batch, collector->batch_count);
    collector->batch_count = 0;
}

/* 0: not of a graph. */
static uint64_t node_of(const jm_ring_kernel *record)
{
    return record->op == JM_RING_KERNEL ? record->bytes : (uint64_t)record->grid[1] << 32 | record->grid[0];
}

/* Hand a kernel on. Its times are CLOCK_MONOTONIC here, `taken` as when it was read. False: it has to wait.
 */
static bool place(jm__collector *collector, collector_process *process, collector_names *names,
                  const jm_ring_kernel *record, uint32_t taken, bool wait)
{
    collector_launch *launch = jm__collector_launch_find(process, record->correlation, taken);
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
        jm__collector_tell_loss(collector, process->row_id, 1, "recorder",
                                "a kernel's class or stream was refused");
        return true;
    }
    collector->batch[collector->batch_count++] = row;
    if (collector->batch_count == JM_KERNEL_BATCH) jm__collector_batch_flush(collector);
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
    uint32_t taken = process->taken;
    if (place(collector, process, reader->names, record, taken, !collector->final)) return;
    collector_waiting waiting = {*record, taken, collector->now_ns, process, reader->names};
    if (collector->waiting.count < JM_WAITING_MAX && jm__vec_push(&collector->waiting, waiting)) return;
    place(collector, process, reader->names, record, taken, false); /* no room to wait: it goes as it is */
}

static void device_record(jm__collector *collector, collector_reader *reader, const jm_ring_kernel *record)
{
    const char *uuid = jm__collector_name_text(collector, reader->names, record->name);
    char **known = &reader->process->board_uuids[record->device];
    if (uuid == NULL || *known != NULL) return;
    *known = strdup(uuid);
    if (*known == NULL) collector->out_of_memory = true;
}

static void note_record(jm__collector *collector, collector_reader *reader, const jm_ring_kernel *record)
{
    const char *text = jm__collector_name_text(collector, reader->names, record->name);
    if (text != NULL) collector->sink.note(collector->sink.context, reader->process->pid, text);
}

static void lost_record(jm__collector *collector, collector_reader *reader, const jm_ring_kernel *record)
{
    const char *reason = jm__collector_name_text(collector, reader->names, record->name);
    jm__collector_tell_loss(collector, reader->process->row_id, record->bytes, "cupti",
                            reason == NULL ? "CUPTI lost these records" : reason);
}

void jm__collector_kernel_record(jm__collector *collector, collector_reader *reader,
                                 const jm_ring_kernel *record)
{
    if (!jm__collector_is_stamp(record->start_ns) || !jm__collector_is_stamp(record->end_ns)) {
        reader->process->malformed++;
        return;
    }
    jm_ring_kernel converted = *record;
    if (reader->realtime && record->start_ns > 0) {
        converted.start_ns = jm__collector_clock_convert(collector, record->start_ns);
        /* One offset for both ends: a step in between must not bend the duration. */
        converted.end_ns = converted.start_ns + (record->end_ns - record->start_ns);
    }
    switch (record->op) {
    case JM_RING_KERNEL:
    case JM_RING_MEMCPY:
    case JM_RING_MEMSET:
        work_record(collector, reader, &converted);
        break;
    case JM_RING_DEVICE:
        device_record(collector, reader, &converted);
        break;
    case JM_RING_LOST:
        lost_record(collector, reader, &converted);
        break;
    case JM_RING_NOTE:
        note_record(collector, reader, &converted);
        break;
    case JM_RING_AGAIN:
        reader->process->taken = (uint32_t)converted.bytes;
        break;
    case JM_RING_GRAPHS:
        reader->process->tells_graphs = true;
        break;
    default:
        reader->process->malformed++;
    }
}

void jm__collector_waiting_retry(jm__collector *collector)
{
    size_t kept = 0;
    for (size_t i = 0; i < collector->waiting.count; i++) {
        collector_waiting waiting = collector->waiting.items[i];
        /* Once CUPTI has given out all up to well after the kernel, its launch will not come any more. */
        bool over = collector->final || collector->now_ns - waiting.since_ns > JM_WAITING_NS ||
                    (waiting.process->dead && waiting.process->readers == 0) ||
                    waiting.record.end_ns + LAUNCH_LATE_NS < waiting.process->flushed_ns;
        if (!place(collector, waiting.process, waiting.names, &waiting.record, waiting.taken, !over))
            collector->waiting.items[kept++] = waiting;
    }
    collector->waiting.count = kept;
}
