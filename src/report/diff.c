/* Two reports, row by row. */
#include "base/map.h"
#include "base/options.h"
#include "base/status.h"
#include "base/vec.h"
#include "report/change.h"
#include "report/diff_match.h"
#include "report/diff_parts.h"

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
    bool steps = jm_report_totals_get(diff->sides[0].report)->steps > 0 &&
                 jm_report_totals_get(diff->sides[1].report)->steps > 0;
    diff->per = wanted != JM_PER_FITTING ? wanted : steps ? JM_PER_STEP : JM_PER_RUN;
    for (int r = 0; r < 2; r++) {
        diff->sides[r].units = units_of(diff->sides[r].report, diff->per);
        if (diff->sides[r].units > 0) continue;
        jm__fail(err, JM_USAGE, 0, "jm_diff_create", "%s has no %ss%s: its joules a %s are not known",
                 diff->sides[r].name, jm_per_text(diff->per), diff->per == JM_PER_STEP ? "" : " of steps",
                 jm_per_text(diff->per));
        return jm__hint(err, JM_USAGE,
                        "record it with `run.step(%s)` around each step, or compare with --per run",
                        diff->per == JM_PER_STEP     ? ""
                        : diff->per == JM_PER_SAMPLE ? "samples=N"
                                                     : "tokens=N");
    }
    return JM_OK;
}

/* Of the total: what is less is rounding, as in `(unresolved)`. */
static const double rounding = 1e-9;

static jm_change verdict_on(const jm_diff *diff, const jm_diff_row *row, int sign)
{
    if (!isfinite(row->a_high_j + row->b_high_j)) return JM_CHANGE_NOT_KNOWN;
    bool nothing = fabs(row->a_j) + fabs(row->b_j) < rounding * fabs(diff->total.a_j + diff->total.b_j);
    if (sign == 0 || nothing) return JM_CHANGE_NOT_SEEN;
    return sign < 0 ? JM_CHANGE_LESS : JM_CHANGE_MORE;
}

static void compare(const jm_diff *diff, jm_diff_row *row, double gain_a_u, double gain_b_u)
{
    jm__ratio ratio = jm__change_of((jm__figure){row->a_j, row->a_low_j, row->a_high_j, gain_a_u},
                                    (jm__figure){row->b_j, row->b_low_j, row->b_high_j, gain_b_u});
    row->change = ratio.change;
    row->change_low = ratio.low;
    row->change_high = ratio.high;
    row->verdict = verdict_on(diff, row, ratio.sign);
}

static const jm_diff_row blank = {.name = "",
                                  .path = "",
                                  .kind = "",
                                  .a_j = NAN,
                                  .a_low_j = NAN,
                                  .a_high_j = NAN,
                                  .b_j = NAN,
                                  .b_low_j = NAN,
                                  .b_high_j = NAN,
                                  .change = NAN,
                                  .change_low = NAN,
                                  .change_high = NAN};

static void fill_a(jm_diff_row *row, const jm_diff *diff, double energy_j, double low_j, double high_j)
{
    double units = (double)diff->sides[0].units;
    row->a_j = energy_j / units;
    row->a_low_j = low_j / units;
    row->a_high_j = high_j / units;
}

static void fill_b(jm_diff_row *row, const jm_diff *diff, double energy_j, double low_j, double high_j)
{
    double units = (double)diff->sides[1].units;
    row->b_j = energy_j / units;
    row->b_low_j = low_j / units;
    row->b_high_j = high_j / units;
}

static void compare_totals(jm_diff *diff)
{
    const jm_report_totals *a = jm_report_totals_get(diff->sides[0].report),
                           *b = jm_report_totals_get(diff->sides[1].report);
    double gain_a_u = jm__gains_of_total(&diff->gains, 0), gain_b_u = jm__gains_of_total(&diff->gains, 1);
    diff->total = blank;
    diff->total.name = diff->total.path = jm_per_text(diff->per);
    diff->total.kind = "total";
    diff->gain_u = hypot(gain_a_u, gain_b_u);
    fill_a(&diff->total, diff, a->total_energy_j, a->total_low_j, a->total_high_j);
    fill_b(&diff->total, diff, b->total_energy_j, b->total_low_j, b->total_high_j);
    compare(diff, &diff->total, gain_a_u, gain_b_u);
}

