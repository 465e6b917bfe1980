/* The energy of any mixture of columns, with its error from the full covariance. */
#ifndef JM_ATTRIBUTE_ROLLUP_ENERGY_H
#define JM_ATTRIBUTE_ROLLUP_ENERGY_H

#include "attribute/attribution.h"
#include "attribute/rollup/tree.h"

typedef struct jm__energy {
    double energy_j;
    double half_j;          /* of the 95 % interval */
    double variance;        /* J^2 */
    double prior_variance;  /* of what was believed before any reading */
    double most_j;          /* the beliefs alone would have no wider half */
    double quantile;        /* standard deviations in a half */
    double shrinkage;       /* of the variance by the readings. 1: they decide all, 0: the beliefs do */
    bool decided;           /* the figure is the readings', not the beliefs' */
    jm_provenance believed; /* the belief that would decide it without readings */
    bool fitted;            /* all boards in it have a fit */
    bool known;             /* all boards in it have any figure */
} jm__energy;

/* Cells sorted by column, any node. */
jm__energy jm__energy_of(const jm__attribution *a, const jm__cell *cells, size_t count);

/* After something else has told of it, too: the interval and how it is known follow the variance. */
void jm__energy_set_variance(jm__energy *energy, double variance);

/* The lower end of an interval is not below zero, unless the figure is (a meter the wrong way round). NAN, of
 * which fmax would make 0, stays missing. */
static inline double jm__energy_low(double energy_j, double half_j)
{
    double low_j = energy_j - half_j;
    return energy_j >= 0 && low_j < 0 ? 0 : low_j;
}

#endif
