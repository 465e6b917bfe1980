/* A diff as a table, for a terminal or a pull request, and as JSON. */
#include "attribute/fit/student.h"
#include "attribute/notes/quality.h"
#include "base/plain.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "report/diff.h"
#include "report/fold.h"
#include "report/format.h"
#include "report/json.h"
#include "report/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Means over the runs of a side that have the value; NAN: none has. */
typedef struct diff_conditions {
    double clock_mhz, temperature_c, throttled_share;
} diff_conditions;

static bool diff_is_simulated(const jm_diff *diff)
{
    bool any = false;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++)
        any = any || jm_report_totals_get(diff->runs[r].report)->simulated;
    return any;
}

/* The mean of a figure over the runs of a side that have it; NAN: none has. `field`: offset of the figure. */
static double side_mean(const jm_diff *diff, int side, size_t field)
{
    double sum = 0, count = 0;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        const char *quality = (const char *)jm_report_quality_get(diff->runs[r].report);
        double value;
        memcpy(&value, quality + field, sizeof value);
        if (diff->runs[r].side != side || !isfinite(value)) continue;
        sum += value;
        count++;
    }
    return count > 0 ? sum / count : NAN;
}

static diff_conditions diff_conditions_of(const jm_diff *diff, int side)
{
    return (diff_conditions){side_mean(diff, side, offsetof(jm_report_quality, clock_mhz)),
                             side_mean(diff, side, offsetof(jm_report_quality, temperature_c)),
                             side_mean(diff, side, offsetof(jm_report_quality, throttled_share))};
}

static jm__grade grade_of(const jm__diff_run *run)
{
    const char *verdict = jm_report_quality_get(run->report)->verdict;
    jm__grade grade = JM_GRADE_POOR;
    while (grade > JM_GRADE_GOOD && strcmp(jm__grade_text(grade), verdict) != 0)
        grade--;
    return grade;
}

static const jm__diff_run *diff_worst_run(const jm_diff *diff, int side)
{
    const jm__diff_run *worst = NULL;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        const jm__diff_run *run = &diff->runs[r];
        if (run->side == side && (worst == NULL || grade_of(run) > grade_of(worst))) worst = run;
    }
    return worst;
}

/* ---- folding equal layers: they must be equal in all runs and have changed equally */

static const double equal_share = 0.05, equal_deviations = 3; /* as in a report */

typedef struct folder {
    const jm_diff *diff;
    jm_row *rows;    /* [rows of the diff] */
    size_t *queries; /* [runs] covariances computed, see jm__fold_variance_apart */
} folder;

static const jm_row *row_at(void *context, size_t row)
{
    return &((const folder *)context)->rows[row];
}

static const jm_row *row_in(const jm_diff *diff, size_t row, size_t run)
{
    return jm_report_row(diff->runs[run].report, jm__diff_place(diff, row, run));
}

static bool is_number(const char *text, size_t length)
{
    return length > 0 && strspn(text, "0123456789") >= length;
}

/* Whether the paths differ only in numbers, as "blocks.0.mlp" and "blocks.11.mlp", or in their last
 * component. */
static bool paths_correspond(const char *a, const char *b)
{
    for (;; a++, b++) {
        size_t length_a = strcspn(a, "."), length_b = strcspn(b, ".");
        bool same = length_a == length_b && strncmp(a, b, length_a) == 0;
        bool last = a[length_a] == '\0' && b[length_b] == '\0';
        if (!same && !last && !(is_number(a, length_a) && is_number(b, length_b))) return false;
        a += length_a;
        b += length_b;
        if (*a != *b) return false;
        if (*a == '\0') return true;
    }
}

static bool correspond_in_all_runs(const jm_diff *diff, size_t a, size_t b)
{
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        const jm_row *row_a = row_in(diff, a, r), *row_b = row_in(diff, b, r);
        if ((row_a == NULL) != (row_b == NULL)) return false;
        if (row_a == NULL) continue;
        if (row_a->calls != row_b->calls || strcmp(row_a->type, row_b->type) != 0 ||
            strcmp(row_a->boards, row_b->boards) != 0)
            return false;
    }
    return true;
}

/* Variance of the difference of two rows of one side, J^2 per unit, as a single run has it. */
static double variance_apart(folder *f, int side, size_t a, size_t b)
{
    const jm_diff *diff = f->diff;
    double sum = 0;
    size_t have = 0;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        size_t place_a = jm__diff_place(diff, a, r), place_b = jm__diff_place(diff, b, r);
        if (diff->runs[r].side != side || place_a == JM__NO_PLACE) continue;
        sum += jm__fold_variance_apart(diff->runs[r].report, place_a, place_b, &f->queries[r]) *
               pow(jm__diff_unit_share(diff, r, row_in(diff, a, r)), 2);
        have++;
    }
    return have > 0 ? sum / (double)have : 0;
}

