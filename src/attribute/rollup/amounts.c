/* Amounts of steps: a batch that is cut into smaller steps is counted once. */
#include "attribute/rollup/amounts.h"

/* What counts in this report; 0: nothing. */
static int64_t amount_of(const jm__attribution *a, size_t span, jm__amount amount)
{
    const jm__span *step = &a->dataset->spans[span];
    int64_t count = jm__told_amount(&a->told, step, amount);
    if (count == 0 || !jm__windows_hold(&a->windows, step->start_ns)) return 0;
    return jm__dataset_process_has_pid(a->dataset, step->process_id, a->options.process_id) ? count : 0;
}

static bool is_part_of_another(const jm__attribution *a, size_t span, jm__amount amount)
{
    const jm__span *all = a->dataset->spans;
    for (size_t s = jm__span_around(&a->spans, span, span); s != JM__NO_SPAN;
         s = jm__span_around(&a->spans, span, s))
        if (jm__step_has_part(&all[s], &all[span]) && amount_of(a, s, amount) > 0) return true;
    return false;
}

static void add(jm__tree *tree, const jm__attribution *a, size_t node, size_t span, jm__amount amount)
{
    int64_t count = amount_of(a, span, amount);
    if (count == 0 || node == JM__NO_NODE) return;
    tree->nodes.items[node].amounts[amount] += count;
    if (is_part_of_another(a, span, amount)) return;
    for (size_t n = tree->nodes.items[node].parent; n != JM__NO_NODE; n = tree->nodes.items[n].parent)
        tree->nodes.items[n].amounts[amount] += count;
}

void jm__amounts_add(jm__tree *tree, const jm__attribution *a, size_t node, size_t span)
{
    add(tree, a, node, span, JM_AMOUNT_SAMPLES);
    add(tree, a, node, span, JM_AMOUNT_TOKENS);
}

int64_t jm__amount_sum(const jm__attribution *a, jm__amount amount)
{
    int64_t sum = 0;
    for (size_t i = 0; i < a->dataset->span_count; i++)
        if (amount_of(a, i, amount) > 0 && !is_part_of_another(a, i, amount)) sum += amount_of(a, i, amount);
    return sum > 0 ? sum : -1;
}
