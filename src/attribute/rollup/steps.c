/* Steps of a report: one that is cut into smaller ones is counted once. */
#include "attribute/rollup/steps.h"

static bool is_part_of_another(const jm__attribution *a, size_t span)
{
    for (size_t s = jm__span_around(&a->spans, span, span); s != JM__NO_SPAN;
         s = jm__span_around(&a->spans, span, s))
        if (a->dataset->spans[s].kind == JM_SPAN_STEP) return true;
    return false;
}

int64_t jm__steps_count(const jm__attribution *a)
{
    int64_t count = 0;
    for (size_t i = 0; i < a->dataset->span_count; i++) {
        const jm__span *span = &a->dataset->spans[i];
        if (span->kind != JM_SPAN_STEP || !jm__windows_hold(&a->windows, span->start_ns)) continue;
        if (!jm__dataset_process_has_pid(a->dataset, span->process_id, a->options.process_id)) continue;
        count += !is_part_of_another(a, i);
    }
    return count > 0 ? count : -1;
}
