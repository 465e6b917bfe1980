/* Overlapping windows of one thread, of several, of asyncio tasks: the time of a row is that of its own
 * windows. */
#include "attribute/input/span_index.h"
#include "synthetic_report.h"

enum { MS = 1000000 };

/* ---- the spans that enclose a span, and for how long */

static jm__span_index index_of(const synthetic *s)
{
    jm__span_index index;
    jm_error err;
    assert_int_equal(jm__span_index_init(&index, &s->dataset, &err), JM_OK);
    return index;
}

/* The names of the enclosing sections, innermost first: "b a". */
static const char *names_at(const jm__span_index *index, size_t span, int64_t t_ns)
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
    assert_string_equal(names_at(&index, 2, 39), "train load all");
    assert_string_equal(names_at(&index, 2, 40), "train all");
    assert_string_equal(names_at(&index, 2, 110), "train");
    assert_string_equal(names_at(&index, 3, 39), "layer train load all");
    assert_string_equal(names_at(&index, 3, 119), "layer train");
    assert_string_equal(names_at(&index, 3, 1000), "layer");
    assert_string_equal(names_at(&index, 4, 50), "step train all");
    assert_string_equal(names_at(&index, 4, 0), "step train all");
    assert_int_equal(jm__span_parent(&index, 2), 1);
    assert_int_equal(jm__span_enclosing(&index, 2, 2), JM__NO_SPAN); /* none lasts as long */
    assert_int_equal(jm__section_start_ns(&index, jm__section_at(&index, 2, 50)), 40);
    assert_int_equal(jm__section_end_ns(&index, jm__section_at(&index, 2, 50)), 100);
    jm__span_index_free(&index);
    syn_free(s);
}

/* A pool's threads, and tasks that end in the order in which they began. */
static void test_what_is_open_at_a_time_is_around_one(void **state)
{
    (void)state;
    synthetic *s = syn_create(1, 1, 20);
    int64_t train = syn_span(s, JM_SPAN_PHASE, "train", "", 0, 0, 100, 100);
    int64_t job = syn_span(s, JM_SPAN_WINDOW, "job", "", train, 10, 50, 100);
    int64_t other = syn_span(s, JM_SPAN_WINDOW, "job", "", job, 20, 40, 100); /* another thread's */
    s->spans[2].thread_id = 7;
    syn_span(s, JM_SPAN_WINDOW, "job", "", other, 30, 60, 100); /* on that one: a task */
    s->spans[3].thread_id = 7;
    jm__span_index index = index_of(s);
    assert_string_equal(names_at(&index, 2, 20), "job job train");
    assert_string_equal(names_at(&index, 3, 30), "job job job train");
    assert_string_equal(names_at(&index, 3, 40), "job job train");
    assert_string_equal(names_at(&index, 3, 50), "job train");
    assert_int_equal(jm__span_enclosing(&index, 3, 3), 0); /* by index: train lasts as long */
    jm__span_index_free(&index);
    syn_free(s);
}

/* Each outlasts the one before, without end: there are few sections, and a span that lasts longer than all
 * encloses all. */
static void test_a_thousand_tasks_at_a_time_cost_what_a_thousand_tasks_do(void **state)
{
    (void)state;
    enum { TASKS = 1000 };
    synthetic *s = syn_create(1, 1, TASKS + 1);
    syn_span(s, JM_SPAN_PHASE, "serve", "", 0, 0, 3 * TASKS, 100);
    for (int i = 1; i <= TASKS; i++) {
        char name[20];
        snprintf(name, sizeof name, "request %d", i % 200);
        syn_span(s, JM_SPAN_WINDOW, name, "", i, i, TASKS + i, 100);
    }
    jm__span_index index = index_of(s);
    assert_in_range(index.more.count, 1, 17 * TASKS);
    for (size_t span = 1; span <= TASKS; span += 13)
        for (int64_t t = s->spans[span].start_ns; t < s->spans[span].end_ns; t += 97) {
            size_t section = jm__section_at(&index, span, t);
            for (; section != 0; section = jm__section_parent(&index, section)) {
                assert_true(section != JM__NO_SPAN); /* it is in `serve` all the time */
                const jm__span *open = &s->spans[jm__section_span(&index, section)];
                assert_true(open->start_ns <= t && t < open->end_ns);
            }
        }
    jm__span_index_free(&index);
    syn_free(s);
}

