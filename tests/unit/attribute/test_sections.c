/* Windows that overlap, of one thread, of several, of tasks of asyncio: a row has no time that is not its
 * own windows'. */
#include "attribute/work/span_index.h"
#include "synthetic_report.h"

enum { MS = 1000000 };

/* ---- what is around a span, and for how long */

static jm__span_index index_of(const synthetic *s)
{
    jm__span_index index;
    jm_error err;
    assert_int_equal(jm__span_index_init(&index, &s->dataset, &err), JM_OK);
    return index;
}

/* The names around a section, innermost first: "b a". */
static const char *around(const jm__span_index *index, size_t span, int64_t t_ns)
{
    static char text[200];
    text[0] = '\0';
    for (size_t s = jm__section_at(index, span, t_ns); s != JM__NO_SPAN; s = jm__section_parent(index, s)) {
        int64_t name = index->dataset->spans[jm__section_span(index, s)].name_id;
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", text[0] != '\0' ? " " : "",
                 index->dataset->names[name]);
    }
    return text;
}

static void test_what_goes_on_after_its_parent_is_in_the_one_around_that(void **state)
{
    (void)state;
    synthetic *s = syn_create(1, 1, 20);
    int64_t all = syn_span(s, JM_SPAN_PHASE, "all", "", 0, 0, 100, 100);
    int64_t load = syn_span(s, JM_SPAN_PHASE, "load", "", all, 10, 40, 100);
    int64_t train = syn_span(s, JM_SPAN_PHASE, "train", "", load, 20, 120, 100);
    syn_span(s, JM_SPAN_FORWARD, "layer", "", train, 30, 130, 100);
    syn_span(s, JM_SPAN_STEP, "step", "", train, 50, 60, 100);
    jm__span_index index = index_of(s);
    assert_string_equal(around(&index, 2, 39), "train load all");
    assert_string_equal(around(&index, 2, 40), "train all");
    assert_string_equal(around(&index, 2, 110), "train");
    assert_string_equal(around(&index, 3, 39), "layer train load all");
    assert_string_equal(around(&index, 3, 119), "layer train");
    assert_string_equal(around(&index, 3, 1000), "layer");
    assert_string_equal(around(&index, 4, 50), "step train all");
    assert_string_equal(around(&index, 4, 0), "step train all");
    assert_int_equal(jm__span_parent(&index, 2), 1);
    assert_int_equal(jm__span_around(&index, 2, 2), JM__NO_SPAN); /* none holds all of it */
    assert_int_equal(jm__section_start_ns(&index, jm__section_at(&index, 2, 50)), 40);
    assert_int_equal(jm__section_end_ns(&index, jm__section_at(&index, 2, 50)), 100);
    jm__span_index_free(&index);
    syn_free(s);
}

/* A pool's threads, and tasks that end in the order in which they began. */
static void test_two_of_one_name_at_a_time_are_beside_each_other(void **state)
{
    (void)state;
    synthetic *s = syn_create(1, 1, 20);
    int64_t train = syn_span(s, JM_SPAN_PHASE, "train", "", 0, 0, 100, 100);
    int64_t job = syn_span(s, JM_SPAN_WINDOW, "job", "", train, 10, 50, 100);
    int64_t other = syn_span(s, JM_SPAN_WINDOW, "job", "", job, 20, 40, 100); /* another thread's */
    s->spans[2].thread_id = 7;
    syn_span(s, JM_SPAN_WINDOW, "job", "", other, 30, 60, 100); /* on that one: a task */
    s->spans[3].thread_id = 7;
    syn_span(s, JM_SPAN_WINDOW, "job", "", job, 45, 48, 100); /* it calls itself */
    jm__span_index index = index_of(s);
    assert_string_equal(around(&index, 2, 20), "job train");
    assert_string_equal(around(&index, 3, 30), "job train");
    assert_string_equal(around(&index, 4, 45), "job job train");
    jm__span_index_free(&index);
    syn_free(s);
}

/* Each outlasts the one before, without end: depth and sections stay few. */
static void test_a_thousand_tasks_at_a_time_cost_what_a_thousand_tasks_do(void **state)
{
    (void)state;
    enum { TASKS = 1000 };
    synthetic *s = syn_create(1, 1, TASKS);
    for (int i = 0; i < TASKS; i++) {
        char name[20];
        snprintf(name, sizeof name, "request %d", i % 200);
        syn_span(s, JM_SPAN_WINDOW, name, "", i, i, TASKS + i, 100);
    }
    jm__span_index index = index_of(s);
    assert_in_range(index.more.count, 1, 16 * TASKS);
    jm__span_index_free(&index);
    syn_free(s);
}

