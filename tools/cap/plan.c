/* A plan: options, probes, the next cap, the choice with its verdict, and predictions of all caps. */
#include "cap/plan.h"

#include "base/options.h"
#include "base/order.h"
#include "base/status.h"
#include "cap/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double max_w = 1e6, max_s = 1e9;
enum { DEFAULT_PROBES = 5, DEFAULT_STEPS = 60, REFERENCE_EVERY = 4 };
static const double default_gain = .001;

static bool in_range(double value, double max)
{
    return value > 0 && value <= max;
}

size_t jm__cap_sort(double *values, size_t count)
{
    size_t kept = 0;
    qsort(values, count, sizeof *values, jm__compare_doubles);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || values[i] - values[kept - 1] > jm__cap_apart_w) values[kept++] = values[i];
    return kept;
}

static jm_status copy_caps(jm_cap_plan *plan, const jm_cap_plan_options *o, jm_error *err)
{
    if (o->cap_count > JM_CAP_MOST_CAPS)
        return jm__fail(err, JM_LIMIT, 0, "jm_cap_plan_create", "more than %d caps", JM_CAP_MOST_CAPS);
    for (size_t i = 0; i < o->cap_count; i++) {
        if (!in_range(o->caps_w[i], max_w))
            return jm__fail(err, JM_USAGE, 0, "jm_cap_plan_create", "a cap of %g W", o->caps_w[i]);
        plan->caps_w[i] = o->caps_w[i];
    }
    plan->cap_count = o->cap_count;
    return JM_OK;
}

/* Caps from the highest down in steps, and the lowest. */
static jm_status spread_caps(jm_cap_plan *plan, const jm_cap_plan_options *o, jm_error *err)
{
    double width = o->high_w - o->low_w,
           step = o->step_w > 0 ? o->step_w : fmax(width / DEFAULT_STEPS, jm__cap_apart_w);
    if (!in_range(o->low_w, max_w) || !in_range(o->high_w, max_w) || width < 0 || !(o->step_w >= 0))
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
    o->caps_w = plan->caps_w;
    o->cap_count = plan->cap_count = jm__cap_sort(plan->caps_w, plan->cap_count);
    o->low_w = plan->caps_w[0];
    o->high_w = plan->caps_w[plan->cap_count - 1];
    if (o->reference_w == 0) o->reference_w = o->high_w;
    if (o->reference_w < o->low_w - jm__cap_apart_w || o->reference_w > o->high_w + jm__cap_apart_w)
        return jm__fail(err, JM_USAGE, 0, "jm_cap_plan_create", "a reference of %g W, caps from %g to %g W",
                        o->reference_w, o->low_w, o->high_w);
    return JM_OK;
}

static jm_status check_options(const jm_cap_plan_options *o, jm_error *err)
{
    bool valid = o->objective < JM_CAP_OBJECTIVE_COUNT && o->most_probes <= JM_CAP_MOST_PROBES &&
                 o->max_slowdown >= 0 && o->max_slowdown <= max_w && o->reference_w >= 0 &&
                 o->least_gain >= 0 && o->drift >= 0 && o->drift <= 1;
    if (valid) return JM_OK;
    return jm__fail(err, JM_USAGE, 0, "jm_cap_plan_create", "an option of the plan is invalid");
}

static jm_status set_up(jm_cap_plan *plan, const jm_cap_plan_options *options, jm_error *err)
{
    jm_cap_plan_options *o = &plan->options;
    JM_TRY(jm__options_copy(o, sizeof *o, options, "jm_cap_plan_create", err));
    JM_TRY(check_options(o, err));
    if (o->most_probes == 0) o->most_probes = DEFAULT_PROBES;
    if (o->least_gain == 0) o->least_gain = default_gain;
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

/* Whether another probe of the cap would add nothing: it was measured exactly, or the plan's data has each
 * cap once. */
static bool needs_no_probe(const jm_cap_plan *plan, double cap_w)
{
    for (size_t i = 0; i < plan->probe_count; i++)
        if (jm__cap_same(plan->probes[i].cap_w, cap_w) && (plan->once || is_exact(&plan->probes[i])))
            return true;
    return false;
}

static size_t probes_at(const jm_cap_plan *plan, double cap_w)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->probe_count; i++)
        count += jm__cap_same(plan->probes[i].cap_w, cap_w);
    return count;
}

