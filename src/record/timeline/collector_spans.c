/* Begin, end and mark: stacks of open spans; and what kernels look into: histories, and launches. */
#include "base/search.h"
#include "format/rows/marks.h"
#include "format/rows/span_kind.h"
#include "record/timeline/collector_parts.h"

#include <stdlib.h>
#include <string.h>

/* An outer call this much older is of an earlier round of the 32-bit ids. */
#define NESTED_CALL_NS (60 * JM_NS_PER_S)

static void history_add(jm__collector *collector, collector_history *history, int64_t t_ns, int64_t span_id)
{
    if (history->steps.count > 0) {
        const collector_transition *last = &history->steps.items[history->steps.count - 1];
        if (t_ns < last->t_ns) t_ns = last->t_ns;
    }
    collector_transition step = {t_ns, span_id};
    if (!jm__vec_push(&history->steps, step)) collector->out_of_memory = true;
}

/* How many steps were taken at t_ns or before. */
static size_t steps_until(const collector_history *history, int64_t t_ns)
{
    size_t at;
    jm__search(at, history->steps.count, history->steps.items[at].t_ns <= t_ns);
    return at;
}

/* False if that time is not covered any more. */
static bool history_find(const collector_history *history, int64_t t_ns, int64_t *span_id)
{
    size_t until = steps_until(history, t_ns);
    *span_id = until == 0 ? 0 : history->steps.items[until - 1].span_id;
    return until > 0 || !history->pruned;
}

static void history_prune(collector_history *history, int64_t before_ns)
{
    size_t count = history->steps.count, gone = steps_until(history, before_ns);
    if (gone > 0) gone--; /* the last step before the time kept still says what was innermost then */
    if (count - gone > JM_HISTORY_MAX) gone = count - JM_HISTORY_MAX / 2;
    if (gone == 0 || gone < count / 4) return; /* rarely, and then much: what stays has to be moved */
    history->steps.count = count - gone;
    memmove(history->steps.items, history->steps.items + gone, (count - gone) * sizeof *history->steps.items);
    history->pruned = true;
}

void jm__collector_histories_prune(jm__collector *collector)
{
    int64_t before_ns = collector->now_ns - JM_HISTORY_KEPT_NS;
    for (size_t i = 0; i < collector->processes.count; i++) {
        collector_process *process = collector->processes.items[i];
        history_prune(&process->wide_history, before_ns);
        for (size_t k = 0; k < process->threads.count; k++)
            history_prune(&process->threads.items[k]->history, before_ns);
        jm__collector_threads_reap(process, before_ns);
        jm__collector_graphs_prune(collector, process);
    }
}

bool jm__collector_innermost(const collector_process *process, int32_t tid, int64_t t_ns, int64_t *span_id)
{
    int64_t key = tid;
    const jm__map_value *found = jm__map_find(&process->threads_by_tid, &key);
    bool known = true;
    *span_id = 0;
    if (found != NULL)
        known = history_find(&((const collector_thread *)found->object)->history, t_ns, span_id);
    if (*span_id != 0) return true;
    return history_find(&process->wide_history, t_ns, span_id) && known;
}

/* Ids begin anew whenever CUPTI is taken again: those of before stay where they are. */
static collector_launch *slot_of(const collector_process *process, uint32_t correlation, uint32_t taken)
{
    return &process->launches[(correlation + taken * 2654435761u) & (JM_LAUNCHES - 1)];
}

static void launch(jm__collector *collector, collector_reader *reader, const jm_ring_span *record)
{
    collector_process *process = reader->process;
    uint32_t correlation = (uint32_t)record->id;
    if (process->launches == NULL) process->launches = calloc(JM_LAUNCHES, sizeof *process->launches);
    if (process->launches == NULL) {
        collector->out_of_memory = true;
        return;
    }
    /* Correlation ids count up, so the newest million never collide. All kernels of a graph share one launch:
     * it stays. A call and the call inside it share an id too: the outer one, which began first, is the
     * program's. */
    collector_launch *slot = slot_of(process, correlation, record->samples);
    bool same = slot->t_ns != 0 && slot->correlation == correlation && slot->taken == record->samples;
    if (same && slot->t_ns <= record->t_ns && record->t_ns - slot->t_ns < NESTED_CALL_NS) return;
    *slot = (collector_launch){.t_ns = record->t_ns,
                               .correlation = correlation,
                               .tid = reader->thread->tid,
                               .taken = record->samples};
}

