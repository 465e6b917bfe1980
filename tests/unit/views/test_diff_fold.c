/* Equal layers in the table of a diff: which share a row, which do not, and what is said of them. */
#include "fake_diff.h"

#include <stdlib.h>

enum { BLOCKS = 5, ROWS = 2 + 2 * BLOCKS };

/* "model", the list "model.layers", which is never called, and in it layers with an mlp each. */
static void fill(jm_row rows[ROWS], double block_j, double mlp_j, double half_j)
{
    static const char *const names[BLOCKS] = {"0", "1", "2", "3", "4"};
    static const char *const paths[BLOCKS] = {"model.layers.0", "model.layers.1", "model.layers.2",
                                              "model.layers.3", "model.layers.4"};
    static const char *const mlps[BLOCKS] = {"model.layers.0.mlp", "model.layers.1.mlp", "model.layers.2.mlp",
                                             "model.layers.3.mlp", "model.layers.4.mlp"};
    rows[0] = (jm_row)LAYER("model", "model", 0, BLOCKS * block_j, half_j);
    rows[1] = (jm_row)LAYER("layers", "model.layers", 1, BLOCKS * block_j, half_j);
    rows[1].calls = 0;
    for (int i = 0; i < BLOCKS; i++) {
        rows[2 + 2 * i] = (jm_row)LAYER(names[i], paths[i], 2, block_j, half_j);
        rows[3 + 2 * i] = (jm_row)LAYER("mlp", mlps[i], 3, mlp_j, half_j);
    }
}

static void set_energy(jm_row *row, double energy_j)
{
    row->energy_low_j += energy_j - row->energy_j;
    row->energy_high_j += energy_j - row->energy_j;
    row->energy_j = energy_j;
    row->step_low_j = row->energy_low_j;
    row->step_high_j = row->energy_high_j;
    row->step_j = energy_j;
}

typedef struct pair {
    jm_row a[ROWS], b[ROWS];
} pair;

/* 10 J a block, of which 6 J its mlp, each +-0.2 J; in B 8 J, and 4 J. */
static pair usual(void)
{
    pair p;
    fill(p.a, 10, 6, 0.2);
    fill(p.b, 8, 4, 0.2);
    return p;
}

static char *shown(const pair *p, bool expand, bool markdown)
{
    jm_report a = REPORT(p->a, 50, 1), b = REPORT(p->b, 40, 1);
    jm_error err = {0};
    jm_diff *diff;
    char *text;
    const jm_diff_options options = {
        .size = sizeof options, .name_a = "base", .name_b = "fused", .expand = expand};
    assert_int_equal(jm_diff_create(&diff, &a, &b, &options, &err), JM_OK);
    assert_int_equal(jm_diff_row_count(diff), ROWS); /* all of them, whatever the table shows */
    jm_status status =
        markdown ? jm_diff_markdown(diff, 0, &text, &err) : jm_diff_text(diff, 80, 0, &text, &err);
    assert_int_equal(status, JM_OK);
    jm_diff_free(diff);
    return text;
}

static void assert_shown(const pair *p, const char *rows)
{
    char *text = shown(p, false, false);
    char *start = strchr(text, '\n') + 1, *end = strstr(text, "\n\n");
    end[1] = '\0';
    assert_string_equal(start, rows);
    free(text);
}

/* The fake's errors are independent: +-0.2 J of five together is 0.45 J. */
static void test_equal_layers_that_changed_alike_share_a_row(void **state)
{
    (void)state;
    pair p = usual();
    assert_shown(&p, "step                50.0 ±1.0    40.0 ±1.0  -20.0 ±2.6 %  125 / 125  less\n"
                     "  model        1  50.00 ±0.20  40.00 ±0.20  -20.0 ±0.5 %  100 / 100  less\n"
                     "    layers.*   5  50.00 ±0.45  40.00 ±0.45  -20.0 ±1.1 %  500 / 500  less\n"
                     "      mlp      5  30.00 ±0.45  20.00 ±0.45  -33.3 ±1.8 %  500 / 500  less\n");
}

static void test_a_layer_that_changed_otherwise_is_named(void **state)
{
    (void)state;
    pair p = usual();
    set_energy(&p.b[2 + 2 * 3], 10);
    set_energy(&p.b[3 + 2 * 3], 6);
    char *text = shown(&p, false, false);
    assert_on_page(text);
    free(text);
}

/* Each is as the others within 5 %, in A and in B; but what was 4 % below is 4 % above. */
static void test_equal_layers_of_which_one_changed_are_apart(void **state)
{
    (void)state;
    pair p = usual();
    fill(p.b, 10, 6, 0.01);
    fill(p.a, 10, 6, 0.01);
    set_energy(&p.a[2 + 2 * 3], 9.6);
    set_energy(&p.b[2 + 2 * 3], 10.4);
    char *text = shown(&p, false, false);
    assert_non_null(strstr(text, "\n    layers.*   4 "));
    assert_non_null(strstr(text, "\n    layers.3   1 "));
    free(text);
}

static void test_what_chance_does_is_no_difference(void **state)
{
    (void)state;
    pair p = usual();
    set_energy(&p.b[3 + 2 * 3], 4.25); /* 6 % more, +-0.28 J of the difference: 1.7 standard deviations */
    char *text = shown(&p, false, false);
    assert_non_null(strstr(text, "\n      mlp      5 "));
    free(text);
}

static void test_layers_of_another_type_or_gpu_in_one_run_are_apart(void **state)
{
    (void)state;
    pair p = usual();
    p.b[2 + 2 * 3].type = "FusedBlock";
    char *text = shown(&p, false, false);
    assert_non_null(strstr(text, "\n    layers.3   1 "));
    free(text);
    p = usual();
    p.b[2 + 2 * 3].boards = "1";
    text = shown(&p, false, false);
    assert_non_null(strstr(text, "\n    layers.3   1 "));
    free(text);
}

static void test_expanded_each_has_its_row(void **state)
{
    (void)state;
    pair p = usual();
    char *text = shown(&p, true, false);
    assert_null(strstr(text, "*"));
    assert_non_null(strstr(text, "\n      3        10.00 ±0.20   8.00 ±0.20"));
    free(text);
}

static void test_markdown_has_the_path_of_all(void **state)
{
    (void)state;
    pair p = usual();
    set_energy(&p.b[2 + 2 * 1], 10);
    set_energy(&p.b[2 + 2 * 3], 10);
    char *text = shown(&p, false, true);
    assert_non_null(strstr(text, "| layer, J/step | x | `base` | `fused` | change | ms | W | "
                                 "|\n|---|---:|---:|---:|---:|---:|---:|---|\n"
                                 "| step |  | 50.0 ±1.0 |"));
    assert_non_null(strstr(text, "\n| `model.layers.*` | 3 |"));
    assert_non_null(strstr(text, "\n| `model.layers.*.mlp` | 3 |"));
    assert_non_null(strstr(text, "\n| `model.layers.1,3` | 2 |"));
    assert_non_null(strstr(text, "\n| `model.layers.1,3.mlp` | 2 |"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_layers_that_changed_alike_share_a_row),
        cmocka_unit_test(test_a_layer_that_changed_otherwise_is_named),
        cmocka_unit_test(test_equal_layers_of_which_one_changed_are_apart),
        cmocka_unit_test(test_what_chance_does_is_no_difference),
        cmocka_unit_test(test_layers_of_another_type_or_gpu_in_one_run_are_apart),
        cmocka_unit_test(test_expanded_each_has_its_row),
        cmocka_unit_test(test_markdown_has_the_path_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
