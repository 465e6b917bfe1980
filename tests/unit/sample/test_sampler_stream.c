/* A ring's samples on the one clock, whatever the clocks do; and the tick of a polled value. */
#include "record/sample/stamps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS       JM_NS_PER_MS
#define S        JM_NS_PER_S
#define PERIOD   (20 * MS)
#define REALTIME (INT64_C(1700000000) * S) /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
#define DEPTH    119

/* A board of known truth: sample n was taken at n * PERIOD of CLOCK_MONOTONIC and has the value n. */
typedef struct world {
    jm__ring_stream stream;
    jm__ring_result result;
    jm__samples ring;
    int64_t step_ns, step_at_ns;    /* CLOCK_REALTIME was set at this time */
    int64_t skew_ns, skew_at_ns;    /* the board's clock alone jumped at this time */
    int64_t gap_from_ns, gap_to_ns; /* no samples here */
    int64_t restamp_ns;             /* each read stamps the whole ring anew, up to this far off */
    int64_t last_value;
    int64_t worst_ns; /* distance from the truth */
    size_t count, gap_count;
    int64_t gap_ns, seen_step_ns;
} world;

static int64_t offset_at(const world *w, int64_t t_ns)
{
    return REALTIME + (w->step_at_ns != 0 && t_ns >= w->step_at_ns ? w->step_ns : 0);
}

static int64_t stamp_at(const world *w, int64_t n)
{
    int64_t t_ns = n * PERIOD;
    int64_t late_ns = n % 6 == 3 ? 9500 * JM_NS_PER_US : 0;
    int64_t jitter_ns = (n * 7919) % 200 * JM_NS_PER_US - 100 * JM_NS_PER_US;
    int64_t skew_ns = w->skew_at_ns != 0 && t_ns >= w->skew_at_ns ? w->skew_ns : 0;
    return t_ns + offset_at(w, t_ns) + late_ns + jitter_ns + skew_ns;
}

static void read_at(world *w, int64_t now_ns)
{
    int64_t newest = (now_ns - 18 * MS) / PERIOD;
    int64_t restamp_ns = w->restamp_ns * ((now_ns / S) % 3 - 1);
    w->ring.count = 0;
    for (int64_t n = newest - DEPTH + 1; n <= newest; n++) {
        int64_t t_ns = n * PERIOD;
        if (n < 0 || (t_ns >= w->gap_from_ns && t_ns < w->gap_to_ns)) continue;
        w->ring.items[w->ring.count++] = (jm__sample){stamp_at(w, n) + restamp_ns, (double)n};
    }
    jm__anchor anchor = {now_ns, now_ns + offset_at(w, now_ns)};
    jm__ring_stream_push(&w->stream, &w->ring, &anchor, 1, &w->result);
    for (size_t i = 0; i < w->result.count; i++) {
        const jm_reading *reading = &w->result.readings[i];
        int64_t n = (int64_t)reading->value;
        int64_t error_ns = llabs(reading->t_ns - n * PERIOD);
        if (w->last_value >= 0) assert_true(n > w->last_value);
        w->last_value = n;
        if (w->count++ > 0 && error_ns > w->worst_ns) w->worst_ns = error_ns;
    }
    for (size_t i = 0; i < w->result.gap_count; i++)
        w->gap_ns += w->result.gaps[i].gap_ns;
    w->gap_count += w->result.gap_count;
    w->seen_step_ns += w->result.step_ns;
}

static world world_make(void)
{
    world w = {.stream = {.period_ns = PERIOD}, .last_value = -1};
    return w;
}

static void read_for(world *w, int64_t from_ns, int64_t to_ns)
{
    for (int64_t now_ns = from_ns; now_ns <= to_ns; now_ns += S)
        read_at(w, now_ns);
}

static void test_every_sample_comes_out_once_as_stamped(void **state)
{
    (void)state;
    static world w;
    w = world_make();
    read_for(&w, 10 * S + 7 * MS, 40 * S);
    int64_t first = (10 * S + 7 * MS - 18 * MS) / PERIOD - DEPTH + 1;
    assert_int_equal(w.count, w.last_value - first + 1);
    assert_true(w.worst_ns < 10 * MS); /* as stamped, late ones too */
    assert_int_equal(w.gap_count, 0);
}

static void test_a_ring_that_is_stamped_anew_gives_each_sample_once(void **state)
{
    (void)state;
    static world w;
    w = world_make();
    w.restamp_ns = MS;
    read_for(&w, 10 * S + 7 * MS, 40 * S);
    int64_t first = (10 * S + 7 * MS - 18 * MS) / PERIOD - DEPTH + 1;
    assert_int_equal(w.count, w.last_value - first + 1);
    assert_true(w.worst_ns < 12 * MS);
    assert_int_equal(w.gap_count, 0);
    assert_int_equal(w.seen_step_ns, 0);
}

static void test_missing_samples_are_a_gap_of_their_length(void **state)
{
    (void)state;
    static world w;
    w = world_make();
    w.gap_from_ns = 12 * S;
    w.gap_to_ns = 12 * S + 300 * MS;
    read_for(&w, 10 * S, 20 * S);
    assert_int_equal(w.gap_count, 1);
    assert_true(llabs(w.gap_ns - 300 * MS) < 12 * MS); /* a late stamp beside it */
    assert_true(w.worst_ns < 10 * MS);
}

static void test_a_sampler_that_slept_too_long_counts_what_fell_out_of_the_ring(void **state)
{
    (void)state;
    static world w;
    w = world_make();
    read_at(&w, 10 * S);
    read_at(&w, 20 * S); /* 10 s of samples, 2.38 s in the ring */
    assert_int_equal(w.gap_count, 1);
    assert_true(llabs(w.gap_ns - (10 * S - DEPTH * PERIOD)) < 2 * PERIOD);
}

