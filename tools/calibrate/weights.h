/* Weights of features, none below zero, by least squares that outliers cannot lead. */
#ifndef JM_CALIBRATE_WEIGHTS_H
#define JM_CALIBRATE_WEIGHTS_H

#include "calibrate/lesson_rows.h"

typedef struct jm__weights {
    double *x;       /* [features], W */
    size_t used;     /* rows that were kept */
    double rms_w;    /* of their residuals */
    double spread_w; /* of all rows', robust: 1.48 times the median of their sizes */
} jm__weights;

/* `rows`: of those, the ones with use[row]; BAD_DATA: they are too few. */
jm_status jm__weights_find(jm__weights *out, const jm__lesson_rows *rows, const bool *use, jm_error *err);
void jm__weights_free(jm__weights *weights);

#endif
