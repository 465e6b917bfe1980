// Steps of optimizers: weights a, gradients b and a moment c, all new in each step.
#include "common.cuh"

extern "C" __global__ void momentum_fp32(work w)
{
    const float4 *weights = (const float4 *)w.a, *gradients = (const float4 *)w.b, *moments = (const float4 *)w.c;
    float4 *out = (float4 *)w.out, *next = out + w.n[0] / 4;
    for_each(w, w.n[0] / 4, [&](u64 i) {
        float4 x = weights[i], g = gradients[i], m = moments[i];
        m = make_float4(0.9f * m.x + g.x, 0.9f * m.y + g.y, 0.9f * m.z + g.z, 0.9f * m.w + g.w);
        next[i] = m;
        out[i] = make_float4(x.x - 1e-3f * m.x, x.y - 1e-3f * m.y, x.z - 1e-3f * m.z, x.w - 1e-3f * m.w);
    });
}

__device__ inline float adam(float x, float g, float &m, float v)
{
    m = 0.9f * m + 0.1f * g;
    v = 0.999f * v * v + 0.001f * g * g;
    return x * (1 - 1e-5f) - 1e-3f * m / (sqrtf(v) + 1e-8f);
}

extern "C" __global__ void adamw_fp32(work w)
{
    const float4 *weights = (const float4 *)w.a, *gradients = (const float4 *)w.b, *moments = (const float4 *)w.c;
    float4 *out = (float4 *)w.out, *next = out + w.n[0] / 4;
    for_each(w, w.n[0] / 4, [&](u64 i) {
        float4 x = weights[i], g = gradients[i], m = moments[i], y;
        y.x = adam(x.x, g.x, m.x, x.y);
        y.y = adam(x.y, g.y, m.y, x.z);
        y.z = adam(x.z, g.z, m.z, x.w);
        y.w = adam(x.w, g.w, m.w, x.x);
        next[i] = m;
        out[i] = y;
    });
}
