/* The run of this process, the rings of its threads, its names, and writing records. */
#include "record/timeline/track.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "record/timeline/ring.h"
#include "record/timeline/which_run.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPAN_CAPACITY       65536u  /* 2 MiB */
#define LAUNCH_CAPACITY     262144u /* with launches, up to 250,000 a second */
#define SPAN_CAPACITY_LEAST 256u
#define SPAN_SHARE          16u   /* of /dev/shm, since many threads must fit */
#define MISSES_BETWEEN      1024u /* between attempts to get a ring, which take 20 us */
/* When a recorder leaves, threads that are writing have finished after this time, also those that the
 * scheduler has just taken off a busy CPU (2 ms were too few once, in test_attach). The recorder still reads
 * meanwhile. */
#define LEAVING_NS   (20 * JM_NS_PER_MS)
#define LOCK_WAIT_NS (100 * JM_NS_PER_MS)

/* Begins are refused while there is still space for ends: a span without its end would stay open around
 * everything later. */
#define KEPT_FOR_ENDS(capacity) ((capacity) / 8)

/* A ring and its thread. The lane of an ended thread is reused by the next new one, so thousands of short
 * threads need only as many rings as run at once. */
typedef struct lane {
    jm__ring ring;
    uint64_t
        next_id; /* ring number in the upper bits, count below: unique in the process without an atomic */
    uint32_t generation;
    pid_t pid;
    struct lane *next; /* on the free list */
} lane;

#define GENERATION_UNKNOWN 1u /* the environment was not read yet */

/* 0: this process is in no run; otherwise it changes with each run and fork. A thread with another
 * own_generation has no ring of this run yet. */
static _Atomic uint32_t generation = GENERATION_UNKNOWN;
static _Thread_local lane *own_lane;
static _Thread_local uint32_t own_generation;
static _Thread_local uint32_t own_misses; /* records of this thread that had no ring */

static _Atomic uint32_t kept_kinds = JM_TRACK_ALL;

/* Protects everything below. Taken by the first record of a thread in a run, by names and marks, but never by
 * begin and end. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t last_generation = GENERATION_UNKNOWN;
static char run_path[PATH_MAX];
static bool was_called; /* a recorder called this process into the run; its children are not in it */
static jm__names names;
static lane *free_lanes;
static pthread_key_t exit_key;
static int exit_key_error;

/* ---- the library */

static jm__dormant_answer join_core(const char *run_dir, bool kernels, char *why, size_t why_size)
{
    (void)kernels;
    int error = jm__track_join(run_dir);
    if (error == EBUSY) return JM_DORMANT_BUSY;
    if (error == 0) return JM_DORMANT_RECORDING;
    snprintf(why, why_size, "it cannot write into %s: %s", run_dir, strerror(error));
    return JM_DORMANT_FAILED;
}

static const jm__dormant_part core = {JM_WRITER_CORE, join_core, jm__track_leave};
static const jm__dormant_part *part = &core;

void jm__track_part_set(const jm__dormant_part *other)
{
    part = other;
}

/* ---- run and rings */

void jm__track_keep(uint32_t kinds)
{
    atomic_store_explicit(&kept_kinds, kinds, memory_order_relaxed);
}

static void lane_drop(lane *gone)
{
    jm__ring_close(&gone->ring, gone->pid == getpid());
    free(gone);
}

static void drop_free_lanes(void)
{
    while (free_lanes != NULL) {
        lane *next = free_lanes->next;
        lane_drop(free_lanes);
        free_lanes = next;
    }
}

