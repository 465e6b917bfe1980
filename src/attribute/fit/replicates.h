/* What a fit leaves of readings of the same work, again and again. */
#ifndef JM_ATTRIBUTE_FIT_REPLICATES_H
#define JM_ATTRIBUTE_FIT_REPLICATES_H

#include "attribute/fit/misfit.h"

/* So many readings are looked at: more would cost more than the rest of a fit, and tell little more. */
size_t jm__replicates_most(size_t columns);

/* `seen`: variance of the residuals that comes again, and how sure it is: never surer than what stood there.
 * Left as it is where no readings are alike. `power_w`, `covariance` (columns * columns, W^2, for white
 * noise): of the fit. `pass`: at most jm__replicates_most(columns) readings. */
jm_status jm__replicates_find(jm__misfit_seen *seen, const jm__pass *pass, jm__response response,
                              const double *power_w, const double *covariance, jm_error *err);

#endif
