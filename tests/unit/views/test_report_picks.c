/* What a reader asks a table for: rows by pattern or number, in an order, with colours. */
#include "base/utf8.h"
#include "fake_report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LAYER(name, path, depth, calls, seconds, joules, own, how)                                           \
    FAKE_ROW(name, path, "layer", depth, calls, seconds, joules, joules - 1, joules + 1, own, 100,           \
             joules / 1000., how, "0", 0, 1)

static const jm_row layers[] = {
    LAYER("net", "net", 0, 5, 9, 900, 100, JM_PROVENANCE_FITTED),
    LAYER("a", "net.a", 1, 5, 2, 300, 50, JM_PROVENANCE_FITTED),
    LAYER("norm", "net.a.norm", 2, 5, 1, 250, 250, JM_PROVENANCE_WEAK),
    LAYER("b2", "net.b2", 1, 9, 4, 200, 200, JM_PROVENANCE_FITTED),
    LAYER("b10", "net.b10", 1, 5, 3, 300, 0, JM_PROVENANCE_FITTED),
    LAYER("norm", "net.b10.norm", 2, 5, 3, 300, 300, JM_PROVENANCE_FITTED),
    LAYER("inner", "net.b10.norm.inner", 3, 5, 1, 100, 100, JM_PROVENANCE_FITTED),
    FAKE_ROW("(idle)", "(idle)", "idle", 0, 0, 1, 100, 99, 101, 100, 100, 0.1, JM_PROVENANCE_FITTED, "0", 0,
             1),
};

static const jm_row kernels[] = {
    FAKE_ROW("void gemm<float>(int)", "_Z4gemmIfEvi", "kernel", 0, 5, 1, 600, 599, 601, 600, 1, 0.6,
             JM_PROVENANCE_FITTED, "0", 0, 1),
    FAKE_ROW("softmax_forward", "softmax_forward", "kernel", 0, 5, 1, 400, 399, 401, 400, 1, 0.4,
             JM_PROVENANCE_FITTED, "0", 0, 1),
};

static int reset(void **state)
{
    (void)state;
    fake_report = (jm_report){
        .rows = layers,
        .row_count = sizeof layers / sizeof *layers,
        .totals = {.total_energy_j = 1000, .duration_s = 4, .closure = NAN, .steps = -1, .samples = -1},
        .quality = {.verdict = "good", .verdict_reason = "nothing stands against it"},
        .options = {.by = JM_BY_LAYER},
    };
    return 0;
}

static int reset_to_kernels(void **state)
{
    reset(state);
    fake_report.rows = kernels;
    fake_report.row_count = sizeof kernels / sizeof *kernels;
    fake_report.options.by = JM_BY_KERNEL;
    return 0;
}

/* The names of the table, one a line, as far as they are indented. */
static void assert_names(jm_text_options shown, const char *requested)
{
    char *text = NULL, names[512] = "";
    jm_error err = {0};
    shown.size = sizeof shown;
    shown.width = 100;
    if (jm_report_text(&fake_report, &shown, &text, &err) != JM_OK) fail_msg("%s", err.text);
    const char *at = strstr(text, "known\n");
    for (at = at == NULL ? "\n" : at + 6; *at != '\n'; at = strchr(at, '\n') + 1) {
        size_t indent = strspn(at, " ");
        strncat(names, at, indent + strcspn(at + indent, " "));
        strcat(names, "\n");
    }
    assert_string_equal(names, requested);
    free(text);
}

