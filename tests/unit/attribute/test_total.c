/* The total of a board from its counter and its power sensors, whichever of them is missing or wrong. */
#include "attribute/fit/total.h"
#include "base/clock.h"
#include "base/vec.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#define MS JM_NS_PER_MS
#define S  JM_NS_PER_S

static const jm_sensor counter = {.name = "energy_counter",
                                  .quantity = JM_QUANTITY_ENERGY,
                                  .response = JM_RESPONSE_COUNTER,
                                  .period_ns = 100 * MS,
                                  .lag_u_ns = 5 * MS};
static const jm_sensor rapl = {.name = "energy_counter",
                               .quantity = JM_QUANTITY_ENERGY,
                               .response = JM_RESPONSE_COUNTER,
                               .period_ns = 1 * MS,
                               .lag_u_ns = 1 * MS};
static const jm_sensor ring = {
    .name = "power_ring", .response = JM_RESPONSE_BOX, .period_ns = 20 * MS, .window_ns = 20 * MS};
static const jm_sensor instant = {
    .name = "power_instant", .response = JM_RESPONSE_INSTANT, .period_ns = 100 * MS};

/* Readings of the true power and energy of a board, of which some are left out or spoilt. */
typedef struct board {
    JM_VEC(jm_reading) counts;
    JM_VEC(jm_reading) powers[2]; /* ring, instant */
    double (*power_w)(int64_t t_ns);
} board;

static double steady_w(int64_t t_ns)
{
    (void)t_ns;
    return 100;
}

/* 600 W for a second, 200 W for a second. */
static double changing_w(int64_t t_ns)
{
    return t_ns / S % 2 == 0 ? 600 : 200;
}

static double energy_j(const board *b, int64_t from_ns, int64_t to_ns)
{
    double sum_j = 0;
    for (int64_t t_ns = from_ns; t_ns < to_ns; t_ns += MS)
        sum_j += b->power_w(t_ns) * 1e-3;
    return sum_j;
}

static void count(board *b, int64_t t_ns)
{
    jm_reading reading = {1, t_ns, 5e7 + energy_j(b, 0, t_ns)};
    assert_true(jm__vec_push(&b->counts, reading));
}

static void count_each(board *b, int64_t from_ns, int64_t to_ns, int64_t every_ns)
{
    for (int64_t t_ns = from_ns; t_ns <= to_ns; t_ns += every_ns)
        count(b, t_ns);
}

static void power_each(board *b, int which, int64_t from_ns, int64_t to_ns)
{
    for (int64_t t_ns = from_ns; t_ns <= to_ns; t_ns += which == 0 ? ring.period_ns : instant.period_ns) {
        double mean_w = energy_j(b, t_ns - ring.window_ns, t_ns) / (1e-9 * (double)ring.window_ns);
        jm_reading reading = {2 + which, t_ns, which == 0 ? mean_w : b->power_w(t_ns)};
        assert_true(jm__vec_push(&b->powers[which], reading));
    }
}

static jm__total measure(board *b, const jm_sensor *counter_of, jm__intervals windows)
{
    jm__board_readings of = {.counter = counter_of};
    b->counts.count = jm__counts_clean(b->counts.items, b->counts.count);
    for (int i = 0; i < 2; i++)
        if (b->powers[i].count > 0)
            of.powers[of.power_count++] =
                (jm__power_series){i == 0 ? &ring : &instant, b->powers[i].items, b->powers[i].count};
    of.counts = b->counts.items;
    of.count_count = b->counts.count;
    jm__total total = jm__total_measure(&of, &windows);
    jm__vec_free(&b->counts);
    for (int i = 0; i < 2; i++)
        jm__vec_free(&b->powers[i]);
    return total;
}

static jm__total measure_one(board *b, int64_t from_ns, int64_t to_ns)
{
    jm__interval window = {from_ns, to_ns};
    return measure(b, &counter, (jm__intervals){.items = &window, .count = 1});
}

/* The truth is in the 95 % interval, which is no wider than this share of it to each side. */
static void assert_holds(jm__total total, double truth_j, double share)
{
    double half_j = 1.96 * total.u_j;
    if (!(fabs(total.energy_j - truth_j) <= half_j && half_j <= share * truth_j))
        fail_msg("%.2f +-%.2f J for %.2f J", total.energy_j, half_j, truth_j);
}

static void test_short_windows_of_a_counter_alone_hold_the_truth(void **state)
{
    (void)state;
    board b = {.power_w = steady_w};
    jm__interval windows[4];
    count_each(&b, 0, 5 * S, 100 * MS);
    for (int i = 0; i < 4; i++)
        windows[i] = (jm__interval){(i + 1) * S + 37 * MS, (i + 1) * S + 437 * MS};
    jm__total total = measure(&b, &rapl, (jm__intervals){.items = windows, .count = 4});
    assert_holds(total, 160, 0.1);
    assert_true(total.u_j > 0.5); /* edges that no reading marks are not that sure */
    assert_true(total.unseen_j == 0);
}

