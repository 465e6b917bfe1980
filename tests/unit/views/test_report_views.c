/* The views of a report: table, JSON, CSV. */
#include "base/utf8.h"
#include "fake_report.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GELU                                                                                                 \
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluFunctor<float>, "                     \
    "std::array<char*, 2ul> >(int, at::native::GeluFunctor<float>, std::array<char*, 2ul>)"
#define ADD                                                                                                  \
    "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, "                      \
    "std::array<char*, 2ul> >(int, at::native::AddFunctor<float>, std::array<char*, 2ul>)"

static const jm_row tree[] = {
    FAKE_ROW("blocks", "blocks", "forward", 0, 100, 2.0, 800, 790, 810, 0, 400, 0.8, JM_PROVENANCE_FITTED,
             "0", 10, 20),
    FAKE_ROW("attn", "blocks.attn", "forward", 1, 100, 1.0, 300, 280, 320, 300, 300, 0.3,
             JM_PROVENANCE_FITTED, "0", 10, 15),
    FAKE_ROW("mlp", "blocks.mlp", "forward", 1, 100, 0.75, 400, 385, 415, 400, 533, 0.4, JM_PROVENANCE_FITTED,
             "0", 15, 18),
    FAKE_ROW("mlp", "blocks.mlp", "backward", 1, 100, 0.25, 100, 0, 205, 100, 400, 0.1,
             JM_PROVENANCE_UNRESOLVED, "0", 15, 18),
    FAKE_ROW("idle", "(idle)", "idle", 0, 0, 0, 200, NAN, NAN, 200, NAN, 0.2, JM_PROVENANCE_MEASURED, "0", 0,
             30),
};

static int reset(void **state)
{
    (void)state;
    static const char *const notes[] = {
        "3 records were lost because a ring was full; the rows of process 12 may lack "
        "up to 3 kernels"};
    static const char *const sensors[] = {"0: power_ring", NULL}, *const more[] = {"another", NULL};
    fake_report = (jm_report){
        .rows = tree,
        .row_count = sizeof tree / sizeof *tree,
        .notes = notes,
        .note_count = 1,
        .totals = {.total_energy_j = 1000,
                   .total_low_j = 995,
                   .total_high_j = 1005,
                   .total_source = "energy_counter",
                   .idle_energy_j = 200,
                   .closure = 0.004,
                   .closure_z = 1.25,
                   .duration_s = 4,
                   .residual_w = 21.5,
                   .chi2_n = NAN,
                   .readings = 200,
                   .simulated = true},
        .quality = {.verdict = "fair",
                    .verdict_reason =
                        "a reason that is long enough to be wrapped in a table of eighty columns",
                    .verdict_more = more,
                    .lost_records = 3,
                    .overhead_calls = -1,
                    .overhead_cpu_s = NAN,
                    .overhead_call_s = NAN,
                    .sensors = sensors},
        .options = {.by = JM_BY_LAYER},
    };
    return 0;
}

static char *shown_as(jm_text_options shown)
{
    char *text = NULL;
    jm_error err = {0};
    shown.size = sizeof shown;
    shown.ask_for_notes = "--notes";
    assert_int_equal(jm_report_text(&fake_report, &shown, &text, &err), JM_OK);
    assert_non_null(text);
    return text;
}

static char *text_of(int width, size_t limit)
{
    return shown_as((jm_text_options){.width = width, .limit = limit});
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static size_t widest_line(const char *text)
{
    size_t widest = 0;
    char *copy = strdup(text), *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        size_t columns = jm__utf8_columns(line);
        if (columns > widest) widest = columns;
    }
    free(copy);
    return widest;
}

