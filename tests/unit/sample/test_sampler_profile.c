/* Board profiles. */
#include "base/clock.h"
#include "base/status.h"
#include "record/sample/inventory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "figures.h"

static void test_every_profile_loads_and_gives_its_power_sensors_a_response(void **state)
{
    (void)state;
    size_t count = 0;
    for (const jm__embedded *data = jm__profile_table; data->name != NULL; data++, count++) {
        jm__profile profile;
        jm_error err = {0};
        if (jm__profile_load(&profile, data->name, &err) != JM_OK) fail_msg("%s", err.text);
        assert_string_equal(profile.name, data->name);
        for (size_t i = 0; i < profile.sensor_count; i++) {
            const jm_sensor *sensor = &profile.sensors[i];
            const double values[] = {(double)sensor->period_ns,
                                     (double)sensor->lag_ns,
                                     (double)sensor->lag_u_ns,
                                     (double)sensor->window_ns,
                                     (double)sensor->tau_ns,
                                     (double)sensor->tau_u_ns,
                                     sensor->noise,
                                     sensor->gain_u};
            figures_keep(__BASE_FILE__, NULL, values, sizeof values / sizeof *values,
                         (uint32_t)(16 * (int)sensor->quantity + (int)sensor->response));
            if (sensor->quantity != JM_QUANTITY_POWER) continue;
            assert_true(sensor->period_ns > 0 && sensor->noise > 0 && sensor->gain_u > 0);
            if (sensor->response == JM_RESPONSE_BOX)
                assert_true(sensor->window_ns > 0 && sensor->tau_u_ns > 0);
            if (sensor->response == JM_RESPONSE_FIRST_ORDER)
                assert_true(sensor->tau_ns > 0 && sensor->tau_u_ns > 0);
        }
    }
    assert_true(count >= 6);
}

static void test_the_ring_of_the_h200_answers_as_measured(void **state)
{
    (void)state;
    jm__profile profile;
    assert_int_equal(jm__profile_load(&profile, "h200", NULL), JM_OK);
    const jm_sensor *ring = jm__profile_sensor(&profile, "power_ring");
    assert_non_null(ring);
    assert_ptr_equal(ring, jm__profile_sensor(&profile, "power_ring_w"));
    assert_int_equal(ring->response, JM_RESPONSE_FIRST_ORDER);
    assert_int_equal(ring->tau_ns, 13 * JM_NS_PER_MS);
    assert_int_equal(ring->tau_u_ns, JM_NS_PER_MS);
    assert_int_equal(ring->lag_ns, 3500 * JM_NS_PER_US);
    assert_int_equal(ring->lag_u_ns, 500 * JM_NS_PER_US);
    assert_int_equal(ring->period_ns, 20 * JM_NS_PER_MS);
}

static void test_every_sensor_of_the_recorded_csv_files_is_known(void **state)
{
    (void)state;
    static const char *const names[] = {"power_ring_w",           "power_instant_w", "power_average_1s_w",
                                        "memory_power_average_w", "temperature_c",   "sm_clock_mhz",
                                        "energy_counter_j"};
    jm__profile profile;
    assert_int_equal(jm__profile_load(&profile, "h200", NULL), JM_OK);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_non_null(jm__profile_sensor(&profile, names[i]));
    assert_null(jm__profile_sensor(&profile, "power_of_will_w"));
}

static void test_a_board_finds_its_profile_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *board, *profile;
    } cases[] = {
        {"NVIDIA H200", "h200"},
        {"NVIDIA H100 80GB HBM3", "h100"},
        {"NVIDIA A100-SXM4-80GB", "a100"},
        {"A100-PCIE-40GB", "a100"},
        {"NVIDIA GeForce RTX 3090", "rtx3090"},
        {"Tesla V100-SXM2-32GB", "v100"},
        {"NVIDIA GH200 480GB", "generic"},
        {"package-0", "rapl"},
        {"A board of tomorrow", "generic"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        jm__profile profile;
        assert_int_equal(jm__profile_match(&profile, cases[i].board, NULL), JM_OK);
        assert_string_equal(profile.name, cases[i].profile);
    }
}

static void test_an_unknown_profile_is_refused_with_the_known_ones(void **state)
{
    (void)state;
    jm__profile profile;
    jm_error err;
    assert_int_equal(jm__profile_load(&profile, "h2000", &err), JM_NOT_FOUND);
    assert_string_equal(
        err.text,
        "no board profile is called \"h2000\"; there are: a100, generic, h100, h200, rapl, rtx3090, v100");
    assert_int_equal(err.code, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_profile_loads_and_gives_its_power_sensors_a_response),
        cmocka_unit_test(test_the_ring_of_the_h200_answers_as_measured),
        cmocka_unit_test(test_every_sensor_of_the_recorded_csv_files_is_known),
        cmocka_unit_test(test_a_board_finds_its_profile_by_name),
        cmocka_unit_test(test_an_unknown_profile_is_refused_with_the_known_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
