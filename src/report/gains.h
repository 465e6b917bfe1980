/* Sensors' gains in the runs of two sides: that of one board is the same in all of its runs and cancels as
 * far as both sides have the same share of their energy on it; those of two boards do not. */
#ifndef JM_REPORT_GAINS_H
#define JM_REPORT_GAINS_H

#include "base/vec.h"

#include <joulemap/diff.h>

typedef struct jm__diff_run {
    const jm_report *report;
    char *name;
    int64_t units; /* above 0 */
    int side;      /* 0: A, 1: B */
} jm__diff_run;

/* A board in one run. */
typedef struct jm__gain_place {
    size_t run;
    jm_report_board board;
    size_t gain; /* whose it is */
} jm__gain_place;

/* A board, wherever it is met. */
typedef struct jm__gain {
    const jm_board *board;
    double gain_u;
    int side; /* of a board that nobody can tell from another one: never that of the other side. -1: none */
    double share[2]; /* of the energy of each side */
    bool met[2];     /* by side */
} jm__gain;

typedef struct jm__gains {
    JM_VEC(jm__gain_place) places;
    JM_VEC(jm__gain) items;
    size_t runs[2]; /* a side */
    jm_sameness sameness;
} jm__gains;

/* `runs`: those of A, then those of B. */
jm_status jm__gains_find(jm__gains *gains, const jm__diff_run *runs, const size_t counts[2], jm_error *err);
void jm__gains_free(jm__gains *gains);

/* Relative standard uncertainty of each side's total by gains of boards that had more of its energy than of
 * the other side's; those of several boards are independent. */
void jm__gains_of_totals(const jm__gains *gains, double gain_u[2]);

/* Of a row, whose row in each run is `rows[run]`, NULL where it has none: it ran on jm_row.boards ("": on
 * any). Of several the largest gain counts, since how a row is shared among them is not known. */
void jm__gains_of_rows(const jm__gains *gains, const jm_row *const *rows, double gain_u[2]);

#endif
