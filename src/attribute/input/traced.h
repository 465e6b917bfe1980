/* When the processes of a run traced what they did. */
#ifndef JM_ATTRIBUTE_INPUT_TRACED_H
#define JM_ATTRIBUTE_INPUT_TRACED_H

#include "attribute/input/window.h"
#include "format/dataset.h"

/* Of one process: normalised. */
typedef struct jm__traced {
    bool
        at_times; /* marks of its own say when (format/rows/marks.h); else all of it always, and no windows */
    jm__intervals on;    /* in full, and counted */
    jm__intervals steps; /* steps alone, whatever else was recorded to get ready */
    jm__intervals nothing;
} jm__traced;

/* [process_count]: of each, from its beginning to its end: of the first one from the beginning of time, of
 * one that outlived the recorder to its end. NULL if memory is out. */
jm__traced *jm__traced_find(const jm__dataset *dataset);
void jm__traced_free(jm__traced *traced, const jm__dataset *dataset);

#endif
