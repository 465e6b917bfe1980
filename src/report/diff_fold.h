/* The rows of a diff as its tables show them: equal layers that changed alike together. */
#ifndef JM_REPORT_DIFF_FOLD_H
#define JM_REPORT_DIFF_FOLD_H

#include "base/vec.h"
#include "report/diff_parts.h"
#include "report/fold.h"

/* One row of the diff, or equal ones together. */
typedef struct jm__diff_part {
    jm_diff_row
        row; /* of several the sums; interval, change and verdict are missing until jm__diff_part_compare */
    const jm__part *part;
    char *path;    /* "model.layers.*.mlp"; owned */
    bool in_first; /* the first run has it: `depth` says where; else its path does */
} jm__diff_part;

typedef struct jm__diff_fold {
    jm__fold fold;
    JM_VEC(jm__diff_part) parts;
} jm__diff_fold;

/* Layers are equal if in each run they have the same type, boards and number of calls, and neither their
 * energy on one side nor its change is off from the usual one by more than 5 % and three standard
 * uncertainties (of one run: errors may be the same in all). Of other keys than layers each row is a part of
 * its own, as with jm_diff_options.expand. Zero-initialise; free in any case. */
jm_status jm__diff_fold_make(jm__diff_fold *fold, const jm_diff *diff, jm_error *err);
void jm__diff_fold_free(jm__diff_fold *fold);

jm_status jm__diff_part_compare(jm__diff_part *part, const jm__diff_fold *fold, const jm_diff *diff,
                                jm_error *err);

#endif
