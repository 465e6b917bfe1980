/* How many slots for warps a board has, as its counters and NVML's clock together tell it. */
#ifndef JM_ATTRIBUTE_PRIOR_SLOTS_H
#define JM_ATTRIBUTE_PRIOR_SLOTS_H

#include "attribute/input/window.h"
#include "attribute/prior/rate_windows.h"

/* The `quantile` (0 to 1) of slot cycles over NVML's clock in the windows that begin within `within` (NULL:
 * all). NVML's clock is the true one wherever work is light, so in most windows the ratio is the number of
 * slots, and less in the others. 0: slots are not counted, or no clock was recorded. */
jm_status jm__slots_find(double *slots, const jm__dataset *dataset, int64_t board_id,
                         const jm__rate_choice *choice, const jm__windows *within, double quantile,
                         jm_error *err);

#endif
