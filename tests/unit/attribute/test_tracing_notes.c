/* A report's notes on tracing and its budget. */
#include "format/rows/marks.h"
#include "synthetic_report.h"

#include <joulemap/report.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int64_t second = 1000000000;
static jm__mark marks[2];

/* Twenty steps of a second, of 100 kernels each; without `steps`, the kernels alone. */
static synthetic *program(bool steps)
{
    synthetic *s = syn_create(3, 1, 4000);
    int64_t class_id = syn_class(s, "work", 1, 400);
    for (int64_t i = 1; i <= 20; i++) {
        int64_t t = i * second, step = 0;
        if (steps) step = syn_span(s, JM_SPAN_STEP, "step", "", 0, t, t + second, 100);
        for (int64_t k = 0; k < 100; k++)
            syn_kernel(s, class_id, 0, step, t + k * 10000000, t + k * 10000000 + 8000000);
    }
    syn_measure(s, 0, second, 21 * second);
    syn_finish(s);
    return s;
}

static void add_mark(synthetic *s, int64_t t_ns, const char *name, const char *meta)
{
    size_t i = s->dataset.mark_count++;
    marks[i] = (jm__mark){.process_id = 100, .t_ns = t_ns, .name_id = syn_name(s, name), .meta = meta};
    s->dataset.marks = marks;
}

/* Whether the report has a note with these words. */
static bool says(const synthetic *s, const char *words)
{
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_KERNEL});
    bool found = false;
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        found = found || strstr(jm_report_note(report, i), words) != NULL;
    jm_report_free(report);
    return found;
}

static void test_what_came_of_a_budget_is_marked(void **state)
{
    (void)state;
    synthetic *s = program(true);
    s->dataset.budget_ppm = 10000;
    add_mark(s, 20 * second, JM_MARK_BUDGET,
             "{\"budget_ppm\":10000,\"cost_ppm\":8100,\"steps\":20,\"traced_steps\":7}");
    assert_true(says(
        s, "Traced within a budget of 1 %: 7 of 20 steps, which made the program 0.81 % slower, as tracing "
           "measured itself."));
    assert_false(says(s, "needs steps"));
    marks[0].meta = "{\"budget_ppm\":"; /* of a file that is damaged */
    assert_false(says(s, "Traced within"));
    syn_free(s);
}

static void test_a_budget_without_steps_is_marked(void **state)
{
    (void)state;
    synthetic *s = program(false);
    assert_false(says(s, "needs steps"));
    s->dataset.budget_ppm = 10000;
    assert_true(says(s, "A budget for tracing needs steps"));
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_came_of_a_budget_is_marked),
        cmocka_unit_test(test_a_budget_without_steps_is_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
