/* `joulemap cap search`: finds the power cap that saves most, in a recorded sweep or under a command. */
#include "cap/command/caps.h"
#include "cli/recorder.h"
#include "cli/verb.h"

#include <joulemap/joulemap.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What counts as a step. */
typedef struct cap_steps {
    jm_span_kind kind; /* JM_SPAN_NONE: anything with the name */
    const char *name;  /* of spans, ranges or marks; NULL: any */
} cap_steps;

/* Complete steps within a time range: from the beginning of the first step to that of the last. */
typedef struct cap_window {
    int64_t from_ns, to_ns;
    size_t steps;
    double step_s, step_u_s; /* mean, and its standard uncertainty by their spread */
} cap_window;

/* With fewer steps, their spread does not give the uncertainty of the mean. */
enum { STEPS_MIN = 4 };

/* ---- a search while a command runs */

typedef struct cap_live {
    const cli_args *args;
    cli_recorder recorder;
    jm_cap_lease *lease; /* NULL: put back */
    jm_cap_search *search;
    cap_steps steps;
    jm_cap_plan_options plan;
    long long sweep;
    int board;
    double settle_s, window_s, wait_s;
    double set_w, set_mhz; /* last setting; NAN: none */
    cap_window *windows;   /* of the trials whose result was reported */
    jm_error failure;      /* why the search was interrupted; status JM_OK: it was not */
    bool stopped;          /* --stop ended the command */
} cap_live;

/* ---- steps within a time range: of one process, with their mean distance */

/* The smallest relative uncertainty of a step, also if the clock shows equal steps. */
static const double step_uncertainty_min = 1e-4;

typedef struct step_starts {
    int64_t *t_ns; /* [count], ascending */
    size_t count;
    int64_t pid; /* the first process with a step: ranks of a training are in lockstep */
} step_starts;

static void add_start(step_starts *all, int64_t pid, int64_t t_ns)
{
    if (all->count == 0) all->pid = pid;
    if (pid == all->pid) all->t_ns[all->count++] = t_ns;
}

/* A step inside another one is a part of it. Without spans, marks are steps. */
static void gather_starts(step_starts *all, const jm_timeline *timeline)
{
    for (size_t i = 0; i < jm_timeline_span_count(timeline); i++) {
        const jm_timeline_span *span = jm_timeline_span_get(timeline, i);
        if (span->parent == SIZE_MAX) add_start(all, span->pid, span->start_ns);
    }
    size_t marks = all->count == 0 ? jm_timeline_mark_count(timeline) : 0;
    for (size_t i = 0; i < marks; i++) {
        const jm_timeline_mark *mark = jm_timeline_mark_get(timeline, i);
        add_start(all, mark->pid, mark->t_ns);
    }
}

static void measure_steps(cap_window *out, const step_starts *all)
{
    double mean = 0, squares = 0;
    if (all->count < 2) return;
    out->from_ns = all->t_ns[0];
    out->to_ns = all->t_ns[all->count - 1];
    out->steps = all->count - 1;
    for (size_t i = 1; i < all->count; i++) {
        double length_s = (double)(all->t_ns[i] - all->t_ns[i - 1]) * 1e-9, deviation = length_s - mean;
        mean += deviation / (double)i;
        squares += deviation * (length_s - mean);
    }
    double steps = (double)out->steps;
    out->step_s = mean;
    out->step_u_s = steps > 1 ? sqrt(squares / (steps - 1) / steps) : mean;
    out->step_u_s = fmin(fmax(out->step_u_s, step_uncertainty_min * mean), mean);
}

static jm_status find_steps(cap_window *out, jm_recording *recording, const cap_steps *steps, int64_t from_ns,
                            int64_t to_ns, jm_error *err)
{
    jm_timeline *timeline;
    *out = (cap_window){.from_ns = from_ns, .to_ns = to_ns};
    jm_status status =
        jm_timeline_create_spans(&timeline, recording, steps->kind, steps->name, from_ns, to_ns, err);
    if (status != JM_OK) return status;
    size_t most = jm_timeline_span_count(timeline) + jm_timeline_mark_count(timeline);
    step_starts all = {.t_ns = calloc(most + 1, sizeof *all.t_ns)};
    if (all.t_ns != NULL) {
        gather_starts(&all, timeline);
        measure_steps(out, &all);
    } else {
        status = cli_set_error(err, JM_NO_MEMORY, "", "out of memory");
    }
    free(all.t_ns);
    jm_timeline_free(timeline);
    return status;
}

