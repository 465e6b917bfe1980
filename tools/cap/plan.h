/* Inside of a plan: what is known after the probes so far. */
#ifndef JM_CAP_PLAN_H
#define JM_CAP_PLAN_H

#include "cap/model.h"

#include <stdbool.h>

/* A cap that was tried. */
typedef struct jm__cap_tried {
    double cap_w;
    size_t probes;
    double time_s;       /* mean of what was measured */
    jm__cap_prior prior; /* of the reference's */
    bool keeps_bound;
} jm__cap_tried;

struct jm_cap_plan {
    jm_cap_plan_options options; /* with what is usual in place of 0; caps_w is `caps_w` */
    double *caps_w;              /* [cap_count], rising */
    size_t cap_count;
    bool once; /* a second probe of a cap would tell the same again */
    jm_cap_probe probes[JM_CAP_MOST_PROBES];
    size_t probe_count;

    /* Of the probes told; known again after each. */
    jm__cap_fit *fit; /* NULL: not known */
    jm__cap_tried tried[JM_CAP_MOST_PROBES];
    size_t tried_count, best; /* tried[best] is the incumbent, tried[0] the reference */
    double *gains;            /* [cap_count] */

    jm_cap_prediction *predictions; /* [cap_count] */
};

/* Make sure that all of that is known. USAGE: no probe was told. */
jm_status jm__cap_plan_know(jm_cap_plan *plan, jm_error *err);

/* The cap where a probe is expected to gain most. */
size_t jm__cap_plan_most_gain(const jm_cap_plan *plan);

#endif
