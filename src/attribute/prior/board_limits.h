/* What a board can draw at all, by its power limit. */
#ifndef JM_ATTRIBUTE_PRIOR_BOARD_LIMITS_H
#define JM_ATTRIBUTE_PRIOR_BOARD_LIMITS_H

#include "attribute/work/work.h"

/* (*out)[columns.count]: the highest power of each column, INFINITY where there is no limit; the caller frees
 * it. NULL if the board's limit is not known. */
jm_status jm__board_limits(double **out, const jm_board *board, const jm__board_work *work, jm_error *err);

#endif