/* A window within one step of the counter has a share of it, with an error no smaller than that of a guess.
 */
static void test_a_window_between_two_readings_of_a_counter_alone_is_a_share_of_its_step(void **state)
{
    (void)state;
    board b = {.power_w = changing_w};
    count_each(&b, 0, 10 * S, 2 * S);
    jm__total total = measure_one(&b, 4500 * MS, 5500 * MS);
    assert_true(fabs(total.energy_j - 400) < 1);
    assert_true(total.u_j > 0.1 * total.energy_j);
}

static void test_where_the_ring_ends_the_other_sensors_go_on(void **state)
{
    (void)state;
    board b = {.power_w = changing_w};
    power_each(&b, 0, 0, 3 * S);
    power_each(&b, 1, 0, 20 * S);
    assert_holds(measure_one(&b, 2300 * MS, 8300 * MS), 2400, 0.1); /* across its end */
    power_each(&b, 0, 0, 3 * S);
    power_each(&b, 1, 0, 20 * S);
    assert_holds(measure_one(&b, 12300 * MS, 14300 * MS), 800, 0.2); /* long after */
    power_each(&b, 0, 0, 3 * S);
    count_each(&b, 0, 20 * S, S);
    assert_holds(measure_one(&b, 12300 * MS, 14300 * MS), 800, 0.25); /* with the counter alone */
}

static void test_a_glitch_of_the_counter_takes_and_gives_nothing(void **state)
{
    (void)state;
    static const double wild_j[] = {0, 1e-3, 4e6, 1.8e16};
    for (size_t i = 0; i < sizeof wild_j / sizeof *wild_j; i++) {
        board b = {.power_w = changing_w};
        power_each(&b, 0, 0, 20 * S);
        count_each(&b, 0, 20 * S, 5 * S);
        b.counts.items[2].value = wild_j[i];
        assert_holds(measure_one(&b, 0, 20 * S), 8000, 0.01);
        count_each(&b, 0, 20 * S, 5 * S); /* without any power sensor */
        b.counts.items[2].value = wild_j[i];
        assert_holds(measure_one(&b, 0, 20 * S), 8000, 0.01);
    }
}

static void test_a_counter_that_begins_again_loses_nothing_that_a_power_sensor_saw(void **state)
{
    (void)state;
    board b = {.power_w = changing_w};
    power_each(&b, 0, 0, 20 * S);
    count_each(&b, 0, 20 * S, 5 * S);
    for (size_t i = 3; i < b.counts.count; i++)
        b.counts.items[i].value -= 5500;
    assert_holds(measure_one(&b, 0, 20 * S), 8000, 0.02);
}

static void test_a_counter_that_strata_still_around_a_short_window_takes_nothing_off(void **state)
{
    (void)state;
    board b = {.power_w = changing_w};
    power_each(&b, 0, 0, 20 * S);
    count_each(&b, 0, 20 * S, S);
    for (size_t i = 8; i < b.counts.count; i++)
        b.counts.items[i].value = b.counts.items[7].value;
    assert_holds(measure_one(&b, 10200 * MS, 10600 * MS), 240, 0.1);
    for (int64_t from_ns = 6 * S; from_ns < 9 * S; from_ns += 130 * MS) {
        power_each(&b, 0, 0, 20 * S);
        count_each(&b, 0, 20 * S, S);
        for (size_t i = 8; i < b.counts.count; i++)
            b.counts.items[i].value = b.counts.items[7].value;
        double truth_j = energy_j(&b, from_ns, from_ns + 300 * MS);
        assert_holds(measure_one(&b, from_ns, from_ns + 300 * MS), truth_j, 0.3);
    }
}

static void test_a_wrong_reading_of_a_short_run_is_marked_and_the_interval_holds_both(void **state)
{
    (void)state;
    board b = {.power_w = changing_w};
    power_each(&b, 0, 0, 4 * S);
    count(&b, 900 * MS);
    count(&b, 3100 * MS);
    b.counts.items[0].value -= 100;
    jm__total total = measure_one(&b, S, 3 * S);
    assert_true(fabs(total.apart_j - 100) < 15);
    assert_holds(total, 800, 0.15);
    assert_true(total.energy_j + 1.96 * total.u_j > 890);
}

/* 600 W for a moment within a step of the counter of 100 ms; the other sensor shows a mean over a second, 100
 * W. It does not split steps that are shorter than its window. */
