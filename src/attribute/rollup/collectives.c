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
