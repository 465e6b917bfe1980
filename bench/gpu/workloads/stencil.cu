// A program that repeats a step, as stepped.py: heat in three dimensions, 7 points, single precision, blocked in shared
// memory, and the sum of squares of each state. nvcc -O3 -arch=native stencil.cu; ./a.out SECONDS (0: one step for a profiler)
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

constexpr int N = 512, X = 32, Y = 8;

#define CHECK(call)                                                                                          \
    do {                                                                                                     \
        cudaError_t code = (call);                                                                           \
        if (code != cudaSuccess) {                                                                           \
            fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code));                                    \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

__global__ void heat(const float *__restrict__ in, float *__restrict__ out, float k)
{
    __shared__ float tile[Y + 2][X + 2];
    const int x = blockIdx.x * X + threadIdx.x, y = blockIdx.y * Y + threadIdx.y;
    const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
    auto at = [](int i, int j, int l) { return (size_t)l * N * N + (size_t)j * N + i; };
    auto inside = [](int i) { return min(max(i, 0), N - 1); };
    float below = in[at(x, y, 0)], here = below;
    for (int z = 0; z < N; z++) {
        const float above = in[at(x, y, inside(z + 1))];
        __syncthreads();
        tile[ty][tx] = here;
        if (threadIdx.x == 0) tile[ty][0] = in[at(inside(x - 1), y, z)];
        if (threadIdx.x == X - 1) tile[ty][X + 1] = in[at(inside(x + 1), y, z)];
        if (threadIdx.y == 0) tile[0][tx] = in[at(x, inside(y - 1), z)];
        if (threadIdx.y == Y - 1) tile[Y + 1][tx] = in[at(x, inside(y + 1), z)];
        __syncthreads();
        const float around = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx];
        out[at(x, y, z)] = here + k * (around + below + above - 6 * here);
        below = here;
        here = above;
    }
}

__global__ void square_sum(const float *in, float *sum)
{
    float mine = 0;
    const size_t all = (size_t)N * N * N, stride = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < all; i += stride)
        mine += in[i] * in[i];
    for (int offset = 16; offset > 0; offset /= 2)
        mine += __shfl_down_sync(~0u, mine, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

__global__ void fill(float *out, unsigned seed)
{
    const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = (float)((i * 2654435761u + seed) % 10007) / 10007;
}

int main(int count, char **words)
{
    const double seconds = count > 1 ? atof(words[1]) : 0;
    const size_t bytes = sizeof(float) * N * N * N;
    const dim3 blocks(N / X, N / Y), threads(X, Y);
    float *a, *b, *sum;
    CHECK(cudaMalloc(&a, bytes));
    CHECK(cudaMalloc(&b, bytes));
    CHECK(cudaMalloc(&sum, sizeof *sum));
    fill<<<N * N * (N / 256), 256>>>(a, 1);
    auto step = [&] {
        for (int i = 0; i < 8; i++) {
            heat<<<blocks, threads>>>(a, b, 0.1f);
            heat<<<blocks, threads>>>(b, a, 0.1f);
        }
        square_sum<<<1024, 256>>>(a, sum);
    };
    for (int i = 0; i < 5; i++)
        step();
    CHECK(cudaDeviceSynchronize());
    if (seconds <= 0) {
        cudaProfilerStart();
        step();
        CHECK(cudaDeviceSynchronize());
        cudaProfilerStop();
        return 0;
    }
    long steps = 0;
    const auto begun = std::chrono::steady_clock::now();
    printf("begin\n");
    fflush(stdout);
    while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count() < seconds) {
        for (int i = 0; i < 4; i++, steps++)
            step();
        CHECK(cudaDeviceSynchronize());
    }
    printf("end %ld\n", steps);
    return 0;
}
