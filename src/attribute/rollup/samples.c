/* Samples of steps: a batch that is cut into smaller steps is counted once. */
#include "attribute/rollup/samples.h"

int64_t jm__samples_of(const jm__attribution *a, size_t span)
{
    const jm__span *step = &a->dataset->spans[span];
    if (step->samples == 0 || !jm__windows_hold(&a->windows, step->start_ns)) return 0;
    bool mine = jm__dataset_process_has_pid(a->dataset, step->process_id, a->options.process_id);
    return mine ? (int64_t)step->samples : 0;
}

static bool is_part_of_another(const jm__attribution *a, size_t span)
{
    for (size_t s = jm__span_around(&a->spans, span, span); s != JM__NO_SPAN;
         s = jm__span_around(&a->spans, span, s))
        if (a->dataset->spans[s].samples > 0) return true;
    return false;
}

void jm__samples_add(jm__tree *tree, const jm__attribution *a, size_t node, size_t span)
{
    int64_t samples = jm__samples_of(a, span);
    if (samples == 0 || node == JM__NO_NODE) return;
    tree->nodes.items[node].samples += samples;
    if (is_part_of_another(a, span)) return;
    for (size_t n = tree->nodes.items[node].parent; n != JM__NO_NODE; n = tree->nodes.items[n].parent)
        tree->nodes.items[n].samples += samples;
}

int64_t jm__samples_sum(const jm__attribution *a)
{
    int64_t sum = 0;
    for (size_t i = 0; i < a->dataset->span_count; i++)
        if (jm__samples_of(a, i) > 0 && !is_part_of_another(a, i)) sum += jm__samples_of(a, i);
    return sum > 0 ? sum : -1;
}
