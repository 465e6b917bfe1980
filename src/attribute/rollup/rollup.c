/* The walk over work, spans and idle time that fills the tree of any view. */
#include "attribute/rollup/rollup.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool jm__kind_is_layer(jm_span_kind kind)
{
    return kind == JM_SPAN_FORWARD || kind == JM_SPAN_BACKWARD || kind == JM_SPAN_RECOMPUTE;
}

bool jm__kind_is_container(jm_span_kind kind)
{
    return kind == JM_SPAN_PHASE || kind == JM_SPAN_EPOCH || kind == JM_SPAN_STEP || kind == JM_SPAN_WINDOW;
}

/* Spans began before what they hold: a parent that did not is damage, and would make a circle. */
size_t jm__rollup_parent(const jm__rollup *r, size_t span)
{
    const jm__dataset *d = r->a->dataset;
    size_t parent = jm__span_at(&r->a->spans, d->spans[span].parent_id);
    if (parent == JM__NO_SPAN || parent == span) return JM__NO_SPAN;
    const jm__span *outer = &d->spans[parent], *inner = &d->spans[span];
    bool before =
        outer->start_ns < inner->start_ns || (outer->start_ns == inner->start_ns && outer->id < inner->id);
    return before ? parent : JM__NO_SPAN;
}

static size_t span_node(jm__rollup *r, size_t span)
{
    switch (r->a->options.by) {
    case JM_BY_LAYER:
        return jm__rollup_layer_node(r, span);
    case JM_BY_TYPE:
        return jm__rollup_type_node(r, span);
    case JM_BY_PHASE:
        return jm__rollup_phase_node(r, span);
    case JM_BY_SPAN:
        return jm__rollup_span_node(r, span);
    case JM_BY_KERNEL:
    case JM_BY_BOARD:
    case JM_BY_COUNT:
        break;
    }
    return JM__NO_NODE;
}

static size_t node_of_span(jm__rollup *r, size_t span)
{
    if (r->of_span[span] == 0) {
        size_t node = span_node(r, span);
        if (node == JM__NO_NODE) return JM__NO_NODE;
        r->of_span[span] = node + 1;
    }
    return r->of_span[span] - 1;
}

static size_t board_node(jm__rollup *r, size_t b)
{
    const jm_board *board = r->a->boards[b].board;
    const char *kind = jm__board_is_fitted(board) ? "gpu" : "cpu";
    const char *path = board->uuid[0] != '\0'
                           ? board->uuid
                           : jm__tree_text(r->tree, "%s:%lld", board->backend, (long long)board->id);
    return jm__tree_node(r->tree, JM__NO_NODE, board->name, path, kind);
}

static size_t item_node(jm__rollup *r, size_t b, const jm__item *item)
{
    const jm_report_options *o = &r->a->options;
    if (o->by == JM_BY_BOARD) return board_node(r, b);
    if (o->process_id != 0 && item->process_id != o->process_id)
        return jm__tree_node(r->tree, JM__NO_NODE, "(other processes)", "(other processes)", "outside");
    if (o->by == JM_BY_KERNEL) return jm__rollup_kernel_node(r, item->class_index);
    size_t span = jm__span_at(&r->a->spans, item->span_id);
    if (span == JM__NO_SPAN) return jm__tree_node(r->tree, JM__NO_NODE, "(outside)", "(outside)", "outside");
    return node_of_span(r, span);
}

/* Host spans count as work of each board; their time is shown once. */
static bool first_of_host(const jm__attribution *a, size_t b)
{
    for (size_t i = 0; i < b; i++)
        if (a->boards[i].wanted && a->work.from_host[i]) return false;
    return true;
}

static void add_items(jm__rollup *r, size_t b)
{
    const jm__attribution *a = r->a;
    const jm__board_part *part = &a->boards[b];
    bool counts = !a->work.from_host[b] || first_of_host(a, b);
    bool calls = counts && (a->options.by == JM_BY_KERNEL || a->options.by == JM_BY_BOARD);
    for (size_t i = 0; i < a->work.boards[b].count && !r->tree->failed; i++) {
        const jm__item *item = &a->work.boards[b].items[i];
        bool starts = jm__windows_hold(&a->windows, item->start_ns);
        if (!starts && item->seconds == 0) continue;
        size_t node = item_node(r, b, item);
        if (node == JM__NO_NODE) continue;
        jm__node *row = &r->tree->nodes.items[node];
        if (counts) row->busy_s += item->seconds;
        for (size_t n = node; calls && starts && n != JM__NO_NODE; n = r->tree->nodes.items[n].parent)
            r->tree->nodes.items[n].calls += item->calls; /* a kernel's shapes are calls of the kernel */
        if (part->columns.merged[item->class_index]) row->merged_s += item->seconds;
        jm__tree_seen(r->tree, node, item->start_ns, item->end_ns, b);
        if (a->options.by == JM_BY_BOARD) continue;
        size_t column = part->first_column + part->columns.of_class[item->class_index];
        jm__tree_add(r->tree, node, (uint32_t)column, item->seconds);
    }
}

