/* A report as JSON, without its rows. */
#ifndef JM_REPORT_JSON_SUMMARY_H
#define JM_REPORT_JSON_SUMMARY_H

#include "base/json_value.h"
#include <joulemap/report.h>

/* What was asked for, totals, quality with its notes, overhead. NULL if memory is out. */
json_t *jm__report_summary(const jm_report *report);

#endif