/* `side_a`, `side_b`: whose errors count in the difference `apart_j`. */
static bool is_near(folder *f, double apart_j, double usual_j, bool side_a, bool side_b, size_t row,
                    size_t usual)
{
    if (fabs(apart_j) <= equal_share * fabs(usual_j)) return true;
    double variance = side_a ? variance_apart(f, 0, row, usual) : 0;
    if (side_b) variance += variance_apart(f, 1, row, usual);
    return fabs(apart_j) <= equal_deviations * sqrt(variance);
}

static bool is_equal(void *context, size_t row, size_t usual)
{
    folder *f = context;
    const jm_diff_row *mine = &f->diff->rows.items[row], *its = &f->diff->rows.items[usual];
    double a_j = mine->a_j - its->a_j, b_j = mine->b_j - its->b_j;
    if (!paths_correspond(mine->path, its->path) || !correspond_in_all_runs(f->diff, row, usual))
        return false;
    if (isnan(mine->a_j) != isnan(its->a_j) || isnan(mine->b_j) != isnan(its->b_j)) return false;
    if (!isnan(a_j) && !is_near(f, a_j, its->a_j, true, false, row, usual)) return false;
    if (!isnan(b_j) && !is_near(f, b_j, its->b_j, false, true, row, usual)) return false;
    return isnan(a_j) || isnan(b_j) ||
           is_near(f, b_j - a_j, fmax(fabs(its->a_j), fabs(its->b_j)), true, true, row, usual);
}

/* The best provenance of the row in any run. */
static jm_provenance best_provenance(const jm_diff *diff, size_t row)
{
    jm_provenance best = JM_PROVENANCE_UNRESOLVED;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        const jm_row *in_run = row_in(diff, row, r);
        if (in_run != NULL && in_run->provenance < best) best = in_run->provenance;
    }
    return best;
}

/* The diff's rows as report rows: those of the first run that has them, with the energy of both sides. */
static bool list_rows(folder *f)
{
    const jm_diff *diff = f->diff;
    f->rows = calloc(diff->rows.count + 1, sizeof *f->rows);
    f->queries = calloc(jm__diff_run_count(diff), sizeof *f->queries);
    if (f->rows == NULL || f->queries == NULL) return false;
    for (size_t i = 0; i < diff->rows.count; i++) {
        const jm_diff_row *row = &diff->rows.items[i];
        size_t r = 0;
        while (jm__diff_place(diff, i, r) == JM__NO_PLACE)
            r++;
        f->rows[i] = *row_in(diff, i, r);
        f->rows[i].depth = row->depth;
        f->rows[i].provenance = best_provenance(diff, i);
        f->rows[i].energy_j = isnan(row->a_j) ? row->b_j : isnan(row->b_j) ? row->a_j : row->a_j + row->b_j;
    }
    return true;
}

/* ---- names and sums of folded rows */

/* "model.layers.*.mlp"; NULL if memory is out. */
static char *path_of(const jm_diff *diff, const jm__fold *fold, const jm__part *part)
{
    const char **at = calloc(part->members, sizeof *at);
    jm__strbuf path = {.failed = at == NULL};
    for (size_t i = 0; at != NULL && i < part->members; i++)
        at[i] = diff->rows.items[fold->rows[part->first + i]].path;
    if (at != NULL) jm__common_path_add(&path, at, part, ".", part->minority);
    free(at);
    return jm__strbuf_take(&path);
}

/* Only energies are summed; intervals are computed for the parts that are shown. */
static jm_diff_row sum_of(const jm_diff *diff, const jm__fold *fold, const jm__part *part)
{
    jm_diff_row sum = diff->rows.items[part->row];
    sum.depth = part->sum.depth;
    if (part->members == 1) return sum;
    sum.a_j = sum.b_j = 0;
    for (size_t i = 0; i < part->members; i++) {
        sum.a_j += diff->rows.items[fold->rows[part->first + i]].a_j;
        sum.b_j += diff->rows.items[fold->rows[part->first + i]].b_j;
    }
    return sum;
}

/* Fold equal layers. In each run they have the same type, boards and number of calls. Neither their energy on
 * a side nor its change differs from the median layer by more than 5 % and three standard uncertainties (of
 * one run, as errors may be common to all). Other keys than layers, or jm_diff_options.expand: each row is
 * its own part. */
