/* Totals by fewer readings, against sums done by hand. */
#include <joulemap/thinned.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { COUNT = 1000, STEP_MS = 20 };

static const int64_t ms = 1000000;
static int64_t t_ns[COUNT];
static double power_w[COUNT];

/* A reading each 20 ms: `high` for the first `on_ms` of each period, else `low`. */
static void switch_on_and_off(int64_t period_ms, int64_t on_ms, double high, double low)
{
    for (int64_t i = 0; i < COUNT; i++) {
        t_ns[i] = i * STEP_MS * ms;
        power_w[i] = i * STEP_MS % period_ms < on_ms ? high : low;
    }
}

static jm_thinned thin(int64_t interval_ms)
{
    jm_thinned out;
    jm_error err = {0};
    assert_int_equal(jm_thinned_energy(t_ns, power_w, COUNT, 0, 20000 * ms, interval_ms * ms, &out, &err),
                     JM_OK);
    return out;
}

static void test_steady_power_needs_few_readings(void **unused)
{
    (void)unused;
    switch_on_and_off(1000, 1000, 400, 0);
    for (int64_t interval_ms = 20; interval_ms <= 40000; interval_ms *= 3) {
        jm_thinned of = thin(interval_ms);
        assert_true(fabs(of.full_j - 8000) < 1e-6 && fabs(of.mean_j - 8000) < 1e-6 && of.error_j < 1e-6);
    }
}

/* 200 ms of each second at 500 W, else 100 W: 180 W in the mean. Asked once a second, a poll sees the same
 * part of each: of 16 beginnings a fifth, three or four, see 500 W alone. */
static void test_polls_in_step_with_the_load_are_wrong(void **unused)
{
    (void)unused;
    switch_on_and_off(1000, 200, 500, 100);
    jm_thinned fine = thin(20), coarse = thin(1000);
    assert_true(fabs(fine.full_j - 20 * 180) <
                20); /* the last reading is held for 20 ms, the first has an edge less */
    assert_true(fabs(fine.mean_j - fine.full_j) < 10);
    assert_true(coarse.least_j == 20 * 100 && coarse.most_j == 20 * 500);
    double of_each_j = sqrt((13 * 1600. * 1600 + 3 * 6400. * 6400) / 16);
    assert_true(fabs(coarse.error_j - of_each_j) < 50);
    assert_true(fine.error_j < 0.01 * coarse.error_j);
}

/* A ramp is a straight line: any polls give its sum, but for what is held at the edges and how old a reading
 * is. */
static void test_a_ramp_is_summed_as_a_line(void **unused)
{
    (void)unused;
    for (int64_t i = 0; i < COUNT; i++) {
        t_ns[i] = i * STEP_MS * ms;
        power_w[i] = 100 + (double)i;
    }
    jm_thinned of = thin(2000);
    assert_true(fabs(of.full_j - 20 * (100 + 999 / 2.)) < 2 * 0.02 * 1099);
    assert_true(fabs(of.mean_j - of.full_j) / of.full_j < 0.005);
}

static void test_what_is_no_question_is_an_error(void **unused)
{
    (void)unused;
    jm_thinned out;
    jm_error err = {0};
    switch_on_and_off(1000, 200, 500, 100);
    assert_int_equal(jm_thinned_energy(t_ns, power_w, 0, 0, 10, 1, &out, &err), JM_USAGE);
    assert_int_equal(jm_thinned_energy(t_ns, power_w, COUNT, 10, 0, 1, &out, &err), JM_USAGE);
    assert_int_equal(jm_thinned_energy(t_ns, power_w, COUNT, 0, 10, 0, &out, &err), JM_USAGE);
}

static void test_a_interval_between_two_readings_has_the_newer_one_before_it(void **unused)
{
    (void)unused;
    jm_thinned out;
    switch_on_and_off(1000, 200, 500, 100);
    assert_int_equal(jm_thinned_energy(t_ns, power_w, COUNT, 45 * ms, 55 * ms, 100 * ms, &out, NULL), JM_OK);
    assert_true(fabs(out.full_j - 5) < 1e-9 && fabs(out.mean_j - 5) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady_power_needs_few_readings),
        cmocka_unit_test(test_polls_in_step_with_the_load_are_wrong),
        cmocka_unit_test(test_a_ramp_is_summed_as_a_line),
        cmocka_unit_test(test_what_is_no_question_is_an_error),
        cmocka_unit_test(test_a_interval_between_two_readings_has_the_newer_one_before_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
