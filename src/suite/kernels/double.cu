// Numbers of eight bytes.
#include "common.cuh"

extern "C" __global__ void add_fp64(work w)
{
    const double2 *a = (const double2 *)w.a, *b = (const double2 *)w.b;
    double2 *out = (double2 *)w.out;
    for_each(w, w.n[0] / 2, [&](u64 i) {
        double2 x = a[i], y = b[i];
        out[i] = make_double2(x.x + y.x, x.y + y.y);
    });
}

template <int TIMES> __device__ void polynomial(const work &w) // 2 TIMES operations an element
{
    const double *a = (const double *)w.a, *b = (const double *)w.b;
    double *out = (double *)w.out;
    for_each(w, w.n[0], [&](u64 i) {
        double x = a[i], y = b[i], z = 0.5;
        for (int k = 0; k < TIMES; k++) {
            z = fma(z, x, y);
            y = fma(y, 0.25, 1e-3);
        }
        out[i] = z;
    });
}
extern "C" __global__ void polynomial_fp64(work w) { polynomial<64>(w); }
extern "C" __global__ void short_polynomial_fp64(work w) { polynomial<4>(w); }

extern "C" __global__ void exp_fp64(work w)
{
    const double *a = (const double *)w.a;
    double *out = (double *)w.out;
    for_each(w, w.n[0], [&](u64 i) { out[i] = exp(a[i]); });
}

// a (n[0] x n[2]) times b (n[1] x n[2]) transposed, in tiles of 64 x 64, 4 x 4 a thread.
extern "C" __global__ void __launch_bounds__(256) product_fp64(work w)
{
    enum { TILE = 64, DEEP = 16 };
    __shared__ double left[DEEP][TILE + 1], right[DEEP][TILE + 1];
    const double *a = (const double *)w.a, *b = (const double *)w.b;
    double *out = (double *)w.out;
    u64 deep = w.n[2], across = w.n[1] / TILE;
    u32 x = threadIdx.x % 16, y = threadIdx.x / 16;
    for_each_row(w, w.n[0] / TILE * across, [&](u64 tile) {
        u64 row = tile / across * TILE, column = tile % across * TILE;
        double sum[4][4] = {};
        for (u64 at = 0; at + DEEP <= deep; at += DEEP) {
            for (u32 k = threadIdx.x; k < TILE * DEEP; k += 256) {
                left[k % DEEP][k / DEEP] = a[(row + k / DEEP) * deep + at + k % DEEP];
                right[k % DEEP][k / DEEP] = b[(column + k / DEEP) * deep + at + k % DEEP];
            }
            __syncthreads();
            for (int k = 0; k < DEEP; k++)
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++)
                        sum[i][j] = fma(left[k][y * 4 + i], right[k][x + 16 * j], sum[i][j]);
            __syncthreads();
        }
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) out[(row + y * 4 + i) * w.n[1] + column + x + 16 * j] = sum[i][j];
    });
}
