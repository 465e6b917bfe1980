/* Siblings with names that share a row: of one class, and not told apart by the sensor. */
#include "fake_diff.h"

#include <stdlib.h>

enum { BLOCKS = 2, BLOCK_ROWS = 7, ROWS = 2 + BLOCKS * BLOCK_ROWS };

static jm_row rows[ROWS];
static char paths[ROWS][48];

static jm_row *named(const char *name)
{
    for (size_t i = ROWS; i-- > 0;)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

static jm_row *add(size_t *count, const char *around, const char *name, const char *type, int32_t depth,
                   double energy_j)
{
    jm_row *row = &rows[*count];
    snprintf(paths[*count], sizeof paths[0], "%s%s%s", around, around[0] != '\0' ? "." : "", name);
    *row = (jm_row)LAYER(name, paths[*count], depth, energy_j, energy_j / 4);
    row->type = type;
    row->share = energy_j / 100;
    row->provenance = JM_PROVENANCE_WEAK;
    (*count)++;
    return row;
}

/* Blocks of two norms and an attention of four, which the sensor does not tell apart but by their time. */
static int reset(void **state)
{
    (void)state;
    size_t count = 0;
    add(&count, "", "m", "Net", 0, 100);
    add(&count, "m", "layers", "ModuleList", 1, 100)->calls = 0;
    for (int b = 0; b < BLOCKS; b++) {
        static const char *const numbers[BLOCKS] = {"0", "1"};
        char block[16], attn[24];
        snprintf(block, sizeof block, "m.layers.%d", b);
        snprintf(attn, sizeof attn, "m.layers.%d.attn", b);
        add(&count, "m.layers", numbers[b], "Block", 2, 50);
        add(&count, block, "norm_1", "Norm(64)", 3, 5);
        add(&count, block, "attn", "Attention", 3, 30);
        add(&count, attn, "q", "Linear(64, 64)", 4, 9);
        add(&count, attn, "k", "Linear(64, 16)", 4, 9);
        add(&count, attn, "v", "Linear(64, 16)", 4, 8.5);
        add(&count, block, "norm_2", "Norm(64)", 3, 5.5);
    }
    fake_report = REPORT(rows, 100, 1);
    assert_int_equal(count, ROWS);
    return 0;
}

static char *shown(jm_text_options options)
{
    char *text = NULL;
    options.size = sizeof options;
    assert_int_equal(jm_report_text(&fake_report, &options, &text, NULL), JM_OK);
    return text;
}

static void assert_shows(const char *line, bool there)
{
    char *text = shown((jm_text_options){.width = 80});
    if ((strstr(text, line) != NULL) != there)
        fail_msg("%s \"%s\" in\n%s", there ? "no" : "there is", line, text);
    free(text);
}

/* Half of each interval is a quarter of its energy; the fake's errors are independent. */
static void test_siblings_of_a_class_share_a_row_of_that_name(void **state)
{
    (void)state;
    assert_shows("\n  layers.*  2      1  2.00 s  100.0  18 %  50.0 W  100.0 %  weak"
                 "\n    2 Norm  4      1  4.00 s   21.0  13 %  5.25 W   21.0 %  weak"
                 "\n    attn    2      1  2.00 s   60.0  18 %  30.0 W   60.0 %  weak"
                 "\n      q     2 ",
                 true);
    assert_shows("norm_", false);
}

static void test_expanded_and_queried_for_they_have_their_names(void **state)
{
    (void)state;
    char *text = shown((jm_text_options){.width = 80, .expand = true});
    assert_non_null(strstr(text, "\n      norm_2  "));
    assert_null(strstr(text, "2 Norm"));
    free(text);
    text = shown((jm_text_options){.width = 80, .match = "m.layers.*.norm_*"});
    assert_non_null(strstr(text, "\nm.layers.*.2 Norm  4 "));
    free(text);
}

/* k and v are as q in energy, as far as the sensor tells; of another size they are linear layers like it. */
static void test_a_class_of_which_some_differ_keeps_its_names(void **state)
{
    (void)state;
    assert_shows("2 Linear", false);
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, "q") == 0) rows[i].type = "Linear(64, 16)";
    assert_shows("\n      3 Linear  6 ", true);
}