static void test_table_reads_as_told(void **state)
{
    (void)state;
    char *text = text_of(80, 0);
    assert_string_equal(text,
                        "Energy by layer, SIMULATED GPU\n"
                        "\n"
                        "total     1.0000 ±0.0050 kJ in 4.00 s, 250 W, from energy_counter\n"
                        "verdict   fair: a reason that is long enough to be wrapped in a table of eighty\n"
                        "          columns\n"
                        "also      another\n"
                        "\n"
                        "layer             calls    time      J      ±  power   share  known\n"
                        "blocks              100  2.00 s  800.0    1 %  400 W  80.0 %  fitted\n"
                        "  attn              100  1.00 s  300.0    7 %  300 W  30.0 %  fitted\n"
                        "  mlp (forward)     100  750 ms  400.0    4 %  533 W  40.0 %  fitted\n"
                        "  mlp (backward)    100  250 ms  100.0  102 %  400 W  10.0 %  unresolved\n"
                        "idle                  -       -  200.0      -      -  20.0 %  measured\n"
                        "\n"
                        "1 more note, and how the fit went: --notes\n"
                        "± is half of the 95 % interval, relative to the GPU's own sensor.\n");
    free(text);
    text = shown_as((jm_text_options){.width = 80, .notes = true});
    assert_true(has(text, "measured\n"
                          "\n"
                          "of it     idle 200.0 J, outside 0 J, unresolved 0 J\n"
                          "fit       root mean square residual 21.5 W over 200 readings\n"
                          "closure   the fit by itself comes to 0.40 % more than the total (1.2 standard\n"
                          "          uncertainties)\n"
                          "note      3 records were lost because a ring was full; the rows of process 12\n"
                          "          may lack up to 3 kernels\n"
                          "± is half of the 95 % interval, relative to the GPU's own sensor.\n"));
    assert_false(has(text, "--notes"));
    free(text);
}

static void test_table_fits_every_width(void **state)
{
    (void)state;
    for (int width = 40; width <= 200; width++) {
        char *text = text_of(width, 0);
        assert_in_range(widest_line(text), 30, (size_t)width);
        assert_true(has(text, "    J ") && has(text, "\302\261"));
        assert_true(width < 60 || (has(text, "share") && has(text, "known")));
        free(text);
    }
}

/* 48 of 50 steps are steady, each of 8 samples. */
static void set_steps(void)
{
    jm_report_totals *totals = &fake_report.totals;
    totals->steps = totals->kind_steps = 50;
    totals->steady_steps = 48;
    totals->steady_samples = 384;
    totals->step_name = "step";
    totals->step_phase = "train";
    totals->steady_step_s = 0.1;
    totals->steady_step_j = 19;
    totals->steady_step_low_j = 18.9;
    totals->steady_step_high_j = 19.1;
}

static void test_energies_are_those_of_a_step(void **state)
{
    (void)state;
    set_steps();
    char *text = text_of(200, 0);
    assert_true(has(text, "\neach      19.00 ±0.10 J and 100 ms a step of train, 2.375 ±0.013 J a sample "
                          "(48 of 50 steps, steady)\n"));
    assert_true(has(text, "  J/step  ") && has(text, " 800.0    1 %"));
    free(text);
    text = shown_as((jm_text_options){.width = 80, .total = true});
    assert_true(has(text, "a step of train") && has(text, "  2.00 s  800.0    1 %"));
    assert_false(has(text, "J/step"));
    free(text);
    fake_report.totals.steps = fake_report.totals.steady_steps = 1; /* of one step it is the total */
    text = text_of(80, 0);
    assert_false(has(text, "each"));
    free(text);
}

static void test_a_step_that_was_found_says_what_it_is(void **state)
{
    (void)state;
    set_steps();
    fake_report.totals.step_name = fake_report.totals.steps_found = "batch of a DataLoader";
    fake_report.totals.step_phase = NULL;
    char *text = text_of(200, 0);
    assert_true(has(text,
                    "19.00 ±0.10 J and 100 ms a step, 2.375 ±0.013 J a sample (48 of 50 steps, steady; each "
                    "a batch of a DataLoader)\n"));
    free(text);
}

/* The least columns of a line that begins with spaces and this name. */
static size_t indent_of(const char *text, const char *name)
{
    const char *at = strstr(text, name), *begin = at;
    assert_non_null(at);
    while (begin > text && begin[-1] == ' ')
        begin--;
    return (size_t)(at - begin);
}

/* A long name keeps its place in the tree, and gives up its middle. */
static void test_rows_beside_each_other_have_one_indentation(void **state)
{
    (void)state;
    enum { AROUND = 6, ROWS = AROUND + 2 };
    static const char *const names[ROWS] = {"a", "b", "c",     "d",
                                            "e", "f", "short", "along name which has no room"};
    jm_row rows[ROWS];
    for (int32_t i = 0; i < ROWS; i++) {
        rows[i] = tree[1];
        rows[i].name = rows[i].path = names[i];
        rows[i].depth = i < AROUND ? i : AROUND;
    }
    fake_report.rows = rows;
    fake_report.row_count = ROWS;
    char *text = text_of(40, 0);
    assert_int_equal(indent_of(text, "short"), indent_of(text, "alo"));
    free(text);
    text = text_of(120, 0);
    assert_int_equal(indent_of(text, "short"), 2 * AROUND);
    free(text);
}