static void test_rows_are_in_the_order_queried_for(void **state)
{
    (void)state;
    assert_names((jm_text_options){0}, "net\n  a\n    norm\n  b2\n  b10\n    norm\n      inner\n(idle)\n");
    static const struct {
        jm_sort sort;
        const char *names;
    } orders[] = {
        {JM_SORT_ENERGY, "net\n  a\n    norm\n  b10\n    norm\n      inner\n  b2\n(idle)\n"},
        {JM_SORT_SELF, "net\n  b2\n  a\n    norm\n  b10\n    norm\n      inner\n(idle)\n"},
        {JM_SORT_TIME, "net\n  b2\n  b10\n    norm\n      inner\n  a\n    norm\n(idle)\n"},
        {JM_SORT_CALLS, "net\n  b2\n  a\n    norm\n  b10\n    norm\n      inner\n(idle)\n"},
        {JM_SORT_NAME, "(idle)\nnet\n  a\n    norm\n  b2\n  b10\n    norm\n      inner\n"},
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        assert_names((jm_text_options){.sort = orders[i].sort}, orders[i].names);
}

static void test_rows_without_a_figure_come_last(void **state)
{
    (void)state;
    jm_row rows[] = {layers[7], layers[3], layers[4]};
    rows[0].energy_j = rows[0].energy_low_j = rows[0].energy_high_j = NAN;
    rows[1].depth = rows[2].depth = 0;
    fake_report.rows = rows;
    fake_report.row_count = 3;
    assert_names((jm_text_options){.sort = JM_SORT_ENERGY}, "b10\nb2\n(idle)\n");
}

/* Two boards, of which no sensor tells one: it is shown, after the other, however few rows there may be. */
static void test_a_row_at_the_top_that_no_sensor_tells_is_shown(void **state)
{
    (void)state;
    jm_row rows[] = {layers[7], layers[0], layers[1], layers[2], layers[4]};
    rows[0].energy_j = rows[0].energy_low_j = rows[0].energy_high_j = rows[0].power_w = rows[0].share = NAN;
    fake_report.rows = rows;
    fake_report.row_count = sizeof rows / sizeof *rows;
    assert_names((jm_text_options){.limit = 2}, "(idle)\nnet\n3\n");
    assert_names((jm_text_options){.limit = 1}, "net\n4\n"); /* what is known first */
    jm_text_options shown = {.size = sizeof shown, .limit = 2};
    char *text = NULL;
    assert_int_equal(jm_report_text(&fake_report, &shown, &text, NULL), JM_OK);
    if (strstr(text, "\n(idle)                     -  1.00 s      -      -      -       -  fitted\n") == NULL)
        fail_msg("%s", text);
    free(text);
}

/* The blocks were called 4 times each, 8 together; "b2" 6 times. */
static void test_equal_layers_are_sorted_by_the_calls_that_are_told(void **state)
{
    (void)state;
    jm_row rows[] = {layers[0], layers[3], layers[1], layers[4]};
    rows[1].calls = 6;
    rows[2].calls = rows[3].calls = 4;
    rows[2].name = "0";
    rows[2].path = "net.0";
    rows[3].name = "1";
    rows[3].path = "net.1";
    fake_report.rows = rows;
    fake_report.row_count = sizeof rows / sizeof *rows;
    assert_names((jm_text_options){.sort = JM_SORT_CALLS}, "net\n  b2\n  *\n");
}

static void test_a_pattern_picks_rows_with_what_is_in_them(void **state)
{
    (void)state;
    assert_names((jm_text_options){.match = "norm"}, "net.a.norm\nnet.b10.norm\n  inner\n");
    assert_names((jm_text_options){.match = "net.b*"}, "net.b2\nnet.b10\n  norm\n    inner\n");
    assert_names((jm_text_options){.match = "net.b10.norm"}, "net.b10.norm\n  inner\n");
    assert_names((jm_text_options){.match = "norm", .depth = 1}, "net.a.norm\nnet.b10.norm\n1\n");
    assert_names((jm_text_options){.match = "norm", .sort = JM_SORT_ENERGY},
                 "net.b10.norm\n  inner\nnet.a.norm\n");
}

/* Blocks of which a reader wants one are not shown as all of them. */
static void test_a_pattern_unfolds_what_it_picks(void **state)
{
    (void)state;
#define BLOCK(n)                                                                                             \
    LAYER(#n, "net.layers." #n, 2, 5, 2, 200, 0, JM_PROVENANCE_FITTED),                                      \
        LAYER("attn", "net.layers." #n ".attn", 3, 5, 1, 120, 120, JM_PROVENANCE_FITTED),                    \
        LAYER("mlp", "net.layers." #n ".mlp", 3, 5, 1, 80, 80, JM_PROVENANCE_FITTED)
    static const jm_row blocks[] = {
        LAYER("net", "net", 0, 5, 9, 900, 100, JM_PROVENANCE_FITTED),
        LAYER("layers", "net.layers", 1, 0, 8, 800, 0, JM_PROVENANCE_FITTED),
        BLOCK(0),
        BLOCK(1),
        BLOCK(2),
        BLOCK(3),
    };
    fake_report.rows = blocks;
    fake_report.row_count = sizeof blocks / sizeof *blocks;
    assert_names((jm_text_options){0}, "net\n  layers.*\n    attn\n    mlp\n");
    assert_names((jm_text_options){.match = "layers.3"}, "net.layers.3\n  attn\n  mlp\n");
    assert_names((jm_text_options){.match = "*.layers.3"}, "net.layers.3\n  attn\n  mlp\n");
    assert_names((jm_text_options){.match = "layers.2.mlp"}, "net.layers.2.mlp\n");
    assert_names((jm_text_options){.row = 3}, "net.layers.0\n  attn\n  mlp\n");
    assert_names((jm_text_options){.match = "net.layers.[01]"}, "net.layers.*\n  attn\n  mlp\n");
    assert_names((jm_text_options){.match = "layers"}, "net.layers.*\n  attn\n  mlp\n");
    assert_names((jm_text_options){.match = "*.mlp"}, "net.layers.*.mlp\n");
}

/* Of a number that is the same in all of them it says the number. */
static void test_equal_layers_are_called_what_their_paths_have_in_common(void **state)
{
    (void)state;
#define EXPERTS(n)                                                                                           \
    LAYER(#n, "net.layers." #n, 2, 5, 2, 200, 0, JM_PROVENANCE_FITTED),                                      \
        LAYER("experts", "net.layers." #n ".experts", 3, 0, 2, 200, 0, JM_PROVENANCE_FITTED),                \
        LAYER("0", "net.layers." #n ".experts.0", 4, 5, 1, 100, 100, JM_PROVENANCE_FITTED),                  \
        LAYER("1", "net.layers." #n ".experts.1", 4, 5, 1, 100, 100, JM_PROVENANCE_FITTED)
    static const jm_row layers_of_experts[] = {
        LAYER("net", "net", 0, 5, 9, 500, 100, JM_PROVENANCE_FITTED),
        LAYER("layers", "net.layers", 1, 0, 8, 400, 0, JM_PROVENANCE_FITTED),
        EXPERTS(0),
        EXPERTS(1),
    };
    fake_report.rows = layers_of_experts;
    fake_report.row_count = sizeof layers_of_experts / sizeof *layers_of_experts;
    assert_names((jm_text_options){.match = "experts.1"}, "net.layers.*.experts.1\n");
    assert_names((jm_text_options){.match = "*.experts.?"}, "net.layers.*.experts.*\n");
    assert_names((jm_text_options){.match = "layers.1.experts.0"}, "net.layers.1.experts.0\n");
}

static void test_a_row_picks_itself_by_its_number(void **state)
{
    (void)state;
    assert_names((jm_text_options){.row = 6}, "net.b10.norm\n  inner\n");
    assert_names((jm_text_options){.row = 8}, "(idle)\n");
}

static void test_kernels_are_found_by_a_part_of_their_name(void **state)
{
    (void)state;
    char *text = NULL;
    assert_names((jm_text_options){.match = "SoftMax"}, "softmax_forward\n");
    assert_names((jm_text_options){.match = "_Z4gemm*"}, "gemm\n");
    assert_names((jm_text_options){.match = "void gemm*"}, "gemm\n");
    const jm_text_options shown = {.size = sizeof shown, .row = 1};
    assert_int_equal(jm_report_text(&fake_report, &shown, &text, NULL), JM_OK);
    assert_non_null(strstr(text, "\n\nvoid gemm<float>(int)\n\n"));
    free(text);
}

#define EIGHT_CHARACTERS                                                                                     \
    "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0"   \
    "\x9f\x98\x80\xf0\x9f\x98\x80"

/* A cell has 40 bytes: names of four-byte characters are cut between them. */
static void test_a_place_is_cut_between_characters(void **state)
{
    (void)state;
    jm_row rows[] = {kernels[0], FAKE_ROW("host late, < 1 ms", "(idle)/late", "gap", 0, 5, 1, 400, 399, 401,
                                          400, 1, 0.4, JM_PROVENANCE_FITTED, "0", 0, 1)};
    rows[0].mostly_at = rows[1].mostly_at = EIGHT_CHARACTERS EIGHT_CHARACTERS " (backward)";
    rows[0].mostly_share = rows[1].mostly_share = 1;
    fake_report.rows = rows;
    jm_text_options shown = {.size = sizeof shown};
    char *text = NULL;
    assert_int_equal(jm_report_text(&fake_report, &shown, &text, NULL), JM_OK);
    for (const char *at = text; *at != '\0'; at += jm__utf8_character(at))
        if (jm__utf8_character(at) == 0) fail_msg("no UTF-8: %s", at);
    if (strstr(text, "\xf0\x9f\x98\x80\xe2\x80\xa6 bwd 100 %  fitted\n") == NULL) fail_msg("%s", text);
    if (strstr(text, "\xf0\x9f\x98\x80\xe2\x80\xa6 bwd  ") == NULL) fail_msg("%s", text);
    free(text);
}

static void test_what_is_not_there_is_an_error_that_shows_what_is(void **state)
{
    (void)state;
    char *text = NULL;
    jm_error err = {0};
    jm_text_options shown = {.size = sizeof shown,
                             .match = "nor"}; /* the end of a name is no part of a path */
    assert_int_equal(jm_report_text(&fake_report, &shown, &text, &err), JM_USAGE);
    assert_non_null(strstr(err.text, "net.b10.norm.inner"));
    shown = (jm_text_options){.size = sizeof shown, .row = 9};
    assert_int_equal(jm_report_text(&fake_report, &shown, &text, &err), JM_USAGE);
    assert_non_null(strstr(err.text, "#9"));
    shown = (jm_text_options){.size = sizeof shown, .row = 1, .match = "net"};
    assert_int_equal(jm_report_text(&fake_report, &shown, &text, &err), JM_USAGE);
    assert_non_null(strstr(err.text, "exclude each other"));
    assert_null(text);
}

static void test_colours_are_there_only_when_queried_for(void **state)
{
    (void)state;
    char *plain = NULL, *coloured = NULL;
    jm_text_options shown = {.size = sizeof shown, .width = 80};
    assert_int_equal(jm_report_text(&fake_report, &shown, &plain, NULL), JM_OK);
    shown.colour = true;
    assert_int_equal(jm_report_text(&fake_report, &shown, &coloured, NULL), JM_OK);
    assert_null(strchr(plain, '\033'));
    assert_non_null(strstr(coloured, "\033[32mverdict   good"));
    assert_non_null(strstr(coloured, "\033[2m    norm ")); /* weak, alone in its colour */
    size_t kept = 0;
    for (char *c = coloured; *c != '\0'; c++) { /* and nothing else is different */
        if (*c == '\033') c += strcspn(c, "m") + 1;
        while (*c == '\033')
            c += strcspn(c, "m") + 1;
        if (*c == '\0') break;
        coloured[kept++] = *c;
    }
    coloured[kept] = '\0';
    assert_string_equal(coloured, plain);
    free(plain);
    free(coloured);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_rows_are_in_the_order_queried_for, reset),
        cmocka_unit_test_setup(test_rows_without_a_figure_come_last, reset),
        cmocka_unit_test_setup(test_a_row_at_the_top_that_no_sensor_tells_is_shown, reset),
        cmocka_unit_test_setup(test_equal_layers_are_sorted_by_the_calls_that_are_told, reset),
        cmocka_unit_test_setup(test_a_pattern_picks_rows_with_what_is_in_them, reset),
        cmocka_unit_test_setup(test_a_pattern_unfolds_what_it_picks, reset),
        cmocka_unit_test_setup(test_equal_layers_are_called_what_their_paths_have_in_common, reset),
        cmocka_unit_test_setup(test_a_row_picks_itself_by_its_number, reset),
        cmocka_unit_test_setup(test_kernels_are_found_by_a_part_of_their_name, reset_to_kernels),
        cmocka_unit_test_setup(test_a_place_is_cut_between_characters, reset_to_kernels),
        cmocka_unit_test_setup(test_what_is_not_there_is_an_error_that_shows_what_is, reset),
        cmocka_unit_test_setup(test_colours_are_there_only_when_queried_for, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