/* A gather of few tasks: each encloses what lies in it to its end. */
static void test_thirty_tasks_at_a_time_are_all_around_what_outlasts_them(void **state)
{
    (void)state;
    enum { TASKS = 30 };
    synthetic *s = syn_create(1, 1, TASKS + 2);
    syn_span(s, JM_SPAN_PHASE, "serve", "", 0, 0, 1000, 100);
    for (int i = 1; i <= TASKS; i++) { /* the one that began last ends first */
        char name[20];
        snprintf(name, sizeof name, "q%d", i);
        syn_span(s, JM_SPAN_WINDOW, name, "", i, i, 200 - i, 100);
    }
    syn_span(s, JM_SPAN_WINDOW, "last", "", TASKS + 1, 100, 900, 100);
    jm__span_index index = index_of(s);
    for (int i = 1; i <= TASKS; i++) {
        size_t section = jm__section_at(&index, TASKS + 1, 200 - i - 1);
        section = jm__section_parent(&index, section);
        assert_int_equal(jm__section_span(&index, section), i);
    }
    assert_string_equal(names_at(&index, TASKS + 1, 500), "last serve");
    jm__span_index_free(&index);
    syn_free(s);
}

/* An import may begin before its clock's zero, so -1 can be a time. */
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

static bool has_row(const jm_report *report, const char *path)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->path, path) == 0) return true;
    return false;
}

static jm_report *report_of(synthetic *s, jm_by by, int64_t end_ms)
{
    syn_measure(s, 0, 0, (end_ms + 500) * MS);
    syn_finish(s);
    return syn_report(s, (jm_report_options){.by = by});
}

/* A kernel of 60 ms each tenth of a second. */
static void work_in(synthetic *s, int64_t class, int64_t span, int64_t from_ms, int64_t to_ms)
{
    for (int64_t at = from_ms; at < to_ms; at += 100)
        syn_kernel(s, class, 0, span, at * MS, (at + 60) * MS);
}

typedef struct expected_row {
    const char *path;
    int64_t calls, from_ms, to_ms; /* it has all energy of that time */
} expected_row;

static void check_these(const synthetic *s, const jm_report *report, const expected_row *rows, int count)
{
    for (int i = 0; i < count; i++) {
        const jm_row *row = row_of(report, rows[i].path);
        double true_j = syn_total_j(s, 0, rows[i].from_ms * MS, rows[i].to_ms * MS);
        if (row->calls != rows[i].calls || !(fabs(row->energy_j - true_j) < 0.03 * true_j))
            fail_msg("%s: %d calls of %g J, not %d of %g J", row->path, (int)row->calls, row->energy_j,
                     (int)rows[i].calls, true_j);
    }
}

static int64_t span_of_thread(synthetic *s, jm_span_kind kind, const char *name, int64_t parent,
                              int64_t from_ms, int64_t to_ms, int64_t thread)
{
    int64_t id = syn_span(s, kind, name, "", parent, from_ms * MS, to_ms * MS, 100);
    s->spans[id - 1].thread_id = thread;
    return id;
}

