/* Which traced steps stand for those of which only the edges were recorded. */
#ifndef JM_ATTRIBUTE_SAMPLING_FIND_H
#define JM_ATTRIBUTE_SAMPLING_FIND_H

#include "attribute/sampling/parts.h"

/* Without any process that records steps alone at times: nothing. Free it in any case. */
jm_status jm__stands_find(jm__stands *out, const jm__stands_wanted *wanted, jm_error *err);

#endif
