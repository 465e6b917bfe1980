/* The weakest belief: work draws what its kind does around the mean busy power of the recording, idle states
 * the idle power. */
#ifndef JM_ATTRIBUTE_FIT_LEVELS_H
#define JM_ATTRIBUTE_FIT_LEVELS_H

#include "attribute/fit/belief.h"
#include "attribute/fit/expectation.h"
#include "attribute/fit/readings.h"
#include "attribute/fit/response.h"
#include "model/idle_state.h"

/* How far the power of a gap may be from that of gaps of other lengths, relative. What gaps draw does not
 * depend much on how long they are: 122 to 148 W on one H200 (shared/attribution.md), 117 to 130 W on one
 * H100 (bench/results/bursts.txt). */
#define JM_GAP_RELATIVE_U 0.15

/* What is known of the board's gaps from elsewhere. */
typedef struct jm__idle_known {
    double power_w[JM_IDLE_STATES]; /* NAN: of this state nothing is; never of JM_IDLE_BEFORE */
    double u_w[JM_IDLE_STATES];     /* of each by itself, standard */
    double together_u;              /* of all gaps alike, relative */
} jm__idle_known;

typedef struct jm__levels_input {
    const jm_sensor *sensor;
    const jm_reading *readings; /* the whole recording's */
    size_t reading_count;
    jm__design *design;
    size_t class_columns; /* the first idle column */
    size_t columns;
    const jm__expectation *expected; /* [class_columns]; NULL: the mean of all, each by itself */
    const jm__idle_known *idle;      /* NULL: gaps draw what the least reading tells, roughly */
} jm__levels_input;

/* `learn`: the readings that powers are learnt from. One equation a column. */
jm_status jm__levels_believe(jm__belief *belief, const jm__levels_input *input, const jm__reading_list *learn,
                             jm_error *err);

#endif
