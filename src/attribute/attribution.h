/* A recording attributed: what each board did in the windows, with which powers. */
#ifndef JM_ATTRIBUTE_ATTRIBUTION_H
#define JM_ATTRIBUTE_ATTRIBUTION_H

#include "attribute/fit/board_readings.h"
#include "attribute/fit/fit.h"
#include "attribute/prior/known.h"
#include "attribute/scope.h"
#include <joulemap/report.h>

/* A board: what it read, what it did, with which powers. */
typedef struct jm__board_part {
    bool requested;
    bool counted; /* wanted, and its energy is part of the total: not that of a board upstream of others */
    const jm_board *board;
    jm__board_readings readings;
    jm__board_time time;
    jm__board_work *work; /* what it did; no columns if it is not fitted or not wanted */
    size_t first_column;  /* in the numbering over all boards */
    jm__board_known known;
    jm__sampler_draw sampler;    /* of its hardware counters */
    jm__total total;             /* of time.windows */
    jm__total unrecorded_total;  /* of that, by the meter */
    jm__calibration calibration; /* of the sensor and the clock */
    jm__power_law law;           /* of powers at another clock, and beside other work */
    jm__fit fit;                 /* of a fitted board */
    double *clock_mhz; /* [columns]: mean while each ran, NAN: not seen; NULL: no clock is recorded */
} jm__board_part;

/* Joules of a second of a use at the clock that it ran at, by the fit. */
static inline double jm__use_power_w(const jm__board_part *part, size_t use)
{
    jm__use_part parts[JM_USE_PARTS];
    double power_w = 0;
    for (size_t i = jm__use_parts(part->work, use, parts); i-- > 0;)
        power_w += parts[i].share * part->fit.power_w[parts[i].column];
    return power_w;
}

/* What sampling its counters drew in the report, J; how long it lasted, and the standard uncertainty. 0 s:
 * they were not sampled, or nothing is known of powers. */
double jm__board_sampler_j(const jm__board_part *part, double *seconds, double *u_j);

typedef struct jm__attribution {
    jm__scope scope;
    jm__work_set work;
    jm__board_part *boards; /* [dataset->board_count] */
    size_t columns;         /* of all boards together */
} jm__attribution;

/* By which people know a board: nvidia-smi's index, or its number here. */
static inline int32_t jm__attribution_index(const jm__attribution *a, size_t board)
{
    int32_t index = a->scope.dataset->boards[board].index;
    return index < 0 ? (int32_t)board : index;
}

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
