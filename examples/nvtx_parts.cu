/* NVTX ranges in a report, without compiling or linking joulemap into the program.
 *
 *     nvcc nvtx_parts.cu -o nvtx_parts
 *     joulemap record -o parts.joulemap -- ./nvtx_parts
 *     joulemap report parts.joulemap
 *
 * A kernel belongs to the innermost range that was open on the launching thread when it was launched. So a range need
 * not wait for its kernels, and the program needs no extra synchronisation.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

static void check(cudaError_t code, const char *what)
{
    if (code == cudaSuccess) return;
    fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(code));
    exit(1);
}

/* Bound by memory. */
__global__ void add(const float *a, float *b, size_t count)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x)
        b[i] += a[i];
}

/* Bound by arithmetic. */
__global__ void polynomial(float *b, size_t count, int degree)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < count; i += (size_t)gridDim.x * blockDim.x) {
        float x = b[i], sum = 0;
        for (int power = 0; power < degree; power++)
            sum = sum * x + 0.5f;
        b[i] = sum;
    }
}

int main()
{
    const size_t count = size_t(1) << 27; /* 512 MiB each: more than any cache holds */
    float *a, *b;
    check(cudaMalloc(&a, count * sizeof *a), "a");
    check(cudaMalloc(&b, count * sizeof *b), "b");
    check(cudaMemset(a, 0, count * sizeof *a), "clear a");
    check(cudaMemset(b, 0, count * sizeof *b), "clear b");

    for (int step = 0; step < 2000; step++) {
        nvtxRangePushA("step");
        nvtxRangePushA("gather");
        add<<<1056, 256>>>(a, b, count);
        nvtxRangePop();
        nvtxRangePushA("evaluate");
        polynomial<<<1056, 256>>>(b, count, 100 + step % 7 * 50);
        nvtxRangePop();
        nvtxRangePop();
    }
    check(cudaDeviceSynchronize(), "run");
    return 0;
}
