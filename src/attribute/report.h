/* Reports from rows in memory; internal part of joulemap/report.h. */
#ifndef JM_ATTRIBUTE_REPORT_H
#define JM_ATTRIBUTE_REPORT_H

#include "attribute/scope.h"
#include "format/dataset.h"
#include <joulemap/report.h>

/* The report borrows `dataset`, which must live as long as it does. */
jm_status jm__report_from_dataset(jm_report **out, const jm__dataset *dataset,
                                  const jm_report_options *options, jm_error *err);

const jm__dataset *jm__report_dataset(const jm_report *report);

/* The time of the report: the run, or the intervals of a phase. */
const jm__intervals *jm__report_windows(const jm_report *report);

/* What the report is of: its time, and its steps. */
const jm__scope *jm__report_scope(const jm_report *report);

/* As jm_report_sum, in a steady step; all NAN without steps. */
jm_status jm__report_sum_step(const jm_report *report, const size_t *rows, size_t count, jm_sum *out,
                              jm_error *err);

/* The span of a row of JM_BY_SPAN, as an index into the dataset's; JM__NO_SPAN (input/span_index.h) for
 * other rows. */
size_t jm__report_row_span(const jm_report *report, size_t row);

#endif
