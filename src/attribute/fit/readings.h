/* Which readings of a sensor a fit works on. */
#ifndef JM_ATTRIBUTE_FIT_READINGS_H
#define JM_ATTRIBUTE_FIT_READINGS_H

#include "attribute/input/window.h"
#include <joulemap/board.h>

typedef JM_VEC(jm_reading) jm__reading_list;

/* Those stamped inside a window, their lag taken off. At the start of a long one, those that still remember
 * what was before are left out; in a short one they stay, as the design knows what was before. Those that
 * remember time in `unknown` (normalised; NULL: none), of which the design tells nothing, are left out in any
 * case. Sorted by time, as `readings` are; no two of one time. */
jm_status jm__readings_choose(jm__reading_list *out, const jm_sensor *sensor, const jm_reading *readings,
                              size_t count, const jm__windows *windows, const jm__windows *unknown,
                              jm_error *err);

/* At most `most` of them, in blocks of neighbours spread over all. */
jm_status jm__readings_sample(jm__reading_list *out, const jm__reading_list *all, size_t most, jm_error *err);

#endif
