/* Square matrices of doubles, row by row: the few products that covariances need. */
#ifndef JM_ATTRIBUTE_FIT_MATRIX_H
#define JM_ATTRIBUTE_FIT_MATRIX_H

#include <stddef.h>

/* left' right */
double jm__matrix_dot(const double *left, const double *right, size_t n);

/* out = factor * left * right, n * n; out is neither of them. */
void jm__matrix_multiply(double *out, double factor, const double *left, const double *right, size_t n);

/* out = matrix * vector */
void jm__matrix_apply(double *out, const double *matrix, const double *vector, size_t n);

/* left' matrix right */
double jm__matrix_between(const double *left, const double *matrix, const double *right, size_t n);

#endif
