/* A search: chooses trials, takes their results, runs the proof (confirmation), and gives the result. */
#include "cap/search.h"

#include "attribute/fit/student.h"
#include "base/options.h"
#include "base/status.h"
#include "cap/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The proof: blocks of four windows, their differences, and Student's intervals.
 *
 * In a block ABBA (or BAAB) a linear drift has the same weight on A and B. Blocks are compared in logarithms.
 * The number of blocks follows C. Stein, A two-sample test for a linear hypothesis whose power is independent
 * of the variance (1945): the spread of the first blocks determines how many are needed, and the interval. So
 * the interval keeps its 95 % for any number of blocks. */

enum { REFERENCE, CHOICE };

static size_t blocks_of(const jm__cap_proof *proof)
{
    return proof->windows / JM__CAP_BLOCK;
}

/* What the next window measures. */
static int next_side(const jm__cap_proof *proof)
{
    size_t place = proof->windows % JM__CAP_BLOCK;
    bool choice_first = proof->choice_first != (blocks_of(proof) % 2 == 1);
    bool outer = place == 0 || place == JM__CAP_BLOCK - 1;
    return outer == choice_first ? CHOICE : REFERENCE;
}

static void proof_add(jm__cap_proof *proof, const jm_cap_probe *probe)
{
    size_t block = blocks_of(proof);
    int side = next_side(proof);
    proof->blocks[block].time[side] += log(probe->time_s);
    proof->blocks[block].watts[side] += log(probe->power_w);
    proof->windows++;
}

/* Geometric means, whose ratio is the proof's result. */
static jm_cap_probe proof_mean(const jm__cap_proof *proof, int side, double cap_w)
{
    double time = 0, watts = 0, windows = (double)(blocks_of(proof) * JM__CAP_BLOCK) / 2;
    for (size_t i = 0; i < blocks_of(proof); i++) {
        time += proof->blocks[i].time[side];
        watts += proof->blocks[i].watts[side];
    }
    return (jm_cap_probe){.cap_w = cap_w, .time_s = exp(time / windows), .power_w = exp(watts / windows)};
}

/* The change of an objective from the reference to the choice. */
typedef struct log_change {
    double mean, half; /* of the logarithm; the interval's spread is that of the first blocks */
    double needed;     /* number of blocks for an interval as narrow as the target */
} log_change;

static log_change find_change(const jm_cap_search *search, const jm__cap_proof *proof,
                              jm_cap_objective objective)
{
    jm__cap_powers powers = jm__cap_objectives[objective].powers;
    size_t blocks = blocks_of(proof), first = search->options.proof_blocks;
    double pairs = JM__CAP_BLOCK / 2, mean = 0, first_mean = 0, squares = 0;
    if (first > blocks) first = blocks;
    for (size_t i = 0; i < blocks; i++) {
        const double *time = proof->blocks[i].time, *watts = proof->blocks[i].watts;
        double value = powers.time * ((time[CHOICE] - time[REFERENCE]) / pairs) +
                       powers.watts * ((watts[CHOICE] - watts[REFERENCE]) / pairs);
        mean += (value - mean) / (double)(i + 1);
        if (i >= first) continue;
        double deviation = value - first_mean;
        first_mean += deviation / (double)(i + 1);
        squares += deviation * (value - first_mean);
    }
    double spread = jm__student_quantile(.95, (double)(first - 1)) * sqrt(squares / (double)(first - 1));
    return (log_change){mean, spread / sqrt((double)blocks), pow(spread / search->options.proof_width, 2)};
}

static jm_cap_figure figure_of(log_change c)
{
    return (jm_cap_figure){expm1(c.mean), expm1(c.mean - c.half), expm1(c.mean + c.half)};
}

static bool proof_is_complete(const jm_cap_search *search, const jm__cap_proof *proof)
{
    size_t blocks = blocks_of(proof);
    double bound = search->plan->options.max_slowdown;
    if (blocks < search->options.proof_blocks) return false;
    if (blocks >= search->options.most_proof_blocks) return true;
    jm_cap_figure slowdown = figure_of(find_change(search, proof, JM_CAP_TIME));
    bool bound_is_open = bound > 0 && slowdown.low <= bound && slowdown.high > bound;
    return (double)blocks >= find_change(search, proof, JM_CAP_ENERGY).needed && !bound_is_open;
}

static jm_cap_figure negated(jm_cap_figure change)
{
    return (jm_cap_figure){-change.value, -change.high, -change.low};
}

