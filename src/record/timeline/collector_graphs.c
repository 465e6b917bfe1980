/* CUDA graphs: which spans were open when nodes were made, and replaying these spans at each launch. */
#include "format/rows/marks.h"
#include "format/rows/span_kind.h"
#include "record/timeline/collector_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- spans that were open at captures, without duplicates */

static collector_recent *recent_slot(const jm__collector *collector, int64_t span_id)
{
    return &collector->recent[(uint64_t)span_id & (JM_RECENT_SPANS - 1)];
}

void jm__collector_recent_put(jm__collector *collector, const collector_recent *recent)
{
    if (collector->recent != NULL) *recent_slot(collector, recent->id) = *recent;
}

static collector_recent *find_recent(const jm__collector *collector, int64_t span_id)
{
    if (collector->recent == NULL || span_id <= 0) return NULL;
    collector_recent *slot = recent_slot(collector, span_id);
    return slot->id == span_id ? slot : NULL;
}

static void uncapture_recent(jm__collector *collector)
{
    for (size_t i = 0; collector->recent != NULL && i < JM_RECENT_SPANS; i++)
        collector->recent[i].captured = 0;
}

/* Starts keeping spans: those open now and all later ones. */
static bool keep_recent(jm__collector *collector)
{
    if (collector->recent != NULL) return true;
    collector->recent = calloc(JM_RECENT_SPANS, sizeof *collector->recent);
    if (collector->recent == NULL) {
        collector->out_of_memory = true;
        return false;
    }
    for (size_t i = 0; i < collector->processes.count; i++) {
        const collector_process *process = collector->processes.items[i];
        for (size_t k = 0; k < process->threads.count; k++) {
            const collector_stack *stack = &process->threads.items[k]->stack;
            for (size_t s = 0; s < stack->count; s++)
                jm__collector_recent_put(collector, &stack->items[s]->recent);
        }
    }
    return true;
}

static size_t recent_chain(const jm__collector *collector, int64_t span_id,
                           const collector_recent *chain[JM_CAPTURED_DEPTH])
{
    size_t count = 0;
    for (const collector_recent *at = find_recent(collector, span_id);
         at != NULL && count < JM_CAPTURED_DEPTH; at = find_recent(collector, at->parent_id)) {
        if (jm__span_kind_is_container((jm_span_kind)at->kind)) break;
        chain[count++] = at;
    }
    return count;
}

typedef struct captured_key {
    int64_t name_id, type_id;
    uint32_t parent, repeat, kind, zero;
} captured_key;
_Static_assert(sizeof(captured_key) == 32, "no padding in the key");

/* 0: no space. */
static uint32_t add_captured(jm__collector *collector, collector_graphs *graphs, const captured_key *key)
{
    static const collector_captured none;
    if (graphs->captured.count >= JM_CAPTURED_MAX) return 0;
    if (graphs->captured.count == 0 && !jm__vec_push(&graphs->captured, none)) goto out;
    size_t index = graphs->captured.count;
    collector_captured made = {
        .name_id = key->name_id, .type_id = key->type_id, .parent = key->parent, .kind = (uint8_t)key->kind};
    if (!jm__vec_push(&graphs->captured, made)) goto out;
    graphs->captured_by_key.key_size = sizeof *key;
    if (jm__map_put(&graphs->captured_by_key, key, (jm__map_value){.id = (int64_t)index}))
        return (uint32_t)index;
    graphs->captured.count--;
out:
    collector->out_of_memory = true;
    return 0;
}

/* Two equal spans in one parent are two calls: the second one gets an entry of its own, in each capture. */
static uint32_t bind_captured(jm__collector *collector, collector_process *process, uint32_t parent,
                              const collector_recent *span, uint32_t graph)
{
    collector_graphs *graphs = process->graphs;
    captured_key key = {
        .name_id = span->name_id, .type_id = span->type_id, .parent = parent, .kind = span->kind};
    uint32_t index = 0;
    for (; key.repeat < JM_CAPTURED_REPEATS_MAX; key.repeat++) {
        const jm__map_value *found = jm__map_find(&graphs->captured_by_key, &key);
        index = found != NULL ? (uint32_t)found->id : add_captured(collector, graphs, &key);
        if (index == 0) break;
        const collector_captured *captured = &graphs->captured.items[index];
        bool is_bound =
            found != NULL && captured->last_parent_id == span->parent_id && captured->last_graph == graph;
        if (!is_bound) break;
    }
    if (index == 0) {
        process->refused_captures++;
        return parent;
    }
    graphs->captured.items[index].last_parent_id = span->parent_id;
    graphs->captured.items[index].last_graph = graph;
    return index;
}

