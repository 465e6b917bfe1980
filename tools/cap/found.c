/* What a search found, at its end or as it stands. */
#include "base/status.h"
#include "cap/same.h"
#include "cap/search.h"

#include <math.h>

/* A cap makes no difference where it changes time and energy by less than this, and surely by less than three
 * times it: as in plan.c. */
static const double no_difference = .015;

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

/* Shares of shares: 10 % less of what is 10 % less is 19 % less. Independent, so in quadrature. */
static jm_cap_figure both(jm_cap_figure a, jm_cap_figure b, int sign)
{
    double value = log1p(sign * a.value) + log1p(sign * b.value);
    double half =
        hypot(log1p(sign * a.high) - log1p(sign * a.low), log1p(sign * b.high) - log1p(sign * b.low)) / 2;
    double low = sign * expm1(value - half), high = sign * expm1(value + half);
    return (jm_cap_figure){sign * expm1(value), fmin(low, high), fmax(low, high)};
}

/* The clock's choice is against no bound at the same cap. */
static jm_status add_clock(jm_cap_search *search, jm_cap_found *found, jm_error *err)
{
    jm_cap_choice by_clock;
    jm_cap_choice *c = &found->choice;
    JM_TRY(jm__cap_clock_choice(search, &found->clock_mhz, &by_clock, err));
    if (found->clock_mhz == 0) return JM_OK;
    c->saving = both(c->saving, by_clock.saving, -1);
    c->gain = both(c->gain, by_clock.gain, -1);
    c->slowdown = both(c->slowdown, by_clock.slowdown, 1);
    c->verdict = c->gain.low > 0 ? JM_CAP_BETTER : JM_CAP_MAYBE;
    return JM_OK;
}

static bool hardly(const jm_cap_figure *change)
{
    return fabs(change->value) < no_difference && change->low > -3 * no_difference &&
           change->high < 3 * no_difference;
}

/* By what is likeliest alone: where a proof has looked, it has the say on how sure that is. */
static bool seems_inert(const jm__cap_result *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (fabs(r->all[i].relative[JM_CAP_TIME].value - 1) >= no_difference ||
            fabs(r->all[i].relative[JM_CAP_ENERGY].value - 1) >= no_difference)
            return false;
    return true;
}

static void take_reference(jm_cap_found *found, jm_cap_verdict verdict)
{
    static const jm_cap_figure none = {0, 0, 0};
    found->choice.verdict = verdict;
    found->choice.cap_w = found->choice.reference_w;
    found->choice.saving = found->choice.slowdown = found->choice.gain = none;
    found->clock_mhz = 0;
}

static void judge_proof(jm__cap_result *r)
{
    jm_cap_found *f = &r->found;
    const jm_cap_proof *p = &f->proof;
    f->choice.cap_w = p->cap_w;
    f->clock_mhz = p->clock_mhz;
    f->choice.saving = p->saving;
    f->choice.slowdown = p->slowdown;
    f->choice.gain = p->gain;
    f->choice.verdict = p->gain.low > 0 ? JM_CAP_BETTER : JM_CAP_MAYBE;
    if (hardly(&p->saving) && hardly(&p->slowdown) && p->clock_mhz == 0 && seems_inert(r))
        take_reference(f, JM_CAP_INERT);
    else if (!p->bound_kept || p->gain.value <= 0)
        take_reference(f, JM_CAP_REFERENCE);
}

static size_t refused(const jm_cap_search *search)
{
    const jm_cap_plan_options *o = &search->plan->options;
    size_t count = 0;
    for (size_t i = 0; i < search->proof_count; i++) {
        jm_cap_proof p;
        count += jm__cap_proof_result(&search->proofs[i], o->objective, o->max_slowdown, &p) && p.whole &&
                 !p.bound_kept;
    }
    return count;
}

/* The last one; where that was broken off before it told anything, one before it whose slowdown was not over
 * the bound. */
static void add_proof(const jm_cap_search *search, jm__cap_result *r)
{
    const jm_cap_plan_options *o = &search->plan->options;
    r->found.choice.bound_broken += refused(search);
    for (size_t i = search->proof_count; r->proof == NULL && i-- > 0;) {
        jm_cap_proof told;
        bool last = i + 1 == search->proof_count;
        if (!jm__cap_proof_result(&search->proofs[i], o->objective, o->max_slowdown, &told)) continue;
        if (!last && !told.bound_kept) continue;
        r->proof = &search->proofs[i];
        r->found.proof = told;
    }
    r->found.proven = r->proof != NULL;
    if (r->found.proven) judge_proof(r);
}

/* What the proof measured, geometric means: their ratio is the proof's. */
static void measure(jm_cap_search *search, jm__cap_result *r)
{
    const jm_cap_choice *c = &r->found.choice;
    r->at = mean_at(search->plan, c->cap_w);
    r->reference = mean_at(search->plan, c->reference_w);
    if (r->found.clock_mhz > 0) {
        const jm_cap_plan *clocks = search->clock_plan;
        jm_cap_probe free_running = mean_at(clocks, clocks->options.reference_w);
        jm_cap_probe bound = mean_at(clocks, r->found.clock_mhz * search->clock_w_per_mhz);
        r->at.time_s *= bound.time_s / free_running.time_s;
        r->at.power_w *= bound.power_w / free_running.power_w;
    }
    if (!r->found.proven) return;
    const jm__cap_proof *p = r->proof;
    double windows = (double)(r->found.proof.blocks * JM__CAP_BLOCK) / 2;
    r->reference.time_s = exp(p->from_time / windows);
    r->reference.power_w = exp(p->from_watts / windows);
    bool is_reference = jm__cap_same(c->cap_w, c->reference_w) && r->found.clock_mhz == 0;
    r->at.time_s = is_reference ? r->reference.time_s : exp(p->at_time / windows);
    r->at.power_w = is_reference ? r->reference.power_w : exp(p->at_watts / windows);
}

jm_status jm__cap_search_result(jm_cap_search *search, jm__cap_result *out, jm_error *err)
{
    *out = (jm__cap_result){.found = {.over = search->stage == JM_CAP_STAGE_OVER}};
    JM_TRY(jm_cap_plan_choice(search->plan, &out->found.choice, err));
    JM_TRY(jm_cap_plan_predictions(search->plan, &out->all, &out->count, err));
    JM_TRY(add_clock(search, &out->found, err));
    add_proof(search, out);
    measure(search, out);
    out->has_before = search->plan->tried_count > 1;
    return out->has_before ? jm_cap_plan_without(search->plan, out->found.choice.cap_w, &out->before, err)
                           : JM_OK;
}

jm_status jm_cap_search_found(jm_cap_search *search, jm_cap_found *out, jm_error *err)
{
    jm__cap_result result;
    JM_TRY(jm__cap_search_result(search, &result, err));
    *out = result.found;
    return JM_OK;
}

const char *jm_cap_stage_text(jm_cap_stage stage)
{
    static const char *const texts[] = {
#define X(name, text) text,
        JM_CAP_STAGE_MAP(X)
#undef X
    };
    return stage < JM_CAP_STAGE_COUNT ? texts[stage] : "unknown";
}
