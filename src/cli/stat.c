/* `joulemap stat`: runs a command once or several times and prints the energy it took. */
#include "cli/child.h"
#include "cli/recorder.h"
#include "cli/verb.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Energy of one board in one run. The texts are owned. */
typedef struct stat_board {
    char *name; /* for display; with its index if the run had several of that name: "NVIDIA H200 1" */
    char *kind, *path, *boards;
    char *plain_name; /* the name in the report */
    double energy_j, low_j, high_j;
} stat_board;

typedef struct stat_note {
    char *text;
    bool essential;
} stat_note;

/* The results of one run. They are small: thousands of runs are kept until the last one ends. */
typedef struct stat_run {
    double duration_s;
    int exit_code;
    jm_report_totals totals; /* its text points to `source` */
    char *source;            /* source of the energy; "": unknown */
    double temperature_c;    /* NAN: not read */
    stat_board *boards;
    size_t board_count;
    stat_note *notes;
    size_t note_count;
} stat_run;

/* ---- the result of one run: a line, a line per board, and the essential notes */

/* Whether a row is a board. Other rows (idle time, unresolved energy) are shares of boards. */
static bool is_board(const jm_row *row)
{
    return row->depth == 0 && (strcmp(row->kind, "gpu") == 0 || strcmp(row->kind, "cpu") == 0);
}

static char *display_name(const jm_report *report, const jm_row *board)
{
    size_t namesakes = 0;
    char *name = NULL;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        namesakes += is_board(row) && strcmp(row->name, board->name) == 0;
    }
    if (asprintf(&name, namesakes > 1 ? "%s %s" : "%s", board->name, board->boards) < 0) return NULL;
    return name;
}

/* A copy; *ok becomes false if memory is out. */
static char *copy_text(const char *text, bool *ok)
{
    char *copy = strdup(text);
    *ok = *ok && copy != NULL;
    return copy;
}

static bool keep_rows(stat_run *run, const jm_report *report)
{
    size_t rows = jm_report_row_count(report);
    run->boards = calloc(rows + 1, sizeof *run->boards);
    bool ok = run->boards != NULL;
    for (size_t i = 0; ok && i < rows; i++) {
        const jm_row *row = jm_report_row(report, i);
        if (!is_board(row)) continue;
        stat_board *board = &run->boards[run->board_count++];
        *board = (stat_board){.name = display_name(report, row),
                              .kind = copy_text(row->kind, &ok),
                              .path = copy_text(row->path, &ok),
                              .boards = copy_text(row->boards, &ok),
                              .plain_name = copy_text(row->name, &ok),
                              .energy_j = row->energy_j,
                              .low_j = row->energy_low_j,
                              .high_j = row->energy_high_j};
        ok = ok && board->name != NULL;
    }
    return ok;
}

static bool keep_notes(stat_run *run, const jm_report *report)
{
    size_t count = jm_report_note_count(report);
    run->notes = calloc(count + 1, sizeof *run->notes);
    bool ok = run->notes != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        const char *note = jm_report_note(report, i);
        run->notes[run->note_count++] =
            (stat_note){copy_text(note, &ok), jm_report_note_is_essential(report, i)};
    }
    return ok;
}

static bool keep_report(stat_run *run, const jm_report *report)
{
    run->totals = *jm_report_totals_get(report);
    run->source = strdup(run->totals.total_source == NULL ? "" : run->totals.total_source);
    run->totals.total_source = run->source;
    run->temperature_c = jm_report_quality_get(report)->temperature_c;
    return run->source != NULL && keep_rows(run, report) && keep_notes(run, report);
}

static jm_status fill_run(stat_run *out, jm_recording *recording, const cli_child *child, jm_error *err)
{
    jm_report *report;
    *out = (stat_run){.duration_s = (double)(child->end_ns - child->start_ns) / 1e9,
                      .exit_code = child->exit_code};
    jm_status status = cli_energy_report(&report, recording, child->start_ns, child->end_ns, err);
    if (status != JM_OK) return status;
    if (!keep_report(out, report)) status = cli_set_error(err, JM_NO_MEMORY, "", "out of memory");
    jm_report_free(report);
    return status;
}