/* Pass by pass there is nothing to share out. */
static void test_passes_have_columns_where_a_row_is_of_both(void **state)
{
    (void)state;
    jm_row rows[] = {tree[2], tree[3]};
    rows[0].forward_share = rows[1].backward_share = 1;
    fake_report.rows = rows;
    fake_report.row_count = 2;
    char *text = text_of(100, 0);
    assert_false(has(text, "fwd"));
    free(text);
    rows[0].forward_share = 0.9;
    rows[0].backward_share = 0.1;
    text = text_of(100, 0);
    assert_true(has(text, "  fwd    bwd  ") && has(text, "  90 %   10 %"));
    free(text);
}

#define BLOCK(number, joules, type_)                                                                         \
    {.name = number,                                                                                         \
     .path = "m.layers." number,                                                                             \
     .kind = "layer",                                                                                        \
     .type = "Block",                                                                                        \
     .depth = 2,                                                                                             \
     .calls = 10,                                                                                            \
     .busy_s = 1,                                                                                            \
     .energy_j = joules,                                                                                     \
     .energy_low_j = (joules)-1,                                                                             \
     .energy_high_j = (joules) + 1,                                                                          \
     .share = (joules) / 1000.0,                                                                             \
     .provenance = JM_PROVENANCE_FITTED,                                                                     \
     .boards = "0",                                                                                          \
     .samples = -1},                                                                                         \
    {                                                                                                        \
        .name = "mlp", .path = "m.layers." number ".mlp", .kind = "layer", .type = type_, .depth = 3,        \
        .calls = 10, .busy_s = 0.5, .energy_j = (joules) / 2.0, .energy_low_j = (joules) / 2.0 - 1,          \
        .energy_high_j = (joules) / 2.0 + 1, .share = (joules) / 2000.0,                                     \
        .provenance = number[0] == '2' ? JM_PROVENANCE_WEAK : JM_PROVENANCE_FITTED, .boards = "0",           \
        .samples = -1                                                                                        \
    }

/* Of six blocks four are equal; one takes 20 % more, one has another mlp. */
static const jm_row six_blocks[] = {
    {.name = "m",
     .path = "m",
     .kind = "layer",
     .type = "Net",
     .calls = 10,
     .busy_s = 6,
     .energy_j = 622,
     .energy_low_j = 620,
     .energy_high_j = 624,
     .share = 0.622,
     .boards = "0",
     .samples = -1},
    {.name = "layers",
     .path = "m.layers",
     .kind = "layer",
     .type = "",
     .depth = 1,
     .busy_s = 6,
     .energy_j = 622,
     .energy_low_j = 620,
     .energy_high_j = 624,
     .share = 0.622,
     .boards = "0",
     .samples = -1},
    BLOCK("0", 100, "MLP"),
    BLOCK("1", 101, "MLP"),
    BLOCK("2", 100, "MLP"),
    BLOCK("3", 120, "MLP"),
    BLOCK("4", 101, "Experts"),
    BLOCK("5", 100, "MLP"),
};

static void show_six_blocks(void)
{
    fake_report.rows = six_blocks;
    fake_report.row_count = sizeof six_blocks / sizeof *six_blocks;
}

