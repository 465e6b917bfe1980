/* What the probes say: the incumbent, the choice and its verdict, and what is thought of every cap. */
#include "base/status.h"
#include "cap/plan.h"
#include "cap/same.h"

#include <math.h>
#include <stdlib.h>

/* A model through exact probes gives them back but for the jitter of its matrices. */
static const double rounding = 1e-4;

/* A cap makes no difference where it changes time and energy by less than this, and surely by less than
 * three times it, wherever it is. */
static const double no_difference = .015;

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
    }
}

/* Both what was measured and what the fit makes of it; what drifts cannot be compared as it was measured. */
static bool keeps_bound(const jm_cap_plan *plan, const jm__cap_tried *tried)
{
    double bound = plan->options.max_slowdown;
    if (bound == 0 || tried == &plan->tried[0]) return true;
    bool measured = plan->options.drift > 0 || tried->time_s <= (1 + bound) * plan->tried[0].time_s;
    return measured && tried->belief.mean[JM_CAP_TIME] <= log1p(bound) + rounding;
}

static jm_status judge_tried(jm_cap_plan *plan, jm_error *err)
{
    jm__cap_question questions[JM_CAP_MOST_PROBES];
    jm__cap_belief beliefs[JM_CAP_MOST_PROBES];
    gather_tried(plan);
    for (size_t t = 0; t < plan->tried_count; t++)
        questions[t] = (jm__cap_question){plan->tried[t].cap_w, plan->options.reference_w};
    JM_TRY(jm__cap_believe(plan->fit, questions, plan->tried_count, beliefs, err));
    plan->best = 0;
    for (size_t t = 0; t < plan->tried_count; t++) {
        plan->tried[t].belief = beliefs[t];
        plan->tried[t].keeps_bound = keeps_bound(plan, &plan->tried[t]);
        const double *best = plan->tried[plan->best].belief.mean;
        int o = (int)plan->options.objective;
        if (plan->tried[t].keeps_bound && beliefs[t].mean[o] < best[o]) plan->best = t;
    }
    return JM_OK;
}

/* Standard deviation of log objective of one probe, of those so far. */
static double probe_noise(const jm_cap_plan *plan)
{
    jm__cap_powers powers = jm__cap_powers_of(plan->options.objective);
    double sum = 0;
    for (size_t i = 0; i < plan->probe_count; i++) {
        const jm_cap_probe *p = &plan->probes[i];
        double time = powers.time * p->time_u_s / p->time_s, watts = powers.watts * p->power_u_w / p->power_w;
        sum += time * time + watts * watts;
    }
    return sqrt(sum / (double)plan->probe_count);
}

static jm_status know(jm_cap_plan *plan, jm_error *err)
{
    const jm_cap_plan_options *o = &plan->options;
    JM_TRY(judge_tried(plan, err));
    const jm__cap_aim aim = {o->objective, plan->tried[plan->best].cap_w, o->reference_w, o->max_slowdown,
                             probe_noise(plan)};
    JM_TRY(jm__cap_gains(plan->fit, &aim, plan->caps_w, plan->cap_count, plan->gains, err));
    for (size_t i = 0; i < plan->cap_count; i++)
        if (jm__cap_plan_is_done(plan, plan->caps_w[i])) plan->gains[i] = 0;
    return JM_OK;
}

jm_status jm__cap_plan_know(jm_cap_plan *plan, jm_error *err)
{
    if (plan->fit != NULL) return JM_OK;
    if (plan->probe_count == 0) return jm__fail(err, JM_USAGE, 0, "jm_cap_plan", "no probe was told");
    jm__cap_data data = data_of(plan);
    JM_TRY(jm__cap_fit_create(&plan->fit, &data, err));
    jm_status status = know(plan, err);
    if (status != JM_OK) {
        jm__cap_fit_free(plan->fit);
        plan->fit = NULL;
    }
    return status;
}

static size_t probes_at(const jm_cap_plan *plan, double cap_w)
{
    size_t count = 0;
    for (size_t i = 0; i < plan->probe_count; i++)
        count += jm__cap_same(plan->probes[i].cap_w, cap_w);
    return count;
}

