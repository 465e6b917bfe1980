/* Rows that a reader asks for by a pattern of their paths: see jm_report_sum_paths. */
#ifndef JM_REPORT_MATCH_H
#define JM_REPORT_MATCH_H

#include <joulemap/report.h>

/* The rows that the pattern matches, which the caller frees. USAGE: none does; the words show what a path is
 * like. `operation`: who asks. */
jm_status jm__rows_match(size_t **rows, size_t *count, const jm_report *report, const char *pattern,
                         const char *operation, jm_error *err);

#endif
