/* Several runs a side, made by hand: which rows they have, their means and spread, and how that is shown. */
#include "fake_diff.h"

#include <jansson.h>
#include <stdlib.h>

static const jm_board second = {.uuid = "GPU-2", .name = "Two"}, nameless = {.name = "Import"};

typedef struct sides {
    const jm_report *a[3], *b[3];
    size_t count_a, count_b;
} sides;

static jm_diff *diff_of(const sides *of)
{
    jm_error err = {0};
    jm_diff *diff;
    const jm_diff_options options = {.size = sizeof options, .name_a = "base", .name_b = "fused"};
    static const char *const names[] = {"base-1", "base-2", "base-3"};
    const jm_diff_side a = {of->a, names, of->count_a}, b = {of->b, NULL, of->count_b};
    if (jm_diff_create_many(&diff, &a, &b, &options, &err) != JM_OK) fail_msg("%s", err.text);
    return diff;
}

static const jm_row rows_a1[] = {LAYER("Net", "Net", 0, 80, 1), LAYER("mlp", "mlp", 1, 40, 1)},
                    rows_a2[] = {LAYER("Net", "Net", 0, 82, 1), LAYER("mlp", "mlp", 1, 41, 1),
                                 LAYER("hook", "hook", 1, 5, 0.5)},
                    rows_a3[] = {LAYER("Net", "Net", 0, 78, 1), LAYER("mlp", "mlp", 1, 42, 1),
                                 LAYER("hook", "hook", 1, 7, 0.5)},
                    rows_b1[] = {LAYER("Net", "Net", 0, 60, 1), LAYER("mlp", "mlp", 1, 40, 1),
                                 LAYER("late", "x.late", 1, 9, 0.5)},
                    rows_b2[] = {LAYER("Net", "Net", 0, 61, 1), LAYER("mlp", "mlp", 1, 42, 1),
                                 LAYER("hook", "hook", 1, 6, 0.5)};

typedef struct five {
    jm_report a1, a2, a3, b1, b2;
} five;

static sides all_of(five *runs)
{
    *runs = (five){REPORT(rows_a1, 100, 1), REPORT(rows_a2, 103, 1), REPORT(rows_a3, 97, 1),
                   REPORT(rows_b1, 80, 1), REPORT(rows_b2, 82, 1)};
    return (sides){{&runs->a1, &runs->a2, &runs->a3}, {&runs->b1, &runs->b2}, 3, 2};
}

/* t of 2 and of 1 degrees of freedom: 4.303, 12.706 (tables). 97, 100, 103: deviation 3, half of the interval
 * 4.303 * 3 / sqrt(3) = 7.453. 80, 82: deviation 1.414, half 12.706 * 1.414 / sqrt(2) = 12.706. */
static void test_a_side_is_the_mean_of_its_runs_with_their_spread(void **state)
{
    (void)state;
    five runs;
    sides of = all_of(&runs);
    jm_diff *diff = diff_of(&of);
    const jm_diff_row *total = jm_diff_total(diff);
    assert_true(total->a_runs == 3 && total->b_runs == 2);
    assert_true(fabs(total->a_j - 100) < 1e-9 && fabs(total->b_j - 81) < 1e-9);
    assert_true(fabs(total->a_deviation_j - 3) < 1e-9 && fabs(total->b_deviation_j - sqrt(2)) < 1e-9);
    assert_true(fabs(total->a_high_j - 107.453) < 1e-3 && fabs(total->b_low_j - (81 - 12.706)) < 1e-3);
    assert_true(fabs(total->change + 0.19) < 1e-9);
    assert_int_equal(total->verdict, JM_CHANGE_LESS); /* 19 J apart, 14.73 J in quadrature */
    assert_int_equal(row_of(diff, "mlp")->verdict, JM_CHANGE_NOT_SEEN);
    jm_diff_free(diff);
}