static void test_equal_layers_share_a_row(void **state)
{
    (void)state;
    show_six_blocks();
    char *text = text_of(80, 0);
    static const char requested[] = "layer      x  calls    time      J      ±  power   share  known\n"
                                    "m          1     10  6.00 s  622.0  0.3 %    0 W  62.2 %  measured\n"
                                    "  layers   1      -  6.00 s  622.0  0.3 %    0 W  62.2 %  measured\n"
                                    "    *      4     10  4.00 s  401.0  0.5 %  100 W  40.1 %  fitted\n"
                                    "      mlp  4     10  2.00 s  200.5    1 %  100 W  20.1 %  weak\n"
                                    "    3      1     10  1.00 s  120.0  0.8 %    0 W  12.0 %  fitted\n"
                                    "      mlp  1     10  500 ms   60.0    2 %    0 W   6.0 %  fitted\n"
                                    "    4      1     10  1.00 s  101.0    1 %    0 W  10.1 %  fitted\n"
                                    "      mlp  1     10  500 ms   50.5    2 %    0 W   5.1 %  fitted\n";
    if (!has(text, requested)) fail_msg("not\n%s\nbut\n%s", requested, text);
    free(text);
    fake_report.row_count -= 8; /* 0 and 1 alone: the list around them is no row */
    text = shown_as((jm_text_options){.width = 80, .depth = 2});
    assert_true(has(text, "\n  layers.*   ") && has(text, "\n1 more row, in these\n"));
    free(text);
    jm_row own[8]; /* a list that draws something itself is a row, and none is equal that ran more often */
    memcpy(own, six_blocks, fake_report.row_count * sizeof *own);
    own[1].energy_self_j = 400;
    own[4].calls = 12;
    fake_report.rows = own;
    text = text_of(80, 0);
    assert_true(has(text, "\n  layers ") && has(text, "\n    0 ") && has(text, "\n    1 "));
    assert_false(has(text, "*"));
    free(text);
    fake_report.rows = six_blocks;
    text = shown_as((jm_text_options){.width = 80, .expand = true});
    assert_true(has(text, "\n  layers     10") == false && has(text, "\n    0 ") && has(text, "\n    1 "));
    assert_false(has(text, "*") || has(text, " x "));
    free(text);
}

static void test_groups_are_the_rows_of_the_table_with_what_they_are_made_of(void **state)
{
    (void)state;
    show_six_blocks();
    jm_groups *groups = NULL;
    assert_int_equal(jm_groups_create(&groups, &fake_report, NULL), JM_OK);
    static const char *const paths[] = {"m",          "m.layers",       "m.layers.*", "m.layers.*.mlp",
                                        "m.layers.3", "m.layers.3.mlp", "m.layers.4", "m.layers.4.mlp"};
    assert_int_equal(jm_group_count(groups), sizeof paths / sizeof *paths);
    for (size_t i = 0; i < jm_group_count(groups); i++)
        assert_string_equal(jm_group_get(groups, i)->path, paths[i]);
    const jm_group *equal = jm_group_get(groups, 2);
    static const size_t members[] = {2, 4, 6, 12};
    assert_int_equal(equal->members, 4);
    assert_memory_equal(equal->rows, members, sizeof members);
    assert_string_equal(equal->name, "*");
    assert_true(equal->energy_j == 401 && equal->calls == 40 && equal->depth == 2);
    assert_true(fabs(equal->energy_high_j - equal->energy_j - 2) < 1e-9); /* of four, each +- 1 */
    assert_true(jm_group_get(groups, 4)->energy_high_j == six_blocks[8].energy_high_j);
    assert_null(jm_group_get(groups, jm_group_count(groups)));
    jm_groups_free(groups);
    char *json = NULL;
    assert_int_equal(jm_report_json(&fake_report, &json, NULL), JM_OK);
    json_t *root = json_loads(json, 0, NULL);
    const json_t *told = json_array_get(json_object_get(root, "groups"), 2);
    assert_int_equal(json_integer_value(json_object_get(told, "members")), 4);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(told, "rows"), 3)), 12);
    assert_true(json_real_value(json_object_get(told, "energy_j")) == 401);
    json_decref(root);
    free(json);
}

/* 30 columns beside the name hold six words of four letters, of however many bytes. */
static void test_lines_are_as_long_as_their_letters_not_their_bytes(void **state)
{
    (void)state;
    static const char *const notes[] = {"ääää ääää ääää ääää ääää ääää ääää ääää"};
    const jm_report before = fake_report;
    fake_report.notes = notes;
    fake_report.note_count = 1;
    fake_report.essential_notes = 1;
    char *text = text_of(40, 0);
    fake_report = before;
    assert_true(has(text, "note      ääää ääää ääää ääää ääää ääää\n          ääää ääää\n"));
    free(text);
}

static void test_limit_shows_the_top_first_and_counts_no_joule_twice(void **state)
{
    (void)state;
    char *text = text_of(80, 3);
    assert_true(has(text, "blocks") && has(text, "idle  ") && has(text, "mlp (forward)"));
    assert_false(has(text, "attn"));
    assert_true(has(text, "2 more rows, in these\n")); /* attn and mlp backward are part of blocks */
    free(text);
    text = text_of(40, 3);
    assert_true(has(text, "\n2 more rows\n")); /* whole words, however narrow */
    free(text);
    text = text_of(80, 1);
    assert_true(has(text, "blocks") && has(text, "4 more rows"));
    assert_false(has(text, "mlp"));
    assert_true(has(text, "200.0  ") &&
                has(text, "20.0 %")); /* of the rows left out only idle is not in blocks */
    free(text);
}

