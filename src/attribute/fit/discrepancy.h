/* What residuals are made of: noise, a white part and a drift that fades; and powers that are not constant.
 */
#ifndef JM_ATTRIBUTE_FIT_DISCREPANCY_H
#define JM_ATTRIBUTE_FIT_DISCREPANCY_H

#include "attribute/fit/calibrate.h"

/* Fewer readings cannot tell a drift: ten times as long as it is followed for, they would give its variance
 * to a third. */
enum { JM_NOISE_READINGS = 200 };

typedef struct jm__noise {
    double white; /* variance, W^2 */
    double drift; /* variance, W^2; 0: none was seen */
    double keep;  /* what of the drift is left one reading later */
} jm__noise;

/* Of residuals [pass->count] and their degrees of freedom, for what the fit took of them; all 0 if they are
 * too few. */
void jm__noise_of_residuals(jm__noise *noise, const jm__pass *pass, const double *residual, double freedom);

/* A' S A of the pass's readings, S being the noise's covariance: columns * columns. */
jm_status jm__noise_scores(const jm__noise *noise, const jm__pass *pass, jm__response response,
                           double *scores, jm_error *err);

/* A kind of work does not have one power: what that does to the scores of a fit. */

/* One kind of kernel draws 3 to 9 % more or less from one surrounding, clock and warmth to the next
 * (docs/accuracy.md): their geometric mean. */
#define JM_DISCREPANCY_USUAL_U 0.05

/* What a kind draws otherwise in one interval or place than in another has Student's t distribution around
 * that. Degrees of freedom, a choice: the smallest whole number whose variance and its error are finite would
 * be 5; fewer make it easier to give up one kind (a matrix product throttled there and not here: -26 %), and
 * 3 is the fewest with a finite variance. */
#define JM_DIFFERENCE_FREEDOM 3.0

/* A choice: a column that was at zero elsewhere may draw something here. */
#define JM_DIFFERENCE_LEAST_W 1.0

/* Of the variance of a reading's residual, W^2, what may be model discrepancy, and its standard uncertainty.
 */
typedef struct jm__discrepancy_seen {
    double square, u;
} jm__discrepancy_seen;

/* The fit whose model discrepancy is asked for. */
typedef struct jm__discrepancy_of {
    const jm__pass *pass; /* a sample of the readings will do */
    jm__response response;
    const double *power_w;    /* [columns] */
    const double *covariance; /* [columns * columns], W^2, for white noise */
    double noise_w;           /* standard deviation of one reading behind it */
    double readings;          /* all that were fitted */
    jm__discrepancy_seen seen;
} jm__discrepancy_of;

/* By noise alone: what neighbours share, is new in each reading, and is more than the sensor's own noise. */
jm__discrepancy_seen jm__discrepancy_of_noise(const jm__noise *noise, double sensor_noise_w);

/* All that is more than the sensor's own noise, as that was seen to differ from its profile. */
jm__discrepancy_seen jm__discrepancy_beyond(double square, double sensor_noise_w);

/* `relative_u`: how much, relative to itself, the power of a kind differs from one surrounding to the next.
 * Adds to `scores` (columns * columns) the covariance that this gives to A'y around A'A times the mean powers
 * over time. */
jm_status jm__discrepancy_add(double *scores, double *relative_u, const jm__discrepancy_of *of,
                              jm_error *err);

/* relative_u[columns]: the same, in the mean over so many seconds of each kind: of what changes from call to
 * call, many calls leave less. */
jm_status jm__discrepancy_over(double *relative_u, const jm__discrepancy_of *of, const double *seconds,
                               jm_error *err);

/* What a fit leaves of readings of the same work, again and again. */

/* So many readings are looked at: more would cost more than the rest of a fit, and tell little more. */
size_t jm__replicates_most(size_t columns);

/* `seen`: variance of the residuals that comes again, and how sure it is: never surer than what stood there.
 * Left as it is where no readings are alike. `power_w`, `covariance` (columns * columns, W^2, for white
 * noise): of the fit. `pass`: at most jm__replicates_most(columns) readings. */
jm_status jm__replicates_find(jm__discrepancy_seen *seen, const jm__pass *pass, jm__response response,
                              const double *power_w, const double *covariance, jm_error *err);

#endif
