/* Products of square matrices whose rows often hold zeros. */
#include "attribute/fit/matrix.h"

#include <math.h>
#include <string.h>

double jm__matrix_dot(const double *left, const double *right, size_t n)
{
    double sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += left[k] * right[k];
    return sum;
}

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
    for (size_t i = 0; i < n; i++)
        out[i] = jm__matrix_dot(matrix + i * n, vector, n);
}

double jm__matrix_between(const double *left, const double *matrix, const double *right, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (left[i] == 0) continue;
        sum += left[i] * jm__matrix_dot(matrix + i * n, right, n);
    }
    return sum;
}

bool jm__matrix_factor(double *matrix, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = matrix[i * n + j] - jm__matrix_dot(matrix + i * n, matrix + j * n, j);
            if (i != j)
                matrix[i * n + j] = sum / matrix[j * n + j];
            else if (sum > 0)
                matrix[i * n + i] = sqrt(sum);
            else
                return false;
        }
    }
    return true;
}

void jm__matrix_whiten(double *rows, size_t width, const double *lower, size_t i, size_t n)
{
    double *row = rows + i * width;
    for (size_t j = 0; j < i; j++) {
        double part = lower[i * n + j];
        for (size_t k = 0; part != 0 && k < width; k++)
            row[k] -= part * rows[j * width + k];
    }
    for (size_t k = 0; k < width; k++)
        row[k] /= lower[i * n + i];
}
