/* Whole searches against work whose best cap is known: what they choose, prove and say.
 *
 * JOULEMAP_TEST_SEARCHES: how many of each kind of work (16 in the proof and 1 in
 * check without it; bench/cap_search.py: 100). */
#include "cap_found.h"
#include "cap_searches.h"
#include "proof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int seeds_of_each(void)
{
    const char *text = getenv("JOULEMAP_TEST_SEARCHES");
    return text != NULL ? atoi(text) : proof_seeds(16);
}

/* bench/cap_search.py does it with more seeds, other objectives, bounds and sweeps. */
static void test_searches_choose_well_and_their_intervals_hold(void **unused)
{
    (void)unused;
    int held = 0, proven = 0, seeds = seeds_of_each();
    assert_true(seeds > 0);
    for (int j = 0; j < JOBS; j++) {
        job_tally t = {0};
        for (uint64_t seed = 1; seed <= (uint64_t)seeds; seed++)
            assert_true(job_count(&t, &cap_jobs[j], JM_CAP_ED2P, 0, 0, seed));
        print_message("%s: near the best %d of %d, no difference %d, interval held %d of %d, %.0f windows\n",
                      cap_jobs[j].name, t.near_best, t.seeds, t.inert, t.held, t.proven, t.windows);
        assert_true(t.near_best >= .95 * seeds);
        assert_true(j == INERT ? t.inert >= .95 * seeds : t.inert == 0);
        held += t.held;
        proven += t.proven;
    }
    /* 90 to 98 %, and what so few of 95 % may be off by chance: a standard deviation */
    double chance = sqrt(.95 * .05 * proven);
    if (seeds > 1)
        assert_true(held >= .9 * proven - chance && held <= .98 * proven + chance);
    else
        assert_true(held >= proof_least(proven, .95));
}

static void test_a_sweep_goes_there_and_back_again(void **unused)
{
    (void)unused;
    jm_cap_search *search;
    double caps_w[16];
    uint64_t state = 1;
    assert_int_equal(job_search_create(&search, &cap_jobs[MIXED], JM_CAP_EDP, 0, 8, 3), JM_OK);
    for (size_t i = 0; i < 16; i++) {
        jm_cap_trial trial, again;
        assert_int_equal(jm_cap_search_next(search, &trial, NULL), JM_OK);
        assert_int_equal(jm_cap_search_next(search, &again, NULL), JM_OK);
        assert_memory_equal(&trial, &again, sizeof trial); /* until it is told */
        assert_true(trial.stage == JM_CAP_STAGE_SWEEP && trial.number == i + 1);
        assert_true(trial.reference == (trial.cap_w == cap_high_w));
        caps_w[i] = trial.cap_w;
        const jm_cap_probe probe = job_window(&cap_jobs[MIXED], trial.cap_w, i, &state);
        assert_int_equal(jm_cap_search_tell(search, &probe, NULL), JM_OK);
    }
    assert_true(caps_w[0] == cap_high_w);
    bool falls = true;
    for (size_t i = 0; i < 8; i++) {
        assert_true(caps_w[i] == caps_w[15 - i]); /* a straight drift weighs alike on all */
        for (size_t k = 0; k < i; k++)
            assert_true(caps_w[i] != caps_w[k]);
        falls &= i == 0 || caps_w[i] < caps_w[i - 1];
    }
    assert_false(falls); /* a warm board does not see the caps in their order */
    jm_cap_search_free(search);
}

