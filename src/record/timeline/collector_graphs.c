/* The nodes of CUDA graphs: what each was captured in. A clone was captured in what its original was. */
#include "record/timeline/collector_parts.h"

#include <stdlib.h>
#include <string.h>

/* What is kept of a node, in one number: what it was captured in, its graph's slot, and whether it is a
 * clone. */
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
    /* There was room for it when it was made; else a slot is lost. */
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

/* Half of the nodes go: those of graphs that nobody used for long. */
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
    bool again = graphs->free_slots.count > 0;
    collector_graph made = {.id = id};
    if (!again && !jm__vec_push(&graphs->graphs, made)) return false;
    *slot =
        again ? graphs->free_slots.items[graphs->free_slots.count - 1] : (uint32_t)graphs->graphs.count - 1;
    if (!jm__map_put(&graphs->graph_slots, &id, (jm__map_value){.id = *slot})) {
        if (!again) graphs->graphs.count--;
        return false;
    }
    if (again) graphs->free_slots.count--;
    graphs->graphs.items[*slot] = made;
    return true;
}

static bool put(collector_graphs *graphs, uint64_t id, uint32_t graph, uint32_t captured, bool clone,
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
    collector_graph *of = &graphs->graphs.items[slot];
    of->used_ns = now_ns;
    return jm__vec_push(&of->nodes, id) &&
           jm__map_put(&graphs->nodes, &id, (jm__map_value){.id = pack(captured, slot, clone)});
}

static collector_graphs *graphs_of(jm__collector *collector, collector_process *process, uint32_t program)
{
    if (process->graphs != NULL && process->graphs->program < program) {
        jm__collector_graphs_free(process);
        jm__collector_recent_uncapture(collector);
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
    graphs->replayed.key_size = graphs->replayed_before.key_size = sizeof graphs->last_replayed;
    process->graphs = graphs;
    process->tells_graphs = true;
    return graphs;
}

/* Of a node that nobody told of. CUPTI's ids count up. */
static uint32_t unknown(const jm__collector *collector, const collector_process *process, uint64_t node)
{
    const collector_graphs *graphs = process->graphs;
    bool lost = collector->lost_told[JM_LOST_NODES] > 0 || (graphs != NULL && graphs->forgot);
    bool before = process->tells_graphs && !lost && (graphs == NULL || node < graphs->first_node);
    return before ? JM_NODE_BEFORE : JM_NODE_UNTOLD;
}

/* CUPTI tells of a clone twice: as of a node that is made, in whatever was open there, and as of a clone. */
static bool node_made(jm__collector *collector, collector_process *process, int64_t span_id,
                      const jm_ring_span *record)
{
    collector_graphs *graphs = process->graphs;
    const jm__map_value *known = jm__map_find(&graphs->nodes, &record->id);
    if (known != NULL && (known->id & CLONE) != 0) return true;
    uint32_t captured = jm__collector_capture(collector, process, span_id, record->samples);
    return put(graphs, record->id, record->samples, captured, false, collector->now_ns);
}

static bool node_cloned(const jm__collector *collector, collector_process *process, uint64_t original,
                        const jm_ring_span *record)
{
    collector_graphs *graphs = process->graphs;
    const jm__map_value *known = jm__map_find(&graphs->nodes, &original);
    uint32_t captured = known != NULL ? captured_of(known->id) : unknown(collector, process, original);
    if (known != NULL) {
        graphs->graphs.items[slot_of(known->id)].used_ns = collector->now_ns;
        set_original(graphs, record->samples, slot_of(known->id));
    }
    return put(graphs, record->id, record->samples, captured, true, collector->now_ns);
}

/* Its kernels may still be on their way. */
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

/* The last number of a clone in a graph. An id has its graph's in the upper half; false: this one's have not.
 */
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

/* CUDA dissolves the graphs inside one that is made executable, one after the other, and numbers their nodes
 * on, behind those that it has. Nobody tells of that: it was seen on an H200 (CUDA 13.0, driver 580), where
 * all of XLA's graphs hold others. */
static bool take_in(const jm__collector *collector, collector_graphs *graphs, uint32_t graph, uint64_t exec,
                    uint32_t *last)
{
    const collector_graph *inner = find_graph(graphs, graph);
    for (size_t i = 0; inner != NULL && i < inner->nodes.count; i++) {
        const jm__map_value *node = jm__map_find(&graphs->nodes, &inner->nodes.items[i]);
        uint32_t captured = node == NULL ? JM_NODE_UNTOLD : captured_of(node->id);
        uint64_t id = exec << 32 | ++*last;
        if (!put(graphs, id, (uint32_t)exec, captured, true, collector->now_ns)) return false;
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
                kept = take_in(collector, graphs, graphs->inner.items[i].graph, exec, &last);
    forget_inner(graphs, tid);
    return kept;
}

static bool node_told(jm__collector *collector, collector_process *process, int64_t span_id,
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
        kept = node_told(collector, process, span_id, record);
        break;
    }
    if (!kept) collector->out_of_memory = graphs->forgot = true;
}

uint32_t jm__collector_node_captured(const jm__collector *collector, collector_process *process,
                                     uint64_t node)
{
    collector_graphs *graphs = process->graphs;
    const jm__map_value *known = graphs == NULL ? NULL : jm__map_find(&graphs->nodes, &node);
    if (known == NULL) return unknown(collector, process, node);
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
