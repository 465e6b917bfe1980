/* A plan: its options, its probes, and which cap is next. */
#include "cap/plan.h"

#include "base/options.h"
#include "base/status.h"
#include "cap/same.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double most_w = 1e6, most_s = 1e9;
enum { USUAL_PROBES = 5, USUAL_STEPS = 60, REFERENCE_EVERY = 4 };
static const double usual_gain = .001;
static bool positive(double value, double most)
{
    return value > 0 && value <= most;
}

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Sorted, each once. */
static void sort_caps(jm_cap_plan *plan)
{
    qsort(plan->caps_w, plan->cap_count, sizeof *plan->caps_w, by_size);
    size_t kept = 0;
    for (size_t i = 0; i < plan->cap_count; i++)
        if (kept == 0 || plan->caps_w[i] - plan->caps_w[kept - 1] > jm__cap_apart_w)
            plan->caps_w[kept++] = plan->caps_w[i];
    plan->cap_count = kept;
}

static jm_status copy_caps(jm_cap_plan *plan, const jm_cap_plan_options *o, jm_error *err)
{
    if (o->cap_count > JM_CAP_MOST_CAPS)
        return jm__fail(err, JM_LIMIT, 0, "jm_cap_plan_create", "more than %d caps", JM_CAP_MOST_CAPS);
    for (size_t i = 0; i < o->cap_count; i++) {
        if (!positive(o->caps_w[i], most_w))
            return jm__fail(err, JM_USAGE, 0, "jm_cap_plan_create", "a cap of %g W", o->caps_w[i]);
        plan->caps_w[i] = o->caps_w[i];
    }
    plan->cap_count = o->cap_count;
    return JM_OK;
}

/* From the highest downwards in steps, and the lowest. */
static jm_status spread_caps(jm_cap_plan *plan, const jm_cap_plan_options *o, jm_error *err)
{
    double width = o->high_w - o->low_w,
           step = o->step_w > 0 ? o->step_w : fmax(width / USUAL_STEPS, jm__cap_apart_w);
    if (!positive(o->low_w, most_w) || !positive(o->high_w, most_w) || width < 0 || !(o->step_w >= 0))
        return jm__fail(err, JM_USAGE, 0, "jm_cap_plan_create", "caps from %g to %g W by %g W", o->low_w,
                        o->high_w, o->step_w);
    if (width / step > JM_CAP_MOST_CAPS - 2)
        return jm__fail(err, JM_LIMIT, 0, "jm_cap_plan_create", "more than %d caps from %g to %g W by %g W",
                        JM_CAP_MOST_CAPS, o->low_w, o->high_w, step);
    for (size_t i = 0; o->high_w - (double)i * step > o->low_w + step / 2; i++)
        plan->caps_w[plan->cap_count++] = o->high_w - (double)i * step;
    plan->caps_w[plan->cap_count++] = o->low_w;
    return JM_OK;
}

static jm_status find_caps(jm_cap_plan *plan, jm_error *err)
{
    jm_cap_plan_options *o = &plan->options;
    JM_TRY(o->caps_w != NULL ? copy_caps(plan, o, err) : spread_caps(plan, o, err));
    if (plan->cap_count == 0) return jm__fail(err, JM_USAGE, 0, "jm_cap_plan_create", "no caps");
    sort_caps(plan);
    o->caps_w = plan->caps_w;
    o->cap_count = plan->cap_count;
    o->low_w = plan->caps_w[0];
    o->high_w = plan->caps_w[plan->cap_count - 1];
    if (o->reference_w == 0) o->reference_w = o->high_w;
    if (o->reference_w < o->low_w - jm__cap_apart_w || o->reference_w > o->high_w + jm__cap_apart_w)
        return jm__fail(err, JM_USAGE, 0, "jm_cap_plan_create", "a reference of %g W, caps from %g to %g W",
                        o->reference_w, o->low_w, o->high_w);
    return JM_OK;
}

static jm_status check(const jm_cap_plan_options *o, jm_error *err)
{
    bool sane = o->objective < JM_CAP_OBJECTIVE_COUNT && o->most_probes <= JM_CAP_MOST_PROBES &&
                o->max_slowdown >= 0 && o->max_slowdown <= most_w && o->reference_w >= 0 &&
                o->least_gain >= 0 && o->drift >= 0 && o->drift <= 1;
    if (sane) return JM_OK;
    return jm__fail(err, JM_USAGE, 0, "jm_cap_plan_create", "an option of the plan cannot be");
}

static jm_status set_up(jm_cap_plan *plan, const jm_cap_plan_options *options, jm_error *err)
{
    jm_cap_plan_options *o = &plan->options;
    JM_TRY(jm__options_copy(o, sizeof *o, options, "jm_cap_plan_create", err));
    JM_TRY(check(o, err));
    if (o->most_probes == 0) o->most_probes = USUAL_PROBES;
    if (o->least_gain == 0) o->least_gain = usual_gain;
    plan->caps_w = calloc(JM_CAP_MOST_CAPS, sizeof *plan->caps_w);
    if (plan->caps_w == NULL) return jm__no_memory(err, "jm_cap_plan_create");
    JM_TRY(find_caps(plan, err));
    plan->gains = calloc(plan->cap_count, sizeof *plan->gains);
    plan->predictions = calloc(plan->cap_count, sizeof *plan->predictions);
    bool all = plan->gains != NULL && plan->predictions != NULL;
    return all ? JM_OK : jm__no_memory(err, "jm_cap_plan_create");
}