static void check_step(int64_t step_ns)
{
    static world w;
    w = world_make();
    w.step_ns = step_ns;
    w.step_at_ns = 15 * S + 333 * MS;
    read_for(&w, 10 * S, 30 * S);
    assert_int_equal(w.gap_count, 0);
    assert_int_equal(w.seen_step_ns, 0); /* CLOCK_REALTIME itself told */
    assert_int_equal(w.last_value, (30 * S - 18 * MS) / PERIOD);
    assert_true(w.worst_ns < 10 * MS);
}

static void test_no_sample_is_lost_or_misplaced_when_the_clock_is_set(void **state)
{
    (void)state;
    check_step(3600 * S);
    check_step(-3600 * S);
    check_step(5 * S);
    check_step(-5 * S);
    check_step(150 * MS);
    check_step(-150 * MS);
}

static void check_skew(int64_t skew_ns)
{
    static world w;
    w = world_make();
    w.skew_ns = skew_ns;
    w.skew_at_ns = 15 * S + 333 * MS;
    read_for(&w, 10 * S, 30 * S);
    assert_true(llabs(w.seen_step_ns - skew_ns) < 12 * MS);
    assert_true(w.worst_ns < 22 * MS);
    assert_int_equal(w.last_value, (30 * S - 18 * MS) / PERIOD);
}

/* Anchors are noisy, and small differences of the clocks add up: no sample may be moved by them for good. */
static void test_clocks_that_drift_apart_slowly_move_no_sample(void **state)
{
    (void)state;
    jm__ring_stream stream = {.period_ns = PERIOD};
    static jm__ring_result result;
    static jm__samples ring;
    int64_t next = 0, apart_ns = 0;
    for (int64_t read = 1; read <= 50; read++, apart_ns += MS / 2) { /* half a millisecond a read */
        int64_t now_ns = read * S;
        ring.count = 0;
        for (; next * PERIOD < now_ns - 20 * MS; next++)
            ring.items[ring.count++] = (jm__sample){next * PERIOD + REALTIME + apart_ns, (double)next};
        const jm__anchor anchor = {now_ns, now_ns + REALTIME + apart_ns};
        jm__ring_stream_push(&stream, &ring, &anchor, 1, &result);
        assert_int_equal(result.step_ns, 0);
        for (size_t i = 0; i < result.count; i++)
            assert_true(llabs(result.readings[i].t_ns - (int64_t)result.readings[i].value * PERIOD) <=
                        MS / 2);
    }
}

static void test_stamps_that_jump_alone_are_put_back_on_their_grid_and_told(void **state)
{
    (void)state;
    check_skew(3600 * S);
    check_skew(-3600 * S);
    check_skew(-2 * S);
}

/* When renewal n of the true grid shows: up to 2 ms late, as on the boards. */
static int64_t renewal_ns(int64_t n)
{
    return 37 * MS + n * 100 * MS + (n * 7919) % 2000 * JM_NS_PER_US;
}

static void test_polls_find_the_tick_better_than_their_distance(void **state)
{
    (void)state;
    jm__tick tick = {.period_ns = 100 * MS};
    int64_t last_ns = 0, next = 0, worst_ns = 0;
    for (int64_t now_ns = 19 * MS; now_ns < 20 * S; now_ns += 19 * MS) {
        if (renewal_ns(next) <= now_ns) {
            int64_t error_ns = llabs(jm__tick_observe(&tick, last_ns, now_ns) - (renewal_ns(next) + MS));
            if (next++ > 20 && error_ns > worst_ns) worst_ns = error_ns;
        }
        last_ns = now_ns;
    }
    assert_in_range(next, 199, 200);
    /* Alone, a poll dates a renewal within 9.5 ms; the grid with its jitter of 2 ms is known to 1 + 3.1 / 2
     * ms. */
    assert_true(worst_ns < 4 * MS);
}

static void test_a_tick_that_moved_is_found_again(void **state)
{
    (void)state;
    int64_t low_ns, high_ns;
    jm__tick tick = {.period_ns = 100 * MS};
    assert_false(jm__tick_next(&tick, 0, &low_ns, &high_ns));
    jm__tick_observe(&tick, 100 * MS, 104 * MS);
    assert_true(jm__tick_next(&tick, 1000 * MS, &low_ns, &high_ns));
    assert_true(low_ns <= 1002 * MS && high_ns >= 1002 * MS && high_ns - low_ns < 12 * MS);
    jm__tick_observe(&tick, 1050 * MS, 1056 * MS);
    assert_true(jm__tick_next(&tick, 1060 * MS, &low_ns, &high_ns));
    assert_true(low_ns <= 1153 * MS && high_ns >= 1153 * MS && high_ns - low_ns < 14 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_sample_comes_out_once_as_stamped),
        cmocka_unit_test(test_a_ring_that_is_stamped_anew_gives_each_sample_once),
        cmocka_unit_test(test_missing_samples_are_a_gap_of_their_length),
        cmocka_unit_test(test_a_sampler_that_slept_too_long_counts_what_fell_out_of_the_ring),
        cmocka_unit_test(test_no_sample_is_lost_or_misplaced_when_the_clock_is_set),
        cmocka_unit_test(test_clocks_that_drift_apart_slowly_move_no_sample),
        cmocka_unit_test(test_stamps_that_jump_alone_are_put_back_on_their_grid_and_told),
        cmocka_unit_test(test_polls_find_the_tick_better_than_their_distance),
        cmocka_unit_test(test_a_tick_that_moved_is_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
