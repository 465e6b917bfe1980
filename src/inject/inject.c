/* The life of the injected library: start, the end, and what a fork changes. */
#include "inject/inject.h"

#include "inject/activity.h"
#include "inject/cupti.h"
#include "inject/outlet.h"
#include "record/timeline/dormant.h"
#include "record/timeline/ring.h"
#include "record/timeline/ring_format.h"
#include "record/timeline/track.h"
#include "record/timeline/which_run.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Guards start and stop. The program waits no longer for it than this: who hangs in CUPTI may hold it. */
#define HELD_MOST_NS (5 * JM_NS_PER_S)
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool forks_with_it;
static char run_path[PATH_MAX]; /* "": not started */
static int last_result = JM_INJECT_NO_RUN;
static bool registered;
static bool reached_cupti; /* the last start came as far */
/* The process ends: nothing is started any more, and CUPTI left alone by `recover`. */
static _Atomic bool over;
static bool hangs;          /* likewise, until the flusher is back out of CUPTI */
static _Atomic pid_t owner; /* whose exit ends the run; a thread that waits for recorders may say so */

static bool hold(void)
{
    static _Atomic bool is_late;
    return jm__lock_for(&mutex, &is_late, HELD_MOST_NS);
}

static void before_fork(void)
{
    forks_with_it = hold();
}

static void after_fork_in_parent(void)
{
    if (forks_with_it) pthread_mutex_unlock(&mutex);
}

static void after_fork_in_child(void)
{
    jm__activity_forget(); /* also after a run: CUPTI may still be the parent's */
    jm__flusher_forget();
    run_path[0] = '\0';
    hangs = false;
    pthread_mutex_init(&mutex, NULL); /* whoever holds it is not here, unless it is we */
}

static void stop_locked(bool exiting)
{
    if (run_path[0] == '\0') return;
    run_path[0] = '\0';
    hangs = !jm__flusher_stop();
    if (hangs)
        jm__outlet_note("CUPTI did not return: work since it last told of any is missing.");
    else
        jm__activity_stop(exiting);
}

/* The thread that hung in CUPTI as its run ended is out of it: what was left behind is cleared away. */
static void recover(void)
{
    pthread_mutex_lock(&mutex);
    if (hangs && !over) jm__activity_stop(false);
    hangs = false;
    pthread_mutex_unlock(&mutex);
}

static void stop(bool exiting)
{
    if (hold()) {
        stop_locked(exiting);
        pthread_mutex_unlock(&mutex);
    }
    jm__track_close();
}

static void on_exit_of_process(void)
{
    if (owner != getpid()) return;
    over = true; /* first: who hangs in CUPTI may be let out by its end */
    jm__detach_never();
    if (!jm__detach_hold_for_a_while()) return; /* one that is under way ends first */
    jm__detach_allow();
    stop(true);
}

/* `open`: jm__track_open or jm__track_join. */
static int start_locked(const char *run_dir, int (*open)(const char *run_dir))
{
    size_t length = strlen(run_dir);
    if (strcmp(run_path, run_dir) == 0) return last_result;
    if (length == 0 || length >= sizeof run_path) return JM_INJECT_NO_RUN;
    stop_locked(false);
    reached_cupti = false;
    if (over || hangs) return JM_INJECT_NO_RUN;
    if (open(run_dir) != 0) {
        if (jm__lost_join(run_dir)) jm__lost_add(JM_LOST_PROGRAMS, 1);
        return JM_INJECT_NO_RUN;
    }
    owner = getpid(); /* from here on: who exits meanwhile waits for the start, and ends it */
    if (!registered) {
        registered = true;
        /* After CUDA's own and CUPTI's: so it runs before theirs. */
        atexit(on_exit_of_process);
    }
    bool recording;
    reached_cupti = true;
    if (jm__activity_start(run_dir, &recording) != 0) return JM_INJECT_NO_RUN;
    memcpy(run_path, run_dir, length + 1);
    if (recording) jm__flusher_start(jm__activity_flush, recover);
    last_result = recording ? JM_INJECT_OK : JM_INJECT_NO_KERNELS;
    return last_result;
}

int jm_inject_start(const char *run_dir)
{
    if (run_dir == NULL || !hold()) return JM_INJECT_NO_RUN;
    int result = start_locked(run_dir, jm__track_open);
    pthread_mutex_unlock(&mutex);
    return result;
}

