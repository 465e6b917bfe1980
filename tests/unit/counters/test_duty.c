/* When counters are sampled, in virtual time: a board that works and a helper that costs, an hour in a
 * moment. */
#include "record/counters/duty_cycle.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS JM_NS_PER_MS
enum { TICK_MS = 50, TOLD_LATE_TICKS = 16, HOUR_S = 3600, CLASSES = 64 };

/* Of a program that is traced in turns; a sampler needs that long to begin. */
enum { BURST_MS = 350, SAMPLER_MS = 200, SOON_MS = 500 };

/* Of each interval: starts and stops. */
static int beside_ms;

/* The class that works in the tick that begins at t_s; 0: none. */
typedef int64_t work_of(double t_s);

typedef struct board {
    work_of *work;
    double cpu_a_second; /* of sampling */
    double seconds_a_minute;
    int apart_ms;   /* its turns; 0: it is traced all of the time */
    bool announced; /* they are */
    jm__duty_cycle duty_cycle;
    bool sampling;
    int64_t requested_ms; /* sampling, for so long */
    double cpu_s, sampled_s, on_board_s;
    int64_t began_ns;
    double seen_s[CLASSES]; /* time in which a class was sampled */
    double begins_s[10000]; /* of intervals */
    int intervals;
} board;

/* The first second is one, too. */
static bool in_burst(const board *b, int64_t tick)
{
    int64_t ms = tick * TICK_MS;
    return b->apart_ms == 0 || ms < 1000 || (ms >= b->apart_ms && ms % b->apart_ms < BURST_MS);
}

static void tell_bursts(board *b, int64_t tick, int64_t now_ns)
{
    bool soon = b->announced && (tick * TICK_MS + SOON_MS) % b->apart_ms == 0;
    if (soon) jm__duty_cycle_note_burst(&b->duty_cycle, JM_DUTY_CYCLE_SOON, now_ns);
    if (tick > 0 && in_burst(b, tick) == in_burst(b, tick - 1)) return;
    jm__duty_cycle_note_burst(&b->duty_cycle,
                              in_burst(b, tick) ? JM_DUTY_CYCLE_TRACED : JM_DUTY_CYCLE_UNTRACED, now_ns);
}

static board *simulate_bursts(work_of *work, double seconds_a_minute, double cpu_a_second, double length_s,
                              int apart_ms, bool announced)
{
    static board b;
    const int64_t zero_ns = 1000 * JM_NS_PER_S, tick_ns = TICK_MS * MS;
    b = (board){.work = work,
                .seconds_a_minute = seconds_a_minute,
                .cpu_a_second = cpu_a_second,
                .apart_ms = apart_ms,
                .announced = announced};
    jm__duty_cycle_init(&b.duty_cycle, seconds_a_minute, zero_ns);
    for (int64_t tick = 0; (double)tick * TICK_MS < length_s * 1000; tick++) {
        int64_t now_ns = zero_ns + tick * tick_ns, told = tick - TOLD_LATE_TICKS;
        double t_s = (double)tick * TICK_MS / 1000, reported_s = (double)told * TICK_MS / 1000;
        int64_t class_id = told >= 0 && in_burst(&b, told) ? work(reported_s) : 0;
        if (apart_ms > 0) tell_bursts(&b, tick, now_ns);
        if (class_id > 0) {
            int64_t start_ns = zero_ns + told * tick_ns;
            jm__duty_cycle_kernel(&b.duty_cycle, class_id, start_ns, start_ns + tick_ns, now_ns);
        }
        bool wants = jm__duty_cycle_should_sample(&b.duty_cycle, now_ns, (int64_t)(b.cpu_s * 1e9));
        b.requested_ms = wants ? b.requested_ms + TICK_MS : 0;
        if (apart_ms > 0) wants = wants && b.requested_ms > SAMPLER_MS;
        if (wants && !b.sampling) {
            jm__duty_cycle_began(&b.duty_cycle, now_ns);
            b.begins_s[b.intervals++ % 10000] = t_s;
            b.began_ns = now_ns;
        }
        if (!wants && b.sampling) {
            int64_t on_board_ns = now_ns - b.began_ns + beside_ms * MS;
            jm__duty_cycle_ended(&b.duty_cycle, now_ns);
            jm__duty_cycle_left(&b.duty_cycle, on_board_ns);
            b.on_board_s += (double)on_board_ns * 1e-9;
        }
        b.sampling = wants;
        if (!wants) continue;
        b.sampled_s += TICK_MS * 1e-3;
        b.cpu_s += TICK_MS * 1e-3 * cpu_a_second;
        if (in_burst(&b, tick)) b.seen_s[work(t_s)] += TICK_MS * 1e-3;
    }
    return &b;
}

