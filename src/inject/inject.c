/* The lifecycle of the injected library: start, CUPTI's activity records into the ring of kernels, end, and
 * forks. */
#include "inject/inject.h"

#include "base/clock.h"
#include "inject/cupti.h"
#include "inject/outlet.h"
#include "inject/xla.h"
#include "record/timeline/ring.h"
#include "record/timeline/ring_format.h"
#include "record/timeline/track.h"
#include "record/timeline/which_run.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- CUPTI's activity API: enabling it, emptying its buffers into the ring, disabling it */

#define RECORDS_AT_ONCE 256 /* records per lock */

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,
};

static jm__cupti *const cupti = &jm__cupti_used;
static bool cupti_loaded;

static _Atomic bool active;
static bool tracing;          /* while active: activity kinds are enabled; guarded by jm__detach_lock */
static int64_t off_ns;        /* when tracing was switched off; guarded likewise */
static uint32_t again;        /* number of reattachments to CUPTI in this run; guarded likewise */
static _Atomic bool with_xla; /* copies are not traced */
static char fault[512];       /* why CUPTI is not active; "": it is */

static const char no_copies[] =
    "Copies between host and GPU are not recorded in this process: with CUPTI's records of "
    "them, graphs that XLA launches fail (CUDA_ERROR_LAUNCH_FAILED).";

static const char detach_loss[] = "joulemap detached from CUPTI while it had these buffers of records";

static const char no_graphs[] = "This CUPTI does not report the nodes of CUDA graphs: their kernels are "
                                "assigned to the spans that are open "
                                "when a graph is launched.";

static void CUPTIAPI on_request(uint8_t **buffer, size_t *size, size_t *records_max)
{
    *buffer = jm__buffers_take();
    *size = *buffer == NULL ? 0 : JM_BUFFER_BYTES;
    *records_max = 0;
}

static void empty_buffer(uint8_t *buffer, size_t valid_bytes)
{
    CUpti_Activity *records[RECORDS_AT_ONCE], *record = NULL;
    size_t count = 0;
    while (cupti->cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
        records[count++] = record;
        if (count < RECORDS_AT_ONCE) continue;
        jm__outlet_records(records, count);
        count = 0;
    }
    jm__outlet_records(records, count);
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid_bytes)
{
    (void)size;
    size_t dropped = 0;
    if (valid_bytes > 0) empty_buffer(buffer, valid_bytes);
    if (cupti->cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
        jm__outlet_lost(dropped, "CUPTI had no buffer for these records");
    jm__buffers_return(buffer);
}

static void CUPTIAPI on_callback(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data)
{
    (void)context;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE)
        jm__detach_forbid(); /* graphs: nodes captured while detached would be unknown */
    if (active) jm__graphs_on_callback(domain, id, data);
    if (jm__launches_is_graph(domain, id, data))
        jm__detach_forbid(); /* first, as writing to a ring may wait */
    jm__launches_on_callback(domain, data);
    jm__detach_on_callback(domain, data);
}

static const char *result_text(CUptiResult result)
{
    const char *text = NULL;
    return cupti->cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text != NULL ? text
                                                                                       : "unknown error";
}

static void disable_all(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        cupti->cuptiActivityDisable(kinds[i]);
    jm__launches_ignore();
}

/* ---- XLA */

/* If copies are traced beside kernels, a graph of XLA's with copies fails at its launch
 * (CUDA_ERROR_LAUNCH_FAILED), and the program ends: 6 of 6 runs with CUPTI 13.0.85, jaxlib 0.11.2 and Keras
 * on an H200. Without MEMCPY and MEMCPY2 28 of 28 ran. Memsets do no harm. */
static bool is_copy(CUpti_ActivityKind kind)
{
    return kind == CUPTI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ACTIVITY_KIND_MEMCPY2;
}

