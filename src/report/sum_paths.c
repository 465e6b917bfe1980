/* One figure for all rows that a pattern matches. */
#include "base/status.h"
#include "report/match.h"

#include <stdlib.h>

jm_status jm_report_sum_paths(const jm_report *report, const char *pattern, jm_sum *out, size_t *rows,
                              jm_error *err)
{
    size_t *matching;
    *rows = 0;
    JM_TRY(jm__rows_match(&matching, rows, report, pattern, "jm_report_sum_paths", err));
    jm_status status = jm_report_sum(report, matching, *rows, out, err);
    free(matching);
    return status;
}
