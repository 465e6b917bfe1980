/* What a diff is made of: for its views. */
#ifndef JM_REPORT_DIFF_PARTS_H
#define JM_REPORT_DIFF_PARTS_H

#include "base/vec.h"
#include "report/gains.h"

#include <joulemap/diff.h>

#define JM__NOT_IN_IT ((size_t)-1)

struct jm_diff {
    jm__diff_run *runs; /* those of A, then those of B */
    size_t counts[2];   /* of each side */
    char *names[2];
    bool expand;
    jm_per per;
    jm__gains gains;
    double *student; /* [runs of the larger side + 1]: jm__runs_student of so many */
    double gain_u;   /* in the total's change */
    jm_diff_row total;
    JM_VEC(jm_diff_row) rows;
    size_t *places; /* [rows][runs]: the row in the report of that run, or JM__NOT_IN_IT */
};

static inline size_t jm__diff_run_count(const jm_diff *diff)
{
    return diff->counts[0] + diff->counts[1];
}

/* Where a run has a row, as its report counts; JM__NOT_IN_IT: nowhere. */
static inline size_t jm__diff_place(const jm_diff *diff, size_t row, size_t run)
{
    return diff->places[row * jm__diff_run_count(diff) + run];
}

/* ---- what they are called (diff_names.c) */

/* Names the sides and runs of a diff that has its runs; false if memory is out. */
bool jm__diff_name(jm_diff *diff, const jm_diff_side *a, const jm_diff_side *b,
                   const jm_diff_options *options);

/* ---- what the runs tell of themselves (diff_runs.c) */

/* Means over the runs of a side that tell them; NAN: none does. */
typedef struct jm__diff_conditions {
    double clock_mhz, temperature_c, throttled_share;
} jm__diff_conditions;

jm__diff_conditions jm__diff_conditions_of(const jm_diff *diff, int side);
bool jm__diff_is_simulated(const jm_diff *diff); /* any run */
const jm__diff_run *jm__diff_worst_run(const jm_diff *diff,
                                       int side); /* by the verdict; of equals the first */

/* ---- what is said of one row (diff.c) */

/* `count` rows of the diff together: equal layers, or one row. All are in the same runs and ran on the same
 * boards; name, path and kind are those of the first. Errors that they have in common are counted as such. */
jm_status jm__diff_compare_rows(jm_diff_row *row, const jm_diff *diff, const size_t *members, size_t count,
                                jm_error *err);

#endif
