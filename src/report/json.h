/* Parts of a report as JSON, for other JSON documents. */
#ifndef JM_REPORT_JSON_H
#define JM_REPORT_JSON_H

#include "base/json_value.h"
#include "base/strbuf.h"

#include <joulemap/report.h>

/* Add a value, indented for nesting depth `depth`. False: the value is NULL, or memory is out, which `out`
 * keeps too. */
bool jm__json_add(jm__strbuf *out, const json_t *value, int depth);

/* The report's options, totals, quality with notes, and overhead. NULL if memory is out. */
json_t *jm__report_summary(const jm_report *report);

#endif