static uint32_t capture(jm__collector *collector, collector_process *process, int64_t span_id, uint32_t graph)
{
    const collector_recent *chain[JM_CAPTURED_DEPTH];
    if (span_id == 0 || !keep_recent(collector)) return 0;
    size_t count = recent_chain(collector, span_id, chain), known = 0;
    while (known < count && chain[known]->captured == 0)
        known++;
    uint32_t captured = known < count ? chain[known]->captured : 0;
    for (size_t i = known; i > 0; i--) {
        captured = bind_captured(collector, process, captured, chain[i - 1], graph);
        find_recent(collector, chain[i - 1]->id)->captured = captured;
    }
    return captured;
}

/* ---- nodes: a clone belongs to the captured span of its original */

#define NODE_BEFORE  UINT32_MAX       /* captured before the recording */
#define NODE_UNKNOWN (UINT32_MAX - 1) /* unknown captured span */

/* A node in one number: captured span, slot of its graph, and whether it is a clone. */
#define CLONE (INT64_C(1) << 62)

static int64_t pack(uint32_t captured, uint32_t slot, bool clone)
{
    return (int64_t)slot << 32 | captured | (clone ? CLONE : 0);
}

static uint32_t captured_of(int64_t node)
{
    return (uint32_t)(node & UINT32_MAX);
}

static uint32_t slot_of(int64_t node)
{
    return (uint32_t)((node & ~CLONE) >> 32);
}

static collector_graph *find_graph(collector_graphs *graphs, uint64_t id)
{
    const jm__map_value *slot = jm__map_find(&graphs->graph_slots, &id);
    return slot == NULL ? NULL : &graphs->graphs.items[slot->id];
}

static void set_original(collector_graphs *graphs, uint64_t clone, uint32_t original_slot)
{
    collector_graph *graph = find_graph(graphs, clone), *original = &graphs->graphs.items[original_slot];
    if (graph == NULL || graph->is_clone || graph == original) return;
    graph->is_clone = true;
    graph->original = original->id;
    original->clones++;
}

static void forget_graph(collector_graphs *graphs, uint32_t slot)
{
    collector_graph *graph = &graphs->graphs.items[slot];
    collector_graph *original = graph->is_clone ? find_graph(graphs, graph->original) : NULL;
    if (original != NULL && original->clones > 0) original->clones--;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const jm__map_value *node = jm__map_find(&graphs->nodes, &graph->nodes.items[i]);
        if (node != NULL && slot_of(node->id) == slot) jm__map_remove(&graphs->nodes, &graph->nodes.items[i]);
    }
    jm__vec_free(&graph->nodes);
    jm__map_remove(&graphs->graph_slots, &graph->id);
    graphs->gone -= graph->gone_ns != 0;
    *graph = (collector_graph){.gone_ns = 0};
    /* The vector has capacity from the time when the slot was made; otherwise the slot is lost. */
    (void)jm__vec_push(&graphs->free_slots, slot);
}

static bool is_used(const collector_graphs *graphs, uint32_t slot)
{
    const jm__map_value *found = jm__map_find(&graphs->graph_slots, &graphs->graphs.items[slot].id);
    return found != NULL && (uint32_t)found->id == slot;
}

static int by_use(const void *left, const void *right, void *context)
{
    const collector_graph *graphs = context;
    int64_t a = graphs[*(const uint32_t *)left].used_ns, b = graphs[*(const uint32_t *)right].used_ns;
    return (a > b) - (a < b);
}

/* Forgets half of the nodes: those of the least recently used graphs. */
static void forget_oldest(collector_graphs *graphs)
{
    JM_VEC(uint32_t) slots = {0};
    graphs->forgot = true;
    for (uint32_t slot = 0; slot < graphs->graphs.count; slot++)
        if (is_used(graphs, slot)) (void)jm__vec_push(&slots, slot);
    if (slots.count > 1) qsort_r(slots.items, slots.count, sizeof *slots.items, by_use, graphs->graphs.items);
    for (size_t i = 0; i < slots.count && graphs->nodes.count > JM_GRAPH_NODES_MAX / 2; i++)
        forget_graph(graphs, slots.items[i]);
    jm__vec_free(&slots);
}

