/* Products of square matrices whose rows often hold zeros. */
#include "attribute/fit/matrix.h"

#include <string.h>

void jm__matrix_multiply(double *out, double factor, const double *left, const double *right, size_t n)
{
    memset(out, 0, n * n * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        for (size_t m = 0; m < n; m++) {
            double term = factor * left[i * n + m];
            for (size_t j = 0; term != 0 && j < n; j++)
                out[i * n + j] += term * right[m * n + j];
        }
    }
}

void jm__matrix_apply(double *out, const double *matrix, const double *vector, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t j = 0; j < n; j++)
            sum += matrix[i * n + j] * vector[j];
        out[i] = sum;
    }
}

double jm__matrix_between(const double *left, const double *matrix, const double *right, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (left[i] == 0) continue;
        double product = 0;
        for (size_t j = 0; j < n; j++)
            product += matrix[i * n + j] * right[j];
        sum += left[i] * product;
    }
    return sum;
}
