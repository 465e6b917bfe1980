/* CUDA graphs under CUPTI: what a replay of 100 kernels of 2 us costs in each state of it, and what breaks. A scenario a
 * process, since some end in a crash: see bench/results/whole_graphs.txt.
 *
 *     nvcc -std=c++17 -o whole_graphs bench/gpu/whole_graphs.cu -lcupti -lcuda && for i in 0 1 2 3 4; do ./whole_graphs $i; done
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda_runtime.h>
#include <cupti.h>
#include <mutex>

static std::mutex mutex;
static long kernels, graphs;
static bool subscribed;
static CUpti_SubscriberHandle subscriber;
static cudaStream_t stream;

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        int result_ = (int)(call);                                                                           \
        if (result_ != 0) printf("  %s: %d\n", #call, result_), exit(1);                                     \
    } while (0)

__global__ void spin(long long cycles)
{
    for (long long since = clock64(); clock64() - since < cycles;) {}
}

static void CUPTIAPI request(uint8_t **buffer, size_t *size, size_t *most)
{
    *size = 4 << 20;
    *buffer = (uint8_t *)calloc(1, *size);
    *most = 0;
}

static void CUPTIAPI complete(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
    std::lock_guard<std::mutex> guard(mutex);
    CUpti_Activity *any = nullptr;
    while (valid > 0 && cuptiActivityGetNextRecord(buffer, valid, &any) == CUPTI_SUCCESS) {
        kernels += any->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
        graphs += any->kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE;
    }
    free(buffer);
}

static void CUPTIAPI hear(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *) {}

static cudaGraphExec_t make()
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < 100; i++)
        spin<<<1, 32, 0, stream>>>(2000);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

static double now(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void play(const char *what, cudaGraphExec_t exec)
{
    const int replays = 200;
    printf("%-44s", what);
    fflush(stdout); /* it may be the last word */
    kernels = graphs = 0;
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    double wall = now(CLOCK_MONOTONIC), launches = 0;
    for (int i = 0; i < replays; i++) {
        double since = now(CLOCK_THREAD_CPUTIME_ID);
        CHECK(cudaGraphLaunch(exec, stream));
        launches += now(CLOCK_THREAD_CPUTIME_ID) - since;
        CHECK(cudaStreamSynchronize(stream));
    }
    wall = now(CLOCK_MONOTONIC) - wall;
    if (subscribed) CHECK(cuptiActivityFlushAll(1));
    printf("%7.1f us a replay, its launch %6.1f us; %ld kernels, %ld graphs\n", wall / replays, launches / replays, kernels, graphs);
}

static void begin()
{
    CHECK(cuptiSubscribe(&subscriber, hear, nullptr));
    CHECK(cuptiActivityRegisterCallbacks(request, complete));
    subscribed = true;
}

static void finalize()
{
    CHECK(cuptiActivityFlushAll(1));
    CHECK(cuptiUnsubscribe(subscriber));
    CHECK(cuptiFinalize());
    subscribed = false;
}

static const CUpti_ActivityKind by_node = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, whole = CUPTI_ACTIVITY_KIND_GRAPH_TRACE;

static void turn_on(CUpti_ActivityKind kind) { CHECK(cuptiActivityEnable(kind)); }
static void turn_off(CUpti_ActivityKind kind) { CHECK(cuptiActivityDisable(kind)); }

int main(int, char **arguments)
{
    int scenario = atoi(arguments[1]);
    printf("scenario %d\n", scenario);
    CHECK(cudaStreamCreate(&stream));
    if (scenario == 0) { /* finalized, with a graph that was launched meanwhile */
        auto graph = make();
        play("without CUPTI", graph);
        begin(), play("subscribed", graph);
        turn_on(by_node), play("kernels", graph);
        turn_off(by_node), play("kernels off again", graph);
        finalize(), play("finalized", graph);
    } else if (scenario == 1) { /* whole graphs from the start */
        begin(), turn_on(whole);
        auto graph = make();
        play("whole graphs", graph);
        turn_on(by_node), play("kernels too", graph);
        turn_off(whole), play("kernels alone", graph);
        turn_on(whole), play("both", graph);
        turn_off(whole), turn_off(by_node), play("all off", graph);
    } else if (scenario == 2) { /* whole graphs, one from before */
        auto graph = make();
        begin(), turn_on(whole), play("whole graphs, a graph from before", graph);
    } else if (scenario == 3) { /* made while kernels were recorded, and CUPTI finalized since */
        begin(), turn_on(by_node);
        auto graph = make();
        turn_off(by_node), finalize(), begin(), turn_on(whole), play("whole graphs after cuptiFinalize", graph);
    } else { /* made while kernels were recorded */
        begin(), turn_on(by_node);
        auto graph = make();
        play("kernels", graph);
        turn_on(whole), play("whole graphs too, later", graph);
    }
    puts("ended well");
    return 0;
}