static void add_idle(jm__rollup *r, size_t b)
{
    const jm__board_part *part = &r->a->boards[b];
    if (r->a->options.by == JM_BY_PHASE) {
        jm__rollup_phase_idle(r, b);
        return;
    }
    size_t node = jm__tree_node(r->tree, JM__NO_NODE, "(idle)", "(idle)", "idle");
    if (node == JM__NO_NODE) return;
    for (size_t k = part->columns.class_columns; k < part->columns.count; k++) {
        if (part->seconds[k] == 0) continue;
        r->tree->nodes.items[node].busy_s += part->seconds[k];
        r->tree->nodes.items[node].boards |= UINT64_C(1) << (b < 63 ? b : 63);
        jm__tree_add(r->tree, node, (uint32_t)(part->first_column + k), part->seconds[k]);
    }
}

/* What needs no fit: a board's own row, and CPU packages in all other views. */
static void add_measured(jm__rollup *r, size_t b)
{
    const jm__board_part *part = &r->a->boards[b];
    size_t node = board_node(r, b);
    if (node == JM__NO_NODE) return;
    jm__node *row = &r->tree->nodes.items[node];
    row->measured = part->total.source != NULL;
    row->measured_j += part->total.energy_j;
    row->measured_u_j = hypot(row->measured_u_j, part->total.u_j);
    row->boards |= UINT64_C(1) << (b < 63 ? b : 63);
    if (!jm__board_is_fitted(part->board))
        row->busy_s += (double)jm__windows_duration_ns(&part->windows) * 1e-9;
}

/* Calls of layers, types and phases are spans, not kernels. */
static void count_spans(jm__rollup *r)
{
    const jm__attribution *a = r->a;
    const jm__dataset *d = a->dataset;
    for (size_t i = 0; i < d->span_count && !r->tree->failed; i++) {
        const jm__span *span = &d->spans[i];
        if (!jm__windows_hold(&a->windows, span->start_ns)) continue;
        if (a->options.process_id != 0 && span->process_id != a->options.process_id) continue;
        size_t node = a->options.by == JM_BY_PHASE && jm__kind_is_container(span->kind)
                          ? jm__rollup_container_node(r, i)
                          : node_of_span(r, i);
        if (node == JM__NO_NODE) continue;
        jm__node *row = &r->tree->nodes.items[node];
        /* A layer is called once a forward; its backward and recompute belong to the same call. */
        bool again = a->options.by == JM_BY_LAYER &&
                     (span->kind == JM_SPAN_BACKWARD || span->kind == JM_SPAN_RECOMPUTE);
        bool inner = a->options.by == JM_BY_LAYER && jm__kind_is_container(span->kind) &&
                     strcmp(row->kind, jm_span_kind_text(span->kind)) != 0;
        if (!again && !inner) row->calls++;
        if (a->options.by != JM_BY_LAYER)
            jm__tree_seen_on_host(r->tree, node, span->start_ns, jm__span_end_ns(d, span));
    }
}

static jm_status fill(jm__rollup *r, jm_error *err)
{
    const jm__attribution *a = r->a;
    const jm__dataset *d = a->dataset;
    r->of_span = calloc(d->span_count + 1, sizeof *r->of_span);
    r->of_class = calloc(a->work.classes.count + 1, sizeof *r->of_class);
    r->root_of = calloc(d->name_count + 1, sizeof *r->root_of);
    r->of_name = calloc(d->name_count + 1, sizeof *r->of_name);
    if (r->of_span == NULL || r->of_class == NULL || r->root_of == NULL || r->of_name == NULL)
        return jm__no_memory(err, "jm__rollup_run");
    if (a->options.by == JM_BY_LAYER) jm__rollup_find_roots(r);
    for (size_t b = 0; b < d->board_count; b++) {
        if (!a->boards[b].wanted) continue;
        bool fitted = jm__board_is_fitted(a->boards[b].board);
        if (fitted) add_items(r, b);
        if (fitted && a->options.by != JM_BY_BOARD) add_idle(r, b);
        if (!fitted || a->options.by == JM_BY_BOARD) add_measured(r, b);
    }
    if (a->options.by != JM_BY_KERNEL && a->options.by != JM_BY_BOARD) count_spans(r);
    if (a->options.by == JM_BY_PHASE && !jm__rollup_measure_phases(r))
        return jm__no_memory(err, "jm__rollup_run");
    if (r->tree->full)
        return jm__fail(err, JM_LIMIT, 0, NULL,
                        "the report would have more than %d rows; ask for a shorter time or one phase",
                        JM_NODES_MAX);
    return r->tree->failed ? jm__no_memory(err, "jm__rollup_run") : JM_OK;
}

jm_status jm__rollup_run(jm__tree *tree, const jm__attribution *a, jm_error *err)
{
    jm__rollup r = {.a = a, .tree = tree};
    jm__tree_init(tree);
    jm_status status = fill(&r, err);
    free(r.of_span);
    free(r.of_class);
    free(r.of_name);
    free(r.root_of);
    return status;
}
