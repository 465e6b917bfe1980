/* Sums of any rows of a report, and what the errors of two rows have in common. */
#ifndef JM_ATTRIBUTE_ROLLUP_SUMS_H
#define JM_ATTRIBUTE_ROLLUP_SUMS_H

#include "attribute/attribution.h"
#include "attribute/rollup/rows.h"
#include "attribute/rollup/tree.h"

/* What a finished report knows; borrowed. */
typedef struct jm__sums {
    const jm__attribution *a; /* its pieces are not needed */
    const jm__tree *tree;
    const jm__rows *rows;
    const jm_report_totals *totals;
} jm__sums;

/* As jm_report_sum and jm_report_covariance say. */
jm_status jm__sums_add(const jm__sums *sums, const size_t *rows, size_t count, jm_sum *out, jm_error *err);
jm_status jm__sums_covariance(const jm__sums *sums, size_t row_a, size_t row_b, double *out_j2,
                              jm_error *err);

/* All requests of a report together. */

/* Fills in what totals say of requests: missing, where rows are no requests. */
jm_status jm__request_totals_find(jm_report_totals *totals, const jm__sums *sums, jm_error *err);

/* Rows that hold a part of a column's time: how much their power may differ from the column's mean. */

/* Sets `class_variance` of the fits of all boards; after the tree has all its cells. */
jm_status jm__class_variance_find(jm__attribution *a, const jm__tree *tree, jm_error *err);

#endif
