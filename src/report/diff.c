/* Two sides, row by row: means over their runs, the change and the verdict. */
#include "base/map.h"
#include "base/options.h"
#include "base/status.h"
#include "base/vec.h"
#include "report/change.h"
#include "report/diff_match.h"
#include "report/diff_parts.h"
#include "report/runs_mean.h"

#include <joulemap/diff.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const per_texts[JM_PER_COUNT] = {"",
#define X(name, text) text,
                                                    JM_PER_MAP(X)
#undef X
};

static const char *const change_texts[JM_CHANGE_COUNT] = {
#define X(name, text) text,
    JM_CHANGE_MAP(X)
#undef X
};

static const char *const sameness_texts[JM_SAMENESS_COUNT] = {
#define X(name, text) text,
    JM_SAMENESS_MAP(X)
#undef X
};

const char *jm_per_text(jm_per per)
{
    return (unsigned)per < JM_PER_COUNT ? per_texts[per] : "";
}

const char *jm_change_text(jm_change change)
{
    return (unsigned)change < JM_CHANGE_COUNT ? change_texts[change] : "";
}

const char *jm_sameness_text(jm_sameness sameness)
{
    return (unsigned)sameness < JM_SAMENESS_COUNT ? sameness_texts[sameness] : "";
}

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

/* The totals of all runs, and what of their change is the sensors' gains. */
static jm_status compare_totals(jm_diff *diff, jm_error *err)
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

/* How many units a run has; less than 0: it does not tell. */
static int64_t units_of(const jm_report *report, jm_per per)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    if (per == JM_PER_RUN) return 1;
    if (per == JM_PER_TOKEN) return totals->tokens;
    return per == JM_PER_STEP ? totals->steps : totals->samples;
}

static jm_status choose_unit(jm_diff *diff, jm_per wanted, jm_error *err)
{
    bool steps = true;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++)
        steps = steps && jm_report_totals_get(diff->runs[r].report)->steps > 0;
    diff->per = wanted != JM_PER_FITTING ? wanted : steps ? JM_PER_STEP : JM_PER_RUN;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        diff->runs[r].units = units_of(diff->runs[r].report, diff->per);
        if (diff->runs[r].units > 0) continue;
        jm__fail(err, JM_USAGE, 0, "jm_diff_create", "%s has no %ss%s: its joules a %s are not known",
                 diff->runs[r].name, jm_per_text(diff->per), diff->per == JM_PER_STEP ? "" : " of steps",
                 jm_per_text(diff->per));
        return jm__hint(err, JM_USAGE,
                        "record it with `run.step(%s)` around each step, or compare with --per run",
                        diff->per == JM_PER_STEP     ? ""
                        : diff->per == JM_PER_SAMPLE ? "samples=N"
                                                     : "tokens=N");
    }
    return JM_OK;
}

static bool find_places(jm_diff *diff, const jm__match *match)
{
    size_t runs = jm__diff_run_count(diff), count = match->row_count * runs;
    diff->places = malloc((count + 1) * sizeof *diff->places);
    for (size_t i = 0; diff->places != NULL && i < count; i++)
        diff->places[i] = JM__NOT_IN_IT;
    for (size_t r = 0; diff->places != NULL && r < runs; r++)
        for (size_t i = 0; i < match->counts[r]; i++)
            if (!match->rows[r][i].left_out) diff->places[match->rows[r][i].row * runs + r] = i;
    return diff->places != NULL;
}

static jm_status add_row(jm_diff *diff, const jm__match *match, size_t at, jm_error *err)
{
    size_t r = 0;
    while (jm__diff_place(diff, at, r) == JM__NOT_IN_IT)
        r++;
    size_t place = jm__diff_place(diff, at, r);
    const jm_row *told = jm_report_row(diff->runs[r].report, place);
    jm_diff_row row = {.name = told->name,
                       .path = told->path,
                       .kind = told->kind,
                       .depth = r == 0 ? match->rows[0][place].depth : 0};
    JM_TRY(jm__diff_compare_rows(&row, diff, &at, 1, err));
    return jm__vec_push(&diff->rows, row) ? JM_OK : jm__no_memory(err, "jm_diff_create");
}

/* Rows of one path are told apart by their kind. */
static bool find_paths_again(jm_diff *diff)
{
    jm__map first = JM_MAP_OF_TEXTS;
    bool fine = true;
    for (size_t i = 0; fine && i < diff->rows.count; i++) {
        jm_diff_row *row = &diff->rows.items[i];
        const jm__map_value *before = jm__map_find(&first, &row->path);
        if (before == NULL) {
            fine = jm__map_put(&first, &row->path, (jm__map_value){.id = (int64_t)i});
        } else {
            diff->rows.items[before->id].path_again = row->path_again = true;
        }
    }
    jm__map_free(&first);
    return fine;
}

static jm_status check(const jm_diff *diff, const jm_diff_options *options, jm_error *err)
{
    jm_by by = jm_report_options_get(diff->runs[0].report)->by;
    bool alike = true;
    for (size_t r = 1; r < jm__diff_run_count(diff); r++)
        alike = alike && jm_report_options_get(diff->runs[r].report)->by == by;
    if (!alike || by == JM_BY_SPAN) {
        jm__fail(err, JM_USAGE, 0, "jm_diff_create",
                 alike ? "single spans of one run have no counterpart in another"
                       : "reports with other keys of rows cannot be compared");
        return jm__hint(err, JM_USAGE, "compare by layer, or another key of rows that are sums");
    }
    if ((unsigned)options->per >= JM_PER_COUNT)
        return jm__fail(err, JM_USAGE, 0, "jm_diff_create", "%d is no unit", (int)options->per);
    return JM_OK;
}

