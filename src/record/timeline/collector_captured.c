/* What was open when the nodes of CUDA graphs were made: chains of spans, each content once. */
#include "format/rows/span_kind.h"
#include "record/timeline/collector_parts.h"

#include <stdlib.h>
#include <string.h>

static collector_recent *slot_of(const jm__collector *collector, int64_t span_id)
{
    return &collector->recent[(uint64_t)span_id & (JM_RECENT_SPANS - 1)];
}

void jm__collector_recent_put(jm__collector *collector, const collector_recent *recent)
{
    if (collector->recent != NULL) *slot_of(collector, recent->id) = *recent;
}

static collector_recent *find(const jm__collector *collector, int64_t span_id)
{
    if (collector->recent == NULL || span_id <= 0) return NULL;
    collector_recent *slot = slot_of(collector, span_id);
    return slot->id == span_id ? slot : NULL;
}

void jm__collector_recent_uncapture(jm__collector *collector)
{
    for (size_t i = 0; collector->recent != NULL && i < JM_RECENT_SPANS; i++)
        collector->recent[i].captured = 0;
}

/* From here on spans are kept: those that are open now, and all that come. */
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

size_t jm__collector_recent_chain(const jm__collector *collector, int64_t span_id,
                                  const collector_recent *chain[JM_CAPTURED_DEPTH])
{
    size_t count = 0;
    for (const collector_recent *at = find(collector, span_id); at != NULL && count < JM_CAPTURED_DEPTH;
         at = find(collector, at->parent_id)) {
        if (jm__span_kind_is_container((jm_span_kind)at->kind)) break;
        chain[count++] = at;
    }
    return count;
}

typedef struct captured_key {
    int64_t name_id, type_id;
    uint32_t parent, alike, kind, zero;
} captured_key;
_Static_assert(sizeof(captured_key) == 32, "no padding in the key");

/* 0: there is no room for it. */
static uint32_t add(jm__collector *collector, collector_graphs *graphs, const captured_key *key)
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

/* Two spans alike in one span are two calls: the second is another one than the first, in each capture. */
static uint32_t bind(jm__collector *collector, collector_process *process, uint32_t parent,
                     const collector_recent *span, uint32_t graph)
{
    collector_graphs *graphs = process->graphs;
    captured_key key = {
        .name_id = span->name_id, .type_id = span->type_id, .parent = parent, .kind = span->kind};
    uint32_t index = 0;
    for (; key.alike < JM_CAPTURED_ALIKE_MAX; key.alike++) {
        const jm__map_value *found = jm__map_find(&graphs->captured_by_key, &key);
        index = found != NULL ? (uint32_t)found->id : add(collector, graphs, &key);
        if (index == 0) break;
        const collector_captured *captured = &graphs->captured.items[index];
        bool taken =
            found != NULL && captured->last_parent_id == span->parent_id && captured->last_graph == graph;
        if (!taken) break;
    }
    if (index == 0) {
        process->refused_captures++;
        return parent;
    }
    graphs->captured.items[index].last_parent_id = span->parent_id;
    graphs->captured.items[index].last_graph = graph;
    return index;
}

uint32_t jm__collector_capture(jm__collector *collector, collector_process *process, int64_t span_id,
                               uint32_t graph)
{
    const collector_recent *chain[JM_CAPTURED_DEPTH];
    if (span_id == 0 || !keep_recent(collector)) return 0;
    size_t count = jm__collector_recent_chain(collector, span_id, chain), known = 0;
    while (known < count && chain[known]->captured == 0)
        known++;
    uint32_t captured = known < count ? chain[known]->captured : 0;
    for (size_t i = known; i > 0; i--) {
        captured = bind(collector, process, captured, chain[i - 1], graph);
        find(collector, chain[i - 1]->id)->captured = captured;
    }
    return captured;
}
