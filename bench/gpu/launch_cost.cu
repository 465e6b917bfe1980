/* What CUPTI's records cost a launch, kind by kind: an empty kernel launched in bursts, each way in turn, in one
 * process. Median over rounds of nanoseconds a launch on the launching thread, by wall clock and by its CPU time.
 *
 *     nvcc -O2 -std=c++17 -I$CUDA/extras/CUPTI/include -o launch_cost launch_cost.cu -L$CUDA/extras/CUPTI/lib64 -lcupti
 *     ./launch_cost [rounds] [launches]
 */
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cupti.h>
#include <ctime>
#include <vector>

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        int result_ = (int)(call);                                                                           \
        if (result_ != 0) {                                                                                  \
            fprintf(stderr, "%s: %d\n", #call, result_);                                                     \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

__global__ void nothing(int *) {}

static const size_t buffer_bytes = 4 << 20;
static std::vector<uint8_t *> spare;
static std::atomic_flag spare_lock = ATOMIC_FLAG_INIT;
static std::atomic<long> kernels, runtimes, drivers, others;
static unsigned char launches_runtime[4096], launches_driver[4096];
static std::atomic<long> called;

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *most)
{
    while (spare_lock.test_and_set()) {}
    if (spare.empty()) {
        *buffer = (uint8_t *)malloc(buffer_bytes);
        memset(*buffer, 0, buffer_bytes);
    } else {
        *buffer = spare.back();
        spare.pop_back();
    }
    spare_lock.clear();
    *size = buffer_bytes;
    *most = 0;
}

static void CUPTIAPI complete(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
    CUpti_Activity *record = nullptr;
    while (valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) kernels++;
        else if (record->kind == CUPTI_ACTIVITY_KIND_RUNTIME) runtimes++;
        else if (record->kind == CUPTI_ACTIVITY_KIND_DRIVER) drivers++;
        else others++;
    }
    while (spare_lock.test_and_set()) {}
    spare.push_back(buffer);
    spare_lock.clear();
}

static void CUPTIAPI callback(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *)
{
    called.fetch_add(1, std::memory_order_relaxed);
}

static double now(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static CUpti_SubscriberHandle subscriber;

static bool starts_work(const char *name)
{
    return strstr(name, "Launch") && !strstr(name, "HostFunc") && !strstr(name, "Attribute") && !strstr(name, "Config");
}

static void find_launches()
{
    for (unsigned id = 1; id < 4096; id++) {
        const char *name = nullptr;
        launches_runtime[id] = cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, id, &name) == CUPTI_SUCCESS && name && starts_work(name);
        name = nullptr;
        launches_driver[id] = cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) == CUPTI_SUCCESS && name && starts_work(name);
    }
}

static void runtime_calls(bool on)
{
    if (!on) { CHECK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME)); return; }
    CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME));
    for (unsigned id = 1; id < 4096; id++)
        if (!launches_runtime[id]) cuptiActivityEnableRuntimeApi(id, 0);
}

static void driver_calls(bool on)
{
    if (!on) { CHECK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER)); return; }
    CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER));
    for (unsigned id = 1; id < 4096; id++)
        if (!launches_driver[id]) cuptiActivityEnableDriverApi(id, 0);
}

static void kernels_on(bool on)
{
    CHECK(on ? cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
             : cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

static void launch_callbacks(bool on)
{
    for (unsigned id = 1; id < 4096; id++)
        if (launches_driver[id]) cuptiEnableCallback(on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
}

struct way {
    const char *name;
    bool kernel, runtime, driver, callbacks;
    std::vector<double> wall, cpu;
    double on_ms, off_ms;
    long k, r, d;
};

static int *somewhere;

static void burst(long launches)
{
    for (long i = 0; i < launches; i++)
        nothing<<<1, 32>>>(somewhere);
}

static void play(way &w, long launches)
{
    double before = now(CLOCK_MONOTONIC);
    if (w.kernel) kernels_on(true);
    if (w.runtime) runtime_calls(true);
    if (w.driver) driver_calls(true);
    if (w.callbacks) launch_callbacks(true);
    w.on_ms = (now(CLOCK_MONOTONIC) - before) / 1e6;
    burst(1000);
    CHECK(cudaDeviceSynchronize());
    kernels = runtimes = drivers = 0;
    double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
    for (long done = 0; done < launches; done += 500) { /* the queue never fills: the host is what limits */
        burst(500);
        CHECK(cudaDeviceSynchronize());
    }
    w.wall.push_back((now(CLOCK_MONOTONIC) - wall) / (double)launches);
    w.cpu.push_back((now(CLOCK_THREAD_CPUTIME_ID) - cpu) / (double)launches);
    CHECK(cuptiActivityFlushAll(0));
    w.k = kernels, w.r = runtimes, w.d = drivers;
    before = now(CLOCK_MONOTONIC);
    if (w.callbacks) launch_callbacks(false);
    if (w.driver) driver_calls(false);
    if (w.runtime) runtime_calls(false);
    if (w.kernel) kernels_on(false);
    w.off_ms = (now(CLOCK_MONOTONIC) - before) / 1e6;
}

static double median(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 15;
    long launches = argc > 2 ? atol(argv[2]) : 20000;
    CHECK(cudaMalloc(&somewhere, 4));
    CHECK(cudaFree(nullptr));
    std::vector<way> ways = {{"never subscribed", false, false, false, false},
                             {"subscribed, all off", false, false, false, false},
                             {"kernels", true, false, false, false},
                             {"kernels, runtime calls", true, true, false, false},
                             {"kernels, driver calls", true, false, true, false},
                             {"kernels, runtime and driver calls", true, true, true, false},
                             {"kernels, callback of driver launches", true, false, false, true},
                             {"callback of driver launches", false, false, false, true},
                             {"runtime and driver calls", false, true, true, false}};
    for (int round = 0; round < rounds; round++)
        play(ways[0], launches);
    find_launches();
    CHECK(cuptiSubscribe(&subscriber, callback, nullptr));
    CHECK(cuptiActivityRegisterCallbacks(request, complete));
    for (int round = 0; round < rounds; round++)
        for (size_t i = 1; i < ways.size(); i++)
            play(ways[1 + (i - 1 + (size_t)round) % (ways.size() - 1)], launches);
    double plain = median(ways[1].wall), plain_cpu = median(ways[1].cpu);
    for (way &w : ways)
        printf("%-38s wall %7.0f ns (%+6.0f), CPU %7.0f ns (%+6.0f) a launch; on %6.2f ms, off %6.2f ms; "
               "%ld kernels, %ld runtime, %ld driver records\n",
               w.name, median(w.wall), median(w.wall) - plain, median(w.cpu), median(w.cpu) - plain_cpu, w.on_ms, w.off_ms,
               w.k, w.r, w.d);
    return 0;
}
