/* The clock of kinds of work, from readings of the clock beside a timeline of known truth. */
#include "attribute/report.h"
#include "synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Half a second each in turn: "fast" at 1980 MHz, "held" at three quarters of it; a reading each 100 ms. */
static synthetic *make_run(bool with_clock, double limit_mhz)
{
    synthetic *s = syn_create(7, 1, 100000);
    const int64_t half_ns = JM_NS_PER_S / 2, start = JM_NS_PER_S, end = 21 * JM_NS_PER_S;
    syn_class(s, "fast", 8, 500);
    syn_class(s, "held", 8, 690);
    int64_t layer = syn_span(s, JM_SPAN_FORWARD, "both", "Both", 0, start, end, 100);
    for (int64_t now = start; now < end; now += 2 * JM_NS_PER_MS)
        syn_kernel(s, 1 + now / half_ns % 2, 0, layer, now, now + 2 * JM_NS_PER_MS);
    s->boards[0].clock_limit_mhz = limit_mhz;
    syn_measure(s, 0, start, end);
    if (with_clock) {
        jm_sensor *clock = &s->sensors[s->dataset.sensor_count++];
        *clock = (jm_sensor){.id = 3, .board_id = 1, .name = "clock_sm", .quantity = JM_QUANTITY_CLOCK_SM};
        for (int64_t t = start + 50 * JM_NS_PER_MS; t < end; t += 100 * JM_NS_PER_MS)
            s->readings[s->dataset.reading_count++] = (jm_reading){3, t, t / half_ns % 2 == 0 ? 1980 : 1485};
    }
    syn_finish(s);
    return s;
}

static double share_of(const synthetic *s, jm_by by, const char *name)
{
    jm_error err = {0};
    jm_report *report = NULL;
    const jm_report_options options = {.size = sizeof options, .by = by};
    if (jm__report_from_dataset(&report, &s->dataset, &options, &err) != JM_OK) fail_msg("%s", err.text);
    double share = -1;
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->name, name) == 0)
            share = jm_report_row(report, i)->clock_limit_share;
    jm_report_free(report);
    return share;
}

static void test_each_kind_of_work_has_the_clock_that_it_ran_at(void **state)
{
    (void)state;
    synthetic *s = make_run(true, 1980);
    assert_true(fabs(share_of(s, JM_BY_KERNEL, "fast") - 1) < 1e-3);
    assert_true(fabs(share_of(s, JM_BY_KERNEL, "held") - 0.75) < 1e-3);
    assert_true(fabs(share_of(s, JM_BY_LAYER, "both") - 0.875) < 1e-3); /* half of the time each */
    syn_free(s);
}

static void test_without_a_limit_or_a_reading_there_is_no_share(void **state)
{
    (void)state;
    synthetic *s = make_run(true, NAN);
    assert_true(isnan(share_of(s, JM_BY_KERNEL, "fast")));
    syn_free(s);
    s = make_run(false, 1980);
    assert_true(isnan(share_of(s, JM_BY_KERNEL, "fast")));
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind_of_work_has_the_clock_that_it_ran_at),
        cmocka_unit_test(test_without_a_limit_or_a_reading_there_is_no_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
