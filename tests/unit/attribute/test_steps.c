/* The duration of a step in the steady state, against runs with known truth. */
#include "synthetic_report.h"

enum { MS = 1000000 };

static const double busy_w = 500;

/* Steps of a process, from `now` on: the first ones `late` times as long. Returns their end. */
static int64_t add_steps(synthetic *s, int64_t now, int count, int warm, double late, int64_t process_id)
{
    int64_t kernel = syn_class(s, "busy", 1, busy_w);
    for (int i = 0; i < count; i++) {
        int64_t length = (int64_t)((i < warm ? late : 1) * 100 * MS * (1 + 0.01 * (syn_uniform(s) - 0.5)));
        int64_t span = syn_span(s, JM_SPAN_STEP, "step", "", 0, now, now + length, process_id);
        syn_span(s, JM_SPAN_STEP, "inner", "", span, now, now + length / 2, process_id);
        if (process_id == 100) syn_kernel(s, kernel, 0, span, now, now + length / 2);
        now += length;
    }
    return now;
}

static synthetic *create_with_two_processes(uint64_t seed)
{
    synthetic *s = syn_create(seed, 1, 4000);
    s->processes[1] = (jm__process){.id = 101, .pid = 101, .rank = -1, .command = "synthetic"};
    s->dataset.process_count = 2;
    return s;
}

static jm_report_totals totals_of(synthetic *s, jm_report_options options)
{
    jm_report *report = syn_report(s, options);
    jm_report_totals totals = *jm_report_totals_get(report);
    jm_report_free(report);
    return totals;
}

static void finish(synthetic *s, int64_t end_ns)
{
    syn_measure(s, 0, 0, end_ns);
    syn_finish(s);
}

static void test_a_warm_up_is_found_and_a_step_is_one_after_it(void **state)
{
    (void)state;
    synthetic *s = syn_create(7, 1, 4000);
    int64_t end = add_steps(s, 2000 * (int64_t)MS, 40, 3, 4, 100);
    finish(s, end + 2000 * (int64_t)MS);
    jm_report_totals totals = totals_of(s, (jm_report_options){0});
    int64_t warm_ns = s->spans[6].start_ns; /* the fourth step: each has another in it */
    double true_j = syn_total_j(s, 0, warm_ns, end) / 37;
    assert_int_equal(totals.steps, 40);
    assert_int_equal(totals.warm_up_steps, 3);
    if (!(totals.steady_step_low_j < true_j && true_j < totals.steady_step_high_j))
        fail_msg("%g in [%g, %g]", true_j, totals.steady_step_low_j, totals.steady_step_high_j);
    assert_true(fabs(totals.steady_step_j - true_j) < 0.01 * true_j);
    syn_free(s);
}

static void test_steps_that_are_alike_have_no_warm_up(void **state)
{
    (void)state;
    synthetic *s = syn_create(8, 1, 4000);
    int64_t end = add_steps(s, 0, 40, 0, 1, 100);
    finish(s, end);
    jm_report_totals totals = totals_of(s, (jm_report_options){0});
    double true_j = syn_total_j(s, 0, 0, end) / 40;
    assert_int_equal(totals.warm_up_steps, 0);
    assert_true(fabs(totals.steady_step_j - true_j) < 0.01 * true_j);
    syn_free(s);
}

/* The slowest process to get warm decides: steps of others before that are warm-up too. */
static void test_all_processes_are_to_be_warm(void **state)
{
    (void)state;
    synthetic *s = create_with_two_processes(9);
    int64_t end = add_steps(s, 0, 40, 0, 1, 100);
    add_steps(s, 0, 30, 2, 3, 101); /* warm after 600 ms: six steps of the other */
    finish(s, end);
    jm_report_totals totals = totals_of(s, (jm_report_options){0});
    assert_int_equal(totals.steps, 70);
    assert_int_equal(totals.kind_steps, 70); /* too unlike to be ranks of one training */
    assert_in_range(totals.warm_up_steps, 2 + 5, 2 + 7);
    totals = totals_of(s, (jm_report_options){.process_id = 101});
    assert_int_equal(totals.steps, 30);
    assert_int_equal(totals.warm_up_steps, 2);
    syn_free(s);
}

