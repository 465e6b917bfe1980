/* A plan that asks a recorded sweep, and what a search ends with. */
#include "base/options.h"
#include "base/status.h"
#include "cap/same.h"
#include "cap/search.h"
#include "cap/sweep.h"

#include <math.h>
#include <stdlib.h>

static jm_cap_probe mean_at(const jm_cap_plan *plan, double cap_w)
{
    jm_cap_probe mean = {.cap_w = cap_w};
    double count = 0;
    for (size_t i = 0; i < plan->probe_count; i++) {
        const jm_cap_probe *p = &plan->probes[i];
        if (!jm__cap_same(p->cap_w, cap_w)) continue;
        count++;
        mean.time_s += (p->time_s - mean.time_s) / count;
        mean.power_w += (p->power_w - mean.power_w) / count;
    }
    return mean;
}

static jm_status end(jm_cap_search *s, jm_error *err)
{
    JM_TRY(jm_cap_plan_choice(s->plan, &s->choice, err));
    JM_TRY(jm_cap_plan_predictions(s->plan, &s->all, &s->count, err));
    s->found = mean_at(s->plan, s->choice.cap_w);
    s->reference = mean_at(s->plan, s->choice.reference_w);
    s->has_before = s->plan->tried_count > 1;
    return s->has_before ? jm_cap_plan_without(s->plan, s->choice.cap_w, &s->before, err) : JM_OK;
}

jm_status jm__cap_search_end_take(jm_cap_search **out, jm_cap_plan *plan, jm_error *err)
{
    *out = NULL;
    jm_cap_search *s = calloc(1, sizeof *s);
    if (s == NULL) {
        jm_cap_plan_free(plan);
        return jm__no_memory(err, "jm_cap_search");
    }
    s->plan = plan;
    jm_status status = end(s, err);
    if (status == JM_OK)
        *out = s;
    else
        jm_cap_search_free(s);
    return status;
}

void jm_cap_search_free(jm_cap_search *search)
{
    if (search == NULL) return;
    jm_cap_plan_free(search->plan);
    free(search);
}

static const jm_cap_probe *row_at(const jm__cap_sweep *sweep, double cap_w)
{
    for (size_t i = 0; i < sweep->count; i++)
        if (jm__cap_same(sweep->rows[i].cap_w, cap_w)) return &sweep->rows[i];
    return NULL;
}

static jm_status ask(jm_cap_plan *plan, const jm__cap_sweep *sweep, jm_error *err)
{
    for (;;) {
        double cap_w;
        JM_TRY(jm_cap_plan_next(plan, &cap_w, err));
        if (isnan(cap_w)) return JM_OK;
        JM_TRY(jm_cap_plan_tell(plan, row_at(sweep, cap_w), err));
    }
}

static jm_status replay(jm_cap_search **out, const jm__cap_sweep *sweep, jm_cap_plan_options options,
                        jm_error *err)
{
    double caps_w[JM_CAP_MOST_CAPS];
    for (size_t i = 0; i < sweep->count; i++)
        caps_w[i] = sweep->rows[i].cap_w;
    options.caps_w = caps_w;
    options.cap_count = sweep->count;
    jm_cap_plan *plan;
    JM_TRY(jm_cap_plan_create(&plan, &options, err));
    jm_status status = ask(plan, sweep, err);
    if (status == JM_OK) return jm__cap_search_end_take(out, plan, err);
    jm_cap_plan_free(plan);
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
