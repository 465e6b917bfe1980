/* Counters of each kind of work: windows of a millisecond hold many kernels, whose times are known exactly.
 *
 * Of each metric, the rates r of the windows are a mixture: r_i = sum_k share_ik c_k, share being the part of
 * window i that column k took (idle states are columns too), and c_k >= 0 the rate while k runs. Least
 * squares over all windows, metric by metric. */
#ifndef JM_ATTRIBUTE_PRIOR_COUNTERS_H
#define JM_ATTRIBUTE_PRIOR_COUNTERS_H

#include "attribute/fit/levels.h"
#include "attribute/fit/prior.h"
#include "attribute/prior/rate_windows.h"
#include "attribute/work/pieces.h"
#include "model/board_model.h"

typedef struct jm__class_rates {
    size_t columns;
    size_t metrics;
    size_t windows;  /* that were used */
    double *rate;    /* [columns * metrics] */
    double *seen_s;  /* [columns]: in all windows */
    double *made_up; /* [columns]: the part of its rates that no window tells, 0 to 1 */
    double
        *inverse; /* [columns * columns]: covariance of a metric's rates, in units of its windows' variance */
    double *covariance; /* [metrics * metrics]: of what the rates of the columns leave of the windows' */
} jm__class_rates;

/* `pieces`: of the board, with its columns, of which those before `class_columns` are work. No windows, no
 * error: `windows` is 0. */
jm_status jm__class_rates_find(jm__class_rates *out, const jm__dataset *dataset, int64_t board_id,
                               const jm__rate_choice *choice, jm__pieces *pieces, size_t columns,
                               size_t class_columns, jm_error *err);
void jm__class_rates_free(jm__class_rates *rates);

/* What hardware counters tell of the powers of a board's columns. */

/* One equation for each of the first `class_columns` columns that the windows saw. Errors that columns share:
 * of the weights, of what windows cannot tell apart, of their family (`expected`, [class_columns]), and one
 * gain. `rates` are of the model's features, in their order. No equation, and nothing to free, if no column
 * was seen: prior->rows is 0. */
jm_status jm__prior_from_counters(jm__prior *prior, const jm__board_model *model,
                                  const jm__class_rates *rates, const jm__expectation *expected,
                                  size_t class_columns, jm_error *err);

#endif
