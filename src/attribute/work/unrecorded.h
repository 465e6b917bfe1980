/* Work that was not recorded: a board was busy by its utilisation while nothing is known to have run. */
#ifndef JM_ATTRIBUTE_WORK_UNRECORDED_H
#define JM_ATTRIBUTE_WORK_UNRECORDED_H

#include "attribute/input/window.h"
#include "format/dataset.h"

typedef struct jm__utilisation {
    jm_reading *readings; /* by time, percent */
    size_t count;
} jm__utilisation;

/* No readings where no utilisation was recorded. False if memory is out. */
bool jm__utilisation_begin(jm__utilisation *utilisation, const jm__dataset *dataset, const jm_board *board);
void jm__utilisation_free(jm__utilisation *utilisation);

/* The end of the part of a gap that begins at `from_ns` and is either all idle or all work that was not
 * recorded: *unrecorded. A gap that is too short for its utilisation to differ from that of the work around
 * it is one idle part. */
int64_t jm__unrecorded_part_end_ns(const jm__utilisation *utilisation, jm__interval gap, int64_t from_ns,
                                   bool *unrecorded);

#endif
