/* Readings and beliefs put together: powers, their covariance, and the noise that the residuals show. */
#ifndef JM_ATTRIBUTE_FIT_POSTERIOR_H
#define JM_ATTRIBUTE_FIT_POSTERIOR_H

#include "attribute/fit/prior.h"

typedef struct jm__posterior {
    double *power_w;    /* [columns], >= 0, and within the prior's limits */
    double *covariance; /* [columns * columns], W^2 */
    double noise_w;     /* standard deviation of one reading */
    double freedom;     /* degrees of freedom behind it */
} jm__posterior;

jm_status jm__posterior_init(jm__posterior *posterior, size_t columns, jm_error *err);
void jm__posterior_free(jm__posterior *posterior);

/* `data`: the finished triangle of unit-weight readings. */
jm_status jm__posterior_solve(jm__posterior *posterior, const jm__qr *data, const jm__prior *prior,
                              jm_error *err);

/* The same with `equations` of unit error, whose noise is known; `weight`: of the prior's. Leaves noise_w and
 * freedom as they are. */
jm_status jm__posterior_update(jm__posterior *posterior, const jm__qr *equations, const jm__prior *prior,
                               double weight, jm_error *err);

#endif