jm_status jm_cap_plan_tell(jm_cap_plan *plan, const jm_cap_probe *probe, jm_error *err)
{
    static const char call[] = "jm_cap_plan_tell";
    const jm_cap_plan_options *o = &plan->options;
    if (plan->probe_count == JM_CAP_MOST_PROBES)
        return jm__fail(err, JM_LIMIT, 0, call, "more than %d probes", JM_CAP_MOST_PROBES);
    if (!in_range(probe->cap_w, max_w) || !in_range(probe->time_s, max_s) || !in_range(probe->power_w, max_w))
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
    if (needs_no_probe(plan, probe->cap_w) || (is_exact(probe) && probes_at(plan, probe->cap_w) > 0))
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

/* With drift the reference is repeated at the end of each round. */
static bool reference_is_due(const jm_cap_plan *plan)
{
    size_t others = 0;
    for (size_t i = plan->probe_count;
         i-- > 0 && !jm__cap_same(plan->probes[i].cap_w, plan->options.reference_w);)
        others++;
    return plan->options.drift > 0 && (others == REFERENCE_EVERY - 1 ||
                                       (others > 0 && plan->probe_count + 1 == plan->options.most_probes));
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
    JM_TRY(jm__cap_plan_best(plan, cap_w, err));
    if (!isnan(*cap_w) && reference_is_due(plan) && !needs_no_probe(plan, o->reference_w))
        *cap_w = o->reference_w;
    return JM_OK;
}

/* The model reproduces exact probes up to the jitter of its matrices. */
static const double rounding = 1e-4;

static jm__cap_data data_of(const jm_cap_plan *plan)
{
    return (jm__cap_data){plan->probes, plan->probe_count, plan->options.low_w, plan->options.high_w,
                          plan->options.drift};
}

static void gather_tried(jm_cap_plan *plan)
{
    plan->tried_count = 0;
    for (size_t i = 0; i < plan->probe_count; i++) {
        const jm_cap_probe *probe = &plan->probes[i];
        size_t t = 0;
        while (t < plan->tried_count && !jm__cap_same(plan->tried[t].cap_w, probe->cap_w))
            t++;
        jm__cap_tried *tried = &plan->tried[t];
        if (t == plan->tried_count) {
            *tried = (jm__cap_tried){.cap_w = probe->cap_w};
            plan->tried_count++;
        }
        tried->probes++;
        tried->time_s += (probe->time_s - tried->time_s) / (double)tried->probes;
        tried->power_w += (probe->power_w - tried->power_w) / (double)tried->probes;
    }
}

/* Both the measurement and the fit must keep the bound. With drift, measurements cannot be compared directly.
 */
static bool keeps_bound(const jm_cap_plan *plan, const jm__cap_tried *tried)
{
    double bound = plan->options.max_slowdown;
    if (bound == 0 || tried == &plan->tried[0]) return true;
    bool measured = plan->options.drift > 0 || tried->time_s <= (1 + bound) * plan->tried[0].time_s;
    return measured && tried->posterior.mean[JM_CAP_TIME] <= log1p(bound) + rounding;
}

static jm_status evaluate_tried(jm_cap_plan *plan, jm_error *err)
{
    jm__cap_query queries[JM_CAP_MOST_PROBES];
    jm__cap_posterior posteriors[JM_CAP_MOST_PROBES];
    gather_tried(plan);
    for (size_t t = 0; t < plan->tried_count; t++)
        queries[t] = (jm__cap_query){plan->tried[t].cap_w, plan->options.reference_w};
    JM_TRY(jm__cap_posterior_of(plan->fit, queries, plan->tried_count, posteriors, err));
    plan->best = 0;
    for (size_t t = 0; t < plan->tried_count; t++) {
        plan->tried[t].posterior = posteriors[t];
        plan->tried[t].keeps_bound = keeps_bound(plan, &plan->tried[t]);
        const double *best = plan->tried[plan->best].posterior.mean;
        int o = (int)plan->options.objective;
        if (plan->tried[t].keeps_bound && posteriors[t].mean[o] < best[o]) plan->best = t;
    }
    return JM_OK;
}

/* Standard deviation of the log objective of one probe, from the probes so far. */
static double probe_noise(const jm_cap_plan *plan)
{
    jm__cap_powers powers = jm__cap_objectives[plan->options.objective].powers;
    double sum = 0;
    for (size_t i = 0; i < plan->probe_count; i++) {
        const jm_cap_probe *p = &plan->probes[i];
        double time = powers.time * p->time_u_s / p->time_s, watts = powers.watts * p->power_u_w / p->power_w;
        sum += time * time + watts * watts;
    }
    return sqrt(sum / (double)plan->probe_count);
}

static jm_status find_gains(jm_cap_plan *plan, jm_error *err)
{
    const jm_cap_plan_options *o = &plan->options;
    const jm__cap_aim aim = {o->objective, plan->tried[plan->best].cap_w, o->reference_w, o->max_slowdown,
                             probe_noise(plan)};
    JM_TRY(jm__cap_gains(plan->fit, &aim, plan->caps_w, plan->cap_count, plan->gains, err));
    for (size_t i = 0; i < plan->cap_count; i++)
        if (needs_no_probe(plan, plan->caps_w[i])) plan->gains[i] = 0;
    return JM_OK;
}

/* Bring the derived state up to date. USAGE: no probe was reported. */
static jm_status update(jm_cap_plan *plan, jm_error *err)
{
    if (plan->fit != NULL) return JM_OK;
    if (plan->probe_count == 0) return jm__fail(err, JM_USAGE, 0, "jm_cap_plan", "no probe was reported");
    jm__cap_data data = data_of(plan);
    JM_TRY(jm__cap_fit_create(&plan->fit, &data, err));
    jm_status status = evaluate_tried(plan, err);
    if (status == JM_OK) status = find_gains(plan, err);
    if (status != JM_OK) {
        jm__cap_fit_free(plan->fit);
        plan->fit = NULL;
    }
    return status;
}

static size_t largest_gain(const jm_cap_plan *plan)
{
    size_t most = plan->cap_count - 1;
    for (size_t i = plan->cap_count; i-- > 0;)
        if (plan->gains[i] > plan->gains[most]) most = i;
    return most;
}

jm_status jm__cap_plan_best(jm_cap_plan *plan, double *cap_w, jm_error *err)
{
    *cap_w = NAN;
    JM_TRY(update(plan, err));
    size_t best = largest_gain(plan);
    if (plan->gains[best] >= plan->options.least_gain) *cap_w = plan->caps_w[best];
    return JM_OK;
}

/* A prediction from posteriors: of the cap, in units of the first probe, and relative to the reference. */
static jm_cap_prediction prediction_of(const jm__cap_posterior *absolute, const jm__cap_posterior *relative,
                                       const jm_cap_probe *first)
{
    jm_cap_prediction p = {.power_w = jm__cap_figure_of(absolute, JM__CAP_WATTS, first->power_w)};
    for (int o = 0; o < JM_CAP_OBJECTIVE_COUNT; o++) {
        double unit = jm__cap_objective_of((jm_cap_objective)o, first->time_s, first->power_w);
        p.objectives[o] = jm__cap_figure_of(absolute, o, unit);
        p.relative[o] = jm__cap_figure_of(relative, o, 1);
    }
    p.time_s = p.objectives[JM_CAP_TIME];
    p.energy_j = p.objectives[JM_CAP_ENERGY];
    return p;
}

static jm_status predict(const jm_cap_plan *plan, const jm__cap_fit *fit, const double *caps_w, size_t count,
                         const jm_cap_probe *first, jm_cap_prediction *out, jm_error *err)
{
    jm__cap_query *queries = calloc(2 * count, sizeof *queries);
    jm__cap_posterior *posteriors = calloc(2 * count, sizeof *posteriors);
    jm_status status =
        queries != NULL && posteriors != NULL ? JM_OK : jm__no_memory(err, "jm_cap_plan_predictions");
    for (size_t i = 0; status == JM_OK && i < count; i++) {
        queries[2 * i] = (jm__cap_query){caps_w[i], NAN};
        queries[2 * i + 1] = (jm__cap_query){caps_w[i], plan->options.reference_w};
    }
    if (status == JM_OK) status = jm__cap_posterior_of(fit, queries, 2 * count, posteriors, err);
    for (size_t i = 0; status == JM_OK && i < count; i++) {
        out[i] = prediction_of(&posteriors[2 * i], &posteriors[2 * i + 1], first);
        out[i].cap_w = caps_w[i];
        out[i].probes = probes_at(plan, caps_w[i]);
    }
    free(queries);
    free(posteriors);
    return status;
}

jm_status jm_cap_plan_predictions(jm_cap_plan *plan, const jm_cap_prediction **out, size_t *count,
                                  jm_error *err)
{
    *out = NULL;
    *count = 0;
    JM_TRY(update(plan, err));
    JM_TRY(predict(plan, plan->fit, plan->caps_w, plan->cap_count, &plan->probes[0], plan->predictions, err));
    *out = plan->predictions;
    *count = plan->cap_count;
    return JM_OK;
}

jm_status jm_cap_plan_without(jm_cap_plan *plan, double cap_w, jm_cap_prediction *out, jm_error *err)
{
    jm_cap_probe others[JM_CAP_MOST_PROBES];
    size_t count = 0;
    for (size_t i = 0; i < plan->probe_count; i++)
        if (!jm__cap_same(plan->probes[i].cap_w, cap_w)) others[count++] = plan->probes[i];
    if (count == 0) return jm__fail(err, JM_USAGE, 0, "jm_cap_plan_without", "no probe at another cap");
    jm__cap_data data = data_of(plan);
    data.probes = others;
    data.count = count;
    jm__cap_fit *fit;
    JM_TRY(jm__cap_fit_create(&fit, &data, err));
    jm_status status = predict(plan, fit, &cap_w, 1, &others[0], out, err);
    jm__cap_fit_free(fit);
    return status;
}

/* 0.9 of the reference is a change of -0.1. */
static jm_cap_figure change_of(jm_cap_figure relative)
{
    return (jm_cap_figure){relative.value - 1, relative.low - 1, relative.high - 1};
}

/* Whether no cap changes time or energy. */
static bool is_inert(const jm_cap_prediction *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!jm__cap_is_negligible(change_of(all[i].relative[JM_CAP_TIME])) ||
            !jm__cap_is_negligible(change_of(all[i].relative[JM_CAP_ENERGY])))
            return false;
    return true;
}

