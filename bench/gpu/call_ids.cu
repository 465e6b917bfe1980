/* Do callbacks of the driver's calls alone bear the correlation ids of all work? Each kind of launch, copy and set, what
 * CUPTI records of it, and the calls that it told of with that id.
 *
 *     nvcc -std=c++17 -o call_ids bench/gpu/call_ids.cu -lcupti -lcuda && ./call_ids [runtime]
 *
 * With an argument it listens to the runtime's calls too.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>
#include <map>
#include <mutex>
#include <string>
#include <vector>

static void check(const char *call, int result)
{
    if (result != 0) printf("  %s: %d\n", call, result);
}
#define CHECK(call) check(#call, (int)(call))

static std::mutex mutex;
static std::map<unsigned, std::string> calls;
static std::vector<std::pair<unsigned, std::string>> work;

__global__ void kernel(int *p) { *p = 1; }

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
        if (any->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
            work.push_back({(unsigned)((CUpti_ActivityKernel9 *)any)->correlationId, "kernel"});
        if (any->kind == CUPTI_ACTIVITY_KIND_MEMCPY)
            work.push_back({(unsigned)((CUpti_ActivityMemcpy5 *)any)->correlationId, "copy"});
        if (any->kind == CUPTI_ACTIVITY_KIND_MEMSET)
            work.push_back({(unsigned)((CUpti_ActivityMemset4 *)any)->correlationId, "set"});
    }
    free(buffer);
}

static void CUPTIAPI hear(void *, CUpti_CallbackDomain domain, CUpti_CallbackId, const void *data)
{
    auto call = (const CUpti_CallbackData *)data;
    if (call->callbackSite != CUPTI_API_ENTER) return;
    std::lock_guard<std::mutex> guard(mutex);
    calls[call->correlationId] += std::string(domain == CUPTI_CB_DOMAIN_DRIVER_API ? " " : " runtime: ") + call->functionName;
}

static void tell(const char *what)
{
    CHECK(cudaDeviceSynchronize());
    CHECK(cuptiActivityFlushAll(1));
    std::lock_guard<std::mutex> guard(mutex);
    for (auto &one : work)
        printf("%-24s %-7s id %-4u%s\n", what, one.second.c_str(), one.first,
               calls.count(one.first) ? calls[one.first].c_str() : " NOBODY");
    if (work.empty()) printf("%-24s no work\n", what);
    work.clear();
    calls.clear();
}

static bool starts_work(const char *name)
{
    if (strstr(name, "Launch")) return !strstr(name, "HostFunc") && !strstr(name, "Attribute") && !strstr(name, "Config");
    return !strstr(name, "Graph") && (strstr(name, "emcpy") || strstr(name, "emset"));
}

static void listen(CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain)
{
    for (unsigned id = 1; id < 2048; id++) {
        const char *name = nullptr;
        if (cuptiGetCallbackName(domain, id, &name) == CUPTI_SUCCESS && name && starts_work(name))
            CHECK(cuptiEnableCallback(1, subscriber, domain, id));
    }
}

int main(int argc, char **)
{
    CUpti_SubscriberHandle subscriber;
    CHECK(cuptiSubscribe(&subscriber, hear, nullptr));
    CHECK(cuptiActivityRegisterCallbacks(request, complete));
    for (auto kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
        CHECK(cuptiActivityEnable(kind));
    listen(subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
    if (argc > 1) listen(subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);

    int *a, *b, *pinned;
    std::vector<int> pageable(1 << 18);
    cudaStream_t stream;
    CHECK(cudaMalloc(&a, 1 << 20));
    CHECK(cudaMalloc(&b, 1 << 20));
    CHECK(cudaMallocHost(&pinned, 1 << 20));
    CHECK(cudaStreamCreate(&stream));
    void *arguments[] = {&a};

    kernel<<<1, 1>>>(a), tell("<<<>>>");
    kernel<<<1, 1, 0, stream>>>(a), tell("<<<>>>, stream");
    kernel<<<1, 1, 0, cudaStreamPerThread>>>(a), tell("<<<>>>, thread's stream");
    cudaLaunchConfig_t config = {};
    config.gridDim = config.blockDim = 1;
    config.stream = stream;
    CHECK(cudaLaunchKernelEx(&config, kernel, a)), tell("cudaLaunchKernelEx");
    CHECK(cudaLaunchCooperativeKernel((void *)kernel, dim3(1), dim3(1), arguments, 0, stream)), tell("cooperative");
    cudaFunction_t function;
    CHECK(cudaGetFuncBySymbol(&function, (const void *)kernel));
    CHECK(cuLaunchKernel((CUfunction)function, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr)), tell("cuLaunchKernel");
    CHECK(cudaMemcpyAsync(a, pageable.data(), 1000, cudaMemcpyHostToDevice, stream)), tell("to the GPU, pageable");
    CHECK(cudaMemcpyAsync(a, pinned, 1 << 20, cudaMemcpyHostToDevice, stream)), tell("to the GPU, pinned");
    CHECK(cudaMemcpyAsync(pinned, a, 1 << 20, cudaMemcpyDeviceToHost, stream)), tell("from the GPU");
    CHECK(cudaMemcpy(pageable.data(), a, 100000, cudaMemcpyDeviceToHost)), tell("from the GPU, waiting");
    CHECK(cudaMemcpyAsync(b, a, 1 << 20, cudaMemcpyDeviceToDevice, stream)), tell("within the GPU");
    CHECK(cudaMemcpy2DAsync(b, 1024, a, 1024, 512, 512, cudaMemcpyDeviceToDevice, stream)), tell("in two dimensions");
    CHECK(cudaMemsetAsync(a, 0, 1 << 20, stream)), tell("cudaMemsetAsync");
    CHECK(cudaMemset(a, 0, 1 << 20)), tell("cudaMemset");
    CHECK(cuMemsetD32Async((CUdeviceptr)a, 0, 100, stream)), tell("cuMemsetD32Async");
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    kernel<<<1, 1, 0, stream>>>(a);
    CHECK(cudaMemsetAsync(a, 0, 100, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0)), tell("captured");
    CHECK(cudaGraphLaunch(exec, stream)), tell("a graph");
    return 0;
}
