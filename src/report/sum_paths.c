/* One figure for all rows of a pattern: attention of all blocks. */
#include "base/status.h"

#include <fnmatch.h>
#include <joulemap/report.h>
#include <stdlib.h>

static jm_status nothing_matches(const jm_report *report, const char *pattern, jm_error *err)
{
    size_t count = jm_report_row_count(report), inner = 0; /* which shows how paths are written */
    for (size_t i = 0; i < count; i++) {
        const jm_row *row = jm_report_row(report, i);
        if (row->path[0] != '(' && row->depth > jm_report_row(report, inner)->depth) inner = i;
    }
    return jm__fail(err, JM_USAGE, 0, "jm_report_sum_paths",
                    "no row's path matches \"%s\"; paths are such as \"%s\"", pattern,
                    count > 0 ? jm_report_row(report, inner)->path : "");
}

jm_status jm_report_sum_paths(const jm_report *report, const char *pattern, jm_sum *out, size_t *rows,
                              jm_error *err)
{
    size_t total = jm_report_row_count(report), count = 0;
    size_t *matching = malloc((total + 1) * sizeof *matching);
    if (matching == NULL) return jm__no_memory(err, "jm_report_sum_paths");
    for (size_t i = 0; i < total; i++)
        if (fnmatch(pattern, jm_report_row(report, i)->path, FNM_NOESCAPE) == 0) matching[count++] = i;
    jm_status status =
        count > 0 ? jm_report_sum(report, matching, count, out, err) : nothing_matches(report, pattern, err);
    *rows = count;
    free(matching);
    return status;
}
