/* The draw of a counter sampler: corrected readings against the sensor's response written out, and the
 * windows with a sampler. */
#include "attribute/prior/rate_windows.h"

#include "base/clock.h"
#include "base/status.h"
#include "base/vec.h"
#include "calibrate/training_set.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define MS JM_NS_PER_MS

static jm_board board = {.id = 1, .profile = "h100"};

static void assert_near(double value, double expected, double apart)
{
    if (!(fabs(value - expected) <= apart)) fail_msg("%.9g is not %.9g", value, expected);
}

static jm__event event(int64_t t_ns, double value)
{
    return (jm__event){.kind = JM_EVENT_SAMPLING, .t_ns = t_ns, .board_id = 1, .value = value};
}

static jm__sampler_draw find(jm__event *events, size_t count)
{
    jm__sampler_draw found;
    const jm__dataset dataset = {.events = events, .event_count = count};
    assert_int_equal(jm__sampler_draw_find(&found, &dataset, &board, NAN, NAN, NULL), JM_OK);
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
    jm__sampler_draw_free(&found);
}

static void test_of_a_board_nobody_measured_little_is_known(void **state)
{
    (void)state;
    const jm_board other = {.id = 1, .profile = "a100"};
    jm__event events[] = {event(200, 1)};
    const jm__dataset dataset = {.events = events, .event_count = 1};
    jm__sampler_draw usual = find(events, 1), found;
    assert_int_equal(jm__sampler_draw_find(&found, &dataset, &other, NAN, NAN, NULL), JM_OK);
    assert_int_equal(found.windows.count, 1);
    assert_true(found.known.rest_u_w >= found.known.rest_w &&
                found.known.rest_u_w > 2 * usual.known.rest_u_w);
    jm__sampler_draw_free(&usual);
    jm__sampler_draw_free(&found);
}

/* A board that draws 150 W, and the sampler beside it, as a sensor of this response sees it: integrated in
 * steps.
 */
static double seen_w(const jm_sensor *sensor, const jm__sampler_draw *draw, int64_t t_ns)
{
    double sum = 0, weight = 0;
    bool first_order = sensor->response == JM_RESPONSE_FIRST_ORDER;
    int64_t width_ns = first_order ? sensor->tau_ns : sensor->window_ns, step_ns = 10000;
    for (int64_t back_ns = step_ns / 2; back_ns < (first_order ? 40 : 1) * width_ns; back_ns += step_ns) {
        double w = first_order ? exp(-(double)back_ns / (double)width_ns) : 1;
        bool on = jm__intervals_contain(&draw->windows, t_ns - sensor->lag_ns - back_ns);
        sum += w * (150 + (on ? draw->known.rest_w : 0));
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
    assert_true(readings[COUNT - 1].value > 180); /* the correction is not zero */
    jm__sampler_draw_subtract(&draw, sensor, readings, COUNT);
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

static void test_what_was_measured_on_the_board_comes_before_what_is_usual(void **state)
{
    (void)state;
    jm__event events[] = {event(200, 1)};
    const jm__dataset dataset = {.events = events, .event_count = 1};
    jm__sampler_draw found;
    assert_int_equal(jm__sampler_draw_find(&found, &dataset, &board, 42, 1, NULL), JM_OK);
    assert_near(found.known.rest_w, 42, 0);
    assert_near(found.known.rest_u_w, 1, 0);
    jm__sampler_draw_free(&found);
}

/* ---- the step at rest */

typedef struct work {
    jm__kernel_run kernels[4];
    size_t count;
} work;

static jm_status each(void *context, bool by_time, jm__kernel_taker take, void *taker, jm_error *err)
{
    const work *w = context;
    (void)by_time;
    for (size_t i = 0; i < w->count; i++)
        JM_TRY(take(taker, &w->kernels[i], err));
    return JM_OK;
}

/* A board of 140 W, with `draw_w` of a sampler until 10 s and again until 20 s, where another kernel of 500 W
 * begins right after. */
static void check_step(work *w, double draw_w, double requested_w)
{
    enum { COUNT = 1250 };
    jm__event events[] = {event(1 * JM_NS_PER_S, 1), event(10 * JM_NS_PER_S, 0), event(12 * JM_NS_PER_S, 1),
                          event(20 * JM_NS_PER_S, 0)};
    jm__stream stream = {.board_id = 1};
    const jm__dataset dataset = {.events = events,
                                 .event_count = 4,
                                 .streams = &stream,
                                 .stream_count = 1,
                                 .kernels = {.each = each, .context = w}};
    static jm_reading readings[COUNT];
    for (int i = 0; i < COUNT; i++) {
        double t_s = i * 0.02, on = t_s < 9.95 || (t_s > 12 && t_s < 19.95);
        bool busy = t_s > 20.1 && w->count > 1;
        readings[i] = (jm_reading){.t_ns = (int64_t)(t_s * 1e9), .value = 140 + on * draw_w + busy * 360};
    }
    const jm__training_set training_set = {
        .dataset = &dataset, .board = &board, .recorded = readings, .recorded_count = COUNT};
    double power_w, u_w;
    assert_int_equal(jm__sampler_step_find(&power_w, &u_w, &training_set, NULL), JM_OK);
    if (isnan(requested_w)) {
        assert_true(isnan(power_w) && isnan(u_w));
        return;
    }
    assert_near(power_w, requested_w, 0.01);
    assert_true(u_w >= 1 && u_w < 3);
}

static void test_the_step_at_rest_is_the_draw(void **state)
{
    (void)state;
    work w = {.kernels = {{.start_ns = 2 * JM_NS_PER_S, .end_ns = 3 * JM_NS_PER_S, .stream_id = 1},
                          {.start_ns = 20100 * MS, .end_ns = 21 * JM_NS_PER_S, .stream_id = 1}},
              .count = 2};
    check_step(&w, 34, 34); /* the second one is no rest */
    check_step(&w, 0, 0);
    w.count = 1;
    check_step(&w, 34, 34);
}

static void test_without_kernels_or_rest_nothing_is_marked(void **state)
{
    (void)state;
    work w = {.count = 0};
    check_step(&w, 34, NAN);
    w = (work){.kernels = {{.start_ns = 2 * JM_NS_PER_S, .end_ns = 21 * JM_NS_PER_S, .stream_id = 1}},
               .count = 1};
    check_step(&w, 34, NAN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows_are_those_of_the_boards_own_events),
        cmocka_unit_test(test_of_a_board_nobody_measured_little_is_known),
        cmocka_unit_test(test_power_is_without_it_whatever_the_response),
        cmocka_unit_test(test_what_was_measured_on_the_board_comes_before_what_is_usual),
        cmocka_unit_test(test_the_step_at_rest_is_the_draw),
        cmocka_unit_test(test_without_kernels_or_rest_nothing_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
