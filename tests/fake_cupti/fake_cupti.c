/* A libcupti without a GPU. Compiled several times: with the records of CUDA 12 or 13, with all symbols or
 * not. */
#include "fake_cupti.h"
#include "fake_graphs.h"

#include <cuda.h>

#include <cupti.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FAKE_MAJOR
#error "FAKE_MAJOR: 12 or 13"
#endif

#if FAKE_MAJOR >= 13
typedef CUpti_ActivityKernel10 kernel_record;
#else
typedef CUpti_ActivityKernel9 kernel_record;
#endif

#define BUFFERS_MAX 256
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
    uint8_t *memory;
    size_t size, used;
} with_us[BUFFERS_MAX]; /* the last one is being filled */
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
/* As with the real one, any thread may call while others do. */
static _Atomic int count_with_us; /* changes under the mutex */
static atomic_bool enabled[CUPTI_ACTIVITY_KIND_COUNT];
static atomic_bool subscribed;
static _Atomic CUpti_CallbackFunc subscriber_callback;
static void *_Atomic subscriber_context;
static atomic_bool resources_on[CUPTI_CBID_RESOURCE_SIZE];
static atomic_bool calls_on[3][2048]; /* by domain and id: calls that the subscriber is told of */
static _Atomic uint64_t finalized;
static _Atomic uint64_t strays; /* calls by who is not subscribed, while somebody else is */
static _Atomic uint32_t last_correlation = 100;
static _Atomic size_t dropped;
static _Atomic int flush_is_held, held;
static _Atomic uint64_t kernels;

/* A few of the API's names, by callback id. */
static const char *const runtime_names[] = {
    NULL,
    "cudaMalloc_v3020",
    "cudaLaunchKernel_v7000",
    "cudaMemcpyAsync_v3020",
    "cudaGraphLaunch_v10000",
    "cudaGraphAddMemcpyNode_v10000",
    "cudaMemsetAsync_v3020",
    "cudaLaunchHostFunc_v10000",
};
static const char *const driver_names[] = {
    NULL,
    "cuCtxGetCurrent",
    "cuDriverGetVersion", /* CUPTI's own number, which the headers have */
    "cuLaunchKernel",
    "cuGraphLaunch",
    "cuMemsetD8Async",
    "cuMemcpyHtoDAsync_v2",
};

static size_t size_of(const CUpti_Activity *record)
{
    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(kernel_record);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_DEVICE:
        return sizeof(CUpti_ActivityDevice5);
    default:
        abort();
    }
}

static void append(const void *record)
{
    size_t size = size_of(record);
    pthread_mutex_lock(&mutex);
    int last = count_with_us - 1;
    if (last < 0 || with_us[last].used + size > with_us[last].size) {
        size_t records_max = 0;
        uint8_t *memory = NULL;
        size_t bytes = 0;
        if (count_with_us < BUFFERS_MAX && request != NULL) request(&memory, &bytes, &records_max);
        if (memory == NULL) {
            dropped++;
            pthread_mutex_unlock(&mutex);
            return;
        }
        last = count_with_us++;
        with_us[last].memory = memory;
        with_us[last].size = bytes;
        with_us[last].used = 0;
    }
    memcpy(with_us[last].memory + with_us[last].used, record, size);
    with_us[last].used += size;
    pthread_mutex_unlock(&mutex);
}

EXPORT void fake_drop(uint64_t count);
EXPORT void fake_hold_flush(int what);
EXPORT int fake_held(void);
EXPORT int64_t fake_buffers_out(void);
EXPORT int fake_subscribed(void);
EXPORT uint64_t fake_kernels(void);
EXPORT uint64_t fake_finalized(void);
EXPORT uint64_t fake_strays(void);

uint64_t fake_strays(void)
{
    return strays;
}

/* With FAKE_CUPTI_TAKEN another tool has it. */
static void note_caller(void)
{
    strays += !subscribed && getenv("FAKE_CUPTI_TAKEN") != NULL;
}

uint64_t fake_finalized(void)
{
    return finalized;
}

uint64_t fake_kernels(void)
{
    return kernels;
}

int fake_subscribed(void)
{
    return subscribed;
}

static uint32_t id_of(const char *name, const char *const *names, size_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (strcmp(names[i], name) == 0) return i;
    return 0;
}

static void tell_of_call(CUpti_CallbackDomain domain, uint32_t id, const char *name, uint32_t correlation,
                         CUpti_ApiCallbackSite site)
{
    CUpti_CallbackData data = {.callbackSite = site, .functionName = name, .correlationId = correlation};
    if (id != 0 && calls_on[domain][id]) subscriber_callback(subscriber_context, domain, id, &data);
}