static board *simulate(work_of *work, double seconds_a_minute, double cpu_a_second, double length_s)
{
    return simulate_bursts(work, seconds_a_minute, cpu_a_second, length_s, 0, false);
}

static int64_t one_class(double t_s)
{
    return t_s >= 1 ? 1 : 0;
}

static void test_the_first_work_is_sampled_often_and_briefly(void **state)
{
    (void)state;
    const board *b = simulate(one_class, JM_DUTY_CYCLE_DEFAULT_S, 0.95, 10);
    assert_int_equal(b->intervals, 3);
    assert_true(b->begins_s[0] >= 1 && b->begins_s[0] < 2.1);
    assert_true(b->begins_s[1] - b->begins_s[0] < 2.3 && b->begins_s[2] - b->begins_s[1] < 4.3);
    assert_true(b->sampled_s >= 0.9 && b->sampled_s < 1.3);
}

static void test_from_the_first_minute_on_it_takes_its_share_of_the_time(void **state)
{
    (void)state;
    for (int seconds = 60; seconds <= HOUR_S; seconds *= 2) {
        const board *b = simulate(one_class, JM_DUTY_CYCLE_DEFAULT_S, 0.95, seconds);
        assert_true(b->sampled_s <= 0.03 * seconds + 1e-9);
        assert_true(b->sampled_s > 0.025 * seconds - 0.35);
        for (int i = 1; i < b->intervals; i++)
            assert_true(b->begins_s[i] - b->begins_s[i - 1] < 50);
    }
}

static void test_starts_and_stops_count_as_well(void **state)
{
    (void)state;
    beside_ms = 300;
    for (int seconds = 60; seconds <= HOUR_S; seconds *= 2) {
        const board *b = simulate(one_class, JM_DUTY_CYCLE_DEFAULT_S, 0.95, seconds);
        assert_true(b->on_board_s <= 0.03 * seconds + 0.1);
        assert_true(b->on_board_s > 0.025 * seconds - 0.7 && b->intervals >= 3);
    }
    beside_ms = 0;
}

static void test_more_is_sampled_if_it_is_queried_for(void **state)
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
    assert_int_equal(b->intervals, 1);
}

static int64_t no_class(double t_s)
{
    (void)t_s;
    return 0;
}

static void test_a_board_at_rest_is_not_sampled(void **state)
{
    (void)state;
    assert_int_equal(simulate(no_class, 2, 0.95, HOUR_S)->intervals, 0);
    assert_int_equal(simulate(no_class, 60, 0.95, HOUR_S)->intervals, 0);
}

/* A tenth of a second of each. */
static int64_t bursts(double t_s)
{
    return fmod(t_s, 1) < 0.1 ? 1 : 0;
}

static void test_of_a_board_that_works_now_and_then_no_more_time_is_sampled(void **state)
{
    (void)state;
    const board *b = simulate(bursts, JM_DUTY_CYCLE_DEFAULT_S, 0.1, 60);
    assert_true(b->sampled_s > 1.4 && b->sampled_s <= 1.8 + 1e-9);
    assert_true(b->seen_s[1] >= 0.1);
}

static int64_t new_class_after_20_s(double t_s)
{
    return t_s >= 20 && fmod(t_s, 1) < 0.2 ? 2 : 1;
}

static void test_work_that_no_sample_has_seen_is_sampled_soon(void **state)
{
    (void)state;
    const board *b = simulate(new_class_after_20_s, JM_DUTY_CYCLE_DEFAULT_S, 0.95, 30);
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
    assert_int_equal(b->intervals, simulate(one_class, 0.1, 0.95, 200)->intervals);
}

