/* Square matrices of doubles, row by row: the few products that covariances need. */
#ifndef JM_ATTRIBUTE_FIT_MATRIX_H
#define JM_ATTRIBUTE_FIT_MATRIX_H

#include <stdbool.h>
#include <stddef.h>

/* left' right */
double jm__matrix_dot(const double *left, const double *right, size_t n);

/* out = factor * left * right, n * n; out is neither of them. */
void jm__matrix_multiply(double *out, double factor, const double *left, const double *right, size_t n);

/* out = matrix * vector */
void jm__matrix_apply(double *out, const double *matrix, const double *vector, size_t n);

/* left' matrix right */
double jm__matrix_between(const double *left, const double *matrix, const double *right, size_t n);

/* The lower factor L of a covariance L L', in the lower half of it; false if it has none. */
bool jm__matrix_factor(double *matrix, size_t n);

/* Row i of L^-1 rows, those before it being done; `rows`: n of `width` numbers each. */
void jm__matrix_whiten(double *rows, size_t width, const double *lower, size_t i, size_t n);

#endif