/* Of beliefs: the cap by itself, in units of the fit's first probe, and the cap against the reference. */
static jm_cap_prediction prediction_of(const jm__cap_belief *alone, const jm__cap_belief *relative,
                                       const jm_cap_probe *first)
{
    jm_cap_prediction p = {.power_w = jm__cap_figure_of(alone, JM__CAP_WATTS, first->power_w)};
    for (int o = 0; o < JM_CAP_OBJECTIVE_COUNT; o++) {
        double unit = jm__cap_objective_of((jm_cap_objective)o, first->time_s, first->power_w);
        p.objectives[o] = jm__cap_figure_of(alone, o, unit);
        p.relative[o] = jm__cap_figure_of(relative, o, 1);
    }
    p.time_s = p.objectives[JM_CAP_TIME];
    p.energy_j = p.objectives[JM_CAP_ENERGY];
    return p;
}

static jm_status predict(const jm_cap_plan *plan, const jm__cap_fit *fit, const double *caps_w, size_t count,
                         const jm_cap_probe *first, jm_cap_prediction *out, jm_error *err)
{
    jm__cap_question *questions = calloc(2 * count, sizeof *questions);
    jm__cap_belief *beliefs = calloc(2 * count, sizeof *beliefs);
    jm_status status =
        questions != NULL && beliefs != NULL ? JM_OK : jm__no_memory(err, "jm_cap_plan_predictions");
    for (size_t i = 0; status == JM_OK && i < count; i++) {
        questions[2 * i] = (jm__cap_question){caps_w[i], NAN};
        questions[2 * i + 1] = (jm__cap_question){caps_w[i], plan->options.reference_w};
    }
    if (status == JM_OK) status = jm__cap_believe(fit, questions, 2 * count, beliefs, err);
    for (size_t i = 0; status == JM_OK && i < count; i++) {
        out[i] = prediction_of(&beliefs[2 * i], &beliefs[2 * i + 1], first);
        out[i].cap_w = caps_w[i];
        out[i].probes = probes_at(plan, caps_w[i]);
    }
    free(questions);
    free(beliefs);
    return status;
}

jm_status jm_cap_plan_predictions(jm_cap_plan *plan, const jm_cap_prediction **out, size_t *count,
                                  jm_error *err)
{
    *out = NULL;
    *count = 0;
    JM_TRY(jm__cap_plan_know(plan, err));
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

static bool hardly_changes(const jm_cap_figure *relative)
{
    return fabs(relative->value - 1) < no_difference && relative->low > 1 - 3 * no_difference &&
           relative->high < 1 + 3 * no_difference;
}

/* Time and energy alike, at all caps. */
static bool is_inert(const jm_cap_prediction *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!hardly_changes(&all[i].relative[JM_CAP_TIME]) ||
            !hardly_changes(&all[i].relative[JM_CAP_ENERGY]))
            return false;
    return true;
}

/* 0.9 of the reference's is a gain of 0.1. */
static jm_cap_figure gain_of(const jm__cap_belief *belief, int quantity)
{
    jm_cap_figure f = jm__cap_figure_of(belief, quantity, 1);
    return (jm_cap_figure){1 - f.value, 1 - f.high, 1 - f.low};
}

static void describe(const jm_cap_plan *plan, const jm__cap_tried *tried, jm_cap_choice *out)
{
    jm_cap_figure time = jm__cap_figure_of(&tried->belief, JM_CAP_TIME, 1);
    out->cap_w = tried->cap_w;
    out->saving = gain_of(&tried->belief, JM_CAP_ENERGY);
    out->gain = gain_of(&tried->belief, (int)plan->options.objective);
    out->slowdown = (jm_cap_figure){time.value - 1, time.low - 1, time.high - 1};
}

jm_status jm_cap_plan_choice(jm_cap_plan *plan, jm_cap_choice *out, jm_error *err)
{
    const jm_cap_prediction *all;
    size_t count;
    *out = (jm_cap_choice){.reference_w = plan->options.reference_w};
    JM_TRY(jm_cap_plan_predictions(plan, &all, &count, err));
    bool inert = plan->tried_count > 1 && is_inert(all, count);
    const jm__cap_tried *best = &plan->tried[inert ? 0 : plan->best];
    describe(plan, best, out);
    out->verdict = inert                     ? JM_CAP_INERT
                   : best == &plan->tried[0] ? JM_CAP_REFERENCE
                   : out->gain.low > 0       ? JM_CAP_BETTER
                                             : JM_CAP_MAYBE;
    out->expected_gain = plan->gains[jm__cap_plan_most_gain(plan)];
    for (size_t t = 0; t < plan->tried_count; t++)
        out->bound_broken += !plan->tried[t].keeps_bound;
    return JM_OK;
}
