/* What a report says before its rows, in sentences: the same in every view. */
#ifndef JM_REPORT_FACTS_H
#define JM_REPORT_FACTS_H

#include "base/strbuf.h"
#include "base/vec.h"
#include <joulemap/report.h>

typedef struct jm__fact {
    const char *name; /* "total" */
    char *text;
} jm__fact;

typedef JM_VEC(jm__fact) jm__facts;

/* The total; what a step and a sample took, all of the run being theirs; how far the figures can be trusted,
 * and why no further. Free also after an error. */
jm_status jm__facts_make(jm__facts *facts, const jm_report *report, jm_error *err);

/* One more, whose text is taken out of the buffer, which is empty then. */
jm_status jm__facts_add(jm__facts *facts, const char *name, jm__strbuf *text, jm_error *err);

void jm__facts_free(jm__facts *facts);

#endif
