/* A search: its options, and which trial follows which. */
#include "cap/search.h"

#include "base/options.h"
#include "base/status.h"
#include "cap/same.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_ROUNDS = 2, USUAL_BLOCKS = 4, USUAL_MOST_BLOCKS = 8 };
static const double usual_width = .01;

static int by_size(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

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
    size_t kept = 0;
    for (size_t i = 0; i < o->clock_count; i++)
        if (!(o->clocks_mhz[i] >= 1 && o->clocks_mhz[i] <= 1e5))
            return jm__fail(err, JM_USAGE, 0, "jm_cap_search_create", "a clock of %g MHz", o->clocks_mhz[i]);
    memcpy(search->clocks_mhz, o->clocks_mhz, o->clock_count * sizeof *search->clocks_mhz);
    qsort(search->clocks_mhz, o->clock_count, sizeof *search->clocks_mhz, by_size);
    for (size_t i = 0; i < o->clock_count; i++)
        if (kept == 0 || search->clocks_mhz[i] > search->clocks_mhz[kept - 1])
            search->clocks_mhz[kept++] = search->clocks_mhz[i];
    o->clock_count = kept;
    return JM_OK;
}

static jm_status check(const jm_cap_search_options *o, jm_error *err)
{
    bool sane = o->plan != NULL && o->settle_s >= 0 && o->settle_s < INFINITY && o->window_s >= 0 &&
                o->window_s < INFINITY && o->proof_blocks >= 2 && o->most_proof_blocks >= o->proof_blocks &&
                o->most_proof_blocks <= JM__CAP_MOST_BLOCKS && o->proof_width > 0;
    return sane ? JM_OK
                : jm__fail(err, JM_USAGE, 0, "jm_cap_search_create", "an option of the search cannot be");
}

static void set_usual(jm_cap_search_options *o)
{
    if (o->sweep_rounds == 0) o->sweep_rounds = USUAL_ROUNDS;
    if (o->proof_blocks == 0) o->proof_blocks = USUAL_BLOCKS;
    if (o->most_proof_blocks == 0)
        o->most_proof_blocks = o->proof_blocks > USUAL_MOST_BLOCKS ? o->proof_blocks : USUAL_MOST_BLOCKS;
    if (o->proof_width == 0) o->proof_width = usual_width;
}

static jm_status set_up(jm_cap_search *search, const jm_cap_search_options *options, jm_error *err)
{
    jm_cap_search_options *o = &search->options;
    JM_TRY(jm__options_copy(o, sizeof *o, options, "jm_cap_search_create", err));
    set_usual(o);
    JM_TRY(check(o, err));
    JM_TRY(jm_cap_plan_create(&search->plan, o->plan, err));
    JM_TRY(copy_clocks(search, err));
    search->stage = o->sweep_count > 0 ? JM_CAP_STAGE_SWEEP : JM_CAP_STAGE_PROBE;
    if (o->sweep_count > 0) JM_TRY(jm__cap_sweep_order(search, err));
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
    free(search->told);
    free(search);
}

/* ---- next */

/* Each of these fills a trial, or leaves its cap NAN: this stage is done. */

static jm_status next_probe(jm_cap_search *search, jm_cap_trial *trial, jm_error *err)
{
    return jm_cap_plan_next(search->plan, &trial->cap_w, err);
}

/* At its end the cap that is best by the model, if it was not among those of the sweep and is to be proven.
 */
static jm_status next_of_sweep(jm_cap_search *search, jm_cap_trial *trial, jm_error *err)
{
    size_t told = search->told_count;
    if (told < search->sweep_length) trial->cap_w = search->sweep_w[told];
    if (told != search->sweep_length || search->options.no_proof) return JM_OK;
    if (search->plan->probe_count == JM_CAP_MOST_PROBES) return JM_OK;
    JM_TRY(jm__cap_plan_know(search->plan, err));
    size_t best = jm__cap_plan_most_gain(search->plan);
    if (search->plan->gains[best] >= search->plan->options.least_gain) {
        trial->stage = JM_CAP_STAGE_PROBE;
        trial->cap_w = search->plan->caps_w[best];
    }
    return JM_OK;
}

static jm_status next_clock(jm_cap_search *search, jm_cap_trial *trial, jm_error *err)
{
    JM_TRY(jm__cap_clock_next(search, &trial->clock_mhz, err));
    if (!isnan(trial->clock_mhz)) trial->cap_w = search->clock_cap_w;
    return JM_OK;
}

