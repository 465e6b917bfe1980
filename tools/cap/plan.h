/* The inside of a plan: its state after the probes so far. */
#ifndef JM_CAP_PLAN_H
#define JM_CAP_PLAN_H

#include "cap/model.h"

#include <stdbool.h>

/* A cap that was tried. */
typedef struct jm__cap_tried {
    double cap_w;
    size_t probes;
    double time_s, power_w;      /* means of the measurements */
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

/* The cap with the largest expected gain of a probe; NAN: none gains enough. USAGE: no probe was reported. */
jm_status jm__cap_plan_best(jm_cap_plan *plan, double *cap_w, jm_error *err);

/* Sort values and drop duplicates; returns how many are left. */
size_t jm__cap_sort(double *values, size_t count);

/* A cap has no effect if it changes time and energy by less than this, and surely by less than three times
 * this. */
static const double jm__cap_no_difference = .015;

static inline bool jm__cap_is_negligible(jm_cap_figure change)
{
    return fabs(change.value) < jm__cap_no_difference && change.low > -3 * jm__cap_no_difference &&
           change.high < 3 * jm__cap_no_difference;
}

#endif
