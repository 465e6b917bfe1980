/* What is known of the powers apart from the readings: equations row . x = value, each with its error.
 *
 * Anything but the power sensor enters the fit this way: the mean power of all work, powers that somebody
 * measured, counters, what the rest of the run has taught. The solver does not know which is which. */
#ifndef JM_ATTRIBUTE_FIT_PRIOR_H
#define JM_ATTRIBUTE_FIT_PRIOR_H

#include "attribute/fit/qr.h"
#include <joulemap/report.h>
#include <stdbool.h>

/* A board that reads 0 W still needs an uncertainty above 0. */
#define JM_POWER_LEAST_W 1e-3

/* Zeroed but for provenance and columns before the first equation. */
typedef struct jm__prior {
    jm_provenance provenance; /* of a figure that this prior decides */
    size_t columns;
    size_t rows;
    size_t capacity;
    double *row;        /* [rows * columns] */
    double *value;      /* [rows], W if the row's entries add up to 1 */
    double *u;          /* [rows]: standard uncertainty that is the equation's own */
    double *covariance; /* [rows * rows]: of errors that equations share, on top of u; NULL: there are none */
} jm__prior;
void jm__prior_free(jm__prior *prior);

/* Can it be assumed that a value is known to u? Both are finite, and u is neither 0 nor next to it. */
bool jm__prior_is_sane(double value, double u);

/* One more equation. BAD_DATA if it is not sane. */
jm_status jm__prior_add(jm__prior *prior, const double *row, double value, double u, jm_error *err);

/* The power of one column. */
jm_status jm__prior_add_power(jm__prior *prior, size_t column, double power_w, double u_w, jm_error *err);

/* All equations so far are off together: equation i by error[i] times one unknown number of variance 1. */
jm_status jm__prior_share(jm__prior *prior, const double *error, jm_error *err);

/* The same for errors known by their covariance, rows * rows. */
jm_status jm__prior_covary(jm__prior *prior, const double *covariance, jm_error *err);

/* All priors together: what is expected of the powers before any reading, and how surely. */

/* One reading of an H200's ring in steady load is off by 2 to 8 W (docs/sensors.md): where a sensor's row
 * says nothing. */
#define JM_NOISE_UNKNOWN_W 5.0

/* The noise expected of a reading, and how many readings' worth that expectation is. */
typedef struct jm__noise_prior {
    double noise_w;
    double readings;
} jm__noise_prior;

typedef struct jm__joint_prior_part {
    jm_provenance provenance;
    double *information; /* [columns * columns], 1/W^2; NULL: the only part has all of it */
    double *share;       /* [columns * columns], W^2: of the covariance, what is owed to it; NULL likewise */
} jm__joint_prior_part;

typedef struct jm__joint_prior {
    size_t columns;
    jm__qr equations;    /* finished: of all priors, in units of their errors */
    double *power_w;     /* [columns] */
    double *u_w;         /* [columns] */
    double *covariance;  /* [columns * columns], W^2 */
    double *information; /* its inverse */
    double *most_w;      /* [columns]: no power is higher; NULL: there is no limit */
    jm__joint_prior_part *parts;
    size_t part_count;
    jm__noise_prior noise;
} jm__joint_prior;

/* Of one prior and others. INTERNAL if they leave a power open. */
jm_status jm__joint_prior_make(jm__joint_prior *joint_prior, const jm__prior *first,
                               const jm__prior *const *others, size_t count, jm__noise_prior noise,
                               jm_error *err);
void jm__joint_prior_free(jm__joint_prior *joint_prior);

/* No power can be above most_w[columns], whatever readings say; NULL: no limit. Copied. */
jm_status jm__joint_prior_limit(jm__joint_prior *joint_prior, const double *most_w, jm_error *err);

/* out[columns]: how far the powers move if those that the first prior speaks of move by `shift`. */
jm_status jm__joint_prior_moved_by_first(double *out, const jm__joint_prior *joint_prior, const double *shift,
                                         jm_error *err);

/* Readings and priors put together: powers, their covariance, and the noise that the residuals show. */

typedef struct jm__posterior {
    double *power_w;    /* [columns], >= 0, and within the prior's limits */
    double *covariance; /* [columns * columns], W^2 */
    double noise_w;     /* standard deviation of one reading */
    double freedom;     /* degrees of freedom behind it */
} jm__posterior;
jm_status jm__posterior_init(jm__posterior *posterior, size_t columns, jm_error *err);
void jm__posterior_free(jm__posterior *posterior);

/* `data`: the finished triangle of unit-weight readings. */
jm_status jm__posterior_solve(jm__posterior *posterior, const jm__qr *data,
                              const jm__joint_prior *joint_prior, jm_error *err);

/* The powers alone, within the limits, after readings of which A'A (its lower half) and A'y are given, each
 * in units of the noise's variance. `shift`: [columns], by which the prior's mean is another; NULL: it is
 * not. */
jm_status jm__posterior_powers(double *power_w, const double *information, const double *moment,
                               const jm__joint_prior *joint_prior, const double *shift, jm_error *err);

/* Powers and covariance after `equations` of unit error, whose noise is known; `weight`: of the prior's.
 * Leaves noise_w and freedom as they are. */
jm_status jm__posterior_update(jm__posterior *posterior, const jm__qr *equations,
                               const jm__joint_prior *joint_prior, double weight, jm_error *err);

#endif
