/* When counters are sampled, in virtual time: a board that works and a helper that costs, an hour in a
 * moment. */
#include "counters/duty.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS JM_NS_PER_MS
enum { TICK_MS = 50, TOLD_LATE_TICKS = 16, HOUR_S = 3600, CLASSES = 64 };

/* The class that works in the tick that begins at t_s; 0: none. */
typedef int64_t work_of(double t_s);

typedef struct board {
    work_of *work;
    double cpu_a_second; /* of sampling */
    double seconds_a_minute;
    jm__duty duty;
    bool sampling;
    double cpu_s, sampled_s;
    double seen_s[CLASSES]; /* time in which a class was sampled */
    double begins_s[10000]; /* of stretches */
    int stretches;
} board;

static board *simulate(work_of *work, double seconds_a_minute, double cpu_a_second, double length_s)
{
    static board b;
    const int64_t zero_ns = 1000 * JM_NS_PER_S, tick_ns = TICK_MS * MS;
    b = (board){.work = work, .seconds_a_minute = seconds_a_minute, .cpu_a_second = cpu_a_second};
    jm__duty_init(&b.duty, seconds_a_minute, zero_ns);
    for (int64_t tick = 0; (double)tick * TICK_MS < length_s * 1000; tick++) {
        int64_t now_ns = zero_ns + tick * tick_ns, told = tick - TOLD_LATE_TICKS;
        double t_s = (double)tick * TICK_MS / 1000, told_s = (double)told * TICK_MS / 1000;
        int64_t class_id = told >= 0 ? work(told_s) : 0;
        if (class_id > 0) {
            int64_t start_ns = zero_ns + told * tick_ns;
            jm__duty_kernel(&b.duty, class_id, start_ns, start_ns + tick_ns, now_ns);
        }
        bool wants = jm__duty_wants(&b.duty, now_ns, (int64_t)(b.cpu_s * 1e9));
        if (wants && !b.sampling) {
            jm__duty_began(&b.duty, now_ns);
            b.begins_s[b.stretches++ % 10000] = t_s;
        }
        if (!wants && b.sampling) jm__duty_ended(&b.duty, now_ns);
        b.sampling = wants;
        if (!wants) continue;
        b.sampled_s += TICK_MS * 1e-3;
        b.cpu_s += TICK_MS * 1e-3 * cpu_a_second;
        b.seen_s[work(t_s)] += TICK_MS * 1e-3;
    }
    return &b;
}

static int64_t one_class(double t_s)
{
    return t_s >= 1 ? 1 : 0;
}

static void test_the_first_two_seconds_of_work_are_sampled(void **state)
{
    (void)state;
    const board *b = simulate(one_class, 2, 0.95, 10);
    assert_true(b->begins_s[0] >= 1 && b->begins_s[0] < 2.1);
    assert_true(b->seen_s[1] >= 1.9 && b->seen_s[1] <= 3);
}

static void test_of_each_minute_two_seconds_are_sampled(void **state)
{
    (void)state;
    const board *b = simulate(one_class, 2, 0.95, HOUR_S);
    assert_true(b->sampled_s > 1.8 * HOUR_S / 60 && b->sampled_s < 2.2 * HOUR_S / 60);
    for (int i = 2; i < b->stretches; i++)
        assert_true(b->begins_s[i] - b->begins_s[i - 1] < 35);
}

static void test_more_is_sampled_if_it_is_asked_for(void **state)
{
    (void)state;
    const board *b = simulate(one_class, 20, 0.95, HOUR_S);
    assert_true(b->sampled_s > 19.0 * HOUR_S / 60 && b->sampled_s < 21.0 * HOUR_S / 60);
    b = simulate(one_class, 0.2, 0.95, HOUR_S);
    assert_true(b->sampled_s > 0.15 * HOUR_S / 60 && b->sampled_s < 0.3 * HOUR_S / 60);
}

static void test_sixty_seconds_of_a_minute_are_always(void **state)
{
    (void)state;
    const board *b = simulate(one_class, 60, 5, 600);
    assert_true(b->sampled_s > 597);
    assert_int_equal(b->stretches, 1);
}

static int64_t no_class(double t_s)
{
    (void)t_s;
    return 0;
}

static void test_a_board_at_rest_is_not_sampled(void **state)
{
    (void)state;
    assert_int_equal(simulate(no_class, 2, 0.95, HOUR_S)->stretches, 0);
    assert_int_equal(simulate(no_class, 60, 0.95, HOUR_S)->stretches, 0);
}

/* A tenth of a second of each. */
static int64_t bursts(double t_s)
{
    return fmod(t_s, 1) < 0.1 ? 1 : 0;
}

static void test_of_a_board_that_works_now_and_then_two_seconds_of_work_are_sampled(void **state)
{
    (void)state;
    const board *b = simulate(bursts, 2, 0.1, 60);
    assert_true(b->seen_s[1] > 1.9 && b->seen_s[1] < 2.6);
}

static int64_t new_class_after_20_s(double t_s)
{
    return t_s >= 20 && fmod(t_s, 1) < 0.2 ? 2 : 1;
}

static void test_work_that_no_sample_has_seen_is_sampled_soon(void **state)
{
    (void)state;
    const board *b = simulate(new_class_after_20_s, 0.1, 0.95, 30);
    assert_true(b->seen_s[2] >= 0.02);
}

static int64_t rare_class(double t_s)
{
    return t_s >= 20 && fmod(t_s, 10) < 0.1 ? 2 : 1; /* a hundredth */
}

static void test_work_that_hardly_matters_is_not_waited_for(void **state)
{
    (void)state;
    const board *b = simulate(rare_class, 0.1, 0.95, 200);
    assert_int_equal(b->stretches, simulate(one_class, 0.1, 0.95, 200)->stretches);
}

/* Something new every second. */
static int64_t ever_new(double t_s)
{
    return 2 + (int64_t)t_s % (CLASSES - 2);
}

static void check_cost(work_of *work, double seconds_a_minute, double cpu_a_second)
{
    const board *b = simulate(work, seconds_a_minute, cpu_a_second, HOUR_S);
    double share = fmax(JM_DUTY_CPU_SHARE, seconds_a_minute / 60);
    double tick_s = TICK_MS * 1e-3 * cpu_a_second;
    assert_true(b->cpu_s <= share * HOUR_S + JM_DUTY_CPU_START_NS * 1e-9 + tick_s);
    assert_true(b->sampled_s > 1);
}

static void test_it_costs_no_more_cpu_than_it_may(void **state)
{
    (void)state;
    check_cost(ever_new, 2, 0.95);
    check_cost(ever_new, 2, 10);
    check_cost(one_class, 2, 10);
    check_cost(one_class, 10, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_two_seconds_of_work_are_sampled),
        cmocka_unit_test(test_of_each_minute_two_seconds_are_sampled),
        cmocka_unit_test(test_more_is_sampled_if_it_is_asked_for),
        cmocka_unit_test(test_sixty_seconds_of_a_minute_are_always),
        cmocka_unit_test(test_a_board_at_rest_is_not_sampled),
        cmocka_unit_test(test_of_a_board_that_works_now_and_then_two_seconds_of_work_are_sampled),
        cmocka_unit_test(test_work_that_no_sample_has_seen_is_sampled_soon),
        cmocka_unit_test(test_work_that_hardly_matters_is_not_waited_for),
        cmocka_unit_test(test_it_costs_no_more_cpu_than_it_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
