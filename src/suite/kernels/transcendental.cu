// One result an element, by functions that take many instructions.
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

__device__ inline float gelu(float x) { return 0.5f * x * (1 + erff(0.70710678f * x)); }
__device__ inline float gelu_slope(float x)
{
    return 0.5f * (1 + erff(0.70710678f * x)) + x * 0.39894228f * __expf(-0.5f * x * x);
}

extern "C" __global__ void exp_fp32(work w)
{
    of_one<float>(w, [](float x) { return expf(x); });
}
extern "C" __global__ void log_fp32(work w)
{
    of_one<float>(w, [](float x) { return logf(fabsf(x) + 1e-6f); });
}
extern "C" __global__ void sin_fp32(work w)
{
    of_one<float>(w, [](float x) { return sinf(x); });
}
extern "C" __global__ void tanh_fp32(work w)
{
    of_one<float>(w, [](float x) { return tanhf(x); });
}
extern "C" __global__ void gelu_bf16(work w)
{
    of_one<bf16>(w, [](float x) { return gelu(x); });
}
extern "C" __global__ void gelu_backward_bf16(work w)
{
    of_one<bf16>(w, [](float x) { return gelu_slope(x); });
}
extern "C" __global__ void silu_bf16(work w)
{
    of_one<bf16>(w, [](float x) { return x / (1 + __expf(-x)); });
}
extern "C" __global__ void softplus_fp16(work w)
{
    of_one<fp16>(w, [](float x) { return log1pf(__expf(x)); });
}

// The special units alone: 64 results of them an element.
extern "C" __global__ void special_units_fp32(work w)
{
    of_one<float>(w, [](float x) {
        for (int i = 0; i < 16; i++) x = __cosf(__sinf(x)) + rsqrtf(1 + __expf(x));
        return x;
    });
}
