/* Shell patterns, and words that stand for what somebody read in a table. */
#include "report/match.h"

#include "base/status.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static bool ends_in(const char *path, const char *end)
{
    size_t length = strlen(path), wanted = strlen(end);
    return length > wanted && path[length - wanted - 1] == '.' && strcmp(path + length - wanted, end) == 0;
}

static bool matches(const jm_row *row, const char *pattern, jm_by by)
{
    bool of_kernels = by == JM_BY_KERNEL && strcmp(row->kind, "gap") != 0;
    if (fnmatch(pattern, row->path, FNM_NOESCAPE) == 0) return true;
    if (of_kernels && fnmatch(pattern, row->name, FNM_NOESCAPE) == 0) return true;
    if (strpbrk(pattern, "*?[") != NULL) return false;
    return ends_in(row->path, pattern) || (of_kernels && strcasestr(row->name, pattern) != NULL);
}

static jm_status nothing_matches(const jm_report *report, const char *pattern, const char *operation,
                                 jm_error *err)
{
    size_t count = jm_report_row_count(report), inner = 0; /* which shows how paths are written */
    for (size_t i = 0; i < count; i++) {
        const jm_row *row = jm_report_row(report, i);
        if (row->path[0] != '(' && row->depth > jm_report_row(report, inner)->depth) inner = i;
    }
    return jm__fail(err, JM_USAGE, 0, operation, "no row's path matches \"%s\"; paths are such as \"%s\"",
                    pattern, count > 0 ? jm_report_row(report, inner)->path : "");
}

jm_status jm__rows_match(size_t **rows, size_t *count, const jm_report *report, const char *pattern,
                         const char *operation, jm_error *err)
{
    size_t total = jm_report_row_count(report);
    jm_by by = jm_report_options_get(report)->by;
    *count = 0;
    *rows = malloc((total + 1) * sizeof **rows);
    if (*rows == NULL) return jm__no_memory(err, operation);
    for (size_t i = 0; i < total; i++)
        if (matches(jm_report_row(report, i), pattern, by)) (*rows)[(*count)++] = i;
    if (*count > 0) return JM_OK;
    free(*rows);
    *rows = NULL;
    return nothing_matches(report, pattern, operation, err);
}
