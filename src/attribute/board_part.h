/* A board of a recording while that is attributed: its readings, what it did, with which powers. */
#ifndef JM_ATTRIBUTE_BOARD_PART_H
#define JM_ATTRIBUTE_BOARD_PART_H

#include "attribute/fit/fit.h"
#include "attribute/prior/sampler_draw.h"
#include "attribute/prior/source.h"
#include "attribute/work/work.h"
#include "model/board_model.h"

typedef struct jm__board_part {
    bool wanted;
    bool counted; /* wanted, and its energy is part of the total: not that of a board upstream of others */
    const jm_board *board;
    jm__windows lost;         /* time in which the board did not answer: nothing is known of it */
    jm__windows learn;        /* the run, less that: what powers are learnt from */
    jm__windows windows;      /* of the report, less that */
    jm__windows steady;       /* those of them in which steps are steady */
    jm__windows traced;       /* those of the report less what is told by steps (work/stands.h) */
    jm__windows unknown;      /* nobody recorded what ran then: outside of `learn` */
    jm__stood stood;          /* what traced steps stand for */
    jm__board_work *work;     /* what it did; no columns if it is not fitted or not wanted */
    size_t first_column;      /* in the numbering over all boards */
    const jm_sensor *sensor;  /* of the fit; NULL: none */
    const jm_sensor *counter; /* NULL: none */
    jm__power_series powers[JM_POWER_SERIES_MAX]; /* of the board's power sensors, the best first */
    size_t power_count;
    jm__sampler_draw sampler; /* of its hardware counters: what it drew is in no reading */
    jm_reading *readings;     /* those of all its series and of the counter */
    jm_reading *counts;       /* of the counter */
    size_t count_count;
    size_t refused; /* readings of power that no board can draw, left out */
    const jm_sensor *refused_of[JM_POWER_SERIES_MAX + 1]; /* whose; ends with NULL */
    jm__total total;
    jm__belief_lines believed; /* of the file of beliefs */
    bool counted_by_hardware;  /* its hardware counters were sampled */
    jm__board_model model;     /* of the board; no features: none is known, none was wanted, or its counters
                                  are not those of the recording */
    char model_fault[256];     /* why its own could not be read; "": it could, or there is none */
    size_t counter_windows;    /* of counters, that told of powers */
    bool idle_known;           /* the model tells what gaps draw: */
    jm__idle_known idle;
    jm__fit fit;           /* of a fitted board */
    double clock_exponent; /* power goes with the clock to the power of this; 0: not seen to */
    double *clock_mhz;     /* [columns]: mean while each ran, NAN: not seen; NULL: no clock is recorded */
} jm__board_part;

#endif