int jm_inject_ranges(const char *run_dir)
{
    return run_dir != NULL && jm__track_open(run_dir) == 0 ? JM_INJECT_OK : JM_INJECT_NO_RUN;
}

/* "": nothing of this library's own. */
static const char *reason_locked(void)
{
    if (over) return "it is ending";
    if (hangs) return "a thread of the last recording still waits for CUPTI";
    return reached_cupti ? jm__activity_reason() : "";
}

const char *jm_inject_reason(void)
{
    if (!hold()) return "CUPTI has not returned from the end of the last recording";
    const char *reason = reason_locked();
    pthread_mutex_unlock(&mutex);
    return reason;
}

int jm_inject_trace(int on)
{
    bool held = hold(), fine = held && (run_path[0] == '\0' || jm__activity_trace(on != 0));
    if (held) pthread_mutex_unlock(&mutex);
    jm__track_keep(on != 0 ? JM_TRACK_ALL : 0);
    return fine ? JM_INJECT_OK : JM_INJECT_NO_KERNELS;
}

int jm_inject_busy(void)
{
    if (pthread_mutex_trylock(&mutex) != 0) return 1;
    pthread_mutex_unlock(&mutex);
    return 0;
}

void jm_inject_flush(void)
{
    if (!hold()) return;
    if (run_path[0] != '\0') jm__activity_flush(false);
    pthread_mutex_unlock(&mutex);
}

void jm_inject_stop(void)
{
    stop(false);
}

/* ---- where the program was started dormant */

static jm__dormant_answer join_locked(const char *run_dir, bool kernels, char *why, size_t why_size)
{
    if (run_path[0] != '\0' && strcmp(run_path, run_dir) != 0) return JM_DORMANT_BUSY;
    int error = kernels ? 0 : jm__track_join(run_dir);
    int result = !kernels ? JM_INJECT_OK : start_locked(run_dir, jm__track_join);
    if (error == EBUSY) return JM_DORMANT_BUSY;
    if (error == 0 && result == JM_INJECT_OK) return JM_DORMANT_RECORDING;
    if (kernels) snprintf(why, why_size, "%s", reason_locked());
    if (result == JM_INJECT_NO_KERNELS) return JM_DORMANT_NO_KERNELS;
    if (kernels && hangs) return JM_DORMANT_LATER;
    if (why[0] == '\0') snprintf(why, why_size, "it cannot write into %s", run_dir);
    jm__track_leave(run_dir);
    return JM_DORMANT_FAILED;
}

static jm__dormant_answer join(const char *run_dir, bool kernels, char *why, size_t why_size)
{
    pthread_mutex_lock(&mutex);
    jm__dormant_answer how = join_locked(run_dir, kernels, why, why_size);
    pthread_mutex_unlock(&mutex);
    return how;
}

static void leave(const char *run_dir)
{
    pthread_mutex_lock(&mutex);
    if (strcmp(run_path, run_dir) == 0) stop_locked(false);
    pthread_mutex_unlock(&mutex);
    jm__track_leave(run_dir);
}

static const jm__dormant_part part = {JM_WRITER_NVTX, join, leave};

static __attribute__((constructor)) void set_up_at_load(void)
{
    jm__track_part_set(&part);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* CUDA has threads, and work comes without ranges. */
static void begin_dormant(void)
{
    char above[PATH_MAX];
    bool kernels;
    jm__track_look(); /* ranges enter the run above, if there is one */
    jm__dormant_needs_thread(true);
    if (!jm__run_above(above, sizeof above, &kernels) || !kernels || pthread_mutex_trylock(&mutex) != 0)
        return;
    start_locked(above, jm__track_join);
    pthread_mutex_unlock(&mutex);
}

/* The CUDA driver calls this in cuInit, before any module is loaded. It is told "all is well" in any case:
 * the program goes on with us or without. */
int InitializeInjection(void)
{
    char buffer[PATH_MAX];
    const char *run_dir = jm__start_variable(JM_START_RUN, buffer, sizeof buffer);
    if (run_dir == NULL && jm__dormant_wanted()) begin_dormant();
    /* Held: a start is under way, perhaps on this very thread, and woke the driver. */
    if (run_dir == NULL || pthread_mutex_trylock(&mutex) != 0) return 1;
    start_locked(run_dir, jm__track_open);
    pthread_mutex_unlock(&mutex);
    return 1;
}