static void free_run(stat_run *run)
{
    for (size_t i = 0; i < run->board_count; i++) {
        stat_board *board = &run->boards[i];
        free(board->name);
        free(board->kind);
        free(board->path);
        free(board->boards);
        free(board->plain_name);
    }
    for (size_t i = 0; i < run->note_count; i++)
        free(run->notes[i].text);
    free(run->boards);
    free(run->notes);
    free(run->source);
    *run = (stat_run){0};
}

static void print_run(const stat_run *run)
{
    fprintf(stderr, "%.2f s, ", run->duration_s);
    cli_energy_print_total(stderr, &run->totals, run->duration_s);
    fputc('\n', stderr);
    for (size_t i = 0; i < run->board_count; i++) {
        const stat_board *board = &run->boards[i];
        cli_message_part("  %-24s ", board->name);
        cli_energy_print(stderr, board->energy_j, board->low_j, board->high_j, run->totals.duration_s);
        fputc('\n', stderr);
    }
    for (size_t i = 0; i < run->note_count; i++) /* `joulemap report` shows all of them */
        if (run->notes[i].essential) {
            cli_message_part("  note: %s", run->notes[i].text);
            fputc('\n', stderr);
        }
}

static json_t *board_json(const stat_board *board, double duration_s)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "name", board->plain_name, "kind",
                     board->kind, "path", board->path, "boards", board->boards, "energy_j",
                     cli_json_number(board->energy_j), "energy_low_j", cli_json_number(board->low_j),
                     "energy_high_j", cli_json_number(board->high_j), "power_w",
                     cli_json_number(board->energy_j / duration_s));
}

static json_t *run_json(const stat_run *run)
{
    const jm_report_totals *totals = &run->totals;
    json_t *boards = json_array(), *notes = json_array();
    for (size_t i = 0; i < run->board_count; i++)
        json_array_append_new(boards, board_json(&run->boards[i], totals->duration_s));
    for (size_t i = 0; i < run->note_count; i++)
        json_array_append_new(notes, json_string(run->notes[i].text));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:i, s:b, s:o, s:o, s:o}", "duration_s",
                     cli_json_number(run->duration_s), "energy_j", cli_json_number(totals->total_energy_j),
                     "energy_low_j", cli_json_number(totals->total_low_j), "energy_high_j",
                     cli_json_number(totals->total_high_j), "power_w",
                     cli_json_number(totals->total_energy_j / totals->duration_s), "source", run->source,
                     "exit_code", run->exit_code, "simulated", totals->simulated, "temperature_c",
                     cli_json_number(run->temperature_c), "boards", boards, "notes", notes);
}

/* ---- mean and spread of several runs without their warm-up, outliers and drift */

/* The figures of a run. */
enum { ENERGY, TIME, POWER, FIGURE_COUNT };

static const struct {
    const char *text, *unit, *key; /* the key in JSON */
} figures[FIGURE_COUNT] = {{"energy", "J", "energy_j"}, {"time", "s", "time_s"}, {"power", "W", "power_w"}};

typedef struct repeats {
    const stat_run *runs;
    size_t count;     /* runs that ended well */
    size_t requested; /* runs requested */
    const char *why_fewer;
    size_t warm_up;                 /* the first runs, which are in no figure */
    double *values[FIGURE_COUNT];   /* [count] */
    jm_repeats stats[FIGURE_COUNT]; /* .count is 0 if the energy of a run is unknown */
    bool *outlier;                  /* [count] */
} repeats;

static double value_of(const stat_run *run, int figure)
{
    const jm_report_totals *totals = &run->totals;
    if (figure == TIME) return run->duration_s;
    return figure == ENERGY ? totals->total_energy_j : totals->total_energy_j / totals->duration_s;
}

