/* The scatter of a sensor's readings while nothing runs. */
#ifndef JM_CALIBRATE_REST_NOISE_H
#define JM_CALIBRATE_REST_NOISE_H

#include "attribute/fit/calibrate.h"
#include "calibrate/gaps.h"

/* The white part of the noise (fit/misfit.h) of readings that remember nothing but long gaps, standard; NAN:
 * there are too few of them in a row to tell it from a drift. */
jm_status jm__rest_noise_find(double *noise_w, const jm__lesson *lesson, jm__gaps *gaps,
                              jm__response response, jm_error *err);

#endif