/* `a` or `b` may be NULL, not both. */
static bool add_row(jm_diff *diff, const jm_row *a, const jm_row *b, int32_t depth)
{
    const jm_row *told = a != NULL ? a : b;
    jm_diff_row row = blank;
    row.name = told->name;
    row.path = told->path;
    row.kind = told->kind;
    row.depth = depth;
    if (a != NULL) fill_a(&row, diff, a->energy_j, a->energy_low_j, a->energy_high_j);
    if (b != NULL) fill_b(&row, diff, b->energy_j, b->energy_low_j, b->energy_high_j);
    if (a != NULL && b != NULL) {
        double gain_a_u, gain_b_u;
        jm__gains_of_rows(&diff->gains, a->boards, b->boards, &gain_a_u, &gain_b_u);
        compare(diff, &row, gain_a_u, gain_b_u);
    } else {
        row.verdict = a != NULL ? JM_CHANGE_ONLY_IN_A : JM_CHANGE_ONLY_IN_B;
    }
    return jm__vec_push(&diff->rows, row);
}

static bool compare_rows(jm_diff *diff, const jm__match *match)
{
    const jm_report *a = diff->sides[0].report, *b = diff->sides[1].report;
    bool fine = true;
    for (size_t i = 0; fine && i < match->counts[0]; i++) {
        const jm__matched_row *mine = &match->rows[0][i];
        if (!mine->left_out)
            fine = add_row(diff, jm_report_row(a, i), jm_report_row(b, mine->other), mine->depth);
    }
    for (size_t i = 0; fine && i < match->counts[1]; i++) {
        const jm__matched_row *mine = &match->rows[1][i];
        if (!mine->left_out && mine->other == JM__NO_ROW_OF_IT)
            fine = add_row(diff, NULL, jm_report_row(b, i), 0);
    }
    return fine;
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

static jm_status make(jm_diff *diff, const jm_diff_options *options, jm_error *err)
{
    jm_by by = jm_report_options_get(diff->sides[0].report)->by;
    if (by != jm_report_options_get(diff->sides[1].report)->by || by == JM_BY_SPAN) {
        jm__fail(err, JM_USAGE, 0, "jm_diff_create",
                 by == JM_BY_SPAN ? "single spans of one run have no counterpart in another"
                                  : "two reports with other keys of rows cannot be compared");
        return jm__hint(err, JM_USAGE, "compare by layer, or another key of rows that are sums");
    }
    if ((unsigned)options->per >= JM_PER_COUNT)
        return jm__fail(err, JM_USAGE, 0, "jm_diff_create", "%d is no unit", (int)options->per);
    JM_TRY(choose_unit(diff, options->per, err));
    JM_TRY(jm__gains_find(&diff->gains, diff->sides[0].report, diff->sides[1].report, err));
    compare_totals(diff);
    jm__match match = {0};
    jm_status status = jm__match_make(&match, diff->sides[0].report, diff->sides[1].report, err);
    if (status == JM_OK && (!compare_rows(diff, &match) || !find_paths_again(diff)))
        status = jm__no_memory(err, "jm_diff_create");
    jm__match_free(&match);
    return status;
}

static jm_status keep_name(char **own, const char *wanted, const char *usual, jm_error *err)
{
    *own = strdup(wanted != NULL && wanted[0] != '\0' ? wanted : usual);
    return *own != NULL ? JM_OK : jm__no_memory(err, "jm_diff_create");
}

jm_status jm_diff_create(jm_diff **out, const jm_report *a, const jm_report *b,
                         const jm_diff_options *options, jm_error *err)
{
    jm_diff_options wishes;
    *out = NULL;
    JM_TRY(jm__options_copy(&wishes, sizeof wishes, options, "jm_diff_create", err));
    jm_diff *diff = calloc(1, sizeof *diff);
    if (diff == NULL) return jm__no_memory(err, "jm_diff_create");
    diff->sides[0].report = a;
    diff->sides[1].report = b;
    jm_status status = keep_name(&diff->sides[0].name, wishes.name_a, "A", err);
    if (status == JM_OK) status = keep_name(&diff->sides[1].name, wishes.name_b, "B", err);
    if (status == JM_OK) status = make(diff, &wishes, err);
    if (status == JM_OK)
        *out = diff;
    else
        jm_diff_free(diff);
    return status;
}

void jm_diff_free(jm_diff *diff)
{
    if (diff == NULL) return;
    jm__gains_free(&diff->gains);
    jm__vec_free(&diff->rows);
    free(diff->sides[0].name);
    free(diff->sides[1].name);
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
