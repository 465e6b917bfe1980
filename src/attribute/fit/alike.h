/* What the rest of a run teaches about one stretch of it: a belief as sure as the two are alike. */
#ifndef JM_ATTRIBUTE_FIT_ALIKE_H
#define JM_ATTRIBUTE_FIT_ALIKE_H

#include "attribute/fit/stretch.h"

/* `rest`: solved on all readings but those of `here`, from the same beliefs as here->prior. Gives the prior
 * that takes its place. A kind that the readings of `here` show to draw otherwise is believed less for it. */
jm_status jm__alike_believe(jm__prior *out, const jm__stretch *rest, const jm__stretch_input *here,
                            size_t class_columns, jm_error *err);

#endif