/* Exact windows with a steep straight drift: nothing of it is left in the saving. */
static void test_the_proof_cancels_a_straight_drift(void **unused)
{
    (void)unused;
    cap_job job = cap_jobs[MIXED];
    job.noise = 1e-9;
    job.drift = .01; /* the last window takes half as long again as the first */
    jm_cap_search *search;
    jm_cap_found f;
    assert_int_equal(job_search_create(&search, &job, JM_CAP_ENERGY, 0, 8, 1), JM_OK);
    assert_int_equal(job_search(search, &job, 1), JM_OK);
    assert_int_equal(jm_cap_search_found(search, &f, NULL), JM_OK);
    found_kept(__BASE_FILE__, search, &f);
    double saving = 1 - job_objective(JM_CAP_ENERGY, &job, f.choice.cap_w) /
                            job_objective(JM_CAP_ENERGY, &job, cap_high_w);
    assert_true(f.proven && f.over && f.proof.whole && f.proof.blocks >= 4);
    /* of the drift in logarithms what is not straight is left: (.01)^2 a window squared */
    assert_true(fabs(f.choice.saving.value - saving) < 5e-4);
    size_t at = 0, from = 0;
    for (size_t i = 0; i < jm_cap_search_told_count(search); i++) {
        const jm_cap_told *told = jm_cap_search_told(search, i);
        if (told->trial.stage != JM_CAP_STAGE_PROOF) continue;
        from += told->trial.reference;
        at += !told->trial.reference;
    }
    assert_true(at == from && at == 2 * f.proof.blocks);
    jm_cap_search_free(search);
}

/* Time that jumps where it is proven: the plan saw another. */
static void test_a_choice_that_breaks_the_bound_in_the_proof_is_refused(void **unused)
{
    (void)unused;
    jm_cap_search *search;
    jm_cap_found f;
    double refused_w = NAN;
    size_t refusals = 0;
    assert_int_equal(job_search_create(&search, &cap_jobs[MIXED], JM_CAP_ENERGY, .05, 0, 1), JM_OK);
    for (uint64_t state = 9;;) {
        jm_cap_trial trial;
        assert_int_equal(jm_cap_search_next(search, &trial, NULL), JM_OK);
        if (trial.stage == JM_CAP_STAGE_OVER) break;
        jm_cap_probe probe = job_window(&cap_jobs[MIXED], trial.cap_w, 0, &state);
        bool proof = trial.stage == JM_CAP_STAGE_PROOF && !trial.reference;
        if (proof && isnan(refused_w)) refused_w = trial.cap_w;
        if (proof && trial.cap_w <= refused_w) probe.time_s *= 1.04;
        refusals += proof && trial.cap_w == refused_w;
        assert_int_equal(jm_cap_search_tell(search, &probe, NULL), JM_OK);
    }
    assert_int_equal(jm_cap_search_found(search, &f, NULL), JM_OK);
    found_kept(__BASE_FILE__, search, &f);
    assert_true(refusals >= 8 && f.choice.cap_w > refused_w && f.choice.cap_w <= cap_high_w);
    assert_true(f.choice.bound_broken >= 1);
    assert_true(f.choice.slowdown.value <= .05);
    said_kept(__BASE_FILE__, search, 0);
    jm_cap_search_free(search);
}

/* A search of exact probes whose proof has the choice 4.5 % slower, its pairs so far apart. */
static jm_cap_search *search_with_scatter(double scatter, jm_cap_found *found)
{
    jm_cap_search *search;
    assert_int_equal(job_search_create(&search, &cap_jobs[MIXED], JM_CAP_ENERGY, .05, 0, 1), JM_OK);
    for (uint64_t state = 9, blocks = 0;;) {
        jm_cap_trial trial;
        assert_int_equal(jm_cap_search_next(search, &trial, NULL), JM_OK);
        if (trial.stage == JM_CAP_STAGE_OVER) break;
        jm_cap_probe probe = job_window(&cap_jobs[MIXED], trial.cap_w, 0, &state);
        if (trial.stage == JM_CAP_STAGE_PROOF && trial.reference) probe.time_s = 1;
        if (trial.stage == JM_CAP_STAGE_PROOF && !trial.reference)
            probe.time_s = 1.045 * (1 + (blocks++ / 2 % 2 == 0 ? scatter : -scatter));
        assert_int_equal(jm_cap_search_tell(search, &probe, NULL), JM_OK);
    }
    assert_int_equal(jm_cap_search_found(search, found, NULL), JM_OK);
    found_kept(__BASE_FILE__, search, found);
    assert_true(found->proven && found->proof.bound_kept && found->choice.cap_w < cap_high_w);
    return search;
}