static jm_status make_probe(jm_cap_probe *out, jm_recording *recording, const cap_window *window,
                            int64_t board_id, jm_error *err)
{
    jm_sum sum;
    double seconds = (double)(window->to_ns - window->from_ns) * 1e-9;
    jm_status status = jm_recording_energy(recording, board_id, window->from_ns, window->to_ns, &sum, err);
    if (status != JM_OK) return status;
    if (!(sum.energy_j > 0))
        return cli_set_error(err, JM_NOT_FOUND, "", "no sensor reports the GPU's energy in the last %.1f s",
                             seconds);
    double power_w = sum.energy_j / seconds, half_w = (sum.high_j - sum.low_j) / 2 / seconds;
    *out = (jm_cap_probe){.time_s = window->step_s,
                          .power_w = power_w,
                          .time_u_s = window->step_u_s,
                          .power_u_w = fmin(fmax(half_w / 1.96, step_uncertainty_min * power_w), power_w)};
    return JM_OK;
}

/* ---- set, settle, measure, report; until the search, the command or --wait is over */

enum { FLUSH_TIMEOUT_MS = 5000, WINDOWS_MAX = 20, FIRST_STEPS = 3 };
static const int64_t poll_ns = 500000000; /* between two checks for the first steps */

typedef enum outcome { CONTINUE, ENDED, FAILED } outcome;

static int64_t time_after(double seconds)
{
    return jm_now_ns() + llround(seconds * 1e9);
}

static jm_status find_window(cap_live *live, int64_t from_ns, cap_window *window, jm_recording **recording)
{
    int64_t to_ns = jm_now_ns();
    jm_error *err = &live->failure;
    jm_status status = jm_run_flush(live->recorder.run, FLUSH_TIMEOUT_MS, err);
    if (status == JM_OK) status = jm_run_recording(live->recorder.run, recording, err);
    return status == JM_OK ? find_steps(window, *recording, &live->steps, from_ns, to_ns, err) : status;
}

/* ---- the first steps */

static outcome fail_no_steps(cap_live *live)
{
    static const char hint[] =
        "mark them: `with run.step():` of a joulemap.Session in Python, jm_span_begin(JM_SPAN_STEP, "
        "...) in C, or an NVTX range or mark and --span NAME; --wait S waits longer";
    if (live->steps.name != NULL)
        cli_set_error(&live->failure, JM_NOT_FOUND, hint,
                      "no span, range or mark \"%s\" appeared within %g s", live->steps.name, live->wait_s);
    else
        cli_set_error(&live->failure, JM_NOT_FOUND, hint, "the command marked no steps within %g s",
                      live->wait_s);
    return FAILED;
}

/* Batches of a data loader count as steps if the program marks none. */
static outcome find_step_kind(cap_live *live, int64_t from_ns, bool *found)
{
    static const jm_span_kind kinds[] = {JM_SPAN_STEP, JM_SPAN_BATCH};
    size_t tries = live->steps.name != NULL ? 1 : sizeof kinds / sizeof *kinds;
    *found = false;
    for (size_t i = 0; i < tries && !*found; i++) {
        cap_window window;
        jm_recording *recording;
        if (live->steps.name == NULL) live->steps.kind = kinds[i];
        if (find_window(live, from_ns, &window, &recording) != JM_OK) return FAILED;
        *found = window.steps >= FIRST_STEPS;
    }
    return CONTINUE;
}

static outcome wait_for_steps(cap_live *live)
{
    int64_t from_ns = live->recorder.child.start_ns, until_ns = time_after(live->wait_s);
    for (;;) {
        bool found;
        if (cli_child_wait_until(&live->recorder.child, jm_now_ns() + poll_ns)) return ENDED;
        outcome o = find_step_kind(live, from_ns, &found);
        if (o != CONTINUE || found) return o;
        if (jm_now_ns() >= until_ns) return fail_no_steps(live);
    }
}

/* ---- a trial */

static jm_status set_trial(cap_live *live, const jm_cap_trial *trial)
{
    double enforced_w;
    if (trial->clock_mhz != live->set_mhz) {
        jm_status status = jm_cap_lease_clock(live->lease, trial->clock_mhz, &live->failure);
        if (status != JM_OK) return status;
        live->set_mhz = trial->clock_mhz;
    }
    if (trial->cap_w == live->set_w) return JM_OK;
    jm_status status = jm_cap_lease_set(live->lease, trial->cap_w, &enforced_w, &live->failure);
    if (status == JM_OK) live->set_w = trial->cap_w;
    return status;
}

