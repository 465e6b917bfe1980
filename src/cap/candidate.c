/* What is put to the proof: the best, and where a proof refuses that, the next best. */
#include "base/status.h"
#include "cap/same.h"
#include "cap/search.h"

static bool was_refused(const jm_cap_search *search, double cap_w, double clock_mhz)
{
    for (size_t i = 0; i < search->proof_count; i++)
        if (jm__cap_same(search->proofs[i].cap_w, cap_w) && search->proofs[i].clock_mhz == clock_mhz)
            return true;
    return false;
}

/* Of the caps that were tried, kept the bound and seem better than the reference. */
static bool best_left(const jm_cap_search *search, double *cap_w)
{
    const jm_cap_plan *plan = search->plan;
    int objective = (int)plan->options.objective;
    double least = 0;
    bool any = false;
    for (size_t t = 1; t < plan->tried_count; t++) {
        const jm__cap_tried *tried = &plan->tried[t];
        if (!tried->keeps_bound || was_refused(search, tried->cap_w, 0)) continue;
        if (tried->belief.mean[objective] >= least) continue;
        least = tried->belief.mean[objective];
        *cap_w = tried->cap_w;
        any = true;
    }
    return any;
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
    if (by_cap.verdict != JM_CAP_INERT) *any = best_left(search, cap_w);
    return JM_OK;
}
