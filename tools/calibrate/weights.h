/* Weights of features, and their predictions of kernels outside the training data. */
#ifndef JM_CALIBRATE_WEIGHTS_H
#define JM_CALIBRATE_WEIGHTS_H

#include "attribute/fit/calibrate.h"
#include "calibrate/training_set.h"

/* ---- readings of the power sensor as equations of features */

/* The largest part of a reading's weight in kernels on constant data. */
#define JM_LEFT_OUT_MAX 0.02

/* One row per reading, for one response: reading = features . x. */
typedef struct jm__training_set_rows {
    size_t rows, features, kernels; /* features: metrics and the constant */
    double *feature;                /* [rows * features], relative to the references */
    double *kernel;                 /* [rows * kernels]: part of the reading's weight in each kernel */
    double *power_w;                /* [rows] */
    double *left_out;               /* [rows]: part of the weight in kernels on constant data */
    bool *usable;                   /* [rows]: counters cover the reading's memory, and left_out is small */
} jm__training_set_rows;

jm_status jm__training_set_rows_make(jm__training_set_rows *out, jm__training_set *training_set,
                                     jm__response response, jm_error *err);
void jm__training_set_rows_free(jm__training_set_rows *rows);

/* ---- non-negative weights of features, by least squares that rejects outliers */

typedef struct jm__weights {
    double *x;       /* [features], W */
    size_t used;     /* rows kept */
    double rms_w;    /* of the residuals of the kept rows */
    double spread_w; /* of the residuals of all rows, robust: 1.48 times the median absolute value */
} jm__weights;

/* Uses the rows with use[row]. BAD_DATA: too few. */
jm_status jm__weights_find(jm__weights *out, const jm__training_set_rows *rows, const bool *use,
                           jm_error *err);
void jm__weights_free(jm__weights *weights);

/* ---- leave-one-family-out: predictions of each family's kernels by weights without it */

typedef struct jm__left_out {
    size_t families;
    double *power_w;     /* [kernels]: by the sensor; NAN: its bursts were too short */
    double *predicted_w; /* [kernels]: by weights without its family */
    double *covariance;  /* [features^2]: of the weights (jackknife over families) */
} jm__left_out;

/* `all`: the weights from all usable rows. */
jm_status jm__left_out_find(jm__left_out *out, const jm__training_set *training_set,
                            const jm__training_set_rows *rows, const jm__weights *all, jm_error *err);
void jm__left_out_free(jm__left_out *out);

#endif
