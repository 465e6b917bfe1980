/* The powers after the readings of one stretch of the run: what was believed before, made surer by them. */
#ifndef JM_ATTRIBUTE_FIT_STRETCH_H
#define JM_ATTRIBUTE_FIT_STRETCH_H

#include "attribute/fit/calibrate.h"
#include "attribute/fit/noise.h"
#include "attribute/fit/readings.h"
#include "attribute/fit/weigh.h"

typedef struct jm__stretch_input {
    const jm_sensor *sensor;
    jm__design *design;
    const jm__reading_list *readings; /* may be empty: then the beliefs stay as they are */
    const jm__calibration *calibration;
    const jm__prior *prior;
    const double *prior_shift[JM_RESPONSE_AXES]; /* [columns]: see jm__stretch.shift; NULL: does not move */
    const jm__noise *noise; /* as found elsewhere, if these are too few to tell; NULL: they are not */
} jm__stretch_input;

typedef struct jm__stretch {
    size_t columns;
    double *power_w;
    double *covariance;              /* [columns * columns], W^2: of all errors */
    double *shift[JM_RESPONSE_AXES]; /* [columns]: covariance with an error of the response of variance 1 */
    size_t readings;
    double noise_w;
    double freedom;     /* degrees of freedom behind noise_w */
    double residual_w;  /* root mean square */
    double correlation; /* of neighbouring residuals */
    jm__noise noise;    /* of the readings: white and drift */
    double misfit;      /* how much a kind's power differs from one surrounding to the next, relative */
} jm__stretch;

/* Powers of nothing, without any error. */
jm_status jm__stretch_init(jm__stretch *stretch, size_t columns, jm_error *err);
jm_status jm__stretch_solve(jm__stretch *out, const jm__stretch_input *input, jm_error *err);
void jm__stretch_free(jm__stretch *stretch);

/* The readings as equations of unit error, and what their residuals show (in `out`, of which the powers and
 * their errors stay as they are). The caller frees `equations` in any case. */
jm_status jm__stretch_weigh(jm__weighed *equations, jm__stretch *out, const jm__stretch_input *input,
                            jm_error *err);

/* The powers after these equations and the input's beliefs. */
jm_status jm__stretch_update(jm__posterior *posterior, const jm__weighed *equations, const jm__prior *prior,
                             jm_error *err);

/* Readings of the stretch's sensor, through its design. */
jm__pass jm__stretch_pass(const jm__stretch_input *input, const jm__reading_list *readings);

/* How many readings a step may take that costs columns^2 for each. */
size_t jm__stretch_sample_size(size_t columns);

#endif
