/* min |R x - d|^2 with 0 <= x <= most, and the covariance of the solution. */
#ifndef JM_ATTRIBUTE_FIT_NNLS_H
#define JM_ATTRIBUTE_FIT_NNLS_H

#include "attribute/fit/qr.h"

#include <stdbool.h>

/* `qr`: finished and of full rank (prior rows folded in). `most`: [columns], above 0, may be INFINITY; NULL:
 * no upper limit. x[k] is 0 or most[k] where is_free[k] is false. */
jm_status jm__nnls_solve(const jm__qr *qr, const double *most, double *x, bool *is_free, jm_error *err);

/* Of the solution, K*K, symmetric, in units of noise^2, the variance of one row. Of the free columns it is
 * (R'R)^-1. A column at a limit may lie on this side of it: as far as a normal distribution that is cut off
 * there, and the free columns move with it. */
jm_status jm__nnls_covariance(const jm__qr *qr, const double *x, const bool *is_free, double noise,
                              double *covariance, jm_error *err);

#endif
