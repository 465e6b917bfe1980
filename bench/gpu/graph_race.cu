/* A graph's first launch while another thread lets CUPTI go, as src/inject/cupti.c does: does the graph outlive it?
 * One that was launched before does not (whole_graphs.cu), and keeps CUPTI.
 *
 *     nvcc -O2 -std=c++17 -o graph_race bench/gpu/graph_race.cu -lcupti -lcuda && ./graph_race CYCLES SEED
 */
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <cupti.h>
#include <random>
#include <thread>

static const double spread_us = 3000; /* of when either begins; cuptiFinalize takes 2,000 */

static std::atomic<int> failures;
static void check(const char *call, int result)
{
    if (result == 0) return;
    printf("  %s: %d\n", call, result);
    failures++;
}
#define CHECK(call) check(#call, (int)(call))

static double now_us()
{
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static void wait_us(double length)
{
    for (double since = now_us(); now_us() - since < length;) {
    }
}

/* ---- CUPTI, as joulemap uses it */

static std::atomic<bool> never; /* a graph is being launched: it is not let go any more */
static bool is_graph_launch[2048], in_own_call, let_go;
static double asked_us, done_us;

static void CUPTIAPI hear(void *, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
    auto call = (const CUpti_CallbackData *)data;
    if (domain != CUPTI_CB_DOMAIN_DRIVER_API) return;
    if (call->callbackSite == CUPTI_API_ENTER && id < 2048 && is_graph_launch[id]) never = true;
    if (call->callbackSite != CUPTI_API_EXIT || !in_own_call) return;
    in_own_call = false;
    asked_us = now_us();
    if (!never) {
        CHECK(cuptiFinalize());
        let_go = true;
    }
    done_us = now_us();
}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *most)
{
    *size = 1 << 20;
    *buffer = (uint8_t *)calloc(1, *size);
    *most = 0;
}

static void CUPTIAPI complete(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t)
{
    free(buffer);
}

static bool is_launch(const char *name)
{
    return strstr(name, "Launch") && !strstr(name, "HostFunc") && !strstr(name, "Attribute") && !strstr(name, "Config");
}

static CUpti_SubscriberHandle begin()
{
    CUpti_SubscriberHandle subscriber;
    CHECK(cuptiSubscribe(&subscriber, hear, nullptr));
    CHECK(cuptiActivityRegisterCallbacks(request, complete));
    CHECK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    for (uint32_t id = 1; id < 2048; id++) {
        const char *name = nullptr;
        if (cuptiGetCallbackName(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) != CUPTI_SUCCESS || !name) continue;
        if (!is_launch(name)) continue;
        is_graph_launch[id] = strstr(name, "Graph") != nullptr;
        cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
    }
    never = let_go = false;
    return subscriber;
}

static void ask(CUpti_SubscriberHandle subscriber)
{
    int version;
    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion);
    in_own_call = true;
    cuDriverGetVersion(&version);
    in_own_call = false;
}

/* ---- the program */

__global__ void add(float *x)
{
    x[threadIdx.x] += 1;
}

enum { MADE = 1, GO, LAUNCHED, AGAIN }; /* where both threads are */
static std::atomic<int> place;

static void await(int wanted)
{
    while (place < wanted) {
    }
}

/* `before`: it is made before CUPTI is asked to go, else beside that, too. */
static void use_a_graph(float *x, double delay_us, bool before, double *from_us, double *to_us)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec = nullptr;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < 5; i++)
        add<<<1, 32, 0, stream>>>(x);
    CHECK(cudaStreamEndCapture(stream, &graph));
    if (before) CHECK(cudaGraphInstantiate(&exec, graph, 0));
    place = MADE;
    await(GO);
    wait_us(delay_us);
    if (!before) CHECK(cudaGraphInstantiate(&exec, graph, 0));
    *from_us = now_us();
    CHECK(cudaGraphLaunch(exec, stream));
    *to_us = now_us();
    CHECK(cudaStreamSynchronize(stream));
    place = LAUNCHED;
    await(AGAIN); /* CUPTI is gone, or will not go */
    for (int i = 0; i < 5; i++) {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
    int cycles = argc > 1 ? atoi(argv[1]) : 60, raced = 0, kept = 0, after = 0;
    std::mt19937 chance(argc > 2 ? (unsigned)atoi(argv[2]) : 1);
    std::uniform_real_distribution<double> delay(0, spread_us);
    float *x;
    CHECK(cudaMalloc(&x, 4096));
    for (int i = 0; i < cycles; i++) {
        CUpti_SubscriberHandle subscriber = begin();
        for (int k = 0; k < 20; k++)
            add<<<1, 32>>>(x);
        CHECK(cudaDeviceSynchronize());
        cuptiActivityFlushAll(1);
        cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        double from_us, to_us;
        place = 0;
        std::thread other(use_a_graph, x, delay(chance), chance() % 2 == 0, &from_us, &to_us);
        await(MADE);
        double own_delay_us = delay(chance);
        place = GO;
        wait_us(own_delay_us);
        ask(subscriber);
        await(LAUNCHED);
        kept += !let_go;
        after += let_go && from_us > done_us;
        raced += let_go && from_us < done_us && to_us > asked_us;
        place = AGAIN;
        other.join();
        if (!let_go) cuptiFinalize();
    }
    printf("%d cycles: CUPTI went while the graph was launched in %d, before it in %d, stayed in %d; %d failures\n", cycles,
           raced, after, kept, (int)failures);
    return failures > 0;
}