/* Two threads of one function: a row has all work while one of its windows is open. */
static void test_phases_of_one_name_on_two_threads_are_one_row_and_keep_what_is_in_them(void **state)
{
    (void)state;
    synthetic *s = syn_create(4, 1, 4000);
    int64_t worker = span_of_thread(s, JM_SPAN_PHASE, "worker", 0, 0, 4000, 1);
    int64_t load = span_of_thread(s, JM_SPAN_PHASE, "load", worker, 0, 4000, 1);
    int64_t other = span_of_thread(s, JM_SPAN_PHASE, "worker", load, 500, 5000, 2);
    int64_t infer = span_of_thread(s, JM_SPAN_PHASE, "infer", other, 1000, 5000, 2);
    int64_t class = syn_class(s, "busy", 1, 500);
    work_in(s, class, load, 0, 1000);
    work_in(s, class, infer, 1000, 5000);
    jm_report *report = report_of(s, JM_BY_PHASE, 5000);
    const expected_row rows[] = {{"worker", 2, 0, 5000},
                                 {"worker/load", 1, 0, 4000},
                                 {"worker/load/infer", 1, 1000, 4000},
                                 {"worker/infer", 0, 4000, 5000}};
    check_these(s, report, rows, 4);
    assert_false(has_row(report, "worker/load/worker"));
    assert_false(has_row(report, "worker/worker"));
    jm_report_free(report);
    syn_free(s);
}

/* Tasks of one thread: a name occurs only once in a path. */
static void test_parts_of_tasks_of_one_name_have_the_joules_of_the_time_that_they_are_open(void **state)
{
    (void)state;
    synthetic *s = syn_create(5, 1, 4000);
    int64_t class = syn_class(s, "busy", 1, 500);
    int64_t first = span_of_thread(s, JM_SPAN_PHASE, "request", 0, 0, 3000, 1);
    int64_t prefill = span_of_thread(s, JM_SPAN_PHASE, "prefill", first, 0, 1000, 1);
    int64_t second = span_of_thread(s, JM_SPAN_PHASE, "request", prefill, 100, 5000, 1);
    int64_t its_prefill = span_of_thread(s, JM_SPAN_PHASE, "prefill", second, 100, 2000, 1);
    int64_t decode = span_of_thread(s, JM_SPAN_PHASE, "decode", its_prefill, 1000, 3000, 1);
    int64_t its_decode = span_of_thread(s, JM_SPAN_PHASE, "decode", decode, 2000, 5000, 1);
    work_in(s, class, prefill, 0, 100);
    work_in(s, class, its_prefill, 100, 2000);
    work_in(s, class, its_decode, 2000, 5000);
    jm_report *report = report_of(s, JM_BY_PHASE, 5000);
    const expected_row rows[] = {
        {"request", 2, 0, 5000}, {"request/prefill", 2, 0, 2000}, {"request/decode", 1, 2000, 5000}};
    check_these(s, report, rows, 3);
    assert_int_equal(row_of(report, "request/prefill/decode")->calls, 1);
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        assert_null(strstr(jm_report_row(report, i)->path + 1, "request"));
    jm_report_free(report);
    syn_free(s);
}

