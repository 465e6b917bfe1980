/* Nodes as rows. */
#include "attribute/rollup/rows.h"

#include "attribute/fit/student.h"
#include "attribute/rollup/draws.h"
#include "attribute/rollup/row_order.h"
#include "attribute/rollup/totals.h"
#include "attribute/rollup/wholes.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct maker {
    jm__tree *tree;
    const jm__attribution *a;
    jm__subtotal *sub;
    jm__means means;
    jm__row_order order;
    double *stood_u_j;    /* [nodes]: for steps that traced ones stand for; NULL: there are none */
    jm__board_set boards; /* of the last row: mostly those of the next one */
    const char *boards_text;
} maker;

/* All of it lies in time in which every board was lost. */
static bool is_unseen(const jm__attribution *a, const jm__node *node)
{
    int64_t from_ns = jm__node_start_ns(node);
    int64_t to_ns = node->host_end_ns > node->end_ns ? node->host_end_ns : node->end_ns;
    bool lost = false;
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->wanted || !jm__board_is_fitted(part->board)) continue;
        if (jm__windows_overlap_ns(&part->windows, from_ns, to_ns) > 0) return false;
        lost = lost || jm__windows_overlap_ns(&part->lost, from_ns, to_ns) > 0;
    }
    return lost;
}

jm_provenance jm__row_provenance(const jm__node *node, const jm__subtotal *sub)
{
    if (node->whole) return JM_PROVENANCE_MEASURED;
    if (sub->cell_count == 0)
        return node->measured || sub->measured ? JM_PROVENANCE_MEASURED : JM_PROVENANCE_FITTED;
    if (!sub->energy.known) return JM_PROVENANCE_UNRESOLVED;
    /* Most of it shares columns. */
    bool merged = sub->merged_s > 0.5 * sub->busy_s;
    if (merged) return JM_PROVENANCE_WEAK;
    return sub->energy.decided ? JM_PROVENANCE_FITTED : sub->energy.believed;
}

static const char *boards_text(jm__tree *tree, const jm__attribution *a, jm__board_set boards)
{
    char text[256];
    size_t used = 0;
    text[0] = '\0';
    for (size_t b = 0; b < a->dataset->board_count && b < 63 && used + 16 < sizeof text; b++) {
        if (!(boards & jm__board_bit(b))) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", used > 0 ? "," : "",
                                 jm__attribution_index(a, b));
    }
    return jm__tree_text(tree, "%s", text);
}

/* A field that nobody sets is missing, not 0. */
static const jm_row nothing_yet = {JM_ROW_FIELDS(JM_NOTHING_YET)};

static void fill_places(jm_row *row, const jm__node *node, const jm__subtotal *sub)
{
    if (sub->forward_j + sub->backward_j > 0) {
        row->forward_share = sub->forward_j / sub->work_j;
        row->backward_share = sub->backward_j / sub->work_j;
    }
    if (node->mostly_at == NULL) return;
    row->mostly_at = node->mostly_at;
    row->mostly_share = node->mostly_share;
}

/* A part of the bytes is not told as if it were all. */
static void fill_collective(jm_row *row, const jm__node *node)
{
    if (node->told + node->untold == 0) return;
    if (node->overlaps) row->exposed_s = node->exposed_s;
    if (node->untold > 0) return;
    row->bytes = (int64_t)node->bytes;
    if (node->ran_s > 0) row->bytes_per_s = node->bytes / node->ran_s;
}

static void fill_row(jm_row *row, maker *m, size_t n)
{
    const jm__node *node = &m->tree->nodes.items[n];
    const jm__subtotal *sub = &m->sub[n];
    double half_j = hypot(sub->energy.half_j, JM_NORMAL_95 * hypot(sub->measured_u_j, sub->whole_u_j));
    if (node->whole) half_j = JM_NORMAL_95 * node->whole_u_j;
    if (m->stood_u_j != NULL) half_j = hypot(half_j, JM_NORMAL_95 * m->stood_u_j[n]);
    *row = nothing_yet;
    row->name = node->name;
    row->path = node->path;
    row->kind = node->kind;
    if (node->type != NULL) row->type = node->type;
    row->depth = m->order.depth[n];
    row->calls = node->calls;
    if (node->amounts[JM_AMOUNT_SAMPLES] > 0) row->samples = node->amounts[JM_AMOUNT_SAMPLES];
    if (node->amounts[JM_AMOUNT_TOKENS] > 0) row->tokens = node->amounts[JM_AMOUNT_TOKENS];
    row->busy_s = sub->busy_s;
    row->energy_j = sub->energy.energy_j + sub->measured_j;
    row->energy_low_j = jm__energy_low(row->energy_j, half_j);
    row->energy_high_j = row->energy_j + half_j;
    row->energy_self_j = node->self_j;
    fill_places(row, node, sub);
    fill_collective(row, node);
    jm__mean_sums_give(row, &sub->means);
    row->provenance = jm__row_provenance(node, sub);
    if (m->boards_text == NULL || m->boards != node->boards)
        m->boards_text = boards_text(m->tree, m->a, node->boards);
    m->boards = node->boards;
    row->boards = m->boards_text;
    bool worked = node->start_ns != INT64_MAX;
    row->start_ns = jm__node_start_ns(node) == INT64_MAX ? 0 : jm__node_start_ns(node);
    row->end_ns = worked ? node->end_ns : node->host_end_ns;
    if (node->calls > 0 && sub->busy_s == 0 && is_unseen(m->a, node)) {
        row->energy_j = row->energy_low_j = row->energy_high_j = NAN;
        row->provenance = JM_PROVENANCE_UNRESOLVED;
    }
    if (sub->cell_count > 0 && !sub->energy.known)
        row->energy_j = row->energy_low_j = row->energy_high_j = row->energy_self_j = NAN;
}

