/* The sentences at the top of a report, the same in every view. */
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

/* The total; the energy of a step, sample and token; the verdict and its reasons. Free also after an error.
 */
jm_status jm__facts_make(jm__facts *facts, const jm_report *report, jm_error *err);

/* Add one more. Its text is taken out of the buffer, which is left empty. */
jm_status jm__facts_add(jm__facts *facts, const char *name, jm__strbuf *text, jm_error *err);

void jm__facts_free(jm__facts *facts);

/* Add sentences on copies without a concurrent kernel, and on collectives, if they took 0.5 % of the GPUs'
 * time or more. */
jm_status jm__waits_add(jm__facts *facts, const jm_report *report, jm_error *err);

/* Add a title ("Energy by layer", the boards), the facts of the report, and an empty line. */
jm_status jm__head_add(jm__strbuf *out, const char *what, const jm_report *report, bool colour, size_t width,
                       jm_error *err);

/* Whether there are figures of a step. For a run of one step they are those of the run. */
bool jm__has_steps(const jm_report_totals *totals);

/* Whether the steps of two reports have one name and phase. */
bool jm__same_kind_of_step(const jm_report_totals *a, const jm_report_totals *b);

/* Add the GPUs, if there are any, after a text: ", GPU 0, 1: NVIDIA H200". */
void jm__boards_add(jm__strbuf *out, const char *before, const jm_report *report);

/* Add one line: "total     1.00 kJ". */
void jm__head_add_fact(jm__strbuf *out, const char *name, const char *text, size_t width);

#endif
