/* The clock of kinds of work, from readings of the clock beside a timeline of known truth. */
#include "attribute/fit/clocks.h"
#include "attribute/report.h"
#include "synthetic_report.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Half a second each, alternating: "fast" at 1980 MHz, "held" at three quarters of it; a reading each 100 ms.
 */
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
    jm_report *report = syn_report(s, (jm_report_options){.by = by});
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

/* One kernel, limited to three quarters in the second half: each half has its own clock. A window of 10 ms
 * between two readings of the clock has the clock of the run. */
static void test_a_window_has_the_clock_of_its_own_time(void **state)
{
    (void)state;
    synthetic *s = make_run(true, 1980);
    const int64_t middle = 11 * JM_NS_PER_S;
    for (size_t i = 0; i < s->kernels.count; i++)
        s->kernels.items[i].class_id = 1;
    for (size_t i = 0; i < s->dataset.reading_count; i++)
        if (s->readings[i].sensor_id == 3) s->readings[i].value = s->readings[i].t_ns < middle ? 1980 : 1485;
    const struct {
        int64_t from_ns, to_ns;
        double share;
    } cases[] = {
        {JM_NS_PER_S, middle, 1},
        {middle, 21 * JM_NS_PER_S, 0.75},
        {middle + 60 * JM_NS_PER_MS, middle + 70 * JM_NS_PER_MS, 0.875},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const jm_report_options options = {
            .size = sizeof options, .by = JM_BY_KERNEL, .from_ns = cases[c].from_ns, .to_ns = cases[c].to_ns};
        jm_report *report = NULL;
        assert_int_equal(jm__report_from_dataset(&report, &s->dataset, &options, NULL), JM_OK);
        figures_kept(__BASE_FILE__, report);
        assert_string_equal(jm_report_row(report, 0)->name, "fast");
        assert_true(fabs(jm_report_row(report, 0)->clock_limit_share - cases[c].share) < 1e-9);
        jm_report_free(report);
    }
    syn_free(s);
}

/* A block of pieces in a file that does not exist. */
static void test_a_timeline_that_cannot_be_read_gives_no_clock(void **state)
{
    (void)state;
    jm_board board = {.id = 1, .clock_limit_mhz = 1980};
    jm_sensor clock = {.id = 1, .board_id = 1, .name = "clock_sm", .quantity = JM_QUANTITY_CLOCK_SM};
    jm_reading reading = {1, 50 * JM_NS_PER_MS, 1980};
    jm__piece_block block = {.start_ns = 0, .count = 1};
    jm__board_work work = {
        .requested = true, .columns = {.count = 1}, .pieces = {.file = INT_MAX, .largest = 1}};
    assert_true(jm__vec_push(&work.pieces.blocks, block));
    jm__dataset dataset = {
        .sensors = &clock, .sensor_count = 1, .readings = &reading, .reading_count = 1, .board_count = 1};
    jm__board_time time = {0};
    work.time = &time;
    double *mhz;
    jm_error err = {0};
    assert_int_equal(jm__clocks_find(&mhz, &work, &dataset, &board, &err), JM_IO);
    free(mhz);
    jm__vec_free(&work.pieces.blocks);
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
        cmocka_unit_test(test_a_window_has_the_clock_of_its_own_time),
        cmocka_unit_test(test_a_timeline_that_cannot_be_read_gives_no_clock),
        cmocka_unit_test(test_without_a_limit_or_a_reading_there_is_no_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
