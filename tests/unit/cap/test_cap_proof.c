/* Blocks of reference and choice: whose turn it is, what they say, and when they are enough. */
#include "cap/search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void assert_near(double value, double truth)
{
    if (!(fabs(value - truth) <= 1e-9)) fail_msg("%.12g, not %.12g", value, truth);
}

/* The choice takes 5 % longer at 20 % less power, and all drifts; `noise`: of every second block. */
static void tell_block(jm__cap_proof *proof, double noise)
{
    for (int i = 0; i < JM__CAP_BLOCK; i++) {
        double drift = exp(0.001 * (double)proof->windows);
        bool reference = jm__cap_proof_is_reference(proof);
        double off = proof->windows / JM__CAP_BLOCK % 2 == 1 && !reference ? 1 + noise : 1;
        jm__cap_proof_tell(proof, &(jm_cap_probe){.time_s = (reference ? 2 : 2.1) * drift * off,
                                                  .power_w = reference ? 500 : 400});
    }
}

static void test_blocks_begin_with_each_in_turn(void **state)
{
    (void)state;
    static const bool wanted[2][12] = {
        {true, false, false, true, false, true, true, false, true, false, false, true},
        {false, true, true, false, true, false, false, true, false, true, true, false}};
    for (int first = 0; first < 2; first++) {
        jm__cap_proof proof = {.choice_first = first == 1, .first_blocks = 4, .most_blocks = 8};
        for (size_t i = 0; i < 12; i++) {
            assert_int_equal(proof.windows, i);
            assert_int_equal(jm__cap_proof_is_reference(&proof), wanted[first][i]);
            jm__cap_proof_tell(&proof, &(jm_cap_probe){.time_s = 1, .power_w = 1});
        }
    }
}

static void test_a_drift_is_nobodys_and_the_saving_is_the_choices(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        jm__cap_proof proof = {.cap_w = 400,
                               .clock_mhz = 1500,
                               .choice_first = first == 1,
                               .first_blocks = 3,
                               .most_blocks = 8,
                               .width = .01};
        jm_cap_proof result;
        tell_block(&proof, 0);
        assert_false(jm__cap_proof_result(&proof, JM_CAP_ENERGY, 0, &result));
        tell_block(&proof, 0);
        assert_false(jm__cap_proof_is_over(&proof));
        tell_block(&proof, 0);
        assert_true(jm__cap_proof_is_over(&proof));
        assert_true(jm__cap_proof_result(&proof, JM_CAP_ENERGY, 0.04, &result));
        assert_near(result.cap_w, 400);
        assert_near(result.clock_mhz, 1500);
        assert_int_equal(result.blocks, 3);
        assert_near(result.slowdown.value, 0.05);
        assert_near(result.saving.value, 1 - 1.05 * 0.8);
        assert_near(result.gain.value, result.saving.value);
        assert_near(result.saving.low, result.saving.high); /* no noise */
        assert_true(result.whole);
        assert_false(result.bound_kept || result.bound_proven);
        assert_true(jm__cap_proof_result(&proof, JM_CAP_TIME, 0.06, &result));
        assert_near(result.gain.value, -0.05);
        assert_true(result.bound_kept && result.bound_proven);
        assert_true(jm__cap_proof_result(&proof, JM_CAP_TIME, 0, &result));
        assert_true(result.bound_kept && result.bound_proven);
        assert_near(proof.from_time,
                    6 * log(2) + proof.at_time - 6 * log(2.1)); /* the drift is in both alike */
        assert_near(proof.from_watts, 6 * log(500));
        assert_near(proof.at_watts, 6 * log(400));
    }
}

static void test_noise_widens_what_is_said_and_asks_for_more_blocks(void **state)
{
    (void)state;
    jm__cap_proof proof = {.first_blocks = 4, .most_blocks = 6, .width = .001};
    jm_cap_proof result;
    for (int i = 0; i < 4; i++)
        tell_block(&proof, 0.01);
    /* Of four blocks two have log(1.01) more: Student's t of three degrees of freedom, both sides, is 3.1824.
     */
    double deviation = log(1.01) / sqrt(3), half = 3.182446305 * deviation / 2,
           mean = log(1.05 * .8) + log(1.01) / 2;
    assert_true(jm__cap_proof_result(&proof, JM_CAP_ENERGY, 0, &result));
    assert_true(fabs(result.saving.value + expm1(mean)) < 1e-9);
    assert_true(fabs(result.saving.low + expm1(mean + half)) < 1e-6);
    assert_true(fabs(result.saving.high + expm1(mean - half)) < 1e-6);
    assert_false(result.whole);
    tell_block(&proof, 0.01);
    assert_false(jm__cap_proof_is_over(&proof));
    tell_block(&proof, 0.01);
    assert_true(jm__cap_proof_is_over(&proof)); /* more than the most are never asked for */
    proof = (jm__cap_proof){.first_blocks = 4, .most_blocks = 8, .width = .1, .max_slowdown = 0.055};
    for (int i = 0; i < 4; i++)
        tell_block(&proof, 0.01);
    assert_false(
        jm__cap_proof_is_over(&proof)); /* the width would do, but the bound is within the interval */
    proof.max_slowdown = 0.2;
    assert_true(jm__cap_proof_is_over(&proof));
    proof.max_slowdown = 0.01;
    assert_true(jm__cap_proof_is_over(&proof));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks_begin_with_each_in_turn),
        cmocka_unit_test(test_a_drift_is_nobodys_and_the_saving_is_the_choices),
        cmocka_unit_test(test_noise_widens_what_is_said_and_asks_for_more_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