static bool is_known(const double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static jm_status find_stats(repeats *r, jm_error *err)
{
    r->outlier = calloc(r->count, sizeof *r->outlier);
    for (int f = 0; f < FIGURE_COUNT; f++) {
        r->values[f] = calloc(r->count, sizeof *r->values[f]);
        if (r->values[f] == NULL || r->outlier == NULL)
            return cli_set_error(err, JM_NO_MEMORY, "", "out of memory");
        for (size_t i = 0; i < r->count; i++)
            r->values[f][i] = value_of(&r->runs[i], f);
    }
    bool known = is_known(r->values[ENERGY], r->count);
    r->warm_up = jm_repeats_warm_up(r->values[TIME], r->count);
    size_t by_energy = known ? jm_repeats_warm_up(r->values[ENERGY], r->count) : 0;
    if (by_energy > r->warm_up) r->warm_up = by_energy;
    size_t steady = r->count - r->warm_up, found;
    jm_status status = JM_OK;
    for (int f = 0; status == JM_OK && f < FIGURE_COUNT; f++)
        if (known || f == TIME) status = jm_repeats_of(r->values[f] + r->warm_up, steady, &r->stats[f], err);
    if (status == JM_OK)
        status = jm_repeats_outliers(r->values[known ? ENERGY : TIME] + r->warm_up, steady,
                                     r->outlier + r->warm_up, &found, err);
    return status;
}

/* ---- several runs as text */

static double percent(double part, double whole)
{
    return 100 * part / whole;
}

/* As many decimals as show two digits of the spread. */
static int decimals_beside(double spread)
{
    int decimals = spread > 0 ? 1 - (int)floor(log10(spread)) : 3;
    return decimals < 0 ? 0 : decimals > 6 ? 6 : decimals;
}

static void print_figure(const jm_repeats *stats, const char *name, const char *unit)
{
    double half = (stats->high - stats->low) / 2;
    int decimals = decimals_beside(isfinite(half) ? half : stats->mean / 1000);
    cli_message_part("  %-14s", name);
    fprintf(stderr, " %.*f", decimals, stats->mean);
    if (isfinite(half)) fprintf(stderr, " \302\261%.*f", decimals, half);
    fprintf(stderr, " %s", unit);
    if (isfinite(half)) {
        fprintf(stderr, " (%.2g %%)", percent(half, stats->mean));
        fprintf(stderr, ", standard deviation %.2g %%", percent(stats->deviation, stats->mean));
    }
    fprintf(stderr, ", median %.*f, %.*f to %.*f\n", decimals, stats->median, decimals, stats->least,
            decimals, stats->most);
}

static void print_head(const repeats *r)
{
    fprintf(stderr, "%zu run%s", r->count, r->count == 1 ? "" : "s");
    if (r->count < r->requested)
        fprintf(stderr, " of %zu, the next one %s and is in no figure", r->requested, r->why_fewer);
    if (r->runs[0].totals.simulated) fputs(" (simulated GPU)", stderr);
    if (r->warm_up == 1) fputs("; the first is not like those after it, a warm-up, and in no figure", stderr);
    if (r->warm_up > 1)
        fprintf(stderr, "; the first %zu are not like those after them, a warm-up, and in no figure",
                r->warm_up);
    fputc('\n', stderr);
}

/* The figure that outliers and drift are judged by: energy, or time if the energy of a run is unknown. */
static int judged_by(const repeats *r)
{
    return r->stats[ENERGY].count > 0 ? ENERGY : TIME;
}

static void print_outliers(const repeats *r)
{
    int by = judged_by(r);
    double median = r->stats[by].median;
    for (size_t i = r->warm_up; i < r->count; i++)
        if (r->outlier[i])
            fprintf(
                stderr,
                "  run %zu is an outlier, in the figures all the same: %.4g %s, %+.1f %% off the median\n",
                i + 1, r->values[by][i], figures[by].unit, percent(r->values[by][i] - median, median));
}

/* Runs should be equal. A trend from run to run is an order effect, mostly of the GPU's warming up. */
static void print_drift(const repeats *r)
{
    int by = judged_by(r);
    const jm_repeats *stats = &r->stats[by];
    double first_c = r->runs[r->warm_up].temperature_c, last_c = r->runs[r->count - 1].temperature_c;
    if (!(stats->slope_low > 0 || stats->slope_high < 0)) return;
    fprintf(stderr, "  %s %s by %.2g \302\261%.2g %% a run", figures[by].text,
            stats->slope > 0 ? "rises" : "falls", percent(fabs(stats->slope), stats->mean),
            percent((stats->slope_high - stats->slope_low) / 2, stats->mean));
    if (isfinite(first_c) && isfinite(last_c))
        fprintf(stderr, ", the GPU's temperature from %.0f to %.0f \302\260C", first_c, last_c);
    fputs(": the interval of the mean does not include this drift\n", stderr);
}

/* A line per board if there are several. Boards are matched by their position and path in the first run. */
static jm_status print_boards(const repeats *r, jm_error *err)
{
    const stat_run *first = &r->runs[0];
    size_t steady = r->count - r->warm_up;
    double *energy_j = calloc(steady, sizeof *energy_j);
    jm_status status = JM_OK;
    for (size_t i = 0;
         energy_j != NULL && status == JM_OK && first->board_count > 1 && i < first->board_count; i++) {
        jm_repeats stats;
        for (size_t k = 0; k < steady; k++) {
            const stat_run *run = &r->runs[r->warm_up + k];
            bool same = i < run->board_count && strcmp(run->boards[i].path, first->boards[i].path) == 0;
            energy_j[k] = same ? run->boards[i].energy_j : NAN;
        }
        if (!is_known(energy_j, steady)) continue;
        status = jm_repeats_of(energy_j, steady, &stats, err);
        if (status == JM_OK) print_figure(&stats, first->boards[i].name, "J");
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
    else if (r->stats[ENERGY].count == 0)
        fprintf(stderr, "  energy         not known of %zu of the runs\n", unknown);
}

static jm_status print_text(const repeats *r, jm_error *err)
{
    print_head(r);
    for (int f = 0; f < FIGURE_COUNT; f++)
        if (r->stats[f].count > 0) print_figure(&r->stats[f], figures[f].text, figures[f].unit);
    print_unknown(r);
    jm_status status = r->stats[ENERGY].count > 0 ? print_boards(r, err) : JM_OK;
    print_outliers(r);
    print_drift(r);
    fputs("  \302\261 is half of the 95 % interval of the mean, by the spread of the runs\n", stderr);
    return status;
}

/* ---- several runs as JSON */

static json_t *figure_json(const jm_repeats *stats)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "mean",
                     cli_json_number(stats->mean), "low", cli_json_number(stats->low), "high",
                     cli_json_number(stats->high), "deviation", cli_json_number(stats->deviation), "median",
                     cli_json_number(stats->median), "least", cli_json_number(stats->least), "most",
                     cli_json_number(stats->most), "slope", cli_json_number(stats->slope), "slope_low",
                     cli_json_number(stats->slope_low), "slope_high", cli_json_number(stats->slope_high));
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
        json_array_append_new(runs, run_json(&r->runs[i]));
    json_t *all = json_pack("{s:I, s:I, s:o}", "wanted", (json_int_t)r->requested, "warm_up",
                            (json_int_t)r->warm_up, "outliers", numbers_of_outliers(r));
    for (int f = 0; all != NULL && f < FIGURE_COUNT; f++)
        json_object_set_new(all, figures[f].key,
                            r->stats[f].count > 0 ? figure_json(&r->stats[f]) : json_null());
    if (all != NULL) json_object_set(all, "runs", runs);
    json_decref(runs);
    return cli_json_write(args, all);
}