static void test_absent_figures_are_dashes_and_nulls(void **state)
{
    (void)state;
    fake_report.totals.residual_w = NAN;
    fake_report.totals.closure = NAN;
    fake_report.totals.closure_z = NAN;
    char *text = text_of(0, 0), *json = NULL;
    assert_int_equal(jm_report_json(&fake_report, &json, NULL), JM_OK);
    assert_false(has(text, "nan") || has(json, "NaN") || has(json, ": nan"));
    json_t *root = json_loads(json, 0, NULL);
    assert_non_null(root);
    assert_true(json_is_null(json_object_get(root, "residual_w")));
    assert_true(json_is_null(json_object_get(root, "closure")));
    assert_true(json_is_null(json_object_get(json_object_get(root, "overhead"), "calls")));
    const json_t *idle = json_array_get(json_object_get(root, "rows"), 4);
    assert_true(json_is_null(json_object_get(idle, "power_w")));
    assert_true(json_is_null(json_object_get(idle, "energy_low_j")));
    json_decref(root);
    free(text);
    free(json);
}

static void test_json_has_the_promised_keys(void **state)
{
    (void)state;
    static const char *const beside[] = {
        "rows",    "total_energy_j", "idle_energy_j", "outside_energy_j", "closure",
        "quality", "overhead",       "simulated",     "residual_w",       "total_source",
        "by",      "phase",          "duration_s"};
    static const char *const of_row[] = {
        "name",          "path",          "kind",    "calls", "busy_s",     "energy_j", "energy_low_j",
        "energy_high_j", "energy_self_j", "power_w", "share", "provenance", "boards"};
    char *json = NULL;
    assert_int_equal(jm_report_json(&fake_report, &json, NULL), JM_OK);
    json_t *root = json_loads(json, 0, NULL);
    assert_non_null(root);
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        assert_non_null(json_object_get(root, beside[i]));
    const json_t *rows = json_object_get(root, "rows");
    assert_int_equal(json_array_size(rows), 5);
    for (size_t i = 0; i < sizeof of_row / sizeof *of_row; i++)
        assert_non_null(json_object_get(json_array_get(rows, 1), of_row[i]));
    assert_true(json_is_true(json_object_get(root, "simulated")));
    assert_true(json_real_value(json_object_get(json_array_get(rows, 1), "energy_self_j")) == 300);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "quality"), "lost_records")),
                     3);
    json_decref(root);
    free(json);
}

static void test_names_from_elsewhere_do_no_harm(void **state)
{
    (void)state;
    /* a cursor movement, half a character, a quote and a comma */
    static const jm_row rows[] = {FAKE_ROW("\033[2Jx\xc3, \"y\"\n", "p\xff", "nvtx", 0, 1, 1, 1, 1, 1, 1, 1,
                                           1, JM_PROVENANCE_FITTED, "0,1", 0, 1)};
    fake_report.rows = rows;
    fake_report.row_count = 1;
    char *text = text_of(80, 0), *json = NULL;
    assert_false(has(text, "\033"));
    assert_true(has(text, "\xef\xbf\xbd[2Jx\xef\xbf\xbd, \"y\"\xef\xbf\xbd"));
    assert_int_equal(jm_report_json(&fake_report, &json, NULL), JM_OK);
    json_t *root = json_loads(json, 0, NULL);
    assert_non_null(root);
    json_decref(root);

    char *csv = NULL;
    size_t size;
    FILE *out = open_memstream(&csv, &size);
    assert_int_equal(jm_export(NULL, "csv", &fake_report.options, out, NULL), JM_OK);
    fclose(out);
    assert_true(has(csv, "\n\"\033[2Jx\xc3, \"\"y\"\"\n\",p\xff,nvtx,,0,1,"));
    assert_true(has(csv, ",\"0,1\","));
    free(csv);
    free(text);
    free(json);
}

