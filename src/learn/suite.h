/* Which kernels ran when in a phase of a recording. */
#ifndef JM_LEARN_SUITE_H
#define JM_LEARN_SUITE_H

#include "learn/lesson.h"

/* The windows of the phase. NOT_FOUND: there is no such phase. */
jm_status jm__suite_phase(jm__lesson *lesson, const char *phase, jm_error *err);

/* Its bursts, and the kernels that they are of. NOT_FOUND: it has none. */
jm_status jm__suite_bursts(jm__lesson *lesson, const char *phase, jm_error *err);

#endif
