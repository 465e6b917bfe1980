/* A report made from rows in memory: the inside of joulemap/report.h. */
#ifndef JM_ATTRIBUTE_REPORT_H
#define JM_ATTRIBUTE_REPORT_H

#include "attribute/input/window.h"
#include "format/dataset.h"
#include <joulemap/report.h>

/* The report copies nothing: `dataset` must live as long as it does. */
jm_status jm__report_from_dataset(jm_report **out, const jm__dataset *dataset,
                                  const jm_report_options *options, jm_error *err);

/* What the report is of; lives as long as the report (jm_report_create). */
const jm__dataset *jm__report_dataset(const jm_report *report);

/* The intervals of time that it is of: the run, or those of a phase. */
const jm__intervals *jm__report_windows(const jm_report *report);

/* The span that a row of JM_BY_SPAN is, an index into the dataset's; JM__NO_SPAN (input/span_index.h) for
 * rows that are none. */
size_t jm__report_row_span(const jm_report *report, size_t row);

#endif