static jm_status fold_rows(jm__fold *fold, const jm_diff *diff, jm_error *err)
{
    folder f = {.diff = diff};
    const jm__fold_source source = {&f, diff->rows.count, row_at, is_equal};
    bool expand = diff->expand || jm_report_options_get(diff->runs[0].report)->by != JM_BY_LAYER;
    jm_status status =
        list_rows(&f) ? jm__fold_rows(fold, &source, expand, err) : jm__no_memory(err, "jm_diff_text");
    free(f.rows);
    free(f.queries);
    return status;
}

/* ---- notes below the table: the runs of each side, and how their conditions differ */

/* A smaller gain uncertainty does not show in a change. */
static const double shown_gain = 0.0003;

static void add_gpus(jm__strbuf *line, const jm_diff *diff)
{
    static const char *const texts[JM_SAMENESS_COUNT] = {
        [JM_SAMENESS_SAME] = "same GPU: the sensor's gain cancels.",
        [JM_SAMENESS_DIFFERENT] = "different GPUs: changes hold the gains of their sensors,",
        [JM_SAMENESS_UNKNOWN] =
            "not known to be the same GPU (no UUID): changes hold the gains of their sensors,",
    };
    bool cancels = diff->gains.sameness == JM_SAMENESS_SAME;
    bool shifted = cancels && diff->gain_u >= shown_gain;
    jm__strbuf_add(
        line, shifted ? "same GPUs, with other shares of the energy: changes hold the gains of their sensors,"
                      : texts[diff->gains.sameness]);
    if (!cancels || shifted)
        jm__strbuf_format(line, " \302\261%.1f %% of the total.", JM_NORMAL_95 * diff->gain_u * 100);
}

/* "clock 1965 / 1971 MHz, 61 / 64 °C, throttled 12 / 0 % of the time"; "-": not recorded. */
static void add_conditions(jm__strbuf *line, const jm_diff *diff)
{
    diff_conditions a = diff_conditions_of(diff, 0), b = diff_conditions_of(diff, 1);
    const struct {
        const char *before, *after;
        double values[2];
    } conditions[] = {{" clock ", " MHz", {a.clock_mhz, b.clock_mhz}},
                      {" ", " \302\260C", {a.temperature_c, b.temperature_c}},
                      {" throttled ", " % of the time", {100 * a.throttled_share, 100 * b.throttled_share}}};
    bool any = false;
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        if (!isfinite(conditions[i].values[0]) && !isfinite(conditions[i].values[1])) continue;
        jm__strbuf_add(line, any ? "," : "");
        jm__strbuf_add(line, conditions[i].before);
        for (int r = 0; r < 2; r++) {
            jm__strbuf_add(line, r == 1 ? " / " : "");
            if (isfinite(conditions[i].values[r]))
                jm__strbuf_format(line, "%.0f", conditions[i].values[r]);
            else
                jm__strbuf_add(line, "-");
        }
        jm__strbuf_add(line, conditions[i].after);
        any = true;
    }
    jm__strbuf_add(line, any ? "." : "");
}

/* Verdicts, if a run is poor: of two runs both, of more only the poor ones. */
static void add_verdicts(jm__strbuf *out, const jm_diff *diff, size_t width)
{
    bool any = false;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++)
        any = any || strcmp(jm_report_quality_get(diff->runs[r].report)->verdict, "poor") == 0;
    for (size_t r = 0; any && r < jm__diff_run_count(diff); r++) {
        const jm_report_quality *quality = jm_report_quality_get(diff->runs[r].report);
        if (jm__diff_run_count(diff) > 2 && strcmp(quality->verdict, "poor") != 0) continue;
        jm__strbuf line = {0};
        jm__strbuf_format(&line, "%s is %s: %s", diff->runs[r].name, quality->verdict,
                          quality->verdict_reason);
        jm__wrap_take(out, "", 0, &line, width);
    }
}

/* "A, the mean of 3 runs: a1, a2, a3; standard deviation of their totals 0.8 %." */
static void add_runs(jm__strbuf *out, const jm_diff *diff, int side, size_t width)
{
    double mean_j = side == 0 ? diff->total.a_j : diff->total.b_j,
           deviation_j = side == 0 ? diff->total.a_deviation_j : diff->total.b_deviation_j;
    jm__strbuf line = {0};
    const char *before = ": ";
    if (diff->counts[side] == 1) return;
    jm__utf8_add(&line, diff->names[side], true);
    jm__strbuf_format(&line, ", the mean of %zu runs", diff->counts[side]);
    for (size_t r = 0; r < jm__diff_run_count(diff); r++) {
        if (diff->runs[r].side != side) continue;
        jm__strbuf_add(&line, before);
        jm__utf8_add(&line, diff->runs[r].name, true);
        before = ", ";
    }
    if (isfinite(deviation_j / mean_j))
        jm__strbuf_format(&line, "; standard deviation of their totals %.2g %%", 100 * deviation_j / mean_j);
    jm__strbuf_add(&line, ".");
    jm__wrap_take(out, "", 0, &line, width);
}