static void test_a_row_of_some_runs_is_the_mean_of_those(void **state)
{
    (void)state;
    five runs;
    sides of = all_of(&runs);
    jm_diff *diff = diff_of(&of);
    const jm_diff_row *hook = row_of(diff, "hook"), *late = row_of(diff, "x.late");
    assert_int_equal(jm_diff_row_count(diff), 4);
    assert_true(hook->a_runs == 2 && hook->b_runs == 1 && hook->a_j == 6 && hook->b_j == 6 &&
                hook->depth == 0);
    assert_true(isnan(hook->b_deviation_j) && hook->b_high_j == 6.5);
    assert_true(late->a_runs == 0 && late->b_runs == 1 && isnan(late->a_j));
    assert_int_equal(late->verdict, JM_CHANGE_ONLY_IN_B);
    jm_diff_free(diff);
}

static void test_the_table_of_runs_is_as_the_page_shows_it(void **state)
{
    (void)state;
    five runs;
    sides of = all_of(&runs);
    jm_diff *diff = diff_of(&of);
    jm_error err = {0};
    char *text;
    runs.a1.quality.clock_mhz = 1965;
    runs.a2.quality.clock_mhz = 1955; /* the third did not record it */
    runs.b2.quality.verdict = "poor";
    runs.b2.quality.verdict_reason = "the fit is off";
    assert_int_equal(jm_diff_text(diff, 80, 0, &text, &err), JM_OK);
    assert_string_equal(
        text, "layer, J/step        base      fused        change\n"
              "step           100.0 ±7.5     81 ±13     -19 ±14 %  less\n"
              "  x.late                -   9.0 ±0.5                only in B, B 1/2\n"
              "  Net           80.0 ±5.0  60.5 ±6.4  -24.4 ±9.2 %  less\n"
              "    mlp         41.0 ±2.5     41 ±13      +0 ±32 %  no difference seen\n"
              "  hook           6.0 ±9.4   6.0 ±0.5                no difference seen, A 2/3, B 1/2\n"
              "\n"
              "A step: 125 ms / 125 ms, 800 W / 648 W.\n"
              "base, the mean of 3 runs: base-1, base-2, base-3; standard deviation of their\n"
              "totals 3 %.\n"
              "fused, the mean of 2 runs: B1, B2; standard deviation of their totals 1.7 %.\n"
              "A n/m: only n of A's m runs have the row, and its mean is over those.\n"
              "same GPU: the sensor's gain cancels. clock 1960 / - MHz.\n"
              "B2 is poor: the fit is off\n"
              "± is half of the 95 % interval, of energies relative to the GPU's own sensor.\n");
    assert_on_page(text);
    free(text);
    jm_diff_free(diff);
}

static void test_markdown_names_the_runs(void **state)
{
    (void)state;
    five runs;
    sides of = all_of(&runs);
    jm_diff *diff = diff_of(&of);
    jm_error err = {0};
    char *text;
    assert_int_equal(jm_diff_markdown(diff, 0, &text, &err), JM_OK);
    assert_non_null(strstr(text, "| `base` | `fused` |"));
    assert_non_null(strstr(text, "no difference seen, A 2/3, B 1/2 |\n"));
    assert_non_null(
        strstr(text, "\nbase, the mean of 3 runs: base-1, base-2, base-3; standard deviation of their "
                     "totals 3 %.\nfused, the mean of 2 runs: B1, B2; standard deviation of their totals "
                     "1.7 %.\n"));
    free(text);
    jm_diff_free(diff);
}

