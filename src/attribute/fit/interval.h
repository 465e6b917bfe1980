/* The readings as equations of unit error: each weighs what it is worth with all that may be wrong with it.
 *
 * Readings y = A x + e enter through their scores A'y, whose errors have the covariance S: noise, drift,
 * powers that are not constant. With A = Q T that is Q'y = T x + error of covariance N = T'^-1 S T^-1, and
 * with N = L L' the equations L^-1 (T | Q'y) have unit errors, independent of each other. With white noise
 * they are the readings' own triangle over the noise. */
#ifndef JM_ATTRIBUTE_FIT_INTERVAL_H
#define JM_ATTRIBUTE_FIT_INTERVAL_H

#include "attribute/fit/calibrate.h"
#include "attribute/fit/discrepancy.h"

/* `data`: finished, of the readings, unit weight, with the prior's share folded in. `scores`: S, columns *
 * columns. `equations`: finished, of the readings alone. */
jm_status jm__weigh(jm__qr *equations, const jm__qr *data, const double *scores, jm_error *err);

/* The powers after the readings of one interval of the run: what was assumed before, made surer by them. */

typedef struct jm__fit_interval_input {
    const jm_sensor *sensor;
    jm__design *design;
    const jm__reading_list *readings; /* may be empty: then the priors stay as they are */
    const jm__calibration *calibration;
    const jm__joint_prior *joint_prior;
    const double *prior_shift; /* [points * columns]: of the prior's mean, see jm__fit_interval.shift; NULL:
                                  none */
    const jm__power_law *law;  /* NULL: none */
    const jm__noise *noise;    /* as found elsewhere, if these are too few to tell; NULL: they are not */
} jm__fit_interval_input;

typedef struct jm__fit_interval {
    size_t columns;
    double *power_w;
    double *covariance; /* [columns * columns], W^2: of all errors but the response's */
    double *shift;      /* [points * columns]: by how much powers are others with each likely response */
    size_t points;
    size_t readings;
    double noise_w;
    double freedom;     /* degrees of freedom behind noise_w */
    double inflation;   /* of the variance of scores over what white noise makes it, all errors counted */
    double residual_w;  /* root mean square */
    jm__noise noise;    /* of the readings: white and drift */
    double discrepancy; /* how much a kind's power differs from one surrounding to the next, relative */
    double missed_w; /* by the fit of the rest of the time, of the mean power of an eighth of it; NAN: too few
                        readings */
} jm__fit_interval;

/* Powers of nothing, without any error. */
jm_status jm__fit_interval_init(jm__fit_interval *interval, size_t columns, size_t points, jm_error *err);
jm_status jm__fit_interval_solve(jm__fit_interval *out, const jm__fit_interval_input *input, jm_error *err);
void jm__fit_interval_free(jm__fit_interval *interval);

/* The response is not known: powers become their mean over its likely points, and their covariance has how
 * far they are apart. */
void jm__fit_interval_mix(jm__fit_interval *interval);

/* The readings as equations of unit error, and what their residuals show (in `out`, of which the powers and
 * their errors stay as they are). The caller frees `equations` in any case. */
jm_status jm__fit_interval_weigh(jm__qr *equations, jm__fit_interval *out,
                                 const jm__fit_interval_input *input, jm_error *err);

/* The powers after these equations and the input's priors. */
jm_status jm__fit_interval_update(jm__posterior *posterior, const jm__qr *equations,
                                  const jm__joint_prior *joint_prior, jm_error *err);

/* Readings of the interval's sensor, through its design. */
jm__pass jm__fit_interval_pass(const jm__fit_interval_input *input, const jm__reading_list *readings);

/* How many readings a step may take that costs columns^2 for each. */
size_t jm__fit_interval_sample_size(size_t columns);

/* The response of this very run, found on a sample of its readings with classes of like power put together.
 */

typedef struct jm__respond_input {
    const jm_sensor *sensor;
    jm__design *design;
    size_t class_columns;  /* the first idle column */
    const double *seconds; /* [columns]: how long each ran while the readings were taken */
    const jm__joint_prior *joint_prior;
    const jm__power_law *law; /* see jm__calibrate */
} jm__respond_input;
/* `moved`: see jm__calibrate; as many as `learn`. */
jm_status jm__respond(jm__calibration *out, const jm__respond_input *input, const jm__reading_list *learn,
                      const jm__reading_list *moved, jm_error *err);

#endif
