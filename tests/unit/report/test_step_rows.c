/* Rows of a steady step, and the parts of a run, against runs with known truth; two runs that differ in
 * length. */
#include "synthetic_report.h"

#include "base/clock.h"
#include <joulemap/diff.h>
#include <math.h>
#include <string.h>

enum { MS = 1000000 };

/* A loop of training steps: imports, steps of which the first take longer, validation in between, the end. */
typedef struct loop {
    int steps, warm;
    int64_t before_ms, after_ms;
    bool validates; /* after each tenth step, with a layer of its own */
} loop;

typedef struct played {
    synthetic *s;
    int64_t first_ns, end_ns; /* of the steps */
    double steady_j, warm_j, validation_j;
} played;

static void add_layer(synthetic *s, const char *path, int64_t step, int64_t kernel, int64_t now, int64_t ns)
{
    int64_t layer = syn_span(s, JM_SPAN_FORWARD, path, "Block", step, now, now + ns, 100);
    syn_kernel(s, kernel, 0, layer, now, now + ns);
}

static int64_t add_step(synthetic *s, const int64_t classes[3], int64_t now, double longer)
{
    static const char *const paths[] = {"net.a", "net.b"};
    int64_t length = (int64_t)(100 * MS * longer), step, at = now;
    step = syn_span(s, JM_SPAN_STEP, "step", "", 0, now, now + length, 100);
    for (int i = 0; i < 2; i++, at += length * 2 / 5)
        add_layer(s, paths[i], step, classes[i], at, length * 2 / 5);
    return now + length; /* the last fifth is idle */
}

static int64_t add_validation(synthetic *s, int64_t kernel, int64_t now)
{
    int64_t phase = syn_span(s, JM_SPAN_PHASE, "val", "", 0, now, now + 60 * MS, 100);
    int64_t step = syn_span(s, JM_SPAN_STEP, "check", "", phase, now, now + 60 * MS, 100);
    add_layer(s, "metric", step, kernel, now, 50 * MS);
    return now + 60 * MS;
}

static played play(uint64_t seed, const loop *of)
{
    played p = {.s = syn_create(seed, 1, 4000)};
    int64_t now = p.first_ns = of->before_ms * MS;
    int64_t ends[512], begins[512];
    const int64_t classes[] = {syn_class(p.s, "a", 1, 300), syn_class(p.s, "b", 1, 500),
                               syn_class(p.s, "metric", 1, 200)};
    for (int i = 0; i < of->steps; i++) {
        begins[i] = now;
        now = add_step(p.s, classes, now, i < of->warm ? 4 : 1 + 0.01 * (syn_uniform(p.s) - 0.5));
        ends[i] = now;
        if (of->validates && i % 10 == 9) now = add_validation(p.s, classes[2], now);
    }
    p.end_ns = now;
    syn_measure(p.s, 0, 0, now + of->after_ms * MS);
    syn_finish(p.s);
    for (int i = 0; i < of->steps; i++)
        *(i < of->warm ? &p.warm_j : &p.steady_j) += syn_total_j(p.s, 0, begins[i], ends[i]);
    p.validation_j = syn_total_j(p.s, 0, p.first_ns, p.end_ns) - p.warm_j - p.steady_j;
    return p;
}

static const loop usual = {.steps = 60, .warm = 3, .before_ms = 4000, .after_ms = 1000, .validates = true};

static const jm_stage *stage_of(const jm_report *report, const char *name)
{
    for (size_t i = 0; i < jm_report_stage_count(report); i++)
        if (strcmp(jm_report_stage(report, i)->name, name) == 0) return jm_report_stage(report, i);
    fail_msg("no part \"%s\"", name);
    return NULL;
}

static const jm_row *row_at(const jm_report *report, const char *path)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->path, path) == 0) return jm_report_row(report, i);
    fail_msg("no row \"%s\"", path);
    return NULL;
}

static void assert_close(const char *what, double value, double truth, double share)
{
    if (!(fabs(value - truth) <= share * fabs(truth))) fail_msg("%s: %g, true %g", what, value, truth);
}

static void test_rows_of_a_step_add_up_to_it_in_every_view(void **state)
{
    (void)state;
    played p = play(31, &usual);
    for (int by = 0; by < JM_BY_SPAN; by++) {
        jm_report *report = syn_report(p.s, (jm_report_options){.by = (jm_by)by});
        const jm_report_totals *t = jm_report_totals_get(report);
        double step_j = 0;
        for (size_t i = 0; i < jm_report_row_count(report); i++)
            if (jm_report_row(report, i)->depth == 0) step_j += jm_report_row(report, i)->step_j;
        assert_int_equal(t->steady_steps, 57);
        assert_close(jm_by_text((jm_by)by), step_j, t->steady_step_j, 1e-9);
        assert_close("steady", t->steady_step_j, p.steady_j / 57, 0.01);
        jm_report_free(report);
    }
    syn_free(p.s);
}

