/* Idle time by cause, copies and the waiting of collectives: with known truth. */
#include "synthetic_report.h"

enum { STEPS = 60 };

static const int64_t US = 1000, MS = 1000000;

/* The parts of a step: kernels of 20 ms, copies to the host of 200 us, gaps, and waits for data in gaps. */
typedef struct moment {
    enum { KERNEL, TO_HOST, GAP } what;
    int64_t gap_us;
    int64_t data_us; /* at the end of the gap */
    int cause;       /* of the gap: which row */
} moment;

enum { LAUNCH, LATE, DATA, COPY, WAIT, EDGE, CAUSES };

static const char *const names[CAUSES] = {"between kernels, < 50 us", "launch or host late, < 1 ms",
                                          "waiting for data",         "after a copy to the host",
                                          "waiting, 1 ms and more",   "before and after"};

static const moment step[] = {
    {GAP, 12000, 8000, DATA}, {KERNEL, 0, 0, 0},  {GAP, 20, 0, LAUNCH},  {KERNEL, 0, 0, 0},
    {GAP, 30, 20, DATA},      {KERNEL, 0, 0, 0},  {GAP, 400, 0, LATE},   {KERNEL, 0, 0, 0},
    {GAP, 5000, 2000, WAIT},  {KERNEL, 0, 0, 0},  {TO_HOST, 0, 0, 0},    {GAP, 3000, 0, COPY},
    {KERNEL, 0, 0, 0},        {TO_HOST, 0, 0, 0}, {GAP, 600, 0, COPY},   {TO_HOST, 0, 0, 0},
    {GAP, 20, 0, LAUNCH},     {KERNEL, 0, 0, 0},  {GAP, 800, 400, DATA}, {TO_HOST, 0, 0, 0},
    {GAP, 2000, 1000, DATA},  {KERNEL, 0, 0, 0},
};

typedef struct truth {
    double seconds[CAUSES];
    int64_t gaps[CAUSES];
    int64_t first_ns, last_ns; /* of the work */
    double copies_s;
} truth;

static int64_t add_copy_class(synthetic *s, const char *name, double power_w)
{
    int64_t class_id = syn_class(s, name, 0, power_w);
    s->classes[class_id - 1].work = JM_WORK_MEMCPY;
    memset(s->classes[class_id - 1].grid, 0, sizeof s->classes[class_id - 1].grid);
    memset(s->classes[class_id - 1].block, 0, sizeof s->classes[class_id - 1].block);
    return class_id;
}

/* One run, from 0 to 500 ms after its last kernel, in a phase. Another process, without a stream on the
 * board, waits for data all of the time. */
static synthetic *make_run(truth *t)
{
    synthetic *s = syn_create(11, 1, 60000);
    int64_t kernel = syn_class(s, "gemm", 1, 500), to_host = add_copy_class(s, "[memcpy DtoH]", 150);
    int64_t now = 700 * MS;
    *t = (truth){.first_ns = now + step[0].gap_us * US};
    int64_t phase = syn_span(s, JM_SPAN_PHASE, "train", "", 0, 0, 3600000 * MS, 100);
    syn_span(s, JM_SPAN_DATA, "data", "", 0, 0, 3600000 * MS, 777);
    for (int i = 0; i < STEPS; i++)
        for (size_t m = 0; m < sizeof step / sizeof *step; m++) {
            int64_t length = step[m].what == GAP      ? step[m].gap_us * US
                             : step[m].what == KERNEL ? 20 * MS
                                                      : 200 * US;
            bool edge = i == 0 && m == 0;
            if (step[m].what != GAP)
                syn_kernel(s, step[m].what == KERNEL ? kernel : to_host, 0, phase, now, now + length);
            if (step[m].what == TO_HOST) t->copies_s += 1e-9 * (double)length;
            if (step[m].data_us > 0 && !edge)
                syn_span(s, JM_SPAN_DATA, "data", "", phase, now + length - step[m].data_us * US,
                         now + length, 100);
            if (step[m].what == GAP && !edge) {
                t->seconds[step[m].cause] += 1e-9 * (double)length;
                t->gaps[step[m].cause]++;
            }
            now += length;
        }
    t->last_ns = now;
    t->seconds[EDGE] = 1e-9 * (double)(t->first_ns + 500 * MS);
    t->gaps[EDGE] = 2;
    syn_measure(s, 0, 0, now + 500 * MS);
    syn_finish(s);
    return s;
}