void jm__inject_xla_found(void)
{
    jm__detach_forbid();
    if (atomic_exchange(&with_xla, true) || !active) return;
    jm__detach_lock();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !jm__detach_is_done(); i++)
        if (is_copy(kinds[i])) cupti->cuptiActivityDisable(kinds[i]);
    jm__detach_unlock();
    jm__outlet_note(no_copies);
}

static void look_for_xla(void)
{
    if (!with_xla && jm__xla_was_loaded()) jm__inject_xla_found();
}

static bool fail(char *why, size_t why_size, const char *call, CUptiResult result)
{
    snprintf(why, why_size, "CUPTI failed in %s (%d, %s): kernels are not recorded, spans are.", call,
             (int)result, result_text(result));
    return false;
}

/* On failure false, with a sentence in `why`. Without records of copies or memsets, kernels are still
 * recorded. */
static bool enable_kinds(char *why, size_t why_size)
{
    CUptiResult result = jm__launches_record(again); /* first, so that all work has its launch */
    if (result != CUPTI_SUCCESS) return fail(why, why_size, "cuptiEnableCallback", result);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (with_xla && is_copy(kinds[i])) continue;
        result = cupti->cuptiActivityEnable(kinds[i]);
        if (result != CUPTI_SUCCESS && kinds[i] == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
            return fail(why, why_size, "cuptiActivityEnable", result);
    }
    return true;
}

/* Subscribe and enable all. On failure false, with a sentence in `why`. */
static bool attach(char *why, size_t why_size)
{
    /* Without a driver CUPTI is useless, and CUPTI 13.2 recurses for ever when asked for its version. */
    if (!cupti_loaded && dlopen("libcuda.so.1", RTLD_LAZY) == NULL) {
        snprintf(why, why_size,
                 "There is no CUDA driver (libcuda.so.1) here: kernels are not recorded, spans are.");
        return false;
    }
    if (!cupti_loaded) {
        if (!jm__cupti_load(why, why_size)) return false;
        cupti_loaded = true;
        jm__devices_find_driver();
    }
    /* Two tools that both register buffers would get each other's: the first subscriber has CUPTI. */
    CUptiResult result = cupti->cuptiSubscribe(&cupti->subscriber, on_callback, NULL);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || result == CUPTI_ERROR_MAX_LIMIT_REACHED ||
        result == CUPTI_ERROR_NOT_COMPATIBLE) {
        snprintf(
            why, why_size,
            "CUPTI is in use by another profiler in this process (%s): kernels are not recorded, spans are.",
            result_text(result));
        return false;
    }
    if (result != CUPTI_SUCCESS) return fail(why, why_size, "cuptiSubscribe", result);
    jm__buffers_prepare();
    result = cupti->cuptiActivityRegisterCallbacks(on_request, on_complete);
    if (result != CUPTI_SUCCESS)
        fail(why, why_size, "cuptiActivityRegisterCallbacks", result);
    else if (enable_kinds(why, why_size))
        return true;
    disable_all();
    cupti->cuptiUnsubscribe(cupti->subscriber);
    return false;
}

static void follow_graphs(void)
{
    if (!jm__graphs_follow()) {
        jm__outlet_note(no_graphs);
        return;
    }
    jm__outlet_op(JM_RING_GRAPHS, 0);
}

/* Create the ring, load CUPTI and start recording. 0, or an errno if the ring cannot be created. `recording`:
 * whether kernels are recorded; if not, a note in the ring says why. */
static int start_activity(const char *run_dir, bool *recording)
{
    *recording = false;
    fault[0] = '\0';
    int error = jm__outlet_open(run_dir);
    if (error != 0) {
        jm__lost_add(JM_LOST_PROGRAMS, 1);
        snprintf(fault, sizeof fault, "There is no room for kernels in %s: %s.", run_dir, strerror(error));
        return error;
    }
    look_for_xla();
    jm__detach_lock();
    again = 0;
    jm__outlet_op(JM_RING_AGAIN, again); /* after exec the count restarts */
    *recording = attach(fault, sizeof fault);
    jm__detach_unlock();
    active = tracing = *recording;
    if (*recording) follow_graphs();
    if (*recording && with_xla) jm__outlet_note(no_copies);
    if (!*recording) {
        jm__outlet_note(fault);
        jm__outlet_close();
    }
    return 0;
}

