/* Adding up the tree from its leaves, then listing it from its roots. */
#include "attribute/rollup/rows.h"

#include "attribute/fit/student.h"
#include "attribute/rollup/energy.h"
#include "base/status.h"
#include "base/strbuf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below, the figure is more the prior's than the data's. Two equal classes that cannot be told apart reach
 * 0.5. */
static const double least_decided = 0.6;

/* What a node and all below it have. */
typedef struct subtotal {
    jm__cell *cells; /* sorted by column */
    size_t cell_count;
    double measured_j, measured_u_j, busy_s, merged_s, self_j;
    bool measured, shown, whole;
    jm__energy energy;
} subtotal;

typedef struct maker {
    jm__tree *tree;
    const jm__attribution *a;
    subtotal *sub;
    size_t *order; /* nodes as rows */
    int32_t *depth;
} maker;

static int by_node_and_column(const void *a, const void *b)
{
    const jm__cell *left = a, *right = b;
    if (left->node != right->node) return left->node < right->node ? -1 : 1;
    return (left->column > right->column) - (left->column < right->column);
}

/* Their numbers are of no use afterwards. */
static void sort_cells(jm__tree *tree)
{
    if (tree->cells.count > 1)
        qsort(tree->cells.items, tree->cells.count, sizeof *tree->cells.items, by_node_and_column);
}

static bool merge(subtotal *into, const jm__cell *cells, size_t count)
{
    if (count == 0) return true;
    jm__cell *merged = malloc((into->cell_count + count) * sizeof *merged);
    if (merged == NULL) return false;
    size_t i = 0, j = 0, n = 0;
    while (i < into->cell_count || j < count) {
        bool left = j == count || (i < into->cell_count && into->cells[i].column <= cells[j].column);
        bool both = left && j < count && into->cells[i].column == cells[j].column;
        merged[n] = left ? into->cells[i++] : cells[j++];
        if (both) merged[n].seconds += cells[j++].seconds;
        n++;
    }
    free(into->cells);
    into->cells = merged;
    into->cell_count = n;
    return true;
}

/* A row that was measured as a whole over its time: what its parts leave of it is its own. Only where work
 * and idle time of the row are that very time: not if others worked in it, or if much of its own work ran
 * after it. */
static void take_whole(subtotal *sub, const jm__node *node)
{
    double seconds = 0;
    for (size_t i = 0; i < sub->cell_count; i++)
        seconds += sub->cells[i].seconds;
    if (isnan(node->whole_j) || !sub->energy.known || fabs(seconds - node->whole_s) > 0.005 * node->whole_s)
        return;
    double rest_j = node->whole_j - sub->energy.energy_j - sub->measured_j;
    sub->whole = true;
    sub->self_j += rest_j;
    sub->measured_j += rest_j;
}

/* Children stand after their parents, so going backwards each node is complete when its turn comes. */
static jm_status add_up(maker *m, jm_error *err)
{
    jm__tree *tree = m->tree;
    size_t end = tree->cells.count;
    for (size_t n = tree->nodes.count; n-- > 0;) {
        jm__node *node = &tree->nodes.items[n];
        subtotal *sub = &m->sub[n];
        size_t first = end;
        while (first > 0 && tree->cells.items[first - 1].node == n)
            first--;
        const jm__cell *own =
            end > first ? &tree->cells.items[first] : NULL; /* a tree without cells has no array */
        jm__energy self = jm__energy_of(m->a, own, end - first);
        sub->self_j = self.energy_j + node->measured_j;
        if (!merge(sub, own, end - first)) return jm__no_memory(err, "jm__rows_make");
        end = first;
        sub->busy_s += node->busy_s;
        sub->merged_s += node->merged_s;
        sub->measured_j += node->measured_j;
        sub->measured_u_j = hypot(sub->measured_u_j, node->measured_u_j);
        sub->measured = sub->measured || node->measured;
        sub->energy = jm__energy_of(m->a, sub->cells, sub->cell_count);
        take_whole(sub, node);
        sub->shown =
            sub->shown || sub->cell_count > 0 || node->measured || node->calls > 0 || sub->busy_s > 0;
        if (node->parent != JM__NO_NODE) {
            jm__node *up = &tree->nodes.items[node->parent];
            subtotal *outer = &m->sub[node->parent];
            if (!merge(outer, sub->cells, sub->cell_count)) return jm__no_memory(err, "jm__rows_make");
            outer->busy_s += sub->busy_s;
            outer->merged_s += sub->merged_s;
            outer->shown = outer->shown || sub->shown;
            outer->measured_j += sub->measured_j;
            outer->measured_u_j = hypot(outer->measured_u_j, sub->measured_u_j);
            up->boards |= node->boards;
            if (node->start_ns < up->start_ns) up->start_ns = node->start_ns;
            if (node->start_ns != INT64_MAX && node->end_ns > up->end_ns) up->end_ns = node->end_ns;
        }
        free(sub->cells);
        sub->cells = NULL;
    }
    return JM_OK;
}