static const jm_row *row_named(const jm_report *report, const char *name)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->name, name) == 0) return jm_report_row(report, i);
    return NULL;
}

static void assert_within(const jm_row *row, double truth_j)
{
    if (!(row->energy_low_j <= truth_j && truth_j <= row->energy_high_j))
        fail_msg("%s: %g to %g J, not %g", row->name, row->energy_low_j, row->energy_high_j, truth_j);
}

static double sum_of_own_j(const jm_report *report)
{
    double sum_j = 0;
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        sum_j += jm_report_row(report, i)->energy_self_j;
    return sum_j;
}

static void assert_adds_up(const jm_report *report)
{
    double total_j = jm_report_totals_get(report)->total_energy_j;
    assert_true(fabs(sum_of_own_j(report) - total_j) <= 1e-9 * total_j);
}

/* Seconds and gaps are exact; a resting board draws 90 W for all causes, and each row has its interval. */
static void assert_causes(const jm_report *report, const truth *t)
{
    double seconds = 0, energy_j = 0;
    const jm_row *idle = row_named(report, "(idle)");
    for (int c = 0; c < CAUSES; c++) {
        const jm_row *row = row_named(report, names[c]);
        assert_int_equal(row == NULL, t->gaps[c] == 0);
        if (row == NULL) continue;
        if (fabs(row->busy_s - t->seconds[c]) > 1e-7)
            fail_msg("%s: %.9g, not %.9g s", names[c], row->busy_s, t->seconds[c]);
        assert_int_equal(row->calls, t->gaps[c]);
        assert_string_equal(row->kind, "gap");
        assert_within(row, 90 * t->seconds[c]);
        seconds += row->busy_s;
        energy_j += row->energy_j;
    }
    assert_true(fabs(idle->busy_s - seconds) < 1e-9);
    assert_true(fabs(idle->energy_j - energy_j) < 1e-9 * energy_j);
    assert_adds_up(report);
}

static void test_each_gap_has_its_cause(void **state)
{
    (void)state;
    static const jm_by views[] = {JM_BY_LAYER, JM_BY_KERNEL, JM_BY_TYPE, JM_BY_SPAN};
    truth t;
    synthetic *s = make_run(&t);
    for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
        jm_report *report = syn_report(s, (jm_report_options){.by = views[v]});
        assert_causes(report, &t);
        jm_report_free(report);
    }
    syn_free(s);
}

/* A window that begins and ends within gaps, which lie before and after its kernels. Of the wait for data
 * that the window cuts, the part inside counts. */
static void test_a_window_has_edges_of_its_own(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_run(&t);
    int64_t step_ns = (t.last_ns - (t.first_ns - 12 * MS)) / STEPS;
    int64_t from_ns = t.first_ns - 12 * MS + 10 * step_ns + 20 * MS + 12 * MS + 15 * US; /* in 20 us */
    int64_t to_ns = t.first_ns - 12 * MS + 20 * step_ns + 6 * MS; /* 2 of 6 ms are waits for data */
    jm_report *report =
        syn_report(s, (jm_report_options){.by = JM_BY_LAYER, .from_ns = from_ns, .to_ns = to_ns});
    truth here = {0};
    for (int i = 0; i < 10; i++)
        for (size_t m = 0; m < sizeof step / sizeof *step; m++) {
            if (step[m].what != GAP || (i == 0 && m <= 2)) continue; /* nine steps and the rest of one */
            here.seconds[step[m].cause] += 1e-6 * (double)step[m].gap_us;
            here.gaps[step[m].cause]++;
        }
    here.seconds[EDGE] = 5e-6 + 6e-3;
    here.gaps[EDGE] = 2;
    assert_causes(report, &here);
    jm_report_free(report);
    syn_free(s);
}