/* The result of the blocks so far. False: fewer than two. */
static bool proof_result(const jm_cap_search *search, const jm__cap_proof *proof, jm_cap_proof *out)
{
    const jm_cap_plan_options *o = &search->plan->options;
    *out = (jm_cap_proof){.cap_w = proof->cap_w, .clock_mhz = proof->clock_mhz, .blocks = blocks_of(proof)};
    if (out->blocks < 2) return false;
    out->slowdown = figure_of(find_change(search, proof, JM_CAP_TIME));
    out->saving = negated(figure_of(find_change(search, proof, JM_CAP_ENERGY)));
    out->gain = negated(figure_of(find_change(search, proof, o->objective)));
    out->whole = proof_is_complete(search, proof);
    out->bound_kept = o->max_slowdown == 0 || out->slowdown.value <= o->max_slowdown;
    out->bound_proven = o->max_slowdown == 0 || out->slowdown.high <= o->max_slowdown;
    return true;
}

/* ---- the sweep: which caps, in which order */

/* splitmix64 (D. Lemire, S. Vigna). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* The caps nearest to equal steps over the range, without duplicates; the reference replaces its nearest cap.
 */
static size_t spread(const jm_cap_plan *plan, size_t count, double *caps_w)
{
    double low_w = plan->caps_w[0], width = plan->caps_w[plan->cap_count - 1] - low_w;
    size_t kept = 0, at = 0, nearest = 0;
    for (size_t i = 0; i < count; i++) {
        double target = low_w + width * (double)i / (double)(count - 1);
        while (at + 1 < plan->cap_count &&
               fabs(plan->caps_w[at + 1] - target) <= fabs(plan->caps_w[at] - target))
            at++;
        if (kept == 0 || !jm__cap_same(caps_w[kept - 1], plan->caps_w[at])) caps_w[kept++] = plan->caps_w[at];
    }
    for (size_t i = 0; i < kept; i++)
        if (fabs(caps_w[i] - plan->options.reference_w) < fabs(caps_w[nearest] - plan->options.reference_w))
            nearest = i;
    caps_w[nearest] = caps_w[0];
    caps_w[0] = plan->options.reference_w;
    return kept;
}

static void shuffle(double *caps_w, size_t count, uint64_t seed)
{
    uint64_t state = seed;
    for (size_t i = count; i > 1; i--) {
        size_t other = next_random(&state) % i;
        double kept_w = caps_w[i - 1];
        caps_w[i - 1] = caps_w[other];
        caps_w[other] = kept_w;
    }
}

/* The reference comes first. The way back ends with it, so that the mean time of each cap is the middle. */
static jm_status order_sweep(jm_cap_search *search, jm_error *err)
{
    size_t rounds = search->options.sweep_rounds, target = search->options.sweep_count;
    if (target < 2 || target > JM_CAP_MOST_PROBES / 2 || rounds > JM_CAP_MOST_PROBES / target)
        return jm__fail(err, JM_USAGE, 0, "jm_cap_search_create", "a sweep of %zu caps, %zu times", target,
                        rounds);
    size_t count = spread(search->plan, target, search->sweep_w);
    shuffle(search->sweep_w + 1, count - 1, search->options.seed);
    for (size_t round = 1; round < rounds; round++)
        for (size_t i = 0; i < count; i++)
            search->sweep_w[round * count + i] = search->sweep_w[round * count - 1 - i];
    search->sweep_length = rounds * count;
    return JM_OK;
}

/* ---- creation */

enum { DEFAULT_ROUNDS = 2, DEFAULT_BLOCKS = 4, DEFAULT_BLOCKS_MAX = 8 };
static const double default_width = .01;

static jm_status copy_clocks(jm_cap_search *search, jm_error *err)
{
    jm_cap_search_options *o = &search->options;
    if (o->clock_count > JM_CAP_MOST_CAPS)
        return jm__fail(err, JM_LIMIT, 0, "jm_cap_search_create", "more than %d clocks", JM_CAP_MOST_CAPS);
    if (o->clock_count == 0 || o->clocks_mhz == NULL) {
        o->clock_count = 0;
        return JM_OK;
    }
    search->clocks_mhz = calloc(o->clock_count, sizeof *search->clocks_mhz);
    if (search->clocks_mhz == NULL) return jm__no_memory(err, "jm_cap_search_create");
    for (size_t i = 0; i < o->clock_count; i++)
        if (!(o->clocks_mhz[i] >= 1 && o->clocks_mhz[i] <= 1e5))
            return jm__fail(err, JM_USAGE, 0, "jm_cap_search_create", "a clock of %g MHz", o->clocks_mhz[i]);
    memcpy(search->clocks_mhz, o->clocks_mhz, o->clock_count * sizeof *search->clocks_mhz);
    o->clock_count = jm__cap_sort(search->clocks_mhz, o->clock_count);
    return JM_OK;
}