/* Gain from a relative figure: 0.9 of the reference is a gain of 0.1. */
static jm_cap_figure gain_of(const jm__cap_posterior *posterior, int quantity)
{
    jm_cap_figure f = jm__cap_figure_of(posterior, quantity, 1);
    return (jm_cap_figure){1 - f.value, 1 - f.high, 1 - f.low};
}

jm_status jm_cap_plan_choice(jm_cap_plan *plan, jm_cap_choice *out, jm_error *err)
{
    const jm_cap_prediction *all;
    size_t count;
    *out = (jm_cap_choice){.reference_w = plan->options.reference_w};
    JM_TRY(jm_cap_plan_predictions(plan, &all, &count, err));
    bool inert = plan->tried_count > 1 && is_inert(all, count);
    const jm__cap_tried *best = &plan->tried[inert ? 0 : plan->best];
    out->cap_w = best->cap_w;
    out->saving = gain_of(&best->posterior, JM_CAP_ENERGY);
    out->gain = gain_of(&best->posterior, (int)plan->options.objective);
    out->slowdown = change_of(jm__cap_figure_of(&best->posterior, JM_CAP_TIME, 1));
    out->verdict = inert                     ? JM_CAP_INERT
                   : best == &plan->tried[0] ? JM_CAP_REFERENCE
                   : out->gain.low > 0       ? JM_CAP_BETTER
                                             : JM_CAP_MAYBE;
    out->expected_gain = plan->gains[largest_gain(plan)];
    for (size_t t = 0; t < plan->tried_count; t++)
        out->bound_broken += !plan->tried[t].keeps_bound;
    return JM_OK;
}
