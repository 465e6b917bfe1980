/* Work and gaps of a suite, as the estimator's sweep line tells them apart. */
#ifndef JM_CALIBRATE_GAPS_H
#define JM_CALIBRATE_GAPS_H

#include "attribute/work/tally.h"
#include "calibrate/lesson.h"

/* Columns of a fit: first JM__NOT_OF_SUITE, then the kernels of the suite, then the idle states. */
enum { JM__NOT_OF_SUITE };

typedef struct jm__gaps {
    jm__windows known; /* the phase, and what rest was recorded: there it is known what ran */
    jm__tally tally;   /* of that time */
    jm__pieces pieces;
    uint32_t *column_of;  /* [codes of pieces] */
    double *seconds;      /* [columns], of `known` */
    size_t class_columns; /* the first idle column */
    size_t columns;
    bool too_many; /* kernels, for so much memory: there are no pieces, and nothing can be learnt */
} jm__gaps;

/* Work is what kernels were seen of on the board, and bursts that none was seen in (none was traced, or the
 * board is simulated); what is outside of `known` is work that nobody knows. To be freed in any case. */
jm_status jm__gaps_find(jm__gaps *gaps, const jm__lesson *lesson, jm_error *err);
void jm__gaps_free(jm__gaps *gaps);

#endif
