/* Rows of collectives' kernels (NCCL, NVSHMEM, RCCL): of nobody's layer, whoever launched them. */
#include "attribute/rollup/views.h"

#include <string.h>

static const char kind[] = "collective";

bool jm__view_is_collective(const jm__views *v, size_t node)
{
    return strcmp(v->tree->nodes.items[node].kind, kind) == 0;
}

/* The innermost span at or around it that says when and not what: a phase, a step. */
static size_t container_around(const jm__views *v, size_t span)
{
    size_t s = span;
    while (s != JM__NO_SPAN && !jm__span_kind_is_container(v->a->dataset->spans[s].kind))
        s = jm__span_parent(&v->a->spans, s);
    return s;
}

/* Rows of single spans have no path of their own, so those inside them are found by the node around them. */
static size_t node_in_span(jm__views *v, size_t container, const char *name)
{
    size_t around = container == JM__NO_SPAN ? JM__NO_NODE : jm__view_span_node(v, container);
    return jm__view_node_inside(v, around, name, kind, false);
}

size_t jm__view_collective_node(jm__views *v, size_t span, uint32_t class_index)
{
    const char *name = v->a->work.classes.items[class_index].name;
    size_t container = container_around(v, span);
    if (v->a->options.by == JM_BY_SPAN) return node_in_span(v, container, name);
    if (v->a->options.by != JM_BY_PHASE)
        return jm__tree_node(v->tree, JM__NO_NODE, jm__view_readable_name(v, name), name, kind);
    size_t around = container == JM__NO_SPAN ? JM__NO_NODE : jm__view_container_node(v, container);
    return jm__view_node_under(v, around, kind, kind);
}

/* Of the ranks on a board, or on all (SIZE_MAX): which of them a cell is of, nobody has kept. */
static jm__collective_wait sum_of_waits(const jm__attribution *a, size_t b, const char *name)
{
    jm__collective_wait sum = {.name = name, .board = b};
    for (size_t i = 0; i < a->work.waits.count; i++) {
        const jm__collective_wait *wait = &a->work.waits.items[i];
        if (wait->name != name || (b != SIZE_MAX && wait->board != b)) continue;
        if (!jm__dataset_process_has_pid(a->dataset, wait->process_id, a->options.process_id)) continue;
        sum.calls += wait->calls;
        sum.wait_s += wait->wait_s;
        sum.ran_s += wait->ran_s;
    }
    return sum;
}

/* One GPU is named where hardly another one was waited for. */
static size_t wait_node_of(jm__views *v, size_t node, const char *name)
{
    static const double hardly_another = 0.9;
    double share;
    size_t board = jm__collective_awaited(&v->a->work.waits, name, &share);
    const char *path = jm__tree_text(v->tree, "%s/waiting", v->tree->nodes.items[node].path);
    if (path == NULL) return JM__NO_NODE;
    size_t known = jm__tree_find(v->tree, path, "wait");
    if (known != JM__NO_NODE) return known;
    const char *text = "waiting for the others";
    if (board != SIZE_MAX && share >= hardly_another)
        text = jm__tree_text(v->tree, "waiting for GPU %d", jm__attribution_index(v->a, board));
    size_t fresh = jm__tree_node(v->tree, node, text, path, "wait");
    if (fresh != JM__NO_NODE) v->tree->nodes.items[fresh].calls = sum_of_waits(v->a, SIZE_MAX, name).calls;
    return fresh;
}

double jm__view_collective_wait(jm__views *v, size_t b, size_t node, const jm__work_cell *cell,
                                size_t *wait_node)
{
    bool parted = v->a->options.by == JM_BY_LAYER || v->a->options.by == JM_BY_TYPE;
    if (!parted || v->a->work.waits.count == 0 || !jm__view_is_collective(v, node)) return 0;
    const char *name = v->a->work.classes.items[v->a->work.uses.items.items[cell->use].class_index].name;
    const jm__collective_wait sum = sum_of_waits(v->a, b, name);
    if (!(sum.wait_s > 0)) return 0;
    *wait_node = wait_node_of(v, node, name);
    return *wait_node != JM__NO_NODE ? sum.wait_s / sum.ran_s : 0;
}