jm_status jm_cap_plan_create(jm_cap_plan **out, const jm_cap_plan_options *options, jm_error *err)
{
    *out = NULL;
    jm_cap_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) return jm__no_memory(err, "jm_cap_plan_create");
    jm_status status = set_up(plan, options, err);
    if (status == JM_OK)
        *out = plan;
    else
        jm_cap_plan_free(plan);
    return status;
}

void jm_cap_plan_free(jm_cap_plan *plan)
{
    if (plan == NULL) return;
    jm__cap_fit_free(plan->fit);
    free(plan->caps_w);
    free(plan->gains);
    free(plan->predictions);
    free(plan);
}

static bool is_exact(const jm_cap_probe *probe)
{
    return !(probe->time_u_s > 0 && probe->power_u_w > 0);
}

bool jm__cap_plan_is_done(const jm_cap_plan *plan, double cap_w)
{
    for (size_t i = 0; i < plan->probe_count; i++)
        if (jm__cap_same(plan->probes[i].cap_w, cap_w) && (plan->once || is_exact(&plan->probes[i])))
            return true;
    return false;
}

static bool was_tried(const jm_cap_plan *plan, double cap_w)
{
    for (size_t i = 0; i < plan->probe_count; i++)
        if (jm__cap_same(plan->probes[i].cap_w, cap_w)) return true;
    return false;
}

jm_status jm_cap_plan_tell(jm_cap_plan *plan, const jm_cap_probe *probe, jm_error *err)
{
    static const char call[] = "jm_cap_plan_tell";
    const jm_cap_plan_options *o = &plan->options;
    if (plan->probe_count == JM_CAP_MOST_PROBES)
        return jm__fail(err, JM_LIMIT, 0, call, "more than %d probes", JM_CAP_MOST_PROBES);
    if (!positive(probe->cap_w, most_w) || !positive(probe->time_s, most_s) ||
        !positive(probe->power_w, most_w))
        return jm__fail(err, JM_USAGE, 0, call, "%g s and %g W at a cap of %g W", probe->time_s,
                        probe->power_w, probe->cap_w);
    if (!(probe->time_u_s >= 0 && probe->time_u_s <= probe->time_s && probe->power_u_w >= 0 &&
          probe->power_u_w <= probe->power_w))
        return jm__fail(err, JM_USAGE, 0, call, "uncertainties of %g s and %g W", probe->time_u_s,
                        probe->power_u_w);
    if (probe->cap_w < o->low_w - jm__cap_apart_w || probe->cap_w > o->high_w + jm__cap_apart_w)
        return jm__fail(err, JM_USAGE, 0, call, "a cap of %g W, not from %g to %g W", probe->cap_w, o->low_w,
                        o->high_w);
    if (plan->probe_count == 0 && !jm__cap_same(probe->cap_w, o->reference_w))
        return jm__fail(err, JM_USAGE, 0, call, "the first probe is at %g W, not at the reference's %g W",
                        probe->cap_w, o->reference_w);
    if (jm__cap_plan_is_done(plan, probe->cap_w) || (is_exact(probe) && was_tried(plan, probe->cap_w)))
        return jm__fail(err, JM_USAGE, 0, call, "%g W again, and no uncertainty of both probes",
                        probe->cap_w);
    plan->probes[plan->probe_count++] = *probe;
    jm__cap_fit_free(plan->fit);
    plan->fit = NULL;
    return JM_OK;
}

size_t jm_cap_plan_probe_count(const jm_cap_plan *plan)
{
    return plan->probe_count;
}

const jm_cap_probe *jm_cap_plan_probe(const jm_cap_plan *plan, size_t index)
{
    return index < plan->probe_count ? &plan->probes[index] : NULL;
}

/* Where things drift, the reference stands at the end of each round. */
static bool reference_is_due(const jm_cap_plan *plan)
{
    size_t others = 0;
    for (size_t i = plan->probe_count;
         i-- > 0 && !jm__cap_same(plan->probes[i].cap_w, plan->options.reference_w);)
        others++;
    return plan->options.drift > 0 && (others == REFERENCE_EVERY - 1 ||
                                       (others > 0 && plan->probe_count + 1 == plan->options.most_probes));
}

size_t jm__cap_plan_most_gain(const jm_cap_plan *plan)
{
    size_t most = plan->cap_count - 1;
    for (size_t i = plan->cap_count; i-- > 0;)
        if (plan->gains[i] > plan->gains[most]) most = i;
    return most;
}

jm_status jm_cap_plan_next(jm_cap_plan *plan, double *cap_w, jm_error *err)
{
    const jm_cap_plan_options *o = &plan->options;
    *cap_w = NAN;
    if (plan->probe_count == 0) {
        *cap_w = o->reference_w;
        return JM_OK;
    }
    if (plan->probe_count >= o->most_probes) return JM_OK;
    JM_TRY(jm__cap_plan_know(plan, err));
    size_t best = jm__cap_plan_most_gain(plan);
    if (plan->gains[best] < o->least_gain) return JM_OK;
    bool reference = reference_is_due(plan) && !jm__cap_plan_is_done(plan, o->reference_w);
    *cap_w = reference ? o->reference_w : plan->caps_w[best];
    return JM_OK;
}
