/* When a board was lost: from its last reading to the first after it was back. */
#ifndef JM_ATTRIBUTE_LOST_H
#define JM_ATTRIBUTE_LOST_H

#include "attribute/board_part.h"

/* Fills part->lost, and part->windows and part->learn with what that leaves of these; the part's readings are
 * there already. */
jm_status jm__lost_find(jm__board_part *part, const jm__dataset *dataset, const jm__windows *windows,
                        const jm__windows *learn, jm_error *err);

#endif
