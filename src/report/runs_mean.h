/* What several runs of one program say together: their mean, and how sure it is. */
#ifndef JM_REPORT_RUNS_MEAN_H
#define JM_REPORT_RUNS_MEAN_H

#include "report/change.h"

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
    double scatter_j;     /* standard uncertainty of the mean by that spread; 0 of one run */
    double shared_j;      /* standard uncertainty by what the runs' own intervals hold and no spread shows */
} jm__runs_mean;

/* Student's t of 95 %, by the reciprocal of the degrees of freedom: from 0 to 1 in equal steps. */
enum { JM_STUDENT_STEPS = 64 };
typedef struct jm__student_table {
    double t[JM_STUDENT_STEPS + 1];
} jm__student_table;

void jm__student_table_make(jm__student_table *table);

/* The mean of those of `count` runs that have it. Errors that are independent from run to run show in the
 * spread. What the runs' own intervals hold beyond that spread is taken as one error that all of them share,
 * which no mean makes smaller. So the interval is never narrower than Student's of the spread, nor than that
 * of own errors which were all independent; of runs without any spread it is that of one run. */
jm__runs_mean jm__runs_mean_of(const jm__run_figure *runs, size_t count, const jm__student_table *table);

/* The two sides of a change, with the t of both: Welch's degrees of freedom (Biometrika 34, 1947), by
 * Satterthwaite's formula. A side of one run brings no spread. */
void jm__runs_sides(const jm__runs_mean *a, const jm__runs_mean *b, const jm__student_table *table,
                    jm__figure *side_a, jm__figure *side_b);

#endif
