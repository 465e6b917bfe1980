/* Throttling, clock and power limit of a report: of its boards and its time, as shares of that time. */
#include "synthetic_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum {
    RUN_S = 20,
    THROTTLE_ID = 11,
    LIMIT_ID = 21,
    CLOCK_ID = 31
}; /* of the first board; the next is 1 more */

static const int64_t start_ns = JM_NS_PER_S, end_ns = (1 + RUN_S) * JM_NS_PER_S;

static void add_sensor(synthetic *s, int64_t id, size_t board, const char *name, jm_quantity quantity)
{
    jm_sensor *sensor = &s->sensors[s->dataset.sensor_count++];
    *sensor = (jm_sensor){.id = id, .board_id = (int64_t)board + 1, .quantity = quantity};
    snprintf(sensor->name, sizeof sensor->name, "%s", name);
}

static void add_reading(synthetic *s, int64_t sensor_id, int64_t t_ns, double value)
{
    s->readings[s->dataset.reading_count++] = (jm_reading){sensor_id, t_ns, value};
}

/* Throttled by power except in the first second, which is one event; half of the time at 1400 MHz. */
static void hold_back(synthetic *s, size_t board)
{
    add_sensor(s, THROTTLE_ID + (int64_t)board, board, "throttle_reasons", JM_QUANTITY_THROTTLE);
    add_sensor(s, LIMIT_ID + (int64_t)board, board, "power_limit", JM_QUANTITY_POWER_LIMIT);
    add_sensor(s, CLOCK_ID + (int64_t)board, board, "clock_sm", JM_QUANTITY_CLOCK_SM);
    for (int64_t t = start_ns + 50 * JM_NS_PER_MS; t < end_ns; t += 100 * JM_NS_PER_MS) {
        add_reading(s, THROTTLE_ID + (int64_t)board, t, t < start_ns + JM_NS_PER_S ? 1 : 0x4);
        add_reading(s, CLOCK_ID + (int64_t)board, t, t < start_ns + RUN_S / 2 * JM_NS_PER_S ? 1400 : 1800);
    }
    add_reading(s, LIMIT_ID + (int64_t)board, start_ns, 700);
}

/* Two boards that work all of the time; the first is throttled. */
static synthetic *make_run(void)
{
    synthetic *s = syn_create(3, 2, 100000);
    static jm__event onset;
    syn_class(s, "work", 8, 600);
    for (size_t b = 0; b < 2; b++)
        for (int64_t now = start_ns; now < end_ns; now += 10 * JM_NS_PER_MS)
            syn_kernel(s, 1, b, 0, now, now + 10 * JM_NS_PER_MS);
    for (size_t b = 0; b < 2; b++)
        syn_measure(s, b, start_ns, end_ns);
    hold_back(s, 0);
    onset = (jm__event){.kind = JM_EVENT_THROTTLE,
                        .t_ns = start_ns + JM_NS_PER_S,
                        .board_id = 1,
                        .value = 4,
                        .text = "throttled"};
    s->dataset.events = &onset;
    s->dataset.event_count = 1;
    syn_finish(s);
    return s;
}

static jm_report *report_of(const synthetic *s, int64_t board_id, int64_t from_ns, int64_t to_ns)
{
    return syn_report(
        s, (jm_report_options){.by = JM_BY_KERNEL, .board_id = board_id, .from_ns = from_ns, .to_ns = to_ns});
}

static const char *throttle_note(const jm_report *report)
{
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        if (strstr(jm_report_note(report, i), "throttled") != NULL) return jm_report_note(report, i);
    return NULL;
}

static void test_throttling_is_a_share_of_time_not_a_count_of_onsets(void **state)
{
    (void)state;
    synthetic *s = make_run();
    jm_report *report = report_of(s, 1, 0, 0);
    const jm_report_quality *q = jm_report_quality_get(report);
    assert_int_equal(q->throttle_events, 1);
    assert_true(fabs(q->throttled_share - 0.95) < 0.005);
    assert_string_equal(
        throttle_note(report),
        "GPU 0 (Synthetic) throttled for 95 % of this time (power limit): power at a limit is not "
        "that of the same work below it.");
    jm_report_free(report);
    syn_free(s);
}

