/* A first fit, for whoever asks what would explain the readings better. */
#ifndef JM_ATTRIBUTE_FIT_REFINE_H
#define JM_ATTRIBUTE_FIT_REFINE_H

#include "attribute/fit/fit.h"
#include "attribute/work/work.h"

typedef struct jm__refine_input {
    const jm__fit *fit;
    const jm__fit_input *fit_input; /* that it came from */
    const jm__work_set *set;
    jm__board_work *work; /* only its pieces are walked, and left as they were */
} jm__refine_input;

/* Something must be twenty times likelier than not: its logarithm. */
#define JM_REFINE_LOG_ODDS 3.0

/* A sample of the readings with their rows of the design, two columns for errors of the sensor's response,
 * and columns of one's own behind them: to ask of something what more of the readings it would explain, that
 * powers and another response do not. */

enum { JM_SAMPLED_LEAST = 200 }; /* fewer readings tell no drift, so nothing is told from drift */

typedef struct jm__sampled {
    const jm__fit *fit;
    const jm_sensor *sensor;
    size_t columns; /* of the fit */
    size_t behind;  /* where one's own begin */
    size_t width;   /* of all */
    jm__reading_list readings;
    double *rows; /* [readings.count * width], for the caller to fill */
    double *x;    /* [width] */
    double *residual;
    jm__qr qr;
} jm__sampled;

/* Readings of what powers are learnt from; rows are 0. */
jm_status jm__sampled_init(jm__sampled *sampled, const jm__fit *fit, const jm__fit_input *input,
                           size_t behind, jm_error *err);
void jm__sampled_free(jm__sampled *sampled);

/* Once the rows have what the fit's columns weigh: what another lag or width of the response would change.
 * The pieces give the fit's columns. */
jm_status jm__sampled_add_response(jm__sampled *sampled, jm__pieces *pieces, jm_error *err);

/* The rows as a finished triangle, with what was believed of the powers beforehand. */
void jm__sampled_fold(jm__sampled *sampled);

/* The noise that is left, given x[behind] to x[width - 1]; fills the others. */
jm__noise jm__sampled_noise(jm__sampled *sampled);

/* The variance of noise that a difference between long stretches of time sees. */
double jm__noise_lasting(const jm__noise *noise);

#endif