/* Ranks that step together make each step: its joules are those of all of them. */
static void test_ranks_that_step_together_make_one_step(void **state)
{
    (void)state;
    synthetic *s = create_with_two_processes(21);
    int64_t end = add_steps(s, 0, 40, 0, 1, 100);
    add_steps(s, 0, 39, 0, 1, 101);
    finish(s, end);
    jm_report_totals totals = totals_of(s, (jm_report_options){0});
    double true_j = syn_total_j(s, 0, 0, end) / 40;
    assert_int_equal(totals.steps, 79);
    assert_int_equal(totals.kind_steps, 40);
    assert_int_equal(totals.steady_steps, 40);
    assert_true(fabs(totals.steady_step_j - true_j) < 0.01 * true_j);
    syn_free(s);
}

/* Figures are of the kind of step with the most time: not of the other kind, nor of a step that took far
 * longer than the others, nor of the time between two phases. What a step launched may run to the begin of
 * the next. */
static void test_figures_are_of_one_kind_of_step(void **state)
{
    (void)state;
    synthetic *s = syn_create(22, 1, 4000);
    int64_t kernel = syn_class(s, "busy", 1, busy_w), now = 1000 * (int64_t)MS;
    double true_j = 0;
    for (int part = 0; part < 2; part++) {
        int64_t train = syn_span(s, JM_SPAN_PHASE, "train", "", 0, now, now + 3000 * (int64_t)MS, 100);
        for (int i = 0; i < 20; i++, now += 100 * MS) {
            int64_t step = syn_span(s, JM_SPAN_STEP, "step", "", train, now, now + 20 * MS, 100);
            s->spans[s->dataset.span_count - 1].tokens = 7;
            syn_kernel(s, kernel, 0, step, now + 10 * MS, now + 80 * MS);
        }
        int64_t slow = syn_span(s, JM_SPAN_STEP, "step", "", train, now, now + 900 * (int64_t)MS, 100);
        syn_kernel(s, kernel, 0, slow, now, now + 900 * (int64_t)MS);
        now += 1000 * (int64_t)MS;
        int64_t decode = syn_span(s, JM_SPAN_PHASE, "decode", "", 0, now, now + 1000 * (int64_t)MS, 100);
        for (int i = 0; i < 30; i++, now += 20 * MS) {
            int64_t step = syn_span(s, JM_SPAN_STEP, "step", "", decode, now, now + 20 * MS, 100);
            syn_kernel(s, kernel, 0, step, now, now + 10 * MS);
        }
        now += 1000 * (int64_t)MS;
    }
    finish(s, now);
    for (int part = 0; part < 2; part++) {
        int64_t from_ns = 1000 * (int64_t)MS + part * (now - 1000 * (int64_t)MS) / 2;
        true_j += syn_total_j(s, 0, from_ns, from_ns + 20 * 100 * (int64_t)MS) / 40;
    }
    jm_report *report = syn_report(s, (jm_report_options){0});
    const jm_report_totals *totals = jm_report_totals_get(report);
    assert_int_equal(totals->steps, 102);
    assert_string_equal(totals->step_phase, "train");
    assert_int_equal(totals->kind_steps, 42);
    assert_int_equal(totals->steady_steps, 40);
    assert_int_equal(totals->steady_tokens, 280);
    assert_true(fabs(totals->steady_step_s - 0.1) < 1e-9);
    if (fabs(totals->steady_step_j - true_j) > 0.02 * true_j)
        fail_msg("%g, true %g", totals->steady_step_j, true_j);
    jm_report_free(report);
    syn_free(s);
}

/* A server: what comes between two steps of one kind, a step of another, is in neither. */
static void test_a_step_ends_where_another_kind_begins(void **state)
{
    (void)state;
    synthetic *s = syn_create(23, 1, 4000);
    int64_t kernel = syn_class(s, "busy", 1, busy_w), now = 500 * (int64_t)MS;
    double true_j = 0;
    enum { REQUESTS = 30 };
    int64_t begins[REQUESTS];
    for (int i = 0; i < REQUESTS; i++, now += 60 * MS) {
        int64_t prefill = syn_span(s, JM_SPAN_PHASE, "prefill", "", 0, now, now + 50 * MS, 100);
        syn_kernel(s, kernel, 0, syn_span(s, JM_SPAN_STEP, "step", "", prefill, now, now + 50 * MS, 100), now,
                   now + 50 * MS);
        begins[i] = now += 60 * MS;
        int64_t decode = syn_span(s, JM_SPAN_PHASE, "decode", "", 0, now, now + 100 * MS, 100);
        syn_kernel(s, kernel, 0, syn_span(s, JM_SPAN_STEP, "step", "", decode, now, now + 90 * MS, 100), now,
                   now + 95 * MS);
        now += 100 * MS;
    }
    finish(s, now);
    for (int i = 0; i < REQUESTS; i++)
        true_j += syn_total_j(s, 0, begins[i], begins[i] + 100 * MS) / REQUESTS;
    jm_report *report = syn_report(s, (jm_report_options){0});
    const jm_report_totals *totals = jm_report_totals_get(report);
    assert_string_equal(totals->step_phase, "decode");
    assert_int_equal(totals->steady_steps, REQUESTS);
    assert_true(fabs(totals->steady_step_s - 0.1) < 0.001); /* the last one has its own length */
    if (fabs(totals->steady_step_j - true_j) > 0.02 * true_j)
        fail_msg("%g, true %g", totals->steady_step_j, true_j);
    jm_report_free(report);
    syn_free(s);
}

