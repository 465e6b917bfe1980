/* A recording attributed: what each board did in the windows, with which powers. */
#ifndef JM_ATTRIBUTE_ATTRIBUTION_H
#define JM_ATTRIBUTE_ATTRIBUTION_H

#include "attribute/batches.h"
#include "attribute/beliefs/source.h"
#include "attribute/counters/sampler_draw.h"
#include "attribute/fit/fit.h"
#include "attribute/steps.h"
#include "attribute/work/work.h"
#include "model/board_model.h"
#include <joulemap/report.h>

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

typedef struct jm__attribution {
    const jm__dataset *dataset;
    jm_report_options options;
    jm__span_index spans;
    jm__work_set work;
    jm__window run;       /* the whole of it */
    jm__windows learn;    /* the same, and what is asked for beyond it */
    jm__windows windows;  /* of the report */
    jm__windows asked;    /* the same, whatever was traced of it */
    jm__windows untraced; /* in none of them, but for reports by board, which need no trace */
    jm__stands stands;    /* steps of which only the edges were recorded, and who stands for them */
    jm__stood stood;      /* the same in the report's time, whatever board they ran on */
    jm__told told;
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

/* What is asked for: windows, sensors, readings. NOT_FOUND if the phase, board or process is not in the
 * recording. */
jm_status jm__attribution_begin(jm__attribution *a, const jm__dataset *dataset,
                                const jm_report_options *options, jm_error *err);

/* Room for the boards, and which of them are wanted and counted: one, or 0 for all. NOT_FOUND: there is no
 * such. */
jm_status jm__attribution_boards(jm__attribution *a, int64_t board_id, jm_error *err);

/* What the boards did, summed up by these rows, and with which powers. */
jm_status jm__attribution_fit(jm__attribution *a, const jm__row_of *rows, jm_error *err);

/* Pieces and readings go; columns, sums and fits stay. */
void jm__attribution_trim(jm__attribution *a);
void jm__attribution_free(jm__attribution *a);

/* The total of one board over other windows (what a phase took), none of them in time it was lost in. */
jm__total jm__board_total(const jm__board_part *part, const jm__windows *windows);

#endif
