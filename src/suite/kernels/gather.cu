// Reads at places that a table of indices names, and writes there.
//
// n[0] indices into n[1] rows of n[2] elements.
#include "common.cuh"

template <class T> __device__ void rows(const work &w)
{
    const pack<T> *a = (const pack<T> *)w.a;
    pack<T> *out = (pack<T> *)w.out;
    u32 width = (u32)w.n[2] / pack<T>::COUNT;
    for_each(w, w.n[0] * width, [&](u64 i) {
        u64 row = i / width, column = i - row * width;
        out[i] = a[index_of(w.index[row], w.n[1]) * (u64)width + column];
    });
}
extern "C" __global__ void rows_bf16(work w) { rows<bf16>(w); }
extern "C" __global__ void rows_fp32(work w) { rows<float>(w); }

extern "C" __global__ void elements_fp32(work w)
{
    const float *a = (const float *)w.a;
    float *out = (float *)w.out;
    for_each(w, w.n[0], [&](u64 i) { out[i] = a[index_of(w.index[i], w.n[1])]; });
}

extern "C" __global__ void scatter_elements_fp32(work w)
{
    const float *a = (const float *)w.a;
    float *out = (float *)w.out;
    for_each(w, w.n[0], [&](u64 i) { out[index_of(w.index[i], w.n[1])] = a[i]; });
}

extern "C" __global__ void add_elements_fp32(work w)
{
    const float *a = (const float *)w.a;
    float *out = (float *)w.out;
    for_each(w, w.n[0], [&](u64 i) { atomicAdd(&out[index_of(w.index[i], w.n[1])], a[i]); });
}

extern "C" __global__ void add_rows_fp32(work w)
{
    const float *a = (const float *)w.a;
    float *out = (float *)w.out;
    u32 width = (u32)w.n[2];
    for_each(w, w.n[0] * width, [&](u64 i) {
        u64 row = i / width, column = i - row * width;
        atomicAdd(&out[index_of(w.index[row], w.n[1]) * (u64)width + column], a[i]);
    });
}

// In shared memory, then once into memory.
extern "C" __global__ void histogram_int32(work w)
{
    __shared__ u32 counts[1024];
    const int *a = (const int *)w.a;
    for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    for_each(w, w.n[0], [&](u64 i) { atomicAdd(&counts[(u32)a[i] * 7u & 1023u], 1u); });
    __syncthreads();
    for (u32 i = threadIdx.x; i < 1024; i += blockDim.x) atomicAdd(&((u32 *)w.out)[i], counts[i]);
}
