/* Householder reflections of a block of rows onto a triangle. */
#include "attribute/fit/qr.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_ROWS = 64, LANES = 8 };

/* A block of fewer rows than columns is used up after as many columns; what rounding leaves of it shrinks
 * from column to column until its square is no number to divide by. */
static const double nothing = 1e-200;

jm_status jm__qr_init(jm__qr *qr, size_t columns, jm_error *err)
{
    *qr = (jm__qr){.columns = columns, .stride = columns + 1};
    qr->triangle = calloc(qr->stride * qr->stride, sizeof(double));
    qr->block = calloc(qr->stride * BLOCK_ROWS, sizeof(double));
    if (qr->triangle != NULL && qr->block != NULL) return JM_OK;
    jm__qr_free(qr);
    return jm__no_memory(err, "jm__qr_init");
}

void jm__qr_free(jm__qr *qr)
{
    free(qr->triangle);
    free(qr->block);
    *qr = (jm__qr){0};
}

void jm__qr_reset(jm__qr *qr)
{
    memset(qr->triangle, 0, qr->stride * qr->stride * sizeof(double));
    memset(qr->block, 0, qr->stride * BLOCK_ROWS * sizeof(double));
    qr->block_rows = 0;
    qr->rows = 0;
}

/* Inlined into both copies of fold(). */
#define JM_INNER static inline __attribute__((always_inline))

/* Independent partial sums: the compiler may not reorder a plain one into vectors. */
JM_INNER double dot(const double *restrict a, const double *restrict b)
{
    double lane[LANES] = {0};
    for (size_t i = 0; i < BLOCK_ROWS; i += LANES)
        for (size_t l = 0; l < LANES; l++)
            lane[l] += a[i + l] * b[i + l];
    return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

JM_INNER void subtract(double *restrict a, const double *restrict b, double factor)
{
    for (size_t i = 0; i < BLOCK_ROWS; i++)
        a[i] -= factor * b[i];
}

/* Make column j of the block zero by a reflection that touches row j of the triangle and the block. */
JM_INNER void reflect(jm__qr *qr, size_t j)
{
    double *column = qr->block + j * BLOCK_ROWS;
    double below = dot(column, column);
    if (below < nothing) {
        memset(column, 0, BLOCK_ROWS * sizeof(double));
        return;
    }
    double *diagonal = qr->triangle + j * qr->stride + j;
    double norm = sqrt(*diagonal * *diagonal + below);
    double beta = *diagonal > 0 ? -norm : norm;
    double head = *diagonal - beta;
    double scale =
        1.0 / (beta * head); /* negative: 2 / |v|^2 with v = (head, column) is -1 / (beta * head) */
    *diagonal = beta;
    for (size_t k = j + 1; k < qr->stride; k++) {
        double *other = qr->block + k * BLOCK_ROWS;
        double *top = qr->triangle + k * qr->stride + j;
        double factor = -scale * (head * *top + dot(column, other));
        *top -= factor * head;
        subtract(other, column, factor);
    }
    memset(column, 0, BLOCK_ROWS * sizeof(double));
}

JM_INNER void fold(jm__qr *qr)
{
    for (size_t j = 0; j < qr->stride; j++)
        reflect(qr, j);
}

/* The same sums in the same order, four at a time instead of two. */
#if defined(__x86_64__)
__attribute__((target("avx2"))) static void fold_wide(jm__qr *qr)
{
    fold(qr);
}
#endif

void jm__qr_finish(jm__qr *qr)
{
    if (qr->block_rows == 0) return;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        fold_wide(qr);
    else
#endif
        fold(qr);
    qr->block_rows = 0;
}

static void end_row(jm__qr *qr)
{
    qr->rows++;
    if (++qr->block_rows == BLOCK_ROWS) jm__qr_finish(qr);
}

void jm__qr_add(jm__qr *qr, const double *row, double rhs)
{
    double *slot = qr->block + qr->block_rows;
    for (size_t k = 0; k < qr->columns; k++)
        slot[k * BLOCK_ROWS] = row[k];
    slot[qr->columns * BLOCK_ROWS] = rhs;
    end_row(qr);
}

void jm__qr_append(jm__qr *qr, const jm__qr *from, double weight)
{
    for (size_t i = 0; i < from->columns; i++) {
        double *slot = qr->block + qr->block_rows; /* zeroed */
        for (size_t k = i; k < from->columns; k++)
            slot[k * BLOCK_ROWS] = weight * from->triangle[k * from->stride + i];
        slot[qr->columns * BLOCK_ROWS] = weight * from->triangle[from->columns * from->stride + i];
        end_row(qr);
    }
}

void jm__qr_solve(const jm__qr *qr, double *x)
{
    memcpy(x, qr->triangle + qr->columns * qr->stride, qr->columns * sizeof *x);
    for (size_t k = qr->columns; k-- > 0;) {
        const double *column = qr->triangle + k * qr->stride;
        x[k] = column[k] != 0 ? x[k] / column[k] : 0;
        for (size_t i = 0; i < k; i++)
            x[i] -= column[i] * x[k];
    }
}

void jm__qr_load(jm__qr *qr, const double *lower, const double *forward)
{
    size_t n = qr->columns;
    for (size_t k = 0; k < n; k++)
        memcpy(qr->triangle + k * qr->stride, lower + k * n, (k + 1) * sizeof *lower);
    memcpy(qr->triangle + n * qr->stride, forward, n * sizeof *forward);
    qr->triangle[n * qr->stride + n] = 0;
}

void jm__qr_information(double *information, double *score, const jm__qr *qr, size_t first)
{
    size_t count = qr->columns - first;
    for (size_t k = 0; k < count; k++) {
        const double *column = qr->triangle + (first + k) * qr->stride + first;
        for (size_t m = k; m <= count; m++) {
            const double *other = column + (m - k) * qr->stride;
            double sum = 0;
            for (size_t i = 0; i <= k; i++)
                sum += column[i] * other[i];
            if (m < count) information[k * count + m] = information[m * count + k] = sum;
            if (m == count && score != NULL) score[k] = sum;
        }
    }
}

/* In place: the inverse of an upper triangle. */
static void invert(double *triangle, size_t columns, size_t stride)
{
    for (size_t k = 0; k < columns; k++) {
        double *column = triangle + k * stride;
        double pivot = column[k] != 0 ? 1.0 / column[k] : 0;
        for (size_t i = 0; i < k; i++) { /* column k of the inverse, above the diagonal */
            double sum = 0;
            for (size_t m = i; m < k; m++)
                sum += triangle[m * stride + i] * column[m];
            column[i] = -sum * pivot;
        }
        column[k] = pivot;
    }
}

/* C = U U' summed column by column of U, so that the inner loop runs along memory. */
void jm__qr_covariance_take(jm__qr *qr, double *covariance)
{
    size_t n = qr->columns;
    memset(covariance, 0, n * n * sizeof *covariance);
    invert(qr->triangle, n, qr->stride);
    for (size_t m = 0; m < n; m++) {
        const double *u = qr->triangle + m * qr->stride;
        for (size_t i = 0; i <= m; i++)
            for (size_t j = 0; j <= i; j++)
                covariance[i * n + j] += u[i] * u[j];
    }
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < k; j++)
            covariance[j * n + k] = covariance[k * n + j];
}
