/* Upper limits of a board's powers. */
#include "attribute/prior/source.h"
#include "attribute/report.h"
#include "figures.h"
#include "synthetic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { CLASSES = 2, COLUMNS = CLASSES + JM_IDLE_STATES };

static double *limits_of(double limit_w, double highest_w, size_t classes, bool from_host)
{
    const jm_board board = {.power_limit_w = limit_w, .power_limit_max_w = highest_w};
    const jm__board_work work = {.columns = {.class_columns = classes, .count = classes + JM_IDLE_STATES},
                                 .from_host = from_host};
    double *most_w;
    assert_int_equal(jm__board_limits(&most_w, &board, &work, NULL), JM_OK);
    return most_w;
}

static void test_work_is_limited_to_1_6_times_and_idle_to_0_6_times_the_boards_limit(void **state)
{
    (void)state;
    double *most_w = limits_of(700, 700, CLASSES, false);
    for (size_t k = 0; k < COLUMNS; k++) {
        if (k == CLASSES + JM_IDLE_BEFORE) /* untraced work may have run before the first kernel */
            assert_true(isinf(most_w[k]));
        else
            assert_true(fabs(most_w[k] - (k < CLASSES ? 1120 : 420)) < 1e-9);
    }
    free(most_w);
}

static void test_a_limit_that_was_set_lower_is_not_the_boards(void **state)
{
    (void)state;
    double *most_w = limits_of(200, 700, CLASSES, false);
    assert_true(fabs(most_w[0] - 1120) < 1e-9);
    free(most_w);
    most_w = limits_of(300, NAN, CLASSES, false);
    assert_true(fabs(most_w[0] - 480) < 1e-9);
    free(most_w);
}

static void test_a_board_of_unknown_limit_has_none(void **state)
{
    (void)state;
    assert_null(limits_of(NAN, NAN, CLASSES, false));
    assert_null(limits_of(0, 0, CLASSES, false));
}

/* Without kernels, gaps between them are no idle time. */
static void test_where_no_kernel_was_seen_idle_has_no_limit(void **state)
{
    (void)state;
    for (int from_host = 0; from_host < 2; from_host++) {
        size_t classes = from_host ? CLASSES : 0;
        double *most_w = limits_of(700, 700, classes, from_host);
        for (size_t k = classes; k < classes + JM_IDLE_STATES; k++)
            assert_true(isinf(most_w[k]));
        free(most_w);
    }
}

/* Readings imply 1400 W for a kernel on a board of 700 W: something else ran beside it. For the other kernel,
 * which alternates with it, they imply 200 W. */
static double power_of_hungry(double limit_w, double *other_w, double *unresolved_j)
{
    synthetic *s = syn_create(7, 1, 20000);
    s->boards[0].power_limit_w = s->boards[0].power_limit_max_w = limit_w;
    int64_t a = syn_class(s, "hungry", 1, 1400), b = syn_class(s, "other", 2, 200);
    for (int64_t now = 1000000000; now < 9000000000;) {
        int64_t first_ns = (int64_t)(50e6 + 100e6 * syn_uniform(s));
        syn_kernel(s, a, 0, 0, now, now + first_ns);
        syn_kernel(s, b, 0, 0, now + first_ns, now + 200000000);
        now += 200000000;
    }
    syn_measure(s, 0, 500000000, 9500000000);
    syn_finish(s);
    const jm_report_options options = {.size = sizeof options, .by = JM_BY_KERNEL};
    jm_report *report = NULL;
    double power_w = NAN;
    assert_int_equal(jm__report_from_dataset(&report, &s->dataset, &options, NULL), JM_OK);
    figures_kept(__BASE_FILE__, report);
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (strcmp(row->name, "hungry") == 0) power_w = row->power_w;
        if (strcmp(row->name, "other") == 0) *other_w = row->power_w;
    }
    *unresolved_j = jm_report_totals_get(report)->unresolved_energy_j;
    jm_report_free(report);
    syn_free(s);
    return power_w;
}

static void test_no_kernel_is_reported_above_what_its_board_can_draw(void **state)
{
    (void)state;
    double other_w = NAN, unresolved_j = NAN;
    double unlimited_w = power_of_hungry(NAN, &other_w, &unresolved_j);
    assert_true(fabs(unlimited_w - 1400) < 14 && fabs(unresolved_j) < 20);
    double limited_w = power_of_hungry(700, &other_w, &unresolved_j);
    print_message("1400 W: %.0f W without a limit, %.0f W with one, %.0f J unresolved\n", unlimited_w,
                  limited_w, unresolved_j);
    assert_true(limited_w <= 1120);
    assert_true(unresolved_j > 500); /* 280 W for 4 s, less what the other kernel took of it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_work_is_limited_to_1_6_times_and_idle_to_0_6_times_the_boards_limit),
        cmocka_unit_test(test_a_limit_that_was_set_lower_is_not_the_boards),
        cmocka_unit_test(test_a_board_of_unknown_limit_has_none),
        cmocka_unit_test(test_where_no_kernel_was_seen_idle_has_no_limit),
        cmocka_unit_test(test_no_kernel_is_reported_above_what_its_board_can_draw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