/* --- order --- */

static int special(const jm__node *node)
{
    if (node->name[0] != '(') return 0;
    if (strcmp(node->kind, "idle") == 0) return 2;
    return strcmp(node->kind, "outside") == 0 ? 1 : 0;
}

static int by_place(const void *a, const void *b, void *context)
{
    const maker *m = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const jm__node *left = &m->tree->nodes.items[x], *right = &m->tree->nodes.items[y];
    if (left->parent != right->parent) /* the top first, then families by their parent */
        return left->parent + 1 < right->parent + 1 ? -1 : 1;
    if (special(left) != special(right)) return special(left) < special(right) ? -1 : 1;
    jm_by by = m->a->options.by;
    if (by == JM_BY_KERNEL || by == JM_BY_TYPE) { /* the largest first */
        double first = m->sub[x].energy.energy_j, second = m->sub[y].energy.energy_j;
        if (first != second) return first > second ? -1 : 1;
    } else if (by != JM_BY_BOARD && jm__node_start_ns(left) != jm__node_start_ns(right)) {
        return jm__node_start_ns(left) < jm__node_start_ns(right) ? -1 : 1; /* as the program ran */
    }
    return (x > y) - (x < y);
}

/* Pre-order from families that lie together: first[n] is where the children of n begin. */
static jm_status list(maker *m, jm_error *err)
{
    size_t count = m->tree->nodes.count, listed = 0;
    size_t *family = calloc(count + 1, sizeof *family), *first = calloc(count + 2, sizeof *first);
    JM_VEC(size_t) stack = {0};
    jm_status status = JM_OK;
    if (family == NULL || first == NULL) {
        status = jm__no_memory(err, "jm__rows_make");
        goto out;
    }
    for (size_t n = 0; n < count; n++) {
        family[n] = n;
        first[m->tree->nodes.items[n].parent + 2]++; /* JM__NO_NODE + 2 is 1: the top */
    }
    for (size_t n = 1; n < count + 2; n++)
        first[n] += first[n - 1]; /* first[p + 1]: the first child of p; the top's is first[0] */
    qsort_r(family, count, sizeof *family, by_place, m);
    for (size_t i = first[1]; i-- > 0;)
        if (!jm__vec_push(&stack, family[i])) status = jm__no_memory(err, "jm__rows_make");
    while (status == JM_OK && stack.count > 0) {
        size_t n = stack.items[--stack.count];
        size_t parent = m->tree->nodes.items[n].parent;
        m->depth[n] = parent == JM__NO_NODE ? 0 : m->depth[parent] + 1;
        m->order[listed++] = n;
        for (size_t i = first[n + 2]; i-- > first[n + 1];)
            if (!jm__vec_push(&stack, family[i])) status = jm__no_memory(err, "jm__rows_make");
    }
out:
    free(family);
    free(first);
    jm__vec_free(&stack);
    return status;
}

/* --- rows --- */

/* All of it lies in time in which every board was lost. */
static bool is_unseen(const maker *m, const jm__node *node)
{
    int64_t from_ns = jm__node_start_ns(node);
    int64_t to_ns = node->host_end_ns > node->end_ns ? node->host_end_ns : node->end_ns;
    bool lost = false;
    for (size_t b = 0; b < m->a->dataset->board_count; b++) {
        const jm__board_part *part = &m->a->boards[b];
        if (!part->wanted || !jm__board_is_fitted(part->board)) continue;
        if (jm__windows_overlap_ns(&part->windows, from_ns, to_ns) > 0) return false;
        lost = lost || jm__windows_overlap_ns(&part->lost, from_ns, to_ns) > 0;
    }
    return lost;
}

static jm_provenance provenance_of(const jm__node *node, const subtotal *sub)
{
    if (sub->whole) return JM_PROVENANCE_MEASURED;
    if (sub->cell_count == 0)
        return node->measured || sub->measured ? JM_PROVENANCE_MEASURED : JM_PROVENANCE_FITTED;
    if (!sub->energy.known) return JM_PROVENANCE_UNRESOLVED;
    bool merged = sub->merged_s > 0.5 * sub->busy_s;
    if (merged) return JM_PROVENANCE_MODELLED;
    return sub->energy.fitted && sub->energy.decided >= least_decided ? JM_PROVENANCE_FITTED
                                                                      : sub->energy.believed;
}

