// Matrix products by tensor cores (mma.sync, from compute capability 8.0 on): a (n[0] x n[2]) times b (n[1] x n[2])
// transposed, of which whole tiles of 128 x 128 are made.
//
// A block has 8 warps, each with 64 x 32 of the tile. 64 bytes of each row at a time come by cp.async into one of three
// stages of shared memory, whose pieces of 16 bytes are so mixed that ldmatrix finds no two in one bank. To it, all types
// look alike: 16 rows of 32 bytes, and 8 of 32.
#include "common.cuh"

enum { TILE = 128, ROW = 64, STAGES = 3 };

#if __CUDA_ARCH__ >= 800
#define MMA(name, shape, accumulator, letter)                                                                \
    __device__ inline void name(accumulator *d, const u32 *a, const u32 *b)                                  \
    {                                                                                                        \
        asm volatile("mma.sync.aligned." shape " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"      \
                     : "+" letter(d[0]), "+" letter(d[1]), "+" letter(d[2]), "+" letter(d[3])                \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                    \
    }
MMA(mma_bf16, "m16n8k16.row.col.f32.bf16.bf16.f32", float, "f")
MMA(mma_fp16, "m16n8k16.row.col.f32.f16.f16.f32", float, "f")
MMA(mma_tf32, "m16n8k8.row.col.f32.tf32.tf32.f32", float, "f")
MMA(mma_int8, "m16n8k32.row.col.s32.s8.s8.s32", int, "r")

struct of_bf16 {
    typedef bf16 element;
    typedef float sum;
    typedef bf16 result;
    __device__ static void mma(sum *d, const u32 *a, const u32 *b) { mma_bf16(d, a, b); }
};
struct of_fp16 {
    typedef fp16 element;
    typedef float sum;
    typedef fp16 result;
    __device__ static void mma(sum *d, const u32 *a, const u32 *b) { mma_fp16(d, a, b); }
};
struct of_tf32 {
    typedef float element;
    typedef float sum;
    typedef float result;
    __device__ static void mma(sum *d, const u32 *a, const u32 *b) { mma_tf32(d, a, b); }
};
struct of_int8 {
    typedef signed char element;
    typedef int sum;
    typedef int result;
    __device__ static void mma(sum *d, const u32 *a, const u32 *b) { mma_int8(d, a, b); }
};

__device__ inline void fetch(u32 to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
}

__device__ inline void read_four(u32 *to, u32 from)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from));
}

__device__ inline u32 shared_address(const void *from) { return (u32)__cvta_generic_to_shared(from); }

// Of a piece of 16 bytes in a part of a stage.
__device__ inline u32 place(u32 row, u32 piece) { return row * ROW + (piece ^ (row >> 1 & 3)) * 16; }

// 64 bytes of 128 rows each of a and b.
__device__ inline void fetch_step(u32 stage, const char *a, const char *b, u64 row_bytes)
{
#pragma unroll
    for (int half = 0; half < 2; half++) {
        u32 row = threadIdx.x / 4 + 64 * half, piece = threadIdx.x % 4;
        fetch(stage + place(row, piece), a + row * row_bytes + piece * 16);
        fetch(stage + TILE * ROW + place(row, piece), b + row * row_bytes + piece * 16);
    }
}

template <class M> __device__ inline void multiply(typename M::sum sums[4][4][4], u32 stage, u32 warp_row, u32 warp_column)
{
    u32 lane = threadIdx.x % 32;
#pragma unroll
    for (int part = 0; part < 2; part++) {
        u32 left[4][4], right[2][4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            read_four(left[i], stage + place(warp_row + 16 * i + lane % 16, 2 * part + lane / 16));
#pragma unroll
        for (int j = 0; j < 2; j++)
            read_four(right[j], stage + TILE * ROW +
                                    place(warp_column + 16 * j + lane % 8 + lane / 16 * 8, 2 * part + lane / 8 % 2));
#pragma unroll
        for (int i = 0; i < 4; i++)
#pragma unroll
            for (int j = 0; j < 4; j++) M::mma(sums[i][j], left[i], &right[j / 2][j % 2 * 2]);
    }
}

__device__ inline void put(int &to, int x) { to = x; }

template <class M> __device__ void product(const work &w)
{
    __shared__ __align__(128) u8 stages[STAGES][2 * TILE * ROW];
    u32 base = shared_address(stages), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    u32 warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;
    u64 row_bytes = w.n[2] * sizeof(typename M::element), across = w.n[1] / TILE;
    u32 steps = (u32)(row_bytes / ROW);
    typename M::result *out = (typename M::result *)w.out;
    for_each_row(w, w.n[0] / TILE * across, [&](u64 tile) {
        u64 row = tile / across * TILE, column = tile % across * TILE;
        const char *a = (const char *)w.a + row * row_bytes, *b = (const char *)w.b + column * row_bytes;
        typename M::sum sums[4][4][4] = {};
        for (u32 step = 0; step < STAGES - 1; step++) {
            if (step < steps) fetch_step(base + step * 2 * TILE * ROW, a + step * ROW, b + step * ROW, row_bytes);
            asm volatile("cp.async.commit_group;");
        }
        for (u32 step = 0; step < steps; step++) {
            asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2));
            __syncthreads();
            u32 next = step + STAGES - 1;
            if (next < steps)
                fetch_step(base + next % STAGES * 2 * TILE * ROW, a + (u64)next * ROW, b + (u64)next * ROW, row_bytes);
            asm volatile("cp.async.commit_group;");
            multiply<M>(sums, base + step % STAGES * 2 * TILE * ROW, warp_row, warp_column);
        }
        __syncthreads();
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++)
                for (int k = 0; k < 4; k++) {
                    u64 y = row + warp_row + 16 * i + lane / 4 + k / 2 * 8;
                    u64 x = column + warp_column + 8 * j + lane % 4 * 2 + k % 2;
                    put(out[y * w.n[1] + x], sums[i][j][k]);
                }
    });
}

// What lies in registers, over and over: tensor cores without the ways to them. n[0] elements of two bytes.
template <class M> __device__ void registers(const work &w)
{
    const u32 *a = (const u32 *)w.a;
    typename M::sum sums[8][4] = {};
    for_each(w, w.n[0] / 12, [&](u64 i) {
        u32 words[6];
        for (int k = 0; k < 6; k++) words[k] = a[6 * i + k];
        for (int k = 0; k < 64; k++)
#pragma unroll
            for (int j = 0; j < 8; j++) M::mma(sums[j], words, words + 4);
    });
    typename M::sum all = 0;
    for (int j = 0; j < 8; j++)
        for (int k = 0; k < 4; k++) all += sums[j][k];
    put(((typename M::result *)w.out)[(u64)blockIdx.x * blockDim.x + threadIdx.x], all);
}

#define KERNEL(name, type, way)                                                                              \
    extern "C" __global__ void __launch_bounds__(256, 2) name##_##type(work w)                               \
    {                                                                                                        \
        way<of_##type>(w);                                                                                   \
    }
KERNEL(mma, bf16, product)
KERNEL(mma, fp16, product)
KERNEL(mma, tf32, product)
KERNEL(mma, int8, product)
KERNEL(registers, bf16, registers)
KERNEL(registers, fp16, registers)
#endif
