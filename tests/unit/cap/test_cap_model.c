/* Parts of the planner: objectives, laws, the whitening of probes, the expected gain. */
#include "cap/model.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_objectives_are_products_of_time_and_power(void **unused)
{
    (void)unused;
    assert_true(fabs(jm__cap_objective_of(JM_CAP_ENERGY, 2, 100) - 200) < 1e-9);
    assert_true(fabs(jm__cap_objective_of(JM_CAP_EDP, 2, 100) - 400) < 1e-9);
    assert_true(fabs(jm__cap_objective_of(JM_CAP_ED2P, 2, 100) - 800) < 1e-9);
    assert_true(fabs(jm__cap_objective_of(JM_CAP_TIME, 2, 100) - 2) < 1e-9);
    jm_cap_objective objective;
    for (int o = 0; o < JM_CAP_OBJECTIVE_COUNT; o++) {
        assert_int_equal(jm_cap_objective_parse(jm_cap_objective_text((jm_cap_objective)o), &objective, NULL),
                         JM_OK);
        assert_int_equal(objective, o);
    }
    assert_int_equal(jm_cap_objective_parse("ed3p", &objective, NULL), JM_USAGE);
    assert_string_equal(jm_cap_objective_text(JM_CAP_OBJECTIVE_COUNT), "unknown");
}

static void test_a_law_is_flat_above_its_knee_and_as_written_below(void **unused)
{
    (void)unused;
    const jm__cap_law law = {.knee_w = 300, .floor_w = 100, .share = .5};
    assert_true(jm__cap_slowdown(&law, 300) == 0 && jm__cap_slowdown(&law, 700) == 0);
    /* at 200 W the clock is half of what it is at 300: half of the time doubles */
    assert_true(fabs(jm__cap_slowdown(&law, 200) - log(1.5)) < 1e-12);
    assert_true(jm__cap_depth(300, 400) == 0);
    assert_true(fabs(jm__cap_depth(300, 150) - log(.5)) < 1e-12);
}

static void test_every_law_of_the_grid_can_be_computed(void **unused)
{
    (void)unused;
    static const jm__cap_range ranges[] = {{100, 300, 200}, {200, 700, 90}, {1e-6, 1e6, 1}, {400, 400, 399}};
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++)
        for (size_t k = 0; k < JM__CAP_KNEES; k++)
            for (size_t l = 0; l < JM__CAP_LAWS; l++) {
                jm__cap_law law = jm__cap_law_at(&ranges[r], k, l);
                double slowest = jm__cap_slowdown(&law, ranges[r].low_w);
                assert_true(isfinite(law.log_prior) && isfinite(slowest) && slowest >= 0);
                assert_true(jm__cap_slowdown(&law, ranges[r].high_w) <= slowest);
            }
}

static void count_law(void *context, double weight, const jm__cap_answer *answers)
{
    double *sums = context;
    sums[0] += weight;
    sums[1] += weight * answers[0].time;
    sums[2] = fmin(sums[2], fmin(answers[1].time_var, answers[1].watts_var));
}

static void test_weights_add_up_and_no_variance_is_negative(void **unused)
{
    (void)unused;
    static const jm_cap_probe probes[] = {{300, 10, 250, 0, 0}, {200, 11, 190, 0, 0}, {150, 13, 145, .1, 1}};
    const jm__cap_data data = {probes, 3, 100, 300, 0};
    const jm__cap_question questions[] = {{300, NAN}, {200, 200}};
    jm__cap_fit *fit;
    double sums[3] = {0};
    assert_int_equal(jm__cap_fit_create(&fit, &data, NULL), JM_OK);
    assert_int_equal(jm__cap_fit_ask(fit, questions, 2, count_law, sums, NULL), JM_OK);
    assert_true(fabs(sums[0] - 1) < 1e-9);
    assert_true(fabs(sums[1]) < 1e-4); /* the first probe by itself is where all is measured from */
    assert_true(sums[2] >= 0);
    jm__cap_fit_free(fit);
}

/* Covariances of the probes' whitened values are those of the probes: L L' of two values by hand. */
static void test_whitened_values_have_the_likelihood_of_what_they_came_from(void **unused)
{
    (void)unused;
    static const jm_cap_probe probe = {300, 10, 250, 1, 25};
    const jm__cap_data data = {&probe, 1, 100, 300, 0};
    jm__cap_rough *rough;
    assert_int_equal(jm__cap_rough_create(&rough, &data, NULL, 0, NULL), JM_OK);
    jm__cap_rough_set(rough, 300, 1); /* the usual size, at the knee: depth 0 */
    double values[2] = {.3, -.2};
    jm__cap_rough_whiten(rough, values);
    /* variance: level 1, curve .02^2 + .012^2, noise .1^2; covariance: half of the curve, against it */
    double own = 1 + .02 * .02 + .012 * .012 + .1 * .1 + 1e-9, both = -.5 * (.02 * .02 + .012 * .012);
    double determinant = own * own - both * both;
    double chi2 = (own * .09 + 2 * both * .06 + own * .04) / determinant;
    assert_true(fabs(values[0] * values[0] + values[1] * values[1] - chi2) < 1e-9);
    assert_true(fabs(jm__cap_rough_log_det(rough) - log(determinant)) < 1e-9);
    jm__cap_rough_free(rough);
}

static void test_nothing_is_gained_where_all_is_known(void **unused)
{
    (void)unused;
    static const jm_cap_probe probes[] = {{300, 10, 250, 0, 0}, {200, 11, 190, 0, 0}};
    static const double caps_w[] = {100, 200, 250, 300};
    const jm__cap_data data = {probes, 2, 100, 300, 0};
    jm__cap_fit *fit;
    assert_int_equal(jm__cap_fit_create(&fit, &data, NULL), JM_OK);
    jm__cap_aim aim = {JM_CAP_ENERGY, 200, 300, 0, 0};
    double gains[4], bound[4], noisy[4];
    assert_int_equal(jm__cap_gains(fit, &aim, caps_w, 4, gains, NULL), JM_OK);
    assert_true(gains[1] < 1e-6 && gains[3] < 1e-6); /* tried */
    assert_true(gains[0] > 1e-4 && gains[2] > 1e-6);
    aim.max_slowdown = .12; /* 200 W is 10 % slower, 100 W surely more */
    assert_int_equal(jm__cap_gains(fit, &aim, caps_w, 4, bound, NULL), JM_OK);
    assert_true(bound[0] < .1 * gains[0]);
    aim.max_slowdown = 0;
    aim.noise = .5;
    assert_int_equal(jm__cap_gains(fit, &aim, caps_w, 4, noisy, NULL), JM_OK);
    assert_true(noisy[0] < gains[0]);
    jm__cap_fit_free(fit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objectives_are_products_of_time_and_power),
        cmocka_unit_test(test_a_law_is_flat_above_its_knee_and_as_written_below),
        cmocka_unit_test(test_every_law_of_the_grid_can_be_computed),
        cmocka_unit_test(test_weights_add_up_and_no_variance_is_negative),
        cmocka_unit_test(test_whitened_values_have_the_likelihood_of_what_they_came_from),
        cmocka_unit_test(test_nothing_is_gained_where_all_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