/* An interval that sees class 1 alone, and eight seconds of its work after it. Returns the end. */
static int64_t sample_class_1(jm__duty_cycle *duty_cycle, int64_t t_ns)
{
    int64_t end_ns = t_ns + 300 * MS, more_ns = end_ns + 8 * JM_NS_PER_S;
    assert_true(jm__duty_cycle_should_sample(duty_cycle, t_ns, 0));
    jm__duty_cycle_began(duty_cycle, t_ns);
    jm__duty_cycle_ended(duty_cycle, end_ns);
    jm__duty_cycle_kernel(duty_cycle, 1, t_ns, end_ns, end_ns);
    jm__duty_cycle_kernel(duty_cycle, 1, end_ns, more_ns, more_ns);
    return more_ns;
}

/* What starts and stops take does not grow with an interval: one that ended at once does not end sampling. */
static void test_a_short_interval_costs_no_more_than_its_start_and_stop(void **state)
{
    (void)state;
    jm__duty_cycle duty_cycle;
    const int64_t begin_ns = 1000 * JM_NS_PER_S;
    jm__duty_cycle_init(&duty_cycle, JM_DUTY_CYCLE_DEFAULT_S, begin_ns);
    jm__duty_cycle_began(&duty_cycle, begin_ns);
    jm__duty_cycle_ended(&duty_cycle, begin_ns + MS);
    jm__duty_cycle_left(&duty_cycle, 350 * MS);
    int64_t now_ns = begin_ns + JM_DUTY_CYCLE_GAP_NS;
    jm__duty_cycle_kernel(&duty_cycle, 1, begin_ns, now_ns, now_ns);
    assert_true(jm__duty_cycle_should_sample(&duty_cycle, now_ns, 0));
}

/* Fifty classes in turn: of each a fiftieth is sampled. */
static void test_work_of_which_little_was_sampled_is_not_new(void **state)
{
    (void)state;
    jm__duty_cycle duty_cycle;
    const int64_t begin_ns = 1000 * JM_NS_PER_S, end_ns = begin_ns + 300 * MS,
                  late_ns = end_ns + JM_DUTY_CYCLE_LATE_NS;
    jm__duty_cycle_init(&duty_cycle, JM_DUTY_CYCLE_DEFAULT_S, begin_ns);
    jm__duty_cycle_began(&duty_cycle, begin_ns);
    jm__duty_cycle_ended(&duty_cycle, end_ns);
    for (int64_t t_ns = begin_ns; t_ns < late_ns; t_ns += MS)
        jm__duty_cycle_kernel(&duty_cycle, t_ns / MS % 50, t_ns, t_ns + MS, t_ns + MS);
    assert_false(jm__duty_cycle_should_sample(&duty_cycle, late_ns, 0));
    assert_true(jm__duty_cycle_should_sample(&duty_cycle, begin_ns + JM_DUTY_CYCLE_GAP_NS, 0));
    jm__duty_cycle_kernel(&duty_cycle, 50, late_ns - 100 * MS, late_ns, late_ns);
    assert_true(jm__duty_cycle_should_sample(&duty_cycle, late_ns, 0));
}

/* Work of before an interval that has missed it may never come again. */
static void test_work_that_no_sample_has_seen_counts_from_the_last_interval_on(void **state)
{
    (void)state;
    jm__duty_cycle duty_cycle;
    int64_t t_ns = 1000 * JM_NS_PER_S;
    jm__duty_cycle_init(&duty_cycle, JM_DUTY_CYCLE_DEFAULT_S, t_ns - 900 * JM_NS_PER_S);
    jm__duty_cycle_kernel(&duty_cycle, 1, t_ns, t_ns + JM_NS_PER_S, t_ns + JM_NS_PER_S);
    for (int i = 0; i < 4; i++) /* until an interval every ten seconds is enough */
        t_ns = sample_class_1(&duty_cycle, t_ns + JM_NS_PER_S);
    jm__duty_cycle_kernel(&duty_cycle, 2, t_ns, t_ns + JM_NS_PER_S,
                          t_ns + JM_NS_PER_S); /* once: a ninth of the work */
    t_ns = sample_class_1(&duty_cycle, t_ns + JM_NS_PER_S);
    assert_false(jm__duty_cycle_should_sample(&duty_cycle, t_ns, 0));
    jm__duty_cycle_kernel(&duty_cycle, 2, t_ns, t_ns + JM_NS_PER_S, t_ns + JM_NS_PER_S);
    assert_true(jm__duty_cycle_should_sample(&duty_cycle, t_ns + JM_NS_PER_S, 0)); /* it did */
}

/* Something new every second. */
static int64_t ever_new(double t_s)
{
    return 2 + (int64_t)t_s % (CLASSES - 2);
}

