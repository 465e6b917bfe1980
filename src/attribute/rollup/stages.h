/* The parts of a run with steps: before, warm-up, steady, between, after. */
#ifndef JM_ATTRIBUTE_ROLLUP_STAGES_H
#define JM_ATTRIBUTE_ROLLUP_STAGES_H

#include "attribute/attribution.h"

enum {
#define X(name, text) JM_STAGE_##name,
    JM_STAGE_MAP(X)
#undef X
        JM_STAGES
};

typedef struct jm__stages {
    jm_stage items[JM_STAGES];
    size_t count;
} jm__stages;

/* After the totals; needs the readings. */
jm_status jm__stages_find(jm__stages *stages, const jm__attribution *a, const jm_report_totals *totals,
                          jm_error *err);

#endif
