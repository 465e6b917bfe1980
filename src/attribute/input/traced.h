/* When each process of a run was traced. */
#ifndef JM_ATTRIBUTE_INPUT_TRACED_H
#define JM_ATTRIBUTE_INPUT_TRACED_H

#include "attribute/input/window.h"
#include "format/dataset.h"

/* One process; the intervals are normalised. */
typedef struct jm__traced {
    bool partly;         /* marks give the times (format/rows/marks.h); false: always on, no intervals */
    jm__intervals on;    /* everything is traced and counts */
    jm__intervals steps; /* only steps count; other records of the time are warm-up */
    jm__intervals nothing;
} jm__traced;

/* [process_count]: each from its beginning to its end; the first one from INT64_MIN, one that outlived the
 * recorder to INT64_MAX. NULL if memory is out. */
jm__traced *jm__traced_find(const jm__dataset *dataset);
void jm__traced_free(jm__traced *traced, const jm__dataset *dataset);

#endif
