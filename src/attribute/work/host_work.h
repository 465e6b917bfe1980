/* What programs did on the host: waits for data, and the work of those without kernels. */
#ifndef JM_ATTRIBUTE_WORK_HOST_WORK_H
#define JM_ATTRIBUTE_WORK_HOST_WORK_H

#include "attribute/input/span_index.h"
#include "attribute/input/window.h"
#include "attribute/work/classes.h"
#include "format/dataset.h"

/* Add what of these windows lies in spans of kind "data" of processes that use the board, by its id:
 * normalised. False if memory is out. */
bool jm__data_waits_find(jm__intervals *waits, const jm__dataset *dataset, int64_t board_id,
                         const jm__intervals *windows);

/* Work of a program without kernels: its typed spans, innermost one a thread. */

/* Adds items and the classes they need. Where a process has only phases, epochs, steps or windows open, their
 * own time is one class a kind. */
jm_status jm__host_work(jm__items *items, jm__classes *classes, const jm__span_index *spans, jm_error *err);

#endif
