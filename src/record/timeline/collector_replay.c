/* Launches of CUDA graphs: the spans that were open at the capture, once more inside what is open at the
 * launch. */
#include "format/rows/marks.h"
#include "record/timeline/collector_parts.h"

#include <string.h>

/* Whether there is one like it at or around the launch: then the work in it is of what is innermost there. */
static bool is_around(const collector_graphs *graphs, const collector_captured *captured)
{
    for (size_t i = 0; i < graphs->around_count; i++) {
        const collector_recent *span = &graphs->around[i];
        if (span->kind == captured->kind && span->name_id == captured->name_id &&
            span->type_id == captured->type_id)
            return true;
    }
    return false;
}

static void look_around(const jm__collector *collector, collector_graphs *graphs, int64_t around_id)
{
    const collector_recent *chain[JM_CAPTURED_DEPTH];
    if (graphs->around_id == around_id) return;
    graphs->around_id = around_id;
    graphs->around_count = jm__collector_recent_chain(collector, around_id, chain);
    for (size_t i = 0; i < graphs->around_count; i++)
        graphs->around[i] = *chain[i];
}

/* The span of this launch for this captured span; 0: not made yet. */
static int64_t find_replayed(const collector_graphs *graphs, const uint64_t key[2])
{
    const jm__map_value *found = jm__map_find(&graphs->replayed, key);
    if (found == NULL) found = jm__map_find(&graphs->replayed_before, key);
    return found == NULL ? 0 : found->id;
}

/* Only the newest are looked for: when there are enough of them, those from before go. */
static void remember(jm__collector *collector, collector_graphs *graphs, const uint64_t key[2],
                     int64_t span_id)
{
    if (graphs->replayed.count >= JM_REPLAYED_MAX) {
        jm__map_free(&graphs->replayed_before);
        graphs->replayed_before = graphs->replayed;
        graphs->replayed = (jm__map){.key_size = graphs->replayed_before.key_size};
    }
    if (!jm__map_put(&graphs->replayed, key, (jm__map_value){.id = span_id})) collector->out_of_memory = true;
}

/* Not more of them than a recording can take: a graph of a thousand layers may be launched a thousand times a
 * second. */
static bool may_make(jm__collector *collector)
{
    int64_t least_ns = collector->now_ns - JM_REPLAY_BURST_NS;
    if (collector->replays_until_ns < least_ns) collector->replays_until_ns = least_ns;
    if (collector->replays_until_ns + collector->replay_span_ns > collector->now_ns) return false;
    collector->replays_until_ns += collector->replay_span_ns;
    return true;
}

/* No launch of a graph takes less. */
#define CALL_NS 3000

/* One after the other in the time of the call, a nanosecond each, so that pictures show them beside each
 * other; what holds others goes on for as long as the call does at least. */
static int64_t make(jm__collector *collector, const collector_process *process, collector_launch *launch,
                    const collector_captured *captured, int64_t parent_id, bool holds)
{
    uint32_t at_ns = launch->replayed < CALL_NS ? launch->replayed : CALL_NS - 1;
    jm__span row = {.id = ++collector->last_span_id,
                    .process_id = process->row_id,
                    .thread_id = launch->tid,
                    .parent_id = parent_id,
                    .start_ns = launch->t_ns + at_ns,
                    .end_ns = -1,
                    .name_id = captured->name_id,
                    .type_id = captured->type_id,
                    .kind = (jm_span_kind)captured->kind};
    const jm__span_end end = {.span_id = row.id, .end_ns = holds ? launch->t_ns + CALL_NS : row.start_ns + 1};
    if (!holds) launch->replayed++;
    collector->sink.span_begin(collector->sink.context, &row);
    collector->sink.span_end(collector->sink.context, &end);
    return row.id;
}

/* Where there is no time for a span, that of the launch before stands for this one too. */
static int64_t make_or_share(jm__collector *collector, collector_process *process, collector_launch *launch,
                             uint32_t captured, int64_t parent_id, bool holds)
{
    collector_captured *of = &process->graphs->captured.items[captured];
    if (may_make(collector)) {
        of->replay_id = make(collector, process, launch, of, parent_id, holds);
        return of->replay_id;
    }
    process->shared_replays++;
    return of->replay_id != 0 ? of->replay_id : parent_id;
}

static void key_of(uint64_t key[2], const collector_launch *launch, uint32_t captured)
{
    key[0] = (uint64_t)captured << 32 | launch->correlation;
    key[1] = (uint64_t)launch->t_ns;
}

/* From `captured` outwards, what of it the launch has no span of yet; `span_id` is around that. How many. */
static size_t find_missing(const collector_graphs *graphs, const collector_launch *launch, uint32_t captured,
                           uint32_t missing[JM_CAPTURED_DEPTH], int64_t *span_id)
{
    size_t count = 0;
    for (uint32_t at = captured; at != 0 && count < JM_CAPTURED_DEPTH;
         at = graphs->captured.items[at].parent) {
        uint64_t key[2];
        key_of(key, launch, at);
        int64_t found = find_replayed(graphs, key);
        if (found != 0) *span_id = found;
        if (found != 0 || is_around(graphs, &graphs->captured.items[at])) break;
        missing[count++] = at;
    }
    return count;
}

static int64_t replayed_span(jm__collector *collector, collector_process *process, collector_launch *launch,
                             uint32_t captured, int64_t around_id)
{
    collector_graphs *graphs = process->graphs;
    uint64_t key[2];
    key_of(key, launch, captured);
    if (memcmp(key, graphs->last_replayed, sizeof key) == 0) return graphs->last_replayed_id;
    uint32_t missing[JM_CAPTURED_DEPTH];
    int64_t span_id = around_id;
    look_around(collector, graphs, around_id);
    for (size_t i = find_missing(graphs, launch, captured, missing, &span_id); i > 0; i--) {
        uint64_t made_key[2];
        key_of(made_key, launch, missing[i - 1]);
        span_id = make_or_share(collector, process, launch, missing[i - 1], span_id, i > 1);
        remember(collector, graphs, made_key, span_id);
    }
    memcpy(graphs->last_replayed, key, sizeof key);
    graphs->last_replayed_id = span_id;
    return span_id;
}

/* Once a process: it is a reason for what a report lacks. */
static void tell_before(jm__collector *collector, collector_process *process, const collector_launch *launch)
{
    if (process->graphs_before) return;
    process->graphs_before = true;
    jm__mark row = {.process_id = process->row_id, .thread_id = launch->tid, .t_ns = launch->t_ns};
    row.name_id = collector->sink.name(collector->sink.context, JM_MARK_GRAPHS_BEFORE);
    if (row.name_id >= 0) collector->sink.mark(collector->sink.context, &row);
}

int64_t jm__collector_replayed(jm__collector *collector, collector_process *process, collector_launch *launch,
                               uint64_t node, int64_t around_id)
{
    uint32_t captured = jm__collector_node_captured(collector, process, node);
    if (captured == JM_NODE_BEFORE) tell_before(collector, process, launch);
    if (captured == JM_NODE_UNTOLD && process->tells_graphs) process->untold_nodes++;
    bool known = captured != JM_NODE_BEFORE && captured != JM_NODE_UNTOLD && captured != 0;
    return known ? replayed_span(collector, process, launch, captured, around_id) : around_id;
}
