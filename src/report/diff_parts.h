/* What a diff is made of: for its views. */
#ifndef JM_REPORT_DIFF_PARTS_H
#define JM_REPORT_DIFF_PARTS_H

#include "base/vec.h"
#include "report/gains.h"

#include <joulemap/diff.h>

typedef struct jm__diff_side {
    const jm_report *report;
    char *name;
    int64_t units; /* above 0 */
} jm__diff_side;

struct jm_diff {
    jm__diff_side sides[2]; /* A and B */
    jm_per per;
    jm__gains gains;
    double gain_u; /* in the total's change */
    jm_diff_row total;
    JM_VEC(jm_diff_row) rows;
};

#endif
