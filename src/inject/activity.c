/* CUPTI's activity API: switch it on, empty its buffers into the ring, switch it off. */
#include "inject/activity.h"

#include "base/clock.h"
#include "inject/buffers.h"
#include "inject/convert.h"
#include "inject/detach.h"
#include "inject/devices.h"
#include "inject/flusher.h"
#include "inject/graphs.h"
#include "inject/xla_library.h"
#include "timeline/lost.h"
#include "timeline/names.h"
#include "timeline/ring.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define RECORDS_AT_ONCE 256 /* under one lock */

static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET,
};

/* CUPTI, loaded once. Written only by jm__activity_start, before CUPTI may call us. */
static jm__cupti cupti;
static bool cupti_loaded;
static jm__launch_calls launch_calls;
static CUpti_SubscriberHandle subscriber;

/* Guards the ring and the names: CUPTI's worker, a flush and the program may hand back buffers at once. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static jm__ring ring;
static jm__names names;
static _Atomic bool active;
static bool tracing;          /* while active: kinds are switched on; guarded by jm__detach_hold */
static int64_t off_ns;        /* since when they are not; likewise */
static _Atomic bool with_xla; /* copies are not traced */
static char fault[512];       /* why it is not active; "": it is */

static const char no_copies[] =
    "Copies between host and GPU are not recorded in this process: with CUPTI's records of "
    "them, graphs that XLA launches fail (CUDA_ERROR_LAUNCH_FAILED).";

static const char no_graphs[] =
    "This CUPTI does not tell of the nodes of CUDA graphs: their kernels belong to what is open when a graph "
    "is launched.";

static uint32_t text_number(const char *text)
{
    return jm__names_intern(&names, text, strlen(text));
}

static void push_note(const char *text)
{
    pthread_mutex_lock(&mutex);
    if (ring.header != NULL) {
        jm_ring_kernel record = {.op = JM_RING_NOTE, .name = text_number(text)};
        jm__ring_push_kernel(&ring, &record);
    }
    pthread_mutex_unlock(&mutex);
}

/* A record that says nothing but its name. */
static void push_op(uint8_t op)
{
    pthread_mutex_lock(&mutex);
    jm_ring_kernel record = {.op = op};
    if (ring.header != NULL) jm__ring_push_kernel(&ring, &record);
    pthread_mutex_unlock(&mutex);
}

static void push_lost_locked(uint64_t count, const char *reason)
{
    if (ring.header == NULL || count == 0) return;
    jm_ring_kernel record = {.op = JM_RING_LOST, .bytes = count, .name = text_number(reason)};
    jm__ring_push_kernel(&ring, &record);
}

/* Records that go without their name. */
static void count_refused_locked(void)
{
    if (ring.header != NULL) atomic_fetch_add(&ring.header->names_refused, names.refused);
    names.refused = 0;
}

static void CUPTIAPI on_request(uint8_t **buffer, size_t *size, size_t *records_max)
{
    *buffer = jm__buffers_take();
    *size = *buffer == NULL ? 0 : JM_BUFFER_BYTES;
    *records_max = 0;
}

/* Our lock is never held while CUPTI is called: CUPTI may hold one of its own when it hands us a buffer. */
static void push_records(CUpti_Activity *const *records, size_t count)
{
    uint64_t unfinished = 0;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < count && ring.header != NULL; i++) {
        jm_ring_kernel converted;
        jm__conversion result = jm__convert(&converted, records[i], &launch_calls, &names);
        if (result == JM_UNFINISHED) unfinished++;
        if (result != JM_CONVERTED) continue;
        jm__ring_push_kernel(&ring, &converted);
        if (converted.op == JM_RING_KERNEL && converted.bytes != 0)
            jm__detach_never(); /* of a graph's node */
        if (converted.op != JM_RING_LAUNCH && jm__devices_saw(converted.device)) jm__flusher_kick();
    }
    push_lost_locked(unfinished, "this work had not ended when its recording did");
    count_refused_locked();
    pthread_mutex_unlock(&mutex);
}

static void empty_buffer(uint8_t *buffer, size_t valid_bytes)
{
    CUpti_Activity *records[RECORDS_AT_ONCE], *record = NULL;
    size_t count = 0;
    while (cupti.cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
        records[count++] = record;
        if (count < RECORDS_AT_ONCE) continue;
        push_records(records, count);
        count = 0;
    }
    push_records(records, count);
}

