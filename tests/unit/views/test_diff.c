/* Two reports side by side, made by hand: which row is which, what is said of it, and how it is shown. */
#include "fake_diff.h"
#include "report/change.h"

#include <jansson.h>
#include <joulemap/diff.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const jm_board first = {.uuid = "GPU-1", .name = "One"}, second = {.uuid = "GPU-2", .name = "Two"},
                      third = {.uuid = "GPU-3", .name = "Three"}, nameless = {.name = "Import"},
                      package = {.host = "here", .backend = "rapl", .name = "package-0"};

static jm_diff *diff_of(const jm_report *a, const jm_report *b)
{
    jm_error err = {0};
    jm_diff *diff;
    const jm_diff_options options = {.size = sizeof options, .name_a = "base", .name_b = "fused"};
    if (jm_diff_create(&diff, a, b, &options, &err) != JM_OK) fail_msg("%s", err.text);
    return diff;
}

static void assert_row(const jm_diff *diff, size_t i, const char *path, int depth, jm_change verdict)
{
    const jm_diff_row *row = jm_diff_row_get(diff, i);
    assert_non_null(row);
    assert_string_equal(row->path, path);
    assert_int_equal(row->depth, depth);
    assert_int_equal(row->verdict, verdict);
}

/* 100 +-3 and 104 +-4: the difference is 4 +-5. Fieller's ends solve (104 - 100 r)^2 = 16 + 9 r^2. */
static void test_a_change_and_its_interval(void **state)
{
    (void)state;
    jm__figure a = {100, 97, 103, 0}, b = {104, 100, 108, 0};
    jm__ratio r = jm__change_of(a, b);
    assert_true(fabs(r.change - 0.04) < 1e-12 && r.sign == 0);
    for (int end = 0; end < 2; end++) {
        double ratio = 1 + (end == 0 ? r.low : r.high);
        assert_true(fabs(pow(104 - 100 * ratio, 2) - 16 - 9 * ratio * ratio) < 1e-8);
    }
    assert_true(r.low < 0 && r.high > 0.04);
    b = (jm__figure){105.01, 101.01, 109.01, 0};
    r = jm__change_of(a, b);
    assert_true(r.sign == 1 && r.low > 0 && r.low < 1e-3); /* the two agree, to the last bit of joule */
    b = (jm__figure){94.99, 90.99, 98.99, 0};
    r = jm__change_of(a, b);
    assert_true(r.sign == -1 && r.high < 0 && r.high > -1e-3);
}

/* Its interval was cut at 0: the upper side tells how wide it is. Where A may be 0, no ratio has a limit. */
static void test_a_figure_that_may_be_zero(void **state)
{
    (void)state;
    jm__ratio r = jm__change_of((jm__figure){1, 0, 4, 0}, (jm__figure){3, 2.9, 3.1, 0});
    assert_true(r.sign == 0 && r.change == 2 && isnan(r.low) && isnan(r.high));
    r = jm__change_of((jm__figure){100, 99, 101, 0}, (jm__figure){1, 0, 4, 0});
    assert_true(r.sign == -1 && r.low < -1 && r.high < -0.9);
    r = jm__change_of((jm__figure){NAN, NAN, NAN, 0}, (jm__figure){1, 0, 4, 0});
    assert_true(r.sign == 0 && isnan(r.change));
}

static void test_rows_are_matched_and_those_of_one_run_are_told(void **state)
{
    (void)state;
    static const jm_row before[] = {LAYER("Net", "Net", 0, 100, 1), LAYER("old", "old", 1, 30, 1),
                                    LAYER("mlp", "mlp", 1, 60, 2),
                                    ROW("mlp", "mlp", "optimizer", 0, 10, 1, "0")};
    static const jm_row after[] = {LAYER("Net", "Net", 0, 100, 1), LAYER("mlp", "mlp", 1, 50, 2),
                                   LAYER("new", "new", 1, 40, 1),
                                   ROW("mlp", "mlp", "optimizer", 0, 12, 1, "0")};
    jm_report a = REPORT(before, 110, 1), b = REPORT(after, 112, 1);
    jm_diff *diff = diff_of(&a, &b);
    assert_int_equal(jm_diff_row_count(diff), 5);
    assert_row(diff, 0, "Net", 0, JM_CHANGE_NOT_SEEN);
    assert_row(diff, 1, "old", 1, JM_CHANGE_ONLY_IN_A);
    assert_row(diff, 2, "mlp", 1, JM_CHANGE_LESS);
    assert_row(diff, 3, "mlp", 0, JM_CHANGE_MORE);
    assert_row(diff, 4, "new", 0, JM_CHANGE_ONLY_IN_B);
    assert_true(jm_diff_row_get(diff, 2)->path_again && jm_diff_row_get(diff, 3)->path_again);
    assert_false(jm_diff_row_get(diff, 1)->path_again);
    assert_true(isnan(row_of(diff, "old")->b_j) && isnan(row_of(diff, "new")->change));
    jm_diff_free(diff);
}

