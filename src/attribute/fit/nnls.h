/* min |R x - d|^2 with x >= 0, and the covariance of what stays free. */
#ifndef JM_ATTRIBUTE_FIT_NNLS_H
#define JM_ATTRIBUTE_FIT_NNLS_H

#include "attribute/fit/qr.h"

#include <stdbool.h>

/* `qr`: finished and of full rank (prior rows folded in). x[k] is 0 where free[k] is false. */
jm_status jm__nnls_solve(const jm__qr *qr, double *x, bool *is_free, jm_error *err);

/* (R'R)^-1 of the free columns, K*K, symmetric. A column held at zero gets only its own conditional
 * variance: how far it could rise if nothing else moved. */
jm_status jm__nnls_covariance(const jm__qr *qr, const bool *is_free, double *covariance, jm_error *err);

#endif