/* Detach after this time, once CUPTI has returned the buffers that it had when tracing stopped. The last
 * launches may wait seconds for others. At the latest time detach without them; their records count as lost.
 */
#define DETACH_AFTER_NS  (100 * JM_NS_PER_MS)
#define DETACH_LATEST_NS (60 * JM_NS_PER_S)

static bool is_time_to_detach(int64_t now_ns)
{
    int64_t off_for_ns = now_ns - off_ns;
    if (tracing || off_for_ns < DETACH_AFTER_NS) return false;
    return jm__buffers_oldest_ns() > off_ns || off_for_ns >= DETACH_LATEST_NS;
}

/* False: CUPTI failed. */
static bool flush_cupti(bool forced, int64_t now_ns)
{
    if (jm__detach_is_done()) return true; /* it has no buffers */
    CUptiResult result =
        cupti->cuptiActivityFlushAll(forced ? (uint32_t)CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0u);
    if (!forced && is_time_to_detach(now_ns)) jm__detach_request();
    return result == CUPTI_SUCCESS;
}

/* Flush finished records; `forced`: unfinished ones too, at the very end. True: detaching is pending, so
 * flush again soon. */
static bool flush_activity(bool forced)
{
    if (!active) return false;
    if (!forced) look_for_xla(); /* it may have been loaded meanwhile */
    int64_t now_ns = jm__now_ns();
    if (!jm__detach_lock_timed()) return false;
    bool ok = flush_cupti(forced, now_ns);
    bool detach_pending = !tracing && jm__detach_is_possible();
    jm__detach_unlock();
    jm__outlet_devices();
    jm__outlet_lost(jm__detach_lost_buffers(), detach_loss);
    if (!ok) return detach_pending;
    /* Records that CUPTI still has began after it got its oldest buffer. */
    int64_t oldest_ns = jm__buffers_oldest_ns();
    jm__outlet_flushed(oldest_ns < now_ns ? oldest_ns : now_ns);
    return detach_pending;
}

/* Enable tracing, reattaching if we have detached meanwhile. On failure `why` gets a sentence. */
static void switch_on(char *why, size_t why_size)
{
    if (jm__detach_cancel()) {
        (void)enable_kinds(why, why_size);
        return;
    }
    jm__outlet_op(JM_RING_AGAIN, ++again);
    if (attach(why, why_size))
        follow_graphs();
    else
        jm__detach_mark_lost();
}

/* Switch tracing on or off; while off, we may detach from CUPTI (cupti.h). Work launched before is still
 * recorded. False: reattaching failed. */
static bool trace_activity(bool on)
{
    char why[512] = "";
    if (!active) return true;
    if (!jm__detach_lock_timed()) return false;
    bool changes = on != tracing;
    tracing = on;
    if (changes && on) switch_on(why, sizeof why);
    if (changes && !on) {
        off_ns = jm__now_ns();
        if (!jm__detach_is_done()) disable_all();
    }
    bool is_lost = on && jm__detach_is_done();
    jm__detach_unlock();
    if (why[0] != '\0') jm__outlet_note(why);
    if (changes && !on && flush_activity(false)) jm__flusher_kick();
    return !is_lost;
}

/* Detach from CUPTI at the end of a run; the program goes on. */
static void detach_cupti(void)
{
    jm__detach_lock(); /* at once, as another profiler may follow */
    if (jm__detach_cancel() && !jm__detach_now()) cupti->cuptiUnsubscribe(cupti->subscriber);
    jm__detach_unlock();
    jm__buffers_release(); /* a server may run for weeks until the next recorder */
}

