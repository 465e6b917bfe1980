/* A run: starting it completely or not at all, using it, and ending it without losing data. */
#include "base/clock.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "format/condense.h"
#include "format/recording.h"
#include "record/run/inside.h"
#include "record/timeline/track.h"

#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- starting, in order */

/* Spans of a process go into one run: at most one run with rings per process. */
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

static jm_status start_sampler(jm_run *run, const jm_run_options *options, jm_error *err)
{
    jm__strbuf truth = {0};
    const char *truth_path = getenv("JOULEMAP_SIM_TRUTH");
    const char *sim = options->sim != NULL ? options->sim : getenv("JOULEMAP_SIM");
    if (truth_path == NULL && run->path != NULL && sim != NULL && sim[0] != '\0') {
        jm__strbuf_format(&truth, "%s.truth.csv", run->path);
        truth_path = truth.text;
    }
    const jm__sampler_options sampler_options = {.device = {.sim = options->sim,
                                                            .no_cpu = options->no_cpu,
                                                            .run_dir = run->folder.path,
                                                            .truth_path = truth_path}};
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
        jm__fail(err, JM_BUSY, 0, "jm_run_start", "a run is at work in this process already");
        return jm__hint(err, JM_BUSY, "end that one first");
    }
    atomic_store(&ring_owner, run->owner); /* a forked child inherits its parent's pid */
    run->has_rings = true;
    jm__collector_sink sink = jm__run_collector_sink(run);
    jm_status status = jm__collector_create(&run->collector, run->folder.path, &sink, err);
    if (status == JM_OK) status = jm__timeline_open(run->folder.path, err);
    return status;
}

/* Spans of this process go into no run any more. */
static void release_rings(jm_run *run)
{
    if (!run->has_rings) return;
    jm__track_close();
    jm__run_trace_reset();
    atomic_store(&ring_owner, 0);
    run->has_rings = false;
}

static void write_start(jm_run *run, const jm_run_options *options)
{
    jm__anchor anchor = jm__anchor_take();
    bool simulated = false;
    jm__run_facts_write(run->writer, options->command);
    jm__run_facts_write_findings(run->writer, jm__sampler_inventory(run->sampler));
    for (size_t i = 0; i < run->boards.count; i++)
        simulated = simulated || run->boards.items[i].simulated;
    jm__writer_meta(run->writer, "simulated", simulated ? "1" : "0");
    if (run->folder.budget_ppm > 0)
        jm__run_facts_write_number(run->writer, "budget_ppm", run->folder.budget_ppm);
    jm__run_facts_write_number(run->writer, "start_ns", anchor.monotonic_ns);
    jm__run_facts_write_number(run->writer, "start_unix_ns", anchor.realtime_ns);
    jm__writer_anchor(run->writer, &anchor);
}

static jm_status start_thread(jm_run *run, jm_error *err)
{
    int code = jm__thread_start(&run->thread, jm__run_write, run);
    if (code != 0)
        return jm__fail(err, JM_INTERNAL, code, "pthread_create", "no thread for the writer: %s",
                        strerror(code));
    pthread_setname_np(run->thread, "joulemap-write");
    run->thread_started = true;
    return JM_OK;
}

static jm_status start(jm_run *run, const jm_run_options *options, jm_error *err)
{
    JM_TRY(make_path(run, options->path, err));
    JM_TRY(jm__writer_create(&run->writer, run->path, options->overwrite, err));
    JM_TRY(jm__writer_condense(run->writer, options->keep_s, options->max_bytes, err));
    double budget = options->budget > 0 ? options->budget : options->child_budget;
    JM_TRY(jm__run_folder_create(&run->folder, run->path, lround(1e6 * budget), err));
    if (!options->sampling_only) JM_TRY(start_rings(run, err));
    JM_TRY(start_sampler(run, options, err));
    JM_TRY(jm__run_environment_make(run, options, err));
    if (options->kernels && !options->sampling_only)
        JM_TRY(jm__run_kernels_start(run, options->kernels_required, err));
    else if (options->ranges && !options->sampling_only)
        jm__run_ranges_start(run);
    jm__run_counters_start(run, options);
    pthread_mutex_lock(&run->writer_lock); /* counters may write already */
    write_start(run, options);
    jm_status status = jm__writer_commit(run->writer, 0, err);
    pthread_mutex_unlock(&run->writer_lock);
    JM_TRY(status); /* write errors are reported before the program starts */
    return start_thread(run, err);
}

