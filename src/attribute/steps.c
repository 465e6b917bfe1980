/* Steps of a report, by process and time. */
#include "attribute/steps.h"

#include "base/status.h"

#include <joulemap/repeats.h>
#include <stdlib.h>

typedef JM_VEC(const jm__span *) step_list;

static bool is_part_of_another(const jm__span_index *spans, size_t span)
{
    for (size_t s = jm__span_around(spans, span, span); s != JM__NO_SPAN; s = jm__span_around(spans, span, s))
        if (spans->dataset->spans[s].kind == JM_SPAN_STEP) return true;
    return false;
}

static bool collect(step_list *steps, const jm__span_index *spans, const jm__windows *windows, int64_t pid)
{
    const jm__dataset *d = spans->dataset;
    for (size_t i = 0; i < d->span_count; i++) {
        const jm__span *span = &d->spans[i];
        if (span->kind != JM_SPAN_STEP || !jm__windows_hold(windows, span->start_ns)) continue;
        if (!jm__dataset_process_has_pid(d, span->process_id, pid)) continue;
        if (!is_part_of_another(spans, i) && !jm__vec_push(steps, span)) return false;
    }
    return true;
}

static int by_process_and_start(const void *left, const void *right)
{
    const jm__span *a = *(const jm__span *const *)left, *b = *(const jm__span *const *)right;
    if (a->process_id != b->process_id) return a->process_id < b->process_id ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* When every process was warm. `lengths`: room for as many as there are steps. */
static int64_t warm_from_ns(const step_list *steps, const jm__dataset *d, double *lengths)
{
    int64_t from_ns = INT64_MIN;
    for (size_t i = 0, end; i < steps->count; i = end) {
        for (end = i; end < steps->count && steps->items[end]->process_id == steps->items[i]->process_id;
             end++)
            lengths[end - i] = (double)(jm__span_end_ns(d, steps->items[end]) - steps->items[end]->start_ns);
        const jm__span *first = steps->items[i + jm_repeats_warm_up(lengths, end - i)];
        if (first->start_ns > from_ns) from_ns = first->start_ns;
    }
    return from_ns;
}

static void find(jm__steps *out, const jm__dataset *d, step_list *steps, double *lengths)
{
    if (steps->count == 0) return;
    qsort(steps->items, steps->count, sizeof *steps->items, by_process_and_start);
    out->count = (int64_t)steps->count;
    out->steady = (jm__window){warm_from_ns(steps, d, lengths), INT64_MIN};
    for (size_t i = 0; i < steps->count; i++) {
        int64_t end_ns = jm__span_end_ns(d, steps->items[i]);
        out->warm_up += steps->items[i]->start_ns < out->steady.from_ns;
        if (end_ns > out->steady.to_ns) out->steady.to_ns = end_ns;
    }
}

jm_status jm__steps_find(jm__steps *out, const jm__span_index *spans, const jm__windows *windows, int64_t pid,
                         jm_error *err)
{
    *out = (jm__steps){0};
    step_list steps = {0};
    bool fine = collect(&steps, spans, windows, pid);
    double *lengths = malloc((steps.count + 1) * sizeof *lengths);
    fine = fine && lengths != NULL;
    if (fine) find(out, spans->dataset, &steps, lengths);
    free(lengths);
    jm__vec_free(&steps);
    return fine ? JM_OK : jm__no_memory(err, "jm__steps_find");
}