/* `exiting`: the process ends, so CUPTI is left as it is. */
static void stop_activity(bool exiting)
{
    if (!active) return;
    /* Records after the flush would stay in CUPTI and go to the next run. */
    if (!exiting) trace_activity(false);
    flush_activity(true);
    if (!exiting) detach_cupti();
    jm__outlet_lost(jm__detach_lost_buffers(), detach_loss);
    active = false;
    jm__outlet_close();
}

/* In the child of a fork: CUDA does not work there, and all state belongs to the parent. */
static void forget_activity(void)
{
    active = false;
    jm__cupti_forget();
    jm__outlet_forget();
}

/* ---- start and end */

/* Guards start and stop. The program waits for it only this long, as a thread that hangs in CUPTI may hold
 * it. */
#define LOCK_WAIT_NS (5 * JM_NS_PER_S)
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool fork_has_lock;
static char run_path[PATH_MAX]; /* "": not started */
static int last_result = JM_INJECT_NO_RUN;
static bool registered;
static bool reached_cupti; /* the last start got that far */
/* The process is exiting: nothing is started any more, and `recover` leaves CUPTI alone. */
static _Atomic bool process_exits;
static bool flusher_hangs; /* the flusher hangs in CUPTI; likewise nothing is started */
static _Atomic pid_t
    owner; /* the process whose exit ends the run; also written by the thread that waits for recorders */

static bool lock_timed(void)
{
    static _Atomic bool is_late;
    return jm__lock_for(&mutex, &is_late, LOCK_WAIT_NS);
}

static void before_fork(void)
{
    fork_has_lock = lock_timed();
}

static void after_fork_in_parent(void)
{
    if (fork_has_lock) pthread_mutex_unlock(&mutex);
}

static void after_fork_in_child(void)
{
    forget_activity(); /* also after a run, as CUPTI may still be the parent's */
    jm__flusher_forget();
    run_path[0] = '\0';
    flusher_hangs = false;
    pthread_mutex_init(&mutex, NULL); /* its holder is not in this process, unless it is this thread */
}

static void stop_locked(bool exiting)
{
    if (run_path[0] == '\0') return;
    run_path[0] = '\0';
    flusher_hangs = !jm__flusher_stop();
    if (flusher_hangs)
        jm__outlet_note("CUPTI did not return: work after its last records is missing.");
    else
        stop_activity(exiting);
}

/* The flusher, which hung in CUPTI at the end of its run, has returned: clean up. */
static void recover(void)
{
    pthread_mutex_lock(&mutex);
    if (flusher_hangs && !process_exits) stop_activity(false);
    flusher_hangs = false;
    pthread_mutex_unlock(&mutex);
}

static void stop(bool exiting)
{
    if (lock_timed()) {
        stop_locked(exiting);
        pthread_mutex_unlock(&mutex);
    }
    jm__track_close();
}

static void on_exit_of_process(void)
{
    if (owner != getpid()) return;
    process_exits = true; /* first, as its end may release a thread that hangs in CUPTI */
    jm__detach_forbid();
    if (!jm__detach_lock_timed()) return; /* wait for a detach that is under way */
    jm__detach_unlock();
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
    if (process_exits || flusher_hangs) return JM_INJECT_NO_RUN;
    if (open(run_dir) != 0) {
        if (jm__lost_join(run_dir)) jm__lost_add(JM_LOST_PROGRAMS, 1);
        return JM_INJECT_NO_RUN;
    }
    owner = getpid(); /* from here on an exit waits for the start, and ends the run */
    if (!registered) {
        registered = true;
        /* Registered after CUDA's and CUPTI's handlers, so it runs before theirs. */
        atexit(on_exit_of_process);
    }
    bool recording;
    reached_cupti = true;
    if (start_activity(run_dir, &recording) != 0) return JM_INJECT_NO_RUN;
    memcpy(run_path, run_dir, length + 1);
    if (recording) jm__flusher_start(flush_activity, recover);
    last_result = recording ? JM_INJECT_OK : JM_INJECT_NO_KERNELS;
    return last_result;
}