/* Half of the gap inside the window is a wait for data: so it counts as one, also at the edge. */
static void test_a_wait_for_data_at_the_edge_is_one(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_run(&t);
    int64_t step_ns = (t.last_ns - (t.first_ns - 12 * MS)) / STEPS;
    int64_t from_ns = t.first_ns + 10 * step_ns - 16 * MS + 12 * MS; /* the last 4 ms of 12 */
    jm_report *report =
        syn_report(s, (jm_report_options){.by = JM_BY_LAYER, .from_ns = from_ns, .to_ns = from_ns + 20 * MS});
    const jm_row *row = row_named(report, "waiting for data");
    assert_non_null(row);
    assert_int_equal(row->calls, 1);
    assert_true(fabs(row->busy_s - 4e-3) < 1e-9);
    assert_null(row_named(report, "before and after"));
    jm_report_free(report);
    syn_free(s);
}

/* The layer after a gap; gaps before and after all work have none. */
static void test_edges_come_before_no_layer(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_run(&t);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER});
    assert_non_null(row_named(report, "waiting for data")->mostly_at);
    assert_null(row_named(report, "before and after")->mostly_at);
    jm_report_free(report);
    syn_free(s);
}

/* A wait for data is the cause of a gap, not a call of its phase; it has a row only in the span view. */
static void test_a_wait_for_data_is_no_call(void **state)
{
    (void)state;
    static const jm_by views[] = {JM_BY_LAYER, JM_BY_TYPE, JM_BY_PHASE};
    truth t;
    synthetic *s = make_run(&t);
    for (size_t v = 0; v < sizeof views / sizeof *views; v++) {
        jm_report *report = syn_report(s, (jm_report_options){.by = views[v]});
        const jm_row *train = row_named(report, v < 2 ? "train (no layer)" : "train");
        assert_non_null(train);
        assert_int_equal(train->calls, 1);
        for (size_t i = 0; i < jm_report_row_count(report); i++)
            assert_true(strcmp(jm_report_row(report, i)->kind, "data") != 0);
        jm_report_free(report);
    }
    syn_free(s);
}

/* Copies belong to the rows that launched them, and the totals have their sum. */
static void test_copies_alone_are_marked_of_the_total(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_run(&t);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_KERNEL});
    const jm_report_totals *totals = jm_report_totals_get(report);
    const jm_row *copies = row_named(report, "[memcpy DtoH]");
    assert_true(fabs(totals->copy_s - t.copies_s) < 1e-7);
    assert_true(fabs(totals->copy_energy_j - copies->energy_j) < 1e-9 * copies->energy_j);
    assert_within(copies, 150 * t.copies_s);
    assert_true(isnan(totals->collective_wait_s) && totals->collective_wait_gpu < 0);
    jm_report_free(report);
    syn_free(s);
}

/* Without kernels, copies are unknown, and idle time has no causes. */
static void test_without_kernels_nothing_is_said(void **state)
{
    (void)state;
    truth t;
    synthetic *s = make_run(&t);
    s->kernels.count = 0;
    s->dataset.span_count = 0;
    syn_span(s, JM_SPAN_FORWARD, "net", "Net", 0, t.first_ns, t.last_ns, 100);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER});
    assert_true(isnan(jm_report_totals_get(report)->copy_s));
    for (int c = 0; c < CAUSES; c++)
        assert_null(row_named(report, names[c]));
    assert_non_null(row_named(report, "(idle)"));
    jm_report_free(report);
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_gap_has_its_cause),
        cmocka_unit_test(test_a_window_has_edges_of_its_own),
        cmocka_unit_test(test_a_wait_for_data_at_the_edge_is_one),
        cmocka_unit_test(test_edges_come_before_no_layer),
        cmocka_unit_test(test_a_wait_for_data_is_no_call),
        cmocka_unit_test(test_copies_alone_are_marked_of_the_total),
        cmocka_unit_test(test_without_kernels_nothing_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
