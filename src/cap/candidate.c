/* What is put to the proof: the best, and where a proof refuses that, the next best. */
#include "base/status.h"
#include "cap/same.h"
#include "cap/search.h"

#include <math.h>

static bool was_refused(const jm_cap_search *search, double cap_w, double clock_mhz)
{
    for (size_t i = 0; i < search->proof_count; i++)
        if (jm__cap_same(search->proofs[i].cap_w, cap_w) && search->proofs[i].clock_mhz == clock_mhz)
            return true;
    return false;
}

/* The highest cap that a proof refused by itself; 0: none. What is below it is no faster. */
static double refused_up_to_w(const jm_cap_search *search)
{
    double most_w = 0;
    for (size_t i = 0; i < search->proof_count; i++)
        if (search->proofs[i].clock_mhz == 0) most_w = fmax(most_w, search->proofs[i].cap_w);
    return most_w;
}

/* By the model, which knows of the refusals: any cap above them, tried or not, since its proof will try it.
 */
static jm_status next_best(jm_cap_search *search, bool *any, double *cap_w, jm_error *err)
{
    const jm_cap_plan_options *o = &search->plan->options;
    const jm_cap_prediction *all;
    size_t count;
    double least = 1, above_w = refused_up_to_w(search) + jm__cap_apart_w;
    JM_TRY(jm_cap_plan_predictions(search->plan, &all, &count, err));
    for (size_t i = 0; i < count; i++) {
        const jm_cap_figure *relative = all[i].relative;
        if (all[i].cap_w <= above_w || jm__cap_same(all[i].cap_w, o->reference_w)) continue;
        if (o->max_slowdown > 0 && relative[JM_CAP_TIME].value > 1 + o->max_slowdown) continue;
        if (relative[o->objective].value >= least) continue;
        least = relative[o->objective].value;
        *cap_w = all[i].cap_w;
        *any = true;
    }
    return JM_OK;
}

jm_status jm__cap_candidate(jm_cap_search *search, bool *any, double *cap_w, double *clock_mhz, jm_error *err)
{
    jm_cap_choice by_cap, by_clock;
    *any = false;
    JM_TRY(jm_cap_plan_choice(search->plan, &by_cap, err));
    JM_TRY(jm__cap_clock_choice(search, clock_mhz, &by_clock, err));
    *cap_w = search->clock_cap_w;
    if (*clock_mhz > 0 && !was_refused(search, *cap_w, *clock_mhz)) {
        *any = true;
        return JM_OK;
    }
    *clock_mhz = 0;
    if (by_cap.verdict == JM_CAP_INERT) return JM_OK;
    if (refused_up_to_w(search) > 0) return next_best(search, any, cap_w, err);
    *cap_w = by_cap.cap_w;
    *any = by_cap.verdict != JM_CAP_REFERENCE;
    return JM_OK;
}

/* A mean of many windows is never exact. */
static const double least_share = 1e-4;

static double standard(jm_cap_figure change)
{
    return fmax((change.high - change.low) / (2 * 1.96), least_share);
}

static jm_status tell(jm_cap_plan *plan, double cap_w, double log_time, double log_watts,
                      const jm_cap_proof *result, jm_error *err)
{
    jm_cap_probe probe = {.cap_w = cap_w, .time_s = exp(log_time), .power_w = exp(log_watts)};
    probe.time_u_s = fmin(standard(result->slowdown), 1) * probe.time_s;
    probe.power_u_w = fmin(standard(result->saving), 1) * probe.power_w;
    return jm_cap_plan_tell(plan, &probe, err);
}

static bool has_exact_probe(const jm_cap_plan *plan)
{
    for (size_t i = 0; i < plan->probe_count; i++)
        if (!(plan->probes[i].time_u_s > 0 && plan->probes[i].power_u_w > 0)) return true;
    return false;
}

jm_status jm__cap_refuse(jm_cap_search *search, const jm_cap_proof *result, jm_error *err)
{
    const jm__cap_proof *p = &search->proofs[search->proof_count - 1];
    double windows = (double)(result->blocks * JM__CAP_BLOCK) / 2;
    jm_cap_plan *plan = search->plan;
    if (p->clock_mhz > 0 || plan->probe_count + 2 > JM_CAP_MOST_PROBES) return JM_OK;
    if (has_exact_probe(plan)) return JM_OK; /* which nothing can be weighed against */
    JM_TRY(
        tell(plan, plan->options.reference_w, p->from_time / windows, p->from_watts / windows, result, err));
    return tell(plan, p->cap_w, p->at_time / windows, p->at_watts / windows, result, err);
}
