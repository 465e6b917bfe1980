// What is in the operands: normal numbers, numbers as training leaves them, ones, zeros. n[0] elements from `seed`
// on; n[1]: kind, as suite_kind; n[2]: 1 for weights.
#include "common.cuh"

enum { RANDOM, TRAINED, CONSTANT, ZEROS };

__device__ inline bool stands_out(u64 channel)
{
    return channel == 17 || channel == 130 || channel == 333 || channel == 512 || channel == 700 || channel == 901;
}

__device__ inline float draw(const work &w, u64 i)
{
    if (w.n[1] == CONSTANT) return 1;
    if (w.n[1] == ZEROS) return 0;
    four random = philox(i, w.seed);
    float length = sqrtf(-2 * logf(uniform_of(random.v[0])));
    float angle = 6.2831853f * uniform_of(random.v[1]);
    float value = length * cosf(angle);
    if (w.n[1] == RANDOM) return value;
    value *= expf(0.5f * length * sinf(angle)); // heavy tails
    if (w.n[2] == 1) return 0.02f * value;
    value = fmaxf(value, 0);
    return stands_out(i % 1024) ? 20 * value : value;
}

template <class T> __device__ void fill(const work &w)
{
    T *out = (T *)w.out;
    for_each(w, w.n[0], [&](u64 i) { put(out[i], draw(w, i)); });
}

template <class T> __device__ void fill_whole(const work &w)
{
    T *out = (T *)w.out;
    for_each(w, w.n[0], [&](u64 i) { out[i] = (T)fminf(fmaxf(40 * draw(w, i), -127), 127); });
}

extern "C" __global__ void data_bf16(work w) { fill<bf16>(w); }
extern "C" __global__ void data_fp16(work w) { fill<fp16>(w); }
extern "C" __global__ void data_fp32(work w) { fill<float>(w); }
extern "C" __global__ void data_int8(work w) { fill_whole<signed char>(w); }
extern "C" __global__ void data_int32(work w) { fill_whole<int>(w); }

extern "C" __global__ void data_fp64(work w)
{
    double *out = (double *)w.out;
    for_each(w, w.n[0], [&](u64 i) { // a mantissa that is full
        out[i] = draw(w, i) * (w.n[1] <= TRAINED ? 1 + 1e-8 * mix((u32)i) / 4294967296.0 : 1);
    });
}

extern "C" __global__ void data_index(work w)
{
    u32 *out = (u32 *)w.out;
    for_each(w, w.n[0], [&](u64 i) { out[i] = w.n[1] <= TRAINED ? philox(i, w.seed).v[2] : 0; });
}
