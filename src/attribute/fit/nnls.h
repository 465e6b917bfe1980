/* Square matrices of doubles, row by row, and least squares within limits. */
#ifndef JM_ATTRIBUTE_FIT_NNLS_H
#define JM_ATTRIBUTE_FIT_NNLS_H

#include "attribute/fit/qr.h"
#include <stdbool.h>
#include <stddef.h>

/* left' right */
double jm__matrix_dot(const double *left, const double *right, size_t n);

/* out = left * right, n * n; out is neither of them. */
void jm__matrix_multiply(double *out, const double *left, const double *right, size_t n);

/* matrix += factor vector vector', all of it */
void jm__matrix_add_outer(double *matrix, double factor, const double *vector, size_t n);

/* matrix += vector vector', its lower half */
void jm__matrix_add_square(double *matrix, const double *vector, size_t n);

/* out = matrix * vector */
void jm__matrix_apply(double *out, const double *matrix, const double *vector, size_t n);

/* left' matrix right */
double jm__matrix_between(const double *left, const double *matrix, const double *right, size_t n);

/* The lower factor L of a covariance L L', in the lower half of it; false if it has none. */
bool jm__matrix_factor(double *matrix, size_t n);

/* vector = L^-1 vector, of the lower half of `lower`. */
void jm__matrix_forward(double *vector, const double *lower, size_t n);

/* vector = L'^-1 vector */
void jm__matrix_back(double *vector, const double *lower, size_t n);

/* rows = L^-1 rows: n of `width` numbers each. */
void jm__matrix_whiten(double *rows, size_t width, const double *lower, size_t n);

/* min |R x - d|^2 with 0 <= x <= most, and the covariance of the solution. */

/* `qr`: finished and of full rank (prior rows folded in). `most`: [columns], above 0, may be INFINITY; NULL:
 * no upper limit. */
jm_status jm__nnls_solve(const jm__qr *qr, const double *most, double *x, jm_error *err);

/* Of the solution, K*K, symmetric, in units of noise^2, the variance of one row. Of the columns between the
 * limits it is (R'R)^-1. A column at a limit may lie on this side of it: as far as a normal distribution that
 * is cut off there, and the others move with it. */
jm_status jm__nnls_covariance(const jm__qr *qr, const double *most, const double *x, double noise,
                              double *covariance, jm_error *err);

#endif
