/* What a sensor is for follows from its name, and is told in one table. */
#include "format/rows/sensor_role.h"
#include "record/device/nvml.h"
#include "record/sample/inventory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int rank_of(const char *name, jm_quantity quantity, jm_response response)
{
    jm_sensor sensor = {.quantity = quantity, .response = response};
    snprintf(sensor.name, sizeof sensor.name, "%s", name);
    return jm__sensor_rank(&sensor);
}

static void test_the_sensor_that_sees_most_of_the_time_is_chosen_first(void **state)
{
    (void)state;
    int ring = rank_of("power_ring", JM_QUANTITY_POWER, JM_RESPONSE_FIRST_ORDER);
    int instant = rank_of("power_instant", JM_QUANTITY_POWER, JM_RESPONSE_BOX);
    int foreign = rank_of("somebody_elses_watts", JM_QUANTITY_POWER, JM_RESPONSE_INSTANT);
    int average = rank_of("power_average", JM_QUANTITY_POWER, JM_RESPONSE_BOX);
    assert_true(ring > instant && instant > foreign && foreign > average && average > 0);
}

static void test_what_is_no_power_of_the_board_is_never_its_power(void **state)
{
    (void)state;
    assert_int_equal(rank_of("memory_power", JM_QUANTITY_MEMORY_POWER, JM_RESPONSE_BOX), 0);
    assert_int_equal(rank_of("temperature", JM_QUANTITY_TEMPERATURE, JM_RESPONSE_INSTANT), 0);
    assert_int_equal(rank_of("energy_counter", JM_QUANTITY_ENERGY, JM_RESPONSE_COUNTER), 0);
    assert_int_equal(rank_of("power_by_sum", JM_QUANTITY_POWER, JM_RESPONSE_COUNTER), 0);
    assert_int_equal(rank_of("somebody_elses_joules", JM_QUANTITY_ENERGY, JM_RESPONSE_COUNTER), 0);
}

static void test_names_and_roles_are_one_to_one(void **state)
{
    (void)state;
    for (int role = JM_SENSOR_OTHER + 1; role < JM_SENSOR_ROLE_COUNT; role++) {
        const char *name = jm__sensor_name((jm__sensor_role)role);
        assert_true(name[0] != '\0' && strlen(name) < sizeof((jm_sensor *)0)->name);
        assert_int_equal(jm__sensor_role_of(name), role);
        assert_true(jm__sensor_quantity((jm__sensor_role)role) < JM_QUANTITY_COUNT);
    }
    assert_int_equal(jm__sensor_role_of("power_rin"), JM_SENSOR_OTHER);
    assert_int_equal(jm__sensor_role_of("power_ring_w"), JM_SENSOR_OTHER); /* a column of a CSV: an alias */
    assert_int_equal(jm__sensor_role_of(""), JM_SENSOR_OTHER);
}

/* A sensor that NVML gives but no profile describes would be recorded without its response. */
static void test_every_sensor_of_nvml_has_a_profile(void **state)
{
    (void)state;
    jm__profile profile;
    assert_int_equal(jm__profile_load(&profile, "generic", NULL), JM_OK);
    size_t count = 0;
    for (const jm__nvml_sensor *sensor = jm__nvml_sensors; sensor->role != JM_SENSOR_OTHER;
         sensor++, count++) {
        const jm_sensor *known = jm__profile_sensor(&profile, jm__sensor_name(sensor->role));
        if (known == NULL) fail_msg("no profile for %s", jm__sensor_name(sensor->role));
        assert_int_equal(known->quantity, jm__sensor_quantity(sensor->role));
    }
    assert_true(count >= 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_sensor_that_sees_most_of_the_time_is_chosen_first),
        cmocka_unit_test(test_what_is_no_power_of_the_board_is_never_its_power),
        cmocka_unit_test(test_names_and_roles_are_one_to_one),
        cmocka_unit_test(test_every_sensor_of_nvml_has_a_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
