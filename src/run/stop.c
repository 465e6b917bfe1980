/* The end of a run: nothing is lost that was measured, and nothing of it stays behind. */
#include "base/clock.h"
#include "recording/recording.h"
#include "run/facts.h"
#include "run/inside.h"
#include "timeline/timeline.h"

#include <stdatomic.h>
#include <stdlib.h>

static void end_thread(jm_run *run)
{
    if (!run->thread_started) return;
    pthread_mutex_lock(&run->lock);
    run->stop = true;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
    pthread_join(run->thread, NULL);
    run->thread_started = false;
}

/* After the writer's thread, which tells it of kernels. */
static void end_counters(jm_run *run)
{
    jm__counter_source *counters = run->counters;
    run->counters = NULL;
    jm__counter_source_free(counters);
}

/* All is in the recording, or never will be: whoever waits for it need not. */
static void tell_end(jm_run *run, const jm_error *failure)
{
    pthread_mutex_lock(&run->lock);
    run->ended = true;
    if (failure != NULL) run->failure = *failure;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

void jm__run_abandon(jm_run *run)
{
    jm__budget_leave(run);
    atomic_store(&run->stopped, true);
    tell_end(run, NULL);
    jm__run_let_go(run);
    jm__sampler_stop(run->sampler);
    end_thread(run);
    end_counters(run);
    if (run->stop_kernels != NULL) run->stop_kernels();
    jm__run_release_rings(run);
    jm__sampler_free(run->sampler); /* before the file goes: a simulated board writes its truth beside it */
    run->sampler = NULL;
    jm__writer_discard(run->writer);
    run->writer = NULL;
    jm_run_free(run);
}

static void write_end(jm_run *run, const jm__anchor *end)
{
    jm__sampler_cost cost = jm__sampler_cost_get(run->sampler), told = jm__writer_cost_told(run->writer);
    jm__run_facts_write_number(&run->sinks, "end_ns", end->monotonic_ns);
    jm__run_facts_write_number(&run->sinks, "end_unix_ns", end->realtime_ns);
    jm__run_facts_write_number(&run->sinks, "sampler_cpu_ns", cost.cpu_ns - told.cpu_ns);
    jm__run_facts_write_number(&run->sinks, "sampler_calls", cost.calls - told.calls);
    jm__run_facts_write_number(&run->sinks, "sampler_call_ns", cost.call_ns - told.call_ns);
    jm__sinks_anchor(&run->sinks, end);
}

/* A recording in memory stays for its readers until jm_run_free. */
static jm_status end_writer(jm_run *run, int64_t end_ns, jm_error *err)
{
    /* What was promised last may reach beyond the end: readings came in while the writer was waited for. */
    int64_t complete_ns = end_ns > run->complete_ns ? end_ns : run->complete_ns;
    jm_status status = jm__sinks_commit(&run->sinks, complete_ns, err);
    pthread_mutex_lock(&run->lock);
    if (status == JM_OK) run->complete_ns = complete_ns; /* who waits for it need not know of the stop */
    pthread_mutex_unlock(&run->lock);
    if (run->path == NULL) return status;
    status = jm__writer_close(run->writer, err);
    run->writer = NULL;
    run->sinks.count = 0;
    return status;
}

/* Another thread is at it. */
static void await_end(jm_run *run)
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
    jm__sampler_cost cost = jm__sampler_cost_get(run->sampler);
    jm__writer_cost(run->writer, &cost);
    jm__writer_settle(run->writer, end->monotonic_ns);
    jm__run_follow_parts(run);
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
        await_end(run);
        return JM_OK;
    }
    jm__run_let_go(run); /* the rings are still emptied */
    jm__anchor end = jm__anchor_take();
    if (run->counters != NULL) jm__counter_source_stop(run->counters);
    jm__sampler_stop(run->sampler); /* takes the last edge readings */
    end_thread(run);
    end_counters(run);
    if (run->stop_kernels != NULL) run->stop_kernels();
    jm__run_release_rings(run);
    jm_error failure = {0};
    failure.status = write_rest(run, &end, &failure);
    jm__sampler_free(run->sampler); /* the next run of this process may want other boards */
    run->sampler = NULL;
    jm__run_folder_remove(&run->folder);
    tell_end(run, &failure);
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
        jm__run_abandon(run);
}

void jm_run_free(jm_run *run)
{
    if (run == NULL || jm__run_is_foreign(run))
        return; /* a forked child has no right to the parent's files: it keeps
                 * its copy of the memory, and no more */
    jm_run_stop(run, NULL);
    jm__run_release_rings(run);
    jm_recording_close(run->recording);
    for (size_t i = 0; i < run->older.count; i++)
        jm_recording_close(run->older.items[i].recording);
    jm__vec_free(&run->older);
    jm__writer_close(run->writer, NULL);
    jm__collector_free(run->collector);
    jm__sampler_free(run->sampler);
    if (!run->attached) jm__run_folder_remove(&run->folder);
    for (char **variable = run->environment; variable != NULL && *variable != NULL; variable++)
        free(*variable);
    free(run->environment);
    jm__strbuf_free(&run->sockets);
    jm__run_queue_free(&run->queue);
    jm__run_rows_free(&run->taken);
    jm__vec_free(&run->boards);
    jm__vec_free(&run->boards_of_streams);
    pthread_mutex_destroy(&run->writer_lock);
    pthread_mutex_destroy(&run->path_lock);
    pthread_mutex_destroy(&run->lock);
    pthread_cond_destroy(&run->changed);
    free(run->path);
    free(run->told_path);
    free(run);
}
