/* Work that was not recorded, by the board's utilisation. */
#include "attribute/report.h"
#include "attribute/work/unrecorded.h"
#include "synthetic.h"

#include <joulemap/report.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { RUN_S = 20, COUNTER = 2, UTILISATION = 3, PERIOD_MS = 200 };

static const int64_t start_ns = JM_NS_PER_S, end_ns = (1 + RUN_S) * JM_NS_PER_S;

static int64_t at_ns(double run_s)
{
    return start_ns + (int64_t)(run_s * JM_NS_PER_S);
}

static void add_utilisation(synthetic *s, double from_s, double to_s)
{
    s->sensors[s->dataset.sensor_count++] = (jm_sensor){.id = UTILISATION,
                                                        .board_id = 1,
                                                        .name = "gpu_utilisation",
                                                        .quantity = JM_QUANTITY_UTIL_GPU,
                                                        .response = JM_RESPONSE_BOX,
                                                        .period_ns = PERIOD_MS * JM_NS_PER_MS};
    for (int64_t t = start_ns; t < end_ns; t += PERIOD_MS * JM_NS_PER_MS)
        s->readings[s->dataset.reading_count++] =
            (jm_reading){UTILISATION, t, t > at_ns(from_s) && t <= at_ns(to_s) ? 100 : 0};
}

/* ---- parts of a gap */

static void check_parts(double busy_from_s, double busy_to_s, double gap_to_s, size_t count,
                        const double *ends_s, bool unrecorded)
{
    synthetic *s = syn_create(1, 1, 1000);
    jm__utilisation utilisation;
    add_utilisation(s, busy_from_s, busy_to_s);
    assert_true(jm__utilisation_begin(&utilisation, &s->dataset, &s->boards[0]));
    const jm__interval gap = {at_ns(5), at_ns(gap_to_s)};
    int64_t from_ns = gap.from_ns;
    for (size_t i = 0; i < count; i++, unrecorded = !unrecorded) {
        bool is_unseen;
        from_ns = jm__unrecorded_part_end_ns(&utilisation, gap, from_ns, &is_unseen);
        assert_int_equal(from_ns, at_ns(ends_s[i]));
        assert_int_equal(is_unseen, unrecorded);
    }
    assert_int_equal(from_ns, gap.to_ns);
    jm__utilisation_free(&utilisation);
    syn_free(s);
}

static void test_a_gap_is_cut_where_its_utilisation_changes(void **state)
{
    (void)state;
    check_parts(0, RUN_S, 15, 1, (const double[]){15}, true);
    check_parts(0, 0, 15, 1, (const double[]){15}, false);
    /* a reading tells of the time since the one before it */
    check_parts(8, 10, 15, 3, (const double[]){8, 10, 15}, false);
    check_parts(0, 10, 15, 2, (const double[]){10, 15}, true);
    check_parts(10, RUN_S, 15, 2, (const double[]){10, 15}, false);
}

static void test_what_ran_before_a_gap_makes_none_of_it_work(void **state)
{
    (void)state;
    check_parts(0, 6, 15, 1, (const double[]){15}, false);       /* utilisation is averaged over a second */
    check_parts(0, RUN_S, 6.4, 1, (const double[]){6.4}, false); /* too short for it */
}

/* ---- in a report */

/* The program's kernels run in a phase up to some second; from then on another's, of which nothing is
 * recorded, up to another second. */
static synthetic *two_programs(double own_s, double others_s)
{
    synthetic *s = syn_create(6, 1, 100000);
    int64_t span = syn_span(s, JM_SPAN_PHASE, "train", "", 0, start_ns, at_ns(own_s), 100),
            late = syn_span(s, JM_SPAN_PHASE, "after", "", 0, at_ns(own_s), end_ns, 100);
    syn_span(s, JM_SPAN_WINDOW, "waits", "", late, at_ns(own_s + 1), at_ns(others_s - 1), 100);
    syn_span(s, JM_SPAN_WINDOW, "twice", "", 0, at_ns(2), at_ns(3), 100);
    syn_span(s, JM_SPAN_WINDOW, "twice", "", 0, at_ns(own_s + 1), at_ns(own_s + 2), 100);
    syn_class(s, "a", 8, 600);
    syn_class(s, "b", 16, 300);
    syn_random_work(s, 0, 1, 2, span, start_ns, at_ns(own_s));
    size_t own = s->kernels.count;
    syn_random_work(s, 0, 1, 2, late, at_ns(own_s), at_ns(others_s));
    syn_measure(s, 0, start_ns, end_ns);
    s->kernels.count = own;
    add_utilisation(s, 0, others_s);
    syn_finish(s);
    return s;
}

