/* Readings of the power sensor as equations of features: what a lesson's weights are found by. */
#ifndef JM_CALIBRATE_LESSON_ROWS_H
#define JM_CALIBRATE_LESSON_ROWS_H

#include "attribute/fit/calibrate.h"
#include "calibrate/lesson.h"

/* Of a reading's weight, what may lie in kernels on constant data. */
#define JM_LEFT_OUT_MOST 0.02

/* The rows of all readings with one response: what is seen of the sensor is features . x. */
typedef struct jm__lesson_rows {
    size_t rows, features, kernels; /* features: metrics and the constant */
    double *feature;                /* [rows * features], in units of the references */
    double *kernel;                 /* [rows * kernels]: the part of its weight that a kernel had */
    double *power_w;                /* [rows] */
    double *left_out; /* [rows]: the part of its weight that lies in kernels that are left out */
    bool *usable;     /* [rows]: counters cover all that it remembers, and nothing left out is in it */
} jm__lesson_rows;

jm_status jm__lesson_rows_make(jm__lesson_rows *out, jm__lesson *lesson, jm__response response,
                               jm_error *err);
void jm__lesson_rows_free(jm__lesson_rows *rows);

#endif