collector_launch *jm__collector_launch_find(const collector_process *process, uint32_t correlation,
                                            uint32_t taken)
{
    if (process->launches == NULL) return NULL;
    collector_launch *slot = slot_of(process, correlation, taken);
    bool is_it = slot->t_ns != 0 && slot->correlation == correlation && slot->taken == taken;
    return is_it ? slot : NULL;
}

static collector_open_span *top(const collector_stack *stack)
{
    return stack->count == 0 ? NULL : stack->items[stack->count - 1];
}

static int64_t top_row(const collector_stack *stack)
{
    return stack->count == 0 ? 0 : stack->items[stack->count - 1]->row_id;
}

/* Wherever it is: spans may close in any order. */
static void stack_remove(jm__collector *collector, collector_stack *stack, collector_history *history,
                         const collector_open_span *span, int64_t t_ns)
{
    bool was_top = top(stack) == span;
    size_t at = stack->count;
    while (at > 0 && stack->items[at - 1] != span)
        at--;
    if (at == 0) return;
    memmove(stack->items + at - 1, stack->items + at, (stack->count - at) * sizeof(collector_open_span *));
    stack->count--;
    if (was_top) history_add(collector, history, t_ns, top_row(stack));
}

static bool open_span(jm__collector *collector, collector_process *process, collector_open_span *span)
{
    collector_thread *thread = span->thread;
    if (!jm__vec_push(&thread->stack, span)) return false;
    if (span->process_wide && !jm__vec_push(&process->wide, span)) {
        thread->stack.count--;
        return false;
    }
    if (!jm__map_put(&process->open_spans, span->key, (jm__map_value){.object = span})) {
        thread->stack.count--;
        process->wide.count -= span->process_wide;
        return false;
    }
    history_add(collector, &thread->history, span->start_ns, span->row_id);
    if (span->process_wide) history_add(collector, &process->wide_history, span->start_ns, span->row_id);
    return true;
}

/* On its thread, else in its process. */
static int64_t innermost_now(const collector_reader *reader)
{
    return top_row(reader->thread->stack.count > 0 ? &reader->thread->stack : &reader->process->wide);
}

static uint64_t program_of(const collector_reader *reader)
{
    return (uint64_t)reader->names->file_number << 32 | reader->names->writer;
}

static void payload(collector_reader *reader, const jm_ring_span *record)
{
    if (record->kind == JM_PAYLOAD_NONE || record->kind >= JM_PAYLOAD_KIND_COUNT) {
        reader->process->malformed++;
        return;
    }
    reader->payload_of = record->id;
    reader->payload_kind = (jm_payload_kind)record->kind;
    reader->payload.natural = (uint64_t)record->type << 32 | record->name;
    if (reader->payload_kind == JM_PAYLOAD_NATURAL && reader->payload.natural <= INT64_MAX)
        reader->payload_kind = JM_PAYLOAD_INTEGER;
}

static void begin(jm__collector *collector, collector_reader *reader, const jm_ring_span *record)
{
    collector_process *process = reader->process;
    uint64_t key[2] = {record->id, program_of(reader)};
    if (record->kind == JM_SPAN_NONE || record->kind >= JM_SPAN_KIND_COUNT ||
        jm__map_find(&process->open_spans, key) != NULL) {
        process->malformed++;
        return;
    }
    if (process->open_spans.count >= JM_OPEN_SPANS_MAX) {
        process->refused_spans++;
        return;
    }
    jm__span row = {.id = collector->last_span_id + 1,
                    .process_id = process->row_id,
                    .thread_id = reader->thread->tid,
                    .parent_id = innermost_now(reader),
                    .start_ns = record->t_ns,
                    .end_ns = -1,
                    .name_id = jm__collector_name_row(collector, reader->names, record->name),
                    .type_id = jm__collector_name_row(collector, reader->names, record->type),
                    .samples = record->samples,
                    .kind = (jm_span_kind)record->kind};
    if (reader->payload_of == record->id) {
        row.payload_kind = reader->payload_kind;
        row.payload = reader->payload;
    }
    reader->payload_of = 0;
    collector_open_span *span = calloc(1, sizeof *span);
    if (span != NULL) {
        *span = (collector_open_span){.recent = {.id = row.id,
                                                 .parent_id = row.parent_id,
                                                 .name_id = row.name_id,
                                                 .type_id = row.type_id,
                                                 .kind = record->kind},
                                      .row_id = row.id,
                                      .start_ns = record->t_ns,
                                      .key = {key[0], key[1]},
                                      .thread = reader->thread,
                                      .process_wide = jm__span_kind_is_wide(row.kind)};
    }
    if (span == NULL || !open_span(collector, process, span)) {
        free(span);
        collector->out_of_memory = true;
        return;
    }
    collector->last_span_id = row.id;
    jm__collector_recent_put(collector, &span->recent);
    collector->sink.span_begin(collector->sink.context, &row);
}