/* Repeats the window while it has too few steps. */
static outcome measure(cap_live *live, const jm_cap_trial *trial, cap_window *window, jm_cap_probe *probe)
{
    int64_t from_ns = jm_now_ns(), id;
    jm_recording *recording;
    for (int longer = 1; longer <= WINDOWS_MAX; longer++) {
        if (cli_child_wait_until(&live->recorder.child, from_ns + llround(longer * trial->window_s * 1e9)))
            return ENDED;
        if (find_window(live, from_ns, window, &recording) != JM_OK) return FAILED;
        if (window->steps < STEPS_MIN) continue;
        jm_status status = jm_recording_board_id(recording, live->board, &id, &live->failure);
        if (status == JM_OK) status = make_probe(probe, recording, window, id, &live->failure);
        return status == JM_OK ? CONTINUE : FAILED;
    }
    cli_set_error(&live->failure, JM_NOT_FOUND, "--window S measures longer",
                  "fewer than %d steps within %g s", STEPS_MIN, WINDOWS_MAX * trial->window_s);
    return FAILED;
}

/* The window of the trial whose result is reported next. */
static bool store_window(cap_live *live, const cap_window *window)
{
    size_t count = jm_cap_search_told_count(live->search);
    cap_window *grown = realloc(live->windows, (count + 1) * sizeof *grown);
    if (grown == NULL) return false;
    live->windows = grown;
    grown[count] = *window;
    return true;
}

static void print_trial(const cap_live *live, const jm_cap_trial *trial, const jm_cap_probe *probe)
{
    char clock[32] = "";
    if (trial->clock_mhz > 0) snprintf(clock, sizeof clock, ", %g MHz", trial->clock_mhz);
    cli_message(live->args, "%zu %s: %g W%s: %.4g ms a step, %.4g W", trial->number,
                jm_cap_stage_text(trial->stage), trial->cap_w, clock, 1e3 * probe->time_s, probe->power_w);
}

static outcome run_trial(cap_live *live, const jm_cap_trial *trial)
{
    cap_window window;
    jm_cap_probe probe;
    if (set_trial(live, trial) != JM_OK) return FAILED;
    if (cli_child_wait_until(&live->recorder.child, time_after(trial->settle_s))) return ENDED;
    outcome o = measure(live, trial, &window, &probe);
    if (o != CONTINUE) return o;
    /* Set it again: this fails if the lease ended meanwhile. The window then measured the previous cap. */
    if (jm_cap_lease_set(live->lease, trial->cap_w, NULL, &live->failure) != JM_OK) return FAILED;
    if (!store_window(live, &window)) {
        cli_set_error(&live->failure, JM_NO_MEMORY, "", "out of memory");
        return FAILED;
    }
    if (jm_cap_search_tell(live->search, &probe, &live->failure) != JM_OK) return FAILED;
    print_trial(live, trial, &probe);
    return CONTINUE;
}

static outcome run_trials(cap_live *live)
{
    for (;;) {
        jm_cap_trial trial;
        if (jm_cap_search_next(live->search, &trial, &live->failure) != JM_OK) return FAILED;
        if (trial.stage == JM_CAP_STAGE_OVER) return CONTINUE;
        outcome o = run_trial(live, &trial);
        if (o != CONTINUE) return o;
    }
}

/* ---- the search from its start to its end */

static void put_back(cap_live *live)
{
    jm_error err;
    jm_status status = jm_cap_lease_end(live->lease, &err);
    live->lease = NULL;
    if (status == JM_OK) return;
    /* An equal error is already printed. */
    if (strcmp(err.text, live->failure.text) != 0 || strcmp(err.hint, live->failure.hint) != 0)
        cli_fail(live->args, &err);
    if (live->failure.status == JM_OK) live->failure = err;
}

/* Store the search in the recording, for the page. A search without results has no JSON. */
static void note_search(const cap_live *live)
{
    char *text;
    if (jm_cap_search_json(live->search, &text, NULL) != JM_OK) return;
    jm_run_note(live->recorder.run, "cap_search", text, NULL);
    free(text);
}

static void search_run(cap_live *live)
{
    live->failure = (jm_error){0};
    live->set_w = live->set_mhz = NAN;
    if (!cli_has(live->args, "--clocks")) live->set_mhz = 0; /* the clock is not changed */
    outcome o = wait_for_steps(live);
    if (o == CONTINUE) o = run_trials(live);
    if (o == FAILED) cli_fail(live->args, &live->failure);
    put_back(live);
    note_search(live);
    if (o == ENDED) return;
    if (o == CONTINUE && cli_has(live->args, "--stop"))
        live->stopped = kill(live->recorder.child.pid, SIGTERM) == 0;
    cli_child_wait(&live->recorder.child);
}

