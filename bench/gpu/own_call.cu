/* Can CUPTI be let go in a driver call of our own, while another thread launches? What a launch costs before, with and
 * after it.
 *
 *     nvcc -O2 -std=c++17 -o own_call bench/gpu/own_call.cu -lcupti -lcuda && ./own_call
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cuda.h>
#include <cupti.h>
#include <dlfcn.h>
#include <thread>

static void check(const char *call, int result)
{
    if (result != 0) printf("  %s: %d\n", call, result);
}
#define CHECK(call) check(#call, (int)(call))

static std::atomic<bool> asked, done;
static CUptiResult result;

__global__ void nothing(int *) {}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *most)
{
    *size = 4 << 20;
    *buffer = (uint8_t *)calloc(1, *size);
    *most = 0;
}

static void CUPTIAPI complete(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t)
{
    free(buffer);
}

static void CUPTIAPI hear(void *, CUpti_CallbackDomain domain, CUpti_CallbackId, const void *data)
{
    auto call = (const CUpti_CallbackData *)data;
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API || call->callbackSite != CUPTI_API_EXIT || !asked.exchange(false)) return;
    result = cuptiFinalize();
    done = true;
}

static double cpu_ns()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void launch_cost(const char *what)
{
    double least = 1e9, sum = 0;
    for (int round = 0; round < 30; round++) {
        double since = cpu_ns();
        for (int i = 0; i < 500; i++)
            nothing<<<1, 32>>>(nullptr);
        double one = (cpu_ns() - since) / 500;
        CHECK(cudaDeviceSynchronize());
        least = one < least ? one : least;
        sum += one;
    }
    printf("%-16s %6.0f ns a launch, least %6.0f\n", what, sum / 30, least);
}

int main()
{
    CHECK(cudaFree(nullptr));
    launch_cost("never");
    launch_cost("never");
    auto own_call = (CUresult(*)(int *))dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuDriverGetVersion");
    for (int round = 0; round < 3; round++) {
        CUpti_SubscriberHandle subscriber;
        CHECK(cuptiSubscribe(&subscriber, hear, nullptr));
        CHECK(cuptiActivityRegisterCallbacks(request, complete));
        CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
        launch_cost("kernels");
        CHECK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
        launch_cost("off");
        CHECK(cuptiActivityFlushAll(0));
        for (unsigned id = 1; id < 2048; id++) {
            const char *name = nullptr;
            if (cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) == CUPTI_SUCCESS && name &&
                strcmp(name, "cuDriverGetVersion") == 0)
                CHECK(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id));
        }
        std::atomic<bool> over{false};
        std::thread launcher([&] {
            for (; round == 2 && !over; CHECK(cudaDeviceSynchronize()))
                for (int i = 0; i < 100; i++)
                    nothing<<<1, 32>>>(nullptr);
        });
        done = false;
        asked = true;
        std::thread([&] {
            int version;
            CHECK(own_call(&version));
        }).join();
        printf("  let go: %d, %d%s\n", (int)done, (int)result, round == 2 ? ", while another thread launches" : "");
        over = true;
        launcher.join();
        launch_cost("after");
        CHECK(cudaGetLastError());
    }
    return 0;
}