static void CUPTIAPI on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid_bytes)
{
    (void)size;
    size_t dropped = 0;
    if (valid_bytes > 0) empty_buffer(buffer, valid_bytes);
    if (cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped > 0) {
        pthread_mutex_lock(&mutex);
        push_lost_locked(dropped, "CUPTI had no buffer for these records");
        pthread_mutex_unlock(&mutex);
    }
    jm__buffers_return(buffer);
}

static void CUPTIAPI on_callback(void *context, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                 const void *data)
{
    (void)context;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE)
        jm__detach_never(); /* graphs: what is captured in between would be nobody's */
    if (active) jm__graphs_hear(&cupti, domain, id, data);
    jm__detach_hear(domain, data);
}

static const char *result_text(CUptiResult result)
{
    const char *text = NULL;
    return cupti.cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text != NULL ? text
                                                                                      : "unknown error";
}

/* API calls that start work give a kernel its thread. The whole kind is switched on and then all calls but
 * those off: switching on the few alone records nothing once CUDA runs (seen with CUPTI 13.0). A call that
 * stays on costs its record, which is left out when a buffer is read. */
static CUptiResult enable_calls(const unsigned char *calls, CUpti_ActivityKind kind,
                                jm__enable_call *enable_one)
{
    CUptiResult result = cupti.cuptiActivityEnable(kind);
    for (uint32_t id = 1; id < JM_CALLBACK_IDS && result == CUPTI_SUCCESS && enable_one != NULL; id++)
        if (!calls[id]) enable_one(id, 0);
    return result;
}

static void disable_all(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        cupti.cuptiActivityDisable(kinds[i]);
    cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME);
    cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
}

/* ---- XLA */

/* With copies traced beside kernels, a graph of XLA's that has copies fails at its launch
 * (CUDA_ERROR_LAUNCH_FAILED), and with it the program: CUPTI 13.0.85, jaxlib 0.11.2 and Keras on an H200, 6
 * of 6; without MEMCPY and MEMCPY2 it ran, 28 of 28. Sets do no harm. */
static bool is_copy(CUpti_ActivityKind kind)
{
    return kind == CUPTI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ACTIVITY_KIND_MEMCPY2;
}

void jm__activity_meet_xla(void)
{
    jm__detach_never();
    if (atomic_exchange(&with_xla, true) || !active) return;
    jm__detach_hold();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !jm__detach_is_done(); i++)
        if (is_copy(kinds[i])) cupti.cuptiActivityDisable(kinds[i]);
    jm__detach_allow();
    push_note(no_copies);
}

static void look_for_xla(void)
{
    if (!with_xla && jm__xla_was_loaded()) jm__activity_meet_xla();
}

/* False: what failed is in `call` and `result`. A copy or set that cannot be traced is no reason to go
 * without kernels. */
static bool enable_kinds(const char **call, CUptiResult *result)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (with_xla && is_copy(kinds[i])) continue;
        *call = "cuptiActivityEnable";
        CUptiResult one = cupti.cuptiActivityEnable(kinds[i]);
        if (one != CUPTI_SUCCESS && kinds[i] == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
            *result = one;
            return false;
        }
    }
    *call = "cuptiActivityEnable(RUNTIME)";
    *result =
        enable_calls(launch_calls.runtime, CUPTI_ACTIVITY_KIND_RUNTIME, cupti.cuptiActivityEnableRuntimeApi);
    if (*result != CUPTI_SUCCESS) return false;
    *call = "cuptiActivityEnable(DRIVER)";
    *result =
        enable_calls(launch_calls.driver, CUPTI_ACTIVITY_KIND_DRIVER, cupti.cuptiActivityEnableDriverApi);
    return *result == CUPTI_SUCCESS;
}

static bool enable_all(const char **call, CUptiResult *result)
{
    *call = "cuptiSetThreadIdType";
    *result = cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    if (*result != CUPTI_SUCCESS) return false;
    *call = "cuptiActivityRegisterCallbacks";
    *result = cupti.cuptiActivityRegisterCallbacks(on_request, on_complete);
    return *result == CUPTI_SUCCESS && enable_kinds(call, result);
}

static void say_failed(char *why, size_t why_size, const char *call, CUptiResult result)
{
    snprintf(why, why_size, "CUPTI failed in %s (%d, %s): kernels are not recorded, spans are.", call,
             (int)result, result_text(result));
}