/* False: no memory. */
static bool find_slot(collector_graphs *graphs, uint64_t id, uint32_t *slot)
{
    const jm__map_value *found = jm__map_find(&graphs->graph_slots, &id);
    if (found != NULL) {
        *slot = (uint32_t)found->id;
        return true;
    }
    bool reuses_slot = graphs->free_slots.count > 0;
    collector_graph made = {.id = id};
    if (!reuses_slot && !jm__vec_push(&graphs->graphs, made)) return false;
    *slot = reuses_slot ? graphs->free_slots.items[graphs->free_slots.count - 1]
                        : (uint32_t)graphs->graphs.count - 1;
    if (!jm__map_put(&graphs->graph_slots, &id, (jm__map_value){.id = *slot})) {
        if (!reuses_slot) graphs->graphs.count--;
        return false;
    }
    if (reuses_slot) graphs->free_slots.count--;
    graphs->graphs.items[*slot] = made;
    return true;
}

static bool put_node(collector_graphs *graphs, uint64_t id, uint32_t graph, uint32_t captured, bool clone,
                     int64_t now_ns)
{
    jm__map_value *known = jm__map_find(&graphs->nodes, &id);
    if (known != NULL) {
        known->id = pack(captured, slot_of(known->id), clone);
        return true;
    }
    if (graphs->nodes.count >= JM_GRAPH_NODES_MAX) forget_oldest(graphs);
    uint32_t slot;
    if (!find_slot(graphs, graph, &slot)) return false;
    collector_graph *owner = &graphs->graphs.items[slot];
    owner->used_ns = now_ns;
    return jm__vec_push(&owner->nodes, id) &&
           jm__map_put(&graphs->nodes, &id, (jm__map_value){.id = pack(captured, slot, clone)});
}

void jm__collector_graphs_free(collector_process *process)
{
    collector_graphs *graphs = process->graphs;
    if (graphs == NULL) return;
    for (size_t i = 0; i < graphs->graphs.count; i++)
        jm__vec_free(&graphs->graphs.items[i].nodes);
    jm__vec_free(&graphs->graphs);
    jm__vec_free(&graphs->free_slots);
    jm__vec_free(&graphs->inner);
    jm__vec_free(&graphs->captured);
    jm__map_free(&graphs->nodes);
    jm__map_free(&graphs->graph_slots);
    jm__map_free(&graphs->captured_by_key);
    jm__map_free(&graphs->replayed);
    jm__map_free(&graphs->replayed_before);
    free(graphs);
    process->graphs = NULL;
}

static collector_graphs *graphs_of(jm__collector *collector, collector_process *process, uint32_t program)
{
    if (process->graphs != NULL && process->graphs->program < program) {
        jm__collector_graphs_free(process);
        uncapture_recent(collector);
    }
    if (process->graphs != NULL) return process->graphs;
    collector_graphs *graphs = calloc(1, sizeof *graphs);
    if (graphs == NULL) {
        collector->out_of_memory = true;
        return NULL;
    }
    graphs->program = program;
    graphs->first_node = UINT64_MAX;
    graphs->nodes.key_size = graphs->graph_slots.key_size = sizeof(uint64_t);
    graphs->replayed.key_size = graphs->replayed_before.key_size = sizeof(collector_replay_key);
    process->graphs = graphs;
    process->reports_graphs = true;
    return graphs;
}

/* For an unreported node. CUPTI's ids count up. */
static uint32_t captured_unknown(const jm__collector *collector, const collector_process *process,
                                 uint64_t node)
{
    const collector_graphs *graphs = process->graphs;
    bool lost = collector->lost_reported[JM_LOST_NODES] > 0 || (graphs != NULL && graphs->forgot);
    bool before = process->reports_graphs && !lost && (graphs == NULL || node < graphs->first_node);
    return before ? NODE_BEFORE : NODE_UNKNOWN;
}

/* CUPTI reports a clone twice: as a new node, within any span, and as a clone. */
static bool node_made(jm__collector *collector, collector_process *process, int64_t span_id,
                      const jm_ring_span *record)
{
    collector_graphs *graphs = process->graphs;
    const jm__map_value *known = jm__map_find(&graphs->nodes, &record->id);
    if (known != NULL && (known->id & CLONE) != 0) return true;
    uint32_t captured = capture(collector, process, span_id, record->samples);
    return put_node(graphs, record->id, record->samples, captured, false, collector->now_ns);
}