static void test_wrappers_count_for_nothing_wherever_they_stand(void **state)
{
    (void)state;
    static const jm_row plain[] = {LAYER("Net", "Net", 0, 100, 1), LAYER("blocks", "blocks", 1, 90, 1),
                                   LAYER("0", "blocks.0", 2, 50, 1), LAYER("1", "blocks.1", 2, 40, 1)};
    static const jm_row wrapped[] = {LAYER("DistributedDataParallel", "DistributedDataParallel", 0, 100, 1),
                                     LAYER("module", "module", 1, 99, 1),
                                     LAYER("blocks", "module.blocks", 2, 90, 1),
                                     LAYER("0", "module.blocks.0", 3, 50, 1),
                                     LAYER("_orig_mod", "module.blocks.0._orig_mod", 4, 49, 1),
                                     LAYER("1", "module.blocks.1", 3, 40, 1)};
    jm_report a = REPORT(plain, 100, 1), b = REPORT(wrapped, 100, 1);
    for (int turned = 0; turned < 2; turned++) {
        jm_diff *diff = turned ? diff_of(&b, &a) : diff_of(&a, &b);
        assert_int_equal(jm_diff_row_count(diff), 4);
        assert_row(diff, 0, turned ? "DistributedDataParallel" : "Net", 0, JM_CHANGE_NOT_SEEN);
        assert_row(diff, 1, turned ? "module.blocks" : "blocks", 1, JM_CHANGE_NOT_SEEN);
        assert_row(diff, 2, turned ? "module.blocks.0" : "blocks.0", 2, JM_CHANGE_NOT_SEEN);
        assert_row(diff, 3, turned ? "module.blocks.1" : "blocks.1", 2, JM_CHANGE_NOT_SEEN);
        assert_true(jm_diff_row_get(diff, 2)->a_j == 50 && jm_diff_row_get(diff, 2)->b_j == 50);
        jm_diff_free(diff);
    }
}

/* A model beside its wrapped copy, a layer that is called "module", and what is no layer at all. */
static void test_what_only_looks_like_a_wrapper_stays(void **state)
{
    (void)state;
    static const jm_row rows[] = {
        LAYER("blocks", "blocks", 0, 30, 1), LAYER("blocks", "module.blocks", 0, 20, 1),
        LAYER("module", "module", 0, 20, 1), LAYER("modules", "modules.0", 0, 10, 1),
        ROW("module", "module", "phase", 0, 20, 1, "0")};
    jm_report a = REPORT(rows, 100, 1);
    jm_diff *diff = diff_of(&a, &a);
    assert_int_equal(jm_diff_row_count(diff), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(jm_diff_row_get(diff, i)->path, rows[i].path);
        assert_true(jm_diff_row_get(diff, i)->change == 0);
    }
    jm_diff_free(diff);
}

/* Whichever of them ran first: each is matched with itself, and with the bare one alone where there is no
 * other. */
static void test_a_wrapped_copy_that_ran_first_makes_way(void **state)
{
    (void)state;
    static const jm_row both[] = {LAYER("blocks", "module.blocks", 0, 60, 1),
                                  LAYER("0", "module.blocks.0", 1, 20, 1),
                                  LAYER("blocks", "blocks", 0, 40, 1), LAYER("0", "blocks.0", 1, 10, 1)};
    static const jm_row bare[] = {LAYER("blocks", "blocks", 0, 44, 1)};
    jm_report a = REPORT(both, 100, 1), b = REPORT(bare, 44, 1);
    jm_diff *diff = diff_of(&a, &a);
    assert_int_equal(jm_diff_row_count(diff), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(jm_diff_row_get(diff, i)->path, both[i].path);
        assert_true(jm_diff_row_get(diff, i)->b_j == both[i].energy_j);
    }
    jm_diff_free(diff);
    diff = diff_of(&a, &b);
    assert_int_equal(jm_diff_row_count(diff), 4);
    assert_true(row_of(diff, "blocks")->b_j == 44 && isnan(row_of(diff, "module.blocks")->b_j));
    jm_diff_free(diff);
}

