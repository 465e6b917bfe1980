// Random numbers, of Philox's generator.
#include "common.cuh"

template <class F> __device__ void by_four(const work &w, F f)
{
    float4 *out = (float4 *)w.out;
    for_each(w, w.n[0] / 4, [&](u64 i) { out[i] = f(philox(i, w.seed)); });
}

extern "C" __global__ void uniform_fp32(work w)
{
    by_four(w, [](four r) {
        return make_float4(uniform_of(r.v[0]), uniform_of(r.v[1]), uniform_of(r.v[2]), uniform_of(r.v[3]));
    });
}
extern "C" __global__ void bernoulli_fp32(work w)
{
    by_four(w, [](four r) {
        return make_float4(r.v[0] >> 31, r.v[1] >> 31, r.v[2] >> 31, r.v[3] >> 31);
    });
}
extern "C" __global__ void normal_fp32(work w)
{
    by_four(w, [](four r) {
        float first = sqrtf(-2 * __logf(uniform_of(r.v[0]))), second = sqrtf(-2 * __logf(uniform_of(r.v[2])));
        float4 all;
        __sincosf(6.2831853f * uniform_of(r.v[1]), &all.x, &all.y);
        __sincosf(6.2831853f * uniform_of(r.v[3]), &all.z, &all.w);
        return make_float4(first * all.x, first * all.y, second * all.z, second * all.w);
    });
}
// Many numbers, of which one word is kept: the units for whole numbers alone.
extern "C" __global__ void rounds_fp32(work w)
{
    u32 *out = (u32 *)w.out;
    for_each(w, w.n[0], [&](u64 i) {
        u32 all = 0;
        for (u32 k = 0; k < 16; k++) all ^= philox(i + k * w.n[0], w.seed).v[3];
        out[i] = all;
    });
}