static jm_status check_options(const jm_cap_search_options *o, jm_error *err)
{
    bool valid = o->plan != NULL && o->settle_s >= 0 && o->settle_s < INFINITY && o->window_s >= 0 &&
                 o->window_s < INFINITY && o->proof_blocks >= 2 && o->most_proof_blocks >= o->proof_blocks &&
                 o->most_proof_blocks <= JM__CAP_MOST_BLOCKS && o->proof_width > 0;
    return valid ? JM_OK
                 : jm__fail(err, JM_USAGE, 0, "jm_cap_search_create", "an option of the search is invalid");
}

static void set_defaults(jm_cap_search_options *o)
{
    if (o->sweep_rounds == 0) o->sweep_rounds = DEFAULT_ROUNDS;
    if (o->proof_blocks == 0) o->proof_blocks = DEFAULT_BLOCKS;
    if (o->most_proof_blocks == 0)
        o->most_proof_blocks = o->proof_blocks > DEFAULT_BLOCKS_MAX ? o->proof_blocks : DEFAULT_BLOCKS_MAX;
    if (o->proof_width == 0) o->proof_width = default_width;
}

static jm_status set_up(jm_cap_search *search, const jm_cap_search_options *options, jm_error *err)
{
    jm_cap_search_options *o = &search->options;
    JM_TRY(jm__options_copy(o, sizeof *o, options, "jm_cap_search_create", err));
    set_defaults(o);
    JM_TRY(check_options(o, err));
    JM_TRY(jm_cap_plan_create(&search->plan, o->plan, err));
    JM_TRY(copy_clocks(search, err));
    search->stage = o->sweep_count > 0 ? JM_CAP_STAGE_SWEEP : JM_CAP_STAGE_PROBE;
    if (o->sweep_count > 0) JM_TRY(order_sweep(search, err));
    o->plan = NULL;
    o->clocks_mhz = NULL;
    return JM_OK;
}

jm_status jm_cap_search_create(jm_cap_search **out, const jm_cap_search_options *options, jm_error *err)
{
    *out = NULL;
    jm_cap_search *search = calloc(1, sizeof *search);
    if (search == NULL) return jm__no_memory(err, "jm_cap_search_create");
    jm_status status = set_up(search, options, err);
    if (status == JM_OK)
        *out = search;
    else
        jm_cap_search_free(search);
    return status;
}

void jm_cap_search_free(jm_cap_search *search)
{
    if (search == NULL) return;
    for (size_t i = 0; i < search->part_count; i++) {
        free(search->parts[i].name);
        jm_cap_plan_free(search->parts[i].plan);
    }
    jm_cap_plan_free(search->plan);
    jm_cap_plan_free(search->clock_plan);
    free(search->clocks_mhz);
    jm__vec_free(&search->results);
    free(search);
}

/* ---- the SM clock as a second parameter: coordinate search with the same planner
 *
 * A bound of the clock acts like a cap: no effect above the usual clock, slower and more efficient below. So
 * a plan gets clocks as watts; the highest clock is the power at the chosen cap. */

/* The slowdown that the bound still allows at the chosen cap. Where that was measured as far quicker than the
 * reference, more than any plan takes would be left. */
static double remaining_bound(const jm_cap_search *search, const jm_cap_choice *choice)
{
    static const double enough = 100;
    double bound = search->plan->options.max_slowdown;
    return bound == 0 ? 0 : fmin(enough, (1 + bound) / (1 + choice->slowdown.value) - 1);
}

static double power_at(const jm_cap_search *search, double cap_w)
{
    double power_w = 0;
    for (size_t i = 0; i < search->plan->probe_count; i++)
        if (jm__cap_same(search->plan->probes[i].cap_w, cap_w)) power_w = search->plan->probes[i].power_w;
    return power_w;
}

