/* All requests of a report together. */
#ifndef JM_ATTRIBUTE_ROLLUP_REQUEST_TOTALS_H
#define JM_ATTRIBUTE_ROLLUP_REQUEST_TOTALS_H

#include "attribute/rollup/sums.h"

/* Fills in what totals say of requests: missing, where rows are no requests. */
jm_status jm__request_totals_find(jm_report_totals *totals, const jm__sums *sums, jm_error *err);

#endif