static jm_status compare_rows(jm_diff *diff, const jm_report *const *reports, jm_error *err)
{
    jm__match match;
    jm_status status = jm__match_make(&match, reports, jm__diff_run_count(diff), err);
    if (status == JM_OK && !find_places(diff, &match)) status = jm__no_memory(err, "jm_diff_create");
    for (size_t i = 0; status == JM_OK && i < match.row_count; i++)
        status = add_row(diff, &match, i, err);
    if (status == JM_OK && !find_paths_again(diff)) status = jm__no_memory(err, "jm_diff_create");
    jm__match_free(&match);
    return status;
}

/* Once for all rows: each takes a while. */
static bool find_student(jm_diff *diff)
{
    size_t most = diff->counts[diff->counts[1] > diff->counts[0]];
    diff->student = calloc(most + 1, sizeof *diff->student);
    for (size_t runs = 2; diff->student != NULL && runs <= most; runs++)
        diff->student[runs] = jm__runs_student(runs);
    return diff->student != NULL;
}

static jm_status make(jm_diff *diff, const jm_report *const *reports, const jm_diff_options *options,
                      jm_error *err)
{
    JM_TRY(check(diff, options, err));
    JM_TRY(choose_unit(diff, options->per, err));
    JM_TRY(jm__gains_find(&diff->gains, diff->runs, diff->counts, err));
    if (!find_student(diff)) return jm__no_memory(err, "jm_diff_create");
    diff->expand = options->expand;
    JM_TRY(compare_totals(diff, err));
    return compare_rows(diff, reports, err);
}

static void take_runs(jm_diff *diff, int side, const jm_diff_side *wanted, const jm_report **reports)
{
    size_t first = side == 0 ? 0 : diff->counts[0];
    for (size_t i = 0; i < wanted->count; i++) {
        diff->runs[first + i].report = reports[first + i] = wanted->reports[i];
        diff->runs[first + i].side = side;
    }
}

static jm_status build(jm_diff *diff, const jm_diff_side *a, const jm_diff_side *b,
                       const jm_diff_options *options, jm_error *err)
{
    diff->counts[0] = a->count;
    diff->counts[1] = b->count;
    diff->runs = calloc(a->count + b->count, sizeof *diff->runs);
    const jm_report **reports = calloc(a->count + b->count, sizeof *reports);
    bool fine = diff->runs != NULL && reports != NULL;
    if (fine) {
        take_runs(diff, 0, a, reports);
        take_runs(diff, 1, b, reports);
        fine = jm__diff_name(diff, a, b, options);
    }
    jm_status status = fine ? make(diff, reports, options, err) : jm__no_memory(err, "jm_diff_create");
    free(reports);
    return status;
}

jm_status jm_diff_create_many(jm_diff **out, const jm_diff_side *a, const jm_diff_side *b,
                              const jm_diff_options *options, jm_error *err)
{
    jm_diff_options wishes;
    *out = NULL;
    JM_TRY(jm__options_copy(&wishes, sizeof wishes, options, "jm_diff_create", err));
    if (a->count == 0 || b->count == 0)
        return jm__fail(err, JM_USAGE, 0, "jm_diff_create", "side %s has no runs", a->count == 0 ? "A" : "B");
    jm_diff *diff = calloc(1, sizeof *diff);
    if (diff == NULL) return jm__no_memory(err, "jm_diff_create");
    jm_status status = build(diff, a, b, &wishes, err);
    if (status == JM_OK)
        *out = diff;
    else
        jm_diff_free(diff);
    return status;
}

jm_status jm_diff_create(jm_diff **out, const jm_report *a, const jm_report *b,
                         const jm_diff_options *options, jm_error *err)
{
    const jm_diff_side sides[2] = {{.reports = &a, .count = 1}, {.reports = &b, .count = 1}};
    return jm_diff_create_many(out, &sides[0], &sides[1], options, err);
}

void jm_diff_free(jm_diff *diff)
{
    if (diff == NULL) return;
    for (size_t r = 0; diff->runs != NULL && r < jm__diff_run_count(diff); r++)
        free(diff->runs[r].name);
    free(diff->runs);
    free(diff->names[0]);
    free(diff->names[1]);
    jm__gains_free(&diff->gains);
    jm__vec_free(&diff->rows);
    free(diff->places);
    free(diff->student);
    free(diff);
}

size_t jm_diff_row_count(const jm_diff *diff)
{
    return diff->rows.count;
}

const jm_diff_row *jm_diff_row_get(const jm_diff *diff, size_t row)
{
    return row < diff->rows.count ? &diff->rows.items[row] : NULL;
}

const jm_diff_row *jm_diff_total(const jm_diff *diff)
{
    return &diff->total;
}

jm_per jm_diff_per(const jm_diff *diff)
{
    return diff->per;
}

jm_sameness jm_diff_sameness(const jm_diff *diff)
{
    return diff->gains.sameness;
}

double jm_diff_gain_u(const jm_diff *diff)
{
    return diff->gain_u;
}
