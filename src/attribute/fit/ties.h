/* What columns of one class have in common. */
#ifndef JM_ATTRIBUTE_FIT_TIES_H
#define JM_ATTRIBUTE_FIT_TIES_H

#include "attribute/fit/belief.h"
#include "attribute/work/columns.h"

/* They are believed to draw about the same: what they differ by, each on its own, and what is not known of
 * the class, together. `weakest` has a row for each column. */
jm_status jm__ties_believe(jm__belief *weakest, const jm__columns *columns, jm_error *err);

#endif
