/* A search that asks a recorded sweep. */
#include "base/options.h"
#include "base/status.h"
#include "cap/same.h"
#include "cap/search.h"
#include "cap/sweep.h"

#include <stdlib.h>

static const jm_cap_probe *row_at(const jm__cap_sweep *sweep, double cap_w)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (jm__cap_same(sweep->rows[i].cap_w, cap_w)) return &sweep->rows[i];
    return NULL;
}

static jm_status ask(jm_cap_search *search, const jm__cap_sweep *sweep, jm_error *err)
{
    for (;;) {
        jm_cap_trial trial;
        JM_TRY(jm_cap_search_next(search, &trial, err));
        if (trial.stage == JM_CAP_STAGE_OVER) return JM_OK;
        JM_TRY(jm_cap_search_tell(search, row_at(sweep, trial.cap_w), err));
    }
}

/* What was recorded is what counts: there is nothing to prove. */
static jm_status replay(jm_cap_search **out, const jm__cap_sweep *sweep, jm_cap_plan_options plan,
                        jm_error *err)
{
    const jm_cap_search_options options = {.size = sizeof options, .plan = &plan, .no_proof = true};
    double caps_w[JM_CAP_MOST_CAPS];
    for (size_t i = 0; i < sweep->count; i++)
        caps_w[i] = sweep->rows[i].cap_w;
    plan.caps_w = caps_w;
    plan.cap_count = sweep->count;
    jm_cap_search *search;
    JM_TRY(jm_cap_search_create(&search, &options, err));
    search->plan->once = true;
    jm_status status = ask(search, sweep, err);
    if (status == JM_OK)
        *out = search;
    else
        jm_cap_search_free(search);
    return status;
}

jm_status jm_cap_replay(jm_cap_search **out, const char *path, const jm_cap_plan_options *options,
                        jm_error *err)
{
    *out = NULL;
    jm_cap_plan_options o;
    JM_TRY(jm__options_copy(&o, sizeof o, options, "jm_cap_replay", err));
    if (o.caps_w != NULL || o.cap_count > 0 || o.low_w != 0 || o.high_w != 0 || o.step_w != 0 ||
        o.reference_w != 0 || o.drift != 0)
        return jm__fail(err, JM_USAGE, 0, "jm_cap_replay",
                        "caps, reference and drift of a replay are the sweep's");
    jm__cap_sweep *sweep = malloc(sizeof *sweep);
    if (sweep == NULL) return jm__no_memory(err, "jm_cap_replay");
    jm_status status = jm__cap_sweep_read(sweep, path, err);
    if (status == JM_OK) status = replay(out, sweep, o, err);
    free(sweep);
    return status;
}
