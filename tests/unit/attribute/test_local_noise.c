/* A short interval of a run of four seconds of work, then four of rest: what neighbouring readings show about
 * it.
 */
#include "attribute/fit/local_noise.h"
#include "base/clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { COLUMNS = 2, READINGS = 800 };

static const int64_t step_ns = 10 * JM_NS_PER_MS;
static const double rest_white = 77; /* W^2: the noise of all the rest */
static const double power_w[COLUMNS] = {500, 90};

/* One kind of work, and idle; a reading every 10 ms, half of each. */
typedef struct scene {
    jm_sensor sensor;
    jm__pieces pieces;
    jm__design design;
    jm__reading_list rest, own;
    jm__intervals windows;
    double covariance[COLUMNS * COLUMNS];
    double seconds[COLUMNS]; /* of the interval */
} scene;

/* Work in pieces of so long a time. */
static void scene_init(scene *s, int64_t piece_ns)
{
    static const uint32_t column_of[] = {0, 1, 0}; /* two uses of one kind, in turn: pieces of one are one */
    *s = (scene){.sensor = {.response = JM_RESPONSE_INSTANT, .noise = 4, .period_ns = step_ns}};
    jm__pieces_begin(&s->pieces, 0, 1 << 20);
    uint32_t use = 0;
    for (int64_t end_ns = piece_ns; end_ns <= READINGS / 2 * step_ns; end_ns += piece_ns, use = 2 - use)
        assert_true(jm__pieces_add(&s->pieces, end_ns, use, 1, false));
    assert_true(jm__pieces_add(&s->pieces, READINGS * step_ns, 1, 1, false));
    assert_true(jm__pieces_end(&s->pieces));
    s->pieces.column_of = column_of;
    assert_int_equal(jm__design_init(&s->design, &s->pieces, COLUMNS, NULL), JM_OK);
    for (size_t k = 0; k < COLUMNS; k++)
        s->covariance[k * COLUMNS + k] = 0.01;
}

/* Readings are off by this, with alternating signs, under work and at rest. */
static void read_all(scene *s, double off_w, double more_w, double rest_w)
{
    for (int i = 0; i < READINGS; i++) {
        bool busy = i < READINGS / 2;
        double noise_w = (i % 2 == 0 ? 1 : -1) * (busy ? more_w : rest_w);
        jm_reading reading = {.t_ns = step_ns / 2 + i * step_ns,
                              .value = (busy ? power_w[0] + off_w : power_w[1]) + noise_w};
        assert_true(jm__vec_push(&s->rest, reading));
    }
}

static void scene_free(scene *s)
{
    jm__design_free(&s->design);
    jm__pieces_free(&s->pieces);
    jm__vec_free(&s->rest);
    jm__vec_free(&s->own);
    jm__vec_free(&s->windows);
}

/* An interval of `seconds` of work or of rest, in its middle unless the scene sets another time. */
static jm__local_noise local_noise(scene *s, bool busy, double seconds)
{
    int64_t from_ns = (busy ? READINGS / 4 : READINGS * 3 / 4) * step_ns;
    s->seconds[!busy] = seconds;
    if (s->windows.count == 0)
        assert_true(jm__intervals_add(&s->windows, from_ns, from_ns + (int64_t)(1e9 * seconds)));
    const jm__calibration calibration = jm__calibration_of(&s->sensor);
    const jm__joint_prior joint_prior = {.columns = COLUMNS};
    const jm__fit_interval_input here = {.sensor = &s->sensor,
                                         .design = &s->design,
                                         .readings = &s->own,
                                         .calibration = &calibration,
                                         .joint_prior = &joint_prior};
    const jm__fit_interval rest = {.columns = COLUMNS,
                                   .power_w = (double *)(uintptr_t)power_w,
                                   .covariance = s->covariance,
                                   .readings = READINGS,
                                   .noise = {.white = rest_white},
                                   .noise_w = 4};
    const jm__local_noise_input input = {.rest = &rest,
                                         .learn = &s->rest,
                                         .here = &here,
                                         .windows = &s->windows,
                                         .seconds = s->seconds,
                                         .class_columns = 1};
    jm__local_noise found;
    assert_int_equal(jm__local_noise_find(&found, &input, NULL), JM_OK);
    return found;
}

static double off_of(double off_w)
{
    scene s;
    scene_init(&s, READINGS / 2 * step_ns);
    read_all(&s, off_w, 4, 4);
    jm__local_noise found = local_noise(&s, true, 0.06);
    double relative_u = found.relative_u[0];
    jm__local_noise_free(&found);
    scene_free(&s);
    return relative_u;
}

/* Equal residuals of readings of one kind: its power is off by them. */
static void test_powers_are_off_by_what_the_readings_local_noise_show(void **state)
{
    (void)state;
    assert_true(off_of(0) < 0.002);
    assert_true(fabs(off_of(20) - 0.04) < 0.005);
    assert_true(fabs(off_of(40) - 0.08) < 0.008);
    assert_true(off_of(40) > off_of(20));
}

