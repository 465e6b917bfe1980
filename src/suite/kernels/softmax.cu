// Softmax of rows of n[1] elements, n[0] of them.
#include "common.cuh"

template <class T, bool LOSS> __device__ void softmax(const work &w)
{
    const pack<T> *a = (const pack<T> *)w.a;
    pack<T> *out = (pack<T> *)w.out;
    u32 width = (u32)w.n[1] / pack<T>::COUNT;
    for_each_row(w, w.n[0], [&](u64 row) {
        float most = -1e30f, sum = 0;
        for (u32 i = threadIdx.x; i < width; i += blockDim.x) {
            pack<T> x = a[row * width + i];
            for (int k = 0; k < pack<T>::COUNT; k++) most = fmaxf(most, number(x.v[k]));
        }
        most = most_of_block(most);
        for (u32 i = threadIdx.x; i < width; i += blockDim.x) {
            pack<T> x = a[row * width + i];
            for (int k = 0; k < pack<T>::COUNT; k++) sum += __expf(number(x.v[k]) - most);
        }
        sum = sum_of_block(sum);
        if (LOSS) {
            if (threadIdx.x == 0) ((float *)w.out)[row] = most + logf(sum);
            return;
        }
        float scale = 1 / sum;
        for (u32 i = threadIdx.x; i < width; i += blockDim.x) {
            pack<T> x = a[row * width + i], y;
            for (int k = 0; k < pack<T>::COUNT; k++) put(y.v[k], __expf(number(x.v[k]) - most) * scale);
            out[row * width + i] = y;
        }
    });
}
extern "C" __global__ void forward_bf16(work w) { softmax<bf16, false>(w); }
extern "C" __global__ void forward_fp32(work w) { softmax<float, false>(w); }
extern "C" __global__ void cross_entropy_fp32(work w) { softmax<float, true>(w); }

// x is what softmax gave, b the gradient.
extern "C" __global__ void backward_fp32(work w)
{
    const pack<float> *a = (const pack<float> *)w.a, *b = (const pack<float> *)w.c;
    pack<float> *out = (pack<float> *)w.out;
    u32 width = (u32)w.n[1] / 4;
    for_each_row(w, w.n[0], [&](u64 row) {
        float sum = 0;
        for (u32 i = threadIdx.x; i < width; i += blockDim.x) {
            pack<float> x = a[row * width + i], g = b[row * width + i];
            for (int k = 0; k < 4; k++) sum = fmaf(x.v[k], g.v[k], sum);
        }
        sum = sum_of_block(sum);
        for (u32 i = threadIdx.x; i < width; i += blockDim.x) {
            pack<float> x = a[row * width + i], g = b[row * width + i], y;
            for (int k = 0; k < 4; k++) y.v[k] = x.v[k] * (g.v[k] - sum);
            out[row * width + i] = y;
        }
    });
}