/* "a step: 129 / 118 ms, 668 / 669 W." */
static void add_total_facts(jm__strbuf *out, const jm_diff *diff, size_t width)
{
    const jm_diff_row *t = &diff->total;
    char a[JM_CELL], b[JM_CELL], a_power[JM_CELL], b_power[JM_CELL];
    jm__strbuf line = {0};
    jm__format_time(a, t->a_s);
    jm__format_time(b, t->b_s);
    jm__format_power(a_power, t->a_s > 0 ? t->a_j / t->a_s : NAN);
    jm__format_power(b_power, t->b_s > 0 ? t->b_j / t->b_s : NAN);
    jm__strbuf_format(&line, "A %s: %s / %s, %s / %s.", jm_per_text(diff->per), a, b, a_power, b_power);
    if (!diff->same_kind && diff->per != JM_PER_RUN)
        jm__strbuf_add(&line, " The steps of these runs have other names.");
    jm__wrap_take(out, "", 0, &line, width);
}

/* `some_runs`: the table marks rows that only some runs have. `width`: 0, not wrapped. */
static void diff_notes(jm__strbuf *out, const jm_diff *diff, bool some_runs, size_t width)
{
    jm__strbuf line = {0};
    add_total_facts(out, diff, width);
    for (int side = 0; side < 2; side++)
        add_runs(out, diff, side, width);
    if (diff->counts[0] == 1 || diff->counts[1] == 1)
        jm__wrap(out, "", 0,
                 "One run does not show how much runs differ: that is not in its \302\261. "
                 "joulemap run --repeat 5 does.",
                 width);
    if (some_runs)
        jm__wrap(out, "", 0, "A n/m: only n of A's m runs have the row, and its mean is over those.", width);
    if (diff_is_simulated(diff)) jm__strbuf_add(&line, "SIMULATED GPU. ");
    add_gpus(&line, diff);
    add_conditions(&line, diff);
    jm__wrap_take(out, "", 0, &line, width);
    add_verdicts(out, diff, width);
    jm__wrap(out, "", 0,
             "\302\261 is half of the 95 % interval, of energies relative to the GPU's own sensor.", width);
}

/* ---- a table, for a terminal or a pull request */

/* Rows of less than this share of the total on both sides are counted, not shown. */
static const double shown_share = 0.005;

enum { SIDE_COLUMNS = 14, SIDE_COLUMNS_MAX = 40, NARROWEST_NAME = 17 };

/* Order in which rows are shown; 0: too small to be shown. */
static double weight_of(const jm_diff *diff, const jm_diff_row *row)
{
    const jm_diff_row *total = &diff->total;
    if (!isfinite(row->a_j) && !isfinite(row->b_j)) return shown_share; /* unknown energy is not small */
    double a = fabs(row->a_j / total->a_j), b = fabs(row->b_j / total->b_j);
    double share = fmax(isfinite(a) ? a : 0, isfinite(b) ? b : 0);
    bool known = total->a_j > 0 || total->b_j > 0; /* else there are no shares: all are shown */
    return known && share < shown_share ? 0 : fmax(share, shown_share);
}

typedef struct weighted_row {
    double weight;
    size_t row;
} weighted_row;

static int by_weight(const void *left, const void *right)
{
    const weighted_row *a = left, *b = right;
    if (a->weight != b->weight) return a->weight > b->weight ? -1 : 1;
    return a->row < b->row ? -1 : 1; /* a parent before a child with the same energy */
}

typedef struct choice {
    bool *shown; /* [parts] */
    size_t small, past_limit;
} choice;

static bool choose_rows(choice *chosen, const jm_diff *diff, const jm__fold *fold, size_t limit)
{
    size_t count = fold->parts.count, large = 0;
    weighted_row *order = calloc(count + 1, sizeof *order);
    *chosen = (choice){.shown = calloc(count + 1, sizeof *chosen->shown)};
    bool ok = order != NULL && chosen->shown != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        jm_diff_row row = sum_of(diff, fold, &fold->parts.items[i]);
        order[i] = (weighted_row){weight_of(diff, &row), i};
        large += order[i].weight > 0;
    }
    if (ok) {
        qsort(order, count, sizeof *order, by_weight);
        size_t end = limit == 0 || limit > large ? large : limit;
        for (size_t i = 0; i < end; i++)
            chosen->shown[order[i].row] = true;
        chosen->small = count - large;
        chosen->past_limit = large - end;
    }
    free(order);
    return ok;
}