static void test_what_is_known_or_takes_another_time_keeps_its_name(void **state)
{
    (void)state;
    named("norm_2")->provenance = JM_PROVENANCE_FITTED;
    assert_shows("2 Norm", false);
    reset(state);
    named("norm_2")->busy_s = 0.91; /* of all that are called so: 1.91 s beside 2 s */
    assert_shows("2 Norm", true);
    named("norm_2")->busy_s = 0.89;
    assert_shows("2 Norm", false);
    reset(state);
    named("norm_2")->calls = 2;
    assert_shows("2 Norm", false);
    reset(state);
    named("norm_2")->energy_j = 14; /* 9 J from 5 J: 4.9 standard uncertainties */
    assert_shows("2 Norm", false);
    reset(state);
    named("norm_2")->energy_j = NAN;
    assert_shows("2 Norm", false);
}

static void test_what_has_children_or_no_class_keeps_its_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++)
        if (strncmp(rows[i].name, "norm", 4) == 0) rows[i].type = "";
    assert_shows("\n    norm_1  ", true);
    reset(state);
    for (size_t i = 0; i < ROWS; i++)
        if (strncmp(rows[i].name, "norm", 4) == 0) rows[i].type = "Attention"; /* as attn, which has some */
    assert_shows("2 Attention", false);
}

/* Both blocks are equal, and so is most of what is in them. */
static void test_a_part_that_is_not_as_most_says_of_which_layers_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS; i++)
        rows[i].energy_low_j = rows[i].energy_high_j = rows[i].energy_j;
    jm_row *last = named("v"), *first = last - BLOCK_ROWS;
    assert_string_equal(last->path, "m.layers.1.attn.v");
    last->energy_j = 20;
    assert_shows("\n      v (0)  1 ", true);
    assert_shows("\n      v (1)  1 ", true);
    assert_shows("\n      k      2 ", true);
    first->energy_j = 20;
    assert_shows("\n      v     2 ", true);
}

/* As `joulemap stat` names them. */
static void test_equal_gpus_are_told_apart_by_their_index(void **state)
{
    (void)state;
    const jm_row boards[] = {ROW("NVIDIA H200", "GPU-1", "gpu", 0, 60, 1, "0"),
                             ROW("NVIDIA H200", "GPU-2", "gpu", 0, 40, 1, "1"),
                             ROW("NVIDIA A100", "GPU-3", "gpu", 0, 10, 1, "2")};
    fake_report = REPORT(boards, 110, 1);
    fake_report.options.by = JM_BY_BOARD;
    assert_shows("\nNVIDIA H200 0  ", true);
    assert_shows("\nNVIDIA H200 1  ", true);
    assert_shows("\nNVIDIA A100    ", true);
}

static void test_groups_have_their_class_in_name_and_path(void **state)
{
    (void)state;
    jm_groups *groups = NULL;
    assert_int_equal(jm_groups_create(&groups, &fake_report, NULL), JM_OK);
    const jm_group *norms = jm_group_get(groups, 2);
    static const size_t members[] = {3, 8, 10, 15};
    assert_string_equal(norms->name, "2 Norm");
    assert_string_equal(norms->path, "m.layers.*.2 Norm");
    assert_int_equal(norms->members, 4);
    assert_memory_equal(norms->rows, members, sizeof members);
    assert_string_equal(jm_group_get(groups, 3)->path, "m.layers.*.attn");
    jm_groups_free(groups);
}

/* B: the same but for its norms, which take `factor` times as much, and one of them `last` times. */
static char *diff_of(double factor, double last)
{
    static jm_row changed[ROWS];
    memcpy(changed, rows, sizeof changed);
    for (size_t i = 0; i < ROWS; i++) {
        double by = i == ROWS - 1 ? last : strncmp(rows[i].name, "norm", 4) == 0 ? factor : 1;
        changed[i].energy_j *= by;
        changed[i].energy_low_j *= by;
        changed[i].energy_high_j *= by;
        changed[i].step_j *= by;
        changed[i].step_low_j *= by;
        changed[i].step_high_j *= by;
    }
    const jm_report b = REPORT(changed, 100, 1);
    jm_diff *diff;
    char *text;
    assert_int_equal(jm_diff_create(&diff, &fake_report, &b, NULL, NULL), JM_OK);
    assert_int_equal(jm_diff_markdown(diff, 0, &text, NULL), JM_OK);
    jm_diff_free(diff);
    return text;
}

