/* Sums of any rows of a report, and covariances of two rows. */
#ifndef JM_ATTRIBUTE_ROLLUP_SUMS_H
#define JM_ATTRIBUTE_ROLLUP_SUMS_H

#include "attribute/attribution.h"
#include "attribute/rollup/rows.h"
#include "attribute/rollup/tree.h"

/* A finished report; borrowed. */
typedef struct jm__sums {
    const jm__attribution *a; /* its pieces are not needed */
    const jm__tree *tree;
    const jm__rows *rows;
    const jm_report_totals *totals;
} jm__sums;

/* See jm_report_sum and jm_report_covariance. */
jm_status jm__sums_add(const jm__sums *sums, const size_t *rows, size_t count, jm_sum *out, jm_error *err);
/* In a steady step; `(unresolved)` counts for nothing. NAN without steps. */
jm_status jm__sums_step(const jm__sums *sums, const size_t *rows, size_t count, jm_sum *out, jm_error *err);
jm_status jm__sums_covariance(const jm__sums *sums, size_t row_a, size_t row_b, double *out_j2,
                              jm_error *err);

/* Sets the totals over all requests; they are missing if rows are no requests. */
jm_status jm__request_totals_find(jm_report_totals *totals, const jm__sums *sums, jm_error *err);

/* Sets `class_variance` of the fits of all boards: how much the power of a row with a part of a column's time
 * may differ from the column's mean. The tree must have all its cells. */
jm_status jm__class_variance_find(jm__attribution *a, const jm__tree *tree, jm_error *err);

#endif
