/* The life of the injected library: start, a flush twice a second, the end; and what a fork changes. */
#include "inject/inject.h"

#include "base/clock.h"
#include "inject/activity.h"
#include "timeline/ring_format.h"
#include "timeline/track.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FLUSH_PERIOD_NS (JM_NS_PER_S / 2)
#define STOP_WAIT_S     2

const uint32_t jm__track_writer = JM_WRITER_NVTX;

/* Guards start and stop. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char run_path[PATH_MAX]; /* "": not started */
static int last_result = JM_INJECT_NO_RUN;
static bool registered;
static pid_t owner;

/* The flusher and how to end it. */
static pthread_mutex_t flusher_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t flusher_wakes;
static pthread_t flusher;
static bool flusher_runs, flusher_ends;

static void *flush_now_and_then(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "joulemap");
    pthread_mutex_lock(&flusher_mutex);
    while (!flusher_ends) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        int64_t until_ns = (int64_t)until.tv_nsec + FLUSH_PERIOD_NS;
        until.tv_sec += until_ns / JM_NS_PER_S;
        until.tv_nsec = until_ns % JM_NS_PER_S;
        pthread_cond_timedwait(&flusher_wakes, &flusher_mutex, &until);
        if (flusher_ends) break;
        pthread_mutex_unlock(&flusher_mutex);
        jm__activity_flush(false);
        pthread_mutex_lock(&flusher_mutex);
    }
    pthread_mutex_unlock(&flusher_mutex);
    return NULL;
}

static void start_flusher(void)
{
    pthread_condattr_t attributes;
    sigset_t all, before;
    flusher_ends = false;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&flusher_wakes, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all); /* the program's signals are for the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    flusher_runs = pthread_create(&flusher, NULL, flush_now_and_then, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* False: it hangs in CUPTI, and nothing of CUPTI may be touched any more. */
static bool stop_flusher(void)
{
    if (!flusher_runs) return true;
    pthread_mutex_lock(&flusher_mutex);
    flusher_ends = true;
    pthread_cond_signal(&flusher_wakes);
    pthread_mutex_unlock(&flusher_mutex);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STOP_WAIT_S;
    flusher_runs = false;
    return pthread_timedjoin_np(flusher, NULL, &until) == 0;
}

static void before_fork(void)
{
    pthread_mutex_lock(&mutex);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&mutex);
}

static void after_fork_in_child(void)
{
    if (run_path[0] != '\0') jm__activity_forget();
    flusher_runs = false;
    pthread_mutex_init(&flusher_mutex, NULL);
    run_path[0] = '\0';
    pthread_mutex_unlock(&mutex);
}

static void stop_locked(void)
{
    if (run_path[0] == '\0') return;
    run_path[0] = '\0';
    if (stop_flusher()) jm__activity_stop();
}

static void on_exit_of_process(void)
{
    if (owner == getpid()) jm_inject_stop();
}

static int start_locked(const char *run_dir)
{
    size_t length = strlen(run_dir);
    if (strcmp(run_path, run_dir) == 0) return last_result;
    if (length == 0 || length >= sizeof run_path) return JM_INJECT_NO_RUN;
    stop_locked();
    if (jm__track_open(run_dir) != 0) return JM_INJECT_NO_RUN;
    if (!registered) {
        registered = true;
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
        /* After CUDA's own and CUPTI's: so it runs before theirs. */
        atexit(on_exit_of_process);
    }
    bool recording;
    if (jm__activity_start(run_dir, &recording) != 0) return JM_INJECT_NO_RUN;
    memcpy(run_path, run_dir, length + 1);
    owner = getpid();
    if (recording) start_flusher();
    last_result = recording ? JM_INJECT_OK : JM_INJECT_NO_KERNELS;
    return last_result;
}

int jm_inject_start(const char *run_dir)
{
    if (run_dir == NULL) return JM_INJECT_NO_RUN;
    pthread_mutex_lock(&mutex);
    int result = start_locked(run_dir);
    pthread_mutex_unlock(&mutex);
    return result;
}

void jm_inject_flush(void)
{
    pthread_mutex_lock(&mutex);
    if (run_path[0] != '\0') jm__activity_flush(false);
    pthread_mutex_unlock(&mutex);
}

void jm_inject_stop(void)
{
    pthread_mutex_lock(&mutex);
    stop_locked();
    pthread_mutex_unlock(&mutex);
    jm__track_close();
}

/* The CUDA driver calls this in cuInit, before any module is loaded. It is told "all is well" in any case:
 * the program goes on with us or without. */
int InitializeInjection(void)
{
    const char *run_dir = getenv("JOULEMAP_RUN");
    /* Held: a start is under way, perhaps on this very thread, and woke the driver. */
    if (run_dir == NULL || pthread_mutex_trylock(&mutex) != 0) return 1;
    start_locked(run_dir);
    pthread_mutex_unlock(&mutex);
    return 1;
}
