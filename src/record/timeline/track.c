/* The run that this process is in, the rings of its threads, its names, and what goes into them. */
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
#define LAUNCH_CAPACITY     262144u /* with launches, at most 250,000 a second */
#define SPAN_CAPACITY_LEAST 256u
#define SPAN_SHARE          16u   /* of /dev/shm: many threads must fit */
#define MISSES_BETWEEN      1024u /* of a thread without a ring, before it asks for one again: 20 us */
/* Threads that are just writing when a recorder leaves have done so by then, and it still reads. */
#define LEAVING_NS   (2 * JM_NS_PER_MS)
#define LOCK_WAIT_NS (100 * JM_NS_PER_MS)

#define NAME_BYTES_MOST 4095u

/* A begin is refused while an end still fits: an open span whose end was lost would take all that follows. */
#define KEPT_FOR_ENDS(capacity) ((capacity) / 8)

/* A ring and the thread that has it. The lane of a thread that ends goes to the next new one: thousands of
 * short threads need no more rings than run at once. */
typedef struct lane {
    jm__ring ring;
    uint64_t next_id; /* ring's number above, count below: unique in the process without an atomic */
    uint32_t generation;
    pid_t pid;
    struct lane *next; /* on the free list */
} lane;

#define GENERATION_UNKNOWN 1u /* nobody has looked into the environment */

/* 0: this process is in no run; else changes with each run and fork. A thread whose own one differs has no
 * ring of this run yet. */
static _Atomic uint32_t generation = GENERATION_UNKNOWN;
static _Thread_local lane *own_lane;
static _Thread_local uint32_t own_generation;
static _Thread_local uint32_t own_misses; /* records of this thread without a ring */

static _Atomic uint32_t kept_kinds = JM_TRACK_ALL;

/* Guards all below. Taken by the first record of a thread in a run, by names and marks, never by begin and
 * end. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uint32_t last_generation = GENERATION_UNKNOWN;
static char run_path[PATH_MAX];
static bool joined; /* the run is one that a recorder called this process into; its children are not */
static jm__names names;
static lane *free_lanes;
static pthread_key_t exit_key;
static int exit_key_error;

/* ---- which library this is */

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
    lane *left = value;
    own_lane = NULL;
    own_generation = 0;
    pthread_mutex_lock(&mutex);
    if (left->generation == atomic_load_explicit(&generation, memory_order_relaxed)) {
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
        atomic_store_explicit(&generation, ++last_generation, memory_order_relaxed);
    } else if (jm__dormant_requested()) {
        run_path[0] = '\0'; /* dormant itself: its first span will see to it that it can be called */
        joined = false;
        atomic_store_explicit(&generation, GENERATION_UNKNOWN, memory_order_relaxed);
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
    int error = jm__names_open(&names, run_dir, part->writer);
    if (error == EACCES || error == EPERM) jm__door_knock(run_dir);
    if (error != 0 && !(patient && may_come_back(run_dir))) return error;
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
    joined = false;
    drop_free_lanes();
    jm__names_close(&names);
    jm__lost_leave();
}

/* The first one to ask finds out whether a recorder above us made a run. */
static void look_into_environment_locked(void)
{
    if (atomic_load_explicit(&generation, memory_order_relaxed) != GENERATION_UNKNOWN) return;
    char buffer[PATH_MAX];
    const char *run_dir = jm__start_variable(JM_START_RUN, buffer, sizeof buffer);
    if (run_dir != NULL && open_locked(run_dir, true) == 0) return;
    close_locked();
    if (!jm__dormant_requested()) return;
    bool kernels; /* not from here */
    joined = jm__run_above(buffer, sizeof buffer, &kernels) && open_locked(buffer, true) == 0;
    jm__dormant_begin(part, joined ? buffer : NULL);
}

uint32_t jm__track_run(void)
{
    uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    return now == GENERATION_UNKNOWN ? 0 : now;
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
    if (own_lane != NULL) { /* this thread's ring at least can be told to be over */
        lane *left = own_lane;
        own_lane = NULL;
        pthread_setspecific(exit_key, NULL);
        lane_drop(left);
    }
}