static void close_span(jm__collector *collector, collector_process *process, collector_open_span *span,
                       int64_t t_ns)
{
    stack_remove(collector, &span->thread->stack, &span->thread->history, span, t_ns);
    if (span->process_wide) stack_remove(collector, &process->wide, &process->wide_history, span, t_ns);
    jm__map_remove(&process->open_spans, span->key);
    free(span);
}

static void end(jm__collector *collector, collector_reader *reader, const jm_ring_span *record)
{
    uint64_t key[2] = {record->id, program_of(reader)};
    jm__map_value *found = jm__map_find(&reader->process->open_spans, key);
    if (found == NULL) return; /* its begin was lost and counted, or belongs to an earlier run */
    collector_open_span *span = found->object;
    int64_t end_ns = record->t_ns < span->start_ns ? span->start_ns : record->t_ns;
    const jm__span_end row = {
        .span_id = span->row_id, .end_ns = end_ns, .samples = record->samples, .tokens = record->type};
    collector->sink.span_end(collector->sink.context, &row);
    close_span(collector, reader->process, span, end_ns);
}

static void mark(jm__collector *collector, collector_reader *reader, const jm_ring_span *record)
{
    jm__mark row = {.process_id = reader->process->row_id,
                    .thread_id = reader->thread->tid,
                    .t_ns = record->t_ns,
                    .name_id = jm__collector_name_row(collector, reader->names, record->name)};
    if (record->type != 0) {
        row.meta = jm__collector_once_text(collector, reader->names, record->type);
        if (row.meta == NULL) reader->process->unwritten_names++;
    }
    collector->sink.mark(collector->sink.context, &row);
    if (record->type != 0) jm__collector_name_forget(reader->names, record->type);
}

/* exec: what the program before left open ends with the first that the next one says. */
static void end_older(jm__collector *collector, collector_process *process, uint64_t program, int64_t t_ns)
{
    for (size_t i = 0; i < process->threads.count; i++) {
        collector_stack *stack = &process->threads.items[i]->stack;
        for (size_t k = stack->count; k > 0; k--) {
            collector_open_span *span = stack->items[k - 1];
            uint64_t other = span->key[1];
            if ((uint32_t)other != (uint32_t)program || other >= program) continue;
            const jm__span_end row = {.span_id = span->row_id,
                                      .end_ns = t_ns < span->start_ns ? span->start_ns : t_ns};
            collector->sink.span_end(collector->sink.context, &row);
            close_span(collector, process, span, row.end_ns);
        }
    }
}

void jm__collector_span_record(jm__collector *collector, collector_reader *reader, const jm_ring_span *record)
{
    if (!jm__collector_is_stamp(record->t_ns)) {
        reader->process->malformed++;
        return;
    }
    if (reader->replaces) {
        reader->replaces = false;
        end_older(collector, reader->process, program_of(reader), record->t_ns);
    }
    switch (record->op) {
    case JM_RING_BEGIN:
        begin(collector, reader, record);
        break;
    case JM_RING_END:
        end(collector, reader, record);
        break;
    case JM_RING_PAYLOAD:
        payload(reader, record);
        break;
    case JM_RING_MARK:
        mark(collector, reader, record);
        break;
    case JM_RING_THREAD: {
        collector_thread *thread = jm__collector_thread_of(collector, reader->process, (int32_t)record->id);
        if (thread == NULL) break;
        reader->thread->readers--;
        reader->thread = thread;
        thread->readers++;
        break;
    }
    case JM_RING_NODE:
    case JM_RING_GRAPH_GONE:
    case JM_RING_EXEC_BEGUN:
    case JM_RING_EXEC_MADE:
        jm__collector_graph_record(collector, reader, innermost_now(reader), record);
        break;
    case JM_RING_LAUNCH:
        launch(collector, reader, record);
        break;
    default:
        reader->process->malformed++;
        return;
    }
    jm__collector_process_saw(reader->process, record->t_ns, record->t_ns);
}