static void test_the_parts_of_a_run_add_up_to_its_total_and_are_true(void **state)
{
    (void)state;
    played p = play(32, &usual);
    jm_report *report = syn_report(p.s, (jm_report_options){0});
    const jm_report_totals *t = jm_report_totals_get(report);
    double all_j = 0, all_s = 0;
    for (size_t i = 0; i < jm_report_stage_count(report); i++) {
        const jm_stage *stage = jm_report_stage(report, i);
        all_j += stage->energy_j;
        all_s += isnan(stage->seconds) ? 0 : stage->seconds;
    }
    assert_close("all joules", all_j, t->total_energy_j, 1e-12);
    assert_close("all seconds", all_s, t->duration_s, 1e-9);
    assert_close("steady", stage_of(report, "steady steps")->energy_j, p.steady_j, 0.01);
    assert_close("warm-up", stage_of(report, "warm-up steps")->energy_j, p.warm_j, 0.05);
    assert_close("other", stage_of(report, "other kinds of steps")->energy_j, p.validation_j, 0.1);
    assert_close("before", stage_of(report, "before the first step")->energy_j,
                 syn_total_j(p.s, 0, 0, p.first_ns), 0.02);
    assert_close("after", stage_of(report, "after the last step")->energy_j,
                 syn_total_j(p.s, 0, p.end_ns, p.end_ns + usual.after_ms * MS), 0.05);
    assert_int_equal(stage_of(report, "warm-up steps")->steps, 3);
    assert_int_equal(stage_of(report, "other kinds of steps")->steps, 6);
    jm_report_free(report);
    syn_free(p.s);
}

/* A layer of the other kind of steps has joules, and none in a step. */
static void test_a_row_has_its_joules_in_a_step_within_its_interval(void **state)
{
    (void)state;
    played p = play(33, &usual);
    jm_report *report = syn_report(p.s, (jm_report_options){0});
    const jm_row *a = row_at(report, "net.a"), *b = row_at(report, "net.b"),
                 *metric = row_at(report, "metric");
    const double true_j[] = {0.04 * 300, 0.04 * 500}; /* watts of the classes are those of the board */
    assert_true(metric->energy_j > 1 && metric->step_j == 0 && metric->step_s == 0);
    assert_true(a->step_low_j < true_j[0] && true_j[0] < a->step_high_j);
    assert_true(b->step_low_j < true_j[1] && true_j[1] < b->step_high_j);
    assert_close("seconds", a->step_s, 0.04, 0.01);
    assert_true(a->energy_j > 57 * a->step_j);
    jm_report_free(report);
    syn_free(p.s);
}

static void test_without_steps_there_are_no_parts_and_no_figures_of_a_step(void **state)
{
    (void)state;
    synthetic *s = syn_create(34, 1, 4000);
    syn_kernel(s, syn_class(s, "busy", 1, 500), 0, 0, 0, 500 * (int64_t)MS);
    syn_measure(s, 0, 0, 1000 * (int64_t)MS);
    syn_finish(s);
    jm_report *report = syn_report(s, (jm_report_options){0});
    assert_int_equal(jm_report_stage_count(report), 0);
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        assert_true(isnan(jm_report_row(report, i)->step_j));
    jm_report_free(report);
    syn_free(s);
}

/* 50 and 200 steps of one loop: its imports and its warm-up are in no step, so nothing differs. */
static void test_a_loop_of_50_and_of_200_steps_does_not_differ(void **state)
{
    (void)state;
    loop shorter = usual, longer = usual;
    shorter.steps = 50;
    longer.steps = 200;
    played runs[] = {play(35, &shorter), play(36, &longer)};
    jm_report *reports[2];
    jm_diff *diff;
    jm_error err = {0};
    for (int r = 0; r < 2; r++)
        reports[r] = syn_report(runs[r].s, (jm_report_options){0});
    if (jm_diff_create(&diff, reports[0], reports[1], NULL, &err) != JM_OK) fail_msg("%s", err.text);
    const jm_diff_row *total = jm_diff_total(diff);
    assert_int_equal(jm_diff_per(diff), JM_PER_STEP);
    assert_int_equal(total->verdict, JM_CHANGE_NOT_SEEN);
    assert_true(fabs(total->change) < 0.01);
    assert_close("seconds", total->a_s, total->b_s, 0.01);
    for (size_t i = 0; i < jm_diff_row_count(diff); i++)
        if (jm_diff_row_get(diff, i)->verdict != JM_CHANGE_NOT_SEEN)
            fail_msg("%s: %+g", jm_diff_row_get(diff, i)->path, jm_diff_row_get(diff, i)->change);
    jm_diff_free(diff);
    for (int r = 0; r < 2; r++) {
        jm_report_free(reports[r]);
        syn_free(runs[r].s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_of_a_step_add_up_to_it_in_every_view),
        cmocka_unit_test(test_the_parts_of_a_run_add_up_to_its_total_and_are_true),
        cmocka_unit_test(test_a_row_has_its_joules_in_a_step_within_its_interval),
        cmocka_unit_test(test_without_steps_there_are_no_parts_and_no_figures_of_a_step),
        cmocka_unit_test(test_a_loop_of_50_and_of_200_steps_does_not_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
