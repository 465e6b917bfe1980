/* How many steps a report is of: what joules a step are made of. */
#ifndef JM_ATTRIBUTE_ROLLUP_STEPS_H
#define JM_ATTRIBUTE_ROLLUP_STEPS_H

#include "attribute/attribution.h"

/* Spans of kind step that began in the time and the process asked for, of all its processes; a step inside
 * another one is part of that. -1: none. */
int64_t jm__steps_count(const jm__attribution *a);

#endif
