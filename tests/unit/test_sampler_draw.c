/* What a sampler of counters draws: readings from which it was taken off, against the sensor's response put
 * down by hand, and the windows in which there was one. */
#include "attribute/counters/sampler_draw.h"

#include "base/clock.h"
#include "base/vec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MS JM_NS_PER_MS

static jm_board board = {.id = 1, .profile = "h100"};

static void assert_near(double value, double wanted, double apart)
{
    if (!(fabs(value - wanted) <= apart)) fail_msg("%.9g is not %.9g", value, wanted);
}

static jm__event event(int64_t t_ns, double value)
{
    return (jm__event){.kind = JM_EVENT_SAMPLING, .t_ns = t_ns, .board_id = 1, .value = value};
}

static jm__sampler_draw find(jm__event *events, size_t count)
{
    jm__sampler_draw found;
    const jm__dataset dataset = {.events = events, .event_count = count};
    assert_int_equal(jm__sampler_draw_find(&found, &dataset, &board, NULL), JM_OK);
    return found;
}

static void test_windows_are_those_of_the_boards_own_events(void **state)
{
    (void)state;
    jm__event events[] = {event(100, 0), event(200, 1), event(250, 1),
                          event(300, 0), event(400, 1), event(500, 1)};
    events[5].board_id = 2;
    jm__sampler_draw found = find(events, 6);
    assert_int_equal(found.windows.count, 2);
    assert_int_equal(found.windows.items[0].from_ns, 200);
    assert_int_equal(found.windows.items[0].to_ns, 300);
    assert_int_equal(found.windows.items[1].from_ns, 400);
    assert_int_equal(found.windows.items[1].to_ns,
                     INT64_MAX); /* to the end of the recording, whatever that is */
    jm__windows report = {0};
    assert_true(jm__windows_add(&report, 250, 450));
    assert_near(jm__sampler_draw_energy_j(&found, &report), found.power_w * 100e-9, 1e-15);
    jm__vec_free(&report);
    jm__sampler_draw_free(&found);
}

static void test_of_a_board_nobody_measured_nothing_is_taken_off(void **state)
{
    (void)state;
    const jm_board other = {.id = 1, .profile = "a100"};
    jm__event events[] = {event(200, 1)};
    const jm__dataset dataset = {.events = events, .event_count = 1};
    jm__sampler_draw found;
    assert_int_equal(jm__sampler_draw_find(&found, &dataset, &other, NULL), JM_OK);
    jm_reading reading = {.t_ns = 500, .value = 100};
    const jm_sensor ring = {.response = JM_RESPONSE_INSTANT};
    jm__sampler_draw_take_off(&found, &ring, &reading, 1);
    assert_near(reading.value, 100, 0);
    jm__sampler_draw_free(&found);
}

/* A board that draws 150 W, and the sampler's beside it, as a sensor of this response sees it: integrated in
 * steps. */
static double seen_w(const jm_sensor *sensor, const jm__sampler_draw *draw, int64_t t_ns)
{
    double sum = 0, weight = 0;
    bool first_order = sensor->response == JM_RESPONSE_FIRST_ORDER;
    int64_t width_ns = first_order ? sensor->tau_ns : sensor->window_ns, step_ns = 10000;
    for (int64_t back_ns = step_ns / 2; back_ns < (first_order ? 40 : 1) * width_ns; back_ns += step_ns) {
        double w = first_order ? exp(-(double)back_ns / (double)width_ns) : 1;
        bool on = jm__windows_hold(&draw->windows, t_ns - sensor->lag_ns - back_ns);
        sum += w * (150 + (on ? draw->power_w : 0));
        weight += w;
    }
    return sum / weight;
}

static void check_power(const jm_sensor *sensor)
{
    enum { COUNT = 100 };
    jm__event events[] = {event(300 * MS, 1), event(700 * MS, 0), event(710 * MS, 1), event(713 * MS, 0),
                          event(1500 * MS, 1)};
    jm__sampler_draw draw = find(events, 5);
    jm_reading readings[COUNT];
    for (int i = 0; i < COUNT; i++) {
        readings[i].t_ns = i * 20 * MS;
        readings[i].value = seen_w(sensor, &draw, readings[i].t_ns);
    }
    assert_true(readings[COUNT - 1].value > 180); /* there was something to take off */
    jm__sampler_draw_take_off(&draw, sensor, readings, COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_near(readings[i].value, 150, 0.1);
    jm__sampler_draw_free(&draw);
}

static void test_power_is_without_it_whatever_the_response(void **state)
{
    (void)state;
    check_power(&(jm_sensor){.response = JM_RESPONSE_FIRST_ORDER, .lag_ns = 3 * MS, .tau_ns = 13 * MS});
    check_power(&(jm_sensor){.response = JM_RESPONSE_BOX, .lag_ns = 5 * MS, .window_ns = 100 * MS});
}

static void test_the_energy_counter_is_without_it(void **state)
{
    (void)state;
    jm__event events[] = {event(1 * JM_NS_PER_S, 1), event(3 * JM_NS_PER_S, 0), event(4 * JM_NS_PER_S, 1)};
    jm__sampler_draw draw = find(events, 3);
    const jm_sensor counter = {.response = JM_RESPONSE_COUNTER, .quantity = JM_QUANTITY_ENERGY};
    jm_reading readings[] = {{.t_ns = 0, .value = 1000},
                             {.t_ns = 2 * JM_NS_PER_S, .value = 1300 + draw.power_w},
                             {.t_ns = 5 * JM_NS_PER_S, .value = 1750 + 3 * draw.power_w}};
    jm__sampler_draw_take_off(&draw, &counter, readings, 3);
    assert_near(readings[0].value, 1000, 1e-9);
    assert_near(readings[1].value, 1300, 1e-9);
    assert_near(readings[2].value, 1750, 1e-9);
    jm__sampler_draw_free(&draw);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_are_those_of_the_boards_own_events),
        cmocka_unit_test(test_of_a_board_nobody_measured_nothing_is_taken_off),
        cmocka_unit_test(test_power_is_without_it_whatever_the_response),
        cmocka_unit_test(test_the_energy_counter_is_without_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
