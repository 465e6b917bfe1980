// Numbers of four bytes, without tensor cores.
#include "common.cuh"

template <int TIMES> __device__ void polynomial(const work &w) // 4 TIMES operations an element
{
    const float *a = (const float *)w.a;
    float *out = (float *)w.out;
    for_each(w, w.n[0], [&](u64 i) {
        float x = a[i], y = x + 1, z = x - 1, v = 0.5f * x, u = 0.25f;
        for (int k = 0; k < TIMES; k++) {
            y = fmaf(y, x, 0.1f);
            z = fmaf(z, x, 0.2f);
            v = fmaf(v, x, 0.3f);
            u = fmaf(u, x, 0.4f);
        }
        out[i] = y + z + v + u;
    });
}
extern "C" __global__ void polynomial_fp32(work w) { polynomial<64>(w); }
extern "C" __global__ void short_polynomial_fp32(work w) { polynomial<8>(w); }

// a (n[0] x n[2]) times b (n[1] x n[2]) transposed, in tiles of 128 x 128, 8 x 8 a thread.
extern "C" __global__ void __launch_bounds__(256) product_fp32(work w)
{
    enum { TILE = 128, DEEP = 16 };
    __shared__ __align__(16) float left[DEEP][TILE + 4], right[DEEP][TILE + 4];
    const float *a = (const float *)w.a, *b = (const float *)w.b;
    float *out = (float *)w.out;
    u64 deep = w.n[2], across = w.n[1] / TILE;
    u32 x = threadIdx.x % 16, y = threadIdx.x / 16;
    for_each_row(w, w.n[0] / TILE * across, [&](u64 tile) {
        u64 row = tile / across * TILE, column = tile % across * TILE;
        float sum[8][8] = {};
        for (u64 at = 0; at + DEEP <= deep; at += DEEP) {
            for (u32 k = threadIdx.x; k < TILE * DEEP / 4; k += 256) {
                u32 line = k / (DEEP / 4), part = k % (DEEP / 4) * 4;
                float4 from_a = *(const float4 *)&a[(row + line) * deep + at + part];
                float4 from_b = *(const float4 *)&b[(column + line) * deep + at + part];
                left[part][line] = from_a.x;
                left[part + 1][line] = from_a.y;
                left[part + 2][line] = from_a.z;
                left[part + 3][line] = from_a.w;
                right[part][line] = from_b.x;
                right[part + 1][line] = from_b.y;
                right[part + 2][line] = from_b.z;
                right[part + 3][line] = from_b.w;
            }
            __syncthreads();
#pragma unroll
            for (int k = 0; k < DEEP; k++) {
                float4 l[2], r[2];
                for (int i = 0; i < 2; i++) {
                    l[i] = *(const float4 *)&left[k][y * 4 + 64 * i];
                    r[i] = *(const float4 *)&right[k][x * 4 + 64 * i];
                }
                const float *lefts = &l[0].x, *rights = &r[0].x;
#pragma unroll
                for (int i = 0; i < 8; i++)
#pragma unroll
                    for (int j = 0; j < 8; j++) sum[i][j] = fmaf(lefts[i], rights[j], sum[i][j]);
            }
            __syncthreads();
        }
        for (int i = 0; i < 8; i++)
            for (int j = 0; j < 2; j++)
                *(float4 *)&out[(row + y * 4 + i / 4 * 64 + i % 4) * w.n[1] + column + x * 4 + 64 * j] =
                    make_float4(sum[i][4 * j], sum[i][4 * j + 1], sum[i][4 * j + 2], sum[i][4 * j + 3]);
    });
}

// a (n[0] x n[1]) times a vector, b: a block a row.
extern "C" __global__ void vector_fp32(work w)
{
    const pack<float> *a = (const pack<float> *)w.a, *b = (const pack<float> *)w.b;
    u32 width = (u32)w.n[1] / 4;
    for_each_row(w, w.n[0], [&](u64 row) {
        float sum = 0;
        for (u32 i = threadIdx.x; i < width; i += blockDim.x) {
            pack<float> x = a[row * width + i], y = b[i];
            for (int k = 0; k < 4; k++) sum = fmaf(x.v[k], y.v[k], sum);
        }
        sum = sum_of_block(sum);
        if (threadIdx.x == 0) ((float *)w.out)[row] = sum;
    });
}