static jm_status plan_clocks(jm_cap_search *search, double max_slowdown, jm_error *err)
{
    double watts[JM_CAP_MOST_CAPS];
    size_t count = search->options.clock_count;
    search->clock_w_per_mhz = power_at(search, search->clock_cap_w) / search->clocks_mhz[count - 1];
    for (size_t i = 0; i < count; i++)
        watts[i] = search->clocks_mhz[i] * search->clock_w_per_mhz;
    jm_cap_plan_options options = search->plan->options;
    options.size = sizeof options;
    options.caps_w = watts;
    options.cap_count = count;
    options.low_w = options.high_w = options.step_w = options.reference_w = 0;
    options.max_slowdown = max_slowdown;
    return jm_cap_plan_create(&search->clock_plan, &options, err);
}

/* Make the plan for clocks at the chosen cap, unless there is nothing to try. */
static jm_status begin_clock(jm_cap_search *search, jm_error *err)
{
    static const double least_bound = 1e-3;
    jm_cap_choice choice;
    if (search->options.clock_count < 2) return JM_OK;
    JM_TRY(jm_cap_plan_choice(search->plan, &choice, err));
    double bound = remaining_bound(search, &choice);
    if (search->plan->options.max_slowdown > 0 && bound < least_bound) return JM_OK;
    search->clock_cap_w = choice.cap_w;
    return plan_clocks(search, bound, err);
}

/* The clock of the plan's watts; 0 (no bound) for the highest. */
static double clock_of_watts(const jm_cap_search *search, double watts)
{
    size_t last = search->options.clock_count - 1;
    for (size_t i = 0; i < last; i++)
        if (fabs(search->clocks_mhz[i] * search->clock_w_per_mhz - watts) < 1e-9 * watts)
            return search->clocks_mhz[i];
    return 0;
}

static jm_status add_clock_result(jm_cap_search *search, const jm_cap_probe *probe, jm_error *err)
{
    jm_cap_probe result = *probe;
    double clock_mhz = search->trial.clock_mhz;
    if (clock_mhz == 0) clock_mhz = search->clocks_mhz[search->options.clock_count - 1];
    result.cap_w = clock_mhz * search->clock_w_per_mhz;
    return jm_cap_plan_tell(search->clock_plan, &result, err);
}

static jm_status cap_clock_choice(jm_cap_search *search, double *clock_mhz, jm_cap_choice *choice,
                                  jm_error *err)
{
    *clock_mhz = 0;
    if (search->clock_plan == NULL || search->clock_plan->probe_count < 2) return JM_OK;
    JM_TRY(jm_cap_plan_choice(search->clock_plan, choice, err));
    *clock_mhz = clock_of_watts(search, choice->cap_w);
    return JM_OK;
}

/* ---- candidates for the proof: the best, and after a refusal (bound broken) the next best */

static bool was_refused(const jm_cap_search *search, double cap_w, double clock_mhz)
{
    for (size_t i = 0; i < search->proof_count; i++)
        if (jm__cap_same(search->proofs[i].cap_w, cap_w) && search->proofs[i].clock_mhz == clock_mhz)
            return true;
    return false;
}

/* The highest cap that a proof refused without a clock bound; 0: none. Lower caps are no faster. */
static double refused_up_to_w(const jm_cap_search *search)
{
    double most_w = 0;
    for (size_t i = 0; i < search->proof_count; i++)
        if (search->proofs[i].clock_mhz == 0) most_w = fmax(most_w, search->proofs[i].cap_w);
    return most_w;
}

/* The best cap by the model, which includes the refusals: any cap above them, tried or not, as the proof will
 * try it. NAN: none is better than the reference. */
static jm_status next_best(jm_cap_search *search, double *cap_w, jm_error *err)
{
    const jm_cap_plan_options *o = &search->plan->options;
    const jm_cap_prediction *all;
    size_t count;
    double best = 1, above_w = refused_up_to_w(search) + jm__cap_apart_w;
    *cap_w = NAN;
    JM_TRY(jm_cap_plan_predictions(search->plan, &all, &count, err));
    for (size_t i = 0; i < count; i++) {
        const jm_cap_figure *relative = all[i].relative;
        if (all[i].cap_w <= above_w || jm__cap_same(all[i].cap_w, o->reference_w)) continue;
        if (o->max_slowdown > 0 && relative[JM_CAP_TIME].value > 1 + o->max_slowdown) continue;
        if (relative[o->objective].value >= best) continue;
        best = relative[o->objective].value;
        *cap_w = all[i].cap_w;
    }
    return JM_OK;
}

