// Convolutions without tensor cores: n[0] images of n[3] x n[3] pixels, channels last, n[1] of them in, n[2] out.
#include "common.cuh"

// Each thread 4 pixels of a row and 4 outputs. Weights b: [tap][channel in][channel out].
template <class T, int EDGE> __device__ void direct(const work &w)
{
    enum { PIXELS = 4, OUTPUTS = 4, HALF = EDGE / 2 };
    const T *a = (const T *)w.a, *b = (const T *)w.b;
    T *out = (T *)w.out;
    int in = (int)w.n[1], outs = (int)w.n[2], edge = (int)w.n[3];
    u64 groups = outs / OUTPUTS, strips = edge / PIXELS;
    for_each(w, w.n[0] * edge * strips * groups, [&](u64 i) {
        int to = (int)(i % groups) * OUTPUTS, x = (int)(i / groups % strips) * PIXELS;
        u64 line = i / groups / strips;
        int y = (int)(line % edge);
        u64 image = line / edge;
        float sum[PIXELS][OUTPUTS] = {};
        for (int tap = 0; tap < EDGE * EDGE; tap++) {
            int row = y + tap / EDGE - HALF, first = x + tap % EDGE - HALF;
            if (row < 0 || row >= edge) continue;
            const T *from = a + ((image * edge + row) * edge) * in;
            const T *weights = b + (u64)tap * in * outs + to;
            for (int channel = 0; channel < in; channel++) {
                float weight[OUTPUTS];
                for (int k = 0; k < OUTPUTS; k++) weight[k] = number(weights[channel * outs + k]);
                for (int p = 0; p < PIXELS; p++) {
                    int column = first + p;
                    float value = column >= 0 && column < edge ? number(from[column * in + channel]) : 0;
                    for (int k = 0; k < OUTPUTS; k++) sum[p][k] = fmaf(value, weight[k], sum[p][k]);
                }
            }
        }
        for (int p = 0; p < PIXELS; p++)
            for (int k = 0; k < OUTPUTS; k++)
                put(out[((image * edge + y) * edge + x + p) * outs + to + k], sum[p][k]);
    });
}
extern "C" __global__ void direct_3x3_fp32(work w) { direct<float, 3>(w); }
extern "C" __global__ void direct_3x3_bf16(work w) { direct<bf16, 3>(w); }
extern "C" __global__ void direct_1x1_bf16(work w) { direct<bf16, 1>(w); }

// Each channel by itself.
template <class T, int EDGE> __device__ void each(const work &w)
{
    const pack<T> *a = (const pack<T> *)w.a, *b = (const pack<T> *)w.b;
    pack<T> *out = (pack<T> *)w.out;
    int edge = (int)w.n[3];
    u32 groups = (u32)w.n[1] / pack<T>::COUNT;
    for_each(w, w.n[0] * edge * edge * groups, [&](u64 i) {
        u32 group = (u32)(i % groups);
        int x = (int)(i / groups % edge), y = (int)(i / groups / edge % edge);
        u64 image = i / groups / edge / edge;
        float sum[pack<T>::COUNT] = {};
        for (int tap = 0; tap < EDGE * EDGE; tap++) {
            int row = y + tap / EDGE - EDGE / 2, column = x + tap % EDGE - EDGE / 2;
            if (row < 0 || row >= edge || column < 0 || column >= edge) continue;
            pack<T> value = a[((image * edge + row) * edge + column) * groups + group];
            pack<T> weight = b[(u64)tap * groups + group];
            for (int k = 0; k < pack<T>::COUNT; k++) sum[k] = fmaf(number(value.v[k]), number(weight.v[k]), sum[k]);
        }
        pack<T> all;
        for (int k = 0; k < pack<T>::COUNT; k++) put(all.v[k], sum[k]);
        out[i] = all;
    });
}
extern "C" __global__ void each_7x7_bf16(work w) { each<bf16, 7>(w); }
extern "C" __global__ void each_3x3_fp32(work w) { each<float, 3>(w); }

// The highest of 3 x 3, channels last.
extern "C" __global__ void pool_bf16(work w)
{
    typedef pack<bf16> eight;
    const eight *a = (const eight *)w.a;
    eight *out = (eight *)w.out;
    int edge = (int)w.n[3];
    u32 groups = (u32)w.n[1] / eight::COUNT;
    for_each(w, w.n[0] * edge * edge * groups, [&](u64 i) {
        u32 group = (u32)(i % groups);
        int x = (int)(i / groups % edge), y = (int)(i / groups / edge % edge);
        u64 image = i / groups / edge / edge;
        float most[8];
        for (int k = 0; k < 8; k++) most[k] = -1e30f;
        for (int tap = 0; tap < 9; tap++) {
            int row = min(max(y + tap / 3 - 1, 0), edge - 1), column = min(max(x + tap % 3 - 1, 0), edge - 1);
            eight value = a[((image * edge + row) * edge + column) * groups + group];
            for (int k = 0; k < 8; k++) most[k] = fmaxf(most[k], number(value.v[k]));
        }
        eight all;
        for (int k = 0; k < 8; k++) put(all.v[k], most[k]);
        out[i] = all;
    });
}
