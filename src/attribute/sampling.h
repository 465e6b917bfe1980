/* Which traced steps represent those whose edges alone were recorded. */
#ifndef JM_ATTRIBUTE_SAMPLING_H
#define JM_ATTRIBUTE_SAMPLING_H

#include "attribute/input/span_index.h"
#include "attribute/input/steps.h"
#include "attribute/input/traced.h"
#include "attribute/work/strata.h"

typedef struct jm__strata_requested {
    const jm__span_index *spans;
    const jm__marked *marked; /* of the whole run */
    const jm__traced *traced;
} jm__strata_requested;

/* Empty if no process has untraced steps. Free it in any case. */
jm_status jm__strata_find(jm__strata *out, const jm__strata_requested *requested, jm_error *err);

/* Find the kinds with a single burst; part of jm__strata_find. False if memory is out. */
bool jm__single_burst_find(jm__strata *out);

#endif
