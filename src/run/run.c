/* A run while it is at work: what it says of itself, and what is asked of it. */
#include "base/clock.h"
#include "recording/recording.h"
#include "run/inside.h"

#include <stdatomic.h>

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
    int64_t wanted_ns = jm__now_ns(), until_ns = wanted_ns + timeout_ms * JM_NS_PER_MS;
    struct timespec until = {until_ns / JM_NS_PER_S, until_ns % JM_NS_PER_S};
    pthread_mutex_lock(&run->lock);
    bool late = run->ended; /* the stop has told how it went */
    if (run->wanted_ns < wanted_ns) run->wanted_ns = wanted_ns;
    pthread_cond_broadcast(&run->changed);
    int code = 0;
    while (code == 0 && run->complete_ns < wanted_ns && run->failure.status == JM_OK && !run->ended)
        code = pthread_cond_timedwait(&run->changed, &run->lock, &until);
    bool done = run->complete_ns >= wanted_ns || run->ended;
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
    int64_t wanted_ns = jm__now_ns(), complete_ns = -1;
    JM_TRY(jm_run_recording(run, &recording, err));
    jm__run_folder_ask_flush(&run->folder);
    while (jm__now_ns() - wanted_ns < timeout_ms * JM_NS_PER_MS) {
        jm__sleep_ns(20 * JM_NS_PER_MS);
        JM_TRY(jm_run_recording(run, &recording, err)); /* there may be another part by now */
        JM_TRY(jm__recording_complete_ns(recording, &complete_ns, err));
        if (complete_ns >= wanted_ns) return JM_OK;
    }
    return fail_late(timeout_ms, err);
}

jm_status jm_run_flush(jm_run *run, int timeout_ms, jm_error *err)
{
    if (jm__run_is_foreign(run))
        return atomic_load(&run->stopped) ? JM_OK : fail_foreign("jm_run_flush", err);
    if (run->dormant) return JM_OK; /* nothing is kept back */
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
        jm_status status = jm__fail(err, JM_NOT_SUPPORTED, 0, "jm_run_recording",
                                    "this program was started dormant: it keeps no recording of its own");
        return jm__hint(err, status,
                        "`joulemap attach %d` records it; without JOULEMAP_DORMANT it records itself",
                        (int)getpid());
    }
    if (run->path == NULL && run->attached)
        return jm__fail(err, JM_NOT_SUPPORTED, 0, "jm_run_recording",
                        "the recorder above this process keeps its recording in memory");
    pthread_mutex_lock(&run->writer_lock);
    if (run->attached) jm__run_follow_recorder(run);
    jm_status status = JM_OK;
    if (run->path == NULL)
        status = jm__writer_recording(run->writer, out, err);
    else if (run->recording == NULL)
        status = jm_recording_open(&run->recording, run->path, err);
    if (status == JM_OK && run->path != NULL) *out = run->recording;
    pthread_mutex_unlock(&run->writer_lock);
    return status;
}

jm_status jm_run_note(jm_run *run, const char *key, const char *value, jm_error *err)
{
    if (jm__run_is_foreign(run)) return fail_foreign("jm_run_note", err);
    if (run->attached) return JM_OK;
    pthread_mutex_lock(&run->writer_lock);
    if (run->writer != NULL && !atomic_load(&run->stopped)) jm__sinks_meta(&run->sinks, key, value);
    pthread_mutex_unlock(&run->writer_lock);
    return JM_OK;
}
