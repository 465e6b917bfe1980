/* Weights of features, and how well they tell kernels that they were not learnt from. */
#ifndef JM_CALIBRATE_WEIGHTS_H
#define JM_CALIBRATE_WEIGHTS_H

#include "attribute/fit/calibrate.h"
#include "calibrate/training_set.h"

/* ---- readings of the power sensor as equations of features */

/* Of a reading's weight, what may lie in kernels on constant data. */
#define JM_LEFT_OUT_MOST 0.02

/* The rows of all readings with one response: what is seen of the sensor is features . x. */
typedef struct jm__training_set_rows {
    size_t rows, features, kernels; /* features: metrics and the constant */
    double *feature;                /* [rows * features], in units of the references */
    double *kernel;                 /* [rows * kernels]: the part of its weight that a kernel had */
    double *power_w;                /* [rows] */
    double *left_out; /* [rows]: the part of its weight that lies in kernels that are left out */
    bool *usable;     /* [rows]: counters cover all that it remembers, and nothing left out is in it */
} jm__training_set_rows;

jm_status jm__training_set_rows_make(jm__training_set_rows *out, jm__training_set *training_set,
                                     jm__response response, jm_error *err);
void jm__training_set_rows_free(jm__training_set_rows *rows);

/* ---- Weights of features, none below zero, by least squares that outliers cannot lead. */

typedef struct jm__weights {
    double *x;       /* [features], W */
    size_t used;     /* rows that were kept */
    double rms_w;    /* of their residuals */
    double spread_w; /* of all rows', robust: 1.48 times the median of their sizes */
} jm__weights;

/* `rows`: of those, the ones with use[row]; BAD_DATA: they are too few. */
jm_status jm__weights_find(jm__weights *out, const jm__training_set_rows *rows, const bool *use,
                           jm_error *err);
void jm__weights_free(jm__weights *weights);

/* ---- How well weights tell the power of kernels that they were not learnt from: each family in turn is left
 * out. */

typedef struct jm__left_out {
    size_t families;
    double *power_w;     /* [kernels]: by the sensor; NAN: its bursts were too short to tell */
    double *predicted_w; /* [kernels]: by weights learnt without its family */
    double *covariance;  /* [features^2]: of the weights (jackknife over families) */
} jm__left_out;

/* `all`: the weights of all usable rows. */
jm_status jm__left_out_find(jm__left_out *out, const jm__training_set *training_set,
                            const jm__training_set_rows *rows, const jm__weights *all, jm_error *err);
void jm__left_out_free(jm__left_out *out);

#endif
