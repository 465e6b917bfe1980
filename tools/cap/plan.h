/* The inside of a plan: its state after the probes so far. */
#ifndef JM_CAP_PLAN_H
#define JM_CAP_PLAN_H

#include "cap/model.h"

#include <stdbool.h>

/* A cap that was tried. */
typedef struct jm__cap_tried {
    double cap_w;
    size_t probes;
    double time_s;               /* mean of the measurements */
    jm__cap_posterior posterior; /* relative to the reference */
    bool keeps_bound;
} jm__cap_tried;

struct jm_cap_plan {
    jm_cap_plan_options options; /* with defaults in place of 0; caps_w is `caps_w` */
    double *caps_w;              /* [cap_count], ascending */
    size_t cap_count;
    bool once; /* a second probe of a cap would repeat the first (recorded sweeps) */
    jm_cap_probe probes[JM_CAP_MOST_PROBES];
    size_t probe_count;

    /* Derived from the probes, and updated after each. */
    jm__cap_fit *fit; /* NULL: not up to date */
    jm__cap_tried tried[JM_CAP_MOST_PROBES];
    size_t tried_count, best; /* tried[best] is the incumbent, tried[0] the reference */
    double *gains;            /* [cap_count] */

    jm_cap_prediction *predictions; /* [cap_count] */
};

/* Bring the derived state up to date. USAGE: no probe was reported. */
jm_status jm__cap_plan_update(jm_cap_plan *plan, jm_error *err);

/* Index of the cap with the largest expected gain of a probe. */
size_t jm__cap_plan_best_probe(const jm_cap_plan *plan);

#endif
