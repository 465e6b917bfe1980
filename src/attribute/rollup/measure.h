/* What the outermost phases took, as the sensors have it, where their times are apart. */
#ifndef JM_ATTRIBUTE_ROLLUP_MEASURE_H
#define JM_ATTRIBUTE_ROLLUP_MEASURE_H

#include "attribute/rollup/views.h"

/* Of the phase view. False if memory is out. */
bool jm__measure_phases(jm__views *views);

#endif
