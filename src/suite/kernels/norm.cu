// Norms of rows of n[1] elements, n[0] of them: what a block reads once is read again from its L1.
#include "common.cuh"

template <class T> __device__ void layer(const work &w)
{
    const pack<T> *a = (const pack<T> *)w.a, *b = (const pack<T> *)w.b, *c = (const pack<T> *)w.c;
    pack<T> *out = (pack<T> *)w.out;
    u32 width = (u32)w.n[1] / pack<T>::COUNT;
    for_each_row(w, w.n[0], [&](u64 row) {
        float sum = 0, squares = 0;
        for (u32 i = threadIdx.x; i < width; i += blockDim.x) {
            pack<T> x = a[row * width + i];
            for (int k = 0; k < pack<T>::COUNT; k++) {
                float value = number(x.v[k]);
                sum += value;
                squares = fmaf(value, value, squares);
            }
        }
        float mean = sum_of_block(sum) / w.n[1];
        float scale = rsqrtf(fmaxf(sum_of_block(squares) / w.n[1] - mean * mean, 0) + 1e-5f);
        for (u32 i = threadIdx.x; i < width; i += blockDim.x) {
            pack<T> x = a[row * width + i], gain = b[i], shift = c[i], y;
            for (int k = 0; k < pack<T>::COUNT; k++)
                put(y.v[k], (number(x.v[k]) - mean) * scale * number(gain.v[k]) + number(shift.v[k]));
            out[row * width + i] = y;
        }
    });
}
extern "C" __global__ void layer_bf16(work w) { layer<bf16>(w); }
extern "C" __global__ void layer_fp32(work w) { layer<float>(w); }

extern "C" __global__ void rms_bf16(work w)
{
    typedef pack<bf16> eight;
    const eight *a = (const eight *)w.a, *b = (const eight *)w.b;
    eight *out = (eight *)w.out;
    u32 width = (u32)w.n[1] / eight::COUNT;
    for_each_row(w, w.n[0], [&](u64 row) {
        float squares = 0;
        for (u32 i = threadIdx.x; i < width; i += blockDim.x) {
            eight x = a[row * width + i];
            for (int k = 0; k < eight::COUNT; k++) squares = fmaf(number(x.v[k]), number(x.v[k]), squares);
        }
        float scale = rsqrtf(sum_of_block(squares) / w.n[1] + 1e-5f);
        for (u32 i = threadIdx.x; i < width; i += blockDim.x) {
            eight x = a[row * width + i], gain = b[i], y;
            for (int k = 0; k < eight::COUNT; k++) put(y.v[k], number(x.v[k]) * scale * number(gain.v[k]));
            out[row * width + i] = y;
        }
    });
}

// The gradient of the rows: two sums over row and gradient, then one more pass.
extern "C" __global__ void layer_backward_fp32(work w)
{
    const pack<float> *a = (const pack<float> *)w.a, *gradient = (const pack<float> *)w.c;
    const pack<float> *b = (const pack<float> *)w.b;
    pack<float> *out = (pack<float> *)w.out;
    u32 width = (u32)w.n[1] / 4;
    for_each_row(w, w.n[0], [&](u64 row) {
        float plain = 0, along = 0;
        for (u32 i = threadIdx.x; i < width; i += blockDim.x) {
            pack<float> x = a[row * width + i], g = gradient[row * width + i], gain = b[i];
            for (int k = 0; k < 4; k++) {
                plain = fmaf(g.v[k], gain.v[k], plain);
                along = fmaf(g.v[k] * gain.v[k], x.v[k], along);
            }
        }
        plain = sum_of_block(plain) / w.n[1];
        along = sum_of_block(along) / w.n[1];
        for (u32 i = threadIdx.x; i < width; i += blockDim.x) {
            pack<float> x = a[row * width + i], g = gradient[row * width + i], gain = b[i], y;
            for (int k = 0; k < 4; k++) y.v[k] = g.v[k] * gain.v[k] - plain - x.v[k] * along;
            out[row * width + i] = y;
        }
    });
}

// By channel, the last dimension: n[0] pixels of n[1] channels, inference.
extern "C" __global__ void batch_bf16(work w)
{
    typedef pack<bf16> eight;
    const eight *a = (const eight *)w.a, *b = (const eight *)w.b, *c = (const eight *)w.c;
    eight *out = (eight *)w.out;
    u32 width = (u32)(w.n[1] / eight::COUNT);
    for_each(w, w.n[0] * width, [&](u64 i) {
        eight x = a[i], gain = b[i % width], shift = c[i % width], y;
        for (int k = 0; k < eight::COUNT; k++)
            put(y.v[k], fmaxf(fmaf(number(x.v[k]), number(gain.v[k]), number(shift.v[k])), 0));
        out[i] = y;
    });
}
