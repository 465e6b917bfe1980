/* At which clock a board ran each kind of work. */
#ifndef JM_ATTRIBUTE_CLOCKS_H
#define JM_ATTRIBUTE_CLOCKS_H

#include "attribute/board_part.h"

/* Fills part->clock_mhz, [columns], which are chosen and whose pieces are still there: NAN for a kind that no
 * reading of the clock saw, NULL without any reading. */
jm_status jm__clocks_find(jm__board_part *part, const jm__dataset *dataset, jm_error *err);

#endif
