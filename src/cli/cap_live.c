/* Set, settle, measure, tell: until the search, the command or the patience is over. */
#include "cli/cap_live.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLUSH_TIMEOUT_MS = 5000, MOST_LONGER = 20, FIRST_STEPS = 3 };
static const int64_t look_ns = 500000000; /* between two looks for the first steps */

typedef enum outcome { GO_ON, ENDED, FAILED } outcome;

static int64_t after(double seconds)
{
    return jm_now_ns() + llround(seconds * 1e9);
}

static jm_status newest(cli_cap_live *live, jm_recording **recording, jm_error *err)
{
    jm_status status = jm_run_flush(live->recorder.run, FLUSH_TIMEOUT_MS, err);
    return status == JM_OK ? jm_run_recording(live->recorder.run, recording, err) : status;
}

static jm_status find_window(cli_cap_live *live, int64_t from_ns, cli_cap_window *window,
                             jm_recording **recording)
{
    int64_t to_ns = jm_now_ns();
    jm_status status = newest(live, recording, &live->failure);
    if (status != JM_OK) return status;
    return cli_cap_window_find(window, *recording, &live->what, from_ns, to_ns, &live->failure);
}

/* ---- the first steps */

static void say_no_steps(cli_cap_live *live)
{
    jm_error *err = &live->failure;
    *err = (jm_error){.status = JM_NOT_FOUND};
    if (live->what.name != NULL)
        snprintf(err->text, sizeof err->text, "no span, range or mark \"%s\" appeared within %g s",
                 live->what.name, live->wait_s);
    else
        snprintf(err->text, sizeof err->text, "the command told no steps within %g s", live->wait_s);
    snprintf(err->hint, sizeof err->hint,
             "mark them: `with run.step():` of a joulemap.Session in Python, jm_span_begin(JM_SPAN_STEP, "
             "...) in C, or an "
             "NVTX range "
             "or mark and --span NAME; --wait S waits longer");
}

/* Batches of a data loader serve where nobody tells steps. */
static outcome look_for_steps(cli_cap_live *live, int64_t from_ns, bool *found)
{
    static const jm_span_kind kinds[] = {JM_SPAN_STEP, JM_SPAN_BATCH};
    size_t tries = live->what.name != NULL ? 1 : sizeof kinds / sizeof *kinds;
    *found = false;
    for (size_t i = 0; i < tries && !*found; i++) {
        cli_cap_window window;
        jm_recording *recording;
        if (live->what.name == NULL) live->what.kind = kinds[i];
        if (find_window(live, from_ns, &window, &recording) != JM_OK) return FAILED;
        *found = window.steps >= FIRST_STEPS;
    }
    return GO_ON;
}

static outcome wait_for_steps(cli_cap_live *live)
{
    int64_t from_ns = live->recorder.child.start_ns, until_ns = after(live->wait_s);
    for (;;) {
        bool found;
        if (cli_child_wait_until(&live->recorder.child, jm_now_ns() + look_ns)) return ENDED;
        outcome o = look_for_steps(live, from_ns, &found);
        if (o != GO_ON || found) return o;
        if (jm_now_ns() < until_ns) continue;
        say_no_steps(live);
        return FAILED;
    }
}

/* ---- a trial */

static jm_status set(cli_cap_live *live, const jm_cap_trial *trial)
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

/* Longer where steps are long. */
static outcome measure(cli_cap_live *live, const jm_cap_trial *trial, cli_cap_window *window,
                       jm_cap_probe *probe)
{
    int64_t from_ns = jm_now_ns(), id;
    jm_recording *recording;
    for (int longer = 1; longer <= MOST_LONGER; longer++) {
        if (cli_child_wait_until(&live->recorder.child, from_ns + llround(longer * trial->window_s * 1e9)))
            return ENDED;
        if (find_window(live, from_ns, window, &recording) != JM_OK) return FAILED;
        if (window->steps < CLI_CAP_LEAST_STEPS) continue;
        jm_status status = jm_recording_board_id(recording, live->board, &id, &live->failure);
        if (status == JM_OK) status = cli_cap_window_probe(probe, recording, window, id, &live->failure);
        return status == JM_OK ? GO_ON : FAILED;
    }
    live->failure = (jm_error){.status = JM_NOT_FOUND};
    snprintf(live->failure.text, sizeof live->failure.text, "fewer than %d steps within %g s",
             CLI_CAP_LEAST_STEPS, MOST_LONGER * trial->window_s);
    snprintf(live->failure.hint, sizeof live->failure.hint, "--window S measures longer");
    return FAILED;
}

