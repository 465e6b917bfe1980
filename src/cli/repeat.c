/* Mean and spread of several runs, without their warm-up; outliers and drift by name. */
#include "cli/repeat.h"

#include "cli/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is told of each run: name, unit, key in JSON. */
#define FIGURES(X)                                                                                           \
    X(ENERGY, "energy", "J", "energy_j")                                                                     \
    X(TIME, "time", "s", "time_s")                                                                           \
    X(POWER, "power", "W", "power_w")

enum {
#define X(name, text, unit, key) name,
    FIGURES(X)
#undef X
        FIGURE_COUNT
};

static const struct {
    const char *text, *unit, *key;
} figures[FIGURE_COUNT] = {
#define X(name, text, unit, key) {text, unit, key},
    FIGURES(X)
#undef X
};

typedef struct repeats {
    const cli_stat_run *runs;
    size_t count;  /* all of them */
    size_t wanted; /* so many were to be */
    const char *why_fewer;
    size_t warm_up;               /* so many of the first are in no figure */
    double *values[FIGURE_COUNT]; /* [count] */
    jm_repeats of[FIGURE_COUNT];  /* count 0: energy is not known of all */
    bool *outlier;                /* [count] */
} repeats;

static double value_of(const cli_stat_run *run, int figure)
{
    const jm_report_totals *totals = &run->totals;
    if (figure == TIME) return run->duration_s;
    return figure == ENERGY ? totals->total_energy_j : totals->total_energy_j / totals->duration_s;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool is_known(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static jm_status find(repeats *r, jm_error *err)
{
    r->outlier = calloc(r->count, sizeof *r->outlier);
    for (int f = 0; f < FIGURE_COUNT; f++) {
        r->values[f] = calloc(r->count, sizeof *r->values[f]);
        if (r->values[f] == NULL || r->outlier == NULL) {
            *err = (jm_error){.status = JM_NO_MEMORY, .text = "out of memory"};
            return JM_NO_MEMORY;
        }
        for (size_t i = 0; i < r->count; i++)
            r->values[f][i] = value_of(&r->runs[i], f);
    }
    bool known = is_known(r->values[ENERGY], r->count);
    r->warm_up = jm_repeats_warm_up(r->values[TIME], r->count);
    if (known) r->warm_up = larger(r->warm_up, jm_repeats_warm_up(r->values[ENERGY], r->count));
    size_t steady = r->count - r->warm_up, found;
    jm_status status = JM_OK;
    for (int f = 0; status == JM_OK && f < FIGURE_COUNT; f++)
        if (known || f == TIME) status = jm_repeats_of(r->values[f] + r->warm_up, steady, &r->of[f], err);
    if (status == JM_OK)
        status = jm_repeats_outliers(r->values[known ? ENERGY : TIME] + r->warm_up, steady,
                                     r->outlier + r->warm_up, &found, err);
    return status;
}

static void forget(repeats *r)
{
    for (int f = 0; f < FIGURE_COUNT; f++)
        free(r->values[f]);
    free(r->outlier);
}

/* ---- text ---- */

static double percent(double part, double whole)
{
    return 100 * part / whole;
}

/* As many decimals as make a difference beside the spread. */
static int decimals_beside(double spread)
{
    int decimals = spread > 0 ? 1 - (int)floor(log10(spread)) : 3;
    return decimals < 0 ? 0 : decimals > 6 ? 6 : decimals;
}

static void print_figure(const jm_repeats *of, const char *name, const char *unit)
{
    double half = (of->high - of->low) / 2;
    int decimals = decimals_beside(isfinite(half) ? half : of->mean / 1000);
    cli_words("  %-14s", name);
    fprintf(stderr, " %.*f", decimals, of->mean);
    if (isfinite(half)) fprintf(stderr, " \302\261%.*f", decimals, half);
    fprintf(stderr, " %s", unit);
    if (isfinite(half)) {
        fprintf(stderr, " (%.2g %%)", percent(half, of->mean));
        fprintf(stderr, ", standard deviation %.2g %%", percent(of->deviation, of->mean));
    }
    fprintf(stderr, ", median %.*f, %.*f to %.*f\n", decimals, of->median, decimals, of->least, decimals,
            of->most);
}

static void print_head(const repeats *r)
{
    fprintf(stderr, "%zu run%s", r->count, r->count == 1 ? "" : "s");
    if (r->count < r->wanted)
        fprintf(stderr, " of %zu, the next one %s and is in no figure", r->wanted, r->why_fewer);
    if (r->runs[0].totals.simulated) fputs(" (simulated GPU)", stderr);
    if (r->warm_up == 1) fputs("; the first is not like those after it, a warm-up, and in no figure", stderr);
    if (r->warm_up > 1)
        fprintf(stderr, "; the first %zu are not like those after them, a warm-up, and in no figure",
                r->warm_up);
    fputc('\n', stderr);
}

/* What runs are judged by: their energy, or their time where that is not known of all. */
static int judged_by(const repeats *r)
{
    return r->of[ENERGY].count > 0 ? ENERGY : TIME;
}

static void print_outliers(const repeats *r)
{
    int by = judged_by(r);
    double median = r->of[by].median;
    for (size_t i = r->warm_up; i < r->count; i++)
        if (r->outlier[i])
            fprintf(
                stderr,
                "  run %zu is an outlier, in the figures all the same: %.4g %s, %+.1f %% off the median\n",
                i + 1, r->values[by][i], figures[by].unit, percent(r->values[by][i] - median, median));
}

static bool drifts(const jm_repeats *of)
{
    return of->slope_low > 0 || of->slope_high < 0;
}

/* Runs are to be alike: what changes from one to the next is an order effect, mostly of warmth. */
static void print_drift(const repeats *r)
{
    int by = judged_by(r);
    const jm_repeats *of = &r->of[by];
    double first_c = r->runs[r->warm_up].temperature_c, last_c = r->runs[r->count - 1].temperature_c;
    if (!drifts(of)) return;
    fprintf(stderr, "  %s %s by %.2g \302\261%.2g %% a run", figures[by].text,
            of->slope > 0 ? "rises" : "falls", percent(fabs(of->slope), of->mean),
            percent((of->slope_high - of->slope_low) / 2, of->mean));
    if (isfinite(first_c) && isfinite(last_c))
        fprintf(stderr, ", the GPU's temperature from %.0f to %.0f \302\260C", first_c, last_c);
    fputs(": runs are not alike, and the interval of the mean does not hold that\n", stderr);
}

/* A line a board, where there are several: those of the total are in one order in all runs. */
static jm_status print_boards(const repeats *r, jm_error *err)
{
    const cli_stat_run *first = &r->runs[0];
    size_t steady = r->count - r->warm_up;
    double *energy_j = calloc(steady, sizeof *energy_j);
    jm_status status = JM_OK;
    for (size_t i = 0;
         energy_j != NULL && status == JM_OK && first->board_count > 1 && i < first->board_count; i++) {
        jm_repeats of;
        for (size_t k = 0; k < steady; k++) {
            const cli_stat_run *run = &r->runs[r->warm_up + k];
            bool same = i < run->board_count && strcmp(run->boards[i].path, first->boards[i].path) == 0;
            energy_j[k] = same ? run->boards[i].energy_j : NAN;
        }
        if (!is_known(energy_j, steady)) continue;
        status = jm_repeats_of(energy_j, steady, &of, err);
        if (status == JM_OK) print_figure(&of, first->boards[i].name, "J");
    }
    free(energy_j);
    return status;
}

static void print_unknown(const repeats *r)
{
    size_t unknown = 0;
    for (size_t i = r->warm_up; i < r->count; i++)
        unknown += isfinite(r->values[ENERGY][i]) ? 0 : 1;
    if (unknown == r->count - r->warm_up)
        fputs("  energy         not known\n", stderr);
    else if (r->of[ENERGY].count == 0)
        fprintf(stderr, "  energy         not known of %zu of the runs\n", unknown);
}

static jm_status print_text(const repeats *r, jm_error *err)
{
    print_head(r);
    for (int f = 0; f < FIGURE_COUNT; f++)
        if (r->of[f].count > 0) print_figure(&r->of[f], figures[f].text, figures[f].unit);
    print_unknown(r);
    jm_status status = r->of[ENERGY].count > 0 ? print_boards(r, err) : JM_OK;
    print_outliers(r);
    print_drift(r);
    fputs("  \302\261 is half of the 95 % interval of the mean, by the spread of the runs\n", stderr);
    return status;
}

/* ---- JSON ---- */

static json_t *figure_json(const jm_repeats *of)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "mean", cli_json_number(of->mean),
                     "low", cli_json_number(of->low), "high", cli_json_number(of->high), "deviation",
                     cli_json_number(of->deviation), "median", cli_json_number(of->median), "least",
                     cli_json_number(of->least), "most", cli_json_number(of->most), "slope",
                     cli_json_number(of->slope), "slope_low", cli_json_number(of->slope_low), "slope_high",
                     cli_json_number(of->slope_high));
}

