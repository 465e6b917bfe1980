/* The response of this very recording: profile likelihood of lag and width inside the calibrated limits. */
#ifndef JM_ATTRIBUTE_FIT_CALIBRATE_H
#define JM_ATTRIBUTE_FIT_CALIBRATE_H

#include "attribute/fit/pass.h"
#include "attribute/fit/posterior.h"

/* A width of nothing cannot be divided by: what is narrower counts as instant. */
#define JM_WIDTH_LEAST_NS 1000.0

/* Readings on which lag and width are looked for: two minutes of the ring, each folded about twenty times. */
enum { JM_CALIBRATE_READINGS = 6000 };

/* Errors of the response, independent of each other: along the lag (with the width that comes with it), and
 * of the width. */
enum { JM_RESPONSE_AXES = 2 };

/* What was found: the response, and the covariance of (lag, width), ns^2. */
typedef struct jm__calibration {
    jm__response response;
    double lag_variance;
    double width_variance;
    double covariance;
} jm__calibration;

/* The response as the sensor's row has it, with its calibrated uncertainty. */
jm__calibration jm__calibration_of(const jm_sensor *sensor);

/* The noise of a reading as the sensor's row has it. With one or two readings nothing else is known of it, so
 * it counts as two. */
jm__noise_prior jm__noise_of(const jm_sensor *sensor);

/* Improve `calibration` from the readings of `pass` (grouped columns). Leaves it as it is where the readings
 * say nothing of it. */
jm_status jm__calibrate(jm__calibration *calibration, const jm_sensor *sensor, const jm__pass *pass,
                        const jm__prior *prior, jm_error *err);

#endif
