/* What a sampler of counters makes the board draw: the step of its power at rest, when the sampler goes. */
#ifndef JM_LEARN_SAMPLER_STEP_H
#define JM_LEARN_SAMPLER_STEP_H

#include "learn/lesson.h"

/* From l->recorded, with nothing taken off. NAN: no sampler went while the board was at rest for long enough,
 * or no kernel was traced, so that nobody knows. */
jm_status jm__sampler_step_find(double *power_w, double *u_w, const jm__lesson *l, jm_error *err);

#endif
