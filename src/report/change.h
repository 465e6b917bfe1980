/* Means of a side's runs and their change: how sure both are. */
#ifndef JM_REPORT_CHANGE_H
#define JM_REPORT_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

/* An energy in one run, with the 95 % interval that its report gives. */
typedef struct jm__run_figure {
    bool there; /* else that run has no such row */
    double energy_j, low_j, high_j;
} jm__run_figure;

/* Of the runs that have it. */
typedef struct jm__runs_mean {
    size_t runs;
    double energy_j;      /* NAN: of none, or not known in one of them */
    double low_j, high_j; /* 95 % interval of the mean; of one run, its own */
    double deviation_j;   /* standard deviation of one run, as the runs are spread; NAN: fewer than two */
} jm__runs_mean;

/* Student's t of 95 % for the mean of `runs`, of which there are two at least. */
double jm__runs_student(size_t runs);

/* The mean of those of `count` runs that have it. `student`: jm__runs_student of each number up to `count`.
 * Errors that are independent from run to run show in the spread. What the runs' own intervals hold beyond
 * that spread is taken as one error that all of them share, which no mean makes smaller. So the interval is
 * never narrower than Student's of the spread, nor than that of own errors which were all independent; of
 * runs without any spread it is that of one run.
 *
 * Two such intervals in quadrature hold the difference of two means in 95 % at least, whatever the spreads
 * and the numbers of runs (S. Banerjee, Sankhya 22, 1960). Welch's approximation is narrower and does not:
 * docs/diff.md. */
jm__runs_mean jm__runs_mean_of(const jm__run_figure *runs, size_t count, const double *student);

typedef struct jm__figure {
    double energy_j, low_j, high_j; /* 95 % */
    double gain_u; /* relative, standard: of a sensor whose gain the other figure does not have */
} jm__figure;

typedef struct jm__ratio {
    double change;    /* b / a - 1; NAN where a is not above 0 */
    double low, high; /* 95 % interval; NAN where that of a reaches 0 */
    int sign;         /* of b - a, where its 95 % interval leaves out 0; else 0 */
} jm__ratio;

/* The interval is Fieller's (J. R. Stat. Soc. B 16, 1954): those ratios r for which b - r a may be 0. So it
 * leaves out a change of 0 just where `sign` is not 0. All NAN, sign 0: something of a or b is missing. */
jm__ratio jm__change_of(jm__figure a, jm__figure b);

#endif
