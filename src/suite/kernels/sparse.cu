// A sparse matrix, by rows, times a dense one.
//
// n[0] rows of n[3] places each, of which half to all are used, as the first index of a row says; n[1] columns;
// the dense one, b, is n[2] wide. The values are a.
#include "common.cuh"

__device__ inline u32 length_of(const work &w, u64 row)
{
    u32 places = (u32)w.n[3];
    return places / 2 + index_of(w.index[row * places], places / 2);
}

extern "C" __global__ void product_fp32(work w)
{
    const float *a = (const float *)w.a, *b = (const float *)w.b;
    float *out = (float *)w.out;
    u32 wide = (u32)w.n[2];
    for_each(w, w.n[0] * wide, [&](u64 i) {
        u64 row = i / wide, first = row * w.n[3];
        u32 column = (u32)(i - row * wide);
        float sum = 0;
        for (u32 k = 0; k < length_of(w, row); k++)
            sum = fmaf(a[first + k], b[(u64)index_of(w.index[first + k], w.n[1]) * wide + column], sum);
        out[i] = sum;
    });
}

// Times a vector: a warp a row.
extern "C" __global__ void vector_fp32(work w)
{
    const float *a = (const float *)w.a, *b = (const float *)w.b;
    float *out = (float *)w.out;
    u32 lane = threadIdx.x % 32;
    for (u32 round = 0; round < w.rounds; round++)
        for (u64 row = thread_of(round) / 32; row < w.n[0]; row += threads() / 32) {
            u64 first = row * w.n[3];
            u32 length = length_of(w, row);
            float sum = 0;
            for (u32 k = lane; k < length; k += 32)
                sum = fmaf(a[first + k], b[index_of(w.index[first + k], w.n[1])], sum);
            for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
            if (lane == 0) out[row] = sum;
        }
}
