// One result an element, little arithmetic: memory and L2.
#include "common.cuh"

template <class T, class F> __device__ void of_one(const work &w, F f)
{
    const pack<T> *a = (const pack<T> *)w.a;
    pack<T> *out = (pack<T> *)w.out;
    for_each(w, w.n[0] / pack<T>::COUNT, [&](u64 i) {
        pack<T> x = a[i], y;
        for (int k = 0; k < pack<T>::COUNT; k++) put(y.v[k], f(number(x.v[k])));
        out[i] = y;
    });
}

template <class T, class F> __device__ void of_two(const work &w, F f)
{
    const pack<T> *a = (const pack<T> *)w.a, *b = (const pack<T> *)w.b;
    pack<T> *out = (pack<T> *)w.out;
    for_each(w, w.n[0] / pack<T>::COUNT, [&](u64 i) {
        pack<T> x = a[i], y = b[i], z;
        for (int k = 0; k < pack<T>::COUNT; k++) put(z.v[k], f(number(x.v[k]), number(y.v[k])));
        out[i] = z;
    });
}

template <class T, class F> __device__ void of_three(const work &w, F f)
{
    const pack<T> *a = (const pack<T> *)w.a, *b = (const pack<T> *)w.b, *c = (const pack<T> *)w.c;
    pack<T> *out = (pack<T> *)w.out;
    for_each(w, w.n[0] / pack<T>::COUNT, [&](u64 i) {
        pack<T> x = a[i], y = b[i], z = c[i], all;
        for (int k = 0; k < pack<T>::COUNT; k++)
            put(all.v[k], f(number(x.v[k]), number(y.v[k]), number(z.v[k])));
        out[i] = all;
    });
}

template <class T> __device__ void add(const work &w)
{
    of_two<T>(w, [](float x, float y) { return x + y; });
}

extern "C" __global__ void add_bf16(work w) { add<bf16>(w); }
extern "C" __global__ void add_fp16(work w) { add<fp16>(w); }
extern "C" __global__ void add_fp32(work w) { add<float>(w); }
extern "C" __global__ void mul_bf16(work w)
{
    of_two<bf16>(w, [](float x, float y) { return x * y; });
}
extern "C" __global__ void scale_fp32(work w)
{
    of_one<float>(w, [](float x) { return 1.5f * x; });
}
extern "C" __global__ void relu_bf16(work w)
{
    of_one<bf16>(w, [](float x) { return fmaxf(x, 0); });
}
extern "C" __global__ void relu_backward_bf16(work w)
{
    of_two<bf16>(w, [](float x, float gradient) { return x > 0 ? gradient : 0; });
}
extern "C" __global__ void addcmul_fp32(work w)
{
    of_three<float>(w, [](float x, float y, float z) { return x + 0.5f * y * z; });
}
extern "C" __global__ void addcdiv_fp32(work w)
{
    of_three<float>(w, [](float x, float y, float z) { return x + y / z; });
}

// n[1] channels; the bias is b.
extern "C" __global__ void bias_bf16(work w)
{
    typedef pack<bf16> eight;
    const eight *a = (const eight *)w.a, *b = (const eight *)w.b;
    eight *out = (eight *)w.out;
    u32 width = (u32)(w.n[1] / eight::COUNT);
    for_each(w, w.n[0] * width, [&](u64 i) {
        eight x = a[i], y = b[i % width], z;
        for (int k = 0; k < eight::COUNT; k++) put(z.v[k], number(x.v[k]) + number(y.v[k]));
        out[i] = z;
    });
}

template <class T> __device__ void dropout(const work &w)
{
    const pack<T> *a = (const pack<T> *)w.a;
    pack<T> *out = (pack<T> *)w.out;
    for_each(w, w.n[0] / pack<T>::COUNT, [&](u64 i) {
        pack<T> x = a[i], y;
        for (int k = 0; k < pack<T>::COUNT; k += 4) {
            four random = philox(i * 2 + (u64)k, w.seed);
            for (int j = 0; j < 4; j++)
                put(y.v[k + j], uniform_of(random.v[j]) < 0.9f ? number(x.v[k + j]) / 0.9f : 0);
        }
        out[i] = y;
    });
}
extern "C" __global__ void dropout_bf16(work w) { dropout<bf16>(w); }
extern "C" __global__ void dropout_fp32(work w) { dropout<float>(w); }