static void test_json_has_the_runs_their_number_and_their_spread(void **state)
{
    (void)state;
    five runs;
    sides of = all_of(&runs);
    jm_diff *diff = diff_of(&of);
    jm_error err = {0};
    char *text;
    runs.a2.quality.verdict = "poor";
    runs.a2.quality.verdict_reason = "the fit is off";
    assert_int_equal(jm_diff_json(diff, &text, &err), JM_OK);
    json_t *root = json_loads(text, 0, NULL), *of_a, *rows, *none;
    const char *name, *verdict;
    int units, a_runs, b_runs;
    double deviation_j;
    assert_int_equal(json_unpack(root, "{s:{s:i, s:s, s:o}, s:{s:i, s:i, s:f}, s:o}", "a", "units", &units,
                                 "verdict", &verdict, "runs", &of_a, "total", "a_runs", &a_runs, "b_runs",
                                 &b_runs, "a_deviation_j", &deviation_j, "rows", &rows),
                     0);
    assert_true(units == 3 && a_runs == 3 && b_runs == 2 && fabs(deviation_j - 3) < 1e-9);
    assert_string_equal(verdict, "poor"); /* of the worst */
    assert_int_equal(json_array_size(of_a), 3);
    assert_int_equal(json_unpack(json_array_get(of_a, 2), "{s:s, s:s}", "name", &name, "verdict", &verdict),
                     0);
    assert_string_equal(name, "base-3");
    assert_string_equal(verdict, "good");
    assert_int_equal(
        json_unpack(json_array_get(rows, 2), "{s:i, s:o}", "b_runs", &b_runs, "b_deviation_j", &none), 0);
    assert_true(b_runs == 1 && json_is_null(none));
    json_decref(root);
    free(text);
    jm_diff_free(diff);
}

/* Two of the three runs of A are wrapped, in classes of their own. */
static void test_a_wrapped_model_is_the_same_in_any_run(void **state)
{
    (void)state;
    static const jm_row plain[] = {LAYER("Net", "Net", 0, 100, 1), LAYER("mlp", "mlp", 1, 90, 1)},
                        wrapped[] = {LAYER("DDP", "DDP", 0, 100, 1), LAYER("module", "module", 1, 99, 1),
                                     LAYER("mlp", "module.mlp", 2, 92, 1)},
                        compiled[] = {LAYER("Optimized", "Optimized", 0, 100, 1),
                                      LAYER("_orig_mod", "_orig_mod", 1, 99, 1),
                                      LAYER("mlp", "_orig_mod.mlp", 2, 94, 1)};
    jm_report p = REPORT(plain, 100, 1), w = REPORT(wrapped, 100, 1), c = REPORT(compiled, 100, 1);
    const jm_report *orders[][3] = {{&p, &w, &c}, {&w, &p, &c}, {&c, &w, &p}};
    for (size_t i = 0; i < 3; i++) {
        sides of = {{orders[i][0], orders[i][1], orders[i][2]}, {&p, &w}, 3, 2};
        jm_diff *diff = diff_of(&of);
        assert_int_equal(jm_diff_row_count(diff), 2);
        for (size_t k = 0; k < 2; k++)
            assert_true(jm_diff_row_get(diff, k)->a_runs == 3 && jm_diff_row_get(diff, k)->b_runs == 2);
        assert_true(fabs(jm_diff_row_get(diff, 1)->a_j - 92) < 1e-9);
        jm_diff_free(diff);
    }
}

/* A on one GPU, B one run on it and one on another: half of B's gain is not A's, and half of A's is not B's.
 */