static json_t *numbers_of_outliers(const repeats *r)
{
    json_t *numbers = json_array();
    for (size_t i = 0; i < r->count; i++)
        if (r->outlier[i]) json_array_append_new(numbers, json_integer((json_int_t)i + 1));
    return numbers;
}

static int print_json(const cli_args *args, const repeats *r)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < r->count; i++)
        json_array_append_new(runs, cli_stat_run_json(&r->runs[i]));
    json_t *all = json_pack("{s:I, s:I, s:o}", "wanted", (json_int_t)r->wanted, "warm_up",
                            (json_int_t)r->warm_up, "outliers", numbers_of_outliers(r));
    for (int f = 0; all != NULL && f < FIGURE_COUNT; f++)
        json_object_set_new(all, figures[f].key, r->of[f].count > 0 ? figure_json(&r->of[f]) : json_null());
    if (all != NULL) json_object_set(all, "runs", runs);
    json_decref(runs);
    return cli_json_write(args, all);
}

int cli_repeat_print(const cli_args *args, const cli_stat_run *runs, size_t count, size_t wanted,
                     const char *why_fewer)
{
    repeats r = {.runs = runs, .count = count, .wanted = wanted, .why_fewer = why_fewer};
    jm_error err = {0};
    int code = 0;
    jm_status status = find(&r, &err);
    bool json = cli_has(args, "--json");
    if (status == JM_OK && json) code = print_json(args, &r);
    if (status == JM_OK && !json) status = print_text(&r, &err);
    if (status != JM_OK) code = cli_fail(args, &err);
    forget(&r);
    return code;
}