/* ---- phases: time and energy of each per step and trial, from the complete recording */

/* Readings alone do not resolve phases of milliseconds; the report's fit does. */
typedef struct part {
    const char *name;
    double busy_s, energy_j, half_j;
} part;

static bool is_part(const jm_row *row)
{
    static const char *const kinds[] = {"phase", "forward", "backward", "recompute", "optimizer"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(row->kind, kinds[i]) == 0) return true;
    return false;
}

/* Rows with the same name (forward of two phases) are one part. */
static void add_part(part *parts, size_t *count, const jm_row *row)
{
    size_t i = 0;
    while (i < *count && strcmp(parts[i].name, row->name) != 0)
        i++;
    if (i == JM_CAP_MOST_PARTS || !isfinite(row->energy_j)) return;
    if (i == *count) parts[(*count)++] = (part){.name = row->name};
    parts[i].busy_s += row->busy_s;
    parts[i].energy_j += row->energy_j;
    parts[i].half_j = hypot(parts[i].half_j, (row->energy_high_j - row->energy_low_j) / 2);
}

static jm_status report_part(cap_live *live, size_t trial, const part *p, jm_error *err)
{
    static const double fit_uncertainty_min = 1e-3; /* a fit's interval can be too narrow */
    const cap_window *window = &live->windows[trial];
    double steps = (double)window->steps;
    if (!(p->busy_s > 0) || !(p->energy_j > 0)) return JM_OK;
    double power_w = p->energy_j / p->busy_s, step_uncertainty = window->step_u_s / window->step_s;
    const jm_cap_probe probe = {
        .time_s = p->busy_s / steps,
        .power_w = power_w,
        .time_u_s = fmax(step_uncertainty, fit_uncertainty_min) * p->busy_s / steps,
        .power_u_w = fmin(fmax(p->half_j / 1.96 / p->energy_j, fit_uncertainty_min), 1) * power_w};
    jm_status status = jm_cap_search_tell_part(live->search, trial + 1, p->name, &probe, err);
    /* USAGE: a part that the first trials lack has no reference. */
    return status == JM_USAGE || status == JM_LIMIT ? JM_OK : status;
}

static jm_status report_parts(cap_live *live, jm_recording *recording, size_t trial, jm_error *err)
{
    const jm_report_options options = {.size = sizeof options,
                                       .by = JM_BY_PHASE,
                                       .from_ns = live->windows[trial].from_ns,
                                       .to_ns = live->windows[trial].to_ns};
    part parts[JM_CAP_MOST_PARTS];
    size_t count = 0;
    jm_report *report;
    jm_status status = jm_report_create(&report, recording, &options, err);
    if (status != JM_OK) return status;
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (is_part(jm_report_row(report, i))) add_part(parts, &count, jm_report_row(report, i));
    for (size_t i = 0; status == JM_OK && i < count; i++)
        status = report_part(live, trial, &parts[i], err);
    jm_report_free(report);
    return status;
}

static jm_status report_all_parts(cap_live *live, jm_recording *recording, jm_error *err)
{
    jm_status status = JM_OK;
    for (size_t i = 0; status == JM_OK && i < jm_cap_search_told_count(live->search); i++) {
        jm_cap_stage stage = jm_cap_search_told(live->search, i)->trial.stage;
        if (stage == JM_CAP_STAGE_PROBE || stage == JM_CAP_STAGE_SWEEP)
            status = report_parts(live, recording, i, err);
    }
    return status;
}

/* ---- joules by layer, reference against choice: each window is a run of its side */

enum { MOST_WINDOWS = 16, /* per side; each needs its own report */ MOST_DEPTH = 6, LAYERS = 12 };

typedef struct cap_saved {
    jm_report *reports[2][MOST_WINDOWS]; /* reference, choice */
    size_t counts[2];
    char names[2][40];
    jm_diff *diff;
} cap_saved;

static jm_status add_window(cap_saved *saved, int side, jm_recording *recording, const cap_window *window,
                            jm_error *err)
{
    const jm_report_options options = {
        .size = sizeof options, .by = JM_BY_LAYER, .from_ns = window->from_ns, .to_ns = window->to_ns};
    if (saved->counts[side] == MOST_WINDOWS) return JM_OK;
    jm_status status = jm_report_create(&saved->reports[side][saved->counts[side]], recording, &options, err);
    saved->counts[side] += status == JM_OK;
    return status;
}