/* An import may begin before its clock's zero, where -1 is a time, too. */
static void test_a_span_lasts_to_its_end_else_to_that_of_its_process_or_the_recording(void **state)
{
    (void)state;
    synthetic *s = syn_create(1, 1, 20);
    syn_span(s, JM_SPAN_PHASE, "before zero", "", 0, -5, -1, 100);
    syn_span(s, JM_SPAN_PHASE, "open", "", 0, 50, -1, 100);
    syn_span(s, JM_SPAN_PHASE, "of no length", "", 0, 60, 60, 100);
    syn_span(s, JM_SPAN_PHASE, "whole", "", 0, 60, 70, 100);
    syn_span(s, JM_SPAN_PHASE, "after all", "", 0, 300, -1, 100);
    s->dataset.end_ns = 200;
    static const int64_t alive_ns[] = {200, 200, 60, 70, 300}, gone_ns[] = {100, 100, 60, 70, 300};
    for (int i = 0; i < 5; i++)
        assert_int_equal(jm__span_end_ns(&s->dataset, &s->spans[i]), alive_ns[i]);
    s->dataset.gone_ns = (int64_t[]){100};
    for (int i = 0; i < 5; i++)
        assert_int_equal(jm__span_end_ns(&s->dataset, &s->spans[i]), gone_ns[i]);
    syn_free(s);
}

/* ---- rows */

static const jm_row *row_of(const jm_report *report, const char *path)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->path, path) == 0) return jm_report_row(report, i);
    fail_msg("there is no row %s", path);
    return NULL;
}

static void test_a_phase_that_outlasts_another_is_cut_at_its_end(void **state)
{
    (void)state;
    synthetic *s = syn_create(2, 1, 4000);
    int64_t load = syn_span(s, JM_SPAN_PHASE, "load", "", 0, 0, 2000 * (int64_t)MS, 100);
    int64_t train =
        syn_span(s, JM_SPAN_PHASE, "train", "", load, 1000 * (int64_t)MS, 4000 * (int64_t)MS, 100);
    int64_t kernel = syn_class(s, "busy", 1, 500);
    for (int64_t at = 0; at < 4000; at += 100)
        syn_kernel(s, kernel, 0, at < 1000 ? load : train, at * MS, (at + 60) * MS);
    syn_measure(s, 0, 0, 5000 * (int64_t)MS);
    syn_finish(s);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_PHASE});
    const struct {
        const char *path;
        int64_t from_ms, to_ms;
    } rows[] = {{"load", 0, 2000}, {"load/train", 1000, 2000}, {"train", 2000, 4000}};
    for (int i = 0; i < 3; i++) {
        const jm_row *row = row_of(report, rows[i].path);
        double true_j = syn_total_j(s, 0, rows[i].from_ms * MS, rows[i].to_ms * MS);
        assert_true(fabs(row->busy_s - 1e-3 * (double)(rows[i].to_ms - rows[i].from_ms)) < 1e-3);
        assert_true(fabs(row->energy_j - true_j) < 0.02 * true_j);
    }
    jm_report_free(report);
    syn_free(s);
}

/* Steps of two threads, and one that goes on over the end of another: none is a part of another. */
static void test_steps_of_other_threads_are_steps(void **state)
{
    (void)state;
    synthetic *s = syn_create(3, 1, 4000);
    int64_t kernel = syn_class(s, "busy", 1, 500);
    for (int64_t i = 0; i < 20; i++) {
        int64_t at = i * 100 * MS, step = syn_span(s, JM_SPAN_STEP, "learn", "", 0, at, at + 90 * MS, 100);
        int64_t act = syn_span(s, JM_SPAN_STEP, "act", "", step, at + 10 * MS, at + 20 * MS, 100);
        s->spans[act - 1].thread_id = 7;
        s->spans[act - 1].samples = s->spans[step - 1].samples = 4;
        syn_kernel(s, kernel, 0, step, at + 20 * MS, at + 80 * MS);
    }
    syn_span(s, JM_SPAN_STEP, "task", "", 39, 1950 * MS, 2000 * MS, 100);
    syn_measure(s, 0, 0, 2000 * (int64_t)MS);
    syn_finish(s);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_PHASE});
    assert_int_equal(jm_report_totals_get(report)->steps, 41);
    assert_int_equal(jm_report_totals_get(report)->samples, 160);
    jm_report_free(report);
    syn_free(s);
}

/* ---- any program */

enum { THREADS = 3, OPEN = 6, EVENTS = 150 };

typedef struct program {
    synthetic *s;
    int64_t stack[THREADS][OPEN]; /* ids of what is open, in order of its begin */
    int depth[THREADS];
    int64_t wide[THREADS * OPEN];
    int wides;
} program;

static void take_out(int64_t *items, int *count, int64_t id)
{
    int to = 0;
    for (int i = 0; i < *count; i++)
        if (items[i] != id) items[to++] = items[i];
    *count = to;
}

/* On its thread, else in the process: as the collector has it. */
static int64_t innermost(const program *p, int thread)
{
    if (p->depth[thread] > 0) return p->stack[thread][p->depth[thread] - 1];
    return p->wides > 0 ? p->wide[p->wides - 1] : 0;
}