static int print_repeats(const cli_args *args, const stat_run *runs, size_t count, size_t requested,
                         const char *why_fewer)
{
    repeats r = {.runs = runs, .count = count, .requested = requested, .why_fewer = why_fewer};
    jm_error err = {0};
    int code = 0;
    jm_status status = find_stats(&r, &err);
    bool json = cli_has(args, "--json");
    if (status == JM_OK && json) code = print_json(args, &r);
    if (status == JM_OK && !json) status = print_text(&r, &err);
    if (status != JM_OK) code = cli_fail(args, &err);
    for (int f = 0; f < FIGURE_COUNT; f++)
        free(r.values[f]);
    free(r.outlier);
    return code;
}

/* ---- --interval: a line every S seconds, with mean power and energy since the line before */

/* How long a line waits for the newest readings, which are some ms late; a lost board never answers. */
enum { LINE_TIMEOUT_MS = 1000 };

static jm_status flush_and_find_energy(jm_sum *energy, jm_run *run, int64_t from_ns, int64_t to_ns,
                                       jm_error *err)
{
    jm_recording *recording;
    jm_status status = jm_run_flush(run, LINE_TIMEOUT_MS, err);
    if (status == JM_OK) status = jm_run_recording(run, &recording, err);
    return status == JM_OK ? jm_recording_energy(recording, 0, from_ns, to_ns, energy, err) : status;
}

