/* The first steps of a program are like no later one: kernels are compiled and tried out, buffers are made.
 * Where they were traced they stand for themselves. */
#include "attribute/sampling/parts.h"

#include <joulemap/repeats.h>
#include <stdlib.h>

/* A traced step of the first stretch in which its kind was traced. */
typedef struct first_step {
    uint32_t kind;
    size_t lap;
} first_step;

typedef JM_VEC(first_step) first_steps;

static int by_kind_and_time(const void *a, const void *b)
{
    const first_step *left = a, *right = b;
    if (left->kind != right->kind) return left->kind < right->kind ? -1 : 1;
    return (left->lap > right->lap) - (left->lap < right->lap);
}

static bool collect(first_steps *all, const jm__stands *out, const jm__stands_wanted *w)
{
    jm__map stretch_of = {.key_size = sizeof(uint32_t)}; /* kinds are of one process each */
    bool fine = true;
    for (size_t i = 0; fine && i < out->laps.count; i++) {
        const jm__lap *lap = &out->laps.items[i];
        if (!lap->traced) continue;
        int64_t stretch = (int64_t)jm__windows_first_after(&w->traced[lap->process].on, lap->start_ns);
        const jm__map_value *known = jm__map_find(&stretch_of, &lap->kind);
        if (known != NULL && known->id != stretch) continue;
        fine = (known != NULL || jm__map_put(&stretch_of, &lap->kind, (jm__map_value){.id = stretch})) &&
               jm__vec_push(all, ((first_step){lap->kind, i}));
    }
    jm__map_free(&stretch_of);
    if (all->count > 1) qsort(all->items, all->count, sizeof *all->items, by_kind_and_time);
    return fine;
}

bool jm__warm_up_find(jm__stands *out, const jm__stands_wanted *w)
{
    first_steps all = {0};
    bool fine = collect(&all, out, w);
    double *lengths = malloc((all.count + 1) * sizeof *lengths);
    fine = fine && lengths != NULL;
    for (size_t first = 0, end; fine && first < all.count; first = end) {
        for (end = first; end < all.count && all.items[end].kind == all.items[first].kind; end++) {
            const jm__lap *lap = &out->laps.items[all.items[end].lap];
            lengths[end - first] = (double)(lap->step_end_ns - lap->start_ns);
        }
        size_t warm_up = jm_repeats_warm_up(lengths, end - first);
        for (size_t i = first; i < first + warm_up; i++)
            out->laps.items[all.items[i].lap].warm_up = true;
    }
    free(lengths);
    jm__vec_free(&all);
    return fine;
}
