// What is moved as it is, or in another order or type.
#include "common.cuh"

template <class T> __device__ void plain(const work &w)
{
    const pack<T> *a = (const pack<T> *)w.a;
    pack<T> *out = (pack<T> *)w.out;
    for_each(w, w.n[0] / pack<T>::COUNT, [&](u64 i) { out[i] = a[i]; });
}
extern "C" __global__ void plain_bf16(work w) { plain<bf16>(w); }
extern "C" __global__ void plain_fp32(work w) { plain<float>(w); }

// By single elements, as kernels do that cannot know better.
extern "C" __global__ void narrow_bf16(work w)
{
    const u16 *a = (const u16 *)w.a;
    u16 *out = (u16 *)w.out;
    for_each(w, w.n[0], [&](u64 i) { out[i] = a[i]; });
}

// n[0] rows of n[1].
template <class T> __device__ void transpose(const work &w)
{
    enum { EDGE = 32 };
    __shared__ T tile[EDGE][EDGE + 1];
    const T *a = (const T *)w.a;
    T *out = (T *)w.out;
    u64 rows = w.n[0], columns = w.n[1], across = columns / EDGE;
    u32 x = threadIdx.x % EDGE, y = threadIdx.x / EDGE;
    for_each_row(w, rows / EDGE * across, [&](u64 number_of) {
        u64 row = number_of / across * EDGE, column = number_of % across * EDGE;
        __syncthreads();
        for (u32 k = y; k < EDGE; k += 8) tile[k][x] = a[(row + k) * columns + column + x];
        __syncthreads();
        for (u32 k = y; k < EDGE; k += 8) out[(column + k) * rows + row + x] = tile[x][k];
    });
}
extern "C" __global__ void transpose_bf16(work w) { transpose<u16>(w); }
extern "C" __global__ void transpose_fp32(work w) { transpose<float>(w); }

// Every other element of a row of n[1].
extern "C" __global__ void strided_fp32(work w)
{
    const float *a = (const float *)w.a;
    float *out = (float *)w.out;
    for_each(w, w.n[0] * w.n[1] / 2, [&](u64 i) { out[i] = a[2 * i]; });
}

extern "C" __global__ void to_bf16_fp32(work w)
{
    const float4 *a = (const float4 *)w.a;
    uint2 *out = (uint2 *)w.out;
    for_each(w, w.n[0] / 4, [&](u64 i) {
        float4 x = a[i];
        bf16 y[4];
        put(y[0], x.x);
        put(y[1], x.y);
        put(y[2], x.z);
        put(y[3], x.w);
        out[i] = make_uint2(y[0].bits | (u32)y[1].bits << 16, y[2].bits | (u32)y[3].bits << 16);
    });
}

extern "C" __global__ void to_fp32_bf16(work w)
{
    const uint2 *a = (const uint2 *)w.a;
    float4 *out = (float4 *)w.out;
    for_each(w, w.n[0] / 4, [&](u64 i) {
        uint2 x = a[i];
        out[i] = make_float4(__uint_as_float(x.x << 16), __uint_as_float(x.x & 0xffff0000u),
                             __uint_as_float(x.y << 16), __uint_as_float(x.y & 0xffff0000u));
    });
}

// What is read and not written: one word a block comes out.
extern "C" __global__ void read_fp32(work w)
{
    const uint4 *a = (const uint4 *)w.a;
    u32 all = 0;
    for_each(w, w.n[0] / 4, [&](u64 i) {
        uint4 x = a[i];
        all ^= x.x ^ x.y ^ x.z ^ x.w;
    });
    if (all == 0x12345678u) ((u32 *)w.out)[0] = all;
}

// Over shared memory and back, 32 times an element; n[1] words lie between neighbours: 1, or 2 and more, which
// then wait for each other.
extern "C" __global__ void shared_fp32(work w)
{
    __shared__ float here[4096];
    const float *a = (const float *)w.a;
    float *out = (float *)w.out;
    u32 step = (u32)w.n[1];
    for_each(w, w.n[0], [&](u64 i) {
        float x = a[i];
        u32 place = threadIdx.x * step;
        for (u32 k = 0; k < 32; k++) {
            here[(place + k * 32) & 4095u] = x;
            __syncwarp();
            x += here[((threadIdx.x ^ 1u) * step + k * 32) & 4095u];
        }
        out[i] = x;
    });
}