static bool keep(cli_cap_live *live, const jm_cap_trial *trial, const cli_cap_window *window)
{
    if (live->done_count == live->done_capacity) {
        size_t capacity = live->done_capacity == 0 ? 64 : 2 * live->done_capacity;
        cli_cap_trial_done *grown = realloc(live->done, capacity * sizeof *grown);
        if (grown == NULL) return false;
        live->done = grown;
        live->done_capacity = capacity;
    }
    live->done[live->done_count++] = (cli_cap_trial_done){*trial, *window};
    return true;
}

static void tell_trial(const cli_cap_live *live, const jm_cap_trial *trial, const jm_cap_probe *probe)
{
    char clock[32] = "";
    if (trial->clock_mhz > 0) snprintf(clock, sizeof clock, ", %g MHz", trial->clock_mhz);
    cli_tell(live->args, "%zu %s: %g W%s: %.4g ms a step, %.4g W", trial->number,
             jm_cap_stage_text(trial->stage), trial->cap_w, clock, 1e3 * probe->time_s, probe->power_w);
}

static outcome try_out(cli_cap_live *live, const jm_cap_trial *trial)
{
    cli_cap_window window;
    jm_cap_probe probe;
    if (set(live, trial) != JM_OK) return FAILED;
    if (cli_child_wait_until(&live->recorder.child, after(trial->settle_s))) return ENDED;
    outcome o = measure(live, trial, &window, &probe);
    if (o != GO_ON) return o;
    /* Once more: a lease that ended in between has put back what was found, and this was measured there. */
    if (jm_cap_lease_set(live->lease, trial->cap_w, NULL, &live->failure) != JM_OK) return FAILED;
    if (jm_cap_search_tell(live->search, &probe, &live->failure) != JM_OK) return FAILED;
    tell_trial(live, trial, &probe);
    if (keep(live, trial, &window)) return GO_ON;
    live->failure = (jm_error){.status = JM_NO_MEMORY, .text = "out of memory"};
    return FAILED;
}

static outcome try_all(cli_cap_live *live)
{
    for (;;) {
        jm_cap_trial trial;
        if (jm_cap_search_next(live->search, &trial, &live->failure) != JM_OK) return FAILED;
        if (trial.stage == JM_CAP_STAGE_OVER) return GO_ON;
        outcome o = try_out(live, &trial);
        if (o != GO_ON) return o;
    }
}

/* ---- the whole */

static void put_back(cli_cap_live *live)
{
    jm_error err;
    jm_status status = jm_cap_lease_end(live->lease, &err);
    live->lease = NULL;
    if (status == JM_OK) return;
    /* Else it is said already; the hint has what is still to be put back. */
    if (strcmp(err.text, live->failure.text) != 0 || strcmp(err.hint, live->failure.hint) != 0)
        cli_fail(live->args, &err);
    if (live->failure.status == JM_OK) live->failure = err;
}

static void stop_command(cli_cap_live *live)
{
    live->stopped = kill(live->recorder.child.pid, SIGTERM) == 0;
}

/* Beside what was recorded, for the page and for figures. Of a search that told nothing there is no JSON. */
static void note_search(const cli_cap_live *live)
{
    char *text;
    if (jm_cap_search_json(live->search, &text, NULL) != JM_OK) return;
    jm_run_note(live->recorder.run, "cap_search", text, NULL);
    free(text);
}

void cli_cap_live_search(cli_cap_live *live)
{
    live->failure = (jm_error){0};
    live->set_w = live->set_mhz = NAN;
    if (!cli_has(live->args, "--clocks")) live->set_mhz = 0; /* the clock is not touched */
    outcome o = wait_for_steps(live);
    if (o == GO_ON) o = try_all(live);
    if (o == FAILED) cli_fail(live->args, &live->failure);
    put_back(live);
    note_search(live);
    if (o == ENDED) return;
    if (o == GO_ON && cli_has(live->args, "--stop")) stop_command(live);
    cli_child_wait(&live->recorder.child);
}

void cli_cap_live_free(cli_cap_live *live)
{
    jm_cap_search_free(live->search);
    free(live->done);
}
