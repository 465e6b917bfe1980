/* Parts of the planner: objectives, priors, the expected gain. */
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

static void test_what_was_measured_is_assumed_and_what_was_not_is_not_known(void **unused)
{
    (void)unused;
    static const jm_cap_probe probes[] = {
        {300, 10, 250, 0, 0}, {200, 11, 190, 0, 0}, {150, 13, 145, 1.3, 14.5}};
    const jm__cap_data data = {probes, 3, 100, 300, 0};
    const jm__cap_query questions[] = {{300, NAN}, {200, NAN}, {200, 200}, {150, NAN}, {100, NAN}};
    jm__cap_posterior b[5];
    jm__cap_fit *fit;
    assert_int_equal(jm__cap_fit_create(&fit, &data, NULL), JM_OK);
    assert_int_equal(jm__cap_posterior_of(fit, questions, 5, b, NULL), JM_OK);
    assert_true(fabs(b[0].mean[JM_CAP_TIME]) < 1e-4 && fabs(b[0].mean[JM__CAP_WATTS]) < 1e-4);
    assert_true(fabs(b[1].mean[JM_CAP_TIME] - log(1.1)) < 1e-4);
    assert_true(fabs(b[1].mean[JM_CAP_ENERGY] - log(1.1 * 190 / 250)) < 1e-4);
    assert_true(b[2].mean[JM_CAP_TIME] == 0 && b[2].variance[JM_CAP_TIME] == 0);
    assert_true(b[1].variance[JM_CAP_TIME] < 1e-6 && b[1].variance[JM_CAP_TIME] >= 0);
    assert_true(b[3].variance[JM_CAP_TIME] > 1e-4 &&
                b[3].variance[JM_CAP_TIME] < .1 * .1); /* told with 10 % */
    assert_true(b[4].variance[JM_CAP_TIME] > b[3].variance[JM_CAP_TIME] && b[4].mean[JM_CAP_TIME] > log(1.3));
    jm__cap_fit_free(fit);
}

static void test_any_range_of_caps_can_be_computed(void **unused)
{
    (void)unused;
    static const double ranges[][3] = {{100, 300, 200}, {200, 700, 90}, {1e-6, 1e6, 1}, {400, 400, 399}};
    for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++) {
        const jm_cap_probe probe = {ranges[r][1], 10, ranges[r][2], 0, 0};
        const jm__cap_data data = {&probe, 1, ranges[r][0], ranges[r][1], 0};
        const jm__cap_query questions[] = {{ranges[r][0], NAN}, {ranges[r][1], NAN}};
        jm__cap_posterior b[2];
        jm__cap_fit *fit;
        assert_int_equal(jm__cap_fit_create(&fit, &data, NULL), JM_OK);
        assert_int_equal(jm__cap_posterior_of(fit, questions, 2, b, NULL), JM_OK);
        assert_true(isfinite(b[0].mean[JM_CAP_ED2P]) && isfinite(b[0].variance[JM_CAP_ED2P]));
        assert_true(b[0].mean[JM_CAP_TIME] >= b[1].mean[JM_CAP_TIME] - 1e-6);
        jm__cap_fit_free(fit);
    }
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
        cmocka_unit_test(test_what_was_measured_is_assumed_and_what_was_not_is_not_known),
        cmocka_unit_test(test_any_range_of_caps_can_be_computed),
        cmocka_unit_test(test_nothing_is_gained_where_all_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
