/* The run that this process is in, the rings of its threads, and its names. */
#include "timeline/track.h"

#include "base/clock.h"
#include "timeline/door.h"
#include "timeline/dormant.h"
#include "timeline/lost.h"
#include "timeline/run_above.h"
#include "timeline/run_variable.h"
#include "timeline/track_parts.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPAN_CAPACITY       65536u  /* 2 MiB */
#define LAUNCH_CAPACITY     262144u /* with launches, at most 250,000 a second */
#define SPAN_CAPACITY_LEAST 256u
#define SPAN_SHARE          16u   /* of /dev/shm: many threads must fit */
#define MISSES_BETWEEN      1024u /* of a thread without a ring, before it asks for one again: 20 us */
/* Threads that are just writing when a recorder leaves have done so by then, and it still reads. */
#define LEAVING_NS   (2 * JM_NS_PER_MS)
#define LOCK_WAIT_NS (100 * JM_NS_PER_MS)

/* Changes with each run and fork; see track_parts.h. */
#define GENERATION_UNKNOWN 1u /* nobody has looked into the environment */
_Atomic uint32_t jm__track_generation = GENERATION_UNKNOWN;
_Thread_local jm__lane *jm__own_lane;
_Thread_local uint32_t jm__own_generation;
static _Thread_local uint32_t own_misses; /* records of this thread without a ring */

/* Guards all below. Taken by the first record of a thread in a run, by names and marks, never by begin and
 * end. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t last_generation = GENERATION_UNKNOWN;
static char run_path[PATH_MAX];
static bool joined; /* the run is one that a recorder called this process into; its children are not */
static jm__names names;
static jm__lane *free_lanes;
static pthread_key_t exit_key;
static int exit_key_error;

static void lane_drop(jm__lane *gone)
{
    jm__ring_close(&gone->ring, gone->pid == getpid());
    free(gone);
}

static void drop_free_lanes(void)
{
    while (free_lanes != NULL) {
        jm__lane *next = free_lanes->next;
        lane_drop(free_lanes);
        free_lanes = next;
    }
}

static void on_thread_exit(void *value)
{
    jm__lane *left = value;
    jm__own_lane = NULL;
    jm__own_generation = 0;
    pthread_mutex_lock(&mutex);
    if (left->generation == atomic_load_explicit(&jm__track_generation, memory_order_relaxed)) {
        left->next = free_lanes;
        free_lanes = left;
    } else {
        lane_drop(left);
    }
    pthread_mutex_unlock(&mutex);
}

static void before_fork(void)
{
    pthread_mutex_lock(&mutex);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&mutex);
}

/* The child is a new process with rings and names of its own; it opens them when it first has something to
 * say. */
static void after_fork_in_child(void)
{
    free_lanes = NULL; /* the parent's: its threads go on with them */
    jm__names_close(&names);
    jm__lost_forget();
    jm__track_keep(JM_TRACK_ALL); /* nobody in it will say when to go on */
    if (run_path[0] != '\0' && !joined) {
        atomic_store_explicit(&jm__track_generation, ++last_generation, memory_order_relaxed);
    } else if (jm__dormant_wanted()) {
        run_path[0] = '\0'; /* dormant itself: its first span will see to it that it can be called */
        joined = false;
        atomic_store_explicit(&jm__track_generation, GENERATION_UNKNOWN, memory_order_relaxed);
    }
    pthread_mutex_unlock(&mutex);
}

/* Not at the first use: a thread that forks beside it would have a child whose lock nobody gives back. Before
 * the injected library's own, whose lock is taken first. */
