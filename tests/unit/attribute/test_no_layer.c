/* Kernels in no layer: their share of the energy, and the reason, in the first lines of a report. */
#include "format/rows/marks.h"
#include "synthetic_report.h"

#include <joulemap/report.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const int64_t second = 1000000000;

/* How the kernels outside of layers were launched. */
typedef enum launched { ONE_BY_ONE, BY_GRAPHS, UNSEEN } launched;

/* 20 s of kernels of 5 ms, every `nth` of them in a step but in no layer; the others in spans of this kind.
 */
static synthetic *program(jm_span_kind kind, int nth, launched how)
{
    synthetic *s = syn_create(11, 1, 10000);
    int64_t start = second, end = 21 * second;
    int64_t inside = syn_class(s, "inside", 1, 400), beside = syn_class(s, "beside", 2, 400);
    int64_t step = syn_span(s, JM_SPAN_STEP, "step", "", 0, start, end, 100);
    int64_t layer = syn_span(s, kind, "layer", "", step, start, end, 100);
    int64_t graph_ns = start;
    for (int64_t t = start, i = 0; t + 8000000 < end; t += 8000000, i++) {
        bool out = nth > 0 && i % nth == 0;
        syn_kernel(s, out ? beside : inside, 0, out ? step : layer, t, t + 5000000);
        jm__kernel_run *kernel = &s->kernels.items[s->kernels.count - 1];
        if (out && how == UNSEEN) kernel->launch_ns = -1;
        if (!out || how != BY_GRAPHS) continue;
        kernel->launch_ns = graph_ns = t; /* a graph of ten kernels */
        for (int64_t k = 0; k < 10; k++) {
            syn_kernel(s, beside, 0, step, t + 5000000 + k * 300000, t + 5000000 + (k + 1) * 300000);
            s->kernels.items[s->kernels.count - 1].launch_ns = graph_ns;
        }
    }
    syn_measure(s, 0, start, end);
    syn_finish(s);
    return s;
}

static jm_report *report_of(const synthetic *s, jm_by by, int64_t process_id)
{
    return syn_report(s, (jm_report_options){.by = by, .process_id = process_id});
}

/* The verdict's sentence about it, as reason or after it; NULL: none. */
static const char *sentence_of(const jm_report *report)
{
    const jm_report_quality *quality = jm_report_quality_get(report);
    if (strstr(quality->verdict_reason, "in no layer") != NULL) return quality->verdict_reason;
    for (size_t i = 0; quality->verdict_more[i] != NULL; i++)
        if (strstr(quality->verdict_more[i], "in no layer") != NULL) return quality->verdict_more[i];
    return NULL;
}

static void expect(synthetic *s, double share, const char *reason)
{
    jm_report *report = report_of(s, JM_BY_LAYER, 0);
    const jm_report_quality *quality = jm_report_quality_get(report);
    if (isnan(share))
        assert_true(isnan(quality->no_layer_share));
    else if (!(fabs(quality->no_layer_share - share) < 0.01))
        fail_msg("%g of the energy in no layer, %g is true", quality->no_layer_share, share);
    const char *text = sentence_of(report);
    if (reason == NULL && text != NULL) fail_msg("says: %s", text);
    if (reason != NULL && (text == NULL || strstr(text, reason) == NULL))
        fail_msg("\"%s\" does not say \"%s\"", text == NULL ? "" : text, reason);
    if (reason != NULL) assert_string_not_equal(quality->verdict, "good");
    jm_report_free(report);
    syn_free(s);
}

static void test_a_tenth_in_no_layer_is_said_with_its_reason(void **state)
{
    (void)state;
    expect(program(JM_SPAN_FORWARD, 10, ONE_BY_ONE), 0.1,
           "10 % of the kernels' energy is in no layer: most of it was");
    expect(program(JM_SPAN_FORWARD, 10, UNSEEN), 0.1, "the launches of most of it were not seen");
    /* of 10 kernels 9 in the layer: 45 ms; beside it 8 ms a graph */
    expect(program(JM_SPAN_FORWARD, 10, BY_GRAPHS), 8.0 / 53,
           "15 % of the kernels' energy is in no layer: CUDA graphs");
}

static void test_what_torch_compile_has_compiled_is_the_reason_where_it_was_marked(void **state)
{
    (void)state;
    synthetic *s = program(JM_SPAN_FORWARD, 10, ONE_BY_ONE);
    jm__mark mark = {.process_id = 100, .t_ns = 2 * second, .name_id = syn_name(s, "torch.compile: GPT")};
    s->dataset.marks = &mark;
    s->dataset.mark_count = 1;
    jm_report *report = report_of(s, JM_BY_LAYER, 0);
    bool noted = false;
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        noted = noted || strcmp(jm_report_note(report, i),
                                "GPT is compiled by torch.compile, which calls no hooks: the modules "
                                "inside have no rows.") == 0;
    assert_true(noted);
    jm_report_free(report);
    expect(s, 0.1, "torch.compile has compiled");
}

