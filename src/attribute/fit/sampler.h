/* What sampling of hardware counters draws, by the steps of power where it began and ended.
 *
 * Its level tells little: work draws some per cent more or less from one minute to the next, which is as much
 * as the sampler draws. At its edges, whose times are known, all else stays as it is. How much else changes,
 * all the same, is how much power changes over the same distance where there is no edge. */
#ifndef JM_ATTRIBUTE_FIT_SAMPLER_H
#define JM_ATTRIBUTE_FIT_SAMPLER_H

#include "attribute/fit/calibrate.h"
#include "attribute/work/columns.h"

typedef struct jm__sampler_draws {
    double power_w[JM_SAMPLER_STATES];
    double u_w[JM_SAMPLER_STATES]; /* standard */
} jm__sampler_draws;

typedef struct jm__sampler_edges {
    const jm__pass *pass; /* all readings that powers are learnt from, no columns grouped */
    jm__response response;
    const double *power_w; /* [columns]: about what each draws */
    size_t class_columns;
    const jm__intervals *sampled;
} jm__sampler_edges;

/* `draws`: as known before; the edges' steps are put to it. */
jm_status jm__sampler_steps(jm__sampler_draws *draws, const jm__sampler_edges *edges, jm_error *err);

#endif
