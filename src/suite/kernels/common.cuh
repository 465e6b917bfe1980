// What all kernels of the suite share: their one argument, types of two bytes, access by 16 bytes, rounds.
//
// NVRTC compiles this, with nothing of CUDA's own headers. C++14, from compute capability 5.0 on.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

struct bf16 {
    u16 bits;
};
struct fp16 {
    u16 bits;
};

// As launch.h has it.
struct work {
    const void *a, *b, *c; // operands
    void *out;
    const u32 *index; // random words; all 0 for data of one value
    u64 n[4];         // the size, as the list has it
    u32 rounds;       // how often all of it is done in a launch
    u32 seed;
};

// ---- numbers

__device__ inline float number(float x) { return x; }
__device__ inline float number(int x) { return (float)x; }
__device__ inline float number(signed char x) { return (float)x; }
__device__ inline float number(bf16 x) { return __uint_as_float((u32)x.bits << 16); }
__device__ inline float number(fp16 x)
{
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}

__device__ inline void put(float &to, float x) { to = x; }
__device__ inline void put(int &to, float x) { to = __float2int_rn(x); }
__device__ inline void put(signed char &to, float x) { to = (signed char)__float2int_rn(x); }
__device__ inline void put(fp16 &to, float x) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(x)); }
__device__ inline void put(bf16 &to, float x)
{
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to.bits) : "f"(x));
#else
    u32 bits = __float_as_uint(x);
    to.bits = (u16)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
#endif
}

// ---- access by 16 bytes

template <class T> struct __align__(16) pack {
    enum { COUNT = 16 / sizeof(T) };
    T v[COUNT];
};

// ---- rounds

// A launch does the same work several times, so that it is long enough. In each round a block takes the part of
// another one: what it reads is then in L2 or in memory, not in its own L1.
__device__ inline u64 block_of(u32 round) { return (blockIdx.x + (u64)round * 61u) % gridDim.x; }
__device__ inline u64 thread_of(u32 round) { return block_of(round) * blockDim.x + threadIdx.x; }
__device__ inline u64 threads() { return (u64)gridDim.x * blockDim.x; }

// f(i) for i from 0 to count, each by one thread.
template <class F> __device__ void for_each(const work &w, u64 count, F f)
{
    for (u32 round = 0; round < w.rounds; round++)
        for (u64 i = thread_of(round); i < count; i += threads()) f(i);
}

// f(row), each by one block.
template <class F> __device__ void for_each_row(const work &w, u64 rows, F f)
{
    for (u32 round = 0; round < w.rounds; round++)
        for (u64 row = block_of(round); row < rows; row += gridDim.x) f(row);
}

// ---- sums of a block of 256 threads; all of them get it

__device__ inline float sum_of_block(float x)
{
    __shared__ float parts[8];
    for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < 8; i++) sum += parts[i];
    return sum;
}

__device__ inline float most_of_block(float x)
{
    __shared__ float parts[8];
    for (int step = 16; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, step));
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    float most = parts[0];
    for (int i = 1; i < 8; i++) most = fmaxf(most, parts[i]);
    return most;
}

// ---- random numbers

__device__ inline u32 mix(u32 x) // a permutation in which every bit depends on all
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

struct four {
    u32 v[4];
};

__device__ inline four philox(u64 counter, u32 key) // Salmon et al. 2011, 10 rounds
{
    u32 c0 = (u32)counter, c1 = (u32)(counter >> 32), c2 = 0, c3 = 0, k0 = key, k1 = 0;
#pragma unroll
    for (int i = 0; i < 10; i++) {
        u32 h0 = __umulhi(0xd2511f53u, c0), l0 = 0xd2511f53u * c0;
        u32 h1 = __umulhi(0xcd9e8d57u, c2), l1 = 0xcd9e8d57u * c2;
        c0 = h1 ^ c1 ^ k0;
        c1 = l1;
        c2 = h0 ^ c3 ^ k1;
        c3 = l0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return four{{c0, c1, c2, c3}};
}

__device__ inline float uniform_of(u32 bits) { return ((bits >> 8) + 0.5f) * (1.0f / 16777216.0f); } // in (0, 1)

// A random word as an index below `count`.
__device__ inline u32 index_of(u32 word, u64 count) { return (u32)((u64)word * count >> 32); }
