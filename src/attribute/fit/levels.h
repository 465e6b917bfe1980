/* What is expected of work before any reading. */
#ifndef JM_ATTRIBUTE_FIT_LEVELS_H
#define JM_ATTRIBUTE_FIT_LEVELS_H

#include "attribute/fit/calibrate.h"
#include "attribute/fit/prior.h"
#include "attribute/fit/total.h"
#include "attribute/work/columns.h"
#include "model/board_model.h"
#include <stdint.h>

/* One column of work, beside the mean power while anything runs. Errors are relative and standard. */
typedef struct jm__expectation {
    double share;    /* of that mean, which is the mean over `weight / share` */
    double weight;   /* part of the energy of all work; all together 1 */
    uint32_t family; /* columns of one family are off together by family_u, */
    uint32_t kin;    /* those of one kin by kin_u, */
    double family_u;
    double kin_u;
    double own_u; /* and each alone by this */
} jm__expectation;

/* What columns of one class have in common. */

/* They are assumed to draw about the same: what they differ by, each on its own, and what is not known of
 * the class, together. Row k of `weakest` is about column k. */
jm_status jm__hierarchical_prior(jm__prior *weakest, const jm__columns *columns, jm_error *err);

/* The weakest prior: work draws what its kind does around the mean busy power of the recording, idle states
 * the idle power. */

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

/* What is known before any reading of what sampling hardware counters draws, W. */
typedef struct jm__sampler_known {
    double rest_w;   /* while nothing runs */
    double rest_u_w; /* standard */
    double per_w;    /* so much less for each watt that the board draws at work, */
    double busy_u_w;
    double limited; /* share of sampled time in which the board was at its power limit: it then draws hardly
                       more, but works slower */
} jm__sampler_known;

/* Powers are learnt from all of the time that something is known of; figures are of a part of it. */
typedef struct jm__fit_input {
    const jm_sensor *sensor;    /* a power sensor, not a counter; NULL: none */
    const jm_reading *readings; /* all of it, sorted by time */
    size_t reading_count;
    jm__pieces *pieces;
    const jm__intervals *learn;  /* the run, less the time in which the board was lost */
    const jm__intervals *report; /* within `learn` */
    const jm__intervals
        *unknown;         /* nobody knows what ran then: outside of `learn`; NULL: there is no such time */
    size_t class_columns; /* the first idle column */
    size_t columns;
    const jm__columns *split;        /* which of them belong to one class; NULL: each is its own */
    const double *learn_seconds;     /* [columns]: time of each within `learn` */
    const double *seconds;           /* [columns]: time of each within `report` */
    jm__total total;                 /* of `report`, and of time of which no reading is fitted: */
    const double *apart_seconds;     /* [columns]: of `seconds`, work in that time; NULL: there is none */
    const jm__expectation *expected; /* [class_columns]; NULL: each draws the mean of all */
    const jm__idle_known *idle;      /* NULL: gaps draw what the least reading tells, roughly */
    jm__sampler_known sampler;       /* of the columns behind those of idle states */
    const jm__intervals
        *sampled;         /* while counters were sampled: the last columns are of that; NULL: none are */
    const double *most_w; /* [columns]: what the board can draw; NULL: not known */
    const jm__calibration *calibration; /* as jm__fit_respond found it; NULL: not yet */
    const jm__power_law *law;           /* NULL: none */
    const jm__prior *const *priors;     /* beside the weakest, which the readings give */
    size_t prior_count;
} jm__fit_input;

/* `learn`: the readings that powers are learnt from. One equation a column, in their order. */
jm_status jm__levels_prior(jm__prior *prior, const jm__fit_input *input, jm__design *design,
                           const jm__reading_list *learn, jm_error *err);

#endif