static void print_interval(const cli_args *args, double until_s, double length_s, const jm_sum *energy)
{
    if (cli_has(args, "--json")) {
        cli_json_write_line(
            args, json_pack("{s:f, s:f, s:o, s:o, s:o, s:o}", "until_s", until_s, "interval_s", length_s,
                            "energy_j", cli_json_number(energy->energy_j), "energy_low_j",
                            cli_json_number(energy->low_j), "energy_high_j", cli_json_number(energy->high_j),
                            "power_w", cli_json_number(energy->energy_j / length_s)));
        return;
    }
    fprintf(stderr, "%10.2f s  ", until_s);
    cli_energy_print(stderr, energy->energy_j, energy->low_j, energy->high_j, length_s);
    fputc('\n', stderr);
}

static void wait_in_intervals(const cli_args *args, jm_run *run, cli_child *child, double interval_s)
{
    int64_t from_ns = child->start_ns;
    for (int64_t line = 1;; line++) {
        int64_t to_ns = child->start_ns + llround((double)line * interval_s * 1e9);
        if (cli_child_wait_until(child, to_ns)) return;
        jm_sum energy = {NAN, NAN, NAN};
        jm_error err;
        if (flush_and_find_energy(&energy, run, from_ns, to_ns, &err) != JM_OK)
            cli_message(args, "%s", err.text);
        print_interval(args, (double)(to_ns - child->start_ns) * 1e-9, (double)(to_ns - from_ns) * 1e-9,
                       &energy);
        from_ns = to_ns;
    }
}

/* ---- running the command */

enum { MOST_RUNS = 10000 };

/* Sensors update about ten times a second: shorter intervals have no reading. */
#define LEAST_INTERVAL_S 0.1

#define FLUSH_TIMEOUT_MS 5000 /* a recorder commits twice a second: after 5 s it hangs */

static const cli_option options[] = {
    {"--repeat", 'r', "N", "run it N times and print mean and spread", NULL},
    {"--interval", 'i', "S",
     "while it runs, print the energy since the last line every S seconds (0.1 or more)", NULL},
    {"--json", 0, NULL, "print a JSON object on stdout", NULL},
    CLI_SIM_OPTION,
    {"--no-cpu", 0, NULL, "do not read the CPU's energy", NULL},
    {0},
};

/* The runs of the command while the boards are read. */
typedef struct session {
    const cli_args *args;
    jm_run *run;
    cli_child *children; /* [requested] */
    size_t requested;
    double interval_s; /* 0: no lines while it runs */
    size_t count;      /* runs that ended */
    bool start_failed; /* the run after them could not be started */
    int exit_code;     /* of the last run, or of the failure to start it */
} session;

/* Report it before the results, which may take a moment to add up. */
static void report_start_failure(session *s, jm_error *err)
{
    char text[sizeof err->text];
    snprintf(text, sizeof text, "%s", err->text);
    if (s->count > 0)
        snprintf(err->text, sizeof err->text, "run %zu of %zu: %.400s", s->count + 1, s->requested, text);
    cli_fail(s->args, err);
    s->exit_code = s->children[s->count].exit_code;
    s->start_failed = true;
}

/* Run the command until all runs are done or one fails. */
static void run_all(session *s)
{
    jm_error err;
    while (s->count < s->requested && s->exit_code == 0) {
        cli_child *child = &s->children[s->count];
        if (cli_child_start(child, cli_command(s->args), jm_run_environment(s->run), &err) != JM_OK) {
            report_start_failure(s, &err);
            return;
        }
        if (s->interval_s > 0)
            wait_in_intervals(s->args, s->run, child, s->interval_s);
        else
            cli_child_wait(child);
        s->exit_code = child->exit_code;
        s->count++;
    }
}

static int print_runs(const session *s, const stat_run *runs)
{
    size_t succeeded = s->count - (s->exit_code != 0 && !s->start_failed ? 1 : 0);
    if (s->requested > 1 && succeeded > 0)
        return print_repeats(s->args, runs, succeeded, s->requested,
                             s->start_failed ? "could not be started" : "failed");
    if (s->requested > 1)
        cli_message(s->args, "the first of %zu runs failed, so there is no other", s->requested);
    if (cli_has(s->args, "--json") && s->interval_s > 0)
        return cli_json_write_line(s->args, run_json(&runs[0]));
    if (cli_has(s->args, "--json")) return cli_json_write(s->args, run_json(&runs[0]));
    print_run(&runs[0]);
    return 0;
}