/* What the runtime starts goes through the driver, with the same id. */
uint32_t fake_call(const char *name)
{
    uint32_t correlation = ++last_correlation;
    uint32_t runtime = id_of(name, runtime_names, sizeof runtime_names / sizeof runtime_names[0]);
    const char *inner = runtime == 0                           ? name
                        : strstr(name, "LaunchKernel") != NULL ? "cuLaunchKernel"
                        : strstr(name, "GraphLaunch") != NULL  ? "cuGraphLaunch"
                        : strstr(name, "Memset") != NULL       ? "cuMemsetD8Async"
                        : strstr(name, "Memcpy") != NULL       ? "cuMemcpyHtoDAsync_v2"
                                                               : "";
    uint32_t driver = id_of(inner, driver_names, sizeof driver_names / sizeof driver_names[0]);
    tell_of_call(CUPTI_CB_DOMAIN_RUNTIME_API, runtime, name, correlation, CUPTI_API_ENTER);
    tell_of_call(CUPTI_CB_DOMAIN_DRIVER_API, driver, inner, correlation, CUPTI_API_ENTER);
    tell_of_call(CUPTI_CB_DOMAIN_DRIVER_API, driver, inner, correlation, CUPTI_API_EXIT);
    tell_of_call(CUPTI_CB_DOMAIN_RUNTIME_API, runtime, name, correlation, CUPTI_API_EXIT);
    return correlation;
}

static void run_kernel(const fake_work *work)
{
    kernel_record record;
    memset(&record, 0, sizeof record);
    record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    record.start = (uint64_t)work->start_ns;
    record.end = (uint64_t)work->end_ns;
    record.deviceId = work->device;
    record.contextId = work->context;
    record.streamId = work->stream;
    record.gridX = (int32_t)work->grid[0];
    record.gridY = (int32_t)work->grid[1];
    record.gridZ = (int32_t)work->grid[2];
    record.blockX = (int32_t)work->block[0];
    record.blockY = (int32_t)work->block[1];
    record.blockZ = (int32_t)work->block[2];
    record.correlationId = work->correlation;
    record.name = work->name;
    record.graphNodeId = work->graph_node;
    if (enabled[record.kind]) {
        kernels++;
        append(&record);
    }
}

static void run_copy(const fake_work *work)
{
    CUpti_ActivityMemcpy6 record;
    memset(&record, 0, sizeof record);
    record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
    record.bytes = (uint64_t)work->bytes;
    record.start = (uint64_t)work->start_ns;
    record.end = (uint64_t)work->end_ns;
    record.deviceId = work->device;
    record.contextId = work->context;
    record.streamId = work->stream;
    record.correlationId = work->correlation;
    if (enabled[record.kind]) append(&record);
}

static void run_set(const fake_work *work)
{
    CUpti_ActivityMemset4 record;
    memset(&record, 0, sizeof record);
    record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
    record.bytes = (uint64_t)-work->bytes;
    record.start = (uint64_t)work->start_ns;
    record.end = (uint64_t)work->end_ns;
    record.deviceId = work->device;
    record.contextId = work->context;
    record.streamId = work->stream;
    record.correlationId = work->correlation;
    if (enabled[record.kind]) append(&record);
}

void fake_run(const fake_work *work)
{
    if (work->name != NULL) {
        run_kernel(work);
    } else if (work->bytes > 0) {
        run_copy(work);
    } else {
        run_set(work);
    }
}

void fake_hold_flush(int what)
{
    flush_is_held = what;
}

int fake_held(void)
{
    return held;
}

static void wait_while_held(bool forced)
{
    held++;
    while (flush_is_held == 1 || (flush_is_held == 2 && forced))
        usleep(1000);
    held--;
}

void fake_drop(uint64_t count)
{
    dropped += count;
}

int64_t fake_buffers_out(void)
{
    return count_with_us;
}

EXPORT CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
    const char *wanted = getenv("FAKE_CUPTI_VERSION");
    *version = wanted != NULL ? (uint32_t)atoi(wanted) : FAKE_MAJOR >= 13 ? 130001 : 28;
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text)
{
    *text = result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                : "CUPTI_ERROR_UNKNOWN";
    return CUPTI_SUCCESS;
}

static void hear_driver(const char *call)
{
    fake_call(call);
}

static void listen_to_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void (*listen)(void (*heard)(const char *call)) = NULL;
    if (driver != NULL) *(void **)&listen = dlsym(driver, "fake_cuda_listen");
    if (listen != NULL) listen(hear_driver);
}

EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
                                           void *context)
{
    if (subscribed || getenv("FAKE_CUPTI_TAKEN") != NULL)
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    listen_to_driver();
    subscriber_callback = callback;
    subscriber_context = context;
    subscribed = true;
    *subscriber = NULL;
    return CUPTI_SUCCESS;
}