static void test_gains_cancel_as_far_as_sides_share_their_gpus(void **state)
{
    (void)state;
    static const jm_row rows[] = {LAYER("Net", "Net", 0, 100, 0)};
    static const jm_report_board other = {&second, 0, 100, 0.03}, one = {&board_one, 0, 100, 0.03},
                                 unknown = {&nameless, 0, 100, 0.03};
    jm_report here = REPORT(rows, 100, 0), there = here, lost = here;
    here.boards = &one;
    there.boards = &other;
    lost.boards = &unknown;
    sides of = {{&here, &here}, {&here, &there}, 2, 2};
    jm_diff *diff = diff_of(&of);
    double half = 0.03 / 2 * sqrt(2);
    assert_int_equal(jm_diff_sameness(diff), JM_SAMENESS_DIFFERENT);
    assert_true(fabs(jm_diff_gain_u(diff) - half) < 1e-12);
    assert_true(fabs(row_of(diff, "Net")->change_high - 1.96 * half) < 2e-3);
    jm_diff_free(diff);
    of = (sides){{&here, &there}, {&there, &here}, 2, 2}; /* each GPU on both sides alike */
    diff = diff_of(&of);
    assert_int_equal(jm_diff_sameness(diff), JM_SAMENESS_SAME);
    assert_true(jm_diff_gain_u(diff) == 0 && row_of(diff, "Net")->change_high == 0);
    jm_diff_free(diff);
    of = (sides){
        {&lost, &lost, &lost}, {&lost, &lost, &lost}, 3, 3}; /* perhaps one GPU a side: no mean helps */
    diff = diff_of(&of);
    assert_int_equal(jm_diff_sameness(diff), JM_SAMENESS_UNKNOWN);
    assert_true(fabs(jm_diff_gain_u(diff) - 0.03 * sqrt(2)) < 1e-12);
    jm_diff_free(diff);
}

/* A third of the energy went from one to the other: 1.96 * hypot(2.9 %, 3 %) / 3. */
static void test_gains_of_the_same_gpus_with_other_shares_are_told(void **state)
{
    (void)state;
    static const jm_row rows[] = {LAYER("Net", "Net", 0, 100, 0)};
    static const jm_report_board other = {&second, 0, 100, 0.03};
    jm_report here = REPORT(rows, 100, 0), there = here;
    there.boards = &other;
    sides of = {{&here, &here, &there}, {&here, &there, &there}, 3, 3};
    jm_diff *diff = diff_of(&of);
    jm_error err = {0};
    char *text;
    assert_int_equal(jm_diff_text(diff, 0, 0, &text, &err), JM_OK);
    assert_non_null(strstr(text,
                           "\nsame GPUs, with other shares of the energy: changes hold the gains of their "
                           "sensors, ±2.7 % of the total.\n"));
    free(text);
    jm_diff_free(diff);
}

static void test_a_side_without_runs_and_another_key_are_refused(void **state)
{
    (void)state;
    five runs;
    sides of = all_of(&runs);
    jm_error err = {0};
    jm_diff *diff;
    const jm_diff_side a = {of.a, NULL, 3}, b = {of.b, NULL, 2}, none = {of.b, NULL, 0};
    assert_int_equal(jm_diff_create_many(&diff, &a, &none, NULL, &err), JM_USAGE);
    assert_string_equal(err.text, "side B has no runs");
    assert_null(diff);
    runs.b2.options.by = JM_BY_KERNEL;
    assert_int_equal(jm_diff_create_many(&diff, &a, &b, NULL, &err), JM_USAGE);
    runs.b2.options.by = JM_BY_LAYER;
    runs.a3.totals.steps = runs.a3.totals.steady_steps = -1;
    const jm_diff_options options = {.size = sizeof options, .per = JM_PER_STEP};
    assert_int_equal(jm_diff_create_many(&diff, &a, &b, &options, &err), JM_USAGE);
    assert_string_equal(err.text, "A3 has no steps: its joules a step are not known");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_side_is_the_mean_of_its_runs_with_their_spread),
        cmocka_unit_test(test_a_row_of_some_runs_is_the_mean_of_those),
        cmocka_unit_test(test_the_table_of_runs_is_as_the_page_shows_it),
        cmocka_unit_test(test_markdown_names_the_runs),
        cmocka_unit_test(test_json_has_the_runs_their_number_and_their_spread),
        cmocka_unit_test(test_a_wrapped_model_is_the_same_in_any_run),
        cmocka_unit_test(test_gains_cancel_as_far_as_sides_share_their_gpus),
        cmocka_unit_test(test_gains_of_the_same_gpus_with_other_shares_are_told),
        cmocka_unit_test(test_a_side_without_runs_and_another_key_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