/* A recursive call is a row inside its caller's: on one thread, and each ends before its caller. */
static void test_a_window_in_one_of_its_name_on_one_thread_is_a_row_in_its_row(void **state)
{
    (void)state;
    synthetic *s = syn_create(6, 1, 4000);
    int64_t class = syn_class(s, "busy", 1, 500);
    int64_t solve = span_of_thread(s, JM_SPAN_WINDOW, "solve", 0, 0, 3000, 1);
    int64_t half = span_of_thread(s, JM_SPAN_WINDOW, "half", solve, 500, 2500, 1);
    int64_t again = span_of_thread(s, JM_SPAN_WINDOW, "solve", half, 1000, 2000, 1);
    work_in(s, class, solve, 0, 500);
    work_in(s, class, half, 500, 1000);
    work_in(s, class, again, 1000, 2000);
    work_in(s, class, solve, 2500, 3000);
    /* The same as a job of a thread that another one waits for. */
    int64_t pool = span_of_thread(s, JM_SPAN_WINDOW, "solve", solve, 2500, 4000, 2);
    int64_t deeper = span_of_thread(s, JM_SPAN_WINDOW, "solve", pool, 3000, 4000, 2);
    work_in(s, class, deeper, 3000, 4000);
    jm_report *report = report_of(s, JM_BY_PHASE, 4000);
    assert_int_equal(row_of(report, "solve")->calls, 2);
    assert_int_equal(row_of(report, "solve/half")->calls, 1);
    assert_int_equal(row_of(report, "solve/half/solve")->calls, 1);
    assert_int_equal(row_of(report, "solve/solve")->calls, 1);
    assert_true(fabs(row_of(report, "solve/half/solve")->busy_s - 0.6) < 1e-6);
    assert_true(fabs(row_of(report, "solve/half")->busy_s - 0.9) < 1e-6);
    assert_true(fabs(row_of(report, "solve/solve")->busy_s - 0.6) < 1e-6);
    jm_report_free(report);
    syn_free(s);
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

/* Steps of two threads, and one that outlasts another: none is a part of another. */
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

/* By span, each has the work while it was open, also if the next one outlasts it; a sum counts it once. */
static void test_a_span_has_the_joules_of_all_that_ran_in_it_though_that_goes_on_after_it(void **state)
{
    (void)state;
    enum { TASKS = 4 };
    synthetic *s = syn_create(8, 1, 4000);
    int64_t class = syn_class(s, "busy", 1, 500),
            serve = span_of_thread(s, JM_SPAN_PHASE, "serve", 0, 0, 6000, 1);
    int64_t load = span_of_thread(s, JM_SPAN_PHASE, "load", serve, 0, 2000, 1), last = load;
    for (int64_t task = 1; task <= TASKS; task++) { /* all begin in the first fifth of a second */
        char name[20];
        snprintf(name, sizeof name, "r%d", (int)task);
        last = span_of_thread(s, JM_SPAN_WINDOW, name, last, 10 * task, 1000 + 1000 * task, 1);
    }
    int64_t inner = span_of_thread(s, JM_SPAN_WINDOW, "inner", last, 50, 4500, 1);
    work_in(s, class, inner, 100, 4000);
    work_in(s, class, last, 4500, 5000);
    jm_report *report = report_of(s, JM_BY_SPAN, 6000);
    const expected_row rows[] = {{"serve", 1, 0, 6000}, {"load", 1, 0, 2000}, {"r1", 1, 0, 2000},
                                 {"r2", 1, 0, 3000},    {"r3", 1, 0, 4000},   {"r4", 1, 0, 5000},
                                 {"inner", 1, 0, 4500}};
    size_t numbers[8], count = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const jm_row *row = row_of(report, rows[i].path);
        double true_j = syn_energy_j(s, class, 0, rows[i].to_ms * MS);
        assert_int_equal(row->calls, 1);
        assert_true(fabs(row->busy_s - true_j / 500) < 1e-6);
        assert_true(fabs(row->energy_j - true_j) < 0.03 * true_j);
        assert_true(row->energy_low_j <= true_j && true_j <= row->energy_high_j);
    }
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->path, "load") == 0 ||
            strcmp(jm_report_row(report, i)->path, "r2") == 0)
            numbers[count++] = i;
    jm_sum sum;
    jm_error err;
    assert_int_equal(count, 2);
    assert_int_equal(jm_report_sum(report, numbers, 2, &sum, &err), JM_OK);
    assert_true(fabs(sum.energy_j - row_of(report, "r2")->energy_j) < 1e-6 * sum.energy_j);
    jm_report_free(report);
    syn_free(s);
}

static void as_task(synthetic *s, int64_t step, int64_t task)
{
    s->spans[step - 1].payload_kind = JM_PAYLOAD_INTEGER;
    s->spans[step - 1].payload.integer = task;
}