/* Properties of the whole table. */
typedef struct layout {
    const jm_diff *diff;
    jm__energy_scale scale;
    bool whole_paths; /* paths instead of names in a tree */
    bool whole_names; /* no short names of kernels */
    bool several;     /* some rows are several layers; their number is the first column */
    bool some_runs;   /* some rows are missing in some runs */
    double time_s;    /* unit of times: 1, a millisecond or a microsecond */
} layout;

/* The verdict: "less", or "less, A 2/3" if two of A's three runs have the row. */
static bool write_verdict(char out[JM_CELL], const jm_diff *diff, const jm_diff_row *row)
{
    const size_t runs[2] = {row->a_runs, row->b_runs};
    int used = snprintf(out, JM_CELL, "%s", jm_change_text(row->verdict));
    bool some = false;
    for (int side = 0; side < 2; side++) {
        if (runs[side] == 0 || runs[side] == diff->counts[side] || used >= JM_CELL) continue;
        used += snprintf(out + used, (size_t)(JM_CELL - used), ", %c %zu/%zu", "AB"[side], runs[side],
                         diff -> counts[side]);
        some = true;
    }
    return some;
}

/* Only then does a percentage say anything. */
static bool is_sure(double energy_j, double low_j, double high_j)
{
    return energy_j > fmax(energy_j - low_j, high_j - energy_j);
}

static double watts(double energy_j, double seconds)
{
    return seconds > 0 ? energy_j / seconds : NAN;
}

static int write_figure(char *out, size_t size, double value)
{
    if (!isfinite(value)) return snprintf(out, size, "-");
    return jm__print(out, size, "%.*f", value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value);
}

/* "129 / 118" */
static void write_pair(char out[JM_CELL], double a, double b)
{
    int used = write_figure(out, JM_CELL / 2, a);
    used += snprintf(out + used, (size_t)(JM_CELL - used), " / ");
    write_figure(out + used, (size_t)(JM_CELL - used), b);
}

static void write_cells(jm__table_line *line, layout *view, const jm_diff_row *row, size_t members)
{
    size_t c = 0;
    if (view->several && members > 0) snprintf(line->cells[c], JM_CELL, "%zu", members);
    c += view->several;
    jm__format_energy_in(line->cells[c++], &view->scale, row->a_j, row->a_low_j, row->a_high_j);
    jm__format_energy_in(line->cells[c++], &view->scale, row->b_j, row->b_low_j, row->b_high_j);
    if (is_sure(row->a_j, row->a_low_j, row->a_high_j) && is_sure(row->b_j, row->b_low_j, row->b_high_j))
        jm__format_change(line->cells[c], row->change, row->change_low, row->change_high);
    c++;
    write_pair(line->cells[c++], row->a_s / view->time_s, row->b_s / view->time_s);
    write_pair(line->cells[c++], watts(row->a_j, row->a_s), watts(row->b_j, row->b_s));
    view->some_runs = write_verdict(line->cells[c], view->diff, row) || view->some_runs;
}

static bool add_total(jm__table *table, layout *view)
{
    jm__table_line line = {0};
    jm__strbuf name = {0};
    jm__strbuf_add(&name, view->diff->total.name);
    write_cells(&line, view, &view->diff->total, 0);
    return jm__table_push(table, line, &name);
}

static bool is_alone(const jm_diff *diff, const jm__part *part)
{
    jm_change verdict = diff->rows.items[part->row].verdict;
    return verdict == JM_CHANGE_ONLY_IN_A || verdict == JM_CHANGE_ONLY_IN_B;
}

/* `under`: the depth of the row around it that is shown as a tree; less than 0: there is none, and the row
 * has its whole path. */
static jm_status add_part(jm__table *table, layout *view, const jm__fold *fold, const jm__part *part,
                          int32_t under, jm_error *err)
{
    const jm_diff *diff = view->diff;
    jm_diff_row row = sum_of(diff, fold, part);
    if (part->members > 1)
        JM_TRY(jm__diff_compare_rows(&row, diff, fold->rows + part->first, part->members, err));
    char *text = under >= 0 && !view->whole_paths ? strdup(part->name) : path_of(diff, fold, part);
    if (text == NULL) return jm__no_memory(err, "jm_diff_text");
    jm__table_line line = {.depth = under >= 0 ? row.depth - under + 1 : 1, .number = part->row + 1};
    jm__strbuf name = {0}, shorter = {0};
    jm_by by = jm_report_options_get(diff->runs[0].report)->by;
    line.is_short = !view->whole_names && jm__row_short_name_add(&shorter, &part->sum, by);
    line.is_cpp = !line.is_short && jm__is_cpp_name(text);
    jm__utf8_add(&name, line.is_short && shorter.text != NULL ? shorter.text : text, true);
    name.failed = name.failed || shorter.failed;
    jm__strbuf_free(&shorter);
    free(text);
    if (row.path_again) snprintf(line.suffix, sizeof line.suffix, " (%s)", row.kind);
    write_cells(&line, view, &row, part->members);
    return jm__table_push(table, line, &name) ? JM_OK : jm__no_memory(err, "jm_diff_text");
}

