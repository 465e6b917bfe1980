/* The powers after the readings of one stretch of the run: what was believed before, made surer by them. */
#ifndef JM_ATTRIBUTE_FIT_STRETCH_H
#define JM_ATTRIBUTE_FIT_STRETCH_H

#include "attribute/fit/calibrate.h"
#include "attribute/fit/noise.h"
#include "attribute/fit/readings.h"

/* Errors of the response, independent of each other: along the lag (with the width that comes with it), and
 * of the width. */
enum { JM_RESPONSE_AXES = 2 };

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
    double *covariance; /* [columns * columns], W^2: for white noise and drift as found in the residuals */
    double *observed;   /* the same from the residuals as they are, drift and all; the larger one counts */
    double *shift[JM_RESPONSE_AXES]; /* [columns]: W per standard uncertainty of the response on this axis */
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

/* The readings as a finished triangle, for what looks at them before they are solved. */
jm_status jm__stretch_fold(jm__qr *qr, const jm__stretch_input *input, jm_error *err);

/* How many readings a step may take that costs columns^2 for each. */
size_t jm__stretch_sample_size(size_t columns);

#endif
