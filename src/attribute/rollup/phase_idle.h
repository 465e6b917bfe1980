/* Idle time of the phase view goes to the phase it lies in. */
#ifndef JM_ATTRIBUTE_ROLLUP_PHASE_IDLE_H
#define JM_ATTRIBUTE_ROLLUP_PHASE_IDLE_H

#include "attribute/rollup/views.h"

jm_status jm__phase_idle(jm__views *views, size_t board, jm_error *err);

#endif
