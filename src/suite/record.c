/* Phases of a run. */
#include "suite/record.h"

#include "suite/compiler.h"
#include "suite/driver.h"
#include "suite/fault.h"
#include "suite/play.h"
#include "suite/ready.h"
#include "suite/summary.h"
#include "suite/watch.h"

#include <joulemap/joulemap.h>
#include <stdlib.h>
#include <unistd.h>

#define COUNTERS_S 60.0 /* of each minute: all of the time */

/* All that is needed; large, and one. */
typedef struct suite {
    const suite_options *options;
    suite_driver driver;
    suite_compiler compiler;
    suite_modules modules;
    suite_stock stock;
    suite_chance chance;
    suite_ready ready;
    suite_played played;
} suite;

static bool tell_ready(double share)
{
    suite_bar("making ready", share);
    return suite_ended() == 0;
}

static bool tell_suite(double share)
{
    suite_bar("suite", share);
    return suite_ended() == 0;
}

static jm_status make_ready(suite *all, jm_error *err)
{
    const suite_options *options = all->options;
    const suite_kernel **kernels = calloc(suite_kernel_count, sizeof *kernels);
    if (kernels == NULL) return suite_fail(err, JM_NO_MEMORY, "", "no memory for the suite");
    size_t count = options->sim != NULL ? suite_choose(options->seconds, all->driver.capability, kernels)
                                        : suite_choose_all(kernels);
    jm_status status = suite_make_ready(&all->ready, kernels, count, options->sim == NULL, &all->stock,
                                        &all->chance, tell_ready, err);
    free(kernels);
    return status;
}

static jm_span_id begin_phase(const char *name)
{
    return jm_span_begin(JM_SPAN_PHASE, jm_name_intern(name), 0, 0);
}

static void rest(const suite *all)
{
    const jm_span_id idle = begin_phase("idle");
    suite_sleep(all->options->idle_s);
    jm_span_end(idle);
}

static jm_status play(suite *all, jm_error *err)
{
    const suite_player player = {&all->driver, &all->ready, &all->chance, all->options->sim != NULL};
    rest(all);
    const jm_span_id suite_phase = begin_phase("suite");
    jm_status status = suite_play_all(&player, all->options->seconds, tell_suite, &all->played, err);
    jm_span_end(suite_phase);
    if (status != JM_OK || suite_ended() != 0) return status;
    suite_bar("response", 1);
    const jm_span_id response = begin_phase("response");
    status = suite_play_square_wave(&player, all->options->response_s, err);
    jm_span_end(response);
    if (status == JM_OK) rest(all);
    return status;
}

/* Its context, and all of its kernels. */
static jm_status begin(suite *all, jm_error *err)
{
    SUITE_TRY(suite_driver_start(&all->driver, err));
    all->chance.state = all->options->seed;
    all->modules = (suite_modules){.driver = &all->driver, .compiler = &all->compiler};
    all->stock = (suite_stock){.driver = &all->driver,
                               .modules = &all->modules,
                               .share = suite_share_of(&all->driver),
                               .seed = (uint32_t)suite_chance_bits(&all->chance)};
    return make_ready(all, err);
}

/* In a run that has begun. */
static jm_status perform(suite *all, jm_error *err)
{
    SUITE_TRY(begin(all, err));
    suite_mark_ready(&all->ready, all->options->seed);
    if (suite_ended() != 0) return JM_OK;
    return play(all, err);
}

/* A run of one's own: one that a recorder around it has would mix the suite with what else that records. */
static jm_status start(const suite_options *options, jm_run **run, jm_error *err)
{
    const jm_run_options how = {.size = sizeof how,
                                .path = options->output,
                                .sim = options->sim,
                                .overwrite = options->force,
                                .kernels = true,
                                .counters = COUNTERS_S};
    SUITE_TRY(jm_run_start(run, &how, err));
    if (!jm_run_attached(*run)) return JM_OK;
    jm_run_free(*run);
    return suite_fail(err, JM_BUSY, "run it without `joulemap record`", "the suite records itself");
}

static jm_status load(suite *all, jm_error *err)
{
    SUITE_TRY(suite_driver_load(&all->driver, all->options->sim != NULL, err));
    return suite_compiler_load(&all->compiler, all->driver.capability, all->driver.version,
                               all->options->sim != NULL, err);
}

static jm_status play_once(suite *all, jm_error *err)
{
    const suite_player player = {&all->driver, &all->ready, &all->chance, all->options->sim != NULL};
    SUITE_TRY(load(all, err));
    jm_status status = begin(all, err);
    suite_bar(NULL, 0);
    return status != JM_OK || suite_ended() != 0 ? status : suite_play_once(&player, err);
}

static jm_status record(suite *all, jm_error *err)
{
    jm_run *run;
    SUITE_TRY(load(all, err));
    SUITE_TRY(start(all->options, &run, err));
    jm_error stop = {0};
    jm_status status = perform(all, err);
    suite_bar(NULL, 0);
    if (status != JM_OK && all->played.bursts == 0) {
        jm_run_discard(run);
        return status;
    }
    jm_status stopped = jm_run_stop(run, &stop);
    jm_run_free(run);
    if (status == JM_OK && stopped != JM_OK) {
        if (err != NULL) *err = stop;
        return stopped;
    }
    if (status == JM_OK && suite_ended() == 0 && !all->options->quiet)
        suite_show_summary(&all->ready, &all->played, &all->driver, all->options->output);
    return status;
}

jm_status suite_record(const suite_options *options, jm_error *err)
{
    suite *all = calloc(1, sizeof *all);
    if (all == NULL) return suite_fail(err, JM_NO_MEMORY, "", "no memory for the suite");
    all->options = options;
    if (options->sim != NULL) setenv("JOULEMAP_SIM", options->sim, 1); /* for the stand-in of libcuda */
    jm_status status = options->once ? play_once(all, err) : record(all, err);
    suite_driver_stop(&all->driver); /* after the run: until then CUPTI may ask for the context */
    suite_played_free(&all->played);
    suite_ready_free(&all->ready);
    free(all);
    return status;
}
