/* What the simulated board remembers of its power: the integrals at any time of the last three seconds. */
#include "power.h"

#include <malloc.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define START_NS INT64_C(1000000000)
#define FAST_NS  INT64_C(250000)
#define SLOW_NS  INT64_C(5000000)

/* So many steps of 300 W and of rest by turns. */
static void alternate(sim_power *power, int steps, int64_t step_ns)
{
    const sim_load load = {.label = 1, .power_w = 300};
    for (int i = 0; i < steps; i++) {
        sim_power_load(power, &load, i % 2 == 0, true);
        for (int64_t to_ns = power->t_ns + step_ns; power->t_ns < to_ns;) {
            int64_t next_ns = sim_power_next_ns(power);
            sim_power_advance(power, next_ns < to_ns ? next_ns : to_ns);
        }
    }
}

/* Seconds of load up to t_ns, after `slow` slow steps (an even number), then fast ones. */
static double busy_s(int slow, int64_t t_ns)
{
    int64_t slow_ns = t_ns - START_NS < slow * SLOW_NS ? t_ns - START_NS : slow * SLOW_NS;
    int64_t fast_ns = t_ns - START_NS - slow_ns;
    int64_t sum_ns = slow_ns / (2 * SLOW_NS) * SLOW_NS + fast_ns / (2 * FAST_NS) * FAST_NS;
    int64_t slow_rest_ns = slow_ns % (2 * SLOW_NS), fast_rest_ns = fast_ns % (2 * FAST_NS);
    sum_ns +=
        (slow_rest_ns < SLOW_NS ? slow_rest_ns : SLOW_NS) + (fast_rest_ns < FAST_NS ? fast_rest_ns : FAST_NS);
    return (double)sum_ns * 1e-9;
}

/* Slow steps go out of the history before it is full; fast ones then make it grow. */
static void test_the_integrals_of_the_past_are_right_however_often_power_changed(void **state)
{
    (void)state;
    static const int steps[][2] = {{0, 100},    {0, 1025},    {0, 20000},  {1000, 0},
                                   {3000, 100}, {3000, 1100}, {3000, 5000}};
    char why[200];
    sim_profile profile;
    assert_true(sim_profile_load(&profile, "h200", why, sizeof why));
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        sim_power power;
        assert_true(sim_power_open(&power, &profile, START_NS));
        alternate(&power, steps[s][0], SLOW_NS);
        alternate(&power, steps[s][1], FAST_NS);
        int64_t oldest_ns = power.t_ns - SIM_HISTORY_NS > START_NS ? power.t_ns - SIM_HISTORY_NS : START_NS;
        for (int64_t t_ns = oldest_ns; t_ns <= power.t_ns; t_ns += 333333)
            assert_true(fabs(sim_power_at(&power, t_ns).busy_s - busy_s(steps[s][0], t_ns)) < 1e-9);
        assert_false(power.failed);
        sim_power_close(&power);
    }
}

/* What a program is told to slow down by, and what the board does with the same work, are one law. */
static void test_work_is_as_fast_as_the_boards_clock_under_a_limit_and_a_lock(void **state)
{
    (void)state;
    char why[200];
    sim_profile profile;
    assert_true(sim_profile_load(&profile, "h200", why, sizeof why));
    sim_setting setting = sim_setting_default(&profile, START_NS);
    assert_true(sim_power_speed(&profile, &setting, 520) == 1); /* 700 W are enough */
    setting.limit_w = 260;
    assert_true(fabs(sim_power_speed(&profile, &setting, 520) - pow(.5, profile.clock_exponent)) < 1e-12);
    setting.limit_w = 700;
    setting.lock_mhz = .75 * profile.clock_max_mhz;
    assert_true(fabs(sim_power_speed(&profile, &setting, 520) - .75) < 1e-12);
    setting.limit_w = 260; /* both hold it: the lock's clock, and less */
    for (double power_w = 150; power_w <= 600; power_w += 50) {
        sim_power power;
        const sim_load load = {.label = 1, .power_w = power_w};
        assert_true(sim_power_open(&power, &profile, START_NS));
        power.setting = setting;
        sim_power_load(&power, &load, 1, true);
        double speed = sim_power_speed(&profile, &setting, power_w);
        assert_true(fabs(power.clock_mhz / profile.clock_max_mhz - speed) < 1e-12);
        assert_true(power.now.power_w <= 260 + 1e-9);
        sim_power_close(&power);
    }
}

int main(void)
{
    mallopt(M_PERTURB, 0x80); /* memory that was not written is no 0, but late times: 0x7f7f... */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_integrals_of_the_past_are_right_however_often_power_changed),
        cmocka_unit_test(test_work_is_as_fast_as_the_boards_clock_under_a_limit_and_a_lock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