static void begin_one(program *p, int thread, int64_t now)
{
    static const jm_span_kind kinds[] = {JM_SPAN_PHASE, JM_SPAN_PHASE, JM_SPAN_WINDOW, JM_SPAN_STEP};
    static const char *const names[] = {"a", "b", "c"};
    jm_span_kind kind = kinds[(int)(syn_uniform(p->s) * 4)];
    const char *name = kind == JM_SPAN_STEP ? "step" : names[(int)(syn_uniform(p->s) * 3)];
    int64_t id = syn_span(p->s, kind, name, "", innermost(p, thread), now, -1, 100);
    p->s->spans[id - 1].thread_id = thread + 1;
    p->stack[thread][p->depth[thread]++] = p->wide[p->wides++] = id;
}

static void end_one(program *p, int thread, int64_t now)
{
    int64_t id = p->stack[thread][(int)(syn_uniform(p->s) * p->depth[thread])];
    p->s->spans[id - 1].end_ns = now;
    take_out(p->stack[thread], &p->depth[thread], id);
    take_out(p->wide, &p->wides, id);
}

static synthetic *any_program(uint64_t seed, bool kernels)
{
    program p = {.s = syn_create(seed, 1, 4000)};
    int64_t now = 0, class = kernels ? syn_class(p.s, "busy", 1, 500) : 0;
    for (int i = 0; i < EVENTS; i++, now += (20 + (int64_t)(40 * syn_uniform(p.s))) * MS) {
        int thread = (int)(syn_uniform(p.s) * THREADS);
        bool opens = p.depth[thread] == 0 || (p.depth[thread] < OPEN && syn_uniform(p.s) < 0.5);
        opens ? begin_one(&p, thread, now) : end_one(&p, thread, now);
        int launching = (int)(syn_uniform(p.s) * THREADS);
        if (kernels) syn_kernel(p.s, class, 0, innermost(&p, launching), now + MS, now + 11 * MS);
    }
    for (int thread = 0; thread < THREADS; thread++)
        while (p.depth[thread] > 0)
            end_one(&p, thread, now);
    syn_measure(p.s, 0, 0, now + 500 * MS);
    syn_finish(p.s);
    return p.s;
}

static double windows_s(const synthetic *s, const char *name, const char *kind)
{
    jm__windows windows = {0};
    for (size_t i = 0; i < s->dataset.span_count; i++) {
        const jm__span *span = &s->spans[i];
        if (strcmp(jm_span_kind_text(span->kind), kind) != 0 || strcmp(s->names[span->name_id], name) != 0)
            continue;
        assert_true(jm__windows_add(&windows, span->start_ns, span->end_ns));
    }
    jm__windows_normalise(&windows);
    double seconds = (double)jm__windows_duration_ns(&windows) * 1e-9;
    jm__vec_free(&windows);
    return seconds;
}

static void check_rows(const synthetic *s, jm_by by)
{
    jm_report *report = syn_report(s, (jm_report_options){.by = by});
    double sum_s = 0, run_s = (double)(s->dataset.end_ns - s->dataset.start_ns) * 1e-9;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        char name[200];
        snprintf(name, sizeof name, "%s", row->name);
        char *no_layer = strstr(name, " (no layer)");
        if (no_layer != NULL) *no_layer = '\0';
        if (row->depth == 0) sum_s += row->busy_s;
        bool is_window = strcmp(row->kind, "phase") == 0 || strcmp(row->kind, "window") == 0 ||
                         strcmp(row->kind, "step") == 0;
        if (!is_window) continue;
        double own_s = windows_s(s, name, row->kind);
        if (row->busy_s > own_s + 1e-6)
            fail_msg("%s has %g s, its windows %g s", row->path, row->busy_s, own_s);
        if (row->energy_j > 500 * own_s) fail_msg("%s has %g J", row->path, row->energy_j);
    }
    assert_true(fabs(sum_s - run_s) < 1e-6); /* what one has the other lacks */
    jm_report_free(report);
}

static void test_no_row_has_more_time_than_its_windows(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++)
        for (int kernels = 0; kernels < 2; kernels++) {
            synthetic *s = any_program(seed, kernels);
            check_rows(s, JM_BY_PHASE);
            check_rows(s, JM_BY_LAYER);
            check_rows(s, JM_BY_TYPE);
            check_rows(s, JM_BY_SPAN);
            syn_free(s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_goes_on_after_its_parent_is_in_the_one_around_that),
        cmocka_unit_test(test_two_of_one_name_at_a_time_are_beside_each_other),
        cmocka_unit_test(test_a_thousand_tasks_at_a_time_cost_what_a_thousand_tasks_do),
        cmocka_unit_test(test_a_span_lasts_to_its_end_else_to_that_of_its_process_or_the_recording),
        cmocka_unit_test(test_a_phase_that_outlasts_another_is_cut_at_its_end),
        cmocka_unit_test(test_steps_of_other_threads_are_steps),
        cmocka_unit_test(test_no_row_has_more_time_than_its_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
