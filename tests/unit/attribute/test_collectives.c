/* DDP's all-reduce is launched by a hook in some layer's backward pass, and waits for other processes: its
 * joules belong to no layer. */
#include "synthetic_report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ALL_REDUCE "ncclDevKernel_AllReduce_Sum_f32"
#define GATHER     "_Z31ncclDevKernel_AllGather_RING_LLv"

enum { STEPS = 40 };

static const int64_t MS = 1000000;

/* Training steps of 100 ms: the forward and backward of a layer, 30 ms each at 600 W, then an all-reduce of
 * 30 ms at 220 W in two launch shapes, launched inside the backward span as DDP does it. At the end a gather
 * outside all spans. */
static synthetic *ddp(void)
{
    synthetic *s = syn_create(5, 1, 20000);
    int64_t work = syn_class(s, "gemm", 1, 600), all_reduce = syn_class(s, ALL_REDUCE, 24, 220),
            other_shape = syn_class(s, ALL_REDUCE, 16, 220), gather = syn_class(s, GATHER, 24, 240);
    int64_t start = 1000 * MS, end = start + STEPS * 100 * MS, pid = 100;
    int64_t phase = syn_span(s, JM_SPAN_PHASE, "train", "", 0, start, end, pid);
    for (int i = 0; i < STEPS; i++) {
        int64_t now = start + i * 100 * MS;
        int64_t step = syn_span(s, JM_SPAN_STEP, "step", "", phase, now, now + 100 * MS, pid);
        int64_t forward = syn_span(s, JM_SPAN_FORWARD, "net", "Net", step, now, now + 30 * MS, pid);
        int64_t backward =
            syn_span(s, JM_SPAN_BACKWARD, "net", "Net", step, now + 30 * MS, now + 95 * MS, pid);
        syn_kernel(s, work, 0, forward, now, now + 30 * MS);
        syn_kernel(s, work, 0, backward, now + 30 * MS, now + 60 * MS);
        syn_kernel(s, i % 2 ? all_reduce : other_shape, 0, backward, now + 60 * MS, now + 90 * MS);
    }
    syn_kernel(s, gather, 0, 0, end + 100 * MS, end + 600 * MS);
    syn_measure(s, 0, 500 * MS, end + 1000 * MS);
    syn_finish(s);
    return s;
}

static jm_report *report_of(const synthetic *s, jm_by by)
{
    return syn_report(s, (jm_report_options){.by = by});
}

static size_t count_of(const jm_report *report, const char *kind, const jm_row **first)
{
    size_t count = 0;
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (strcmp(row->kind, kind) != 0) continue;
        if (count++ == 0) *first = row;
    }
    return count;
}

static const jm_row *row_at(const jm_report *report, const char *path, const char *kind)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++) {
        const jm_row *row = jm_report_row(report, i);
        if (strcmp(row->path, path) == 0 && strcmp(row->kind, kind) == 0) return row;
    }
    fail_msg("no row %s of kind %s", path, kind);
    return NULL;
}

static void assert_adds_up(const jm_report *report)
{
    const jm_report_totals *totals = jm_report_totals_get(report);
    double sum_j = 0;
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        sum_j += jm_report_row(report, i)->energy_self_j;
    assert_true(fabs(sum_j - totals->total_energy_j) <= 1e-9 * totals->total_energy_j);
}

static void assert_near(double value, double truth, double relative)
{
    if (!(fabs(value - truth) <= relative * truth)) fail_msg("%.6g, not %.6g", value, truth);
}

/* 40 steps of 30 ms at 220 W: 264 J; the layer twice 30 ms at 600 W: 1440 J. */
static void check_beside_layers(jm_by by, const char *layer, const char *kind)
{
    synthetic *s = ddp();
    jm_report *report = report_of(s, by);
    const jm_row *all_reduce = row_at(report, ALL_REDUCE, "collective"), *net = row_at(report, layer, kind);
    assert_int_equal(all_reduce->depth, 0);
    assert_int_equal(all_reduce->calls, STEPS);
    assert_near(all_reduce->energy_j, 264, 0.03);
    assert_near(all_reduce->busy_s, 1.2, 1e-6);
    assert_near(net->energy_j, by == JM_BY_TYPE ? 720 : 1440, 0.02);
    assert_adds_up(report);
    jm_report_free(report);
    syn_free(s);
}