/* False with a sentence in `why`. */
static bool begin(char *why, size_t why_size)
{
    /* Without it CUPTI is of no use, and 13.2 calls itself without end when it is asked for its version. */
    if (!cupti_loaded && dlopen("libcuda.so.1", RTLD_LAZY) == NULL) {
        snprintf(why, why_size,
                 "There is no CUDA driver (libcuda.so.1) here: kernels are not recorded, spans are.");
        return false;
    }
    if (!cupti_loaded) {
        if (!jm__cupti_load(&cupti, why, why_size)) return false;
        cupti_loaded = true;
        jm__detach_prepare();
        jm__launch_calls_find(&launch_calls, &cupti);
    }
    /* Two tools that both register buffers would get each other's: whoever subscribes first has CUPTI. */
    CUptiResult result = cupti.cuptiSubscribe(&subscriber, on_callback, NULL);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || result == CUPTI_ERROR_MAX_LIMIT_REACHED ||
        result == CUPTI_ERROR_NOT_COMPATIBLE) {
        snprintf(
            why, why_size,
            "CUPTI is in use by another profiler in this process (%s): kernels are not recorded, spans are.",
            result_text(result));
        return false;
    }
    const char *call = "cuptiSubscribe";
    if (result == CUPTI_SUCCESS) {
        jm__buffers_prepare();
        if (enable_all(&call, &result)) return true;
        disable_all();
        cupti.cuptiUnsubscribe(subscriber);
    }
    say_failed(why, why_size, call, result);
    return false;
}

static int open_ring(const char *run_dir)
{
    pthread_mutex_lock(&mutex);
    int error = jm__names_open(&names, run_dir, JM_WRITER_INJECT);
    if (error == 0) {
        jm__ring_options options = {.run_dir = run_dir,
                                    .writer = JM_WRITER_INJECT,
                                    .names_file = names.file_number,
                                    .record_size = sizeof(jm_ring_kernel),
                                    .capacity = JM_KERNELS_CAPACITY,
                                    .capacity_least = JM_KERNELS_CAPACITY_LEAST,
                                    .share = JM_KERNELS_SHARE,
                                    .realtime = true};
        error = jm__ring_create(&ring, &options);
        jm__devices_reset();
    }
    pthread_mutex_unlock(&mutex);
    return error;
}

/* The subscription itself says that CUPTI is taken; of callbacks only those of graphs are wanted. */
static void follow_graphs(void)
{
    if (!jm__graphs_follow(&cupti, subscriber)) {
        push_note(no_graphs);
        return;
    }
    push_op(JM_RING_GRAPHS);
}

int jm__activity_start(const char *run_dir, bool *recording)
{
    *recording = false;
    fault[0] = '\0';
    int error = open_ring(run_dir);
    if (error != 0) {
        jm__lost_add(JM_LOST_PROGRAMS, 1);
        snprintf(fault, sizeof fault, "There is no room for kernels in %s: %s.", run_dir, strerror(error));
        return error;
    }
    look_for_xla();
    jm__detach_hold();
    *recording = begin(fault, sizeof fault);
    jm__detach_allow();
    active = tracing = *recording;
    if (*recording) follow_graphs();
    if (*recording && with_xla) push_note(no_copies);
    if (!*recording) {
        push_note(fault);
        pthread_mutex_lock(&mutex);
        jm__ring_close(&ring, true);
        jm__names_close(&names);
        pthread_mutex_unlock(&mutex);
    }
    return 0;
}

/* Which boards work ran on since the last time. The driver is asked without our lock: CUPTI may hold a lock
 * of the driver's while it waits for ours. */
static void tell_devices(void)
{
    unsigned next = 0;
    for (;;) {
        jm_ring_kernel record = {.op = JM_RING_DEVICE};
        char text[JM_DEVICE_TEXT];
        pthread_mutex_lock(&mutex);
        bool found = ring.header != NULL && jm__devices_find_untold(&next, &record.device);
        pthread_mutex_unlock(&mutex);
        if (!found) return;
        bool known = jm__devices_ask_driver(record.device, text);
        pthread_mutex_lock(&mutex);
        if (ring.header != NULL && (known || jm__devices_recall(record.device, text))) {
            record.name = text_number(text);
            if (jm__ring_push_kernel(&ring, &record)) jm__devices_set_told(record.device);
        }
        pthread_mutex_unlock(&mutex);
    }
}

static void set_flushed(int64_t flushed_ns)
{
    pthread_mutex_lock(&mutex);
    if (ring.header != NULL &&
        flushed_ns > atomic_load_explicit(&ring.header->flushed_ns, memory_order_relaxed))
        atomic_store_explicit(&ring.header->flushed_ns, flushed_ns, memory_order_release);
    pthread_mutex_unlock(&mutex);
}