int jm_inject_start(const char *run_dir)
{
    if (run_dir == NULL || !lock_timed()) return JM_INJECT_NO_RUN;
    int result = start_locked(run_dir, jm__track_open);
    pthread_mutex_unlock(&mutex);
    return result;
}

int jm_inject_ranges(const char *run_dir)
{
    return run_dir != NULL && jm__track_open(run_dir) == 0 ? JM_INJECT_OK : JM_INJECT_NO_RUN;
}

/* "": this library has no reason. */
static const char *reason_locked(void)
{
    if (process_exits) return "it is ending";
    if (flusher_hangs) return "a thread of the last recording still waits for CUPTI";
    return reached_cupti ? fault : "";
}

const char *jm_inject_reason(void)
{
    if (!lock_timed()) return "CUPTI has not returned from the end of the last recording";
    const char *reason = reason_locked();
    pthread_mutex_unlock(&mutex);
    return reason;
}

int jm_inject_trace(int on)
{
    bool held = lock_timed(), ok = held && (run_path[0] == '\0' || trace_activity(on != 0));
    if (held) pthread_mutex_unlock(&mutex);
    jm__track_keep(on != 0 ? JM_TRACK_ALL : 0);
    return ok ? JM_INJECT_OK : JM_INJECT_NO_KERNELS;
}

int jm_inject_busy(void)
{
    if (pthread_mutex_trylock(&mutex) != 0) return 1;
    pthread_mutex_unlock(&mutex);
    return 0;
}

void jm_inject_flush(void)
{
    if (!lock_timed()) return;
    if (run_path[0] != '\0') flush_activity(false);
    pthread_mutex_unlock(&mutex);
}

void jm_inject_stop(void)
{
    stop(false);
}

/* ---- programs that were started dormant */

static jm__dormant_answer join_locked(const char *run_dir, bool kernels, char *why, size_t why_size)
{
    if (run_path[0] != '\0' && strcmp(run_path, run_dir) != 0) return JM_DORMANT_BUSY;
    int error = kernels ? 0 : jm__track_join(run_dir);
    int result = !kernels ? JM_INJECT_OK : start_locked(run_dir, jm__track_join);
    if (error == EBUSY) return JM_DORMANT_BUSY;
    if (error == 0 && result == JM_INJECT_OK) return JM_DORMANT_RECORDING;
    if (kernels) snprintf(why, why_size, "%s", reason_locked());
    if (result == JM_INJECT_NO_KERNELS) return JM_DORMANT_NO_KERNELS;
    if (kernels && flusher_hangs) return JM_DORMANT_LATER;
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

/* A dormant program has loaded CUDA: it needs a waiting thread, as work may come without ranges. */
static void begin_dormant(void)
{
    char above[PATH_MAX];
    bool kernels;
    jm__track_look(); /* ranges join the parent's run, if there is one */
    jm__dormant_needs_thread(true);
    if (!jm__run_above(above, sizeof above, &kernels) || !kernels || pthread_mutex_trylock(&mutex) != 0)
        return;
    start_locked(above, jm__track_join);
    pthread_mutex_unlock(&mutex);
}

/* The CUDA driver calls this in cuInit, before any module is loaded. It always gets "success": the program
 * runs with or without us. */
int InitializeInjection(void)
{
    char buffer[PATH_MAX];
    const char *run_dir = jm__start_variable(JM_START_RUN, buffer, sizeof buffer);
    if (run_dir == NULL && jm__dormant_requested()) begin_dormant();
    /* If locked, a start is under way, perhaps on this very thread, and loaded the driver. */
    if (run_dir == NULL || pthread_mutex_trylock(&mutex) != 0) return 1;
    start_locked(run_dir, jm__track_open);
    pthread_mutex_unlock(&mutex);
    return 1;
}
