/* CUPTI's records of kernels and nothing else, from Python by ctypes: the least that any tracer costs.
 *
 *     g++ -O2 -shared -fPIC -I$CUDA/include -o librecords.so bench/gpu/records.cpp -L$CUDA/lib64 -lcupti
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cupti.h>
#include <mutex>
#include <vector>

static const size_t buffer_bytes = 4 << 20;
static std::mutex mutex;
static std::vector<uint8_t *> spare;
static CUpti_SubscriberHandle subscriber;
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

static void CUPTIAPI hear(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *) {}

static void check(const char *call, CUptiResult result)
{
    if (result != CUPTI_SUCCESS) fprintf(stderr, "%s: %d\n", call, (int)result);
}

extern "C" void records_begin()
{
    check("cuptiSubscribe", cuptiSubscribe(&subscriber, hear, nullptr));
    check("cuptiActivityRegisterCallbacks", cuptiActivityRegisterCallbacks(request, complete));
    check("cuptiActivityEnable", cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    ours = true;
}

/* Whoever used CUPTI last: it is let go, so that what comes next begins as before. Nothing may be in flight. */
extern "C" void records_end()
{
    if (ours) {
        cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        cuptiActivityFlushAll(1);
        cuptiUnsubscribe(subscriber);
        ours = false;
    }
    check("cuptiFinalize", cuptiFinalize());
}