static void listen_to_nothing(void)
{
    subscribed = false;
    for (int id = 0; id < CUPTI_CBID_RESOURCE_SIZE; id++)
        resources_on[id] = false;
    for (int domain = 0; domain < 3; domain++)
        for (int id = 0; id < 2048; id++)
            calls_on[domain][id] = false;
}

EXPORT CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
    note_caller();
    (void)subscriber;
    listen_to_nothing();
    return CUPTI_SUCCESS;
}

#ifndef FAKE_WITHOUT_CALLBACKS
EXPORT CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                                CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
    (void)subscriber;
    bool of_api = domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
    if (subscribed && of_api && id < 2048) {
        calls_on[domain][id] = enable != 0;
        return CUPTI_SUCCESS;
    }
    if (!subscribed || domain != CUPTI_CB_DOMAIN_RESOURCE || id >= CUPTI_CBID_RESOURCE_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (getenv("FAKE_CUPTI_WITHOUT_GRAPHS") != NULL) return CUPTI_ERROR_NOT_SUPPORTED;
    resources_on[id] = enable != 0;
    return CUPTI_SUCCESS;
}
#endif

/* As it does: what is with it is lost, nobody is subscribed, and everything is off until somebody subscribes.
 */
EXPORT CUptiResult CUPTIAPI cuptiFinalize(void)
{
    pthread_mutex_lock(&mutex);
    count_with_us = 0;
    request = NULL;
    last_correlation = 100; /* its ids begin anew */
    pthread_mutex_unlock(&mutex);
    listen_to_nothing();
    for (int kind = 0; kind < CUPTI_ACTIVITY_KIND_COUNT; kind++)
        enabled[kind] = false;
    finalized++;
    return CUPTI_SUCCESS;
}

void fake_tell_of_graph(CUpti_CallbackIdResource id, CUpti_GraphData *data)
{
    CUpti_ResourceData resource = {.resourceDescriptor = data};
    if (resources_on[id]) subscriber_callback(subscriber_context, CUPTI_CB_DOMAIN_RESOURCE, id, &resource);
}

EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                                           CUpti_BuffersCallbackCompleteFunc completed)
{
    pthread_mutex_lock(&mutex);
    request = requested;
    complete = completed;
    pthread_mutex_unlock(&mutex);
    return CUPTI_SUCCESS;
}

static void tell_of_devices(void)
{
    for (uint32_t id = 0; id < 2; id++) {
        CUpti_ActivityDevice5 record;
        memset(&record, 0, sizeof record);
        record.kind = CUPTI_ACTIVITY_KIND_DEVICE;
        record.id = id;
        record.isCudaVisible = 1;
        for (int i = 0; i < 16; i++)
            record.uuid.bytes[i] = (char)(0xf0 + i - (int)id * 0x10);
        append(&record);
    }
}

EXPORT CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
    note_caller();
    pthread_mutex_lock(&mutex);
    bool registered = request != NULL;
    pthread_mutex_unlock(&mutex);
    if (!registered) return CUPTI_ERROR_INVALID_OPERATION;
    enabled[kind] = true;
    if (kind == CUPTI_ACTIVITY_KIND_DEVICE) tell_of_devices();
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
    note_caller();
    enabled[kind] = false;
    return CUPTI_SUCCESS;
}

static bool finished(const uint8_t *memory, size_t used)
{
    for (size_t at = 0; at < used;) {
        const CUpti_Activity *record = (const void *)(memory + at);
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
            ((const kernel_record *)(const void *)record)->end == 0)
            return false;
        at += size_of(record);
    }
    return true;
}

EXPORT CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
    note_caller();
    wait_while_held(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    pthread_mutex_lock(&mutex);
    int kept = 0;
    for (int i = 0; i < count_with_us; i++) {
        if (!(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) && !finished(with_us[i].memory, with_us[i].used)) {
            with_us[kept++] = with_us[i];
            continue;
        }
        complete(NULL, 0, with_us[i].memory, with_us[i].size, with_us[i].used);
    }
    count_with_us = kept;
    pthread_mutex_unlock(&mutex);
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes,
                                                       CUpti_Activity **record)
{
    uint8_t *next = *record == NULL ? buffer : (uint8_t *)*record + size_of(*record);
    if (next >= buffer + valid_bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (void *)next;
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
                                                              size_t *count)
{
    (void)context;
    (void)stream;
    *count = atomic_exchange(&dropped, 0);
    return CUPTI_SUCCESS;
}

EXPORT CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char **name)
{
    bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
    size_t count = runtime ? sizeof runtime_names / sizeof runtime_names[0]
                           : sizeof driver_names / sizeof driver_names[0];
    if (id == 0 || id >= count) return CUPTI_ERROR_INVALID_PARAMETER;
    *name = runtime ? runtime_names[id] : driver_names[id];
    return CUPTI_SUCCESS;
}
