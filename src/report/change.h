/* Means over a side's runs, their change, and the intervals of both. */
#ifndef JM_REPORT_CHANGE_H
#define JM_REPORT_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

/* An energy in one run, with the 95 % interval that its report gives. */
typedef struct jm__run_figure {
    bool there; /* false: the run has no such row */
    double energy_j, low_j, high_j;
    double seconds; /* NAN: unknown */
} jm__run_figure;

/* The mean over the runs that have the row. */
typedef struct jm__runs_mean {
    size_t runs;
    double energy_j;      /* NAN: no run has it, or one does not know it */
    double low_j, high_j; /* 95 % interval of the mean; of a single run, its own */
    double deviation_j;   /* standard deviation of the runs; NAN: fewer than two */
    double seconds;
} jm__runs_mean;

/* The mean over those of `count` runs that have the row. `student`: Student's t for a 95 % interval of the
 * mean of each number of runs from two to `count`. Independent errors of the runs show in their spread. What
 * the runs' own intervals hold beyond that spread is taken as one common error, which no mean reduces. So the
 * interval is never narrower than Student's of the spread, nor than that of independent own errors; without
 * any spread it is that of one run.
 *
 * Two such intervals in quadrature hold the difference of two means in at least 95 %, whatever the spreads
 * and the numbers of runs (S. Banerjee, Sankhya 22, 1960). Welch's approximation is narrower and does not:
 * docs/diff.md. */
jm__runs_mean jm__runs_mean_of(const jm__run_figure *runs, size_t count, const double *student);

typedef struct jm__figure {
    double energy_j, low_j, high_j; /* 95 % */
    double gain_u; /* relative standard uncertainty of a sensor's gain that the other figure does not share */
} jm__figure;

typedef struct jm__ratio {
    double change;    /* b / a - 1; NAN if a is not above 0 */
    double low, high; /* 95 % interval; NAN if the interval of a reaches 0 */
    int sign;         /* sign of b - a if its 95 % interval excludes 0; else 0 */
} jm__ratio;

/* The interval is Fieller's (J. R. Stat. Soc. B 16, 1954): those ratios r for which b - r a may be 0. So it
 * excludes a change of 0 exactly if `sign` is not 0. If a or b is unknown, all are NAN and `sign` is 0. */
jm__ratio jm__change_of(jm__figure a, jm__figure b);

#endif