/* Of both sides, or of one side alone. Only in the first run does the depth give a row's place. */
static jm_status add_parts(jm__table *table, layout *view, const jm__fold *fold, const choice *chosen,
                           bool alone, jm_error *err)
{
    int32_t top = alone ? -1 : 0; /* depth of the last row that is shown without what is around it */
    for (size_t i = 0; i < fold->parts.count; i++) {
        const jm__part *part = &fold->parts.items[i];
        bool placed = jm__diff_place(view->diff, part->row, 0) != JM__NO_PLACE;
        if (is_alone(view->diff, part) != alone) {
            if (alone && placed && part->sum.depth <= top) top = -1;
            continue;
        }
        bool inside = placed && top >= 0 && (!alone || part->sum.depth > top);
        if (alone && !inside) top = placed ? part->sum.depth : -1;
        if (chosen->shown[i]) JM_TRY(add_part(table, view, fold, part, inside ? top : -1, err));
    }
    return JM_OK;
}

static bool add_count(jm__table *table, size_t count, const char *what)
{
    if (count == 0) return true;
    jm__strbuf name = {0};
    jm__strbuf_format(&name, "%zu %s", count, what);
    return jm__table_push(table, (jm__table_line){.depth = 1}, &name);
}

static jm_status fill_chosen(jm__table *table, layout *view, const jm__fold *fold, const choice *chosen,
                             jm_error *err)
{
    bool filled = add_total(table, view);
    if (filled) JM_TRY(add_parts(table, view, fold, chosen, true, err)); /* what changed most comes first */
    if (filled) JM_TRY(add_parts(table, view, fold, chosen, false, err));
    filled = filled &&
             add_count(table, chosen->past_limit, chosen->past_limit == 1 ? "more row" : "more rows") &&
             add_count(table, chosen->small, chosen->small == 1 ? "row < 0.5 %" : "rows < 0.5 %");
    return filled ? JM_OK : jm__no_memory(err, "jm_diff_text");
}

/* Titles, which must outlive the table. */
typedef struct titles {
    char names[64];
    const char *time;
    char sides[2][JM_TABLE_TITLE];
} titles;

static bool shorten_sides(titles *to, const jm_diff *diff, size_t columns)
{
    bool ok = true;
    for (int side = 0; side < 2; side++) {
        jm__strbuf clean = {0}, cut = {0};
        jm__utf8_add(&clean, diff->names[side], true);
        jm__utf8_add_cut(&cut, clean.text != NULL ? clean.text : "", columns);
        ok = ok && !clean.failed && !cut.failed;
        snprintf(to->sides[side], sizeof to->sides[side], "%s", cut.text != NULL ? cut.text : "");
        jm__strbuf_free(&clean);
        jm__strbuf_free(&cut);
    }
    return ok;
}

/* Shorten the names of sides, but not so far that they become equal. */
static bool write_titles(titles *to, const layout *view)
{
    const jm_diff *diff = view->diff;
    jm_by by = jm_report_options_get(diff->runs[0].report)->by;
    snprintf(to->names, sizeof to->names, "%s, %s%s%s", jm_by_text(by), view->scale.unit,
             diff->per == JM_PER_RUN ? "" : "/", diff->per == JM_PER_RUN ? "" : jm_per_text(diff->per));
    to->time = view->time_s == 1 ? "s" : view->time_s > 1e-4 ? "ms" : "us";
    bool ok = true;
    for (size_t columns = SIDE_COLUMNS; ok && columns <= SIDE_COLUMNS_MAX; columns++) {
        ok = shorten_sides(to, diff, columns);
        if (strcmp(to->sides[0], to->sides[1]) != 0) break;
    }
    return ok;
}

static void set_up_columns(jm__table *table, const titles *texts, bool several)
{
    *table = (jm__table){.title = texts->names, .narrowest_name = NARROWEST_NAME};
    if (several) table->columns[table->column_count++] = (jm__table_column){.title = "x"};
    for (int side = 0; side < 2; side++) {
        jm__table_column *column = &table->columns[table->column_count++];
        snprintf(column->title, sizeof column->title, "%s", texts->sides[side]);
    }
    table->columns[table->column_count++] = (jm__table_column){.title = "change"};
    jm__table_column *time = &table->columns[table->column_count++];
    *time = (jm__table_column){.sacrifice = JM_TABLE_LAST_RESORT + 1};
    snprintf(time->title, sizeof time->title, "%s", texts->time);
    table->columns[table->column_count++] =
        (jm__table_column){.title = "W", .sacrifice = JM_TABLE_LAST_RESORT + 2};
    table->columns[table->column_count++] = (jm__table_column){.left = true};
}

