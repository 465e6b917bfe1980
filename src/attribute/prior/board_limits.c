/* A board holds its limit over tens of milliseconds, not over one kernel. */
#include "attribute/prior/board_limits.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* The hungriest kernels seen on an H200 draw 1.4 times its limit of 700 W before it throttles (978 W, a
 * matrix product in bursts; 1008 W, the head of a Llama: shared/data/h200-counters-llama). Idle states of it
 * draw up to 200 W, 0.29 of it, between bursts (shared/sensors.md). Twice the latter, and a seventh above the
 * former. */
static const double work_most = 1.6, idle_most = 0.6;

/* The limit may be set lower for a while, which cuts what work draws on the average, and no idle state. */
static double limit_of(const jm_board *board)
{
    bool has_most = isfinite(board->power_limit_max_w) && board->power_limit_max_w > 0;
    return has_most ? board->power_limit_max_w : board->power_limit_w;
}

jm_status jm__board_limits(double **out, const jm_board *board, const jm__board_work *work, jm_error *err)
{
    const jm__columns *columns = &work->columns;
    double limit_w = limit_of(board);
    *out = NULL;
    if (!isfinite(limit_w) || limit_w <= 0) return JM_OK;
    *out = calloc(columns->count + 1, sizeof **out);
    if (*out == NULL) return jm__no_memory(err, "jm__board_limits");
    /* Without a kernel, and before the first one, nobody knows what ran. */
    bool knows_idle = columns->class_columns > 0 && !work->from_host;
    for (size_t k = 0; k < columns->count; k++) {
        bool work_column = k < columns->class_columns;
        bool unseen = !knows_idle || k == columns->class_columns + JM_IDLE_BEFORE;
        if (work_column)
            (*out)[k] = work_most * limit_w;
        else
            (*out)[k] = unseen ? INFINITY : idle_most * limit_w;
    }
    return JM_OK;
}
