/* A recording attributed: what each board did in the windows, with which powers. */
#ifndef JM_ATTRIBUTE_ATTRIBUTION_H
#define JM_ATTRIBUTE_ATTRIBUTION_H

#include "attribute/board_part.h"
#include "attribute/input/batches.h"
#include "attribute/input/steps.h"
#include <joulemap/report.h>

typedef struct jm__attribution {
    const jm__dataset *dataset;
    jm_report_options options;
    jm__span_index spans;
    jm__work_set work;
    jm__interval run;              /* the whole of it */
    jm__intervals learn;           /* the same, and what is asked for beyond it */
    jm__intervals windows;         /* of the report */
    jm__intervals queried;         /* the same, whatever was traced of it */
    jm__intervals untraced;        /* in none of them, but for reports by board, which need no trace */
    jm__strata strata;             /* steps of which only the edges were recorded, and who stands for them */
    jm__extrapolated extrapolated; /* the same in the report's time, whatever board they ran on */
    jm__marked marked;
    jm__steps steps;
    jm__batches batches;    /* who was in which step, where rows are requests */
    jm__board_part *boards; /* [dataset->board_count] */
    size_t columns;         /* of all boards together */
} jm__attribution;

/* By which people know a board: nvidia-smi's index, or its number here. */
static inline int32_t jm__attribution_index(const jm__attribution *a, size_t board)
{
    int32_t index = a->dataset->boards[board].index;
    return index < 0 ? (int32_t)board : index;
}

/* Is a process of this number in the recording? */
bool jm__attribution_has_process(const jm__dataset *dataset, int64_t pid);

/* What is asked for: windows, sensors, readings. NOT_FOUND if the phase, board or process is not in the
 * recording. */
jm_status jm__attribution_begin(jm__attribution *a, const jm__dataset *dataset,
                                const jm_report_options *options, jm_error *err);

/* Room for the boards, and which of them are wanted and counted: one, or 0 for all. NOT_FOUND: there is no
 * such. */
jm_status jm__attribution_boards(jm__attribution *a, int64_t board_id, jm_error *err);

/* Fills in part->readings, and the part's time of these: lost, and windows and learn with what that leaves.
 */
jm_status jm__attribution_readings(jm__attribution *a, jm__board_part *part, jm_error *err);

/* What the boards did, summed up by these rows, and with which powers. */
jm_status jm__attribution_fit(jm__attribution *a, const jm__row_of *rows, jm_error *err);

/* Pieces and readings go; columns, sums and fits stay. */
void jm__attribution_trim(jm__attribution *a);
void jm__attribution_free(jm__attribution *a);

#endif
