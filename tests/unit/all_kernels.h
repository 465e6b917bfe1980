/* The kernels of a dataset, which only pass by, as an array; and a source of an array. */
#ifndef TEST_ALL_KERNELS_H
#define TEST_ALL_KERNELS_H

#include "base/status.h"
#include "format/dataset.h"

#include <stdlib.h>
#include <string.h>

typedef struct all_kernels {
    jm__kernel_run *items;
    size_t count;
} all_kernels;

static inline jm_status all_kernels_take(void *taker, const jm__kernel_run *kernel, jm_error *err)
{
    (void)err;
    all_kernels *all = taker;
    if ((all->count & (all->count - 1)) == 0)
        all->items = realloc(all->items, (all->count == 0 ? 1 : 2 * all->count) * sizeof *all->items);
    all->items[all->count++] = *kernel;
    return JM_OK;
}

/* By time; free items. What the pass returned is *status. */
static inline all_kernels all_kernels_of(const jm__dataset *dataset, jm_status *status)
{
    all_kernels all = {0};
    *status = dataset->kernels.each(dataset->kernels.context, true, all_kernels_take, &all, NULL);
    return all;
}

static inline size_t all_kernels_count(const jm__dataset *dataset)
{
    jm_status status;
    all_kernels all = all_kernels_of(dataset, &status);
    free(all.items);
    return status == JM_OK ? all.count : (size_t)-1;
}

static inline int all_kernels_by_time(const void *a, const void *b)
{
    const jm__kernel_run *left = a, *right = b;
    if (left->start_ns != right->start_ns) return left->start_ns < right->start_ns ? -1 : 1;
    return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

/* A jm__kernel_source's each; the context is an all_kernels. */
static inline jm_status all_kernels_each(void *context, bool by_time, jm__kernel_taker take, void *taker,
                                         jm_error *err)
{
    const all_kernels *all = context;
    jm__kernel_run *items = malloc((all->count + 1) * sizeof *items);
    if (items == NULL) return jm__no_memory(err, "all_kernels_each");
    if (all->count > 0) memcpy(items, all->items, all->count * sizeof *items);
    if (by_time) qsort(items, all->count, sizeof *items, all_kernels_by_time);
    jm_status status = JM_OK;
    for (size_t i = 0; status == JM_OK && i < all->count; i++)
        status = take(taker, &items[i], err);
    free(items);
    return status;
}

#endif
