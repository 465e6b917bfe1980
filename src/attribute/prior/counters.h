/* What hardware counters tell of the powers of a board's columns. */
#ifndef JM_ATTRIBUTE_PRIOR_COUNTERS_H
#define JM_ATTRIBUTE_PRIOR_COUNTERS_H

#include "attribute/fit/belief.h"
#include "attribute/fit/expectation.h"
#include "attribute/prior/class_rates.h"
#include "model/board_model.h"

/* One equation for each of the first `class_columns` columns that the windows saw. Errors that columns share:
 * of the weights, of what windows cannot tell apart, of their family (`expected`, [class_columns]), and one
 * gain. `rates` are of the model's features, in their order. No equation, and nothing to free, if no column
 * was seen: belief->rows is 0. */
jm_status jm__believe_counters(jm__belief *belief, const jm__board_model *model, const jm__class_rates *rates,
                               const jm__expectation *expected, size_t class_columns, jm_error *err);

#endif