/* Its mean keeps the bound, and it may well be over it: no more is said than is known. */
static void test_a_bound_inside_of_the_interval_is_said_to_be_unproven(void **unused)
{
    (void)unused;
    jm_cap_found f;
    char *text, *json;
    jm_cap_search *search = search_with_scatter(.006, &f);
    assert_true(f.choice.slowdown.value < .05 && f.choice.slowdown.high > .05);
    assert_true(!f.proof.bound_proven && f.proof.blocks == 8); /* all that it may take */
    assert_int_equal(jm_cap_search_text(search, 400, &text, NULL), JM_OK);
    assert_non_null(strstr(text, "; at most 5 % slower is not proven"));
    said_kept(__BASE_FILE__, search, 50);
    assert_non_null(strstr(text, "the bound of 5 % is not proven"));
    assert_int_equal(jm_cap_search_json(search, &json, NULL), JM_OK);
    assert_non_null(strstr(json, "\"bound_proven\": false"));
    free(text);
    free(json);
    jm_cap_search_free(search);

    search = search_with_scatter(.001, &f);
    assert_true(f.proof.bound_proven && f.choice.slowdown.high <= .05);
    assert_int_equal(jm_cap_search_text(search, 400, &text, NULL), JM_OK);
    assert_null(strstr(text, "not proven"));
    free(text);
    jm_cap_search_free(search);
}

/* Probes that are told as exact, and proofs that are slower by a tenth than those said. */
static void test_a_refusal_after_exact_probes_is_no_fault(void **unused)
{
    (void)unused;
    const jm_cap_plan_options plan = {.size = sizeof plan,
                                      .objective = JM_CAP_ENERGY,
                                      .max_slowdown = .05,
                                      .low_w = cap_low_w,
                                      .high_w = cap_high_w,
                                      .step_w = CAP_STEP_W};
    const jm_cap_search_options options = {.size = sizeof options, .plan = &plan};
    jm_cap_search *search;
    jm_cap_found f;
    double last_w = 0;
    assert_int_equal(jm_cap_search_create(&search, &options, NULL), JM_OK);
    for (;;) {
        jm_cap_trial trial;
        assert_int_equal(jm_cap_search_next(search, &trial, NULL), JM_OK);
        if (trial.stage == JM_CAP_STAGE_OVER) break;
        bool proof = trial.stage == JM_CAP_STAGE_PROOF && !trial.reference;
        assert_true(!proof || trial.cap_w >= last_w); /* after a refusal a higher one */
        if (proof) last_w = trial.cap_w;
        const jm_cap_probe probe = {.time_s = job_time_s(&cap_jobs[MIXED], trial.cap_w) * (proof ? 1.1 : 1),
                                    .power_w = job_power_w(&cap_jobs[MIXED], trial.cap_w)};
        assert_int_equal(jm_cap_search_tell(search, &probe, NULL), JM_OK);
    }
    assert_int_equal(jm_cap_search_found(search, &f, NULL), JM_OK);
    found_kept(__BASE_FILE__, search, &f);
    assert_true(f.choice.verdict == JM_CAP_REFERENCE && f.choice.bound_broken >= 1);
    said_kept(__BASE_FILE__, search, 29); /* too narrow for a picture */
    jm_cap_search_free(search);
}

static double clock_time_s(double clock_mhz)
{
    return .6 + .4 * 1980 / (clock_mhz > 0 ? clock_mhz : 1980);
}

static double clock_power_w(double clock_mhz)
{
    return 90 + 300 * pow((clock_mhz > 0 ? clock_mhz : 1980) / 1980, 2.4);
}