static __attribute__((constructor(101))) void set_up_at_load(void)
{
    exit_key_error = pthread_key_create(&exit_key, on_thread_exit);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* The folder is there and ours to write into: it is full, or this process has no descriptor left. */
static bool may_come_back(const char *run_dir)
{
    return access(run_dir, W_OK | X_OK) == 0;
}

/* `patient`: a run whose names file cannot be made goes on, and what it loses is counted. */
static int open_locked(const char *run_dir, bool patient)
{
    size_t length = strlen(run_dir);
    if (length == 0 || length >= sizeof run_path) return length == 0 ? ENOENT : ENAMETOOLONG;
    if (strcmp(run_dir, run_path) == 0) return 0; /* in it already: what is open goes on */
    int error = jm__names_open(&names, run_dir, jm__track_writer);
    if (error == EACCES || error == EPERM) jm__door_knock(run_dir);
    if (error != 0 && !(patient && may_come_back(run_dir))) return error;
    drop_free_lanes();
    memcpy(run_path, run_dir, length + 1);
    jm__lost_leave();
    jm__lost_join(run_path);
    atomic_store_explicit(&jm__track_generation, ++last_generation, memory_order_relaxed);
    return 0;
}

static void close_locked(void)
{
    atomic_store_explicit(&jm__track_generation, 0, memory_order_relaxed);
    run_path[0] = '\0';
    joined = false;
    drop_free_lanes();
    jm__names_close(&names);
    jm__lost_leave();
}

/* The first one to ask finds out whether a recorder above us made a run. */
static void look_into_environment_locked(void)
{
    if (atomic_load_explicit(&jm__track_generation, memory_order_relaxed) != GENERATION_UNKNOWN) return;
    char buffer[PATH_MAX];
    const char *run_dir = jm__run_variable(buffer, sizeof buffer);
    if (run_dir != NULL && open_locked(run_dir, true) == 0) return;
    close_locked();
    if (!jm__dormant_wanted()) return;
    bool kernels; /* not from here */
    joined = jm__run_above(buffer, sizeof buffer, &kernels) && open_locked(buffer, true) == 0;
    jm__dormant_begin(joined ? buffer : NULL);
}

uint32_t jm__track_run(void)
{
    uint32_t generation = atomic_load_explicit(&jm__track_generation, memory_order_relaxed);
    return generation == GENERATION_UNKNOWN ? 0 : generation;
}

void jm__track_look(void)
{
    pthread_mutex_lock(&mutex);
    look_into_environment_locked();
    pthread_mutex_unlock(&mutex);
}

int jm__track_join(const char *run_dir)
{
    pthread_mutex_lock(&mutex);
    look_into_environment_locked();
    bool is_in = joined && strcmp(run_path, run_dir) == 0; /* by itself */
    int error = run_path[0] != '\0' && !is_in ? EBUSY : 0;
    if (error == 0 && !is_in) {
        jm__track_keep(JM_TRACK_ALL);
        error = open_locked(run_dir, false);
        joined = error == 0;
    }
    pthread_mutex_unlock(&mutex);
    return error;
}

void jm__track_leave(const char *run_dir)
{
    pthread_mutex_lock(&mutex);
    bool leaves = joined && strcmp(run_path, run_dir) == 0;
    if (leaves) close_locked();
    pthread_mutex_unlock(&mutex);
    if (leaves) jm__sleep_ns(LEAVING_NS);
}

int jm__track_open(const char *run_dir)
{
    pthread_mutex_lock(&mutex);
    jm__track_keep(JM_TRACK_ALL);
    int error = open_locked(run_dir, false);
    if (error == 0) joined = false;
    pthread_mutex_unlock(&mutex);
    return error;
}

void jm__track_close(void)
{
    pthread_mutex_lock(&mutex);
    close_locked();
    pthread_mutex_unlock(&mutex);
    if (jm__own_lane != NULL) { /* this thread's ring at least can be told to be over */
        jm__lane *left = jm__own_lane;
        jm__own_lane = NULL;
        pthread_setspecific(exit_key, NULL);
        lane_drop(left);
    }
}

/* A lane left by a thread that is gone: say in it whose records follow. */
static jm__lane *take_free_lane_locked(void)
{
    jm__lane *taken = free_lanes;
    if (taken == NULL) return NULL;
    free_lanes = taken->next;
    jm_ring_span record = {.t_ns = jm__now_ns(), .id = (uint64_t)syscall(SYS_gettid), .op = JM_RING_THREAD};
    if (!jm__ring_push_span(&taken->ring, &record,
                            0)) { /* full: its records would pass for the old thread's */
        lane_drop(taken);
        return NULL;
    }
    return taken;
}

static jm__lane *make_lane_locked(uint32_t capacity)
{
    jm__lane *made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    jm__ring_options options = {.run_dir = run_path,
                                .writer = jm__track_writer,
                                .names_file = names.file_number,
                                .record_size = sizeof(jm_ring_span),
                                .capacity = capacity,
                                .capacity_least = SPAN_CAPACITY_LEAST,
                                .share = SPAN_SHARE};
    if (jm__ring_create(&made->ring, &options) != 0) {
        free(made);
        return NULL;
    }
    made->pid = getpid();
    made->next_id = ((uint64_t)made->ring.number + 1) << 40;
    return made;
}

/* The first record of this thread in this run. */
static jm__lane *lane_attach_locked(uint32_t capacity)
{
    look_into_environment_locked();
    uint32_t now = atomic_load_explicit(&jm__track_generation, memory_order_relaxed);
    if (jm__own_lane != NULL) lane_drop(jm__own_lane);
    jm__own_lane = NULL;
    if (now != 0) {
        jm__lost_join(run_path);
        if (names.path == NULL) jm__names_open(&names, run_path, jm__track_writer); /* after a fork */
        jm__own_lane = take_free_lane_locked();
        if (jm__own_lane == NULL) jm__own_lane = make_lane_locked(capacity);
        if (jm__own_lane != NULL) jm__own_lane->generation = now;
    }
    jm__own_generation = now;
    if (exit_key_error == 0 && now != 0) pthread_setspecific(exit_key, jm__own_lane);
    return jm__own_lane;
}

jm__lane *jm__lane_attach(void)
{
    pthread_mutex_lock(&mutex);
    jm__lane *mine = lane_attach_locked(SPAN_CAPACITY);
    pthread_mutex_unlock(&mutex);
    return mine;
}

/* No ring for this record: now and then ask again, there may be room by now. */
static bool is_time_to_ask(void)
{
    own_misses++;
    bool is_it = (own_misses & (own_misses - 1)) == 0 || own_misses % MISSES_BETWEEN == 0;
    return is_it && own_misses > 1;
}

jm__lane *jm__lane_miss(void)
{
    jm__lane *mine = is_time_to_ask() ? jm__lane_attach() : NULL;
    if (mine == NULL) jm__lost_add(JM_LOST_SPANS, 1);
    return mine;
}

/* The run that this thread's lane was of is over. */
jm__lane *jm__lane_leave(void)
{
    pthread_mutex_lock(&mutex);
    jm__lane *left = jm__own_lane;
    jm__own_lane = NULL;
    jm__own_generation = 0;
    if (exit_key_error == 0) pthread_setspecific(exit_key, NULL);
    if (left != NULL) lane_drop(left);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* The driver's locks may be held around this, and a thread that forks may hold ours while it waits for them:
 * so ours is not waited for longer than it takes other threads to get their rings. */
static bool lock_for_a_while(void)
{
    if (pthread_mutex_trylock(&mutex) == 0) return true;
    const struct timespec until = jm__clock_after(CLOCK_REALTIME, LOCK_WAIT_NS);
    return pthread_mutex_timedlock(&mutex, &until) == 0;
}

jm__lane *jm__lane_in_callback(void)
{
    uint32_t now = atomic_load_explicit(&jm__track_generation, memory_order_relaxed);
    if (jm__own_generation == now && (jm__own_lane != NULL || !is_time_to_ask())) return jm__own_lane;
    if (!lock_for_a_while()) return NULL;
    jm__lane *mine = lane_attach_locked(LAUNCH_CAPACITY);
    pthread_mutex_unlock(&mutex);
    return mine;
}

jm__names *jm__track_names_lock(bool *in_run)
{
    pthread_mutex_lock(&mutex);
    look_into_environment_locked();
    *in_run = run_path[0] != '\0' || jm__dormant_wanted(); /* numbers will hold in runs to come */
    if (names.path == NULL && run_path[0] != '\0')         /* after a fork */
        jm__names_open(&names, run_path, jm__track_writer);
    return &names;
}

void jm__track_names_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}