static void test_graphs_captured_before_the_recording_are_the_reason_where_they_are_known(void **state)
{
    (void)state;
    synthetic *s = program(JM_SPAN_FORWARD, 10, BY_GRAPHS);
    jm__mark mark = {.process_id = 100, .t_ns = 2 * second, .name_id = syn_name(s, JM_MARK_GRAPHS_BEFORE)};
    s->dataset.marks = &mark;
    s->dataset.mark_count = 1;
    expect(s, 8.0 / 53, "captured before the recording began");
}

static void test_a_little_in_no_layer_is_no_word_worth(void **state)
{
    (void)state;
    expect(program(JM_SPAN_FORWARD, 25, ONE_BY_ONE), 0.04, NULL);
    expect(program(JM_SPAN_BACKWARD, 0, ONE_BY_ONE), 0, NULL);
}

static void test_nvtx_ranges_are_layers(void **state)
{
    (void)state;
    expect(program(JM_SPAN_NVTX, 10, ONE_BY_ONE), 0.1, "outside of every watched module and range");
    expect(program(JM_SPAN_NVTX, 0, ONE_BY_ONE), 0, NULL);
    expect(program(JM_SPAN_CARRIED, 10, ONE_BY_ONE), 0.1, "outside of every watched module and range");
}

static void test_a_program_without_layers_has_nothing_outside_of_them(void **state)
{
    (void)state;
    expect(program(JM_SPAN_PHASE, 10, ONE_BY_ONE), NAN, NULL);
}

static void test_steps_of_optimizers_are_rows_of_their_own(void **state)
{
    (void)state;
    synthetic *s = program(JM_SPAN_FORWARD, 10, ONE_BY_ONE);
    int64_t adam = syn_span(s, JM_SPAN_OPTIMIZER, "AdamW", "AdamW", 1, second, 21 * second, 100);
    for (size_t i = 0; i < s->kernels.count; i++)
        if (s->kernels.items[i].span_id == 1) s->kernels.items[i].span_id = adam;
    expect(s, 0, NULL);
}

static void test_tables_of_kernels_and_boards_say_nothing_of_layers(void **state)
{
    (void)state;
    synthetic *s = program(JM_SPAN_FORWARD, 10, ONE_BY_ONE);
    static const jm_by silent[] = {JM_BY_KERNEL, JM_BY_BOARD};
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++) {
        jm_report *report = report_of(s, silent[i], 0);
        assert_null(sentence_of(report));
        assert_true(jm_report_quality_get(report)->no_layer_share > 0.09);
        jm_report_free(report);
    }
    syn_free(s);
}

static void test_other_processes_do_not_count_against_the_one_queried_for(void **state)
{
    (void)state;
    synthetic *s = program(JM_SPAN_FORWARD, 10, ONE_BY_ONE);
    s->streams[1] = (jm__stream){.id = 2, .process_id = 101, .board_id = 1};
    s->processes[1] = (jm__process){.id = 101, .pid = 101, .rank = -1, .command = "another"};
    s->dataset.stream_count = s->dataset.process_count = 2;
    syn_span(s, JM_SPAN_FORWARD, "theirs", "", 0, second, 21 * second, 101);
    for (size_t i = 0; i < s->kernels.count; i++) {
        if (s->kernels.items[i].span_id != 1) continue;
        s->kernels.items[i].stream_id = 2;
        s->kernels.items[i].span_id = 0;
    }
    jm_report *mine = report_of(s, JM_BY_LAYER, 100), *theirs = report_of(s, JM_BY_LAYER, 101),
              *all = report_of(s, JM_BY_LAYER, 0);
    assert_true(jm_report_quality_get(mine)->no_layer_share == 0);
    assert_true(jm_report_quality_get(theirs)->no_layer_share == 1);
    assert_true(fabs(jm_report_quality_get(all)->no_layer_share - 0.1) < 0.01);
    jm_report_free(mine);
    jm_report_free(theirs);
    jm_report_free(all);
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tenth_in_no_layer_is_said_with_its_reason),
        cmocka_unit_test(test_what_torch_compile_has_compiled_is_the_reason_where_it_was_marked),
        cmocka_unit_test(test_graphs_captured_before_the_recording_are_the_reason_where_they_are_known),
        cmocka_unit_test(test_a_little_in_no_layer_is_no_word_worth),
        cmocka_unit_test(test_nvtx_ranges_are_layers),
        cmocka_unit_test(test_a_program_without_layers_has_nothing_outside_of_them),
        cmocka_unit_test(test_steps_of_optimizers_are_rows_of_their_own),
        cmocka_unit_test(test_tables_of_kernels_and_boards_say_nothing_of_layers),
        cmocka_unit_test(test_other_processes_do_not_count_against_the_one_queried_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
