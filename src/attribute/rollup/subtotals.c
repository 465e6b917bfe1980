/* Adding up the tree from its leaves. */
#include "attribute/rollup/subtotals.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>

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
    if (tree->shared.count > 1)
        qsort(tree->shared.items, tree->shared.count, sizeof *tree->shared.items, by_node_and_column);
}

static bool merge(jm__subtotal *into, const jm__cell *cells, size_t count)
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

/* What a row has in rows beside it is its own, and no other row's around it. */
static bool add_shared(jm__subtotal *sub, const jm__attribution *a, const jm__cell *cells, size_t count)
{
    jm__subtotal with = {0};
    jm__cell *sums = malloc((count + 1) * sizeof *sums);
    size_t n = 0;
    for (size_t i = 0; sums != NULL && i < count; i++)
        if (n > 0 && sums[n - 1].column == cells[i].column)
            sums[n - 1].seconds += cells[i].seconds;
        else
            sums[n++] = cells[i];
    bool fine = sums != NULL && merge(&with, sub->cells, sub->cell_count) && merge(&with, sums, n);
    if (fine) sub->energy = jm__energy_of(a, with.cells, with.cell_count);
    free(with.cells);
    free(sums);
    return fine;
}

/* A row that was measured as a whole over its time: what its parts leave of it is shared among them. Only
 * where work and idle time of the row are that very time: not if others worked in it, or if much of its own
 * work ran after it. */
static void take_whole(jm__subtotal *sub, jm__node *node)
{
    double seconds = 0;
    for (size_t i = 0; i < sub->cell_count; i++)
        seconds += sub->cells[i].seconds;
    if (isnan(node->whole_j) || !sub->energy.known || fabs(seconds - node->whole_s) > 0.005 * node->whole_s)
        return;
    double rest_j = node->whole_j - sub->energy.energy_j - sub->measured_j;
    node->whole = true;
    sub->rest_j = rest_j;
    sub->measured_j += rest_j;
}

/* What needs no fit of a sum: plain sums over the node and all below it. */
static void add_plain(jm__subtotal *sub, const jm__node *node)
{
    sub->busy_s += node->busy_s;
    sub->merged_s += node->merged_s;
    sub->work_j += node->work_j;
    sub->forward_j += node->forward_j;
    sub->backward_j += node->backward_j;
    sub->measured_j += node->measured_j;
    sub->measured_u_j = hypot(sub->measured_u_j, node->measured_u_j);
    sub->measured = sub->measured || node->measured;
}

static void add_to_outer(jm__subtotal *outer, jm__node *up, const jm__subtotal *sub, const jm__node *node)
{
    jm__mean_sums_add(&outer->means, &sub->means);
    outer->busy_s += sub->busy_s;
    outer->merged_s += sub->merged_s;
    outer->work_j += sub->work_j;
    outer->forward_j += sub->forward_j;
    outer->backward_j += sub->backward_j;
    outer->shown = outer->shown || sub->shown;
    outer->measured_j += sub->measured_j;
    outer->measured_u_j = hypot(outer->measured_u_j, sub->measured_u_j);
    up->boards |= node->boards;
    if (node->start_ns < up->start_ns) up->start_ns = node->start_ns;
    if (node->start_ns != INT64_MAX && node->end_ns > up->end_ns) up->end_ns = node->end_ns;
}

/* Children stand after their parents, so going backwards each node is complete when its turn comes. */
jm_status jm__subtotals_add_up(jm__subtotal *subtotals, jm__tree *tree, const jm__attribution *a,
                               const jm__means *means, jm_error *err)
{
    sort_cells(tree);
    size_t end = tree->cells.count, shared_end = tree->shared.count;
    for (size_t n = tree->nodes.count; n-- > 0;) {
        jm__node *node = &tree->nodes.items[n];
        jm__subtotal *sub = &subtotals[n];
        size_t first = end;
        while (first > 0 && tree->cells.items[first - 1].node == n)
            first--;
        const jm__cell *own =
            end > first ? &tree->cells.items[first] : NULL; /* a tree without cells has no array */
        jm__energy self = jm__energy_of(a, own, end - first);
        node->self_j = node->upstream ? 0 : self.energy_j + node->measured_j;
        jm__mean_sums_add_cells(&sub->means, means, own, end - first);
        if (!merge(sub, own, end - first)) return jm__no_memory(err, "jm__subtotals_add_up");
        end = first;
        add_plain(sub, node);
        sub->energy = jm__energy_of(a, sub->cells, sub->cell_count);
        size_t shared = shared_end;
        while (shared > 0 && tree->shared.items[shared - 1].node == n)
            shared--;
        if (shared_end > shared && !add_shared(sub, a, &tree->shared.items[shared], shared_end - shared))
            return jm__no_memory(err, "jm__subtotals_add_up");
        take_whole(sub, node);
        sub->shown = sub->shown || sub->cell_count > 0 || node->measured || node->calls > 0 ||
                     sub->busy_s > 0 || node->shared_s > 0;
        if (node->parent != JM__NO_NODE) {
            jm__subtotal *outer = &subtotals[node->parent];
            if (!merge(outer, sub->cells, sub->cell_count)) return jm__no_memory(err, "jm__subtotals_add_up");
            add_to_outer(outer, &tree->nodes.items[node->parent], sub, node);
        }
        free(sub->cells);
        sub->cells = NULL;
        sub->cell_count += shared_end - shared;
        sub->busy_s += node->shared_s;
        shared_end = shared;
    }
    return JM_OK;
}

void jm__subtotals_free(jm__subtotal *subtotals, size_t count)
{
    for (size_t n = 0; subtotals != NULL && n < count; n++)
        free(subtotals[n].cells);
    free(subtotals);
}