static jm_status fill_table(jm__table *table, titles *texts, layout *view, const jm__fold *fold, size_t limit,
                            jm_error *err)
{
    choice chosen = {0};
    bool ok = choose_rows(&chosen, view->diff, fold, limit) && write_titles(texts, view);
    for (size_t i = 0; ok && i < fold->parts.count; i++)
        view->several = view->several || (chosen.shown[i] && fold->parts.items[i].members > 1);
    set_up_columns(table, texts, view->several);
    jm_status status = ok ? fill_chosen(table, view, fold, &chosen, err) : jm__no_memory(err, "jm_diff_text");
    free(chosen.shown);
    return status;
}

static jm_status make_table(jm__table *table, titles *texts, layout *view, size_t limit, jm_error *err)
{
    jm__fold fold = {0};
    *table = (jm__table){0};
    double time_s = fmax(view->diff->total.a_s, view->diff->total.b_s);
    view->scale = jm__energy_scale_for(fmax(view->diff->total.a_j, view->diff->total.b_j));
    view->time_s = !(time_s < 1) ? 1 : time_s >= 1e-3 ? 1e-3 : 1e-6;
    jm_status status = fold_rows(&fold, view->diff, err);
    if (status == JM_OK) status = fill_table(table, texts, view, &fold, limit, err);
    jm__fold_free(&fold);
    return status;
}

jm_status jm_diff_text(const jm_diff *diff, int width, size_t limit, char **out, jm_error *err)
{
    size_t columns = width > 0 ? (size_t)width : 0;
    layout view = {.diff = diff, .whole_names = columns == 0};
    jm__table table;
    titles texts;
    jm__strbuf text = {0};
    jm_status status = make_table(&table, &texts, &view, limit, err);
    if (status == JM_OK) {
        jm__table_print(&text, &table, columns);
        jm__strbuf_add(&text, "\n");
        diff_notes(&text, diff, view.some_runs, columns);
    }
    jm__table_free(&table);
    return jm__hand_over(out, &text, status, "jm_diff_text", err);
}

/* Add a name so that Markdown shows it literally. */
static void add_name(jm__strbuf *out, const char *name)
{
    jm__strbuf_add(out, "`");
    for (; *name != '\0'; name++) {
        if (*name == '|') jm__strbuf_add(out, "\\");
        jm__strbuf_add_bytes(out, *name == '`' ? "'" : name, 1);
    }
    jm__strbuf_add(out, "`");
}

static void add_markdown_line(jm__strbuf *out, const jm__table_line *line, size_t columns, bool is_row)
{
    jm__strbuf_add(out, "| ");
    if (is_row)
        add_name(out, line->name);
    else
        jm__strbuf_add(out, line->name);
    jm__strbuf_format(out, "%s |", line->suffix);
    for (size_t c = 0; c < columns; c++)
        jm__strbuf_format(out, " %s |", line->cells[c]);
    jm__strbuf_add(out, "\n");
}

static void add_markdown_table(jm__strbuf *out, const jm__table *table, const titles *texts,
                               const layout *view)
{
    jm__strbuf_format(out, "| %s |%s ", texts->names, view->several ? " x |" : "");
    add_name(out, texts->sides[0]);
    jm__strbuf_add(out, " | ");
    add_name(out, texts->sides[1]);
    jm__strbuf_format(out, " | change | %s | W | |\n|---|%s---:|---:|---:|---:|---:|---|\n", texts->time,
                      view->several ? "---:|" : "");
    for (size_t i = 0; i < table->lines.count; i++) /* the total and the counts are not names of rows */
        add_markdown_line(out, &table->lines.items[i], table->column_count,
                          i > 0 && table->lines.items[i].cells[view->several][0] != '\0');
    jm__strbuf_add(out, "\n");
}

jm_status jm_diff_markdown(const jm_diff *diff, size_t limit, char **out, jm_error *err)
{
    layout view = {.diff = diff, .whole_paths = true, .whole_names = true};
    jm__table table;
    titles texts;
    jm__strbuf text = {0};
    jm_status status = make_table(&table, &texts, &view, limit, err);
    if (status == JM_OK) {
        add_markdown_table(&text, &table, &texts, &view);
        diff_notes(&text, diff, view.some_runs, 0);
    }
    jm__table_free(&table);
    return jm__hand_over(out, &text, status, "jm_diff_text", err);
}