static bool node_cloned(const jm__collector *collector, collector_process *process, uint64_t original,
                        const jm_ring_span *record)
{
    collector_graphs *graphs = process->graphs;
    const jm__map_value *known = jm__map_find(&graphs->nodes, &original);
    uint32_t captured =
        known != NULL ? captured_of(known->id) : captured_unknown(collector, process, original);
    if (known != NULL) {
        graphs->graphs.items[slot_of(known->id)].used_ns = collector->now_ns;
        set_original(graphs, record->samples, slot_of(known->id));
    }
    return put_node(graphs, record->id, record->samples, captured, true, collector->now_ns);
}

/* Its kernels may still arrive. */
static void graph_gone(collector_graphs *graphs, uint64_t id, int64_t now_ns)
{
    collector_graph *graph = find_graph(graphs, id);
    if (graph == NULL || graph->gone_ns != 0) return;
    graph->gone_ns = now_ns;
    graphs->gone++;
}

static bool is_making(const collector_graphs *graphs, int32_t tid)
{
    for (size_t i = 0; i < graphs->inner.count; i++)
        if (graphs->inner.items[i].tid == tid) return true;
    return false;
}

static bool remember_inner(collector_graphs *graphs, int32_t tid, uint32_t graph)
{
    const collector_inner inner = {.tid = tid, .graph = graph};
    return graphs->inner.count >= JM_INNER_GRAPHS_MAX || jm__vec_push(&graphs->inner, inner);
}

static void forget_inner(collector_graphs *graphs, int32_t tid)
{
    size_t kept = 0;
    for (size_t i = 0; i < graphs->inner.count; i++)
        if (graphs->inner.items[i].tid != tid) graphs->inner.items[kept++] = graphs->inner.items[i];
    graphs->inner.count = kept;
}

/* The highest number of a clone in a graph. Ids have the graph's id in their upper half; false if these do
 * not. */
static bool last_clone(const collector_graphs *graphs, const collector_graph *graph, uint32_t *last)
{
    *last = 0;
    for (size_t i = 0; i < graph->nodes.count; i++) {
        uint64_t id = graph->nodes.items[i];
        const jm__map_value *node = jm__map_find(&graphs->nodes, &id);
        if (id >> 32 != graph->id) return false;
        if (node != NULL && (node->id & CLONE) != 0 && (uint32_t)id > *last) *last = (uint32_t)id;
    }
    return graph->nodes.count > 0;
}

/* CUDA dissolves inner graphs into the executable graph and numbers their nodes after its own. This is not
 * reported; it was observed on an H200 (CUDA 13.0, driver 580), where all of XLA's graphs contain others. */
static bool inline_graph(const jm__collector *collector, collector_graphs *graphs, uint32_t graph,
                         uint64_t exec, uint32_t *last)
{
    const collector_graph *inner = find_graph(graphs, graph);
    for (size_t i = 0; inner != NULL && i < inner->nodes.count; i++) {
        const jm__map_value *node = jm__map_find(&graphs->nodes, &inner->nodes.items[i]);
        uint32_t captured = node == NULL ? NODE_UNKNOWN : captured_of(node->id);
        uint64_t id = exec << 32 | ++*last;
        if (!put_node(graphs, id, (uint32_t)exec, captured, true, collector->now_ns)) return false;
        inner = find_graph(graphs, graph);
    }
    return true;
}

static bool exec_made(const jm__collector *collector, collector_graphs *graphs, int32_t tid, uint64_t exec)
{
    const collector_graph *graph = find_graph(graphs, exec);
    uint32_t last;
    bool kept = true;
    if (graph != NULL && last_clone(graphs, graph, &last))
        for (size_t i = 0; i < graphs->inner.count && kept; i++)
            if (graphs->inner.items[i].tid == tid)
                kept = inline_graph(collector, graphs, graphs->inner.items[i].graph, exec, &last);
    forget_inner(graphs, tid);
    return kept;
}

static bool add_node(jm__collector *collector, collector_process *process, int64_t span_id,
                     const jm_ring_span *record)
{
    uint64_t original = (uint64_t)record->type << 32 | record->name;
    if (record->id < process->graphs->first_node) process->graphs->first_node = record->id;
    return original != 0 ? node_cloned(collector, process, original, record)
                         : node_made(collector, process, span_id, record);
}