/* 390 W at most: no cap from 400 W on touches it, and its clock does. */
static void test_a_clock_is_found_where_no_cap_makes_a_difference(void **unused)
{
    (void)unused;
    static const double clocks_mhz[] = {600, 800, 1000, 1200, 1400, 1600, 1800, 1980};
    const jm_cap_plan_options plan = {.size = sizeof plan,
                                      .objective = JM_CAP_ENERGY,
                                      .low_w = 400,
                                      .high_w = 700,
                                      .step_w = 50,
                                      .most_probes = 8,
                                      .drift = .003};
    const jm_cap_search_options options = {
        .size = sizeof options, .plan = &plan, .clocks_mhz = clocks_mhz, .clock_count = 8, .settle_s = 2};
    jm_cap_search *search;
    uint64_t state = 5;
    assert_int_equal(jm_cap_search_create(&search, &options, NULL), JM_OK);
    double last_w = 0, last_mhz = 0;
    for (;;) {
        jm_cap_trial trial;
        assert_int_equal(jm_cap_search_next(search, &trial, NULL), JM_OK);
        if (trial.stage == JM_CAP_STAGE_OVER) break;
        bool changes = trial.cap_w != last_w || trial.clock_mhz != last_mhz;
        assert_true(trial.settle_s == (changes ? 2 : 0));
        last_w = trial.cap_w;
        last_mhz = trial.clock_mhz;
        double time_s = clock_time_s(trial.clock_mhz), power_w = clock_power_w(trial.clock_mhz);
        const jm_cap_probe probe = {0, time_s * (1 + .003 * job_normal(&state)),
                                    power_w * (1 + .003 * job_normal(&state)), .003 * time_s, .003 * power_w};
        assert_int_equal(jm_cap_search_tell(search, &probe, NULL), JM_OK);
    }
    double best = INFINITY;
    for (size_t i = 0; i < 8; i++)
        best = fmin(best, clock_time_s(clocks_mhz[i]) * clock_power_w(clocks_mhz[i]));
    jm_cap_found f;
    assert_int_equal(jm_cap_search_found(search, &f, NULL), JM_OK);
    found_kept(__BASE_FILE__, search, &f);
    assert_true(f.proven && f.clock_mhz > 0 && f.choice.verdict == JM_CAP_BETTER);
    assert_true(clock_time_s(f.clock_mhz) * clock_power_w(f.clock_mhz) <= 1.03 * best);
    said_kept(__BASE_FILE__, search, 80);
    char *json;
    assert_int_equal(jm_cap_search_json(search, &json, NULL), JM_OK);
    assert_non_null(strstr(json, "\"stage\": \"clock\""));
    free(json);
    jm_cap_search_free(search);
}

static void test_parts_have_choices_of_their_own(void **unused)
{
    (void)unused;
    jm_cap_search *search;
    assert_int_equal(job_search_create(&search, &cap_jobs[MIXED], JM_CAP_ENERGY, 0, 8, 1), JM_OK);
    for (uint64_t state = 7;;) {
        jm_cap_trial trial;
        assert_int_equal(jm_cap_search_next(search, &trial, NULL), JM_OK);
        if (trial.stage == JM_CAP_STAGE_OVER) break;
        jm_cap_probe whole = job_window(&cap_jobs[MIXED], trial.cap_w, 0, &state),
                     part = job_window(&cap_jobs[COMPUTE], trial.cap_w, 0, &state),
                     waiting = job_window(&cap_jobs[INERT], trial.cap_w, 0, &state);
        assert_int_equal(jm_cap_search_tell(search, &whole, NULL), JM_OK);
        bool of_cap = trial.stage == JM_CAP_STAGE_SWEEP || trial.stage == JM_CAP_STAGE_PROBE;
        assert_int_equal(jm_cap_search_tell_part(search, trial.number, "waiting", &waiting, NULL),
                         of_cap ? JM_OK : JM_USAGE);
        assert_int_equal(jm_cap_search_tell_part(search, trial.number, "prefill", &part, NULL),
                         of_cap ? JM_OK : JM_USAGE);
        assert_int_equal(jm_cap_search_tell_part(search, trial.number, "prefill", &part, NULL),
                         JM_USAGE); /* twice */
        if (!trial.reference)
            assert_int_equal(jm_cap_search_tell_part(search, trial.number, "late", &part, NULL), JM_USAGE);
    }
    char *json, *text;
    assert_int_equal(jm_cap_search_json(search, &json, NULL), JM_OK);
    assert_non_null(strstr(json, "\"name\": \"prefill\""));
    assert_null(strstr(json, "\"late\""));
    assert_int_equal(jm_cap_search_text(search, 80, &text, NULL), JM_OK);
    assert_non_null(strstr(text, "prefill"));
    said_kept(__BASE_FILE__, search, 30);
    free(json);
    free(text);
    jm_cap_search_free(search);
}