static const char *boards_text(jm__tree *tree, const jm__attribution *a, jm__board_set boards)
{
    char text[256];
    size_t used = 0;
    text[0] = '\0';
    for (size_t b = 0; b < a->dataset->board_count && b < 63 && used + 16 < sizeof text; b++) {
        if (!(boards & jm__board_bit(b))) continue;
        int32_t index = a->dataset->boards[b].index;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", used > 0 ? "," : "",
                                 index < 0 ? (int)b : index);
    }
    return jm__tree_text(tree, "%s", text);
}

static void fill_row(jm_row *row, maker *m, size_t n)
{
    const jm__node *node = &m->tree->nodes.items[n];
    const subtotal *sub = &m->sub[n];
    double half_j = JM_NORMAL_95 * sub->measured_u_j;
    double low_j = sub->energy.energy_j - sub->energy.low_j,
           high_j = sub->energy.high_j - sub->energy.energy_j;
    *row = (jm_row){.name = node->name, .path = node->path, .kind = node->kind, .depth = m->depth[n]};
    row->calls = node->calls;
    row->busy_s = sub->busy_s;
    row->energy_j = sub->energy.energy_j + sub->measured_j;
    row->energy_low_j = fmax(0, row->energy_j - hypot(low_j, half_j));
    row->energy_high_j = row->energy_j + hypot(high_j, half_j);
    row->energy_self_j = sub->self_j;
    if (sub->whole) {
        row->energy_low_j = fmax(0, row->energy_j - JM_NORMAL_95 * node->whole_u_j);
        row->energy_high_j = row->energy_j + JM_NORMAL_95 * node->whole_u_j;
    }
    row->provenance = provenance_of(node, sub);
    row->boards = boards_text(m->tree, m->a, node->boards);
    bool worked = node->start_ns != INT64_MAX;
    row->start_ns = jm__node_start_ns(node) == INT64_MAX ? 0 : jm__node_start_ns(node);
    row->end_ns = worked ? node->end_ns : node->host_end_ns;
    if (node->calls > 0 && sub->busy_s == 0 && is_unseen(m, node)) {
        row->energy_j = row->energy_low_j = row->energy_high_j = NAN;
        row->provenance = JM_PROVENANCE_UNRESOLVED;
    }
    if (sub->cell_count > 0 && !sub->energy.known)
        row->energy_j = row->energy_low_j = row->energy_high_j = row->energy_self_j = NAN;
}

/* The time that the total is of: that of the board of which most is known. */
static double covered_s(const jm__attribution *a)
{
    int64_t longest_ns = 0;
    bool any = false;
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->wanted || part->total.source == NULL) continue;
        int64_t known_ns = jm__windows_duration_ns(&part->windows);
        if (known_ns > longest_ns) longest_ns = known_ns;
        any = true;
    }
    return (double)(any ? longest_ns : jm__windows_duration_ns(&a->windows)) * 1e-9;
}

static void sum_totals(jm_report_totals *t, const jm__attribution *a)
{
    double variance = 0, free_j = 0, held_j = 0, z_square = 0;
    bool independent = false;
    *t = (jm_report_totals){.closure = NAN, .closure_z = NAN, .residual_w = NAN, .chi2_n = NAN};
    double square = 0, chi2 = 0, chi2_count = 0;
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->wanted) continue;
        t->simulated = t->simulated || part->board->simulated;
        t->total_energy_j += part->total.energy_j;
        variance += part->total.u_j * part->total.u_j;
        bool counter = part->counter != NULL && part->total.source == part->counter->name;
        if (part->total.source != NULL && (t->total_source == NULL || counter))
            t->total_source = part->total.source;
        if (!part->fit.fitted) continue;
        t->readings += (int64_t)part->fit.readings;
        square += part->fit.residual_w * part->fit.residual_w * (double)part->fit.readings;
        if (!isnan(part->fit.chi2_n)) {
            chi2 += part->fit.chi2_n * (double)part->fit.readings;
            chi2_count += (double)part->fit.readings;
        }
        if (isnan(part->fit.closure_z)) continue;
        independent = true;
        free_j += part->fit.free_j;
        held_j += part->total.energy_j;
        if (part->fit.closure_z * part->fit.closure_z > z_square) {
            z_square = part->fit.closure_z * part->fit.closure_z;
            t->closure_z = part->fit.closure_z;
        } else if (isnan(t->closure_z)) {
            t->closure_z = part->fit.closure_z;
        }
    }
    if (t->total_source == NULL) t->total_energy_j = NAN;
    t->total_low_j = fmax(0, t->total_energy_j - JM_NORMAL_95 * sqrt(variance));
    t->total_high_j = t->total_energy_j + JM_NORMAL_95 * sqrt(variance);
    t->duration_s = covered_s(a);
    if (t->total_source == NULL) t->total_low_j = t->total_high_j = NAN;
    if (independent && held_j > 0) t->closure = (free_j - held_j) / held_j;
    if (t->readings > 0) t->residual_w = sqrt(square / (double)t->readings);
    if (chi2_count > 0) t->chi2_n = chi2 / chi2_count;
}