/* One program after the other, as in a shell script: each has its own warm-up, and neither the second one's
 * warm-up nor the time between them is steady. */
static void test_programs_one_after_the_other_have_steady_steps_each(void **state)
{
    (void)state;
    synthetic *s = create_with_two_processes(11);
    int64_t first_end = add_steps(s, 2000 * (int64_t)MS, 30, 2, 4, 100);
    size_t second = s->dataset.span_count;
    int64_t end = add_steps(s, first_end + 3000 * (int64_t)MS, 20, 3, 4, 101);
    finish(s, end + 2000 * (int64_t)MS);
    jm_report_totals totals = totals_of(s, (jm_report_options){0});
    int64_t warm_ns = s->spans[4].start_ns, warm_again_ns = s->spans[second + 6].start_ns;
    double true_j = (syn_total_j(s, 0, warm_ns, first_end) + syn_total_j(s, 0, warm_again_ns, end)) / 45;
    assert_int_equal(totals.steps, 50);
    assert_int_equal(totals.warm_up_steps, 5);
    if (!(totals.steady_step_low_j < true_j && true_j < totals.steady_step_high_j))
        fail_msg("%g in [%g, %g]", true_j, totals.steady_step_low_j, totals.steady_step_high_j);
    assert_true(fabs(totals.steady_step_j - true_j) < 0.01 * true_j);
    syn_free(s);
}

static void test_without_steps_nothing_is_said(void **state)
{
    (void)state;
    synthetic *s = syn_create(10, 1, 4000);
    syn_kernel(s, syn_class(s, "busy", 1, busy_w), 0, 0, 0, 500 * (int64_t)MS);
    finish(s, 1000 * (int64_t)MS);
    jm_report_totals totals = totals_of(s, (jm_report_options){0});
    assert_true(totals.steps < 0 && totals.warm_up_steps < 0 && isnan(totals.steady_step_j));
    syn_free(s);
}

/* Batches of 8 samples with two parts each, of which only the second has tokens: 100. */
static int64_t add_batches(synthetic *s, int64_t now, int count, int64_t process_id, int64_t parent)
{
    int64_t kernel = syn_class(s, "busy", 1, busy_w);
    for (int i = 0; i < count; i++, now += 100 * MS) {
        int64_t batch = syn_span(s, JM_SPAN_BATCH, "batch", "", parent, now, now + 90 * MS, process_id);
        s->spans[s->dataset.span_count - 1].samples = 8;
        syn_span(s, JM_SPAN_BATCH, "part", "", batch, now, now + 20 * MS, process_id);
        syn_span(s, JM_SPAN_BATCH, "part", "", batch, now + 20 * MS, now + 40 * MS, process_id);
        s->spans[s->dataset.span_count - 1].tokens = 100;
        syn_kernel(s, kernel, 0, batch, now, now + 50 * MS);
    }
    return now;
}

static void test_batches_are_steps_where_none_are_marked(void **state)
{
    (void)state;
    synthetic *s = syn_create(11, 1, 4000);
    int64_t phase = syn_span(s, JM_SPAN_PHASE, "train", "", 0, 0, 10 * 100 * MS, 100);
    finish(s, add_batches(s, 0, 10, 100, phase));
    jm_report_totals totals = totals_of(s, (jm_report_options){.phase = "train"});
    assert_int_equal(totals.steps, 10);
    assert_int_equal(totals.samples, 80);
    assert_int_equal(totals.tokens, 1000);
    jm_report *report = syn_report(s, (jm_report_options){0});
    assert_string_equal(jm_report_totals_get(report)->steps_found, "batch");
    jm_report_free(report);
    syn_free(s);
}

