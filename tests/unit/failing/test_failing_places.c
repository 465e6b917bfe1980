/* Memory that runs out in a fit by clock and by place: an error, or the report as it is. */
#include "attribute/report.h"
#include "failing_report.h"
#include "small_run.h"

#include <joulemap/report.h>

enum { CLOCK_ID = 31 };

static synthetic *run;

/* Six seconds, the second half at a lower clock; one kernel draws half in every other layer. */
static int set_up(void **state)
{
    (void)state;
    const int64_t start_ns = JM_NS_PER_S, end_ns = 7 * JM_NS_PER_S, middle_ns = 4 * JM_NS_PER_S;
    run = syn_create(9, 1, 3000);
    const double power_w[] = {700, 350, 450, 500, 250, 330};
    for (int c = 0; c < 6; c++) {
        char name[8] = {(char)('a' + c)};
        syn_class(run, name, 8, power_w[c]);
    }
    run->sensors[run->dataset.sensor_count++] =
        (jm_sensor){.id = CLOCK_ID, .board_id = 1, .name = "clock_sm", .quantity = JM_QUANTITY_CLOCK_SM};
    int64_t here = syn_span(run, JM_SPAN_FORWARD, "here", "", 0, start_ns, end_ns, 100);
    int64_t there = syn_span(run, JM_SPAN_FORWARD, "there", "", 0, start_ns, end_ns, 100);
    for (int64_t now = start_ns; now < end_ns - 40 * JM_NS_PER_MS;) {
        double pick = syn_uniform(run);
        int64_t kind = pick < 0.3 ? 0 : pick < 0.6 ? 1 : 2, class = 1 + kind + (now < middle_ns ? 0 : 3);
        int64_t length = (int64_t)(5e6 + 25e6 * syn_uniform(run));
        syn_kernel(run, class, 0, kind == 1 ? there : here, now, now + length);
        now += length;
    }
    for (int64_t t = start_ns; t < end_ns; t += 100 * JM_NS_PER_MS)
        run->readings[run->dataset.reading_count++] = (jm_reading){CLOCK_ID, t, t < middle_ns ? 1980 : 1600};
    syn_measure(run, 0, start_ns, end_ns);
    for (size_t i = 0; i < run->kernels.count; i++) {
        int64_t *class = &run->kernels.items[i].class_id;
        *class = 1 + (*class - 1) % 3;
        if (*class == 2) *class = 1;
    }
    syn_finish(run);
    run->dataset.kernels.each = small_run_each;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    syn_free(run);
    return 0;
}

static jm_status make_report(void *context, jm_error *err)
{
    const jm_report_options options = {.size = sizeof options, .by = JM_BY_LAYER};
    return jm__report_from_dataset(context, &run->dataset, &options, err);
}

static double power_w(const jm_report *report, const char *path)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->path, path) == 0) return jm_report_row(report, i)->power_w;
    fail_msg("no row %s", path);
    return 0;
}

static void test_a_fit_by_place_without_memory_is_an_error_or_the_same(void **state)
{
    (void)state;
    jm_report *report = NULL;
    assert_int_equal(make_report(&report, NULL), JM_OK);
    char *json = failing_tell_report(&report);
    assert_non_null(strstr(json, "its clock moved"));
    free(json);
    assert_true(power_w(report, "there") < 0.9 * power_w(report, "here")); /* two powers of one kernel */
    failing_drop_report(&report);
    const failing_trial trial = {"by place",          &report,           make_report, failing_tell_report,
                                 failing_drop_report, failing_for_memory};
    failing_each(&trial, FAILING_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_fit_by_place_without_memory_is_an_error_or_the_same),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
