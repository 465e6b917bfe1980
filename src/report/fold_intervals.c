/* Which parts of a fold get an interval. */
#include "base/order.h"
#include "base/status.h"
#include "report/fold.h"

#include <stdlib.h>

/* An interval of several takes a walk through the whole report: so many, of those with most energy. A choice.
 */
enum { INTERVALS_MOST = 500 };

static int by_energy(const void *left, const void *right)
{
    const jm__part *a = *(jm__part *const *)left, *b = *(jm__part *const *)right;
    int order = jm__largest_first(a->sum.energy_j, b->sum.energy_j);
    return order != 0 ? order : (a > b) - (a < b); /* as they stand */
}

jm_status jm__fold_intervals(jm__fold *fold, const jm_report *report, const bool *chosen, jm_error *err)
{
    size_t count = 0;
    jm__part **several = calloc(fold->parts.count + 1, sizeof *several);
    if (several == NULL) return jm__no_memory(err, "jm__fold_intervals");
    for (size_t i = 0; i < fold->parts.count; i++)
        if (fold->parts.items[i].members > 1 && (chosen == NULL || chosen[i]))
            several[count++] = &fold->parts.items[i];
    if (count > 0) qsort(several, count, sizeof *several, by_energy);
    jm_status status = JM_OK;
    for (size_t i = 0; status == JM_OK && i < count && i < INTERVALS_MOST; i++)
        status = jm__fold_interval(fold, report, several[i], err);
    free(several);
    return status;
}