static void test_gains_cancel_board_by_board(void **state)
{
    (void)state;
    static const jm_row rows[] = {ROW("both", "both", "layer", 0, 100, 0, "0,1"),
                                  LAYER("one", "one", 0, 50, 0), ROW("two", "two", "layer", 0, 50, 0, "1")};
    static const jm_report_board boards_a[] = {{&first, 0, 60, 0.03}, {&second, 1, 40, 0.03}},
                                 boards_b[] = {{&third, 0, 60, 0.03}, {&second, 1, 40, 0.03}};
    jm_report a = REPORT(rows, 100, 0), b = REPORT(rows, 100, 0);
    a.boards = boards_a;
    b.boards = boards_b;
    a.board_count = b.board_count = 2;
    jm_diff *diff = diff_of(&a, &b);
    assert_int_equal(jm_diff_sameness(diff), JM_SAMENESS_DIFFERENT);
    assert_true(fabs(jm_diff_gain_u(diff) - 0.03 * 0.6 * sqrt(2)) < 1e-12);
    assert_true(row_of(diff, "two")->change_high == 0);
    double gain = 1.96 * 0.03 * sqrt(2);
    assert_true(fabs(row_of(diff, "one")->change_high - gain) < 0.01);
    assert_true(fabs(row_of(diff, "both")->change_high - gain) < 0.01);
    jm_diff_free(diff);
    /* the same two, but the work went from one to the other */
    b.boards = (const jm_report_board[]){{&second, 0, 60, 0.03}, {&first, 1, 40, 0.03}};
    diff = diff_of(&a, &b);
    assert_int_equal(jm_diff_sameness(diff), JM_SAMENESS_SAME);
    assert_true(fabs(jm_diff_gain_u(diff) - 0.03 * 0.2 * sqrt(2)) < 1e-12 &&
                row_of(diff, "both")->change_high == 0);
    assert_true(fabs(row_of(diff, "one")->change_high - gain) < 0.01);
    jm_diff_free(diff);
    static const jm_report_board unknown = {&nameless, 0, 100, 0.03}, cpu = {&package, 0, 100, 0.02};
    a.board_count = b.board_count = 1;
    a.boards = b.boards = &unknown;
    diff = diff_of(&a, &b);
    assert_int_equal(jm_diff_sameness(diff), JM_SAMENESS_UNKNOWN);
    jm_diff_free(diff);
    a.boards = b.boards = &cpu;
    diff = diff_of(&a, &b);
    assert_int_equal(jm_diff_sameness(diff), JM_SAMENESS_SAME);
    jm_diff_free(diff);
}

static void test_single_spans_and_other_keys_are_refused(void **state)
{
    (void)state;
    static const jm_row rows[] = {LAYER("Net", "Net", 0, 100, 1)};
    jm_report a = REPORT(rows, 100, 1), b = REPORT(rows, 100, 1);
    jm_error err = {0};
    jm_diff *diff;
    b.options.by = JM_BY_KERNEL;
    assert_int_equal(jm_diff_create(&diff, &a, &b, NULL, &err), JM_USAGE);
    a.options.by = b.options.by = JM_BY_SPAN;
    assert_int_equal(jm_diff_create(&diff, &a, &b, NULL, &err), JM_USAGE);
    assert_null(diff);
}

static const jm_row shown_a[] = {LAYER("Net", "Net", 0, 80, 0.8), LAYER("norm", "norm", 1, 18.1, 2.4),
                                 LAYER("mlp", "mlp", 1, 34.3, 2.1), LAYER("gone", "gone", 1, 4, 0.5),
                                 LAYER("tiny", "tiny", 1, 0.2, 0.1)},
                    shown_b[] = {LAYER("Net", "Net", 0, 73, 0.8), LAYER("norm", "norm", 1, 10.2, 1.5),
                                 LAYER("mlp", "mlp", 1, 34.5, 2.2), LAYER("tiny", "tiny", 1, 0.3, 0.1),
                                 ROW("a|b", "x.a|b", "nvtx", 1, 2, 0.5, "0")};