static void test_in_a_diff_they_share_a_row_if_they_changed_alike(void **state)
{
    (void)state;
    char *text = diff_of(0.5, 0.5);
    assert_non_null(strstr(text, "\n| `m.layers.*.2 Norm` | 4 | 21.0 \302\2612.6 | 10.5 \302\2611.3 |"));
    free(text);
    text = diff_of(0.5, 5);
    assert_null(strstr(text, "2 Norm"));
    free(text);
}

/* Numbers inside of numbers: those of the outer ones make the rows, the inner ones keep their own. */
static void test_numbered_layers_of_equal_numbered_ones_keep_their_numbers(void **state)
{
    (void)state;
    size_t count = 0;
    add(&count, "", "m", "Sequential", 0, 100);
    for (int b = 0; b < 3; b++) {
        static const char *const numbers[] = {"0", "1", "2"};
        char block[16];
        snprintf(block, sizeof block, "m.%d", b);
        add(&count, "m", numbers[b], "Sequential", 1, b == 0 ? 20 : 40);
        for (int k = 0; k < 3; k++)
            add(&count, block, numbers[k], k == 1 ? "GELU" : "Linear(8, 8)", 2, (b == 0 ? 4 : 8) + 3 * k);
    }
    for (size_t i = 0; i < count; i++) {
        rows[i].energy_low_j = 0.99 * rows[i].energy_j;
        rows[i].energy_high_j = 1.01 * rows[i].energy_j;
        rows[i].provenance = JM_PROVENANCE_FITTED;
    }
    fake_report = REPORT(rows, 100, 1);
    fake_report.row_count = count;
    char *text = shown((jm_text_options){0});
    assert_non_null(strstr(text, "\n  0 "));
    assert_non_null(strstr(text, "\n  *    2 "));
    assert_non_null(strstr(text, "\n    0  2 "));
    assert_non_null(strstr(text, "\n    2  2 "));
    assert_null(strchr(strstr(text, "\nlayer "), '(')); /* the table */
    free(text);
}

/* Two kinds of layer in turn, as in a Sequential: "*" would say of neither which they are. */
static void test_lists_that_lie_in_one_another_say_their_numbers(void **state)
{
    (void)state;
    size_t count = 0;
    add(&count, "", "m", "Sequential", 0, 100);
    static const char *const numbers[] = {"0", "1", "2", "3", "4", "5"};
    for (int k = 0; k < 6; k++)
        add(&count, "m", numbers[k], k % 2 == 0 ? "Linear(8, 8)" : "Norm", 1, k % 2 == 0 ? 20 : 10);
    for (size_t i = 0; i < count; i++)
        rows[i].provenance = JM_PROVENANCE_FITTED;
    fake_report = REPORT(rows, 100, 1);
    fake_report.row_count = count;
    char *text = shown((jm_text_options){0});
    assert_non_null(strstr(text, "\n  0,2,4  3 "));
    assert_non_null(strstr(text, "\n  1,3,5  3 "));
    assert_null(strchr(text, '*'));
    free(text);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].type, "Norm") == 0) rows[i].type = "Linear(8, 8)", rows[i].energy_j = 20;
    text = shown((jm_text_options){0});
    assert_non_null(strstr(text, "\n  *    6 "));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_siblings_of_a_class_share_a_row_of_that_name, reset),
        cmocka_unit_test_setup(test_expanded_and_queried_for_they_have_their_names, reset),
        cmocka_unit_test_setup(test_a_class_of_which_some_differ_keeps_its_names, reset),
        cmocka_unit_test_setup(test_what_is_known_or_takes_another_time_keeps_its_name, reset),
        cmocka_unit_test_setup(test_what_has_children_or_no_class_keeps_its_name, reset),
        cmocka_unit_test_setup(test_a_part_that_is_not_as_most_says_of_which_layers_it_is, reset),
        cmocka_unit_test_setup(test_equal_gpus_are_told_apart_by_their_index, reset),
        cmocka_unit_test_setup(test_numbered_layers_of_equal_numbered_ones_keep_their_numbers, reset),
        cmocka_unit_test_setup(test_lists_that_lie_in_one_another_say_their_numbers, reset),
        cmocka_unit_test_setup(test_groups_have_their_class_in_name_and_path, reset),
        cmocka_unit_test_setup(test_in_a_diff_they_share_a_row_if_they_changed_alike, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