static void on_thread_exit(void *value)
{
    lane *lane_left = value;
    own_lane = NULL;
    own_generation = 0;
    pthread_mutex_lock(&mutex);
    if (lane_left->generation == atomic_load_explicit(&generation, memory_order_relaxed)) {
        lane_left->next = free_lanes;
        free_lanes = lane_left;
    } else {
        lane_drop(lane_left);
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

/* The child is a new process with its own rings and names, opened at its first record. */
static void after_fork_in_child(void)
{
    free_lanes = NULL; /* they belong to threads of the parent */
    jm__names_close(&names);
    jm__lost_forget();
    jm__track_keep(JM_TRACK_ALL); /* nothing in the child would resume it */
    if (run_path[0] != '\0' && !was_called) {
        atomic_store_explicit(&generation, ++last_generation, memory_order_relaxed);
    } else if (jm__dormant_requested()) {
        run_path[0] = '\0'; /* the child is dormant: its first span makes it callable */
        was_called = false;
        atomic_store_explicit(&generation, GENERATION_UNKNOWN, memory_order_relaxed);
    }
    pthread_mutex_unlock(&mutex);
}

/* Not at first use: a concurrent fork would leave the child a lock that is never released. Runs before the
 * injected library's constructor, whose lock is taken first. */
static __attribute__((constructor(101))) void set_up_at_load(void)
{
    exit_key_error = pthread_key_create(&exit_key, on_thread_exit);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* `patient`: the run continues without a names file, and its losses are counted. */
static int open_locked(const char *run_dir, bool patient)
{
    size_t length = strlen(run_dir);
    if (length == 0 || length >= sizeof run_path) return length == 0 ? ENOENT : ENAMETOOLONG;
    if (strcmp(run_dir, run_path) == 0) return 0; /* already in it */
    int error = jm__names_open(&names, run_dir, part->writer);
    if (error == EACCES || error == EPERM) jm__door_knock(run_dir);
    /* In a writable folder only space or descriptors are missing now. */
    if (error != 0 && !(patient && access(run_dir, W_OK | X_OK) == 0)) return error;
    drop_free_lanes();
    memcpy(run_path, run_dir, length + 1);
    jm__lost_leave();
    jm__lost_join(run_path);
    atomic_store_explicit(&generation, ++last_generation, memory_order_relaxed);
    return 0;
}

static void close_locked(void)
{
    atomic_store_explicit(&generation, 0, memory_order_relaxed);
    run_path[0] = '\0';
    was_called = false;
    drop_free_lanes();
    jm__names_close(&names);
    jm__lost_leave();
}

/* On first use: is there a run of a recorder above this process? */
static void read_environment_locked(void)
{
    if (atomic_load_explicit(&generation, memory_order_relaxed) != GENERATION_UNKNOWN) return;
    char buffer[PATH_MAX];
    const char *run_dir = jm__start_variable(JM_START_RUN, buffer, sizeof buffer);
    if (run_dir != NULL && open_locked(run_dir, true) == 0) return;
    close_locked();
    if (!jm__dormant_requested()) return;
    bool kernels; /* unused here */
    was_called = jm__run_above(buffer, sizeof buffer, &kernels) && open_locked(buffer, true) == 0;
    jm__dormant_begin(part, was_called ? buffer : NULL);
}

uint32_t jm__track_run(void)
{
    uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    return now == GENERATION_UNKNOWN ? 0 : now;
}

void jm__track_look(void)
{
    pthread_mutex_lock(&mutex);
    read_environment_locked();
    pthread_mutex_unlock(&mutex);
}

int jm__track_join(const char *run_dir)
{
    pthread_mutex_lock(&mutex);
    read_environment_locked();
    bool is_in = was_called && strcmp(run_path, run_dir) == 0; /* it has joined already */
    int error = run_path[0] != '\0' && !is_in ? EBUSY : 0;
    if (error == 0 && !is_in) {
        jm__track_keep(JM_TRACK_ALL);
        error = open_locked(run_dir, false);
        was_called = error == 0;
    }
    pthread_mutex_unlock(&mutex);
    return error;
}

void jm__track_leave(const char *run_dir)
{
    pthread_mutex_lock(&mutex);
    bool leaves = was_called && strcmp(run_path, run_dir) == 0;
    if (leaves) close_locked();
    pthread_mutex_unlock(&mutex);
    if (leaves) jm__sleep_ns(LEAVING_NS);
}

int jm__track_open(const char *run_dir)
{
    pthread_mutex_lock(&mutex);
    jm__track_keep(JM_TRACK_ALL);
    int error = open_locked(run_dir, false);
    if (error == 0) was_called = false;
    pthread_mutex_unlock(&mutex);
    return error;
}

void jm__track_close(void)
{
    pthread_mutex_lock(&mutex);
    close_locked();
    pthread_mutex_unlock(&mutex);
    if (own_lane != NULL) { /* only this thread's ring can be closed */
        lane *lane_left = own_lane;
        own_lane = NULL;
        pthread_setspecific(exit_key, NULL);
        lane_drop(lane_left);
    }
}

/* Reuses the lane of an ended thread and records the new thread id in it. */
static lane *take_free_lane_locked(void)
{
    lane *reused = free_lanes;
    if (reused == NULL) return NULL;
    free_lanes = reused->next;
    jm_ring_span record = {.t_ns = jm__now_ns(), .id = (uint64_t)syscall(SYS_gettid), .op = JM_RING_THREAD};
    if (!jm__ring_push_span(&reused->ring, &record,
                            0)) { /* full: records would be assigned to the old thread */
        lane_drop(reused);
        return NULL;
    }
    return reused;
}

static lane *make_lane_locked(uint32_t capacity)
{
    lane *made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    jm__ring_options options = {.run_dir = run_path,
                                .writer = part->writer,
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

/* Gets a ring for this thread in this run. */
static lane *lane_attach_locked(uint32_t capacity)
{
    read_environment_locked();
    uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    if (own_lane != NULL) lane_drop(own_lane);
    own_lane = NULL;
    if (now != 0) {
        jm__lost_join(run_path);
        if (names.path == NULL) jm__names_open(&names, run_path, part->writer); /* after a fork */
        own_lane = take_free_lane_locked();
        if (own_lane == NULL) own_lane = make_lane_locked(capacity);
        if (own_lane != NULL) own_lane->generation = now;
    }
    own_generation = now;
    if (exit_key_error == 0 && now != 0) pthread_setspecific(exit_key, own_lane);
    return own_lane;
}

/* Out of line: rarely needed, and large on the stack. */
#define OUT_OF_LINE __attribute__((noinline))

static OUT_OF_LINE lane *lane_attach(void)
{
    pthread_mutex_lock(&mutex);
    lane *mine = lane_attach_locked(SPAN_CAPACITY);
    pthread_mutex_unlock(&mutex);
    return mine;
}

/* Without a ring: retry from time to time, there may be space by now. */
static bool is_time_to_retry(void)
{
    own_misses++;
    bool is_due = (own_misses & (own_misses - 1)) == 0 || own_misses % MISSES_BETWEEN == 0;
    return is_due && own_misses > 1;
}

/* Counts a record without a ring. */
static OUT_OF_LINE lane *lane_miss(void)
{
    lane *mine = is_time_to_retry() ? lane_attach() : NULL;
    if (mine == NULL) jm__lost_add(JM_LOST_SPANS, 1);
    return mine;
}

/* Drops the lane of a run that is over. */
static OUT_OF_LINE lane *lane_leave(void)
{
    pthread_mutex_lock(&mutex);
    lane *lane_left = own_lane;
    own_lane = NULL;
    own_generation = 0;
    if (exit_key_error == 0) pthread_setspecific(exit_key, NULL);
    if (lane_left != NULL) lane_drop(lane_left);
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* Our caller may hold locks of the driver, for which a forking thread that holds our lock may wait. So the
 * wait is bounded by the time that other threads need to get rings. */
static bool lock_for_a_while(void)
{
    if (pthread_mutex_trylock(&mutex) == 0) return true;
    const struct timespec until = jm__clock_after(CLOCK_REALTIME, LOCK_WAIT_NS);
    return pthread_mutex_timedlock(&mutex, &until) == 0;
}

/* As lane_get, for calls from inside the driver. */
static lane *lane_in_callback(void)
{
    uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    if (own_generation == now && (own_lane != NULL || !is_time_to_retry())) return own_lane;
    if (!lock_for_a_while()) return NULL;
    lane *mine = lane_attach_locked(LAUNCH_CAPACITY);
    pthread_mutex_unlock(&mutex);
    return mine;
}

/* Locks the names of this process. Is there a run, or may one come, in which numbers stay valid? */
static bool names_lock(void)
{
    pthread_mutex_lock(&mutex);
    read_environment_locked();
    if (names.path == NULL && run_path[0] != '\0') /* after a fork */
        jm__names_open(&names, run_path, part->writer);
    return run_path[0] != '\0' || jm__dormant_requested();
}

/* ---- records */

/* NULL: no run or no ring. */
static inline lane *lane_get(void)
{
    uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    if (now == 0) {
        jm__dormant_count();
        return __builtin_expect(own_generation == 0, 1) ? NULL : lane_leave();
    }
    lane *mine = own_lane;
    if (__builtin_expect(own_generation != now, 0)) mine = lane_attach();
    if (__builtin_expect(mine == NULL, 0) && own_generation != 0) mine = lane_miss();
    return mine;
}

/* Pushes the payload of the next span. */
static void push_payload(lane *mine, int64_t t_ns, const jm__track_number *payload)
{
    jm_ring_span record = {.t_ns = t_ns,
                           .id = mine->next_id + 1,
                           .name = (uint32_t)payload->value.natural,
                           .type = (uint32_t)(payload->value.natural >> 32),
                           .op = JM_RING_PAYLOAD,
                           .kind = (uint8_t)payload->kind};
    uint64_t both = KEPT_FOR_ENDS(mine->ring.capacity) + 2;
    if (jm__ring_is_free(&mine->ring, both)) jm__ring_push_span(&mine->ring, &record, 0);
}

/* `payload` NULL: none. */
static inline uint64_t begin(uint8_t kind, uint32_t name, uint32_t type, uint32_t samples,
                             const jm__track_number *payload)
{
    uint32_t kept = atomic_load_explicit(&kept_kinds, memory_order_relaxed);
    if (__builtin_expect(kept != JM_TRACK_ALL, 0) && (kept >> (kind % 32) & 1) == 0) return 0;
    lane *mine = lane_get();
    if (mine == NULL) return 0;
    jm_ring_span record = {.t_ns = jm__now_ns(),
                           .id = mine->next_id + 1,
                           .name = name,
                           .type = type,
                           .samples = samples,
                           .op = JM_RING_BEGIN,
                           .kind = kind};
    if (payload != NULL) push_payload(mine, record.t_ns, payload);
    if (!jm__ring_push_span(&mine->ring, &record, KEPT_FOR_ENDS(mine->ring.capacity))) return 0;
    return ++mine->next_id;
}

uint64_t jm__track_begin(uint8_t kind, uint32_t name, uint32_t type, uint32_t samples)
{
    return begin(kind, name, type, samples, NULL);
}

uint64_t jm__track_begin_with(uint8_t kind, uint32_t name, uint32_t type, uint32_t samples,
                              const jm__track_number *payload)
{
    return begin(kind, name, type, samples, payload->kind == JM_PAYLOAD_NONE ? NULL : payload);
}

void jm__track_end(uint64_t span)
{
    jm__track_end_counted(span, 0, 0);
}

void jm__track_end_counted(uint64_t span, uint32_t samples, uint32_t tokens)
{
    if (span == 0) return;
    lane *mine = lane_get();
    if (mine == NULL) return;
    jm_ring_span record = {
        .t_ns = jm__now_ns(), .id = span, .type = tokens, .samples = samples, .op = JM_RING_END};
    jm__ring_push_span(&mine->ring, &record, 0);
}

/* A quarter of a ring is reserved for spans, however many graph nodes or launches there are. */
static bool push_from_callback(const jm_ring_span *record)
{
    if (atomic_load_explicit(&generation, memory_order_relaxed) == 0) return true;
    lane *mine = lane_in_callback();
    return mine != NULL && jm__ring_is_free(&mine->ring, mine->ring.capacity / 4) &&
           jm__ring_push_span(&mine->ring, record, 0);
}

void jm__track_node(uint64_t node, uint64_t original, uint32_t graph)
{
    jm_ring_span record = {.t_ns = jm__now_ns(),
                           .id = node,
                           .name = (uint32_t)original,
                           .type = (uint32_t)(original >> 32),
                           .samples = graph,
                           .op = JM_RING_NODE};
    if (!push_from_callback(&record)) jm__lost_add(JM_LOST_NODES, 1);
}

void jm__track_graph(uint8_t op, uint32_t graph)
{
    jm_ring_span record = {.t_ns = jm__now_ns(), .samples = graph, .op = op};
    push_from_callback(&record);
}

void jm__track_launch(uint32_t correlation, uint32_t again)
{
    push_from_callback(
        &(jm_ring_span){.t_ns = jm__now_ns(), .id = correlation, .samples = again, .op = JM_RING_LAUNCH});
}

/* Counts a text without a number: no memory, or JM_NAMES_MAX texts. Its records have no name. */
static void count_refused_name(void)
{
    lane *mine = own_generation == atomic_load(&generation) ? own_lane : NULL;
    if (mine != NULL)
        atomic_fetch_add_explicit(&mine->ring.header->names_refused, 1, memory_order_relaxed);
    else
        jm__lost_add(JM_LOST_NAMES, 1);
}

/* `always`: also without a run, for later ones. */
static uint32_t intern(const char *text, size_t max_bytes, bool always)
{
    bool is_needed = names_lock() || always;
    uint32_t number = is_needed ? jm__names_intern(&names, text, jm__utf8_cut(text, max_bytes)) : 0;
    pthread_mutex_unlock(&mutex);
    if (is_needed && number == 0) count_refused_name();
    return number;
}

uint32_t jm__track_intern(const char *text)
{
    if (text == NULL || text[0] == '\0') return 0;
    if (atomic_load_explicit(&generation, memory_order_relaxed) == 0 && !jm__dormant_requested()) return 0;
    return intern(text, JM_TRACK_NAME_MAX, false);
}

uint32_t jm__track_register(const char *text, size_t max_bytes)
{
    return text == NULL || text[0] == '\0' ? 0 : intern(text, max_bytes, true);
}

const char *jm__track_text(uint32_t number)
{
    (void)names_lock();
    const char *text = jm__names_text(&names, number);
    pthread_mutex_unlock(&mutex);
    return text;
}

void jm__track_mark(const char *name, const char *meta)
{
    if (atomic_load_explicit(&generation, memory_order_relaxed) == 0) return;
    jm__track_mark_with(jm__track_intern(name), meta);
}

void jm__track_mark_with(uint32_t name, const char *meta)
{
    lane *mine = lane_get();
    if (mine == NULL) return;
    jm_ring_span record = {.t_ns = jm__now_ns(), .name = name, .op = JM_RING_MARK};
    if (meta != NULL) { /* rarely the same twice, so not kept */
        (void)names_lock();
        record.type = jm__names_write_once(&names, meta, strlen(meta));
        pthread_mutex_unlock(&mutex);
        if (record.type == 0 && meta[0] != '\0') count_refused_name();
    }
    jm__ring_push_span(&mine->ring, &record, KEPT_FOR_ENDS(mine->ring.capacity));
}