/* If a process marks its steps, only those count; amounts that it does not mark are still found. */
static void test_steps_that_are_marked_win_over_batches(void **state)
{
    (void)state;
    synthetic *s = syn_create(12, 1, 4000);
    s->processes[1] = (jm__process){.id = 101, .pid = 101, .rank = -1, .command = "synthetic"};
    s->dataset.process_count = 2;
    add_batches(s, 0, 10, 100, 0);
    int64_t step = syn_span(s, JM_SPAN_STEP, "step", "", 0, 0, 1000 * (int64_t)MS, 101);
    s->spans[s->dataset.span_count - 1].samples = 5;
    finish(s, add_batches(s, 0, 10, 101, step));
    jm_report_totals totals = totals_of(s, (jm_report_options){.process_id = 101});
    assert_int_equal(totals.steps, 1);
    assert_int_equal(totals.samples, 5);
    assert_int_equal(totals.tokens, 1000);
    assert_null(totals.steps_found);
    totals = totals_of(s, (jm_report_options){0});
    assert_int_equal(totals.steps, 11);
    assert_int_equal(totals.samples, 85);
    assert_int_equal(totals.tokens, 2000);
    syn_free(s);
}

/* In a phase that began within a batch, the parts in it count. */
static void test_a_step_that_began_before_the_time_queried_about_hides_none_in_it(void **state)
{
    (void)state;
    synthetic *s = syn_create(13, 1, 4000);
    int64_t outer = syn_span(s, JM_SPAN_BATCH, "outer", "", 0, 0, 1000 * (int64_t)MS, 100);
    s->spans[0].samples = 1;
    int64_t phase = syn_span(s, JM_SPAN_PHASE, "decode", "", outer, 100 * MS, 1000 * (int64_t)MS, 100);
    finish(s, add_batches(s, 100 * MS, 9, 100, phase));
    assert_int_equal(totals_of(s, (jm_report_options){0}).steps, 1);
    jm_report_totals totals = totals_of(s, (jm_report_options){.phase = "decode"});
    assert_int_equal(totals.steps, 9);
    assert_int_equal(totals.samples, 72);
    syn_free(s);
}

static void test_a_wait_for_data_is_a_row_by_span_alone(void **state)
{
    (void)state;
    synthetic *s = syn_create(14, 1, 4000);
    int64_t phase = syn_span(s, JM_SPAN_PHASE, "train", "", 0, 0, 1000 * (int64_t)MS, 100);
    syn_span(s, JM_SPAN_DATA, "DataLoader", "", phase, 0, 100 * MS, 100);
    syn_kernel(s, syn_class(s, "busy", 1, busy_w), 0, phase, 100 * MS, 500 * MS);
    finish(s, 1000 * (int64_t)MS);
    for (int by = 0; by < JM_BY_COUNT; by++) {
        jm_report *report = syn_report(s, (jm_report_options){.by = (jm_by)by});
        int64_t waits = 0;
        for (size_t i = 0; i < jm_report_row_count(report); i++) {
            const jm_row *row = jm_report_row(report, i);
            waits += strcmp(row->kind, "data") == 0;
            if (strcmp(row->kind, "other") == 0) assert_int_equal(row->calls, 0);
        }
        assert_int_equal(waits, by == JM_BY_SPAN);
        jm_report_free(report);
    }
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_warm_up_is_found_and_a_step_is_one_after_it),
        cmocka_unit_test(test_steps_that_are_alike_have_no_warm_up),
        cmocka_unit_test(test_all_processes_are_to_be_warm),
        cmocka_unit_test(test_ranks_that_step_together_make_one_step),
        cmocka_unit_test(test_figures_are_of_one_kind_of_step),
        cmocka_unit_test(test_a_step_ends_where_another_kind_begins),
        cmocka_unit_test(test_programs_one_after_the_other_have_steady_steps_each),
        cmocka_unit_test(test_without_steps_nothing_is_said),
        cmocka_unit_test(test_batches_are_steps_where_none_are_marked),
        cmocka_unit_test(test_steps_that_are_marked_win_over_batches),
        cmocka_unit_test(test_a_step_that_began_before_the_time_queried_about_hides_none_in_it),
        cmocka_unit_test(test_a_wait_for_data_is_a_row_by_span_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
