/* Activity on the host: waits for data, and the work of programs without kernels. */
#ifndef JM_ATTRIBUTE_WORK_HOST_WORK_H
#define JM_ATTRIBUTE_WORK_HOST_WORK_H

#include "attribute/input/span_index.h"
#include "attribute/input/window.h"
#include "attribute/work/classes.h"
#include "format/dataset.h"

/* The time of the windows in spans of kind "data" of processes that use the board; normalised. False if
 * memory is out. */
bool jm__data_waits_find(jm__intervals *waits, const jm__dataset *dataset, int64_t board_id,
                         const jm__intervals *windows);

/* The work of a program without kernels: the innermost typed span of each thread. Adds items and their
 * classes. Where a process has only phases, epochs, steps or windows open, that time is one class per kind.
 */
jm_status jm__host_work(jm__items *items, jm__classes *classes, const jm__span_index *spans, jm_error *err);

#endif
