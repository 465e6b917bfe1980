/* Collectives of untraced steps: joules, bytes and time are those of all steps. */
#include "format/rows/marks.h"
#include "synthetic_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { STEPS = 200, EVERY = 20, FIRST = 8, TRACED = 6, BYTES = 1000 };

static const int64_t MS = 1000000;
static jm__mark marks[2 * STEPS + 1];

static void mark(synthetic *s, int64_t t_ns, const char *name)
{
    marks[s->dataset.mark_count++] =
        (jm__mark){.process_id = 100, .thread_id = 100, .t_ns = t_ns, .name_id = syn_name(s, name)};
}

static bool is_traced(int step)
{
    return step % EVERY >= FIRST && step % EVERY < FIRST + TRACED;
}

/* Steps of 100 ms: 60 ms of products at 600 W, then a collective of two kernels, 10 ms each at 220 W, the
 * first with another product beside it. Six of twenty are traced. */
static synthetic *program(void)
{
    synthetic *s = syn_create(5, 1, 20000);
    int64_t work = syn_class(s, "gemm", 132, 600),
            reduce = syn_class(s, "ncclDevKernel_AllReduce_Sum_f32", 24, 220);
    int64_t now = 1000 * MS;
    bool kept[5 * STEPS];
    size_t count = 0;
    mark(s, now, JM_MARK_STEPS);
    for (int i = 0; i < STEPS; i++, now += 100 * MS) {
        bool traced = is_traced(i);
        int64_t step = syn_span(s, JM_SPAN_STEP, "step", "", 0, now, now + 100 * MS, 100), call = 0;
        if (traced && !is_traced(i - 1)) mark(s, now, JM_MARK_TRACED);
        if (traced) {
            call = syn_span(s, JM_SPAN_COLLECTIVE, "all-reduce", "world", step, now, now + MS, 100);
            s->spans[call - 1].payload_kind = JM_PAYLOAD_INTEGER;
            s->spans[call - 1].payload.integer = BYTES;
        }
        syn_kernel(s, work, 0, step, now, now + 60 * MS);
        syn_kernel(s, reduce, 0, call, now + 60 * MS, now + 70 * MS);
        syn_kernel(s, work, 0, step, now + 60 * MS, now + 70 * MS);
        syn_kernel(s, reduce, 0, call, now + 70 * MS, now + 80 * MS);
        for (int k = 0; k < 4; k++)
            kept[count++] = traced;
        if (traced && !is_traced(i + 1)) mark(s, now + 100 * MS, JM_MARK_STEPS);
    }
    syn_measure(s, 0, 500 * MS, now + 500 * MS);
    syn_finish(s);
    s->dataset.marks = marks;
    size_t left = 0;
    for (size_t i = 0; i < s->kernels.count; i++)
        if (kept[i]) s->kernels.items[left++] = s->kernels.items[i];
    s->kernels.count = left;
    return s;
}

static void assert_near(double value, double truth, double relative)
{
    if (!(fabs(value - truth) <= relative * truth)) fail_msg("%.6g, not %.6g", value, truth);
}

static void test_collectives_of_all_steps_are_marked_by_those_of_traced_ones(void **state)
{
    (void)state;
    synthetic *s = program();
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER});
    const jm_row *all = NULL;
    double sum_j = 0;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (strcmp(row->kind, "collective") == 0 && row->depth == 0) all = row;
        sum_j += row->energy_self_j;
    }
    assert_non_null(all);
    assert_int_equal(all->calls, 2 * STEPS); /* kernels */
    assert_int_equal(all->bytes, STEPS * BYTES);
    assert_near(all->bytes_per_s, BYTES / 20e-3, 1e-6);
    /* Of the moment that it shares it has 24 of 156 multiprocessors' time (24 blocks beside 132). */
    assert_near(all->busy_s, STEPS * (10e-3 + 10e-3 * 24 / 156), 1e-6);
    assert_near(all->exposed_s, STEPS * 10e-3, 1e-6);
    const jm_report_totals *totals = jm_report_totals_get(report);
    assert_near(totals->collective_s, STEPS * 20e-3, 1e-6); /* wall time */
    assert_near(totals->collective_exposed_s, STEPS * 10e-3, 1e-6);
    assert_near(sum_j, totals->total_energy_j, 1e-9);
    jm_report_free(report);
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_collectives_of_all_steps_are_marked_by_those_of_traced_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
