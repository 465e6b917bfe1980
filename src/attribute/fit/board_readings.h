/* The readings of a board's power sensors and of its energy counter, as totals and fits take them, and when
 * they say that the board was lost. */
#ifndef JM_ATTRIBUTE_FIT_BOARD_READINGS_H
#define JM_ATTRIBUTE_FIT_BOARD_READINGS_H

#include "attribute/fit/total.h"
#include "format/dataset.h"
#include "model/board_model.h"

/* Those of one board: `out` is empty. What no board can draw, and no counter count, is left out. `learnt`:
 * how one of its sensors answers; no sensor: not known. */
jm_status jm__board_readings_take(jm__board_readings *out, const jm__dataset *dataset, const jm_board *board,
                                  const jm__model_response *learnt, jm_error *err);
void jm__board_readings_free(jm__board_readings *readings);

/* Which of the series the fit is to be of, in these windows. */
void jm__board_readings_choose(jm__board_readings *readings, const jm__intervals *windows);

/* That of the fit; NULL: there is none. */
const jm__power_series *jm__board_readings_series(const jm__board_readings *readings);

/* When the board was lost, from its last reading to the first after it was back: time in which it did not
 * answer is no part of its energy, as to go on with the last reading would be to invent joules. False if
 * memory is out. */
bool jm__board_readings_lost(jm__intervals *lost, const jm__board_readings *readings,
                             const jm__dataset *dataset, int64_t board_id);

#endif