static void test_a_collective_launched_by_a_backward_pass_is_in_no_layer(void **state)
{
    (void)state;
    check_beside_layers(JM_BY_LAYER, "net", "layer");
}

static void test_nor_in_a_type_of_layer(void **state)
{
    (void)state;
    check_beside_layers(JM_BY_TYPE, "Net", "backward");
}

static void test_a_phase_holds_its_collectives_beside_its_backward_passes(void **state)
{
    (void)state;
    synthetic *s = ddp();
    jm_report *report = report_of(s, JM_BY_PHASE);
    const jm_row *first = NULL;
    assert_near(row_at(report, "train/step/collective", "collective")->energy_j, 264, 0.03);
    assert_near(row_at(report, "train/step/backward", "backward")->energy_j, 720, 0.02);
    assert_near(row_at(report, "train/step", "step")->energy_j, 1440 + 264, 0.02);
    assert_int_equal(count_of(report, "collective", &first), 2); /* and the one in no phase */
    assert_near(row_at(report, "collective", "collective")->energy_j, 120, 0.05);
    assert_adds_up(report);
    jm_report_free(report);
    syn_free(s);
}

/* Each step has a row for its all-reduce, beside its forward and backward pass. */
static void test_a_single_backward_pass_does_not_hold_its_collective(void **state)
{
    (void)state;
    synthetic *s = ddp();
    jm_report *report = report_of(s, JM_BY_SPAN);
    const jm_row *backward = NULL, *collective = NULL, *step = NULL;
    assert_int_equal(count_of(report, "backward", &backward), STEPS);
    assert_int_equal(count_of(report, "collective", &collective), STEPS + 1);
    assert_int_equal(count_of(report, "step", &step), STEPS);
    assert_int_equal(collective->depth, backward->depth);
    assert_near(backward->energy_j, 18, 0.03);
    assert_near(collective->energy_j, 6.6, 0.05);
    assert_near(step->energy_j, 18 + 18 + 6.6, 0.03);
    assert_adds_up(report);
    jm_report_free(report);
    syn_free(s);
}

/* The name is demangled; the path is not. */
static void test_a_collective_in_no_span_has_its_row_too(void **state)
{
    (void)state;
    synthetic *s = ddp();
    jm_report *report = report_of(s, JM_BY_LAYER);
    const jm_row *gather = row_at(report, GATHER, "collective"), *outside = NULL;
    assert_string_equal(gather->name, "ncclDevKernel_AllGather_RING_LL()");
    assert_near(gather->energy_j, 120, 0.05);
    assert_int_equal(count_of(report, "outside", &outside), 0);
    assert_near(jm_report_totals_get(report)->outside_energy_j + 1, 1, 1e-9);
    assert_near(jm_report_quality_get(report)->no_layer_share + 1, 1, 1e-9); /* it is not missing from one */
    jm_report_free(report);
    syn_free(s);
}

static void test_kernels_and_boards_are_shown_as_before(void **state)
{
    (void)state;
    synthetic *s = ddp();
    jm_report *kernels = report_of(s, JM_BY_KERNEL), *boards = report_of(s, JM_BY_BOARD);
    const jm_row *first = NULL;
    assert_int_equal(count_of(kernels, "collective", &first) + count_of(boards, "collective", &first), 0);
    assert_near(row_at(kernels, ALL_REDUCE, "kernel")->energy_j, 264, 0.03);
    assert_adds_up(kernels);
    assert_adds_up(boards);
    jm_report_free(kernels);
    jm_report_free(boards);
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_collective_launched_by_a_backward_pass_is_in_no_layer),
        cmocka_unit_test(test_nor_in_a_type_of_layer),
        cmocka_unit_test(test_a_phase_holds_its_collectives_beside_its_backward_passes),
        cmocka_unit_test(test_a_single_backward_pass_does_not_hold_its_collective),
        cmocka_unit_test(test_a_collective_in_no_span_has_its_row_too),
        cmocka_unit_test(test_kernels_and_boards_are_shown_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