/* The best candidate that no proof has refused. NAN as its cap: only the reference is left. */
static jm_status find_candidate(jm_cap_search *search, double *cap_w, double *clock_mhz, jm_error *err)
{
    jm_cap_choice by_cap, by_clock;
    JM_TRY(jm_cap_plan_choice(search->plan, &by_cap, err));
    JM_TRY(cap_clock_choice(search, clock_mhz, &by_clock, err));
    *cap_w = search->clock_cap_w;
    if (*clock_mhz > 0 && !was_refused(search, *cap_w, *clock_mhz)) return JM_OK;
    *clock_mhz = 0;
    *cap_w = NAN;
    if (by_cap.verdict == JM_CAP_INERT) return JM_OK;
    if (refused_up_to_w(search) > 0) return next_best(search, cap_w, err);
    if (by_cap.verdict != JM_CAP_REFERENCE) *cap_w = by_cap.cap_w;
    return JM_OK;
}

/* Smallest relative uncertainty: a mean of many windows is never exact. */
static const double uncertainty_min = 1e-4;

static double standard_uncertainty(jm_cap_figure change)
{
    return fmax((change.high - change.low) / (2 * 1.96), uncertainty_min);
}

static jm_status add_proof_mean(jm_cap_plan *plan, jm_cap_probe mean, const jm_cap_proof *result,
                                jm_error *err)
{
    mean.time_u_s = fmin(standard_uncertainty(result->slowdown), 1) * mean.time_s;
    mean.power_u_w = fmin(standard_uncertainty(result->saving), 1) * mean.power_w;
    return jm_cap_plan_tell(plan, &mean, err);
}

static bool has_exact_probe(const jm_cap_plan *plan)
{
    for (size_t i = 0; i < plan->probe_count; i++)
        if (!(plan->probes[i].time_u_s > 0 && plan->probes[i].power_u_w > 0)) return true;
    return false;
}

/* The proof's choice breaks the bound: give both its means to the plan as probes. */
static jm_status add_refusal(jm_cap_search *search, const jm__cap_proof *proof, const jm_cap_proof *result,
                             jm_error *err)
{
    jm_cap_plan *plan = search->plan;
    if (proof->clock_mhz > 0 || plan->probe_count + 2 > JM_CAP_MOST_PROBES) return JM_OK;
    if (has_exact_probe(plan)) return JM_OK; /* an exact probe outweighs all others */
    JM_TRY(add_proof_mean(plan, proof_mean(proof, REFERENCE, plan->options.reference_w), result, err));
    return add_proof_mean(plan, proof_mean(proof, CHOICE, proof->cap_w), result, err);
}

/* ---- the next trial: each of these fills it, or leaves its cap NAN if the stage is complete */

/* After the sweep, the best cap by the model, if the sweep lacked it and a proof follows. */
static jm_status next_in_sweep(jm_cap_search *search, jm_cap_trial *trial, jm_error *err)
{
    size_t done = search->results.count;
    if (done < search->sweep_length) trial->cap_w = search->sweep_w[done];
    if (done != search->sweep_length || search->options.no_proof) return JM_OK;
    if (search->plan->probe_count == JM_CAP_MOST_PROBES) return JM_OK;
    trial->stage = JM_CAP_STAGE_PROBE;
    return jm__cap_plan_best(search->plan, &trial->cap_w, err);
}

static jm_status next_clock(jm_cap_search *search, jm_cap_trial *trial, jm_error *err)
{
    double watts;
    if (search->clock_plan == NULL) return JM_OK;
    JM_TRY(jm_cap_plan_next(search->clock_plan, &watts, err));
    if (isnan(watts)) return JM_OK;
    trial->cap_w = search->clock_cap_w;
    trial->clock_mhz = clock_of_watts(search, watts);
    return JM_OK;
}

/* *proof is NULL if only the reference is left. */
static jm_status begin_proof(jm_cap_search *search, const jm__cap_proof **proof, jm_error *err)
{
    double cap_w, clock_mhz;
    uint64_t state = search->options.seed + search->proof_count;
    *proof = NULL;
    JM_TRY(find_candidate(search, &cap_w, &clock_mhz, err));
    if (isnan(cap_w)) return JM_OK;
    jm__cap_proof *begun = &search->proofs[search->proof_count++];
    *begun = (jm__cap_proof){.cap_w = cap_w, .clock_mhz = clock_mhz, .choice_first = next_random(&state) & 1};
    *proof = begun;
    return JM_OK;
}