static void test_short_steps_of_a_counter_are_marked_by_it_and_long_ones_by_a_mean(void **state)
{
    (void)state;
    static const jm_sensor average = {
        .name = "power_average", .response = JM_RESPONSE_BOX, .period_ns = 100 * MS, .window_ns = S};
    static jm_reading counts[] = {
        {1, 0, 0}, {1, 5000 * MS, 500}, {1, 5100 * MS, 560}, {1, 5200 * MS, 570}, {1, 6300 * MS, 680}};
    static jm_reading means[80];
    for (int i = 0; i < 80; i++)
        means[i] = (jm_reading){2, (i + 1) * 100 * MS, 100};
    const jm__board_readings of = {.counter = &counter,
                                   .counts = counts,
                                   .count_count = 5,
                                   .powers = {{&average, means, 80}},
                                   .power_count = 1};
    const struct {
        jm__interval window;
        double energy_j;
    } cases[] = {{{5020 * MS, 5080 * MS}, 36},
                 {{5120 * MS, 5180 * MS}, 6},
                 {{1020 * MS, 1080 * MS}, 6},
                 {{5500 * MS, 5560 * MS}, 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        jm__interval window = cases[i].window;
        jm__total total = jm__total_measure(&of, &(jm__intervals){.items = &window, .count = 1});
        if (fabs(total.energy_j - cases[i].energy_j) > 0.01)
            fail_msg("case %zu: %.4f J, should be %.4f", i, total.energy_j, cases[i].energy_j);
    }
}

/* A steady 1000 W and a ring of 5 W noise: half of it drift with a memory of ten readings, so ten readings
 * err as one. Of the standard uncertainty, 0.5 % is the ring's gain. */
static void test_the_integral_of_few_readings_knows_their_noise(void **state)
{
    (void)state;
    jm_sensor noisy = ring;
    noisy.noise = 5;
    for (int64_t length_ns = 40 * MS; length_ns < 20 * S; length_ns *= 5) {
        JM_VEC(jm_reading) readings = {0};
        for (int64_t t_ns = 0; t_ns < 30 * S; t_ns += ring.period_ns)
            assert_true(jm__vec_push(&readings, ((jm_reading){2, t_ns, 1000})));
        const jm__board_readings of = {.powers = {{&noisy, readings.items, readings.count}},
                                       .power_count = 1};
        jm__interval window = {5 * S + 5 * MS, 5 * S + 5 * MS + length_ns};
        jm__total total = jm__total_measure(&of, &(jm__intervals){.items = &window, .count = 1});
        double seconds = 1e-9 * (double)length_ns, count = (double)(length_ns / ring.period_ns);
        double noise_j = sqrt(pow(total.u_j, 2) - pow(5 * seconds, 2));
        double requested_j = 5 * seconds / sqrt(fmax(1, count / 10));
        if (!(fabs(noise_j / requested_j - 1) < 0.06))
            fail_msg("%g s: %g, not %g J", seconds, noise_j, requested_j);
        jm__vec_free(&readings);
    }
}

static void test_what_no_sensor_saw_is_marked(void **state)
{
    (void)state;
    board b = {.power_w = steady_w};
    power_each(&b, 0, 0, 3 * S);
    jm__total total = measure_one(&b, 2 * S, 6 * S);
    assert_holds(total, 400, 0.6);
    assert_true(total.unseen_j > 250 && total.unseen_j < 300);
    assert_true(total.u_j > 70);
}

static void test_a_counter_that_never_moves_tells_nothing(void **state)
{
    (void)state;
    board b = {.power_w = steady_w};
    count_each(&b, 0, 5 * S, 100 * MS);
    for (size_t i = 1; i < b.counts.count; i++)
        b.counts.items[i].value = b.counts.items[0].value;
    assert_null(measure_one(&b, S, 2 * S).source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_windows_of_a_counter_alone_hold_the_truth),
        cmocka_unit_test(test_a_window_between_two_readings_of_a_counter_alone_is_a_share_of_its_step),
        cmocka_unit_test(test_where_the_ring_ends_the_other_sensors_go_on),
        cmocka_unit_test(test_a_glitch_of_the_counter_takes_and_gives_nothing),
        cmocka_unit_test(test_a_counter_that_begins_again_loses_nothing_that_a_power_sensor_saw),
        cmocka_unit_test(test_a_counter_that_strata_still_around_a_short_window_takes_nothing_off),
        cmocka_unit_test(test_a_wrong_reading_of_a_short_run_is_marked_and_the_interval_holds_both),
        cmocka_unit_test(test_short_steps_of_a_counter_are_marked_by_it_and_long_ones_by_a_mean),
        cmocka_unit_test(test_the_integral_of_few_readings_knows_their_noise),
        cmocka_unit_test(test_what_no_sensor_saw_is_marked),
        cmocka_unit_test(test_a_counter_that_never_moves_tells_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
