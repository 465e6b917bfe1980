/* The dominant layer of kernels and gaps, and the split of a layer's energy into passes: with known truth. */
#include "synthetic_report.h"

enum { MS = 1000000 };

/* Steps of a forward and a backward pass through `layers` blocks, each with an attention and an mlp; the mlp
 * takes three times as long, backward passes twice as long as forward. 40 ms of waiting before each step. */
static synthetic *make_training(size_t layers)
{
    synthetic *s = syn_create(5, 1, 60000);
    int64_t gemm = syn_class(s, "gemm", 1, 600), softmax = syn_class(s, "softmax", 1, 300), now = 0;
    char path[32];
    for (int step = 0; step < 40; step++) {
        now += 40 * (int64_t)MS;
        for (int back = 0; back < 2; back++)
            for (size_t layer = 0; layer < layers; layer++)
                for (int part = 0; part < 2; part++) {
                    int64_t length = (part == 0 ? 1 : 3) * (back + 1) * (int64_t)MS;
                    snprintf(path, sizeof path, "blocks.%zu.%s", layer, part == 0 ? "attn" : "mlp");
                    int64_t span = syn_span(s, back ? JM_SPAN_BACKWARD : JM_SPAN_FORWARD, path, "Part", 0,
                                            now, now + 2 * length, 100);
                    syn_kernel(s, gemm, 0, span, now, now + length);
                    now += length;
                    if (part == 0) {
                        syn_kernel(s, softmax, 0, span, now, now + length);
                        now += length;
                    }
                }
    }
    syn_measure(s, 0, 0, now + 100 * (int64_t)MS);
    syn_finish(s);
    return s;
}

static const jm_row *row_named(const jm_report *report, const char *name)
{
    for (size_t i = 0; i < jm_report_row_count(report); i++)
        if (strcmp(jm_report_row(report, i)->name, name) == 0) return jm_report_row(report, i);
    fail_msg("no row \"%s\"", name);
    return NULL;
}

static void assert_dominant(const jm_row *row, const char *place, double share)
{
    assert_non_null(row->mostly_at);
    assert_string_equal(row->mostly_at, place);
    if (fabs(row->mostly_share - share) > 1e-6) fail_msg("%s: %g", row->name, row->mostly_share);
}

static void test_a_kernel_is_where_half_of_its_time_is(void **state)
{
    (void)state;
    synthetic *s = make_training(3);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_KERNEL});
    /* gemm: mlp 3 + 6 of 12, so its backward passes alone have exactly half */
    assert_dominant(row_named(report, "gemm"), "blocks.*.mlp (backward)", 0.5);
    assert_dominant(row_named(report, "softmax"), "blocks.*.attn (backward)", 2.0 / 3);
    jm_report_free(report);
    syn_free(s);
}

static void test_a_kernel_of_many_layers_is_in_what_holds_them(void **state)
{
    (void)state;
    synthetic *s = make_training(1);
    for (size_t i = 0; i < s->dataset.span_count; i++) /* other names: no layer has half */
        if (strcmp(s->names[s->spans[i].name_id], "blocks.0.mlp") == 0) {
            const char *names[] = {"blocks.0.a", "blocks.0.b", "blocks.0.c-d"};
            s->spans[i].name_id = syn_name(s, names[i / 2 % 3]);
        }
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_KERNEL});
    assert_dominant(row_named(report, "gemm"), "blocks.* (backward)", 2.0 / 3);
    jm_report_free(report);
    syn_free(s);
}

/* Time in a layer and in its parts counts together, whatever other names share its prefix. */
static void test_a_layer_has_the_time_of_its_parts_beside_layers_of_like_names(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int64_t ms;
    } parts[] = {{"net.a", 3}, {"net.a.x", 3}, {"net.a-b", 2}, {"net.a_b", 1}, {"net.ab.x", 1}};
    synthetic *s = syn_create(6, 1, 2000);
    int64_t gemm = syn_class(s, "gemm", 1, 500), now = 0;
    for (int step = 0; step < 50; step++, now += 30 * (int64_t)MS)
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
            int64_t end = now + parts[i].ms * MS;
            int64_t span = syn_span(s, JM_SPAN_FORWARD, parts[i].path, "Part", 0, now, end, 100);
            syn_kernel(s, gemm, 0, span, now, end);
            now = end;
        }
    syn_measure(s, 0, 0, now);
    syn_finish(s);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_KERNEL});
    assert_dominant(row_named(report, "gemm"), "net.a", 0.6);
    jm_report_free(report);
    syn_free(s);
}

static void test_a_gap_is_before_what_came_after_it(void **state)
{
    (void)state;
    synthetic *s = make_training(2);
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_LAYER});
    assert_dominant(row_named(report, "waiting, 1 ms and more"), "blocks.*.attn", 1);
    assert_dominant(row_named(report, "(idle)"), "blocks.*.attn", 1);
    assert_null(row_named(report, "blocks")->mostly_at);
    jm_report_free(report);
    syn_free(s);
}

static void test_work_in_no_layer_is_said_to_be_in_none(void **state)
{
    (void)state;
    synthetic *s = make_training(1);
    for (size_t i = 0; i < s->kernels.count; i++)
        s->kernels.items[i].span_id = 0;
    jm_report *report = syn_report(s, (jm_report_options){.by = JM_BY_KERNEL});
    assert_dominant(row_named(report, "gemm"), "(no layer)", 1);
    assert_true(isnan(row_named(report, "gemm")->forward_share));
    jm_report_free(report);
    syn_free(s);
}

static void test_energy_parts_into_passes(void **state)
{
    (void)state;
    synthetic *s = make_training(2);
    const jm_by all[] = {JM_BY_LAYER, JM_BY_KERNEL};
    const char *const names[] = {"blocks", "gemm"};
    for (size_t i = 0; i < 2; i++) {
        jm_report *report = syn_report(s, (jm_report_options){.by = all[i]});
        const jm_row *row = row_named(report, names[i]);
        if (fabs(row->forward_share - 1.0 / 3) > 0.03) fail_msg("%s: %g", names[i], row->forward_share);
        assert_true(fabs(row->forward_share + row->backward_share - 1) < 1e-9);
        assert_true(isnan(row_named(report, "(idle)")->forward_share));
        jm_report_free(report);
    }
    syn_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_kernel_is_where_half_of_its_time_is),
        cmocka_unit_test(test_a_kernel_of_many_layers_is_in_what_holds_them),
        cmocka_unit_test(test_a_layer_has_the_time_of_its_parts_beside_layers_of_like_names),
        cmocka_unit_test(test_a_gap_is_before_what_came_after_it),
        cmocka_unit_test(test_work_in_no_layer_is_said_to_be_in_none),
        cmocka_unit_test(test_energy_parts_into_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