static jm_run *new_run(void)
{
    jm_run *run = calloc(1, sizeof *run);
    if (run == NULL) return NULL;
    jm__condition_init(&run->changed);
    pthread_mutex_init(&run->lock, NULL);
    pthread_mutex_init(&run->writer_lock, NULL);
    pthread_mutex_init(&run->queue.lock, NULL);
    run->owner = getpid();
    return run;
}

/* Ends the writer's thread, and then the counter source, which it uses. */
static void end_threads(jm_run *run)
{
    if (run->thread_started) {
        pthread_mutex_lock(&run->lock);
        run->stop = true;
        pthread_cond_broadcast(&run->changed);
        pthread_mutex_unlock(&run->lock);
        pthread_join(run->thread, NULL);
        run->thread_started = false;
    }
    jm__counter_source_free(run->counters);
    run->counters = NULL;
}

/* Wakes all waiters: everything is in the recording, or never will be. */
static void announce_end(jm_run *run, const jm_error *failure)
{
    pthread_mutex_lock(&run->lock);
    run->ended = true;
    if (failure != NULL) run->failure = *failure;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

/* Ends a run without a recording. */
static void abandon(jm_run *run)
{
    jm__budget_leave(run);
    atomic_store(&run->stopped, true);
    announce_end(run, NULL);
    jm__run_release_followed(run);
    jm__sampler_stop(run->sampler);
    end_threads(run);
    if (run->stop_kernels != NULL) run->stop_kernels();
    release_rings(run);
    jm__sampler_free(
        run->sampler); /* before the file is removed: a simulated board writes its truth file beside it */
    run->sampler = NULL;
    jm__writer_discard(run->writer);
    run->writer = NULL;
    jm_run_free(run);
}

jm_status jm_run_start(jm_run **out, const jm_run_options *options, jm_error *err)
{
    jm_run_options own_options;
    JM_TRY(jm__options_copy(&own_options, sizeof own_options, options, "jm_run_start", err));
    JM_TRY(jm__budget_check(own_options.budget, err));
    JM_TRY(jm__budget_check(own_options.child_budget, err));
    jm_run *run = new_run();
    char recording[PATH_MAX];
    if (run == NULL) return jm__no_memory(err, "jm_run_start");
    bool found = jm__run_folder_find(&run->folder, recording, sizeof recording);
    jm_status status = JM_OK;
    if (found) {
        run->attached = true;
        if (recording[0] != '\0') status = make_path(run, recording, err);
    } else if (own_options.may_wait && jm__timeline_is_dormant()) {
        run->attached = run->dormant = true; /* an attaching recorder records it; it takes no readings */
        jm__run_wait(run, true);
    } else {
        status = start(run, &own_options, err);
    }
    if (status != JM_OK) {
        abandon(run);
        return status;
    }
    jm__run_trace_begin(run);
    jm__budget_start(run, own_options.budget > 0 ? own_options.budget
                          : run->attached        ? 1e-6 * (double)run->folder.budget_ppm
                                                 : 0);
    *out = run;
    return JM_OK;
}

/* ---- using it */

static jm_status fail_foreign(const char *call, jm_error *err)
{
    return jm__fail(err, JM_NOT_SUPPORTED, 0, call,
                    "this run belongs to the process that forked this one: only that process can use it");
}

int64_t jm_now_ns(void)
{
    return jm__now_ns();
}

bool jm_run_attached(const jm_run *run)
{
    return run->attached;
}

bool jm_run_dormant(const jm_run *run)
{
    return run->dormant;
}

const char *jm_run_kernels_missing(const jm_run *run)
{
    return run->kernels_missing[0] != '\0' ? run->kernels_missing : NULL;
}

const char *const *jm_run_environment(const jm_run *run)
{
    static const char *const none[] = {NULL};
    return run->environment == NULL ? none : (const char *const *)run->environment;
}

static jm_status fail_late(int timeout_ms, jm_error *err)
{
    return jm__fail(err, JM_BUSY, 0, "jm_run_flush", "the recorder has not caught up within %d ms",
                    timeout_ms);
}

static jm_status flush_own(jm_run *run, int timeout_ms, jm_error *err)
{
    if (run->flush_kernels != NULL) run->flush_kernels();
    int64_t requested_ns = jm__now_ns();
    const struct timespec until = jm__clock_after(CLOCK_MONOTONIC, timeout_ms * JM_NS_PER_MS);
    pthread_mutex_lock(&run->lock);
    bool late = run->ended; /* the stop has reported its result */
    if (run->requested_ns < requested_ns) run->requested_ns = requested_ns;
    pthread_cond_broadcast(&run->changed);
    int code = 0;
    while (code == 0 && run->complete_ns < requested_ns && run->failure.status == JM_OK && !run->ended)
        code = pthread_cond_timedwait(&run->changed, &run->lock, &until);
    bool done = run->complete_ns >= requested_ns || run->ended;
    jm_error failure = run->failure;
    pthread_mutex_unlock(&run->lock);
    if (late || (done && failure.status == JM_OK)) return JM_OK;
    if (failure.status == JM_OK) return fail_late(timeout_ms, err);
    if (err != NULL) *err = failure;
    return failure.status;
}

static jm_status flush_attached(jm_run *run, int timeout_ms, jm_error *err)
{
    jm_recording *recording = NULL;
    int64_t requested_ns = jm__now_ns(), complete_ns = -1;
    JM_TRY(jm_run_recording(run, &recording, err));
    jm__run_folder_request_flush(&run->folder);
    while (jm__now_ns() - requested_ns < timeout_ms * JM_NS_PER_MS) {
        jm__sleep_ns(20 * JM_NS_PER_MS);
        JM_TRY(jm__recording_complete_ns(recording, &complete_ns, err));
        if (complete_ns >= requested_ns) return JM_OK;
    }
    return fail_late(timeout_ms, err);
}

jm_status jm_run_flush(jm_run *run, int timeout_ms, jm_error *err)
{
    if (jm__run_is_foreign(run))
        return atomic_load(&run->stopped) ? JM_OK : fail_foreign("jm_run_flush", err);
    if (run->dormant) return JM_OK; /* nothing is buffered */
    return run->attached ? flush_attached(run, timeout_ms, err) : flush_own(run, timeout_ms, err);
}

jm_status jm_run_complete_ns(jm_run *run, int64_t *complete_ns, jm_error *err)
{
    if (jm__run_is_foreign(run)) return fail_foreign("jm_run_complete_ns", err);
    if (run->dormant) {
        *complete_ns = 0;
        return JM_OK;
    }
    if (run->attached) {
        jm_recording *recording = NULL;
        JM_TRY(jm_run_recording(run, &recording, err));
        JM_TRY(jm__recording_complete_ns(recording, complete_ns, err));
        if (*complete_ns < 0) *complete_ns = 0; /* nothing was committed yet */
        return JM_OK;
    }
    pthread_mutex_lock(&run->lock);
    *complete_ns = run->complete_ns;
    jm_error failure = run->failure;
    pthread_mutex_unlock(&run->lock);
    if (failure.status == JM_OK) return JM_OK;
    if (err != NULL) *err = failure;
    return failure.status;
}

jm_status jm_run_recording(jm_run *run, jm_recording **out, jm_error *err)
{
    if (jm__run_is_foreign(run)) return fail_foreign("jm_run_recording", err);
    if (run->dormant) {
        jm__fail(err, JM_NOT_SUPPORTED, 0, "jm_run_recording",
                 "this program was started dormant: it keeps no recording of its own");
        return jm__hint(err, JM_NOT_SUPPORTED,
                        "`joulemap attach %d` records it; without JOULEMAP_DORMANT it records itself",
                        (int)getpid());
    }
    if (run->path == NULL && run->attached)
        return jm__fail(err, JM_NOT_SUPPORTED, 0, "jm_run_recording",
                        "the recorder above this process keeps its recording in memory");
    pthread_mutex_lock(&run->writer_lock);
    jm_status status = JM_OK;
    if (run->path == NULL)
        status = jm__writer_recording(run->writer, out, err);
    else if (run->recording == NULL)
        status = jm_recording_open(&run->recording, run->path, err);
    if (status == JM_OK && run->path != NULL) *out = run->recording;
    pthread_mutex_unlock(&run->writer_lock);
    return status;
}

const char *jm_run_path(jm_run *run)
{
    return jm__run_is_foreign(run) ? NULL : run->path;
}

jm_status jm_run_note(jm_run *run, const char *key, const char *value, jm_error *err)
{
    if (jm__run_is_foreign(run)) return fail_foreign("jm_run_note", err);
    if (run->attached) return JM_OK;
    pthread_mutex_lock(&run->writer_lock);
    if (run->writer != NULL && !atomic_load(&run->stopped)) jm__writer_meta(run->writer, key, value);
    pthread_mutex_unlock(&run->writer_lock);
    return JM_OK;
}

/* ---- ending */

static void write_end(jm_run *run, const jm__anchor *end)
{
    jm__sampler_cost cost = jm__sampler_cost_get(run->sampler);
    jm__run_facts_write_number(run->writer, "end_ns", end->monotonic_ns);
    jm__run_facts_write_number(run->writer, "end_unix_ns", end->realtime_ns);
    jm__run_facts_write_number(run->writer, "sampler_cpu_ns", cost.cpu_ns);
    jm__run_facts_write_number(run->writer, "sampler_calls", cost.calls);
    jm__run_facts_write_number(run->writer, "sampler_call_ns", cost.call_ns);
    jm__writer_anchor(run->writer, end);
}

/* A recording in memory stays for its readers until jm_run_free. */
static jm_status end_writer(jm_run *run, int64_t end_ns, jm_error *err)
{
    /* The last complete_ns may be later than the end: readings arrived while waiting for the writer. */
    int64_t complete_ns = end_ns > run->complete_ns ? end_ns : run->complete_ns;
    jm_status status = jm__writer_commit(run->writer, complete_ns, err);
    pthread_mutex_lock(&run->lock);
    if (status == JM_OK) run->complete_ns = complete_ns; /* for flushes that are still waiting */
    pthread_mutex_unlock(&run->lock);
    if (run->path == NULL) return status;
    status = jm__writer_close(run->writer, err);
    run->writer = NULL;
    return status;
}

/* Another thread is stopping the run. */
static void wait_for_end(jm_run *run)
{
    pthread_mutex_lock(&run->lock);
    while (!run->ended)
        pthread_cond_wait(&run->changed, &run->lock);
    pthread_mutex_unlock(&run->lock);
}

static jm_status write_rest(jm_run *run, const jm__anchor *end, jm_error *err)
{
    pthread_mutex_lock(&run->writer_lock);
    jm__run_take_rows(run);
    jm__run_take_last(run);
    write_end(run, end);
    jm_status status = end_writer(run, end->monotonic_ns, err);
    pthread_mutex_unlock(&run->writer_lock);
    return status;
}

jm_status jm_run_stop(jm_run *run, jm_error *err)
{
    if (jm__run_is_foreign(run)) return JM_OK;
    jm__budget_end(run);
    jm__run_wait(run, false);
    if (run->attached) return JM_OK;
    if (atomic_exchange(&run->stopped, true)) {
        wait_for_end(run);
        return JM_OK;
    }
    jm__run_release_followed(run); /* the rings are still being emptied */
    jm__anchor end = jm__anchor_take();
    if (run->counters != NULL) jm__counter_source_stop(run->counters);
    jm__sampler_stop(run->sampler); /* takes the last edge readings */
    end_threads(run);
    if (run->stop_kernels != NULL) run->stop_kernels();
    release_rings(run);
    jm_error failure = {0};
    failure.status = write_rest(run, &end, &failure);
    jm__sampler_free(run->sampler); /* the next run of this process may open other boards */
    run->sampler = NULL;
    jm__run_folder_remove(&run->folder);
    announce_end(run, &failure);
    if (failure.status != JM_OK && err != NULL) *err = failure;
    return failure.status;
}

void jm_run_keep(jm_run *run)
{
    if (run->attached || jm__run_is_foreign(run)) return;
    pthread_mutex_lock(&run->writer_lock);
    if (run->writer != NULL) jm__writer_keep(run->writer);
    pthread_mutex_unlock(&run->writer_lock);
}

void jm_run_discard(jm_run *run)
{
    if (run == NULL || jm__run_is_foreign(run)) return;
    if (atomic_load(&run->stopped) || run->attached)
        jm_run_free(run);
    else
        abandon(run);
}

void jm_run_free(jm_run *run)
{
    if (run == NULL || jm__run_is_foreign(run))
        return; /* a forked child must not touch the parent's files: it keeps its copy of the memory */
    jm_run_stop(run, NULL);
    release_rings(run);
    jm_recording_close(run->recording);
    jm__writer_close(run->writer, NULL);
    jm__collector_free(run->collector);
    jm__sampler_free(run->sampler);
    if (!run->attached) jm__run_folder_remove(&run->folder);
    for (char **variable = run->environment; variable != NULL && *variable != NULL; variable++)
        free(*variable);
    free(run->environment);
    jm__strbuf_free(&run->sockets);
    jm__run_rows_free(&run->queue.rows);
    jm__run_rows_free(&run->taken);
    jm__vec_free(&run->boards);
    pthread_mutex_destroy(&run->queue.lock);
    pthread_mutex_destroy(&run->writer_lock);
    pthread_mutex_destroy(&run->lock);
    pthread_cond_destroy(&run->changed);
    free(run->path);
    free(run);
}
