/* What the runs of a diff tell of themselves, side by side. */
#include "attribute/notes/quality.h"
#include "report/diff_parts.h"

#include <math.h>
#include <string.h>

bool jm__diff_is_simulated(const jm_diff *diff)
{
    bool any = false;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++)
        any = any || jm_report_totals_get(diff->runs[r].report)->simulated;
    return any;
}

typedef struct told {
    double sum;
    size_t count;
} told;

static void see(told *all, double value)
{
    if (!isfinite(value)) return;
    all->sum += value;
    all->count++;
}

static double mean_of(const told *all)
{
    return all->count > 0 ? all->sum / (double)all->count : NAN;
}

jm__diff_conditions jm__diff_conditions_of(const jm_diff *diff, int side)
{
    told clock = {0}, temperature = {0}, throttled = {0};
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        const jm_report_quality *quality = jm_report_quality_get(diff->runs[r].report);
        if (diff->runs[r].side != side) continue;
        see(&clock, quality->clock_mhz);
        see(&temperature, quality->temperature_c);
        see(&throttled, quality->throttled_share);
    }
    return (jm__diff_conditions){mean_of(&clock), mean_of(&temperature), mean_of(&throttled)};
}

static jm__grade grade_of(const jm__diff_run *run)
{
    const char *verdict = jm_report_quality_get(run->report)->verdict;
    jm__grade grade = JM_GRADE_POOR;
    while (grade > JM_GRADE_GOOD && strcmp(jm__grade_text(grade), verdict) != 0)
        grade--;
    return grade;
}

const jm__diff_run *jm__diff_worst_run(const jm_diff *diff, int side)
{
    const jm__diff_run *worst = NULL;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        const jm__diff_run *run = &diff->runs[r];
        if (run->side == side && (worst == NULL || grade_of(run) > grade_of(worst))) worst = run;
    }
    return worst;
}
