/* What a diff says of a row: both sides over their runs, the change and the verdict. */
#include "base/status.h"
#include "report/change.h"
#include "report/diff_parts.h"
#include "report/runs_mean.h"

#include <math.h>
#include <stdlib.h>

/* Of the total: what is less is rounding, as in `(unresolved)`. */
static const double rounding = 1e-9;

static jm_change verdict_on(const jm_diff *diff, const jm_diff_row *row, int sign)
{
    if (row->b_runs == 0) return JM_CHANGE_ONLY_IN_A;
    if (row->a_runs == 0) return JM_CHANGE_ONLY_IN_B;
    if (!isfinite(row->a_high_j + row->b_high_j)) return JM_CHANGE_NOT_KNOWN;
    bool nothing = fabs(row->a_j) + fabs(row->b_j) < rounding * fabs(diff->total.a_j + diff->total.b_j);
    if (sign == 0 || nothing) return JM_CHANGE_NOT_SEEN;
    return sign < 0 ? JM_CHANGE_LESS : JM_CHANGE_MORE;
}

/* `runs`: joules of each, which this divides by its units. `gain_u`: of each side. */
static void compare(jm_diff_row *row, const jm_diff *diff, jm__run_figure *runs, const double gain_u[2])
{
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        double units = (double)diff->runs[r].units;
        runs[r].energy_j /= units;
        runs[r].low_j /= units;
        runs[r].high_j /= units;
    }
    jm__runs_mean a = jm__runs_mean_of(runs, diff->counts[0], diff->student),
                  b = jm__runs_mean_of(runs + diff->counts[0], diff->counts[1], diff->student);
    jm__ratio ratio = jm__change_of((jm__figure){a.energy_j, a.low_j, a.high_j, gain_u[0]},
                                    (jm__figure){b.energy_j, b.low_j, b.high_j, gain_u[1]});
    row->a_j = a.energy_j;
    row->a_low_j = a.low_j;
    row->a_high_j = a.high_j;
    row->a_deviation_j = a.deviation_j;
    row->a_runs = a.runs;
    row->b_j = b.energy_j;
    row->b_low_j = b.low_j;
    row->b_high_j = b.high_j;
    row->b_deviation_j = b.deviation_j;
    row->b_runs = b.runs;
    row->change = ratio.change;
    row->change_low = ratio.low;
    row->change_high = ratio.high;
    row->verdict = verdict_on(diff, row, ratio.sign);
}

jm_status jm__diff_compare_totals(jm_diff *diff, jm_error *err)
{
    double gain_u[2];
    jm__run_figure *runs = calloc(jm__diff_run_count(diff), sizeof *runs);
    if (runs == NULL) return jm__no_memory(err, "jm_diff_create");
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        const jm_report_totals *totals = jm_report_totals_get(diff->runs[r].report);
        runs[r] = (jm__run_figure){true, totals->total_energy_j, totals->total_low_j, totals->total_high_j};
    }
    jm__gains_of_totals(&diff->gains, gain_u);
    diff->gain_u = hypot(gain_u[0], gain_u[1]);
    diff->total =
        (jm_diff_row){.name = jm_per_text(diff->per), .path = jm_per_text(diff->per), .kind = "total"};
    compare(&diff->total, diff, runs, gain_u);
    free(runs);
    return JM_OK;
}

/* Some rows of one run together. */
static jm_status figure_of(jm__run_figure *figure, const jm_diff *diff, size_t run, const size_t *members,
                           size_t count, jm_error *err)
{
    const jm_report *report = diff->runs[run].report;
    const jm_row *row = jm_report_row(report, jm__diff_place(diff, members[0], run));
    *figure = (jm__run_figure){row != NULL, NAN, NAN, NAN};
    if (row == NULL) return JM_OK;
    if (count == 1) {
        *figure = (jm__run_figure){true, row->energy_j, row->energy_low_j, row->energy_high_j};
        return JM_OK;
    }
    jm_sum sum = {0};
    size_t *places = calloc(count, sizeof *places);
    if (places == NULL) return jm__no_memory(err, "jm_diff_text");
    for (size_t i = 0; i < count; i++)
        places[i] = jm__diff_place(diff, members[i], run);
    jm_status status = jm_report_sum(report, places, count, &sum, err);
    *figure = (jm__run_figure){true, sum.energy_j, sum.low_j, sum.high_j};
    free(places);
    return status;
}

jm_status jm__diff_compare_rows(jm_diff_row *row, const jm_diff *diff, const size_t *members, size_t count,
                                jm_error *err)
{
    size_t run_count = jm__diff_run_count(diff);
    jm__run_figure *runs = calloc(run_count, sizeof *runs);
    const jm_row **rows = calloc(run_count, sizeof *rows);
    jm_status status = runs != NULL && rows != NULL ? JM_OK : jm__no_memory(err, "jm_diff_create");
    for (size_t r = 0; status == JM_OK && r < run_count; r++) {
        rows[r] = jm_report_row(diff->runs[r].report, jm__diff_place(diff, members[0], r));
        status = figure_of(&runs[r], diff, r, members, count, err);
    }
    if (status == JM_OK) {
        double gain_u[2];
        jm__gains_of_rows(&diff->gains, rows, gain_u);
        compare(row, diff, runs, gain_u);
    }
    free(runs);
    free(rows);
    return status;
}