static void check_cost(work_of *work, double seconds_a_minute, double cpu_a_second)
{
    const board *b = simulate(work, seconds_a_minute, cpu_a_second, HOUR_S);
    double share = fmax(JM_DUTY_CYCLE_CPU_SHARE, seconds_a_minute / 60);
    double tick_s = TICK_MS * 1e-3 * cpu_a_second;
    assert_true(b->cpu_s <= share * HOUR_S + JM_DUTY_CYCLE_CPU_START_NS * 1e-9 + tick_s);
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

static void check_bursts(int apart_ms, bool announced, double least_seen_s)
{
    const board *b = simulate_bursts(one_class, 2, 0.95, 60, apart_ms, announced);
    print_message("turns %d ms apart%s: sampled %.2f s, of which %.2f s traced\n", apart_ms,
                  announced ? ", announced" : "", b->sampled_s, b->seen_s[1]);
    assert_true(b->seen_s[1] >= least_seen_s);
    assert_true(b->seen_s[1] >= 0.4 * b->sampled_s);
}

static void test_of_a_program_that_is_traced_in_bursts_bursts_are_sampled(void **state)
{
    (void)state;
    check_bursts(4000, true, 0.9);
    check_bursts(4000, false, 0.9);
    check_bursts(10000, true, 0.7);
    check_bursts(10000, false, 0.3);
    assert_true(simulate_bursts(one_class, 60, 5, 100, 4000, false)->sampled_s > 94); /* always is always */
}

/* Untraced since its second second. */
static jm__duty_cycle *duty_cycle_of_bursts(double seconds_a_minute)
{
    static jm__duty_cycle duty_cycle;
    jm__duty_cycle_init(&duty_cycle, seconds_a_minute, JM_NS_PER_S);
    jm__duty_cycle_kernel(&duty_cycle, 1, JM_NS_PER_S, 2 * JM_NS_PER_S, 2 * JM_NS_PER_S);
    jm__duty_cycle_note_burst(&duty_cycle, JM_DUTY_CYCLE_UNTRACED, 2 * JM_NS_PER_S);
    return &duty_cycle;
}

static void test_a_burst_that_does_not_come_is_not_waited_for(void **state)
{
    (void)state;
    jm__duty_cycle *duty_cycle = duty_cycle_of_bursts(2);
    assert_false(jm__duty_cycle_should_sample(duty_cycle, 5 * JM_NS_PER_S, 0));
    jm__duty_cycle_note_burst(duty_cycle, JM_DUTY_CYCLE_SOON, 5 * JM_NS_PER_S);
    assert_true(jm__duty_cycle_should_sample(duty_cycle, 5 * JM_NS_PER_S, 0));
    assert_true(jm__duty_cycle_should_sample(duty_cycle, 6 * JM_NS_PER_S, 0));
    assert_false(jm__duty_cycle_should_sample(duty_cycle, 8 * JM_NS_PER_S, 0));
}

static void test_what_was_sampled_for_a_burst_that_came_late_does_not_count(void **state)
{
    (void)state;
    jm__duty_cycle *duty_cycle = duty_cycle_of_bursts(2);
    jm__duty_cycle_note_burst(duty_cycle, JM_DUTY_CYCLE_SOON, 20 * JM_NS_PER_S);
    assert_true(jm__duty_cycle_should_sample(duty_cycle, 20 * JM_NS_PER_S, 0));
    jm__duty_cycle_began(duty_cycle, 20 * JM_NS_PER_S);
    assert_false(jm__duty_cycle_should_sample(duty_cycle, 23 * JM_NS_PER_S, 0));
    jm__duty_cycle_ended(duty_cycle, 23 * JM_NS_PER_S);
    jm__duty_cycle_note_burst(duty_cycle, JM_DUTY_CYCLE_TRACED, 23 * JM_NS_PER_S + MS);
    assert_true(jm__duty_cycle_should_sample(duty_cycle, 23 * JM_NS_PER_S + MS, 0));
    jm__duty_cycle_began(duty_cycle, 23 * JM_NS_PER_S + MS);
    jm__duty_cycle_note_burst(duty_cycle, JM_DUTY_CYCLE_UNTRACED, 25 * JM_NS_PER_S);
    jm__duty_cycle_ended(duty_cycle, 25 * JM_NS_PER_S);
    jm__duty_cycle_note_burst(duty_cycle, JM_DUTY_CYCLE_TRACED, 26 * JM_NS_PER_S);
    assert_false(jm__duty_cycle_should_sample(duty_cycle, 26 * JM_NS_PER_S, 0)); /* that one does */
}

static void test_the_interval_in_which_the_first_burst_ends_counts(void **state)
{
    (void)state;
    jm__duty_cycle duty_cycle;
    jm__duty_cycle_init(&duty_cycle, 2, JM_NS_PER_S);
    jm__duty_cycle_kernel(&duty_cycle, 1, JM_NS_PER_S, 2 * JM_NS_PER_S, 2 * JM_NS_PER_S);
    jm__duty_cycle_began(&duty_cycle, 2 * JM_NS_PER_S);
    jm__duty_cycle_note_burst(&duty_cycle, JM_DUTY_CYCLE_UNTRACED, 4 * JM_NS_PER_S);
    jm__duty_cycle_ended(&duty_cycle, 4 * JM_NS_PER_S);
    jm__duty_cycle_kernel(&duty_cycle, 1, 2 * JM_NS_PER_S, 4 * JM_NS_PER_S, 5 * JM_NS_PER_S);
    jm__duty_cycle_note_burst(&duty_cycle, JM_DUTY_CYCLE_TRACED, 8 * JM_NS_PER_S);
    assert_false(
        jm__duty_cycle_should_sample(&duty_cycle, 8 * JM_NS_PER_S, 0)); /* a minute's share is spent */
}

/* Its own kernels are told while it goes on, and say nothing of another process. */
static void test_a_long_burst_is_sampled_as_long_as_was_requested(void **state)
{
    (void)state;
    jm__duty_cycle *duty_cycle = duty_cycle_of_bursts(2);
    jm__duty_cycle_note_burst(duty_cycle, JM_DUTY_CYCLE_SOON, 19 * JM_NS_PER_S);
    assert_true(jm__duty_cycle_should_sample(duty_cycle, 19 * JM_NS_PER_S, 0));
    jm__duty_cycle_began(duty_cycle, 19 * JM_NS_PER_S);
    jm__duty_cycle_note_burst(duty_cycle, JM_DUTY_CYCLE_TRACED, 20 * JM_NS_PER_S);
    jm__duty_cycle_kernel(duty_cycle, 1, 20 * JM_NS_PER_S, 21 * JM_NS_PER_S, 21 * JM_NS_PER_S + 500 * MS);
    assert_true(jm__duty_cycle_should_sample(duty_cycle, 20 * JM_NS_PER_S + 400 * MS, 0));
    assert_false(jm__duty_cycle_should_sample(duty_cycle, 20 * JM_NS_PER_S + 600 * MS, 0));
}

static void test_a_board_whose_program_has_ended_is_at_rest(void **state)
{
    (void)state;
    jm__duty_cycle *duty_cycle = duty_cycle_of_bursts(60);
    assert_true(
        jm__duty_cycle_should_sample(duty_cycle, 100 * JM_NS_PER_S, 0)); /* it may well work between turns */
    jm__duty_cycle_note_burst(duty_cycle, JM_DUTY_CYCLE_NO_BURSTS, 100 * JM_NS_PER_S);
    assert_false(jm__duty_cycle_should_sample(duty_cycle, 101 * JM_NS_PER_S, 0));
}

/* The last that is heard of a process is that it is traced, or nothing. */
static void test_a_program_that_has_ended_in_a_burst_is_not_sampled(void **state)
{
    (void)state;
    jm__duty_cycle *duty_cycle = duty_cycle_of_bursts(2);
    jm__duty_cycle_note_burst(duty_cycle, JM_DUTY_CYCLE_TRACED, 5 * JM_NS_PER_S);
    assert_true(jm__duty_cycle_should_sample(duty_cycle, 5 * JM_NS_PER_S, 0));
    for (int64_t t_s = 7; t_s < 100; t_s++)
        assert_false(jm__duty_cycle_should_sample(duty_cycle, t_s * JM_NS_PER_S, 0));
}

/* Of a program with a budget and one with a schedule, the first ends. */
static void test_bursts_that_nobody_announces_any_more_are_expected(void **state)
{
    (void)state;
    jm__duty_cycle *duty_cycle = duty_cycle_of_bursts(2);
    jm__duty_cycle_note_burst(duty_cycle, JM_DUTY_CYCLE_SOON, 19 * JM_NS_PER_S);
    for (int64_t t_s = 20; t_s <= 180; t_s += 40) {
        bool expected = jm__duty_cycle_should_sample(duty_cycle, t_s * JM_NS_PER_S - 500 * MS, 0);
        if (t_s == 60) assert_false(expected);
        if (t_s >= 140) assert_true(expected);
        jm__duty_cycle_note_burst(duty_cycle, JM_DUTY_CYCLE_TRACED, t_s * JM_NS_PER_S);
        jm__duty_cycle_kernel(duty_cycle, 1, t_s * JM_NS_PER_S, (t_s + 1) * JM_NS_PER_S,
                              (t_s + 1) * JM_NS_PER_S);
        jm__duty_cycle_note_burst(duty_cycle, JM_DUTY_CYCLE_UNTRACED, (t_s + 1) * JM_NS_PER_S);
    }
}

/* So short that the next is soon when one ends: no interval lasts for ever. */
static void test_bursts_that_follow_each_other_at_once_are_sampled_no_longer_than_others(void **state)
{
    (void)state;
    const board *b = simulate_bursts(one_class, 2, 0.1, HOUR_S, 750, false);
    print_message("%d intervals, sampled %.0f s of an hour\n", b->intervals, b->sampled_s);
    assert_true(b->sampled_s < 5.0 * HOUR_S / 60 && b->intervals > 60);
}

static void test_a_process_that_is_traced_all_of_the_time_is_sampled_whatever_another_says(void **state)
{
    (void)state;
    jm__duty_cycle duty_cycle;
    jm__duty_cycle_init(&duty_cycle, 2, JM_NS_PER_S);
    jm__duty_cycle_note_burst(&duty_cycle, JM_DUTY_CYCLE_UNTRACED, JM_NS_PER_S);
    for (int64_t t_ns = JM_NS_PER_S; t_ns < 5 * JM_NS_PER_S; t_ns += JM_NS_PER_MS)
        jm__duty_cycle_kernel(&duty_cycle, 1, t_ns, t_ns + JM_NS_PER_MS, t_ns + JM_NS_PER_MS);
    assert_true(jm__duty_cycle_should_sample(&duty_cycle, 5 * JM_NS_PER_S, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_work_is_sampled_often_and_briefly),
        cmocka_unit_test(test_from_the_first_minute_on_it_takes_its_share_of_the_time),
        cmocka_unit_test(test_starts_and_stops_count_as_well),
        cmocka_unit_test(test_a_short_interval_costs_no_more_than_its_start_and_stop),
        cmocka_unit_test(test_work_of_which_little_was_sampled_is_not_new),
        cmocka_unit_test(test_more_is_sampled_if_it_is_queried_for),
        cmocka_unit_test(test_sixty_seconds_of_a_minute_are_always),
        cmocka_unit_test(test_a_board_at_rest_is_not_sampled),
        cmocka_unit_test(test_of_a_board_that_works_now_and_then_no_more_time_is_sampled),
        cmocka_unit_test(test_work_that_no_sample_has_seen_is_sampled_soon),
        cmocka_unit_test(test_work_that_hardly_matters_is_not_waited_for),
        cmocka_unit_test(test_work_that_no_sample_has_seen_counts_from_the_last_interval_on),
        cmocka_unit_test(test_it_costs_no_more_cpu_than_it_may),
        cmocka_unit_test(test_of_a_program_that_is_traced_in_bursts_bursts_are_sampled),
        cmocka_unit_test(test_a_burst_that_does_not_come_is_not_waited_for),
        cmocka_unit_test(test_what_was_sampled_for_a_burst_that_came_late_does_not_count),
        cmocka_unit_test(test_the_interval_in_which_the_first_burst_ends_counts),
        cmocka_unit_test(test_a_long_burst_is_sampled_as_long_as_was_requested),
        cmocka_unit_test(test_a_board_whose_program_has_ended_is_at_rest),
        cmocka_unit_test(test_a_program_that_has_ended_in_a_burst_is_not_sampled),
        cmocka_unit_test(test_bursts_that_nobody_announces_any_more_are_expected),
        cmocka_unit_test(test_bursts_that_follow_each_other_at_once_are_sampled_no_longer_than_others),
        cmocka_unit_test(test_a_process_that_is_traced_all_of_the_time_is_sampled_whatever_another_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