/* A lane left by a thread that is gone: say in it whose records follow. */
static lane *take_free_lane_locked(void)
{
    lane *taken = free_lanes;
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

/* The first record of this thread in this run. */
static lane *lane_attach_locked(uint32_t capacity)
{
    look_into_environment_locked();
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

/* What follows is out of line, as it is hardly ever needed and takes room on the stack. */
#define SELDOM __attribute__((noinline))

static SELDOM lane *lane_attach(void)
{
    pthread_mutex_lock(&mutex);
    lane *mine = lane_attach_locked(SPAN_CAPACITY);
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

/* There is none, which is counted. */
static SELDOM lane *lane_miss(void)
{
    lane *mine = is_time_to_ask() ? lane_attach() : NULL;
    if (mine == NULL) jm__lost_add(JM_LOST_SPANS, 1);
    return mine;
}

/* The run that this thread's lane was of is over. */
static SELDOM lane *lane_leave(void)
{
    pthread_mutex_lock(&mutex);
    lane *left = own_lane;
    own_lane = NULL;
    own_generation = 0;
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

/* As lane_get, inside of a call of the driver's. */
static lane *lane_in_callback(void)
{
    uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
    if (own_generation == now && (own_lane != NULL || !is_time_to_ask())) return own_lane;
    if (!lock_for_a_while()) return NULL;
    lane *mine = lane_attach_locked(LAUNCH_CAPACITY);
    pthread_mutex_unlock(&mutex);
    return mine;
}

/* The names of this process, until they are unlocked. `in_run`: in this run, or one that may come. */
static jm__names *names_lock(bool *in_run)
{
    pthread_mutex_lock(&mutex);
    look_into_environment_locked();
    *in_run = run_path[0] != '\0' || jm__dormant_requested(); /* numbers will hold in runs to come */
    if (names.path == NULL && run_path[0] != '\0')            /* after a fork */
        jm__names_open(&names, run_path, part->writer);
    return &names;
}

static void names_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

/* ---- records */

/* NULL: no run, or no ring. */
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

/* For the span that begins next. */
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

/* `payload`: NULL: none. */
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

/* A quarter of a ring is for spans, however many nodes a graph has, or launches there are. */
static bool push_of_callback(const jm_ring_span *record)
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
    if (!push_of_callback(&record)) jm__lost_add(JM_LOST_NODES, 1);
}

void jm__track_graph(uint8_t op, uint32_t graph)
{
    jm_ring_span record = {.t_ns = jm__now_ns(), .samples = graph, .op = op};
    push_of_callback(&record);
}

void jm__track_launch(uint32_t correlation, uint32_t again)
{
    push_of_callback(
        &(jm_ring_span){.t_ns = jm__now_ns(), .id = correlation, .samples = again, .op = JM_RING_LAUNCH});
}

/* No memory, or JM_NAMES_MAX of them: what will bear this name has none. */
static void count_refused_name(void)
{
    lane *mine = own_generation == atomic_load(&generation) ? own_lane : NULL;
    if (mine != NULL)
        atomic_fetch_add_explicit(&mine->ring.header->names_refused, 1, memory_order_relaxed);
    else
        jm__lost_add(JM_LOST_NAMES, 1);
}

/* `always`: also where there is no run, for those to come. */
static uint32_t intern(const char *text, size_t most, bool always)
{
    bool in_run;
    jm__names *own = names_lock(&in_run);
    uint32_t number = in_run || always ? jm__names_intern(own, text, jm__utf8_cut(text, most)) : 0;
    names_unlock();
    if ((in_run || always) && number == 0) count_refused_name();
    return number;
}

uint32_t jm__track_intern(const char *text, size_t most)
{
    if (text == NULL || text[0] == '\0') return 0;
    if (atomic_load_explicit(&generation, memory_order_relaxed) == 0 && !jm__dormant_requested()) return 0;
    return intern(text, most, false);
}

uint32_t jm__track_register(const char *text, size_t most)
{
    return text == NULL || text[0] == '\0' ? 0 : intern(text, most, true);
}

const char *jm__track_text(uint32_t number)
{
    bool in_run;
    const char *text = jm__names_text(names_lock(&in_run), number);
    names_unlock();
    return text;
}

static void push_mark(lane *mine, int64_t t_ns, uint32_t name, uint32_t meta)
{
    jm_ring_span record = {.t_ns = t_ns, .name = name, .type = meta, .op = JM_RING_MARK};
    jm__ring_push_span(&mine->ring, &record, KEPT_FOR_ENDS(mine->ring.capacity));
}

void jm__track_mark(const char *name, const char *meta)
{
    if (atomic_load_explicit(&generation, memory_order_relaxed) == 0) return;
    jm__track_mark_with(jm__track_intern(name, NAME_BYTES_MOST), meta);
}

void jm__track_mark_with(uint32_t name, const char *meta)
{
    int64_t t_ns = jm__now_ns();
    uint32_t meta_number = 0;
    lane *mine = lane_get();
    if (mine == NULL) return;
    if (meta != NULL) { /* hardly ever the same twice: not kept */
        bool in_run;
        meta_number = jm__names_write_once(names_lock(&in_run), meta, strlen(meta));
        names_unlock();
        if (meta_number == 0 && meta[0] != '\0') count_refused_name();
    }
    push_mark(mine, t_ns, name, meta_number);
}

void jm__track_mark_number(uint32_t name)
{
    lane *mine = lane_get();
    if (mine != NULL) push_mark(mine, jm__now_ns(), name, 0);
}
