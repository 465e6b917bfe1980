/* Kernels whose launch shape is unknown (imports): durations that fall apart stand for shapes. */
#ifndef JM_ATTRIBUTE_WORK_DURATION_GROUPS_H
#define JM_ATTRIBUTE_WORK_DURATION_GROUPS_H

#include "attribute/work/work.h"

/* Splits classes without a launch shape whose single calls fall into groups of clearly different length:
 * a matrix product of another size is another class, whatever its name. Appends classes, renumbers items. */
jm_status jm__duration_groups_split(jm__work_set *work, jm_error *err);

#endif
