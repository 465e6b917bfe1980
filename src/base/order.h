/* Sorting and comparing. */
#ifndef JM_BASE_ORDER_H
#define JM_BASE_ORDER_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Like qsort, but first checks whether the items are sorted: rows of a recording mostly are. */
static inline void jm__sort(void *items, size_t count, size_t size,
                            int (*compare)(const void *, const void *))
{
    const char *bytes = items;
    for (size_t i = 1; i < count; i++) {
        if (compare(bytes + (i - 1) * size, bytes + i * size) <= 0) continue;
        qsort(items, count, size, compare);
        return;
    }
}

/* For qsort of doubles without NaN. */
static inline int jm__compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Descending, NAN last. A plain `a < b` gives no total order when there are NANs. */
static inline int jm__largest_first(double a, double b)
{
    int a_missing = isnan(a) ? 1 : 0, b_missing = isnan(b) ? 1 : 0;
    if (a_missing || b_missing) return a_missing - b_missing;
    return (a < b) - (a > b);
}

/* List a tree of `count` nodes in pre-order. Parents have lower numbers than their children; those of nodes
 * at the top are SIZE_MAX. `family`: all nodes by parent + 1, siblings in their order. False if memory is
 * out. */
static inline bool jm__preorder(size_t *out, const size_t *family, const size_t *parent, size_t count)
{
    size_t *size = calloc(2 * count + 1, sizeof *size);
    if (size == NULL) return false;
    size_t *next = size + count;
    for (size_t n = count; n-- > 0;) {
        size[n]++;
        if (parent[n] != SIZE_MAX) size[parent[n]] += size[n];
    }
    for (size_t i = 0; i < count; i++) { /* next[p + 1]: where the next child of p goes */
        size_t n = family[i], at = next[parent[n] + 1];
        next[parent[n] + 1] += size[n];
        next[n + 1] = at + 1;
        out[at] = n;
    }
    free(size);
    return true;
}

#endif
