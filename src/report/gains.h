/* Sensors' gains in two runs: that of one board is the same in both and cancels, those of two boards do not.
 */
#ifndef JM_REPORT_GAINS_H
#define JM_REPORT_GAINS_H

#include <joulemap/diff.h>

typedef struct jm__gain {
    jm_report_board board;
    size_t twin; /* the same board in the other run; (size_t)-1: not there */
} jm__gain;

typedef struct jm__gains {
    jm__gain *items[2]; /* of the boards of A and B */
    size_t counts[2];
    jm_sameness sameness;
} jm__gains;

jm_status jm__gains_find(jm__gains *gains, const jm_report *a, const jm_report *b, jm_error *err);
void jm__gains_free(jm__gains *gains);

/* Relative standard uncertainty of a run's total by gains that the other run does not share; those of several
 * boards are independent. */
double jm__gains_of_total(const jm__gains *gains, int side);

/* Of two rows, which ran on these boards (jm_row.boards; "": on any): of several the largest, since how a row
 * is shared among them is not known. */
void jm__gains_of_rows(const jm__gains *gains, const char *boards_a, const char *boards_b, double *gain_a_u,
                       double *gain_b_u);

#endif