/* Continue with the next candidate only if this one breaks the bound. */
static jm_status next_in_proof(jm_cap_search *search, jm_cap_trial *trial, jm_error *err)
{
    const jm__cap_proof *proof = search->proof_count > 0 ? &search->proofs[search->proof_count - 1] : NULL;
    if (search->options.no_proof) return JM_OK;
    if (proof != NULL && proof_is_complete(search, proof)) {
        jm_cap_proof result;
        proof_result(search, proof, &result);
        if (result.bound_kept || search->proof_count == JM__CAP_MOST_PROOFS) return JM_OK;
        JM_TRY(add_refusal(search, proof, &result, err));
        proof = NULL;
    }
    if (proof == NULL) JM_TRY(begin_proof(search, &proof, err));
    if (proof == NULL) return JM_OK;
    bool reference = next_side(proof) == REFERENCE;
    trial->cap_w = reference ? search->plan->options.reference_w : proof->cap_w;
    trial->clock_mhz = reference ? 0 : proof->clock_mhz;
    return JM_OK;
}

static jm_status next_in_stage(jm_cap_search *search, jm_cap_trial *trial, jm_error *err)
{
    *trial = (jm_cap_trial){.stage = search->stage, .cap_w = NAN};
    switch (search->stage) {
    case JM_CAP_STAGE_PROBE:
        return jm_cap_plan_next(search->plan, &trial->cap_w, err);
    case JM_CAP_STAGE_SWEEP:
        return next_in_sweep(search, trial, err);
    case JM_CAP_STAGE_CLOCK:
        return next_clock(search, trial, err);
    case JM_CAP_STAGE_PROOF:
        return next_in_proof(search, trial, err);
    case JM_CAP_STAGE_OVER:
    case JM_CAP_STAGE_COUNT:
    default:
        return JM_OK;
    }
}

static jm_status begin_next_stage(jm_cap_search *search, jm_error *err)
{
    if (search->stage >= JM_CAP_STAGE_CLOCK) {
        search->stage = search->stage == JM_CAP_STAGE_CLOCK ? JM_CAP_STAGE_PROOF : JM_CAP_STAGE_OVER;
        return JM_OK;
    }
    JM_TRY(begin_clock(search, err));
    search->stage = JM_CAP_STAGE_CLOCK;
    return JM_OK;
}

/* Without a change there is nothing to settle. */
static void set_times(const jm_cap_search *search, jm_cap_trial *trial)
{
    const jm_cap_trial *last =
        search->results.count > 0 ? &search->results.items[search->results.count - 1].trial : NULL;
    bool same =
        last != NULL && jm__cap_same(last->cap_w, trial->cap_w) && last->clock_mhz == trial->clock_mhz;
    trial->settle_s = same ? 0 : search->options.settle_s;
    trial->window_s = search->options.window_s;
    trial->reference = jm__cap_same(trial->cap_w, search->plan->options.reference_w) && trial->clock_mhz == 0;
    trial->number = search->results.count + 1;
}

jm_status jm_cap_search_next(jm_cap_search *search, jm_cap_trial *out, jm_error *err)
{
    *out = (jm_cap_trial){.stage = JM_CAP_STAGE_OVER, .cap_w = NAN};
    while (!search->pending && search->stage != JM_CAP_STAGE_OVER) {
        jm_cap_trial trial;
        JM_TRY(next_in_stage(search, &trial, err));
        if (isnan(trial.cap_w)) {
            JM_TRY(begin_next_stage(search, err));
            continue;
        }
        set_times(search, &trial);
        search->trial = trial;
        search->pending = true;
    }
    if (search->pending) *out = search->trial;
    return JM_OK;
}

/* ---- results of trials */

static jm_status check_probe(const jm_cap_probe *probe, const char *call, jm_error *err)
{
    bool valid = probe->time_s > 0 && probe->time_s <= 1e9 && probe->power_w > 0 && probe->power_w <= 1e6 &&
                 probe->time_u_s >= 0 && probe->power_u_w >= 0;
    return valid ? JM_OK
                 : jm__fail(err, JM_USAGE, 0, call, "%g s and %g W at a cap of %g W", probe->time_s,
                            probe->power_w, probe->cap_w);
}

static jm_status add_stage_result(jm_cap_search *search, const jm_cap_probe *probe, jm_error *err)
{
    if (search->trial.stage == JM_CAP_STAGE_CLOCK) return add_clock_result(search, probe, err);
    if (search->trial.stage != JM_CAP_STAGE_PROOF) return jm_cap_plan_tell(search->plan, probe, err);
    proof_add(&search->proofs[search->proof_count - 1], probe);
    return JM_OK;
}

