/* A board of a recording while that is attributed: what it read, what it did, with which powers. */
#ifndef JM_ATTRIBUTE_BOARD_PART_H
#define JM_ATTRIBUTE_BOARD_PART_H

#include "attribute/fit/board_readings.h"
#include "attribute/fit/fit.h"
#include "attribute/prior/known.h"

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

#endif
