/* The parts that a table is of, in its order. */
#ifndef JM_REPORT_PICK_H
#define JM_REPORT_PICK_H

#include "base/vec.h"
#include "report/fold.h"

typedef struct jm__pick {
    size_t part;   /* of the fold's */
    int32_t depth; /* in the table */
    bool asked;    /* it was asked for itself, and not because of what it is in */
} jm__pick;

typedef JM_VEC(jm__pick) jm__picks;

/* Of each row whether it, or what it is in, was asked for, which the caller frees; NULL if all are. USAGE:
 * nothing is what was asked for. */
jm_status jm__asked_find(bool **asked, const jm_report *report, const jm_text_options *options,
                         jm_error *err);

/* The parts asked for, of a fold that was made with `asked`: parents before their children, siblings as they
 * are to be sorted. */
jm_status jm__picks_make(jm__picks *picks, const jm__fold *fold, const bool *asked, jm_sort order,
                         jm_error *err);

#endif
