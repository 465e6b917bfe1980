/* When the processes of a run traced what they did. */
#ifndef JM_ATTRIBUTE_TRACED_H
#define JM_ATTRIBUTE_TRACED_H

#include "attribute/work/window.h"
#include "recording/dataset.h"

/* The time in which a process that does not trace all of the time (marks of its own say so, rows/marks.h) did
 * not, from its beginning to its end: normalised, of the first process from the beginning of time, of one
 * that outlived the recorder to its end. Empty: all did, always. False if memory is out. */
bool jm__untraced_find(jm__windows *untraced, const jm__dataset *dataset);

#endif