/* The windows of the proof, else of the probes. */
static jm_status add_windows(cap_saved *saved, const cap_live *live, const jm_cap_found *found,
                             jm_recording *recording, jm_error *err)
{
    jm_status status = JM_OK;
    for (size_t i = 0; status == JM_OK && i < jm_cap_search_told_count(live->search); i++) {
        const jm_cap_trial *t = &jm_cap_search_told(live->search, i)->trial;
        bool chosen = t->cap_w == found->choice.cap_w && t->clock_mhz == found->clock_mhz;
        if (found->proven != (t->stage == JM_CAP_STAGE_PROOF) || (!chosen && !t->reference)) continue;
        status = add_window(saved, t->reference ? 0 : 1, recording, &live->windows[i], err);
    }
    return status;
}

static jm_status compare(cap_saved *saved, const jm_cap_found *found, jm_error *err)
{
    jm_diff_side sides[2];
    for (int side = 0; side < 2; side++)
        sides[side] = (jm_diff_side){.reports = (const jm_report *const *)saved->reports[side],
                                     .count = saved->counts[side]};
    snprintf(saved->names[0], sizeof saved->names[0], "%g W", found->choice.reference_w);
    int length = snprintf(saved->names[1], sizeof saved->names[1], "%g W", found->choice.cap_w);
    if (found->clock_mhz > 0)
        snprintf(saved->names[1] + length, sizeof saved->names[1] - (size_t)length, ", %g MHz",
                 found->clock_mhz);
    const jm_diff_options options = {
        .size = sizeof options, .per = JM_PER_STEP, .name_a = saved->names[0], .name_b = saved->names[1]};
    jm_status status = jm_diff_create_many(&saved->diff, &sides[0], &sides[1], &options, err);
    return status == JM_USAGE ? JM_OK : status; /* no marked steps, only ranges or marks */
}

static void free_saved(cap_saved *saved)
{
    if (saved == NULL) return;
    jm_diff_free(saved->diff);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < saved->counts[side]; i++)
            jm_report_free(saved->reports[side][i]);
    free(saved);
}

static jm_status create_saved(cap_saved **out, const cap_live *live, jm_recording *recording, jm_error *err)
{
    jm_cap_found found;
    *out = NULL;
    jm_status status = jm_cap_search_found(live->search, &found, err);
    bool is_reference = found.choice.cap_w == found.choice.reference_w && found.clock_mhz == 0;
    if (status != JM_OK || is_reference) return status;
    cap_saved *saved = calloc(1, sizeof *saved);
    if (saved == NULL) return cli_set_error(err, JM_NO_MEMORY, "", "out of memory");
    status = add_windows(saved, live, &found, recording, err);
    if (status == JM_OK && saved->counts[0] > 0 && saved->counts[1] > 0) status = compare(saved, &found, err);
    if (status == JM_OK && saved->diff != NULL)
        *out = saved;
    else
        free_saved(saved);
    return status;
}

/* ---- the savings by layer as text */

static double saved_j(const jm_diff_row *row)
{
    return row->a_j - row->b_j;
}

static int by_saving(const void *a, const void *b)
{
    double left = fabs(*(const double *)a), right = fabs(*(const double *)b);
    return (left < right) - (left > right);
}

/* Smaller rows are only counted, as in `joulemap diff`. */
static const double row_share_min = .005;

static bool is_large(const jm_diff *diff, const jm_diff_row *row)
{
    double least_j = row_share_min * jm_diff_total(diff)->a_j;
    return row->depth <= MOST_DEPTH && (row->a_j >= least_j || row->b_j >= least_j);
}

/* The smallest saving among the `most` largest; NAN: no memory. */
static double smallest_shown_j(const jm_diff *diff, size_t most)
{
    size_t count = jm_diff_row_count(diff), known = 0;
    double *all = calloc(count + 1, sizeof *all), least_j = 0;
    if (all == NULL) return NAN;
    for (size_t i = 0; i < count; i++) {
        const jm_diff_row *row = jm_diff_row_get(diff, i);
        if (is_large(diff, row) && isfinite(saved_j(row))) all[known++] = saved_j(row);
    }
    qsort(all, known, sizeof *all, by_saving);
    if (known > most) least_j = fabs(all[most - 1]);
    free(all);
    return least_j;
}