jm_status jm_cap_search_tell(jm_cap_search *search, const jm_cap_probe *probe, jm_error *err)
{
    static const char call[] = "jm_cap_search_tell";
    if (!search->pending) return jm__fail(err, JM_USAGE, 0, call, "no trial is pending");
    jm_cap_probe result = *probe;
    result.cap_w = search->trial.cap_w;
    JM_TRY(check_probe(&result, call, err));
    if (!jm__vec_reserve(&search->results, search->results.count + 1)) return jm__no_memory(err, call);
    JM_TRY(add_stage_result(search, &result, err));
    search->results.items[search->results.count++] = (jm_cap_told){search->trial, result};
    search->pending = false;
    return JM_OK;
}

size_t jm_cap_search_told_count(const jm_cap_search *search)
{
    return search->results.count;
}

const jm_cap_told *jm_cap_search_told(const jm_cap_search *search, size_t index)
{
    return index < search->results.count ? &search->results.items[index] : NULL;
}

/* ---- results of parts of the work */

static jm_status new_part(jm_cap_search *search, const char *name, jm__cap_part **out, jm_error *err)
{
    static const char call[] = "jm_cap_search_tell_part";
    if (search->part_count == JM_CAP_MOST_PARTS)
        return jm__fail(err, JM_LIMIT, 0, call, "more than %d parts", JM_CAP_MOST_PARTS);
    jm__cap_part part = {.name = strdup(name)};
    if (part.name == NULL) return jm__no_memory(err, call);
    jm_cap_plan_options options = search->plan->options;
    jm_status status = jm_cap_plan_create(&part.plan, &options, err);
    if (status != JM_OK) {
        free(part.name);
        return status;
    }
    *out = &search->parts[search->part_count++];
    **out = part;
    return JM_OK;
}

jm_status jm_cap_search_tell_part(jm_cap_search *search, size_t number, const char *name,
                                  const jm_cap_probe *probe, jm_error *err)
{
    static const char call[] = "jm_cap_search_tell_part";
    const jm_cap_told *trial_result = number > 0 ? jm_cap_search_told(search, number - 1) : NULL;
    if (trial_result == NULL || trial_result->trial.stage == JM_CAP_STAGE_CLOCK ||
        trial_result->trial.stage == JM_CAP_STAGE_PROOF)
        return jm__fail(err, JM_USAGE, 0, call,
                        "trial %zu is not a trial of a cap, so %s cannot be a part of it", number, name);
    jm__cap_part *part = NULL;
    for (size_t i = 0; i < search->part_count; i++)
        if (strcmp(search->parts[i].name, name) == 0) part = &search->parts[i];
    if (part != NULL && part->last >= number)
        return jm__fail(err, JM_USAGE, 0, call, "%s has a result of trial %zu already", name, part->last);
    if (part == NULL && !trial_result->trial.reference)
        return jm__fail(err, JM_USAGE, 0, call, "the first trial of %s is not the reference's", name);
    jm_cap_probe result = *probe;
    result.cap_w = trial_result->trial.cap_w;
    JM_TRY(check_probe(&result, call, err));
    if (part == NULL) JM_TRY(new_part(search, name, &part, err));
    JM_TRY(jm_cap_plan_tell(part->plan, &result, err));
    part->last = number;
    return JM_OK;
}

/* ---- the result of a search, at its end or before */

/* The means of the measurements at a cap; 0: it was not tried. */
static jm_cap_probe mean_at(const jm_cap_plan *plan, double cap_w)
{
    for (size_t t = 0; t < plan->tried_count; t++)
        if (jm__cap_same(plan->tried[t].cap_w, cap_w))
            return (jm_cap_probe){
                .cap_w = cap_w, .time_s = plan->tried[t].time_s, .power_w = plan->tried[t].power_w};
    return (jm_cap_probe){.cap_w = cap_w};
}

/* Combine two relative changes: 10 % less of 10 % less is 19 % less. They are independent, so their intervals
 * add in quadrature. */
static jm_cap_figure combined(jm_cap_figure a, jm_cap_figure b, int sign)
{
    double value = log1p(sign * a.value) + log1p(sign * b.value);
    double half =
        hypot(log1p(sign * a.high) - log1p(sign * a.low), log1p(sign * b.high) - log1p(sign * b.low)) / 2;
    double low = sign * expm1(value - half), high = sign * expm1(value + half);
    return (jm_cap_figure){sign * expm1(value), fmin(low, high), fmax(low, high)};
}