static int print_result(const session *s)
{
    jm_recording *recording;
    jm_error err;
    stat_run *runs = calloc(s->count, sizeof *runs);
    if (runs == NULL) return cli_error(s->args, JM_NO_MEMORY, "", "out of memory");
    jm_status status = jm_run_recording(s->run, &recording, &err);
    for (size_t i = 0; status == JM_OK && i < s->count; i++)
        status = fill_run(&runs[i], recording, &s->children[i], &err);
    int code = status == JM_OK ? print_runs(s, runs) : cli_fail(s->args, &err);
    for (size_t i = 0; i < s->count; i++)
        free_run(&runs[i]);
    free(runs);
    return code;
}

static int measure(session *s)
{
    jm_error err;
    run_all(s);
    if (s->count == 0) return s->exit_code;
    /* Another recorder must flush its newest readings; our own are complete after the stop. */
    jm_status status =
        jm_run_attached(s->run) ? jm_run_flush(s->run, FLUSH_TIMEOUT_MS, &err) : jm_run_stop(s->run, &err);
    cli_child_release(&s->children[s->count - 1]);
    int code = status == JM_OK ? print_result(s) : cli_fail(s->args, &err);
    return s->exit_code != 0 ? s->exit_code : code;
}

static int run_stat(const cli_args *args)
{
    jm_run_options run_options = {.size = sizeof run_options,
                                  .sim = cli_get(args, "--sim"),
                                  .no_cpu = cli_has(args, "--no-cpu"),
                                  .sampling_only = true};
    long long requested = 1;
    jm_error err;
    if (!cli_get_number(args, "--repeat", 1, MOST_RUNS, &requested)) return jm_status_exit_code(JM_USAGE);
    double interval_s = 0;
    if (!cli_get_real(args, "--interval", 0, 86400, &interval_s)) return jm_status_exit_code(JM_USAGE);
    if (interval_s > 0 && interval_s < LEAST_INTERVAL_S)
        return cli_usage_error(
            args, "option \"--interval\" cannot be \"%s\": sensors have no reading in less than %g s",
            cli_get(args, "--interval"), LEAST_INTERVAL_S);
    if (interval_s > 0 && requested > 1)
        return cli_usage_error(args, "--interval is for one run, so there is no place for --repeat");
    session s = {.args = args, .requested = (size_t)requested, .interval_s = interval_s};
    s.children = calloc(s.requested, sizeof *s.children);
    if (s.children == NULL) return cli_error(args, JM_NO_MEMORY, "", "out of memory");
    cli_child_prepare();
    int code = jm_run_start(&s.run, &run_options, &err) == JM_OK ? measure(&s) : cli_fail(args, &err);
    jm_run_free(s.run);
    free(s.children);
    return code;
}

const cli_verb cli_verb_stat = {
    .name = "stat",
    .usage = "[options] COMMAND [ARG...]",
    .summary = "run a command and say what energy it took",
    .description =
        "Runs COMMAND and prints time, energy with its 95 % interval, and mean power, then a line for each "
        "GPU and, if it can be read, the CPU. Nothing is written to disk. The exit code is COMMAND's.\n\n"
        "The line goes to stderr, as COMMAND's output may go to stdout; with --json an object goes to "
        "stdout.\n\n"
        "With --repeat N it runs N times and prints the mean of energy, time and power with its 95 % "
        "interval from the spread of the runs, standard deviation and median. First runs that differ from "
        "those after them (a warm-up) are left out; outliers are named, and so is a drift from run to run, "
        "as of a GPU that warms up. A run that fails is the last.\n\n"
        "With --interval S a line every S seconds shows the energy since the line before; with --json each "
        "is an object on a line of its own, and so is the last one, of the whole run.\n\n"
        "The interval of a single run is relative to the GPU's own sensor; docs/accuracy.md has the accuracy "
        "of the sensors themselves.\n\n"
        "  joulemap stat -- python train.py\n"
        "  joulemap stat -r 10 -- python train.py\n"
        "  joulemap stat -i 1 -- python serve.py",
    .options = options,
    .looks_at_gpus = true,
    .takes_command = true,
    .run = run_stat,
};
