/* A board of a recording while that is attributed: its readings, what it did, with which powers. */
#ifndef JM_ATTRIBUTE_BOARD_PART_H
#define JM_ATTRIBUTE_BOARD_PART_H

#include "attribute/fit/fit.h"
#include "attribute/prior/rate_windows.h"
#include "attribute/prior/source.h"
#include "attribute/work/work.h"
#include "model/board_model.h"

typedef struct jm__board_part {
    bool requested;
    bool counted; /* wanted, and its energy is part of the total: not that of a board upstream of others */
    const jm_board *board;
    jm__intervals lost;            /* time in which the board did not answer: nothing is known of it */
    jm__intervals learn;           /* the run, less that: what powers are learnt from */
    jm__intervals windows;         /* of the report, less that */
    jm__intervals steady;          /* those of them in which steps are steady */
    jm__intervals traced;          /* those of the report less what is told by steps (work/strata.h) */
    jm__intervals unrecorded;      /* taken out of `traced`: work of which nothing is recorded */
    jm__intervals unknown;         /* nobody recorded what ran then: outside of `learn` */
    jm__extrapolated extrapolated; /* what traced steps stand for */
    jm__board_work *work;          /* what it did; no columns if it is not fitted or not wanted */
    size_t first_column;           /* in the numbering over all boards */
    const jm_sensor *sensor;       /* of the fit; NULL: none */
    const jm_sensor *counter;      /* NULL: none */
    jm__power_series powers[JM_POWER_SERIES_MAX]; /* of the board's power sensors, the best first */
    size_t power_count;
    jm__sampler_draw sampler; /* of its hardware counters */
    jm_reading *readings;     /* those of all its series and of the counter */
    jm_reading *counts;       /* of the counter */
    size_t count_count;
    size_t refused; /* readings of power that no board can draw, left out */
    const jm_sensor *refused_of[JM_POWER_SERIES_MAX + 1]; /* whose; ends with NULL */
    jm__total total;                                      /* of `windows` */
    jm__total unrecorded_total;                           /* of that, by the meter */
    jm__prior_lines assumed;                              /* of the file of priors */
    bool counted_by_hardware;                             /* its hardware counters were sampled */
    jm__model_response response; /* of a sensor of this very board, with its driver; no sensor: not known */
    jm_sensor learnt_sensor;     /* that one of `powers`, with this response */
    jm__board_model model;       /* of the board; no features: none is known, none was wanted, or its counters
                                    are not those of the recording */
    char model_fault[256];       /* why its own could not be read; "": it could, or there is none */
    size_t counter_windows;      /* of counters, that told of powers */
    bool idle_known;             /* the model tells what gaps draw: */
    jm__idle_known idle;
    jm__fit fit;                 /* of a fitted board */
    jm__power_law law;           /* of powers at another clock, and beside other work */
    jm__calibration calibration; /* of the sensor and the clock */
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

/* The readings of each board's power sensors and energy counter, as totals and fits take them. */

/* Fills in counter, series and counts of all boards, [dataset->board_count]. What no board can draw, and no
 * counter count, is left out. */
jm_status jm__board_readings_take(jm__board_part *boards, const jm__dataset *dataset, jm_error *err);

/* Which of the series the fit is to be of (part->sensor), for the part's windows. */
void jm__board_series_choose(jm__board_part *part);

/* That of part->sensor; NULL: there is none. */
const jm__power_series *jm__board_series(const jm__board_part *part);
void jm__board_readings_free(jm__board_part *part);

/* Fills part->clock_mhz, [columns], which are chosen and whose pieces are still there: NAN for a kind that no
 * reading of the clock saw, NULL without any reading. */
jm_status jm__clocks_find(jm__board_part *part, const jm__dataset *dataset, jm_error *err);

/* What the board's counters are worth, into part->model: the model that was asked for (`queried`, NULL:
 * none), else the board's own, else, where there are counters, the one of its kind; no features if there is
 * none, or if its counters are not those that were sampled. */
jm_status jm__counted_model(jm__board_part *part, const jm__dataset *dataset, const char *queried,
                            jm_error *err);

/* Once it is known what ran: what the model says of gaps goes into part->idle, counters or not, where kernels
 * tell what a gap is. */
void jm__counted_ready(jm__board_part *part, const jm__dataset *dataset, const char *queried);

/* The prior about the columns as they are now, of which `expected` tells the families; no rows if nothing is
 * told of them. */
jm_status jm__counted_prior(jm__prior *prior, jm__board_part *part, const jm__dataset *dataset,
                            const jm__expectation *expected, jm_error *err);

/* When a board was lost: from its last reading to the first after it was back. */

/* Fills part->lost, and part->windows and part->learn with what that leaves of these; the part's readings are
 * there already. */
jm_status jm__lost_find(jm__board_part *part, const jm__dataset *dataset, const jm__intervals *windows,
                        const jm__intervals *learn, jm_error *err);

#endif
