/* What stands above every view of a report in a terminal: of what it is, and what has to be known first. */
#ifndef JM_REPORT_HEAD_H
#define JM_REPORT_HEAD_H

#include "base/strbuf.h"
#include <joulemap/report.h>

/* Add a title ("Energy by layer", and of what), the facts of the report, and an empty line. */
jm_status jm__head_add(jm__strbuf *out, const char *what, const jm_report *report, bool colour, size_t width,
                       jm_error *err);

/* A line of it: "total     1.00 kJ". */
void jm__head_add_fact(jm__strbuf *out, const char *name, const char *text, size_t width);

#endif
