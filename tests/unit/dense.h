/* Plain dense algebra for formulas that a test checks the estimator against, by LAPACK: matrices row by row,
 * of a size that a test can afford to write down in full. It shares no code with the estimator. */
#ifndef TEST_DENSE_H
#define TEST_DENSE_H

#include <lapacke.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t dense_random = 88172645463325252u;

static inline double dense_uniform(void)
{
    dense_random ^= dense_random << 13;
    dense_random ^= dense_random >> 7;
    dense_random ^= dense_random << 17;
    return ((double)(dense_random >> 11) + 0.5) / 9007199254740992.0;
}

static inline double dense_normal(void)
{
    return sqrt(-2 * log(dense_uniform())) * cos(6.283185307179586 * dense_uniform());
}

/* out[rows * columns] = left[rows * inner] right[inner * columns] */
static inline void dense_multiply(double *out, const double *left, const double *right, size_t rows,
                                  size_t inner, size_t columns)
{
    memset(out, 0, rows * columns * sizeof *out);
    for (size_t i = 0; i < rows; i++)
        for (size_t m = 0; m < inner; m++)
            for (size_t j = 0; j < columns; j++)
                out[i * columns + j] += left[i * inner + m] * right[m * columns + j];
}

/* out[columns * rows] = matrix[rows * columns]' */
static inline void dense_transpose(double *out, const double *matrix, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++)
            out[j * rows + i] = matrix[i * columns + j];
}

/* out[columns * columns] = left[rows * columns]' matrix[rows * rows] left */
static inline void dense_around(double *out, const double *left, const double *matrix, size_t rows,
                                size_t columns)
{
    double *turned = malloc(rows * columns * sizeof *turned), *half = malloc(rows * columns * sizeof *half);
    dense_transpose(turned, left, rows, columns);
    dense_multiply(half, turned, matrix, columns, rows, rows);
    dense_multiply(out, half, left, columns, rows, columns);
    free(turned);
    free(half);
}

/* The lower factor of a covariance, zeros above it. */
static inline void dense_factor(double *matrix, size_t n)
{
    assert_int_equal(LAPACKE_dpotrf(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, matrix, (lapack_int)n), 0);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            matrix[i * n + j] = 0;
}

/* The inverse of a covariance, in its place. */
static inline void dense_invert(double *matrix, size_t n)
{
    dense_factor(matrix, n);
    assert_int_equal(LAPACKE_dpotri(LAPACK_ROW_MAJOR, 'L', (lapack_int)n, matrix, (lapack_int)n), 0);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            matrix[i * n + j] = matrix[j * n + i];
}

/* out = mean + factor * (n independent normal numbers); mean NULL: 0 */
static inline void dense_draw(double *out, const double *mean, const double *factor, size_t n)
{
    double normals[256];
    assert_true(n <= 256);
    for (size_t i = 0; i < n; i++)
        normals[i] = dense_normal();
    for (size_t i = 0; i < n; i++) {
        out[i] = mean != NULL ? mean[i] : 0;
        for (size_t j = 0; j <= i; j++)
            out[i] += factor[i * n + j] * normals[j];
    }
}

/* A normal quantity u of n numbers, known before by mean and covariance, after z = H u + e, e of covariance
 * R, z of m numbers: mean and covariance in their place. */
static inline void dense_condition(double *mean, double *covariance, size_t n, const double *h,
                                   const double *z, const double *r, size_t m)
{
    double *precision = malloc(n * n * sizeof *precision), *told = malloc(m * m * sizeof *told);
    double *gained = malloc(n * n * sizeof *gained), *turned = malloc(n * m * sizeof *turned);
    double *weight = malloc(n * m * sizeof *weight), *before = malloc(n * sizeof *before);
    double *score = malloc(n * sizeof *score);
    memcpy(precision, covariance, n * n * sizeof *precision);
    dense_invert(precision, n);
    dense_multiply(before, precision, mean, n, n, 1);
    memcpy(told, r, m * m * sizeof *told);
    dense_invert(told, m);
    dense_transpose(turned, h, m, n);
    dense_multiply(weight, turned, told, n, m, m);
    dense_multiply(gained, weight, h, n, m, n);
    dense_multiply(score, weight, z, n, m, 1);
    for (size_t i = 0; i < n * n; i++)
        covariance[i] = precision[i] + gained[i];
    dense_invert(covariance, n);
    for (size_t i = 0; i < n; i++)
        score[i] += before[i];
    dense_multiply(mean, covariance, score, n, n, 1);
    free(precision);
    free(told);
    free(gained);
    free(turned);
    free(weight);
    free(before);
    free(score);
}

/* Two covariances, each entry in units of the standard deviations of its row and column. */
static inline void dense_assert_covariance(const char *what, const double *said, const double *truth,
                                           size_t n, double within)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double scale = sqrt(truth[i * n + i] * truth[j * n + j]);
            if (!(fabs(said[i * n + j] - truth[i * n + j]) <= within * scale))
                fail_msg("%s, %zu and %zu: %.9g, not %.9g", what, i, j, said[i * n + j], truth[i * n + j]);
        }
}

#endif