static jm_report *report_of(const synthetic *s, jm_by by)
{
    const jm_report_options options = {.size = sizeof options, .by = by};
    jm_error err = {0};
    jm_report *report = NULL;
    if (jm__report_from_dataset(&report, &s->dataset, &options, &err) != JM_OK) fail_msg("%s", err.text);
    return report;
}

static const jm_row *row_of(const jm_report *report, const char *path)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->path, path) == 0) return jm_report_row(report, i);
    return NULL;
}

/* Of the counter, which is read each 5 s. */
static double counted_j(const synthetic *s, double from_s, double to_s)
{
    double from_j = NAN, to_j = NAN;
    for (size_t i = 0; i < s->dataset.reading_count; i++) {
        const jm_reading *reading = &s->readings[i];
        if (reading->sensor_id != COUNTER) continue;
        if (reading->t_ns >= at_ns(from_s) && isnan(from_j)) from_j = reading->value;
        if (reading->t_ns <= at_ns(to_s)) to_j = reading->value;
    }
    return to_j - from_j;
}

static void test_unrecorded_work_has_the_meters_joules_and_moves_no_power(void **state)
{
    (void)state;
    synthetic *s = two_programs(10, RUN_S);
    jm_report *report = report_of(s, JM_BY_KERNEL);
    const jm_row *unrecorded = row_of(report, "(work not seen)"), *a = row_of(report, "a");
    const jm_report_totals *totals = jm_report_totals_get(report);
    double truth_j = counted_j(s, 10, RUN_S), sum_j = 0;
    assert_non_null(unrecorded);
    assert_string_equal(unrecorded->kind, "unrecorded");
    assert_int_equal(unrecorded->provenance, JM_PROVENANCE_MEASURED);
    assert_true(fabs(unrecorded->energy_j - truth_j) < 0.01 * truth_j);
    assert_true(fabs(totals->unrecorded_energy_j - unrecorded->energy_j) < 1e-6 * truth_j);
    assert_true(fabs(a->power_w - 600) < 15); /* of the 10 seconds in which it is known what ran */
    const jm_row *idle = row_of(report, "(idle)");
    assert_true(idle == NULL || idle->energy_j < 0.05 * truth_j);
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        sum_j += jm_report_row(report, i)->energy_self_j;
    assert_true(fabs(sum_j - totals->total_energy_j) < 1e-9 * sum_j);
    jm_report_free(report);
    syn_free(s);
}

/* The board rests again from second 15 on. */
static void test_unrecorded_work_is_apart_from_idle_time_in_its_phase(void **state)
{
    (void)state;
    synthetic *s = two_programs(10, 15);
    jm_report *report = report_of(s, JM_BY_PHASE);
    const jm_row *unrecorded = row_of(report, "after/(work not seen)"),
                 *idle = row_of(report, "after/(idle)"), *waits = row_of(report, "after/waits"),
                 *twice = row_of(report, "twice");
    assert_non_null(unrecorded);
    assert_non_null(idle);
    assert_true(fabs(unrecorded->busy_s - 5) < 0.5);
    assert_true(fabs(idle->busy_s - 5) < 0.5);
    assert_true(fabs(idle->power_w - s->idle_w) < 10);
    assert_non_null(waits);
    assert_true(isnan(waits->energy_j)); /* nobody knows what of it is this row's */
    assert_non_null(twice);
    assert_true(isnan(twice->energy_j)); /* nor of its second call */
    jm_report_free(report);
    syn_free(s);
}

static void test_a_run_of_unrecorded_work_alone_is_measured(void **state)
{
    (void)state;
    synthetic *s = two_programs(10, RUN_S);
    s->kernels.count = 0;
    s->dataset.span_count = 0;
    jm_report *report = report_of(s, JM_BY_LAYER);
    const jm_row *unrecorded = row_of(report, "(work not seen)");
    assert_non_null(unrecorded);
    assert_int_equal(unrecorded->provenance, JM_PROVENANCE_MEASURED);
    assert_true(fabs(unrecorded->energy_j / jm_report_totals_get(report)->total_energy_j - 1) < 1e-9);
    assert_null(row_of(report, "(idle)"));
    jm_report_free(report);
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_gap_is_cut_where_its_utilisation_changes),
        cmocka_unit_test(test_what_ran_before_a_gap_makes_none_of_it_work),
        cmocka_unit_test(test_unrecorded_work_has_the_meters_joules_and_moves_no_power),
        cmocka_unit_test(test_unrecorded_work_is_apart_from_idle_time_in_its_phase),
        cmocka_unit_test(test_a_run_of_unrecorded_work_alone_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
