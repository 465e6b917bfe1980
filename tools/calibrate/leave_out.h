/* How well weights tell the power of kernels that they were not learnt from: each family in turn is left out.
 */
#ifndef JM_CALIBRATE_LEAVE_OUT_H
#define JM_CALIBRATE_LEAVE_OUT_H

#include "calibrate/weights.h"

typedef struct jm__left_out {
    size_t families;
    double *power_w;     /* [kernels]: by the sensor; NAN: its bursts were too short to tell */
    double *predicted_w; /* [kernels]: by weights learnt without its family */
    double *covariance;  /* [features^2]: of the weights (jackknife over families) */
} jm__left_out;

/* `all`: the weights of all usable rows. */
jm_status jm__left_out_find(jm__left_out *out, const jm__lesson *lesson, const jm__lesson_rows *rows,
                            const jm__weights *all, jm_error *err);
void jm__left_out_free(jm__left_out *out);

#endif
