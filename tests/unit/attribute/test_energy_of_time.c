/* The energy of any interval of time is that of the readings, whatever else is requested. */
#include "format/writer.h"
#include "small_run.h"

#include <joulemap/report.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MS = 1000000 };

static synthetic *run;
static jm__writer *writer;
static jm_recording *recording;

static int set_up(void **state)
{
    (void)state;
    run = small_run_make();
    if (jm__writer_create(&writer, NULL, false, NULL) != JM_OK) return -1;
    if (small_run_tell(writer, run, NULL) != JM_OK) return -1;
    return jm__writer_recording(writer, &recording, NULL) == JM_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    jm__writer_close(writer, NULL);
    syn_free(run);
    return 0;
}

static jm_sum energy_of(int64_t board_id, int64_t from_ns, int64_t to_ns)
{
    jm_sum sum;
    jm_error err = {0};
    if (jm_recording_energy(recording, board_id, from_ns, to_ns, &sum, &err) != JM_OK)
        fail_msg("%s", err.text);
    return sum;
}

static int64_t first_reading_ns(void)
{
    return run->readings[0].t_ns;
}

static int64_t last_reading_ns(void)
{
    return run->readings[run->dataset.reading_count - 1].t_ns;
}

/* Boards are at rest at both ends. A reading covers the time until the next is due, one and a half periods
 * (power_series.c): 150 ms of the counter. */
static const double beyond_s = 0.15;

static void assert_is_of_what_was_read(jm_sum sum, int64_t from_ns, int64_t to_ns)
{
    double truth_j = 0, more_j = 0;
    for (size_t b = 0; b < 2; b++) {
        truth_j += syn_total_j(run, b, from_ns, to_ns);
        more_j += 2 * beyond_s * run->idle_w;
    }
    double half_j = sum.energy_j - sum.low_j;
    if (!(sum.energy_j > truth_j - half_j - more_j && sum.energy_j < truth_j + half_j + more_j))
        fail_msg("%g J [%g, %g], of %g", sum.energy_j, sum.low_j, sum.high_j, truth_j);
}

static void test_time_outside_of_the_readings_has_no_figure(void **state)
{
    (void)state;
    int64_t first = first_reading_ns(), last = last_reading_ns();
    assert_true(isnan(energy_of(0, last + 1000 * (int64_t)MS, last + 3000 * (int64_t)MS).energy_j));
    assert_true(isnan(energy_of(1, first - 900 * (int64_t)MS, first - 200 * (int64_t)MS).energy_j));
    assert_true(isnan(energy_of(0, last + 100000 * (int64_t)MS, INT64_MAX).energy_j));
    assert_true(isnan(energy_of(0, INT64_MIN, INT64_MIN).energy_j));
    assert_true(isnan(energy_of(0, INT64_MAX, INT64_MAX).energy_j));
}

static void test_time_that_lies_partly_outside_is_cut_to_the_readings(void **state)
{
    (void)state;
    int64_t first = first_reading_ns(), last = last_reading_ns(), middle = (first + last) / 2;
    assert_is_of_what_was_read(energy_of(0, middle, last + 4000 * (int64_t)MS), middle, last);
    assert_is_of_what_was_read(energy_of(0, first - 4000 * (int64_t)MS, middle), first, middle);
}

static void test_bounds_of_any_size_are_all_of_the_readings(void **state)
{
    (void)state;
    int64_t first = first_reading_ns(), last = last_reading_ns();
    assert_is_of_what_was_read(energy_of(0, INT64_MIN, INT64_MAX), first, last);
    assert_is_of_what_was_read(energy_of(0, 0, INT64_MAX), first, last);
    assert_is_of_what_was_read(energy_of(0, INT64_MIN, (first + last) / 2), first, (first + last) / 2);
}

static void test_no_time_takes_no_energy(void **state)
{
    (void)state;
    int64_t middle = (first_reading_ns() + last_reading_ns()) / 2;
    assert_true(energy_of(0, middle, middle).energy_j == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_outside_of_the_readings_has_no_figure),
        cmocka_unit_test(test_time_that_lies_partly_outside_is_cut_to_the_readings),
        cmocka_unit_test(test_bounds_of_any_size_are_all_of_the_readings),
        cmocka_unit_test(test_no_time_takes_no_energy),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
