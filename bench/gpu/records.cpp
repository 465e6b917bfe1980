/* CUPTI alone, from Python by ctypes: what its records and callbacks cost a program, and the least that any
 * tracer does.
 *
 *     g++ -O2 -shared -fPIC -I$CUDA/include -o librecords.so bench/gpu/records.cpp -L$CUDA/lib64 -lcupti
 */
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cupti.h>
#include <mutex>
#include <vector>

enum {
    KERNELS = 1,
    RECORDS_OF_CALLS = 2,
    CALLBACKS = 4,
    ZEROED = 8,
    ONE_BUFFER = 16,
    PINNED = 32,
    LARGE = 64
};

static const size_t buffer_bytes = 4 << 20;
static std::mutex mutex;
static std::vector<uint8_t *> spare;
static CUpti_SubscriberHandle subscriber;
static std::atomic<uint64_t> heard;
static bool ours;

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *most)
{
    std::lock_guard<std::mutex> guard(mutex);
    if (spare.empty()) spare.push_back((uint8_t *)calloc(1, buffer_bytes));
    *buffer = spare.back();
    spare.pop_back();
    *size = buffer_bytes;
    *most = 0;
}

static void CUPTIAPI complete(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t)
{
    std::lock_guard<std::mutex> guard(mutex);
    spare.push_back(buffer);
}

static void CUPTIAPI hear(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *)
{
    heard.fetch_add(1, std::memory_order_relaxed);
}

static void check(const char *call, CUptiResult result)
{
    if (result != CUPTI_SUCCESS) fprintf(stderr, "%s: %d\n", call, (int)result);
}

static bool is_launch(CUpti_CallbackDomain domain, uint32_t id)
{
    const char *name = nullptr;
    return cuptiGetCallbackName(domain, id, &name) == CUPTI_SUCCESS && name && strstr(name, "Launch") &&
           !strstr(name, "HostFunc") && !strstr(name, "Attribute") && !strstr(name, "Config");
}

/* What might make records of kernels cheaper, by CUPTI's own words; as it is by itself without them. */
static void set_attributes(int what)
{
    uint8_t on = 1, off = 0;
    size_t bytes = 1, large = 64 << 20;
    auto set = [&](CUpti_ActivityAttribute which, size_t size, void *value) {
        check("attribute", cuptiActivitySetAttribute(which, &size, value));
    };
    if (what & ZEROED) set(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, bytes, &on);
    if (what & ONE_BUFFER) set(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, bytes, &off);
    if (what & PINNED) set(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, bytes, &on);
    if (what & LARGE) set(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, sizeof large, &large);
}

extern "C" void records_begin(int what)
{
    check("cuptiSubscribe", cuptiSubscribe(&subscriber, hear, nullptr));
    set_attributes(what);
    check("cuptiActivityRegisterCallbacks", cuptiActivityRegisterCallbacks(request, complete));
    if (what & KERNELS) check("kernels", cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    if (what & RECORDS_OF_CALLS) {
        check("calls", cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
        check("calls", cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
    }
    for (uint32_t id = 1; id < 2048; id++) { /* of launches alone */
        if (what & RECORDS_OF_CALLS) {
            if (!is_launch(CUPTI_CB_DOMAIN_RUNTIME_API, id)) cuptiActivityEnableRuntimeApi(id, 0);
            if (!is_launch(CUPTI_CB_DOMAIN_DRIVER_API, id)) cuptiActivityEnableDriverApi(id, 0);
        }
        if ((what & CALLBACKS) && is_launch(CUPTI_CB_DOMAIN_DRIVER_API, id))
            check("callback", cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id));
    }
    ours = true;
}

/* Whoever used CUPTI last: it is let go, so that what comes next begins as before. Nothing may be in flight.
 */
extern "C" void records_end()
{
    if (ours) {
        cuptiActivityFlushAll(1);
        cuptiUnsubscribe(subscriber);
        ours = false;
    }
    check("cuptiFinalize", cuptiFinalize());
}
