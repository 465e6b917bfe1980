/* The start of a run: what is to work comes up in its order, or nothing stays. */
#include "base/clock.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "run/facts.h"
#include "run/inside.h"
#include "timeline/timeline.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Spans of a process go into one run: there is one with rings in a process at a time. */
static _Atomic(pid_t) ring_owner;

static jm_status make_path(jm_run *run, const char *path, jm_error *err)
{
    if (path == NULL) return JM_OK;
    char folder[PATH_MAX];
    jm__strbuf absolute = {0};
    if (path[0] != '/' && getcwd(folder, sizeof folder) != NULL) jm__strbuf_format(&absolute, "%s/", folder);
    jm__strbuf_add(&absolute, path);
    run->path = jm__strbuf_take(&absolute);
    return run->path == NULL ? jm__no_memory(err, "jm_run_start") : JM_OK;
}

static jm_status attach(jm_run *run, const char *recording, jm_error *err)
{
    run->attached = true;
    return recording[0] == '\0' ? JM_OK : make_path(run, recording, err);
}

/* What there is to record goes to whoever attaches; there are no readings here. */
static jm_status be_dormant(jm_run *run)
{
    run->attached = run->dormant = true;
    jm__run_wait(run, true);
    return JM_OK;
}

static const char *simulated_profile(const jm_run_options *options)
{
    const char *sim = options->sim != NULL ? options->sim : getenv("JOULEMAP_SIM");
    return sim != NULL && sim[0] != '\0' ? sim : NULL;
}

/* `path`: of the recording, of all parts together where it has some. */
static jm_status start_sampler(jm_run *run, const jm_run_options *options, const char *path, jm_error *err)
{
    jm__strbuf truth = {0};
    const char *truth_path = getenv("JOULEMAP_SIM_TRUTH");
    if (truth_path == NULL && path != NULL && simulated_profile(options) != NULL) {
        jm__strbuf_format(&truth, "%s.truth.csv", path);
        truth_path = truth.text;
    }
    jm__sampler_options sampler_options = {.sim = options->sim,
                                           .no_cpu = options->no_cpu,
                                           .run_dir = run->folder.path,
                                           .truth_path = truth_path};
    jm__sampler_sink sink = jm__run_sampler_sink(run);
    jm_status status = jm__sampler_create(&run->sampler, &sampler_options, &sink, err);
    jm__strbuf_free(&truth);
    if (status == JM_OK && run->refused) return jm__no_memory(err, "jm__sampler_create");
    return status;
}

static jm_status start_rings(jm_run *run, jm_error *err)
{
    pid_t nobody = 0;
    if (!atomic_compare_exchange_strong(&ring_owner, &nobody, run->owner) && nobody == run->owner) {
        jm_status status =
            jm__fail(err, JM_BUSY, 0, "jm_run_start", "a run is at work in this process already");
        return jm__hint(err, status, "end that one first");
    }
    atomic_store(&ring_owner, run->owner); /* what a forked child inherited is its parent's */
    run->has_rings = true;
    jm__collector_sink sink = jm__run_collector_sink(run);
    jm_status status = jm__collector_create(&run->collector, run->folder.path, &sink, err);
    if (status == JM_OK) status = jm__timeline_open(run->folder.path, err);
    return status;
}

void jm__run_release_rings(jm_run *run)
{
    if (!run->has_rings) return;
    jm__timeline_close();
    jm__run_trace_end();
    atomic_store(&ring_owner, 0);
    run->has_rings = false;
}

static void write_start(jm_run *run, const jm_run_options *options)
{
    jm__anchor anchor = jm__anchor_take();
    bool simulated = false;
    jm__run_facts_write(&run->sinks, options->command);
    jm__run_facts_write_findings(&run->sinks, jm__sampler_inventory(run->sampler));
    for (size_t i = 0; i < run->boards.count; i++)
        simulated = simulated || run->boards.items[i].simulated;
    jm__sinks_meta(&run->sinks, "simulated", simulated ? "1" : "0");
    if (run->folder.budget_ppm > 0)
        jm__run_facts_write_number(&run->sinks, "budget_ppm", run->folder.budget_ppm);
    if (options->kernels || options->child_kernels) jm__run_facts_write_launch_cost(&run->sinks);
    jm__run_facts_write_number(&run->sinks, "start_ns", anchor.monotonic_ns);
    jm__run_facts_write_number(&run->sinks, "start_unix_ns", anchor.realtime_ns);
    jm__sinks_anchor(&run->sinks, &anchor);
}