static jm_status begin_proof(jm_cap_search *search, bool *any, jm_error *err)
{
    double cap_w, clock_mhz;
    *any = false;
    if (search->options.no_proof || search->proof_count == JM__CAP_MOST_PROOFS) return JM_OK;
    JM_TRY(jm__cap_candidate(search, any, &cap_w, &clock_mhz, err));
    if (!*any) return JM_OK;
    const jm_cap_search_options *o = &search->options;
    uint64_t state = o->seed + search->proof_count;
    search->proofs[search->proof_count++] =
        (jm__cap_proof){.cap_w = cap_w,
                        .clock_mhz = clock_mhz,
                        .choice_first = jm__cap_random(&state) & 1,
                        .first_blocks = o->proof_blocks,
                        .most_blocks = o->most_proof_blocks,
                        .width = o->proof_width,
                        .max_slowdown = search->plan->options.max_slowdown};
    return JM_OK;
}

/* Goes on with the next best only where this one does not keep the bound. */
static jm_status next_of_proof(jm_cap_search *search, jm_cap_trial *trial, jm_error *err)
{
    const jm_cap_plan_options *o = &search->plan->options;
    bool wanted = search->proof_count == 0;
    if (!wanted && jm__cap_proof_is_over(&search->proofs[search->proof_count - 1])) {
        jm_cap_proof result;
        jm__cap_proof_result(&search->proofs[search->proof_count - 1], o->objective, o->max_slowdown,
                             &result);
        if (result.bound_kept || search->proof_count == JM__CAP_MOST_PROOFS) return JM_OK;
        JM_TRY(jm__cap_refuse(search, &result, err));
        wanted = true;
    }
    if (wanted) {
        bool any;
        JM_TRY(begin_proof(search, &any, err));
        if (!any) return JM_OK;
    }
    const jm__cap_proof *proof = &search->proofs[search->proof_count - 1];
    bool reference = jm__cap_proof_is_reference(proof);
    trial->cap_w = reference ? o->reference_w : proof->cap_w;
    trial->clock_mhz = reference ? 0 : proof->clock_mhz;
    return JM_OK;
}

static jm_status next_in_stage(jm_cap_search *search, jm_cap_trial *trial, jm_error *err)
{
    *trial = (jm_cap_trial){.stage = search->stage, .cap_w = NAN};
    switch (search->stage) {
    case JM_CAP_STAGE_PROBE:
        return next_probe(search, trial, err);
    case JM_CAP_STAGE_SWEEP:
        return next_of_sweep(search, trial, err);
    case JM_CAP_STAGE_CLOCK:
        return next_clock(search, trial, err);
    case JM_CAP_STAGE_PROOF:
        return next_of_proof(search, trial, err);
    case JM_CAP_STAGE_OVER:
    case JM_CAP_STAGE_COUNT:
    default:
        return JM_OK;
    }
}

static jm_status begin_stage_after(jm_cap_search *search, jm_error *err)
{
    switch (search->stage) {
    case JM_CAP_STAGE_PROBE:
    case JM_CAP_STAGE_SWEEP:
        JM_TRY(jm__cap_clock_begin(search, err));
        search->stage = JM_CAP_STAGE_CLOCK;
        return JM_OK;
    case JM_CAP_STAGE_CLOCK:
        search->stage = JM_CAP_STAGE_PROOF;
        return JM_OK;
    case JM_CAP_STAGE_PROOF:
    case JM_CAP_STAGE_OVER:
    case JM_CAP_STAGE_COUNT:
    default:
        search->stage = JM_CAP_STAGE_OVER;
        return JM_OK;
    }
}

/* Nothing settles where nothing changes. */
static void set_times(const jm_cap_search *search, jm_cap_trial *trial)
{
    const jm_cap_trial *last = search->told_count > 0 ? &search->told[search->told_count - 1].trial : NULL;
    bool same =
        last != NULL && jm__cap_same(last->cap_w, trial->cap_w) && last->clock_mhz == trial->clock_mhz;
    trial->settle_s = same ? 0 : search->options.settle_s;
    trial->window_s = search->options.window_s;
    trial->reference = jm__cap_same(trial->cap_w, search->plan->options.reference_w) && trial->clock_mhz == 0;
    trial->number = search->told_count + 1;
}

jm_status jm_cap_search_next(jm_cap_search *search, jm_cap_trial *out, jm_error *err)
{
    *out = (jm_cap_trial){.stage = JM_CAP_STAGE_OVER, .cap_w = NAN};
    while (!search->asked && search->stage != JM_CAP_STAGE_OVER) {
        jm_cap_trial trial;
        JM_TRY(next_in_stage(search, &trial, err));
        if (isnan(trial.cap_w)) {
            JM_TRY(begin_stage_after(search, err));
            continue;
        }
        set_times(search, &trial);
        search->trial = trial;
        search->asked = true;
    }
    if (search->asked) *out = search->trial;
    return JM_OK;
}
