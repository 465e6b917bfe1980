/* Rows of collectives (NCCL, NVSHMEM, RCCL): of nobody's layer, whoever launched them. */
#include "attribute/rollup/views.h"

#include <inttypes.h>
#include <string.h>

static const char kind[] = "collective", wait_kind[] = "wait";

static bool is_of_kind(const jm__views *v, size_t node, const char *wanted)
{
    return strcmp(v->tree->nodes.items[node].kind, wanted) == 0;
}

bool jm__view_is_collective(const jm__views *v, size_t node)
{
    return is_of_kind(v, node, kind);
}

bool jm__view_is_wait(const jm__views *v, size_t node)
{
    return is_of_kind(v, node, wait_kind);
}

/* The innermost span at or around it that says when and not what: a phase, a step. */
static size_t container_around(const jm__views *v, size_t section)
{
    const jm__span_index *spans = &v->a->spans;
    const jm__span *all = v->a->dataset->spans;
    size_t s = section;
    while (s != JM__NO_SPAN && !jm__span_kind_is_container(all[jm__section_span(spans, s)].kind))
        s = jm__section_parent(spans, s);
    return s;
}

/* Its first equal, after which the row is called. */
static const jm__collective *one_of(const jm__views *v, uint32_t collective)
{
    const jm__collective *items = v->a->work.ranks.collectives.items.items;
    return &items[items[collective].same_as];
}

static size_t named(const jm__views *v, size_t node, const jm__collective *c)
{
    if (node != JM__NO_NODE && c->operation != NULL) v->tree->nodes.items[node].type = c->operation;
    return node;
}

/* Rows of single spans have no path of their own, so those inside them are found by the node around them. */
static size_t node_in_span(jm__views *v, size_t container, const jm__collective *c)
{
    size_t around = container == JM__NO_SPAN ? JM__NO_NODE : jm__view_span_node(v, container);
    return jm__view_node_inside(v, around, c->name, kind, false);
}

/* ---- waiting */

/* One GPU is named where hardly another one was waited for. */
static size_t wait_node(jm__views *v, size_t node, uint32_t collective)
{
    static const double hardly_another = 0.9;
    const jm__ranks *ranks = &v->a->work.ranks;
    const char *path = jm__tree_text(v->tree, "%s/waiting", v->tree->nodes.items[node].path);
    if (path == NULL) return JM__NO_NODE;
    size_t known = jm__tree_find(v->tree, path, wait_kind);
    if (known != JM__NO_NODE) return known;
    double share;
    size_t board = jm__collective_awaited(&ranks->waits, &ranks->collectives, collective, &share);
    const char *text = "waiting for the others";
    if (board != SIZE_MAX && share >= hardly_another)
        text = jm__tree_text(v->tree, "waiting for GPU %d", jm__attribution_index(v->a, board));
    return jm__tree_node(v->tree, node, text, path, wait_kind);
}

/* Did more than one rank that the report is of wait in it? */
static bool several_waited(const jm__views *v, uint32_t collective)
{
    const jm__ranks *ranks = &v->a->work.ranks;
    const jm__collective *items = ranks->collectives.items.items;
    const jm__collective_wait *first = NULL;
    for (size_t i = 0; i < ranks->waits.count; i++) {
        const jm__collective_wait *wait = &ranks->waits.items[i];
        if (items[wait->collective].same_as != items[collective].same_as || !(wait->wait_s > 0)) continue;
        if (!jm__dataset_process_has_pid(v->a->dataset, wait->process_id, v->a->options.process_id)) continue;
        if (first == NULL) first = wait;
        if (wait->process_id != first->process_id || wait->board != first->board) return true;
    }
    return false;
}

/* "rank 1 (GPU 1)" */
static size_t rank_node(jm__views *v, size_t waiting, int64_t process_id, size_t board)
{
    const jm__process *process = jm__dataset_process(v->a->dataset, process_id);
    int gpu = jm__attribution_index(v->a, board);
    const char *name = process != NULL && process->rank >= 0
                           ? jm__tree_text(v->tree, "rank %" PRId64 " (GPU %d)", process->rank, gpu)
                           : jm__tree_text(v->tree, "GPU %d", gpu);
    return name == NULL ? JM__NO_NODE : jm__view_node_under(v, waiting, name, wait_kind);
}

static size_t waiting_node(jm__views *v, size_t node, int64_t process_id, uint32_t collective, size_t board)
{
    size_t waiting = node == JM__NO_NODE ? JM__NO_NODE : wait_node(v, node, collective);
    bool parted = waiting != JM__NO_NODE && several_waited(v, collective);
    return parted ? rank_node(v, waiting, process_id, board) : waiting;
}

/* ---- */

static size_t row_node(jm__views *v, const jm__collective *c)
{
    const char *name = c->kernel != NULL ? jm__view_readable_name(v, c->name) : c->name;
    return named(v, jm__tree_node(v->tree, JM__NO_NODE, name, c->name, kind), c);
}

/* Asked for each kernel: found once for each rank. */
static size_t rank_row(jm__views *v, int64_t process_id, uint32_t collective, size_t waits_on)
{
    const uint64_t key[3] = {collective, (uint64_t)process_id, waits_on};
    v->collectives.key_size = sizeof key;
    const jm__map_value *known = jm__map_find(&v->collectives, key);
    if (known != NULL) return (size_t)known->id;
    size_t node = row_node(v, one_of(v, collective));
    if (waits_on != JM__WAITS_NOT) node = waiting_node(v, node, process_id, collective, waits_on);
    if (node != JM__NO_NODE && !jm__map_put(&v->collectives, key, (jm__map_value){.id = (int64_t)node}))
        v->tree->failed = true;
    return v->tree->failed ? JM__NO_NODE : node;
}

size_t jm__view_collective_node(jm__views *v, size_t section, int64_t process_id, uint32_t collective,
                                size_t waits_on)
{
    jm_by by = v->a->options.by;
    const jm__collective *c = one_of(v, collective);
    if (by != JM_BY_SPAN && by != JM_BY_PHASE) return rank_row(v, process_id, collective, waits_on);
    size_t container = container_around(v, section);
    if (by == JM_BY_SPAN) return named(v, node_in_span(v, container, c), c);
    size_t around = container == JM__NO_SPAN ? JM__NO_NODE : jm__view_container_node(v, container);
    return jm__view_node_under(v, around, kind, kind);
}
