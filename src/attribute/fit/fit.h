/* The powers of all columns of one board, with what is known of their errors. */
#ifndef JM_ATTRIBUTE_FIT_FIT_H
#define JM_ATTRIBUTE_FIT_FIT_H

#include "attribute/fit/interval.h"
#include "attribute/fit/levels.h"
#include "attribute/fit/sampler.h"
#include "attribute/fit/total.h"
#include <stddef.h>
#include <stdint.h>

/* Columns of all boards are numbered one after the other. */
typedef struct jm__cell {
    uint32_t node;
    uint32_t column;
    double seconds;
    size_t group; /* in a tree: one number for the cells of a column whose nodes have one path and kind */
} jm__cell;

/* How much rows that hold a part of a column's time may differ from its mean: rollup/sums.c. */
typedef struct jm__class_variance {
    double seconds; /* of the column, in all rows */
    double square;  /* W^2 */
} jm__class_variance;

typedef struct jm__fit {
    size_t columns;
    double *power_w;
    double *covariance;          /* see jm__fit_interval */
    jm__joint_prior joint_prior; /* all priors, but not the rest of the run */
    double quantile;             /* of Student's t, for 95 % on both sides */
    jm__calibration calibration; /* of the response */
    bool fitted;                 /* false: no reading to fit; powers are shares of the total by time */
    bool known;                  /* false: neither readings nor a total; powers are 0 and mean nothing */
    size_t readings;             /* of the time reported */
    size_t learnt;               /* readings of the rest of the run that powers were learnt from */
    double residual_w;           /* NAN without a fit */
    double chi2_n;               /* against the sensor's own noise; NAN if unknown */
    double discrepancy; /* how much a kind's power differs from one surrounding to the next, relative */
    double missed_w;    /* see jm__fit_interval */
    jm__total total;    /* as measured, or the fit's own: see jm__fit_run */
    double free_j;      /* what the fit alone says of the total */
    double closure_z;   /* NAN without an independent total */
    bool held;          /* the total was taken as one more equation */
    bool own;           /* the total is the sum of the columns, errors and all */
    jm__class_variance *class_variance; /* [columns]; NULL: rows are not known yet */
    double rest_variance;               /* J^2: of the total less the sum of all columns */
} jm__fit;

/* Where nothing but the fitted sensor saw a part of a run, that part's total is the fit's: it knows what ran
 * there, and takes the sensor's memory of the time before out, which the plain integral of a short window is
 * mostly made of. */
jm_status jm__fit_run(jm__fit *fit, const jm__fit_input *input, jm_error *err);
void jm__fit_free(jm__fit *fit);

/* First of all: the response of the sensor and the law of powers, for input->calibration; as the profile has
 * them where there is no reading. */
jm_status jm__fit_respond(jm__calibration *calibration, const jm__fit_input *input, jm_error *err);

/* Takes the total as one more, very sure equation, if it agrees with the readings within 3 standard
 * uncertainties: it moves powers and their covariance. Sets free_j, closure_z, rest_variance, held and own in
 * any case. */
jm_status jm__fit_hold(jm__fit *fit, const jm__fit_input *input, jm_error *err);

/* The energy of some seconds in some columns, and what is known of its error. */
typedef struct jm__fit_sum {
    double energy_j;
    double variance; /* J^2 */
    double prior_j;  /* what was assumed of it before any reading */
    double prior_variance;
    jm_provenance assumed; /* the prior that prior_j owes most to */
} jm__fit_sum;

/* `cells`: sorted by column, none twice, of any node; `first`: the number of this board's first column. */
jm__fit_sum jm__fit_sum_of(const jm__fit *fit, const jm__cell *cells, size_t count, size_t first);

/* Covariance of two sums, J^2: [columns] weights in seconds each; `both_s`: of what is in both;
 * NULL: nothing is. */
double jm__fit_covariance(const jm__fit *fit, const double *left_s, const double *right_s,
                          const double *both_s);

#endif
