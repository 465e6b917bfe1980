/* Listing the tree from its roots. */
#include "attribute/rollup/row_order.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int special(const jm__node *node)
{
    if (node->name[0] != '(') return 0;
    if (strcmp(node->kind, "idle") == 0) return 2;
    return strcmp(node->kind, "outside") == 0 ? 1 : 0;
}

typedef struct sorter {
    const jm__tree *tree;
    const jm__subtotal *subtotals;
    jm_by by;
} sorter;

static int by_place(const void *a, const void *b, void *context)
{
    const sorter *m = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const jm__node *left = &m->tree->nodes.items[x], *right = &m->tree->nodes.items[y];
    if (left->parent != right->parent) /* the top first, then families by their parent */
        return left->parent + 1 < right->parent + 1 ? -1 : 1;
    if (special(left) != special(right)) return special(left) < special(right) ? -1 : 1;
    jm_by by = m->by;
    if (by == JM_BY_KERNEL || by == JM_BY_TYPE) { /* the largest first, what is not known last */
        double first = m->subtotals[x].energy.energy_j, second = m->subtotals[y].energy.energy_j;
        if (isnan(first) != isnan(second)) return isnan(second) ? -1 : 1;
        if (first > second || first < second) return first > second ? -1 : 1;
    } else if (by != JM_BY_BOARD && jm__node_start_ns(left) != jm__node_start_ns(right)) {
        return jm__node_start_ns(left) < jm__node_start_ns(right) ? -1 : 1; /* as the program ran */
    }
    return (x > y) - (x < y);
}

/* Pre-order from families that lie together: first[n] is where the children of n begin. */
jm_status jm__row_order_find(jm__row_order *order, const jm__tree *tree, const jm__subtotal *subtotals,
                             jm_by by, jm_error *err)
{
    sorter m = {tree, subtotals, by};
    size_t count = tree->nodes.count, listed = 0;
    size_t *family = calloc(count + 1, sizeof *family), *first = calloc(count + 2, sizeof *first);
    JM_VEC(size_t) stack = {0};
    jm_status status = JM_OK;
    order->nodes = calloc(count + 1, sizeof *order->nodes);
    order->depth = calloc(count + 1, sizeof *order->depth);
    if (order->nodes == NULL || order->depth == NULL || family == NULL || first == NULL) {
        status = jm__no_memory(err, "jm__row_order_find");
        goto out;
    }
    for (size_t n = 0; n < count; n++) {
        family[n] = n;
        first[tree->nodes.items[n].parent + 2]++; /* JM__NO_NODE + 2 is 1: the top */
    }
    for (size_t n = 1; n < count + 2; n++)
        first[n] += first[n - 1]; /* first[p + 1]: the first child of p; the top's is first[0] */
    qsort_r(family, count, sizeof *family, by_place, &m);
    for (size_t i = first[1]; i-- > 0;)
        if (!jm__vec_push(&stack, family[i])) status = jm__no_memory(err, "jm__row_order_find");
    while (status == JM_OK && stack.count > 0) {
        size_t n = stack.items[--stack.count];
        size_t parent = tree->nodes.items[n].parent;
        order->depth[n] = parent == JM__NO_NODE ? 0 : order->depth[parent] + 1;
        order->nodes[listed++] = n;
        for (size_t i = first[n + 2]; i-- > first[n + 1];)
            if (!jm__vec_push(&stack, family[i])) status = jm__no_memory(err, "jm__row_order_find");
    }
out:
    free(family);
    free(first);
    jm__vec_free(&stack);
    return status;
}

void jm__row_order_free(jm__row_order *order)
{
    free(order->nodes);
    free(order->depth);
    *order = (jm__row_order){0};
}
