/* Which sensor covers a time and its power, by hand and by sums over small steps. */
#include "attribute/fit/total.h"
#include "base/clock.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS JM_NS_PER_MS

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Delays of 16 and 26 ms. */
static const jm_sensor ring = {
    .response = JM_RESPONSE_FIRST_ORDER, .period_ns = 20 * MS, .lag_ns = 3 * MS, .tau_ns = 13 * MS};
static const jm_sensor instant = {
    .response = JM_RESPONSE_BOX, .period_ns = 100 * MS, .lag_ns = 14 * MS, .window_ns = 24 * MS};

static void test_what_a_sensor_says_was_true_a_little_earlier(void **state)
{
    (void)state;
    const jm_sensor plain = {.response = JM_RESPONSE_INSTANT, .lag_ns = 5, .tau_ns = 7, .window_ns = 20};
    const jm_sensor counter = {.response = JM_RESPONSE_COUNTER, .lag_ns = 6, .tau_ns = 7, .window_ns = 20};
    assert_int_equal(jm__power_delay_ns(&ring), 16 * MS);
    assert_int_equal(jm__power_delay_ns(&instant), 26 * MS);
    assert_int_equal(jm__power_delay_ns(&plain), 5);
    assert_int_equal(jm__power_delay_ns(&counter), 6);
}

/* Straight between readings, constant beyond them. */
static double power_at(const jm__power_series *s, double t_ns)
{
    const jm_reading *r = s->readings;
    t_ns += (double)jm__power_delay_ns(s->sensor);
    if (t_ns <= (double)r[0].t_ns) return r[0].value;
    for (size_t i = 1; i < s->count; i++) {
        if (t_ns >= (double)r[i].t_ns) continue;
        double share = (t_ns - (double)r[i - 1].t_ns) / (double)(r[i].t_ns - r[i - 1].t_ns);
        return r[i - 1].value + share * (r[i].value - r[i - 1].value);
    }
    return r[s->count - 1].value;
}

static void check_energy(const jm__power_series *s, int64_t from_ns, int64_t to_ns)
{
    enum { STEPS = 20000 };
    double sum = 0, step_ns = (double)(to_ns - from_ns) / STEPS;
    for (int i = 0; i < STEPS; i++)
        sum += power_at(s, (double)from_ns + (i + 0.5) * step_ns) * step_ns * 1e-9;
    double found = jm__power_energy_j(s, from_ns, to_ns);
    if (fabs(found - sum) > 1e-3 * sum) fail_msg("%.6f J, should be %.6f", found, sum);
}

static void test_energy_is_the_area_under_the_readings(void **state)
{
    (void)state;
    static const jm_reading readings[] = {{1, 100 * MS, 200}, {1, 120 * MS, 400}, {1, 140 * MS, 100},
                                          {1, 140 * MS, 600}, {1, 300 * MS, 50},  {1, 310 * MS, 700}};
    const jm_sensor *const sensors[] = {&ring, &instant};
    const int64_t times[] = {0, 60 * MS, 90 * MS, 97 * MS, 111 * MS, 125 * MS, 200 * MS, 290 * MS, 400 * MS};
    for (size_t k = 0; k < COUNT(sensors); k++) {
        const jm__power_series series = {sensors[k], readings, COUNT(readings)}, none = {sensors[k], NULL, 0};
        for (size_t i = 0; i < COUNT(times); i++) {
            for (size_t j = i + 1; j < COUNT(times); j++)
                check_energy(&series, times[i], times[j]);
            assert_true(jm__power_energy_j(&series, times[i], times[i]) == 0);
            assert_true(jm__power_energy_j(&none, times[i], times[i] + MS) == 0);
        }
        assert_true(jm__power_energy_j(&series, 200 * MS, 100 * MS) == 0);
    }
    /* Exactly: half a step of 20 ms from 200 to 400 W. */
    const jm__power_series series = {&ring, readings, COUNT(readings)};
    assert_true(fabs(jm__power_energy_j(&series, 84 * MS, 94 * MS) - 2.5) < 1e-12);
}

