// Many elements, few results.
#include "common.cuh"

template <class T> __device__ float sum_of(const pack<T> &x)
{
    float sum = 0;
    for (int k = 0; k < pack<T>::COUNT; k++) sum += number(x.v[k]);
    return sum;
}

extern "C" __global__ void all_fp32(work w)
{
    const pack<float> *a = (const pack<float> *)w.a;
    float sum = 0;
    for_each(w, w.n[0] / 4, [&](u64 i) { sum += sum_of(a[i]); });
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) ((float *)w.out)[blockIdx.x] = sum;
}

extern "C" __global__ void norm_fp32(work w)
{
    const pack<float> *a = (const pack<float> *)w.a;
    float sum = 0;
    for_each(w, w.n[0] / 4, [&](u64 i) {
        pack<float> x = a[i];
        for (int k = 0; k < 4; k++) sum = fmaf(x.v[k], x.v[k], sum);
    });
    sum = sqrtf(sum_of_block(sum));
    if (threadIdx.x == 0) ((float *)w.out)[blockIdx.x] = sum;
}

template <class T> __device__ void rows(const work &w)
{
    const pack<T> *a = (const pack<T> *)w.a;
    u32 width = (u32)w.n[1] / pack<T>::COUNT;
    for_each_row(w, w.n[0], [&](u64 row) {
        float sum = 0;
        for (u32 i = threadIdx.x; i < width; i += blockDim.x) sum += sum_of(a[row * width + i]);
        sum = sum_of_block(sum);
        if (threadIdx.x == 0) ((float *)w.out)[row] = sum;
    });
}
extern "C" __global__ void rows_bf16(work w) { rows<bf16>(w); }
extern "C" __global__ void rows_fp16(work w) { rows<fp16>(w); }

// Each thread a column, each block 64 rows of 256 columns.
template <class T> __device__ void columns(const work &w)
{
    enum { ROWS = 64 };
    const T *a = (const T *)w.a;
    float *out = (float *)w.out;
    u64 width = w.n[1], across = width / 256;
    for_each_row(w, w.n[0] / ROWS * across, [&](u64 part) {
        u64 row = part / across * ROWS, column = part % across * 256 + threadIdx.x;
        float sum = 0;
        for (u32 k = 0; k < ROWS; k++) sum += number(a[(row + k) * width + column]);
        out[part / across * width + column] = sum;
    });
}
extern "C" __global__ void columns_bf16(work w) { columns<bf16>(w); }
extern "C" __global__ void columns_fp32(work w) { columns<float>(w); }

extern "C" __global__ void argmax_fp32(work w)
{
    const float *a = (const float *)w.a;
    u32 width = (u32)w.n[1];
    for_each_row(w, w.n[0], [&](u64 row) {
        float most = -1e30f;
        u32 where = 0;
        for (u32 i = threadIdx.x; i < width; i += blockDim.x) {
            float x = a[row * width + i];
            if (x > most) where = i;
            most = fmaxf(most, x);
        }
        float best = most_of_block(most);
        if (most == best) ((u32 *)w.out)[row] = where;
    });
}