/* ---- JSON: all rows, every figure in full, null where there is none */

static json_t *row_object(const jm_diff_row *row, bool is_total)
{
    const struct {
        const char *key;
        double value;
    } figures[] = {{"a_j", row->a_j},
                   {"a_low_j", row->a_low_j},
                   {"a_high_j", row->a_high_j},
                   {"b_j", row->b_j},
                   {"b_low_j", row->b_low_j},
                   {"b_high_j", row->b_high_j},
                   {"a_deviation_j", row->a_deviation_j},
                   {"b_deviation_j", row->b_deviation_j},
                   {"change", row->change},
                   {"change_low", row->change_low},
                   {"change_high", row->change_high},
                   {"a_s", row->a_s},
                   {"b_s", row->b_s}};
    json_t *object = json_object();
    bool ok = object != NULL;
    if (!is_total)
        ok = json_object_set_new(object, "path", jm__json_text(row->path)) == 0 &&
             json_object_set_new(object, "kind", jm__json_text(row->kind)) == 0;
    for (size_t i = 0; ok && i < sizeof figures / sizeof *figures; i++)
        ok = json_object_set_new(object, figures[i].key, jm__json_real(figures[i].value)) == 0;
    ok = ok && json_object_set_new(object, "a_runs", json_integer((json_int_t)row->a_runs)) == 0 &&
         json_object_set_new(object, "b_runs", json_integer((json_int_t)row->b_runs)) == 0;
    ok = ok && json_object_set_new(object, "verdict", jm__json_text(jm_change_text(row->verdict))) == 0;
    if (ok) return object;
    json_decref(object);
    return NULL;
}

static json_t *run_object(const void *runs, size_t i)
{
    const jm__diff_run *run = &((const jm__diff_run *)runs)[i];
    const jm_report_quality *quality = jm_report_quality_get(run->report);
    return json_pack("{so sI so so so so so}", "name", jm__json_text(run->name), "units",
                     (json_int_t)run->units, "clock_mhz", jm__json_real(quality->clock_mhz), "temperature_c",
                     jm__json_real(quality->temperature_c), "throttled_share",
                     jm__json_real(quality->throttled_share), "verdict", jm__json_text(quality->verdict),
                     "verdict_reason", jm__json_text(quality->verdict_reason));
}

/* The conditions and the worst verdict of a side; with one run those of the run. */
static json_t *side_object(const jm_diff *diff, int side)
{
    diff_conditions conditions = diff_conditions_of(diff, side);
    const jm__diff_run *worst = diff_worst_run(diff, side);
    const jm_report_quality *quality = jm_report_quality_get(worst->report);
    json_int_t units = 0;
    for (size_t r = 0; r < jm__diff_run_count(diff); r++)
        units += diff->runs[r].side == side ? diff->runs[r].units : 0;
    return json_pack(
        "{so sI so so so so so so}", "name", jm__json_text(diff->names[side]), "units", units, "clock_mhz",
        jm__json_real(conditions.clock_mhz), "temperature_c", jm__json_real(conditions.temperature_c),
        "throttled_share", jm__json_real(conditions.throttled_share), "verdict",
        jm__json_text(quality->verdict), "verdict_reason", jm__json_text(quality->verdict_reason), "runs",
        jm__json_array(diff->counts[side], run_object, diff->runs + (side == 0 ? 0 : diff->counts[0])));
}

static json_t *row_at_place(const void *diff, size_t i)
{
    return row_object(&((const jm_diff *)diff)->rows.items[i], false);
}

static json_t *diff_object(const jm_diff *diff)
{
    jm_by by = jm_report_options_get(diff->runs[0].report)->by;
    return json_pack(
        "{ss ss ss sb so so ss sf so so}", "version", jm_version(), "by", jm_by_text(by), "per",
        jm_per_text(diff->per), "simulated", (int)diff_is_simulated(diff), "a", side_object(diff, 0), "b",
        side_object(diff, 1), "gpu", jm_sameness_text(diff->gains.sameness), "gain_u", diff->gain_u, "total",
        row_object(&diff->total, true), "rows", jm__json_array(diff->rows.count, row_at_place, diff));
}

jm_status jm_diff_json(const jm_diff *diff, char **out, jm_error *err)
{
    json_t *root = diff_object(diff);
    jm__strbuf text = {0};
    bool ok = jm__json_add(&text, root, 0);
    json_decref(root);
    jm__strbuf_add(&text, "\n");
    return jm__hand_over(out, &text, ok ? JM_OK : jm__no_memory(err, "jm_diff_json"), "jm_diff_json", err);
}