static void test_clock_and_limit_are_of_the_time_reported(void **state)
{
    (void)state;
    synthetic *s = make_run();
    jm_report *report = report_of(s, 1, 0, 0);
    assert_true(fabs(jm_report_quality_get(report)->clock_mhz - 1600) < 5);
    assert_true(fabs(jm_report_quality_get(report)->power_limit_w - 700) < 1e-9);
    jm_report_free(report);
    report = report_of(s, 1, end_ns - 5 * JM_NS_PER_S, end_ns);
    assert_true(fabs(jm_report_quality_get(report)->clock_mhz - 1800) < 1e-6);
    assert_true(fabs(jm_report_quality_get(report)->throttled_share - 1) < 1e-9);
    assert_true(fabs(jm_report_quality_get(report)->power_limit_w - 700) < 1e-9);
    jm_report_free(report);
    syn_free(s);
}

static void test_what_held_back_another_time_or_board_is_not_marked(void **state)
{
    (void)state;
    synthetic *s = make_run();
    jm_report *report = report_of(s, 1, start_ns, start_ns + 900 * JM_NS_PER_MS);
    assert_true(jm_report_quality_get(report)->throttled_share == 0);
    assert_int_equal(jm_report_quality_get(report)->throttle_events, 0);
    assert_null(throttle_note(report));
    jm_report_free(report);
    report = report_of(s, 2, 0, 0);
    assert_null(throttle_note(report));
    jm_report_free(report);
    syn_free(s);
}

static void test_what_was_not_recorded_is_missing_not_zero(void **state)
{
    (void)state;
    synthetic *s = make_run();
    jm_report *report = report_of(s, 2, 0, 0);
    assert_true(isnan(jm_report_quality_get(report)->throttled_share));
    assert_true(isnan(jm_report_quality_get(report)->clock_mhz));
    assert_true(isnan(jm_report_quality_get(report)->power_limit_w));
    jm_report_free(report);
    syn_free(s);
}

/* Eight seconds without a reading of the reasons: seven of them are unknown. */
static void test_time_without_a_reading_is_neither_throttled_nor_free(void **state)
{
    (void)state;
    synthetic *s = make_run();
    size_t kept = 0;
    for (size_t i = 0; i < s->dataset.reading_count; i++) {
        const jm_reading *r = &s->readings[i];
        bool gone = r->sensor_id == THROTTLE_ID && r->t_ns > start_ns + 2 * JM_NS_PER_S &&
                    r->t_ns < start_ns + 10 * JM_NS_PER_S;
        if (!gone) s->readings[kept++] = *r;
    }
    s->dataset.reading_count = kept;
    jm_report *report = report_of(s, 1, 0, 0);
    assert_true(fabs(jm_report_quality_get(report)->throttled_share - 12.0 / 13) < 0.01);
    jm_report_free(report);
    syn_free(s);
}

/* Gaps in the readings count if they overlap with the time. */
static void test_gaps_are_those_of_the_time_reported(void **state)
{
    (void)state;
    synthetic *s = make_run();
    jm__event gap = {.kind = JM_EVENT_GAP, .t_ns = start_ns + 5 * JM_NS_PER_S, .board_id = 1, .value = 1e9};
    s->dataset.events = &gap;
    const struct {
        int64_t from_ns, to_ns, gaps;
    } cases[] = {
        {0, 0, 1},
        {start_ns + JM_NS_PER_S * 11 / 2, end_ns, 1},
        {start_ns + JM_NS_PER_S * 7, end_ns, 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        jm_report *report = report_of(s, 1, cases[c].from_ns, cases[c].to_ns);
        assert_int_equal(jm_report_quality_get(report)->gaps, cases[c].gaps);
        jm_report_free(report);
    }
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_throttling_is_a_share_of_time_not_a_count_of_onsets),
        cmocka_unit_test(test_clock_and_limit_are_of_the_time_reported),
        cmocka_unit_test(test_what_held_back_another_time_or_board_is_not_marked),
        cmocka_unit_test(test_what_was_not_recorded_is_missing_not_zero),
        cmocka_unit_test(test_time_without_a_reading_is_neither_throttled_nor_free),
        cmocka_unit_test(test_gaps_are_those_of_the_time_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
