/* What is known of the powers apart from the readings: equations row . x = value, each with its error.
 *
 * Anything but the power sensor enters the fit this way: the mean power of all work, powers that somebody
 * measured, counters, what the rest of the run has taught. The solver does not know which is which. */
#ifndef JM_ATTRIBUTE_FIT_BELIEF_H
#define JM_ATTRIBUTE_FIT_BELIEF_H

#include "attribute/fit/qr.h"
#include <joulemap/report.h>
#include <stdbool.h>

/* A board that reads 0 W still needs an uncertainty above 0. */
#define JM_POWER_LEAST_W 1e-3

typedef struct jm__belief {
    jm_provenance provenance; /* of a figure that this belief decides */
    size_t columns;
    size_t rows;
    size_t capacity;
    double *row;        /* [rows * columns] */
    double *value;      /* [rows], W if the row's entries add up to 1 */
    double *u;          /* [rows]: standard uncertainty that is the equation's own */
    double *covariance; /* [rows * rows]: of errors that equations share, on top of u; NULL: there are none */
} jm__belief;

jm_status jm__belief_init(jm__belief *belief, jm_provenance provenance, size_t columns, jm_error *err);
void jm__belief_free(jm__belief *belief);

/* A double has 16 digits: of an equation as sure as this (in units of u, by the larger of its value and 1 W)
 * four are left for all others, and not much beyond it the sums are no longer finite. */
#define JM_BELIEF_SUREST 1e12

/* Can it be believed that a value is known to u? Both are finite, and u is neither 0 nor next to it. */
bool jm__belief_is_sane(double value, double u);

/* One more equation. BAD_DATA if it is not sane. */
jm_status jm__belief_add(jm__belief *belief, const double *row, double value, double u, jm_error *err);

/* The power of one column. */
jm_status jm__belief_add_power(jm__belief *belief, size_t column, double power_w, double u_w, jm_error *err);

/* All equations so far are off together: equation i by error[i] times one unknown number of variance 1. */
jm_status jm__belief_share(jm__belief *belief, const double *error, jm_error *err);

/* The same for errors known by their covariance, rows * rows. */
jm_status jm__belief_covary(jm__belief *belief, const double *covariance, jm_error *err);

/* Fold the equations into `qr`, each in units of its error. BAD_DATA if their covariance is none. */
jm_status jm__belief_fold(const jm__belief *belief, jm__qr *qr, jm_error *err);

#endif
