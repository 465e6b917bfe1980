/* What each column of a board's work is expected to draw, by the families of its kernels. */
#ifndef JM_ATTRIBUTE_PRIOR_FAMILY_POWER_H
#define JM_ATTRIBUTE_PRIOR_FAMILY_POWER_H

#include "attribute/fit/levels.h"
#include "attribute/work/work.h"

/* [columns.class_columns] of one board of `set`; the caller frees it. NULL if memory is out. */
jm__expectation *jm__family_power(const jm_board *board, const jm__board_work *work, const jm__work_set *set);

#endif
