/* Classes that draw otherwise in one place than in another: which of their uses get a power of their own. */
#ifndef JM_ATTRIBUTE_FIT_SPLIT_H
#define JM_ATTRIBUTE_FIT_SPLIT_H

#include "attribute/fit/refine.h"

/* Where the likelihood asks for it, and where the readings cannot tell a layer's own power at all.
 * `out->count` is 0 where all may stay as it is; free with jm__split_free. */
jm_status jm__split_find(jm__column_split *out, const jm__refine_input *input, jm_error *err);
void jm__split_free(jm__column_split *split);

#endif
