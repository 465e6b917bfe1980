/* What the rest of a run teaches about one stretch of it: a belief as sure as the two are alike. */
#ifndef JM_ATTRIBUTE_FIT_ALIKE_H
#define JM_ATTRIBUTE_FIT_ALIKE_H

#include "attribute/fit/stretch.h"

typedef struct jm__alike_input {
    const jm__stretch *rest; /* solved on all readings but those of `here`, from the weakest belief */
    const jm__stretch_input *here;
    const double *relative_u;         /* [columns]: how far its power here may be from that of the rest */
    const jm__belief *const *beliefs; /* what holds here beside it */
    size_t belief_count;
} jm__alike_input;

/* The prior of `here`: its first part is what the rest teaches. A kind that the readings of `here` show to
 * draw otherwise is believed less for it. */
jm_status jm__alike_believe(jm__prior *out, const jm__alike_input *input, jm_error *err);

#endif