static jm_status add_unresolved(jm__rows *rows, jm_report_totals *t, const jm__attribution *a, jm_error *err)
{
    double parts_j = 0, variance = 0;
    for (size_t i = 0; i < rows->count; i++)
        parts_j += rows->items[i].energy_self_j;
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->wanted || a->options.by == JM_BY_BOARD) continue;
        if (part->total.source != NULL) variance += part->fit.rest_variance;
    }
    t->unresolved_energy_j = t->total_energy_j - parts_j;
    double half_j = JM_NORMAL_95 * sqrt(fmax(0, variance));
    jm_row row = nothing_yet;
    row.name = row.path = "(unresolved)";
    row.kind = "unresolved";
    row.energy_j = row.energy_self_j = t->unresolved_energy_j;
    row.energy_low_j = row.energy_j - half_j;
    row.energy_high_j = row.energy_j + half_j;
    row.provenance = JM_PROVENANCE_UNRESOLVED;
    bool fine = jm__vec_push(rows, row) && jm__vec_push(&rows->nodes, JM__NO_NODE);
    return fine ? JM_OK : jm__no_memory(err, "jm__rows_make");
}

static bool is_upstream(const jm__tree *tree, size_t node)
{
    return node != JM__NO_NODE && tree->nodes.items[node].upstream;
}

static jm_status make(jm__rows *rows, jm_report_totals *totals, maker *m, jm_error *err)
{
    JM_TRY(jm__means_find(&m->means, m->a, err));
    JM_TRY(jm__subtotals_add_up(m->sub, m->tree, m->a, &m->means, err));
    JM_TRY(jm__wholes_share(m->sub, m->tree, m->a, err));
    if (!jm__draws_u_j(&m->stood_u_j, m->tree)) return jm__no_memory(err, "jm__rows_make");
    JM_TRY(jm__row_order_find(&m->order, m->tree, m->sub, m->a->options.by, err));
    if (!jm__vec_reserve(rows, m->tree->nodes.count + 1)) return jm__no_memory(err, "jm__rows_make");
    for (size_t i = 0; i < m->tree->nodes.count; i++) {
        size_t node = m->order.nodes[i];
        if (!m->sub[node].shown) continue;
        fill_row(&rows->items[rows->count++], m, node);
        if (!jm__vec_push(&rows->nodes, node)) return jm__no_memory(err, "jm__rows_make");
    }
    JM_TRY(jm__totals_sum(totals, m->a, err));
    JM_TRY(add_unresolved(rows, totals, m->a, err));
    for (size_t i = 0; i < rows->count; i++) {
        jm_row *row = &rows->items[i];
        row->power_w = row->busy_s > 0 ? row->energy_j / row->busy_s : NAN;
        bool shares = totals->total_energy_j > 0 && !is_upstream(m->tree, rows->nodes.items[i]);
        row->share = shares ? row->energy_j / totals->total_energy_j : NAN;
    }
    return m->tree->failed ? jm__no_memory(err, "jm__rows_make") : JM_OK;
}

jm_status jm__rows_make(jm__rows *rows, jm_report_totals *totals, jm__tree *tree, const jm__attribution *a,
                        jm_error *err)
{
    maker m = {.tree = tree, .a = a};
    m.sub = calloc(tree->nodes.count + 1, sizeof *m.sub);
    jm_status status = m.sub != NULL ? make(rows, totals, &m, err) : jm__no_memory(err, "jm__rows_make");
    jm__subtotals_free(m.sub, tree->nodes.count);
    jm__row_order_free(&m.order);
    free(m.stood_u_j);
    jm__means_free(&m.means);
    return status;
}

void jm__rows_free(jm__rows *rows)
{
    jm__vec_free(rows);
    jm__vec_free(&rows->nodes);
}
