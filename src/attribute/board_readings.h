/* The readings of each board's power sensors and energy counter, as totals and fits take them. */
#ifndef JM_ATTRIBUTE_BOARD_READINGS_H
#define JM_ATTRIBUTE_BOARD_READINGS_H

#include "attribute/board_part.h"

/* Fills in counter, series and counts of all boards, [dataset->board_count]. What no board can draw, and no
 * counter count, is left out. */
jm_status jm__board_readings_take(jm__board_part *boards, const jm__dataset *dataset, jm_error *err);

/* Which of the series the fit is to be of (part->sensor), for the part's windows. */
void jm__board_series_choose(jm__board_part *part);

/* That of part->sensor; NULL: there is none. */
const jm__power_series *jm__board_series(const jm__board_part *part);

void jm__board_readings_free(jm__board_part *part);

#endif