static void test_a_search_that_is_broken_off_says_what_is_known(void **unused)
{
    (void)unused;
    jm_cap_search *search;
    jm_cap_found f;
    jm_cap_trial trial;
    char *text;
    jm_error err;
    uint64_t state = 3;
    assert_int_equal(job_search_create(&search, &cap_jobs[MEMORY], JM_CAP_EDP, 0, 0, 1), JM_OK);
    assert_int_equal(jm_cap_search_found(search, &f, &err), JM_USAGE);
    assert_int_equal(jm_cap_search_text(search, 80, &text, &err), JM_USAGE);
    const jm_cap_probe early = {.time_s = 1, .power_w = 1};
    assert_int_equal(jm_cap_search_tell(search, &early, &err), JM_USAGE); /* no trial was asked for */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(jm_cap_search_next(search, &trial, NULL), JM_OK);
        jm_cap_probe probe = job_window(&cap_jobs[MEMORY], trial.cap_w, 0, &state), bad = probe;
        bad.time_s = 0;
        assert_int_equal(jm_cap_search_tell(search, &bad, &err), JM_USAGE);
        assert_int_equal(jm_cap_search_tell(search, &probe, NULL), JM_OK);
    }
    assert_int_equal(jm_cap_search_found(search, &f, NULL), JM_OK);
    found_kept(__BASE_FILE__, search, &f);
    assert_true(!f.over && !f.proven && isfinite(f.choice.gain.low));
    assert_int_equal(jm_cap_search_text(search, 80, &text, NULL), JM_OK);
    assert_non_null(strstr(text, "broken off"));
    said_kept(__BASE_FILE__, search, 200);
    free(text);
    jm_cap_search_free(search);
}

static jm_status create(jm_cap_search_options options)
{
    const jm_cap_plan_options plan = {.size = sizeof plan, .low_w = 100, .high_w = 200};
    jm_cap_search *search;
    options.size = sizeof options;
    options.plan = &plan;
    jm_status status = jm_cap_search_create(&search, &options, NULL);
    assert_true((status == JM_OK) == (search != NULL));
    jm_cap_search_free(search);
    return status;
}

static void test_options_that_cannot_be_are_refused(void **unused)
{
    (void)unused;
    static const double bad_mhz[] = {1000, -1};
    jm_cap_search *search;
    assert_int_equal(jm_cap_search_create(&search, NULL, NULL), JM_USAGE);
    assert_int_equal(create((jm_cap_search_options){.settle_s = -1}), JM_USAGE);
    assert_int_equal(create((jm_cap_search_options){.window_s = NAN}), JM_USAGE);
    assert_int_equal(create((jm_cap_search_options){.sweep_count = 1}), JM_USAGE);
    assert_int_equal(create((jm_cap_search_options){.sweep_count = 33}), JM_USAGE);
    assert_int_equal(create((jm_cap_search_options){.sweep_count = 8, .sweep_rounds = 9}), JM_USAGE);
    assert_int_equal(create((jm_cap_search_options){.proof_blocks = 1}), JM_USAGE);
    assert_int_equal(create((jm_cap_search_options){.proof_blocks = 5, .most_proof_blocks = 4}), JM_USAGE);
    assert_int_equal(create((jm_cap_search_options){.most_proof_blocks = 65}), JM_USAGE);
    assert_int_equal(create((jm_cap_search_options){.clocks_mhz = bad_mhz, .clock_count = 2}), JM_USAGE);
    assert_int_equal(create((jm_cap_search_options){.clocks_mhz = bad_mhz, .clock_count = 513}), JM_LIMIT);
    assert_int_equal(create((jm_cap_search_options){.sweep_count = 8, .sweep_rounds = 8}), JM_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_searches_choose_well_and_their_intervals_hold),
        cmocka_unit_test(test_a_sweep_goes_there_and_back_again),
        cmocka_unit_test(test_the_proof_cancels_a_straight_drift),
        cmocka_unit_test(test_a_choice_that_breaks_the_bound_in_the_proof_is_refused),
        cmocka_unit_test(test_a_bound_inside_of_the_interval_is_said_to_be_unproven),
        cmocka_unit_test(test_a_refusal_after_exact_probes_is_no_fault),
        cmocka_unit_test(test_a_clock_is_found_where_no_cap_makes_a_difference),
        cmocka_unit_test(test_parts_have_choices_of_their_own),
        cmocka_unit_test(test_a_search_that_is_broken_off_says_what_is_known),
        cmocka_unit_test(test_options_that_cannot_be_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