/* Decimals for four digits of the total, in all rows. */
static void print_energy(FILE *out, const jm_diff *diff, double energy_j, double half_j)
{
    char text[60];
    int decimals = 3 - (int)floor(log10(fmax(jm_diff_total(diff)->a_j, 1e-6)));
    decimals = decimals < 0 ? 0 : decimals > 8 ? 8 : decimals;
    snprintf(text, sizeof text, "%.*f ±%.*f", decimals, energy_j, decimals, half_j);
    fprintf(out, "%18s", text); /* "±" is two bytes and one column */
}

static void print_row(FILE *out, const jm_diff *diff, const jm_diff_row *row)
{
    double a_half_j = (row->a_high_j - row->a_low_j) / 2, b_half_j = (row->b_high_j - row->b_low_j) / 2;
    int indent = 2 * row->depth + 2;
    fprintf(out, "%*s%-*.*s", indent, "", 26 - indent, 26 - indent, row->name);
    print_energy(out, diff, row->a_j, a_half_j);
    print_energy(out, diff, row->b_j, b_half_j);
    print_energy(out, diff, saved_j(row), hypot(a_half_j, b_half_j));
    fputs(row->verdict == JM_CHANGE_LESS || row->verdict == JM_CHANGE_MORE ? "\n" : " ?\n", out);
}