void jm__collector_graph_record(jm__collector *collector, collector_reader *reader, int64_t span_id,
                                const jm_ring_span *record)
{
    collector_process *process = reader->process;
    collector_graphs *graphs = graphs_of(collector, process, reader->names->file_number);
    int32_t tid = reader->thread->tid;
    bool kept = true;
    if (graphs == NULL) return;
    switch (record->op) {
    case JM_RING_EXEC_BEGUN:
        forget_inner(graphs, tid);
        kept = remember_inner(graphs, tid, 0);
        break;
    case JM_RING_GRAPH_GONE:
        graph_gone(graphs, record->samples, collector->now_ns);
        if (is_making(graphs, tid)) kept = remember_inner(graphs, tid, record->samples);
        break;
    case JM_RING_EXEC_MADE:
        kept = exec_made(collector, graphs, tid, record->samples);
        break;
    default:
        kept = add_node(collector, process, span_id, record);
        break;
    }
    if (!kept) collector->out_of_memory = graphs->forgot = true;
}

static uint32_t node_captured(const jm__collector *collector, collector_process *process, uint64_t node)
{
    collector_graphs *graphs = process->graphs;
    const jm__map_value *known = graphs == NULL ? NULL : jm__map_find(&graphs->nodes, &node);
    if (known == NULL) return captured_unknown(collector, process, node);
    graphs->graphs.items[slot_of(known->id)].used_ns = collector->now_ns;
    return captured_of(known->id);
}

void jm__collector_graphs_prune(jm__collector *collector, collector_process *process)
{
    collector_graphs *graphs = process->graphs;
    if (graphs == NULL || graphs->gone == 0) return;
    for (uint32_t slot = 0; slot < graphs->graphs.count; slot++) {
        const collector_graph *graph = &graphs->graphs.items[slot];
        bool over = graph->gone_ns != 0 && collector->now_ns - graph->gone_ns > JM_WAITING_NS;
        if (over && graph->clones == 0) forget_graph(graphs, slot);
    }
}

/* ---- launches */

/* Is an equal span open at the launch? Then the work belongs to the innermost span there. */
static bool is_open_at_launch(const collector_graphs *graphs, const collector_captured *captured)
{
    for (size_t i = 0; i < graphs->launch_chain_count; i++) {
        const collector_recent *span = &graphs->launch_chain[i];
        if (span->kind == captured->kind && span->name_id == captured->name_id &&
            span->type_id == captured->type_id)
            return true;
    }
    return false;
}

static void load_launch_chain(const jm__collector *collector, collector_graphs *graphs,
                              int64_t launch_span_id)
{
    const collector_recent *chain[JM_CAPTURED_DEPTH];
    if (graphs->launch_span_id == launch_span_id) return;
    graphs->launch_span_id = launch_span_id;
    graphs->launch_chain_count = recent_chain(collector, launch_span_id, chain);
    for (size_t i = 0; i < graphs->launch_chain_count; i++)
        graphs->launch_chain[i] = *chain[i];
}

/* The span of this launch for this captured span; 0: none yet. */
static int64_t find_replayed(const collector_graphs *graphs, collector_replay_key key)
{
    const jm__map_value *found = jm__map_find(&graphs->replayed, &key);
    if (found == NULL) found = jm__map_find(&graphs->replayed_before, &key);
    return found == NULL ? 0 : found->id;
}

/* Only the newest are looked up: when a map is full, the previous one is dropped. */
static void remember_replayed(jm__collector *collector, collector_graphs *graphs, collector_replay_key key,
                              int64_t span_id)
{
    if (graphs->replayed.count >= JM_REPLAYED_MAX) {
        jm__map_free(&graphs->replayed_before);
        graphs->replayed_before = graphs->replayed;
        graphs->replayed = (jm__map){.key_size = graphs->replayed_before.key_size};
    }
    if (!jm__map_put(&graphs->replayed, &key, (jm__map_value){.id = span_id}))
        collector->out_of_memory = true;
}

/* Limits the rate: a graph of a thousand layers may be launched a thousand times a second. */
static bool is_within_rate(jm__collector *collector)
{
    int64_t least_ns = collector->now_ns - JM_REPLAY_BURST_NS;
    if (collector->replays_until_ns < least_ns) collector->replays_until_ns = least_ns;
    if (collector->replays_until_ns + collector->replay_span_ns > collector->now_ns) return false;
    collector->replays_until_ns += collector->replay_span_ns;
    return true;
}

