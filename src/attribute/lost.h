/* When a board was lost: from its last reading to the first after it was back. */
#ifndef JM_ATTRIBUTE_LOST_H
#define JM_ATTRIBUTE_LOST_H

#include "attribute/attribution.h"

/* Fills part->lost and part->windows; the part's readings are there already. */
jm_status jm__lost_find(jm__board_part *part, const jm__attribution *a, jm_error *err);

#endif