static void test_the_table_is_as_the_page_shows_it(void **state)
{
    (void)state;
    jm_report a = REPORT(shown_a, 86.5, 0.5), b = REPORT(shown_b, 78.9, 0.5);
    jm_error err = {0};
    char *text;
    a.quality.clock_mhz = 1965;
    b.quality.clock_mhz = 1971;
    a.quality.temperature_c = 61;
    b.quality.temperature_c = 64;
    b.quality.throttled_share = 0.12;
    jm_diff *diff = diff_of(&a, &b);
    assert_int_equal(jm_diff_text(diff, 80, 0, &text, &err), JM_OK);
    assert_string_equal(text,
                        "layer, J/step           base        fused       change\n"
                        "step             86.50 ±0.50  78.90 ±0.50  -8.8 ±0.8 %  less\n"
                        "  gone            4.00 ±0.50            -               only in A\n"
                        "  x.a|b                    -   2.00 ±0.50               only in B\n"
                        "  Net            80.00 ±0.80  73.00 ±0.80  -8.8 ±1.4 %  less\n"
                        "    norm           18.1 ±2.4    10.2 ±1.5    -44 ±11 %  less\n"
                        "    mlp            34.3 ±2.1    34.5 ±2.2  +0.6 ±8.9 %  no difference seen\n"
                        "  1 row < 0.5 %\n"
                        "\n"
                        "A step: 125 ms / 125 ms, 692 W / 631 W.\n"
                        "One run does not show how much runs differ: that is not in its ±. joulemap run\n"
                        "--repeat 5 does.\n"
                        "same GPU: the sensor's gain cancels. clock 1965 / 1971 MHz, 61 / 64 °C,\n"
                        "throttled - / 12 % of the time.\n"
                        "± is half of the 95 % interval, of energies relative to the GPU's own sensor.\n");
    assert_on_page(text);
    free(text);
    assert_int_equal(jm_diff_text(diff, 80, 2, &text, &err), JM_OK);
    assert_non_null(strstr(text, "    mlp "));
    assert_null(strstr(text, "norm"));
    assert_non_null(strstr(text, "  3 more rows\n  1 row < 0.5 %\n"));
    free(text);
    jm_diff_free(diff);
}

static void test_a_poor_verdict_is_told_beside_the_other(void **state)
{
    (void)state;
    jm_report a = REPORT(shown_a, 86.5, 0.5), b = REPORT(shown_b, 78.9, 0.5);
    jm_error err = {0};
    char *text;
    b.quality.verdict = "poor";
    b.quality.verdict_reason = "the fit is off";
    b.boards = &(const jm_report_board){&second, 0, 100, 0.029};
    jm_diff *diff = diff_of(&a, &b);
    assert_int_equal(jm_diff_text(diff, 0, 0, &text, &err), JM_OK);
    assert_non_null(strstr(text, "\nbase is good: no check found anything\nfused is poor: the fit is off\n"));
    assert_non_null(
        strstr(text, "different GPUs: changes hold the gains of their sensors, ±8.0 % of the total.\n"));
    free(text);
    jm_diff_free(diff);
}

static void test_markdown_is_a_table_of_paths(void **state)
{
    (void)state;
    jm_report a = REPORT(shown_a, 86.5, 0.5), b = REPORT(shown_b, 78.9, 0.5);
    jm_error err = {0};
    char *text;
    jm_diff *diff = diff_of(&a, &b);
    assert_int_equal(jm_diff_markdown(diff, 0, &text, &err), JM_OK);
    static const char start[] =
        "| layer, J/step | `base` | `fused` | change | ms | W | |\n|---|---:|---:|---:|---:|---:|---|\n"
        "| step | 86.50 ±0.50 | 78.90 ±0.50 | -8.8 ±0.8 % | 125 / 125 | 692 / 631 | less |\n";
    assert_memory_equal(text, start, strlen(start));
    assert_non_null(strstr(text, "\n| `x.a\\|b` | - | 2.00 ±0.50 |  | - / 100 | - / 20.0 | only in B |\n"));
    assert_non_null(strstr(text, "\n| 1 row < 0.5 % |"));
    free(text);
    jm_diff_free(diff);
}

