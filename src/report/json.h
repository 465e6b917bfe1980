/* A report as JSON, for other documents of JSON. */
#ifndef JM_REPORT_JSON_H
#define JM_REPORT_JSON_H

#include "base/json_value.h"
#include "base/strbuf.h"

#include <joulemap/report.h>

/* Add a value that stands `depth` deep inside others. False: it is NULL, or memory is out; `out` remembers
 * too. */
bool jm__json_add(jm__strbuf *out, const json_t *value, int depth);

/* What was asked for, totals, quality with its notes, overhead. NULL if memory is out. */
json_t *jm__report_summary(const jm_report *report);

#endif