/* A sensor that sees from 100 ms to 1 s, but for a hole from 400 to 700 ms. */
static size_t seen_readings(jm_reading *out, const jm_sensor *sensor, int64_t from_ns, int64_t to_ns,
                            int64_t hole_from_ns, int64_t hole_to_ns)
{
    size_t count = 0;
    for (int64_t t = from_ns; t <= to_ns; t += sensor->period_ns)
        if (t <= hole_from_ns || t >= hole_to_ns)
            out[count++] = (jm_reading){1, t + jm__power_delay_ns(sensor), 100};
    return count;
}

typedef struct interval {
    int64_t to_ms;
    int by; /* -1: none */
} interval;

static void check_pieces(const jm__power_series *series, size_t count, int64_t from_ms, int64_t to_ms,
                         const interval *pieces, size_t piece_count)
{
    jm__power_piece piece = {.to_ns = from_ms * MS};
    for (size_t i = 0; i < piece_count; i++) {
        int64_t from_ns = piece.to_ns;
        assert_true(jm__power_next(&piece, series, count, to_ms * MS));
        assert_int_equal(piece.from_ns, from_ns);
        if (piece.to_ns != pieces[i].to_ms * MS)
            fail_msg("piece %zu ends at %.3f ms, should at %lld", i, (double)piece.to_ns / 1e6,
                     (long long)pieces[i].to_ms);
        assert_ptr_equal(piece.by, pieces[i].by < 0 ? NULL : &series[pieces[i].by]);
    }
    assert_int_equal(piece.to_ns, to_ms * MS);
    assert_false(jm__power_next(&piece, series, count, to_ms * MS));
}

static void test_each_moment_is_marked_by_the_best_sensor_that_saw_it(void **state)
{
    (void)state;
    jm_reading first[100], second[100];
    jm__power_series series[2] = {{&ring, first, 0}, {&instant, second, 0}};
    series[0].count = seen_readings(first, &ring, 100 * MS, 1000 * MS, 400 * MS, 700 * MS);
    series[1].count = seen_readings(second, &instant, 500 * MS, 2000 * MS, 2000 * MS, 2000 * MS);
    /* The first reading covers one and a half periods and its delay before it, the last as long after it:
     * 30 + 16 ms of the ring, 150 + 26 ms of the other. */
    const interval both[] = {{400, 0}, {700, 1}, {1046, 0}, {2176, 1}, {2500, -1}};
    check_pieces(series, 2, 54, 2500, both, COUNT(both));
    const interval before[] = {{54, -1}, {300, 0}};
    check_pieces(series, 2, 10, 300, before, COUNT(before));
    const interval alone[] = {{400, 0}, {700, -1}, {1046, 0}, {1200, -1}};
    check_pieces(series, 1, 54, 1200, alone, COUNT(alone));
    const interval within[] = {{600, 1}};
    check_pieces(series, 2, 450, 600, within, COUNT(within));
    const interval nobody[] = {{600, -1}};
    check_pieces(series, 0, 450, 600, nobody, COUNT(nobody));
    /* A hole that the ring's renewal explains does not count: its delay and five periods are 116 ms. */
    series[0].count = seen_readings(first, &ring, 100 * MS, 1000 * MS, 400 * MS, 500 * MS);
    const interval whole[] = {{1000, 0}};
    check_pieces(series, 2, 100, 1000, whole, COUNT(whole));
    series[0].count = seen_readings(first, &ring, 100 * MS, 1000 * MS, 400 * MS, 520 * MS);
    const interval broken[] = {{400, 0}, {520, 1}, {1000, 0}};
    check_pieces(series, 2, 100, 1000, broken, COUNT(broken));
}

