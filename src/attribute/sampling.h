/* Which traced steps stand for those of which only the edges were recorded. */
#ifndef JM_ATTRIBUTE_SAMPLING_H
#define JM_ATTRIBUTE_SAMPLING_H

#include "attribute/input/span_index.h"
#include "attribute/input/steps.h"
#include "attribute/input/traced.h"
#include "attribute/work/strata.h"

typedef struct jm__strata_requested {
    const jm__span_index *spans;
    const jm__marked *marked; /* of all the run: what a step is */
    const jm__traced *traced;
} jm__strata_requested;

/* Without any process that records steps alone at times: nothing. Free it in any case. */
jm_status jm__strata_find(jm__strata *out, const jm__strata_requested *requested, jm_error *err);

/* In this order. False if memory is out. */

/* Kinds with a single turn. */
bool jm__single_burst_find(jm__strata *out);

#endif
