/* What is asked for of a recording, whatever board it ran on. */
#ifndef JM_ATTRIBUTE_SCOPE_H
#define JM_ATTRIBUTE_SCOPE_H

#include "attribute/input/batches.h"
#include "attribute/input/span_index.h"
#include "attribute/input/steps.h"
#include "attribute/work/strata.h"
#include <joulemap/report.h>

typedef struct jm__scope {
    const jm__dataset *dataset;
    jm_report_options options;
    jm__span_index spans;
    jm__interval run;              /* the whole of it */
    jm__intervals learn;           /* the same, and what is asked for beyond it */
    jm__intervals windows;         /* of the report */
    jm__intervals queried;         /* the same, whatever was traced of it */
    jm__intervals untraced;        /* in none of them, but for reports by board, which need no trace */
    jm__strata strata;             /* steps of which only the edges were recorded, and who stands for them */
    jm__extrapolated extrapolated; /* the same in the report's time, whatever board they ran on */
    jm__marked marked;
    jm__steps steps;
    jm__batches batches; /* who was in which step, where rows are requests */
} jm__scope;

/* Fills in all but dataset and options, which are given. NOT_FOUND if the phase or process is not in the
 * recording. */
jm_status jm__scope_find(jm__scope *scope, jm_error *err);
void jm__scope_free(jm__scope *scope);

/* Which rows tell of steps that traced ones stand for. */
jm__extrapolated_rows jm__scope_extrapolated_rows(const jm__scope *scope);

/* Is a process of this number in the recording? */
bool jm__scope_has_process(const jm__dataset *dataset, int64_t pid);

#endif
