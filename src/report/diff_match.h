/* Which row of one report is which of another. */
#ifndef JM_REPORT_DIFF_MATCH_H
#define JM_REPORT_DIFF_MATCH_H

#include <joulemap/report.h>

#define JM__NO_ROW_OF_IT ((size_t)-1)

/* A row of one report, for the other. */
typedef struct jm__matched_row {
    char *key;     /* its kind and its path without wrappers */
    bool left_out; /* a wrapper: the row around it, or those in it, stand for it */
    int32_t depth; /* without them */
    size_t other;  /* its row in the other report, JM__NO_ROW_OF_IT: none */
} jm__matched_row;

typedef struct jm__match {
    jm__matched_row *rows[2]; /* of reports a and b, in their order */
    size_t counts[2];
} jm__match;

jm_status jm__match_make(jm__match *match, const jm_report *a, const jm_report *b, jm_error *err);
void jm__match_free(jm__match *match);

#endif
