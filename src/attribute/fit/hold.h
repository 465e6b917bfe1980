/* Holding a fit against the independent total. */
#ifndef JM_ATTRIBUTE_FIT_HOLD_H
#define JM_ATTRIBUTE_FIT_HOLD_H

#include "attribute/fit/fit.h"

/* Takes the total as one more, very sure equation, if it agrees with the readings within 3 standard
 * uncertainties: it moves powers and their covariance. Sets
 * free_j, closure_z, rest_variance, held and own in any case. */
jm_status jm__fit_hold(jm__fit *fit, const jm__fit_input *input, jm_error *err);

#endif
