/* Which row of one report is which of others. */
#ifndef JM_REPORT_DIFF_MATCH_H
#define JM_REPORT_DIFF_MATCH_H

#include <joulemap/report.h>

#define JM__NO_ROW_OF_IT ((size_t)-1)

/* A row of one report, for the others. */
typedef struct jm__matched_row {
    char *key;     /* its kind and its path without wrappers */
    bool left_out; /* a wrapper: the row around it, or those in it, stand for it */
    int32_t depth; /* without them */
    size_t row;    /* of all reports together; JM__NO_ROW_OF_IT: left out */
} jm__matched_row;

typedef struct jm__match {
    jm__matched_row **rows; /* of each report, in its order */
    size_t *counts;
    size_t reports;
    size_t row_count; /* of all together: those of the first report in its order, then what others have
                         besides */
} jm__match;

jm_status jm__match_make(jm__match *match, const jm_report *const *reports, size_t count, jm_error *err);
void jm__match_free(jm__match *match);

#endif
