/* A kind of work does not have one power: what that does to the scores of a fit. */
#ifndef JM_ATTRIBUTE_FIT_MISFIT_H
#define JM_ATTRIBUTE_FIT_MISFIT_H

#include "attribute/fit/noise.h"

/* One kind of kernel draws 3 to 9 % more or less from one surrounding, clock and warmth to the next
 * (docs/accuracy.md): their geometric mean. */
#define JM_MISFIT_USUAL_U 0.05

/* Of the variance of a reading's residual, W^2, what may be misfit, and its standard uncertainty. */
typedef struct jm__misfit_seen {
    double square, u;
} jm__misfit_seen;

/* The fit whose misfit is asked for. */
typedef struct jm__misfit_of {
    const jm__pass *pass; /* a sample of the readings will do */
    jm__response response;
    const double *power_w;    /* [columns] */
    const double *covariance; /* [columns * columns], W^2, for white noise */
    double noise_w;           /* standard deviation of one reading behind it */
    double readings;          /* all that were fitted */
    jm__misfit_seen seen;
} jm__misfit_of;

/* By noise alone: what neighbours share, is new in each reading, and is more than the sensor's own noise. */
jm__misfit_seen jm__misfit_of_noise(const jm__noise *noise, double sensor_noise_w);

/* All that is more than the sensor's own noise, as that was seen to differ from its profile. */
jm__misfit_seen jm__misfit_beyond(double square, double sensor_noise_w);

/* `relative_u`: how much, relative to itself, the power of a kind differs from one surrounding to the next.
 * Adds to `scores` (columns * columns) the covariance that this gives to A'y around A'A times the mean powers
 * over time. */
jm_status jm__misfit_add(double *scores, double *relative_u, const jm__misfit_of *of, jm_error *err);

/* relative_u[columns]: the same, in the mean over so many seconds of each kind: of what changes from call to
 * call, many calls leave less. */
jm_status jm__misfit_over(double *relative_u, const jm__misfit_of *of, const double *seconds, jm_error *err);

#endif
