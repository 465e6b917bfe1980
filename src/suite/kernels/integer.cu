// Whole numbers.
#include "common.cuh"

template <class F> __device__ void of_two(const work &w, F f)
{
    const pack<int> *a = (const pack<int> *)w.a, *b = (const pack<int> *)w.b;
    pack<int> *out = (pack<int> *)w.out;
    for_each(w, w.n[0] / 4, [&](u64 i) {
        pack<int> x = a[i], y = b[i], z;
        for (int k = 0; k < 4; k++) z.v[k] = (int)f((u32)x.v[k], (u32)y.v[k]);
        out[i] = z;
    });
}

extern "C" __global__ void mul_int32(work w)
{
    of_two(w, [](u32 x, u32 y) { return x * y; });
}
extern "C" __global__ void bits_int32(work w)
{
    of_two(w, [](u32 x, u32 y) { return (x ^ y) & 255u; });
}
extern "C" __global__ void remainder_int32(work w)
{
    of_two(w, [](u32 x, u32 y) { return x % (y | 1u); });
}
extern "C" __global__ void mix_int32(work w) // products and shifts
{
    of_two(w, [](u32 x, u32 y) {
        for (int i = 0; i < 16; i++) x = mix(x + y);
        return x;
    });
}
extern "C" __global__ void logic_int32(work w) // none but the units for logic
{
    of_two(w, [](u32 x, u32 y) {
        for (int i = 0; i < 64; i++) {
            x ^= y << 3;
            y ^= x >> 5;
        }
        return x ^ y;
    });
}
#if __CUDA_ARCH__ >= 610
extern "C" __global__ void dot_int8(work w)
{
    const int *a = (const int *)w.a, *b = (const int *)w.b;
    int *out = (int *)w.out;
    for_each(w, w.n[0] / 16, [&](u64 i) {
        int sum = 0;
        for (int k = 0; k < 4; k++) sum = __dp4a(a[4 * i + k], b[4 * i + k], sum);
        out[i] = sum;
    });
}
#endif
