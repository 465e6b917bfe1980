/* Hardware counter rates of each class of work, and priors of powers from them.
 *
 * Windows of a millisecond hold many kernels, whose times are known exactly. For each metric, the rates r of
 * the windows are a mixture: r_i = sum_k share_ik c_k, where share_ik is the part of window i that column k
 * took (idle states are columns too), and c_k >= 0 is the rate while k runs. Each metric is solved by least
 * squares over all windows. */
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
    size_t windows;      /* that were used */
    double *rate;        /* [columns * metrics] */
    double *seen_s;      /* [columns]: in all windows */
    double *ridge_share; /* [columns]: the part of its rates that the windows do not determine, 0 to 1 */
    double *inverse;     /* [columns * columns]: covariance of a metric's rates, over its windows' variance */
    double *covariance;  /* [metrics * metrics]: of the windows' residuals */
} jm__class_rates;

/* `pieces`: of the board, with its columns; those before `class_columns` are work. Without windows it
 * succeeds, and out->windows is 0. */
jm_status jm__class_rates_find(jm__class_rates *out, const jm__dataset *dataset, int64_t board_id,
                               const jm__rate_choice *choice, jm__pieces *pieces, size_t columns,
                               size_t class_columns, jm_error *err);
void jm__class_rates_free(jm__class_rates *rates);

/* Priors of a board's columns from hardware counters: one equation for each of the first `class_columns`
 * columns that ran in the windows. Shared errors: the weights, columns that windows cannot separate, the
 * family (`expected`, [class_columns]), and one gain. `rates` are of the model's features, in their order. If
 * no column ran, prior->rows is 0 and there is nothing to free. */
jm_status jm__prior_from_counters(jm__prior *prior, const jm__board_model *model,
                                  const jm__class_rates *rates, const jm__expectation *expected,
                                  size_t class_columns, jm_error *err);

#endif