/* Without signals: those are the program's. */
static jm_status start_thread(jm_run *run, jm_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&run->thread, NULL, jm__run_write, run);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0)
        return jm__fail(err, JM_INTERNAL, code, "pthread_create", "no thread for the writer: %s",
                        strerror(code));
    pthread_setname_np(run->thread, "joulemap-write");
    run->thread_started = true;
    return JM_OK;
}

static jm_status add_sinks(jm_run *run, const jm__row_sink *more, size_t count, jm_error *err)
{
    jm__row_sink file = jm__row_sink_of_writer(run->writer);
    bool fits = jm__sinks_add(&run->sinks, &file);
    for (size_t i = 0; fits && i < count; i++)
        fits = jm__sinks_add(&run->sinks, &more[i]);
    return fits ? JM_OK
                : jm__fail(err, JM_LIMIT, 0, "jm_run_start", "a run has at most %d sinks", JM_SINKS_MAX);
}

static jm_status start_all(jm_run *run, const jm_run_options *options, const char *given,
                           const jm__row_sink *more, size_t count, jm_error *err)
{
    if (jm__run_rotates(options) && (run->path = strdup(jm__writer_path(run->writer))) == NULL)
        return jm__no_memory(err, "jm_run_start");
    JM_TRY(add_sinks(run, more, count, err));
    double budget = options->budget > 0 ? options->budget : options->child_budget;
    JM_TRY(jm__run_folder_create(&run->folder, run->path, lround(1e6 * budget), err));
    if (!options->sampling_only) JM_TRY(start_rings(run, err));
    JM_TRY(start_sampler(run, options, given, err));
    JM_TRY(jm__run_environment_make(run, options, err));
    if (options->kernels && !options->sampling_only)
        JM_TRY(jm__run_kernels_start(run, options->kernels_required, err));
    else if (options->ranges && !options->sampling_only)
        jm__run_ranges_start(run);
    jm__run_counters_start(run, options);
    write_start(run, options);
    JM_TRY(
        jm__sinks_commit(&run->sinks, 0, err)); /* what cannot be written is told before the program starts */
    return start_thread(run, err);
}

static jm_status start(jm_run *run, const jm_run_options *options, const jm__row_sink *more, size_t count,
                       jm_error *err)
{
    JM_TRY(make_path(run, options->path, err));
    JM_TRY(jm__run_start_writer(run, options, err));
    char *given = run->path;
    jm_status status = start_all(run, options, given, more, count, err);
    if (run->path != given) free(given);
    return status;
}

static jm_run *new_run(void)
{
    jm_run *run = calloc(1, sizeof *run);
    if (run == NULL) return NULL;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&run->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&run->lock, NULL);
    pthread_mutex_init(&run->writer_lock, NULL);
    pthread_mutex_init(&run->path_lock, NULL);
    jm__run_queue_init(&run->queue);
    run->owner = getpid();
    return run;
}

jm_status jm__run_start_with(jm_run **out, const jm_run_options *options, const jm__row_sink *more,
                             size_t count, jm_error *err)
{
    jm_run_options given;
    JM_TRY(jm__options_copy(&given, sizeof given, options, "jm_run_start", err));
    JM_TRY(jm__budget_check(given.budget, err));
    JM_TRY(jm__budget_check(given.child_budget, err));
    jm_run *run = new_run();
    char recording[PATH_MAX];
    if (run == NULL) return jm__no_memory(err, "jm_run_start");
    bool found = jm__run_folder_find(&run->folder, recording, sizeof recording);
    bool waits = !found && given.may_wait && jm__timeline_is_dormant();
    jm_status status = found   ? attach(run, recording, err)
                       : waits ? be_dormant(run)
                               : start(run, &given, more, count, err);
    if (status != JM_OK) {
        jm__run_abandon(run);
        return status;
    }
    jm__run_trace_begin(run);
    jm__budget_start(run, given.budget > 0 ? given.budget
                          : run->attached  ? 1e-6 * (double)run->folder.budget_ppm
                                           : 0);
    *out = run;
    return JM_OK;
}

jm_status jm_run_start(jm_run **out, const jm_run_options *options, jm_error *err)
{
    return jm__run_start_with(out, options, NULL, 0, err);
}
