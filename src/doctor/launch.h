/* What tracing costs a launch on this machine. */
#ifndef JM_DOCTOR_LAUNCH_H
#define JM_DOCTOR_LAUNCH_H

#include "record/cupti/launch_cost.h"

#include <stddef.h>

/* In the process that tries it: launch an empty kernel some ten thousand times on the first GPU that
 * `library` (libcuda) shows, by turns without libjoulemap_inject.so tracing and with it. False with half a
 * sentence in `why`. */
bool jm__launch_try(jm__launch_cost *cost, const char *library, char *why, size_t why_size);

/* Have it tried in a process of its own, and keep the result. False with half a sentence in `why`; "": there
 * is no CUDA here. Takes about a second, 5 at most. */
bool jm__launch_measure(jm__launch_cost *cost, char *why, size_t why_size);

#endif