/* More than any kind was ever off by: all likelihoods are tiny, then zero. */
static void test_powers_far_off_are_off_by_the_most(void **state)
{
    (void)state;
    for (double off_w = 80; off_w < 85; off_w += 0.004) {
        double u = off_of(off_w);
        if (!(u > 0.15 && u < 0.17)) fail_msg("%g W: %g", off_w, u);
    }
}

/* Of idle as much as of work, also where the run ends with the interval. */
static void test_idle_is_off_by_what_the_readings_local_noise_show(void **state)
{
    (void)state;
    for (int last = 0; last < 2; last++) {
        scene s;
        scene_init(&s, READINGS / 2 * step_ns);
        read_all(&s, 0, 4, 4);
        for (int i = READINGS / 2; i < READINGS; i++)
            s.rest.items[i].value += 13.5;
        if (last) assert_true(jm__intervals_add(&s.windows, READINGS * step_ns - 1, READINGS * step_ns));
        jm__local_noise found = local_noise(&s, false, 0.06);
        if (!(fabs(found.relative_u[1] - 0.15) < 0.02)) fail_msg("%g", found.relative_u[1]);
        jm__local_noise_free(&found);
        scene_free(&s);
    }
}

/* A hundred readings of work, or none: the noise is that of the rest, and the error of kinds is the usual
 * one. */
static void test_few_readings_like_it_tell_nothing_of_a_interval(void **state)
{
    (void)state;
    for (size_t count = 0; count <= 100; count += 100) {
        scene s;
        scene_init(&s, READINGS / 2 * step_ns);
        read_all(&s, 0, 4, 4);
        memmove(s.rest.items + count, s.rest.items + READINGS / 2, READINGS / 2 * sizeof *s.rest.items);
        s.rest.count = READINGS / 2 + count;
        jm__local_noise found = local_noise(&s, true, 0.06);
        assert_true(found.noise_known);
        if (count == 0) assert_true(found.noise.white == rest_white);
        assert_true(fabs(found.relative_u[0] - 0.05) < 1e-12);
        jm__local_noise_free(&found);
        scene_free(&s);
    }
}

/* Readings of work are off by 30 W, those at rest by 3: each interval has the noise of its own kind. */
static void test_the_noise_is_that_of_readings_of_this_power(void **state)
{
    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        scene s;
        scene_init(&s, READINGS / 2 * step_ns);
        read_all(&s, 0, 30, 3);
        jm__local_noise found = local_noise(&s, busy, 0.06);
        double square = busy ? 900 : 9;
        assert_true(found.noise_known);
        assert_true(fabs(found.noise.white + found.noise.drift - square) < 0.1 * square);
        jm__local_noise_free(&found);
        scene_free(&s);
    }
}

/* 260 pieces of 0.1 ms share a reading of a time constant of 13 ms, so their variation does not show. The
 * power of one piece may be off by it; in the mean of ten it is smaller by the square root of ten. */
static void test_what_changes_from_call_to_call_is_less_over_many_calls(void **state)
{
    (void)state;
    double before = 0;
    for (double seconds = 1e-4; seconds < 0.2; seconds *= 10) {
        scene s;
        scene_init(&s, 100000);
        s.sensor.response = JM_RESPONSE_FIRST_ORDER;
        s.sensor.tau_ns = 13000000;
        read_all(&s, 0, 4, 4);
        jm__local_noise found = local_noise(&s, true, seconds);
        double u = found.relative_u[0];
        if (before == 0 ? !(u > 0.015) : !(fabs(u * sqrt(10) / before - 1) < 0.02))
            fail_msg("%g s: %g after %g", seconds, u, before);
        before = u;
        jm__local_noise_free(&found);
        scene_free(&s);
    }
}

static void test_a_interval_of_many_readings_tells_for_itself(void **state)
{
    (void)state;
    scene s;
    scene_init(&s, READINGS / 2 * step_ns);
    read_all(&s, 0, 4, 4);
    for (int i = 0; i < JM_NOISE_READINGS; i++)
        assert_true(jm__vec_push(&s.own, s.rest.items[i]));
    jm__local_noise found = local_noise(&s, true, 2);
    assert_false(found.noise_known);
    assert_true(fabs(found.relative_u[0] - 0.05) < 1e-12 && fabs(found.relative_u[1] - 0.1) < 1e-12);
    jm__local_noise_free(&found);
    scene_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_powers_are_off_by_what_the_readings_local_noise_show),
        cmocka_unit_test(test_powers_far_off_are_off_by_the_most),
        cmocka_unit_test(test_idle_is_off_by_what_the_readings_local_noise_show),
        cmocka_unit_test(test_few_readings_like_it_tell_nothing_of_a_interval),
        cmocka_unit_test(test_the_noise_is_that_of_readings_of_this_power),
        cmocka_unit_test(test_what_changes_from_call_to_call_is_less_over_many_calls),
        cmocka_unit_test(test_a_interval_of_many_readings_tells_for_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