static void test_watts_above_the_limit_have_their_reason_where_they_stand(void **state)
{
    (void)state;
    static const struct {
        double limit_w;
        int width;
        bool said;
    } cases[] = {{100, 200, true}, {1000, 200, false}, {NAN, 200, false}, {100, 40, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fake_report.quality.power_limit_w = cases[i].limit_w;
        char *text = text_of(cases[i].width, 0);
        assert_int_equal(has(text, "More watts than the limit, 100 W: a GPU holds it"), cases[i].said);
        free(text);
    }
}

static void test_csv_leaves_absent_figures_empty(void **state)
{
    (void)state;
    char *csv = NULL;
    size_t size;
    FILE *out = open_memstream(&csv, &size);
    assert_int_equal(jm_export(NULL, "csv", &fake_report.options, out, NULL), JM_OK);
    fclose(out);
    assert_true(has(csv, "\nblocks.attn") == false);
    assert_true(has(
        csv,
        "\nattn,blocks.attn,forward,,1,100,1,300,280,320,300,300,0.3,0.1,300,280,320,fitted,0,10,15,0,,0,0,,"
        "0,,,0,0,true\n"));
    assert_true(
        has(csv, "\nidle,(idle),idle,,0,0,0,200,,,200,,0.2,0,200,,,measured,0,0,30,0,,0,0,,0,,,0,0,true\n"));
    char *own = NULL; /* of a report that is there already */
    assert_int_equal(jm_report_csv(&fake_report, &own, NULL), JM_OK);
    assert_string_equal(own, csv);
    free(own);
    free(csv);
}

static void test_export_that_does_not_reach_the_disk_is_an_error(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    jm_error err = {0};
    assert_int_equal(jm_export(NULL, "json", &fake_report.options, full, &err), JM_DISK_FULL);
    assert_string_equal(err.text, "cannot write the export: No space left on device");
    fclose(full);
    assert_int_equal(jm_export(NULL, "xls", &fake_report.options, stdout, &err), JM_USAGE);
    assert_non_null(strstr(err.text, "\"xls\""));
}

/* Rows stand as the program ran, not by their paths. */
static void test_the_kind_is_said_of_paths_that_two_rows_have(void **state)
{
    (void)state;
#define LAYER(name, kind)                                                                                    \
    FAKE_ROW(name, name, kind, 0, 7, 1, 1, 1, 1, 1, 1, 0.1, JM_PROVENANCE_FITTED, "0", 0, 1)
    static const jm_row rows[] = {LAYER("z", "forward"),  LAYER("c", "forward"), LAYER("a", "forward"),
                                  LAYER("m", "forward"),  LAYER("b", "forward"), LAYER("a", "backward"),
                                  LAYER("z", "backward"), LAYER("k", "forward")};
#undef LAYER
    fake_report.rows = rows;
    fake_report.row_count = sizeof rows / sizeof *rows;
    char *text = text_of(80, 0);
    for (size_t i = 0; i < fake_report.row_count; i++) {
        char line[32];
        bool twice = strchr("az", rows[i].name[0]) != NULL;
        snprintf(line, sizeof line, twice ? "\n%s (%s) " : "\n%s  ", rows[i].name, rows[i].kind);
        if (!has(text, line)) fail_msg("no line \"%s\" in %s", line + 1, text);
    }
    free(text);
}

static void test_kernels_alike_but_for_template_arguments_stay_apart(void **state)
{
    (void)state;
    static const jm_row rows[] = {
        FAKE_ROW(GELU, GELU, "kernel", 0, 7, 1, 1, 1, 1, 1, 1, 0.5, JM_PROVENANCE_FITTED, "0", 0, 1),
        FAKE_ROW(ADD, ADD, "kernel", 0, 7, 1, 1, 1, 1, 1, 1, 0.5, JM_PROVENANCE_FITTED, "0", 0, 1),
        FAKE_ROW("void foo::mystery<int, Very<Long<Template, Arguments>, Which>, Do, Not, Fit>(float*)", "s",
                 "kernel", 0, 7, 1, 1, 1, 1, 1, 1, 0.5, JM_PROVENANCE_FITTED, "0", 0, 1),
    };
    fake_report.rows = rows;
    fake_report.row_count = 3;
    fake_report.options.by = JM_BY_KERNEL;
    char *text = text_of(132, 0);
    assert_true(has(text, "\nmystery<int, Very<>, Do, Not, Fit> "));
    /* the template arguments are what tells these two apart */
    assert_true(has(text, "\nelementwise gelu fp32 ") && has(text, "\nelementwise add fp32 "));
    free(text);
    text = text_of(60, 0);
    assert_true(has(text, "\nmystery<> ") && !has(text, "a call"));
    free(text);
    text = text_of(0, 0);
    assert_true(has(text, "  a call  ") && has(text, "  142.9 mJ  ")); /* a joule of seven calls */
    assert_true(has(text, GELU) && has(text, ADD) && !has(text, "[#"));
    free(text);
}

#define GEMM(shape) "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_" shape "_64x3>(Params)"

static void test_kernels_whose_short_names_are_equal_have_a_number(void **state)
{
    (void)state;
#define KERNEL(name)                                                                                         \
    FAKE_ROW(name, name, "kernel", 0, 7, 1, 1, 1, 1, 1, 1, 0.3, JM_PROVENANCE_FITTED, "0", 0, 1)
    static const jm_row rows[] = {KERNEL(GEMM("256x128_32x4")), KERNEL(GELU), KERNEL(GEMM("256x128_64x4"))};
#undef KERNEL
    fake_report.rows = rows;
    fake_report.row_count = sizeof rows / sizeof *rows;
    fake_report.options.by = JM_BY_KERNEL;
    char *text = text_of(70, 0);
    assert_true(has(text, "\nmatrix pr") && has(text, " [#1]  ") && has(text, " [#3]  "));
    assert_false(has(text, "[#2]"));
    assert_true(widest_line(text) <= 70);
    free(text);
    text = text_of(0, 0);
    assert_true(has(text, GEMM("256x128_32x4")) && !has(text, "[#"));
    free(text);
}

static void test_a_large_report_is_shown_in_full(void **state)
{
    (void)state;
    enum { ROWS = 20000 };
    jm_row *rows = calloc(ROWS, sizeof *rows);
    for (size_t i = 0; i < ROWS; i++) {
        rows[i] = (jm_row)FAKE_ROW(GELU, GELU, "kernel", (int32_t)(i % 90), 1, 1, 1, 1, 1, 1, 1, 1.0 / ROWS,
                                   JM_PROVENANCE_FITTED, "0", 0, 1);
    }
    fake_report.rows = rows;
    fake_report.row_count = ROWS;
    char *text = shown_as((jm_text_options){.width = 100, .expand = true});
    size_t lines = 0;
    for (const char *c = text; *c != '\0'; c++)
        lines += *c == '\n';
    assert_in_range(lines, ROWS + 10, ROWS + 20);
    assert_in_range(widest_line(text), 80, 100);
    free(text);
    free(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_table_reads_as_told, reset),
        cmocka_unit_test_setup(test_kernels_whose_short_names_are_equal_have_a_number, reset),
        cmocka_unit_test_setup(test_energies_are_those_of_a_step, reset),
        cmocka_unit_test_setup(test_a_step_that_was_found_says_what_it_is, reset),
        cmocka_unit_test_setup(test_rows_beside_each_other_have_one_indentation, reset),
        cmocka_unit_test_setup(test_passes_have_columns_where_a_row_is_of_both, reset),
        cmocka_unit_test_setup(test_equal_layers_share_a_row, reset),
        cmocka_unit_test_setup(test_groups_are_the_rows_of_the_table_with_what_they_are_made_of, reset),
        cmocka_unit_test_setup(test_table_fits_every_width, reset),
        cmocka_unit_test_setup(test_lines_are_as_long_as_their_letters_not_their_bytes, reset),
        cmocka_unit_test_setup(test_limit_shows_the_top_first_and_counts_no_joule_twice, reset),
        cmocka_unit_test_setup(test_absent_figures_are_dashes_and_nulls, reset),
        cmocka_unit_test_setup(test_json_has_the_promised_keys, reset),
        cmocka_unit_test_setup(test_names_from_elsewhere_do_no_harm, reset),
        cmocka_unit_test_setup(test_watts_above_the_limit_have_their_reason_where_they_stand, reset),
        cmocka_unit_test_setup(test_csv_leaves_absent_figures_empty, reset),
        cmocka_unit_test_setup(test_export_that_does_not_reach_the_disk_is_an_error, reset),
        cmocka_unit_test_setup(test_the_kind_is_said_of_paths_that_two_rows_have, reset),
        cmocka_unit_test_setup(test_kernels_alike_but_for_template_arguments_stay_apart, reset),
        cmocka_unit_test_setup(test_a_large_report_is_shown_in_full, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