static char *saved_text(const cap_saved *saved)
{
    char *text = NULL;
    size_t size, left_out = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return NULL;
    const jm_diff *diff = saved->diff;
    double least_j = smallest_shown_j(diff, LAYERS);
    fprintf(out, "\n  %-24s%17s%17s%17s\n", "joules a step", saved->names[0], saved->names[1], "saved");
    print_row(out, diff, jm_diff_total(diff));
    for (size_t i = 0; i < jm_diff_row_count(diff); i++) {
        const jm_diff_row *row = jm_diff_row_get(diff, i);
        bool shown = is_large(diff, row) && fabs(saved_j(row)) >= least_j;
        if (shown) print_row(out, diff, row);
        left_out += !shown;
    }
    if (left_out > 0) fprintf(out, "  %zu smaller rows: --json\n", left_out);
    fputs("\n± and ?: 95 %, and no difference seen. Fitted over all caps at once.\n", out);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

/* ---- the options, and a recorded sweep */

enum {
    LIVE_PROBES = 10,
    CAPS_IN_RANGE = 20, /* about this many caps ... */
    ROUND_W = 5,        /* ... in multiples of this */
    CLOCKS = 12
};

static const double live_drift = .003; /* per window: a choice, for a board that gets warm */
static const double live_gain = .003;  /* a smaller gain does not justify a noisy window */

static bool read_options(const cli_args *args, jm_cap_plan_options *options)
{
    static const double least_slowdown = 1e-4; /* 0 would mean no bound */
    long long probes = 0;
    *options = (jm_cap_plan_options){.size = sizeof *options,
                                     .objective =
                                         (jm_cap_objective)cli_get_choice(args, "--objective", JM_CAP_ED2P)};
    if (!cli_get_share(args, "--max-slowdown", least_slowdown, &options->max_slowdown) ||
        !cli_get_number(args, "--probes", 1, JM_CAP_MOST_PROBES, &probes))
        return false;
    options->most_probes = (size_t)probes;
    return true;
}

static int print_text(const cli_args *args, jm_cap_search *search)
{
    char *text = NULL;
    jm_error err = {0};
    jm_status status =
        cli_has(args, "--json")
            ? jm_cap_search_json(search, &text, &err)
            : jm_cap_search_text(search, (size_t)cli_terminal_width(STDOUT_FILENO), &text, &err);
    if (status != JM_OK) return cli_fail(args, &err);
    cli_has(args, "--json") ? cli_write_data(text) : cli_write(text);
    free(text);
    return 0;
}

static int replay(const cli_args *args, const char *path)
{
    jm_cap_plan_options options;
    jm_cap_search *search;
    jm_error err = {0};
    if (!read_options(args, &options)) return jm_status_exit_code(JM_USAGE);
    if (jm_cap_replay(&search, path, &options, &err) != JM_OK) return cli_fail(args, &err);
    int code = print_text(args, search);
    jm_cap_search_free(search);
    return code;
}

/* ---- output of a search under a command */

static int print_saved(const cli_args *args, const cap_saved *saved)
{
    if (saved == NULL) return 0;
    char *text = saved_text(saved);
    if (text == NULL) return cli_error(args, JM_NO_MEMORY, "", "out of memory");
    cli_write(text);
    free(text);
    return 0;
}

static json_t *load_json(char *text_take)
{
    json_t *json = json_loads(text_take, 0, NULL);
    free(text_take);
    return json;
}

static int print_json(const cap_live *live, const cap_saved *saved)
{
    char *text;
    jm_error err;
    if (jm_cap_search_json(live->search, &text, &err) != JM_OK) return cli_fail(live->args, &err);
    json_t *root = load_json(text), *layers = json_null();
    if (saved != NULL) {
        if (jm_diff_json(saved->diff, &text, &err) != JM_OK) {
            json_decref(root);
            return cli_fail(live->args, &err);
        }
        layers = load_json(text);
    }
    json_object_set_new(root, "recording", json_string(live->recorder.path));
    json_object_set_new(root, "failure",
                        live->failure.status == JM_OK ? json_null() : json_string(live->failure.text));
    json_object_set_new(root, "layers", layers);
    return cli_json_write(live->args, root);
}

/* Adds results from the complete recording. If that fails, the search's own figures are printed. */
static int print_found(cap_live *live)
{
    jm_recording *recording = NULL;
    cap_saved *saved = NULL;
    jm_error err;
    int code = 0;
    cli_progress("adding up");
    jm_status status = jm_recording_open(&recording, live->recorder.path, &err);
    if (status == JM_OK && cli_has(live->args, "--phases")) status = report_all_parts(live, recording, &err);
    if (status == JM_OK) status = create_saved(&saved, live, recording, &err);
    cli_progress(NULL);
    if (status != JM_OK) code = cli_fail(live->args, &err);
    int printed =
        cli_has(live->args, "--json") ? print_json(live, saved) : print_text(live->args, live->search);
    if (printed == 0 && !cli_has(live->args, "--json")) printed = print_saved(live->args, saved);
    free_saved(saved);
    jm_recording_close(recording);
    return printed != 0 ? printed : code;
}

/* ---- set up */

/* The folder of the run with the simulated board; a real board has none. */
static const char *run_folder(const jm_run *run)
{
    static const char key[] = "JOULEMAP_RUN=";
    for (const char *const *text = jm_run_environment(run); *text != NULL; text++)
        if (strncmp(*text, key, sizeof key - 1) == 0) return *text + sizeof key - 1;
    return NULL;
}

static double clock_limit(const cli_args *args, const char *uuid)
{
    jm_inventory *inventory;
    double clock_mhz = NAN;
    if (jm_inventory_create(&inventory, cli_get(args, "--sim"), NULL) != JM_OK) return NAN;
    for (size_t i = 0; i < jm_inventory_board_count(inventory); i++) {
        const jm_board *board = jm_inventory_board(inventory, i);
        if (strcmp(board->uuid, uuid) == 0) clock_mhz = board->clock_limit_mhz;
    }
    jm_inventory_free(inventory);
    return clock_mhz;
}

/* From the highest down to half of it. */
static size_t find_clocks(const cli_args *args, const char *uuid, double clocks_mhz[CLOCKS])
{
    double most_mhz = cli_has(args, "--clocks") ? clock_limit(args, uuid) : NAN;
    if (!isfinite(most_mhz)) return 0;
    for (int i = 0; i < CLOCKS; i++)
        clocks_mhz[i] = round(most_mhz * (1 - .5 * i / (CLOCKS - 1)));
    return CLOCKS;
}

/* The previous cap is the reference. Higher caps are tried only up to the board's default. */
static void set_range(jm_cap_plan_options *plan, const jm_cap_board *board)
{
    plan->low_w = board->low_w;
    plan->high_w = fmax(board->cap_w, fmin(board->default_w, board->high_w));
    plan->reference_w = board->cap_w;
    plan->step_w = fmax(ROUND_W, ROUND_W * ceil((plan->high_w - plan->low_w) / CAPS_IN_RANGE / ROUND_W));
    plan->drift = live_drift;
    plan->least_gain = live_gain;
    if (plan->most_probes == 0) plan->most_probes = LIVE_PROBES;
}

static jm_status create_search(cap_live *live, jm_error *err)
{
    double clocks_mhz[CLOCKS];
    const jm_cap_board *board = jm_cap_lease_board(live->lease);
    set_range(&live->plan, board);
    const jm_cap_search_options options = {.size = sizeof options,
                                           .plan = &live->plan,
                                           .settle_s = live->settle_s,
                                           .window_s = live->window_s,
                                           .sweep_count = (size_t)live->sweep,
                                           .seed = (uint64_t)jm_now_ns(),
                                           .clocks_mhz = clocks_mhz,
                                           .clock_count = find_clocks(live->args, board->uuid, clocks_mhz),
                                           .simulated = board->simulated};
    live->board = board->index;
    if (cli_has(live->args, "--clocks") && options.clock_count == 0)
        cli_message(live->args, "the GPU does not report its highest clock, so no clock limits are tried");
    return jm_cap_search_create(&live->search, &options, err);
}

static jm_status take_lease(cap_live *live, const jm_cap_board *board, jm_error *err)
{
    char who[JM_LEASE_TEXT], *command = cli_child_text(cli_command(live->args));
    snprintf(who, sizeof who, "joulemap cap search -- %s", command != NULL ? command : "");
    free(command);
    const jm_cap_lease_options options = {.size = sizeof options,
                                          .sim = cli_get(live->args, "--sim"),
                                          .run_dir = board->simulated ? run_folder(live->recorder.run) : NULL,
                                          .board = board->index,
                                          .who = who};
    return jm_cap_lease_take(&live->lease, &options, err);
}

static bool read_live_options(cap_live *live)
{
    const cli_args *args = live->args;
    live->settle_s = 2;
    live->window_s = 5;
    live->wait_s = 120;
    live->steps = (cap_steps){JM_SPAN_STEP, NULL};
    if (cli_has(args, "--span")) live->steps = (cap_steps){JM_SPAN_NONE, cli_get(args, "--span")};
    return read_options(args, &live->plan) && cli_get_real(args, "--settle", 0, 3600, &live->settle_s) &&
           cli_get_real(args, "--window", 0, 3600, &live->window_s) &&
           cli_get_real(args, "--wait", 0, 86400, &live->wait_s) &&
           cli_get_number(args, "--sweep", 2, JM_CAP_MOST_PROBES / 2, &live->sweep);
}

/* ---- run */

/* The board is leased, and the command has not started. */
static int search_command(cap_live *live)
{
    int code = cli_recorder_run(&live->recorder);
    if (code != CLI_GO_ON) {
        jm_cap_lease_end(live->lease, NULL);
        return code;
    }
    search_run(live);
    code = cli_recorder_end(&live->recorder);
    if (live->stopped && live->recorder.child.signal != 0) code = 0;
    if (code == 0 && live->failure.status != JM_OK) code = jm_status_exit_code(live->failure.status);
    if (!live->recorder.has_file) return code;
    int printed = 0;
    if (jm_cap_search_told_count(live->search) > 0)
        printed = print_found(live);
    else if (live->failure.status == JM_OK)
        printed = cli_error(live->args, JM_NOT_FOUND, "", "the command ended before anything was measured");
    cli_recorder_print_summary(&live->recorder);
    return code != 0 ? code : printed;
}

static int begin(cap_live *live, const jm_cap_board *board)
{
    jm_error err;
    jm_status status = take_lease(live, board, &err);
    /* Set the present cap again: this checks the permission before the command starts. */
    if (status == JM_OK) status = jm_cap_lease_set(live->lease, board->cap_w, NULL, &err);
    if (status == JM_OK) status = create_search(live, &err);
    if (status == JM_OK) return CLI_GO_ON;
    jm_cap_lease_end(live->lease, NULL);
    cli_recorder_discard(&live->recorder);
    return cli_fail(live->args, &err);
}

static int live_search(const cli_args *args, const jm_cap_board *board)
{
    cap_live live = {.args = args};
    if (!read_live_options(&live)) return jm_status_exit_code(JM_USAGE);
    int code = cli_recorder_start(&live.recorder, args);
    if (code != CLI_GO_ON) return code;
    code = begin(&live, board);
    if (code == CLI_GO_ON) code = search_command(&live);
    jm_cap_search_free(live.search);
    free(live.windows);
    return code;
}

int cli_cap_search(const cli_args *args)
{
    int code = 0;
    const char *path = cli_get(args, "--replay");
    if (path != NULL && cli_command(args) != NULL)
        return cli_usage_error(args, "--replay and a command contradict each other");
    if (path != NULL) return replay(args, path);
    if (cli_command(args) == NULL)
        return cli_usage_error(args, "search needs a command (-- COMMAND) or --replay SWEEP.csv");
    jm_cap_boards *boards = cli_cap_boards(args, &code);
    if (boards == NULL) return code;
    const jm_cap_board *board = cli_cap_board_selected(args, boards, &code);
    if (board != NULL) code = live_search(args, board);
    jm_cap_boards_free(boards);
    return code;
}