/* The shortest launch of a graph. */
#define CALL_NS 3000

/* Spans follow each other within the time of the call, 1 ns each, so that viewers show them side by side. A
 * span with children lasts at least as long as the call. */
static int64_t make_span(jm__collector *collector, const collector_process *process, collector_launch *launch,
                         const collector_captured *captured, int64_t parent_id, bool has_children)
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
    const jm__span_end end = {.span_id = row.id,
                              .end_ns = has_children ? launch->t_ns + CALL_NS : row.start_ns + 1};
    if (!has_children) launch->replayed++;
    collector->sink.span_begin(collector->sink.context, &row);
    collector->sink.span_end(collector->sink.context, &end);
    return row.id;
}

/* Above the rate limit, the span of the previous launch is shared. */
static int64_t replay_span(jm__collector *collector, collector_process *process, collector_launch *launch,
                           uint32_t captured, int64_t parent_id, bool has_children)
{
    collector_captured *span = &process->graphs->captured.items[captured];
    if (is_within_rate(collector)) {
        span->replay_id = make_span(collector, process, launch, span, parent_id, has_children);
        return span->replay_id;
    }
    process->shared_replays++;
    return span->replay_id != 0 ? span->replay_id : parent_id;
}

static collector_replay_key key_of(const collector_launch *launch, uint32_t captured)
{
    return (collector_replay_key){launch->correlation, captured, launch->t_ns};
}

/* From `captured` outwards: the captured spans that have no span in this launch yet. `span_id` is set to the
 * span around them. Returns their number. */
static size_t find_missing(const collector_graphs *graphs, const collector_launch *launch, uint32_t captured,
                           uint32_t missing[JM_CAPTURED_DEPTH], int64_t *span_id)
{
    size_t count = 0;
    for (uint32_t at = captured; at != 0 && count < JM_CAPTURED_DEPTH;
         at = graphs->captured.items[at].parent) {
        int64_t found = find_replayed(graphs, key_of(launch, at));
        if (found != 0) *span_id = found;
        if (found != 0 || is_open_at_launch(graphs, &graphs->captured.items[at])) break;
        missing[count++] = at;
    }
    return count;
}

static int64_t replayed_span(jm__collector *collector, collector_process *process, collector_launch *launch,
                             uint32_t captured, int64_t launch_span_id)
{
    collector_graphs *graphs = process->graphs;
    const collector_replay_key key = key_of(launch, captured);
    if (memcmp(&key, &graphs->last_replayed, sizeof key) == 0) return graphs->last_replayed_id;
    uint32_t missing[JM_CAPTURED_DEPTH];
    int64_t span_id = launch_span_id;
    load_launch_chain(collector, graphs, launch_span_id);
    for (size_t i = find_missing(graphs, launch, captured, missing, &span_id); i > 0; i--) {
        span_id = replay_span(collector, process, launch, missing[i - 1], span_id, i > 1);
        remember_replayed(collector, graphs, key_of(launch, missing[i - 1]), span_id);
    }
    graphs->last_replayed = key;
    graphs->last_replayed_id = span_id;
    return span_id;
}

/* Once per process: explains what a report lacks. */
static void mark_graphs_before(jm__collector *collector, collector_process *process,
                               const collector_launch *launch)
{
    if (process->graphs_before) return;
    process->graphs_before = true;
    jm__mark row = {.process_id = process->row_id, .thread_id = launch->tid, .t_ns = launch->t_ns};
    row.name_id = collector->sink.name(collector->sink.context, JM_MARK_GRAPHS_BEFORE);
    if (row.name_id >= 0) collector->sink.mark(collector->sink.context, &row);
}

int64_t jm__collector_replayed(jm__collector *collector, collector_process *process, collector_launch *launch,
                               uint64_t node, int64_t launch_span_id)
{
    uint32_t captured = node_captured(collector, process, node);
    if (captured == NODE_BEFORE) mark_graphs_before(collector, process, launch);
    if (captured == NODE_UNKNOWN && process->reports_graphs) process->unreported_nodes++;
    bool known = captured != NODE_BEFORE && captured != NODE_UNKNOWN && captured != 0;
    return known ? replayed_span(collector, process, launch, captured, launch_span_id) : launch_span_id;
}
