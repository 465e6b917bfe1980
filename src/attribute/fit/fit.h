/* The powers of all columns of one board, with what is known of their errors. */
#ifndef JM_ATTRIBUTE_FIT_FIT_H
#define JM_ATTRIBUTE_FIT_FIT_H

#include "attribute/fit/calibrate.h"
#include "attribute/fit/total.h"

typedef struct jm__fit_input {
    const jm_sensor *sensor;    /* a power sensor, not a counter; NULL: none */
    const jm_reading *readings; /* all of it, sorted by time */
    size_t reading_count;
    const jm__pieces *pieces;
    const jm__windows *windows;
    size_t class_columns; /* the first idle column */
    size_t columns;
    const double *seconds; /* [columns]: time of each within the windows */
    jm__total total;
} jm__fit_input;

typedef struct jm__fit {
    size_t columns;
    double *power_w;
    double *covariance; /* [columns * columns], W^2: for white noise and drift as found in the residuals */
    double *observed;   /* the same from the residuals as they are, drift and all; the larger one counts */
    double *prior_w;    /* [columns]: what was believed before any reading */
    double *prior_u_w;  /* [columns] */
    double
        *lag_shift; /* [columns]: W per standard uncertainty along the first axis of the response's error */
    double *width_shift;
    double quantile; /* of Student's t, for 95 % on both sides */
    jm__response response;
    bool fitted;       /* false: no reading to fit; powers are shares of the total by time */
    bool known;        /* false: neither readings nor a total; powers are 0 and mean nothing */
    size_t readings;   /* used */
    double residual_w; /* NAN without a fit */
    double chi2_n;     /* against the sensor's own noise; NAN if unknown */
    double noise_w;
    double correlation; /* of neighbouring residuals */
    double misfit;      /* how much a kind's power differs from one surrounding to the next, relative */
    double free_j;      /* what the fit alone says of the total */
    double closure_z;   /* NAN without an independent total */
    bool forced;        /* the total was taken as a constraint */
} jm__fit;

jm_status jm__fit_run(jm__fit *fit, const jm__fit_input *input, jm_error *err);
void jm__fit_free(jm__fit *fit);

#endif