static void test_spread_is_that_of_the_readings_or_of_their_neighbours(void **state)
{
    (void)state;
    jm_reading readings[20];
    for (size_t i = 0; i < 20; i++)
        readings[i] = (jm_reading){1, (int64_t)i * 20 * MS, i % 2 == 0 ? 100 : 300};
    const jm__power_series series = {&ring, readings, 20};
    /* From 100 to 264 ms, and 16 ms of delay: readings 5 to 14. */
    assert_int_equal(jm__power_readings(&series, 100 * MS, 264 * MS), 10);
    assert_int_equal(jm__power_readings(&series, 101 * MS, 263 * MS), 8);
    assert_true(fabs(jm__power_spread_w(&series, 100 * MS, 264 * MS) - 100) < 1e-9);
    /* Of fewer than six, those within 100 ms of it too: 1 to 11, of which six are at 300 W. */
    double six = sqrt(10000 * (1 - 1.0 / 121));
    assert_true(fabs(jm__power_spread_w(&series, 120 * MS, 123 * MS) - six) < 1e-9);
    const jm__power_series one = {&ring, readings, 1}, none = {&ring, readings, 0};
    assert_true(jm__power_spread_w(&one, 0, MS) == 0 && jm__power_spread_w(&none, 0, MS) == 0);
    assert_int_equal(jm__power_readings(&none, 0, JM_NS_PER_S), 0);
}

/* 24 of 100 ms are seen: of what changes from look to look, 76 % of the variance is missed. */
static void test_a_sensor_that_looks_now_and_then_misses_what_lies_between(void **state)
{
    (void)state;
    jm_reading readings[12];
    for (size_t i = 0; i < 12; i++)
        readings[i] = (jm_reading){1, (int64_t)i * 100 * MS, i % 2 == 0 ? 100 : 300};
    const jm__power_series series = {&instant, readings, 12}, quick = {&ring, readings, 12};
    /* Readings 2 to 8 and a neighbour each: nine, whose differences of 200 W are a variance of 20,000 W^2. */
    double seconds = 0.673, expected = 0.76 * 20000 * seconds * seconds / 9;
    double found = jm__power_missed_variance(&series, 200 * MS, 873 * MS);
    if (!(fabs(found - expected) < 1e-9 * expected)) fail_msg("%.6f, should be %.6f", found, expected);
    /* All of them, at both ends. */
    expected = 0.76 * 20000 * 4 / 12;
    found = jm__power_missed_variance(&series, -500 * MS, 1500 * MS);
    if (!(fabs(found - expected) < 1e-9 * expected)) fail_msg("%.6f, should be %.6f", found, expected);
    assert_true(jm__power_missed_variance(&quick, 200 * MS, 873 * MS) == 0);
    const jm__power_series one = {&instant, readings, 1};
    assert_true(jm__power_missed_variance(&one, 200 * MS, 873 * MS) == 0);
}

static void test_where_nobody_looked_the_sensor_with_the_nearest_reading_is_queried(void **state)
{
    (void)state;
    const jm_reading first[] = {{1, 116 * MS, 1}, {1, 916 * MS, 1}};  /* true at 100 and 900 ms */
    const jm_reading second[] = {{1, 226 * MS, 1}, {1, 776 * MS, 1}}; /* at 200 and 750 ms */
    const jm__power_series series[] = {{&ring, NULL, 0}, {&ring, first, 2}, {&instant, second, 2}};
    assert_ptr_equal(jm__power_nearest(series, 3, 400 * MS, 500 * MS), &series[2]);
    assert_ptr_equal(jm__power_nearest(series, 3, 820 * MS, 830 * MS), &series[1]); /* both 70 ms */
    assert_ptr_equal(jm__power_nearest(series, 3, 20 * MS, 30 * MS), &series[1]);
    assert_ptr_equal(jm__power_nearest(series, 3, 170 * MS, 640 * MS), &series[2]); /* within */
    assert_ptr_equal(jm__power_nearest(series, 2, 400 * MS, 500 * MS), &series[1]);
    assert_null(jm__power_nearest(series, 1, 400 * MS, 500 * MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_sensor_says_was_true_a_little_earlier),
        cmocka_unit_test(test_energy_is_the_area_under_the_readings),
        cmocka_unit_test(test_each_moment_is_marked_by_the_best_sensor_that_saw_it),
        cmocka_unit_test(test_spread_is_that_of_the_readings_or_of_their_neighbours),
        cmocka_unit_test(test_a_sensor_that_looks_now_and_then_misses_what_lies_between),
        cmocka_unit_test(test_where_nobody_looked_the_sensor_with_the_nearest_reading_is_queried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
