/* Spans of an interval of time out of a run that goes on: those that were asked for, and no others. */
#include <joulemap/joulemap.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { STEPS = 6, FLUSH_TIMEOUT_MS = 10000 };

static jm_run *run;
static jm_recording *recording;
static int64_t created_ns, begun_ns[STEPS];

/* In each step a layer, a range and a mark. */
static void take_step(int step)
{
    begun_ns[step] = jm_now_ns();
    jm_span_id of_step = jm_span_begin(JM_SPAN_STEP, jm_name_intern("step"), 0, 1);
    jm_span_id layer = jm_span_begin(JM_SPAN_FORWARD, jm_name_intern("net"), jm_name_intern("Linear"), 0);
    jm_span_id range = jm_span_begin(JM_SPAN_NVTX, jm_name_intern(step % 2 == 0 ? "even" : "odd"), 0, 0);
    jm_mark("tick", NULL);
    jm_span_end(range);
    jm_span_end(layer);
    jm_span_end(of_step);
}

static int set_up(void **state)
{
    (void)state;
    const jm_run_options options = {.size = sizeof options, .sim = "h200", .no_cpu = true};
    setenv("JOULEMAP_NVML", JM_BUILD_DIR "/sim/libnvidia-ml.so.1", 1);
    unsetenv("JOULEMAP_RUN");
    created_ns = jm_now_ns();
    if (jm_run_start(&run, &options, NULL) != JM_OK) return -1;
    for (int step = 0; step < STEPS; step++)
        take_step(step);
    bool fine = jm_run_flush(run, FLUSH_TIMEOUT_MS, NULL) == JM_OK &&
                jm_run_recording(run, &recording, NULL) == JM_OK;
    return fine ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    jm_run_free(run);
    return 0;
}

static jm_timeline *spans(jm_span_kind kind, const char *name, int64_t from_ns, int64_t to_ns)
{
    jm_timeline *t;
    jm_error err;
    if (jm_timeline_create_spans(&t, recording, kind, name, from_ns, to_ns, &err) != JM_OK)
        fail_msg("%s", err.text);
    assert_int_equal(jm_timeline_series_count(t), 0); /* readings are not asked for */
    return t;
}

static void test_spans_of_a_kind_are_those_of_the_time_queried_for(void **state)
{
    (void)state;
    jm_timeline *t = spans(JM_SPAN_STEP, NULL, begun_ns[1], begun_ns[4] - 1);
    assert_int_equal(jm_timeline_span_count(t), 3);
    for (size_t i = 0; i < 3; i++) {
        const jm_timeline_span *span = jm_timeline_span_get(t, i);
        assert_true(span->kind == JM_SPAN_STEP && span->ended && span->parent == SIZE_MAX);
        assert_true(span->start_ns >= begun_ns[1 + i] && span->end_ns <= begun_ns[2 + i]);
        assert_string_equal(span->name, "step");
    }
    assert_int_equal(jm_timeline_mark_count(t), 0);
    jm_timeline_free(t);
}

static void test_a_name_finds_ranges_and_marks_of_the_time_queried_for(void **state)
{
    (void)state;
    jm_timeline *t = spans(JM_SPAN_NONE, "even", begun_ns[0], INT64_MAX);
    assert_int_equal(jm_timeline_span_count(t), STEPS / 2);
    assert_int_equal(jm_timeline_mark_count(t), 0);
    jm_timeline_free(t);
    t = spans(JM_SPAN_NONE, "tick", begun_ns[2], begun_ns[5] - 1);
    assert_int_equal(jm_timeline_span_count(t), 0);
    assert_int_equal(jm_timeline_mark_count(t), 3);
    assert_non_null(jm_timeline_mark_get(t, 2));
    assert_null(jm_timeline_mark_get(t, 3));
    assert_null(jm_timeline_span_get(t, 0));
    jm_timeline_free(t);
    t = spans(JM_SPAN_NONE, NULL, begun_ns[5], INT64_MAX);
    assert_int_equal(jm_timeline_span_count(t), 3);
    assert_int_equal(jm_timeline_span_get(t, 1)->parent, 0); /* the layer lies in the step */
    jm_timeline_free(t);
}

static void test_a_timeline_begins_and_ends_with_the_time_queried_for_or_with_the_recording(void **state)
{
    (void)state;
    jm_timeline *t = spans(JM_SPAN_STEP, NULL, begun_ns[1], begun_ns[4]);
    assert_int_equal(jm_timeline_start_ns(t), begun_ns[1]);
    assert_int_equal(jm_timeline_end_ns(t), begun_ns[4]);
    int64_t offset_ns = jm_timeline_unix_offset_ns(t),
            by_s = (jm_now_ns() + offset_ns) / 1000000000 - time(NULL);
    assert_true(by_s > -60 && by_s < 60);
    jm_timeline_free(t);
    jm_error err;
    if (jm_timeline_create_readings(&t, recording, begun_ns[2], begun_ns[3], &err) != JM_OK)
        fail_msg("%s", err.text);
    assert_int_equal(jm_timeline_start_ns(t), begun_ns[2]);
    assert_int_equal(jm_timeline_end_ns(t), begun_ns[3]);
    jm_timeline_free(t);
    if (jm_timeline_create(&t, recording, &err) != JM_OK) fail_msg("%s", err.text);
    assert_true(jm_timeline_start_ns(t) > created_ns && jm_timeline_start_ns(t) <= begun_ns[0]);
    assert_true(jm_timeline_end_ns(t) >= begun_ns[STEPS - 1] && jm_timeline_end_ns(t) <= jm_now_ns());
    assert_int_equal(jm_timeline_unix_offset_ns(t), offset_ns);
    assert_true(jm_timeline_series_count(t) > 0);
    jm_timeline_free(t);
}

static void test_what_is_not_there_is_none_and_no_time_is_wrong_usage(void **state)
{
    (void)state;
    jm_timeline *t = spans(JM_SPAN_BATCH, NULL, begun_ns[0], INT64_MAX);
    assert_int_equal(jm_timeline_span_count(t), 0);
    jm_timeline_free(t);
    assert_int_equal(jm_timeline_create_spans(&t, recording, JM_SPAN_STEP, NULL, 2, 1, NULL), JM_USAGE);
    assert_null(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spans_of_a_kind_are_those_of_the_time_queried_for),
        cmocka_unit_test(test_a_name_finds_ranges_and_marks_of_the_time_queried_for),
        cmocka_unit_test(test_a_timeline_begins_and_ends_with_the_time_queried_for_or_with_the_recording),
        cmocka_unit_test(test_what_is_not_there_is_none_and_no_time_is_wrong_usage),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
