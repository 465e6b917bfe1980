/* Work of a program without kernels: its typed spans, innermost one a thread. */
#ifndef JM_ATTRIBUTE_WORK_HOST_WORK_H
#define JM_ATTRIBUTE_WORK_HOST_WORK_H

#include "attribute/input/span_index.h"
#include "attribute/work/classes.h"

/* Adds items and the classes they need. Where a process has only phases, epochs, steps or windows open, their
 * own time is one class a kind. */
jm_status jm__host_work(jm__items *items, jm__classes *classes, const jm__span_index *spans, jm_error *err);

#endif