/* The one that began last ends first, as calls do; their tasks distinguish them. */
static void test_steps_of_tasks_are_steps_whichever_ends_first(void **state)
{
    (void)state;
    synthetic *s = syn_create(7, 1, 4000);
    int64_t class = syn_class(s, "busy", 1, 500), step = 0;
    for (int64_t i = 0; i < 10; i++) {
        int64_t at = 100 * i;
        for (int64_t task = 1; task <= 3; task++) {
            step =
                span_of_thread(s, JM_SPAN_STEP, "turn", task == 1 ? 0 : step, at + task, at + 90 - task, 1);
            s->spans[step - 1].samples = 2;
            as_task(s, step, task);
        }
        int64_t inner = span_of_thread(s, JM_SPAN_STEP, "micro", step, at + 4, at + 80, 1);
        as_task(s, inner, 3);
        s->spans[inner - 1].samples = 1;
        span_of_thread(s, JM_SPAN_STEP, "of C", inner, at + 5, at + 70, 1); /* without a task */
        syn_kernel(s, class, 0, inner, (at + 10) * MS, (at + 70) * MS);
    }
    jm_report *report = report_of(s, JM_BY_PHASE, 1000);
    assert_int_equal(jm_report_totals_get(report)->steps, 30);
    assert_int_equal(jm_report_totals_get(report)->samples, 60);
    assert_int_equal(row_of(report, "step")->calls, 30);
    assert_int_equal(row_of(report, "step/step")->calls, 10);
    assert_int_equal(row_of(report, "step/step/step")->calls, 10);
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

/* On its thread, else in the process: as the collector does. */
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
    jm__intervals windows = {0};
    for (size_t i = 0; i < s->dataset.span_count; i++) {
        const jm__span *span = &s->spans[i];
        if (strcmp(jm_span_kind_text(span->kind), kind) != 0 || strcmp(s->names[span->name_id], name) != 0)
            continue;
        assert_true(jm__intervals_add(&windows, span->start_ns, span->end_ns));
    }
    jm__intervals_normalise(&windows);
    double seconds = (double)jm__intervals_duration_ns(&windows) * 1e-9;
    jm__vec_free(&windows);
    return seconds;
}

static void check_rows(const synthetic *s, jm_by by)
{
    jm_report *report = syn_report(s, (jm_report_options){.by = by});
    double sum_s = 0, self_j = 0, total_j = jm_report_totals_get(report)->total_energy_j,
           run_s = (double)(s->dataset.end_ns - s->dataset.start_ns) * 1e-9;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        char name[200];
        snprintf(name, sizeof name, "%s", row->name);
        char *no_layer = strstr(name, " (no layer)");
        if (no_layer != NULL) *no_layer = '\0';
        if (row->depth == 0) sum_s += row->busy_s;
        self_j += row->energy_self_j;
        bool is_window = strcmp(row->kind, "phase") == 0 || strcmp(row->kind, "window") == 0 ||
                         strcmp(row->kind, "step") == 0;
        if (!is_window) continue;
        double own_s = windows_s(s, name, row->kind);
        if (row->busy_s > own_s + 1e-6)
            fail_msg("%s has %g s, its windows %g s", row->path, row->busy_s, own_s);
        if (row->energy_j > 500 * own_s) fail_msg("%s has %g J", row->path, row->energy_j);
    }
    assert_true(by == JM_BY_SPAN || fabs(sum_s - run_s) < 1e-6); /* overlaps cancel */
    assert_true(fabs(self_j - total_j) < 1e-6 * total_j);
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
        cmocka_unit_test(test_what_is_open_at_a_time_is_around_one),
        cmocka_unit_test(test_a_thousand_tasks_at_a_time_cost_what_a_thousand_tasks_do),
        cmocka_unit_test(test_a_span_lasts_to_its_end_else_to_that_of_its_process_or_the_recording),
        cmocka_unit_test(test_thirty_tasks_at_a_time_are_all_around_what_outlasts_them),
        cmocka_unit_test(test_phases_of_one_name_on_two_threads_are_one_row_and_keep_what_is_in_them),
        cmocka_unit_test(test_parts_of_tasks_of_one_name_have_the_joules_of_the_time_that_they_are_open),
        cmocka_unit_test(test_a_window_in_one_of_its_name_on_one_thread_is_a_row_in_its_row),
        cmocka_unit_test(test_a_phase_that_outlasts_another_is_cut_at_its_end),
        cmocka_unit_test(test_steps_of_other_threads_are_steps),
        cmocka_unit_test(test_a_span_has_the_joules_of_all_that_ran_in_it_though_that_goes_on_after_it),
        cmocka_unit_test(test_steps_of_tasks_are_steps_whichever_ends_first),
        cmocka_unit_test(test_no_row_has_more_time_than_its_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
