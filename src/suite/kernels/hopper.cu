// Matrix products by the tensor cores of Hopper (wgmma, compute capability 9.0 alone): a (n[0] x n[2]) times b (n[1] x
// n[2]) transposed, of which whole tiles of 128 x 256 are made.
//
// A block has two groups of four warps, each with 64 x 256 of the tile. 128 bytes of each row at a time come by cp.async
// into one of four stages of shared memory, as swizzle of 128 bytes has them: eight rows are 1024 bytes, a piece of 16
// bytes stands at its number xor its row's. Tensor cores read them there, without registers in between.
#include "common.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
enum { ROWS = 128, COLUMNS = 256, ROW = 128, STAGES = 4, STAGE = (ROWS + COLUMNS) * ROW, AHEAD = 2 };

#define EIGHT(letter, i)                                                                                     \
    "+" letter(d[i]), "+" letter(d[i + 1]), "+" letter(d[i + 2]), "+" letter(d[i + 3]), "+" letter(d[i + 4]), \
        "+" letter(d[i + 5]), "+" letter(d[i + 6]), "+" letter(d[i + 7])

// d of 64 numbers a thread, += or, where `add` is 0, = what the tensor cores find at the places of a and b.
#define WGMMA(name, shape, accumulator, letter, rest)                                                        \
    __device__ inline void name(accumulator *d, u64 a, u64 b, u32 add)                                       \
    {                                                                                                        \
        asm volatile("{.reg .pred p; setp.ne.b32 p, %66, 0; wgmma.mma_async.sync.aligned." shape             \
                     "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"                               \
                     "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"                      \
                     "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"                      \
                     "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %64, %65, p" rest ";}"\
                     : EIGHT(letter, 0), EIGHT(letter, 8), EIGHT(letter, 16), EIGHT(letter, 24),             \
                       EIGHT(letter, 32), EIGHT(letter, 40), EIGHT(letter, 48), EIGHT(letter, 56)            \
                     : "l"(a), "l"(b), "r"(add));                                                            \
    }
WGMMA(wgmma_bf16, "m64n128k16.f32.bf16.bf16 ", float, "f", ", 1, 1, 0, 0")
WGMMA(wgmma_fp16, "m64n128k16.f32.f16.f16 ", float, "f", ", 1, 1, 0, 0")
WGMMA(wgmma_tf32, "m64n128k8.f32.tf32.tf32 ", float, "f", ", 1, 1")
WGMMA(wgmma_int8, "m64n128k32.s32.s8.s8 ", int, "r", "")

#define OF(type, of, from, to)                                                                               \
    struct of_##type {                                                                                       \
        typedef of element;                                                                                  \
        typedef from sum;                                                                                    \
        typedef to result;                                                                                   \
        __device__ static void mma(sum *d, u64 a, u64 b, u32 add) { wgmma_##type(d, a, b, add); }            \
    };
OF(bf16, bf16, float, bf16)
OF(fp16, fp16, float, fp16)
OF(tf32, float, float, float)
OF(int8, signed char, int, int)

__device__ inline void put(int &to, int x) { to = x; }

// 128 bytes of all rows of a step.
__device__ inline void fetch_step(u32 stage, const char *a, const char *b, u64 row_bytes)
{
#pragma unroll
    for (u32 i = 0; i < (ROWS + COLUMNS) * 8 / 256; i++) {
        u32 row = threadIdx.x / 8 + 32 * i, piece = threadIdx.x % 8;
        const char *from = i < ROWS / 32 ? a + row * row_bytes : b + (row - ROWS) * row_bytes;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(stage + row * ROW + (piece ^ (row & 7)) * 16),
                     "l"(from + piece * 16));
    }
}

// Where tensor cores find rows of 128 bytes: an address, 1024 bytes from eight rows to the next, the swizzle.
__device__ inline u64 place(u32 address)
{
    return (u64)((address & 0x3ffffu) >> 4) | (u64)1 << 16 | (u64)64 << 32 | (u64)1 << 62;
}

// RESIDENT: what came first stays, and is multiplied over and over.
template <class M, bool RESIDENT> __device__ void product(const work &w)
{
    extern __shared__ u8 memory[];
    u32 base = ((u32)__cvta_generic_to_shared(memory) + 1023u) & ~1023u;
    u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = threadIdx.x / 128;
    u64 row_bytes = w.n[2] * sizeof(typename M::element), across = w.n[1] / COLUMNS;
    u32 steps = (u32)(row_bytes / ROW), fetched = RESIDENT && steps > STAGES ? (u32)STAGES : steps;
    typename M::result *out = (typename M::result *)w.out;
    for_each_row(w, w.n[0] / ROWS * across, [&](u64 tile) {
        u64 row = tile / across * ROWS, column = tile % across * COLUMNS;
        const char *a = (const char *)w.a + row * row_bytes, *b = (const char *)w.b + column * row_bytes;
        typename M::sum d[2][64];
        for (u32 step = 0; step < AHEAD; step++) {
            if (step < fetched) fetch_step(base + step * STAGE, a + step * ROW, b + step * ROW, row_bytes);
            asm volatile("cp.async.commit_group;");
        }
        for (u32 step = 0; step < steps; step++) {
            asm volatile("cp.async.wait_group %0;" ::"n"(AHEAD - 1) : "memory");
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            __syncthreads();
            u32 stage = base + step % STAGES * STAGE;
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
            for (u32 part = 0; part < 4; part++)
#pragma unroll
                for (u32 half = 0; half < 2; half++)
                    M::mma(d[half], place(stage + group * 64 * ROW + part * 32),
                           place(stage + (ROWS + half * 128) * ROW + part * 32), step | part);
            asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
            u32 next = step + AHEAD; // into a stage that all have done with: that of the step before the last
            if (next < fetched)
                fetch_step(base + next % STAGES * STAGE, a + (u64)next * ROW, b + (u64)next * ROW, row_bytes);
            asm volatile("cp.async.commit_group;");
            asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        }
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
#pragma unroll
        for (u32 half = 0; half < 2; half++)
#pragma unroll
            for (u32 k = 0; k < 64; k++) {
                u64 y = row + group * 64 + warp % 4 * 16 + lane / 4 + k / 2 % 2 * 8;
                u64 x = column + half * 128 + k / 4 * 8 + lane % 4 * 2 + k % 2;
                put(out[y * w.n[1] + x], d[half][k]);
            }
    });
}

#define KERNEL(name, type, resident)                                                                         \
    extern "C" __global__ void __launch_bounds__(256, 1) name##_##type(work w)                               \
    {                                                                                                        \
        product<of_##type, resident>(w);                                                                     \
    }
KERNEL(wgmma, bf16, false)
KERNEL(wgmma, fp16, false)
KERNEL(wgmma, tf32, false)
KERNEL(wgmma, int8, false)
KERNEL(wgmma_resident, bf16, true)
#endif