/* Add the effect of the chosen clock, which is relative to the same cap without a bound. */
static jm_status add_clock(jm_cap_search *search, jm_cap_found *found, jm_error *err)
{
    jm_cap_choice by_clock;
    jm_cap_choice *c = &found->choice;
    JM_TRY(cap_clock_choice(search, &found->clock_mhz, &by_clock, err));
    if (found->clock_mhz == 0) return JM_OK;
    c->saving = combined(c->saving, by_clock.saving, -1);
    c->gain = combined(c->gain, by_clock.gain, -1);
    c->slowdown = combined(c->slowdown, by_clock.slowdown, 1);
    c->verdict = c->gain.low > 0 ? JM_CAP_BETTER : JM_CAP_MAYBE;
    return JM_OK;
}

/* By the predicted values only; the proof provides the interval. */
static bool is_predicted_inert(const jm__cap_result *r)
{
    for (size_t i = 0; i < r->count; i++)
        if (fabs(r->all[i].relative[JM_CAP_TIME].value - 1) >= jm__cap_no_difference ||
            fabs(r->all[i].relative[JM_CAP_ENERGY].value - 1) >= jm__cap_no_difference)
            return false;
    return true;
}

static void choose_reference(jm_cap_found *found, jm_cap_verdict verdict)
{
    static const jm_cap_figure none = {0, 0, 0};
    found->choice.verdict = verdict;
    found->choice.cap_w = found->choice.reference_w;
    found->choice.saving = found->choice.slowdown = found->choice.gain = none;
    found->clock_mhz = 0;
}

static void apply_proof(jm__cap_result *r)
{
    jm_cap_found *f = &r->found;
    const jm_cap_proof *p = &f->proof;
    f->choice.cap_w = p->cap_w;
    f->clock_mhz = p->clock_mhz;
    f->choice.saving = p->saving;
    f->choice.slowdown = p->slowdown;
    f->choice.gain = p->gain;
    f->choice.verdict = p->gain.low > 0 ? JM_CAP_BETTER : JM_CAP_MAYBE;
    if (jm__cap_is_negligible(p->saving) && jm__cap_is_negligible(p->slowdown) && p->clock_mhz == 0 &&
        is_predicted_inert(r))
        choose_reference(f, JM_CAP_INERT);
    else if (!p->bound_kept || p->gain.value <= 0)
        choose_reference(f, JM_CAP_REFERENCE);
}

/* The last proof; if it was interrupted before its first result, an earlier one that kept the bound. */
static void add_proof(const jm_cap_search *search, jm__cap_result *r)
{
    for (size_t i = search->proof_count; i-- > 0;) {
        jm_cap_proof result;
        bool last = i + 1 == search->proof_count;
        if (!proof_result(search, &search->proofs[i], &result)) continue;
        r->found.choice.bound_broken += result.whole && !result.bound_kept;
        if (r->proof != NULL || (!last && !result.bound_kept)) continue;
        r->proof = &search->proofs[i];
        r->found.proof = result;
    }
    r->found.proven = r->proof != NULL;
    if (r->found.proven) apply_proof(r);
}

/* Time and power at the choice and the reference. */
static void set_measurements(jm_cap_search *search, jm__cap_result *r)
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
    bool is_reference = jm__cap_same(c->cap_w, c->reference_w) && r->found.clock_mhz == 0;
    r->reference = proof_mean(r->proof, REFERENCE, c->reference_w);
    r->at = is_reference ? r->reference : proof_mean(r->proof, CHOICE, c->cap_w);
}

jm_status jm__cap_search_result(jm_cap_search *search, jm__cap_result *out, jm_error *err)
{
    *out = (jm__cap_result){
        .search = search, .plan = search->plan, .found = {.over = search->stage == JM_CAP_STAGE_OVER}};
    JM_TRY(jm_cap_plan_choice(search->plan, &out->found.choice, err));
    JM_TRY(jm_cap_plan_predictions(search->plan, &out->all, &out->count, err));
    JM_TRY(add_clock(search, &out->found, err));
    add_proof(search, out);
    set_measurements(search, out);
    out->has_without_choice = search->plan->tried_count > 1;
    return out->has_without_choice
               ? jm_cap_plan_without(search->plan, out->found.choice.cap_w, &out->without_choice, err)
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