static void test_json_has_all_rows_in_full(void **state)
{
    (void)state;
    jm_report a = REPORT(shown_a, 86.5, 0.5), b = REPORT(shown_b, 78.9, 0.5);
    jm_error err = {0};
    char *text;
    jm_diff *diff = diff_of(&a, &b);
    assert_int_equal(jm_diff_json(diff, &text, &err), JM_OK);
    json_t *root = json_loads(text, 0, NULL);
    const char *per, *gpu, *verdict, *path;
    double a_j, change;
    json_t *rows, *b_j;
    assert_non_null(root);
    assert_int_equal(json_unpack(root, "{s:s, s:s, s:{s:f, s:f}, s:o}", "per", &per, "gpu", &gpu, "total",
                                 "a_j", &a_j, "change", &change, "rows", &rows),
                     0);
    assert_string_equal(per, "step");
    assert_string_equal(gpu, "same");
    assert_true(a_j == 86.5 && fabs(change - (78.9 / 86.5 - 1)) < 1e-12);
    assert_int_equal(json_array_size(rows), 6);
    assert_int_equal(json_unpack(json_array_get(rows, 3), "{s:s, s:o, s:s}", "path", &path, "b_j", &b_j,
                                 "verdict", &verdict),
                     0);
    assert_string_equal(path, "gone");
    assert_true(json_is_null(b_j));
    assert_string_equal(verdict, "only in A");
    json_decref(root);
    free(text);
    jm_diff_free(diff);
}

static void test_what_rounding_leaves_is_no_change(void **state)
{
    (void)state;
    static const jm_row rows_a[] = {ROW("(unresolved)", "(unresolved)", "unresolved", 0, 1e-12, 0, "")},
                        rows_b[] = {ROW("(unresolved)", "(unresolved)", "unresolved", 0, -3e-12, 0, "")};
    jm_report a = REPORT(rows_a, 80, 1), b = REPORT(rows_b, 80, 1);
    jm_diff *diff = diff_of(&a, &b);
    assert_row(diff, 0, "(unresolved)", 0, JM_CHANGE_NOT_SEEN);
    jm_diff_free(diff);
}

static void test_what_no_sensor_tells_is_not_known(void **state)
{
    (void)state;
    static const jm_row lost[] = {FAKE_ROW("Net", "Net", "layer", 0, 1, 1, NAN, NAN, NAN, NAN, NAN, NAN,
                                           JM_PROVENANCE_UNRESOLVED, "0", 0, 0)};
    static const jm_row rows[] = {LAYER("Net", "Net", 0, 80, 1)};
    jm_report a = REPORT(rows, 80, 1), b = REPORT(lost, NAN, NAN);
    jm_error err = {0};
    char *text;
    jm_diff *diff = diff_of(&a, &b);
    assert_row(diff, 0, "Net", 0, JM_CHANGE_NOT_KNOWN);
    assert_int_equal(jm_diff_total(diff)->verdict, JM_CHANGE_NOT_KNOWN);
    assert_int_equal(jm_diff_text(diff, 80, 0, &text, &err), JM_OK);
    assert_non_null(strstr(text, "not known"));
    free(text);
    jm_diff_free(diff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_change_and_its_interval),
        cmocka_unit_test(test_a_figure_that_may_be_zero),
        cmocka_unit_test(test_rows_are_matched_and_those_of_one_run_are_told),
        cmocka_unit_test(test_wrappers_count_for_nothing_wherever_they_stand),
        cmocka_unit_test(test_what_only_looks_like_a_wrapper_stays),
        cmocka_unit_test(test_a_wrapped_copy_that_ran_first_makes_way),
        cmocka_unit_test(test_gains_cancel_board_by_board),
        cmocka_unit_test(test_single_spans_and_other_keys_are_refused),
        cmocka_unit_test(test_the_table_is_as_the_page_shows_it),
        cmocka_unit_test(test_a_poor_verdict_is_told_beside_the_other),
        cmocka_unit_test(test_markdown_is_a_table_of_paths),
        cmocka_unit_test(test_json_has_all_rows_in_full),
        cmocka_unit_test(test_what_rounding_leaves_is_no_change),
        cmocka_unit_test(test_what_no_sensor_tells_is_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