static void tell_lost_buffers(void)
{
    size_t lost = jm__detach_lost_buffers();
    pthread_mutex_lock(&mutex);
    push_lost_locked(lost, "CUPTI was let go with these buffers of records");
    pthread_mutex_unlock(&mutex);
}

/* After so long, once the buffers are out that were with CUPTI when tracing stopped: what was launched last
 * may wait for others for seconds. And at last without them: what they hold is then counted as lost. */
#define LET_GO_AFTER_NS (3 * JM_NS_PER_S / 2)
#define LET_GO_LAST_NS  (60 * JM_NS_PER_S)

static bool may_let_go(int64_t now_ns)
{
    int64_t off_for_ns = now_ns - off_ns;
    if (tracing || off_for_ns < LET_GO_AFTER_NS) return false;
    return jm__buffers_oldest_ns() > off_ns || off_for_ns >= LET_GO_LAST_NS;
}

/* False: CUPTI failed. */
static bool flush_cupti(bool forced, int64_t now_ns)
{
    if (jm__detach_is_done()) return true; /* nothing is with it */
    CUptiResult result =
        cupti.cuptiActivityFlushAll(forced ? (uint32_t)CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0u);
    if (!forced && may_let_go(now_ns)) jm__detach_ask(&cupti, subscriber, &launch_calls);
    return result == CUPTI_SUCCESS;
}

void jm__activity_flush(bool forced)
{
    if (!active) return;
    if (!forced) look_for_xla(); /* loaded meanwhile */
    int64_t now_ns = jm__now_ns();
    jm__detach_hold();
    bool fine = flush_cupti(forced, now_ns);
    jm__detach_allow();
    tell_devices();
    tell_lost_buffers();
    if (!fine) return;
    /* What is still with CUPTI began after the oldest buffer there was handed out. */
    int64_t oldest_ns = jm__buffers_oldest_ns();
    set_flushed(oldest_ns < now_ns ? oldest_ns : now_ns);
}

const char *jm__activity_reason(void)
{
    return fault;
}

/* CUPTI may have been let go meanwhile. False with a sentence in `why`. */
static bool switch_on(char *why, size_t why_size)
{
    const char *call = "";
    CUptiResult result = CUPTI_SUCCESS;
    if (!jm__detach_call_off(&cupti, subscriber, &launch_calls)) {
        if (!begin(why, why_size)) {
            jm__detach_stay_away();
            return false;
        }
        push_op(JM_RING_AGAIN);
        follow_graphs();
        return true;
    }
    if (enable_kinds(&call, &result)) return true;
    say_failed(why, why_size, call, result);
    return false;
}

static void switch_off(void)
{
    off_ns = jm__now_ns();
    if (!jm__detach_is_done()) disable_all();
}

bool jm__activity_trace(bool on)
{
    char why[512] = "";
    if (!active) return true;
    jm__detach_hold();
    bool changes = on != tracing;
    tracing = on;
    if (changes && on) switch_on(why, sizeof why);
    if (changes && !on) switch_off();
    bool is_lost = on && jm__detach_is_done();
    jm__detach_allow();
    if (why[0] != '\0') push_note(why);
    if (changes && !on) jm__activity_flush(false);
    return !is_lost;
}

/* The program goes on without us. */
static void leave_cupti(void)
{
    jm__detach_hold(); /* at once: who comes next may be another profiler */
    if (jm__detach_call_off(&cupti, subscriber, &launch_calls)) cupti.cuptiUnsubscribe(subscriber);
    jm__detach_allow();
    jm__buffers_release(); /* a server may work for weeks until the next recorder comes */
}

void jm__activity_stop(bool exiting)
{
    if (!active) return;
    /* What came after the flush would stay with CUPTI, and go to the next run. */
    if (!exiting) jm__activity_trace(false);
    jm__activity_flush(true);
    if (!exiting) leave_cupti();
    active = false;
    pthread_mutex_lock(&mutex);
    jm__ring_close(&ring, true);
    jm__names_close(&names);
    pthread_mutex_unlock(&mutex);
}

void jm__activity_forget(void)
{
    active = false;
    jm__detach_forget();
    jm__buffers_forget_in_child();
    pthread_mutex_init(&mutex, NULL); /* the parent's worker may have held it */
    jm__ring_close(&ring, false);
    jm__names_close(&names);
}