/* Idle and outside do not depend on the view: they are taken from the boards. */
static void sum_parts(jm_report_totals *t, const jm__attribution *a)
{
    for (size_t b = 0; b < a->dataset->board_count; b++) {
        const jm__board_part *part = &a->boards[b];
        if (!part->wanted || part->work->columns.count == 0) continue;
        for (size_t k = part->work->columns.class_columns; k < part->work->columns.count; k++)
            t->idle_energy_j += part->work->seconds[k] * part->fit.power_w[k];
        for (size_t c = 0; c < part->work->tally.classes.count; c++) {
            double outside_s = part->work->tally.classes.items[c].outside_s;
            if (outside_s > 0)
                t->outside_energy_j += outside_s * part->fit.power_w[part->work->columns.of_class[c]];
        }
    }
}

static jm_status add_unresolved(jm__rows *rows, jm_report_totals *t, maker *m, jm_error *err)
{
    double parts_j = 0, variance = 0;
    for (size_t i = 0; i < rows->count; i++)
        parts_j += rows->items[i].energy_self_j;
    for (size_t b = 0; b < m->a->dataset->board_count; b++) {
        const jm__board_part *part = &m->a->boards[b];
        if (!part->wanted || m->a->options.by == JM_BY_BOARD) continue;
        if (part->total.source != NULL) variance += part->fit.rest_variance;
    }
    t->unresolved_energy_j = t->total_energy_j - parts_j;
    double half_j = JM_NORMAL_95 * sqrt(fmax(0, variance));
    jm_row row = {.name = "(unresolved)", .path = "(unresolved)", .kind = "unresolved", .boards = ""};
    row.energy_j = row.energy_self_j = t->unresolved_energy_j;
    row.energy_low_j = row.energy_j - half_j;
    row.energy_high_j = row.energy_j + half_j;
    row.provenance = JM_PROVENANCE_UNRESOLVED;
    return jm__vec_push(rows, row) ? JM_OK : jm__no_memory(err, "jm__rows_make");
}

static jm_status make(jm__rows *rows, jm_report_totals *totals, maker *m, jm_error *err)
{
    JM_TRY(add_up(m, err));
    JM_TRY(list(m, err));
    if (!jm__vec_reserve(rows, m->tree->nodes.count + 1)) return jm__no_memory(err, "jm__rows_make");
    for (size_t i = 0; i < m->tree->nodes.count; i++)
        if (m->sub[m->order[i]].shown) fill_row(&rows->items[rows->count++], m, m->order[i]);
    sum_totals(totals, m->a);
    sum_parts(totals, m->a);
    JM_TRY(add_unresolved(rows, totals, m, err));
    for (size_t i = 0; i < rows->count; i++) {
        jm_row *row = &rows->items[i];
        row->power_w = row->busy_s > 0 ? row->energy_j / row->busy_s : NAN;
        row->share = totals->total_energy_j > 0 ? row->energy_j / totals->total_energy_j : NAN;
    }
    return m->tree->failed ? jm__no_memory(err, "jm__rows_make") : JM_OK;
}

jm_status jm__rows_make(jm__rows *rows, jm_report_totals *totals, jm__tree *tree, const jm__attribution *a,
                        jm_error *err)
{
    size_t count = tree->nodes.count;
    maker m = {.tree = tree, .a = a};
    m.sub = calloc(count + 1, sizeof *m.sub);
    m.order = calloc(count + 1, sizeof *m.order);
    m.depth = calloc(count + 1, sizeof *m.depth);
    bool all = m.sub != NULL && m.order != NULL && m.depth != NULL;
    sort_cells(tree);
    jm_status status = all ? make(rows, totals, &m, err) : jm__no_memory(err, "jm__rows_make");
    for (size_t n = 0; m.sub != NULL && n < count; n++)
        free(m.sub[n].cells);
    free(m.sub);
    free(m.order);
    free(m.depth);
    return status;
}
