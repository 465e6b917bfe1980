/* The page of a report: its data are whole and bounded, and nothing in them can run. */
#include "attribute/input/span_index.h"
#include "attribute/report.h"
#include "fake_report.h"
#include "page/parts.h"
#include "proof.h"

#include <jansson.h>
#include <joulemap/page.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HOSTILE  "</script><script>alert(1)</script><!--<script>"
#define REVERSED "\xe2\x80\xaegnp.exe\xe2\x80\xa8\"quoted\"\n\t'"

static const jm_row tree[] = {
    FAKE_ROW(HOSTILE, "net." HOSTILE, "forward", 0, 100, 2.0, 800, 790, 810, 100, 400, 0.8,
             JM_PROVENANCE_FITTED, "0", 10, 20),
    FAKE_ROW(REVERSED, REVERSED, "forward", 1, 100, 1.0, 300, 280, 320, 300, 300, 0.3, JM_PROVENANCE_FITTED,
             "0", 10, 15),
    FAKE_ROW("mlp", "net.mlp", "forward", 1, 100, 0.75, 400, NAN, NAN, 400, NAN, 0.4, JM_PROVENANCE_WEAK, "0",
             15, 18),
    FAKE_ROW("(idle)", "(idle)", "idle", 0, 0, 1, 200, NAN, NAN, 150, NAN, 0.2, JM_PROVENANCE_MEASURED, "0",
             0, 30),
    FAKE_ROW("waiting, > 20 ms", "(idle)/waiting, > 20 ms", "gap", 1, 3, 1, 50, 40, 60, 50, 50, 0.05,
             JM_PROVENANCE_FITTED, "0", 0, 30),
};

static jm__dataset dataset;
static jm_board board = {.name = "NVIDIA H200", .power_limit_w = NAN, .clock_limit_mhz = NAN};
static jm_report_board boards[1];

static int reset(void **state)
{
    (void)state;
    static const char *const notes[] = {"one <b>note</b>"};
    dataset = (jm__dataset){0};
    boards[0] = (jm_report_board){.board = &board, .energy_j = 1000};
    fake_report = (jm_report){
        .rows = tree,
        .row_count = sizeof tree / sizeof *tree,
        .notes = notes,
        .note_count = 1,
        .boards = boards,
        .board_count = 1,
        .dataset = &dataset,
        .totals = {JM_TOTALS_FIELDS(JM_NOTHING_YET)},
        .quality = {JM_QUALITY_FIELDS(JM_NOTHING_YET)},
    };
    fake_report.totals.total_energy_j = 1000;
    fake_report.totals.total_low_j = 990;
    fake_report.totals.total_high_j = 1010;
    fake_report.totals.duration_s = 3;
    fake_report.quality.verdict = "good";
    return 0;
}

static jm_status write_page(char **text, size_t *size, jm_error *err)
{
    const jm_page_run run = {.size = sizeof run, .name = "a <run>", .report = &fake_report};
    FILE *out = open_memstream(text, size);
    assert_non_null(out);
    jm_status status = jm_page_write(&run, out, err);
    fclose(out);
    return status;
}

/* The page; without node there is none, and the error says so. */
static char *page_text(size_t *size)
{
    char *text;
    jm_error err = {0};
    jm_status status = write_page(&text, size, &err);
    if (status == JM_NOT_SUPPORTED) {
        assert_non_null(strstr(err.text, "without the page"));
        assert_non_null(strstr(err.hint, "node 18"));
        free(text);
        skip();
    }
    assert_int_equal(status, JM_OK);
    return text;
}

static const char data_begins[] = "<script id=\"data\" type=\"application/json\">";

static json_t *data_of(const char *text)
{
    const char *begin = strstr(text, data_begins), *end;
    assert_non_null(begin);
    begin += strlen(data_begins);
    end = strstr(begin, "</script>");
    assert_non_null(end);
    json_error_t error;
    json_t *data = json_loadb(begin, (size_t)(end - begin), 0, &error);
    if (data == NULL) fail_msg("%s at %d", error.text, error.position);
    return data;
}

static const json_t *column(const json_t *data, const char *table, const char *name)
{
    const json_t *run = json_array_get(json_object_get(data, "runs"), 0);
    const json_t *found = json_object_get(json_object_get(run, table), name);
    assert_non_null(found);
    return found;
}

static double sum_of(const json_t *values)
{
    double sum = 0;
    for (size_t i = 0; i < json_array_size(values); i++)
        sum += json_number_value(json_array_get(values, i));
    return sum;
}

static void test_no_name_ends_the_element_that_it_stands_in(void **state)
{
    (void)state;
    size_t size, scripts = 0;
    char *text = page_text(&size);
    for (const char *at = text; (at = strstr(at, "<script")) != NULL; at++)
        scripts++;
    assert_int_equal(scripts, 2); /* data and program */
    assert_null(strstr(text, "alert(1)</"));
    assert_null(strstr(text, "\xe2\x80\xa8"));
    json_t *data = data_of(text);
    const json_t *names = column(data, "rows", "name");
    assert_string_equal(json_string_value(json_array_get(names, 0)), HOSTILE);
    assert_string_equal(json_string_value(json_array_get(names, 1)), REVERSED);
    json_decref(data);
    free(text);
}

static void check_place(const json_t *data, const char *name, size_t row, const char *requested)
{
    const char *place = json_string_value(json_array_get(column(data, "rows", name), row));
    if (requested == NULL)
        assert_null(place);
    else
        assert_string_equal(place, requested);
}

/* Of at least half of the row; as in a table, a column that names no layer has nothing. */
static void test_places_are_told_as_in_a_table(void **state)
{
    (void)state;
    enum { NET, REVERSED_ROW, MLP, IDLE, WAITING, ROWS };
    size_t size;
    jm_row rows[ROWS];
    memcpy(rows, tree, sizeof rows);
    rows[NET].mostly_at = "(no layer)";
    rows[REVERSED_ROW].mostly_at = "net.*";
    rows[MLP].mostly_at = "net.mlp";
    rows[WAITING].mostly_at = "(no layer)";
    for (size_t i = 0; i < ROWS; i++)
        rows[i].mostly_share = i == REVERSED_ROW ? 0.49 : 0.5;
    fake_report.rows = rows;
    char *text = page_text(&size);
    json_t *data = data_of(text);
    check_place(data, "mostly_in", NET, "(no layer)");
    check_place(data, "mostly_in", REVERSED_ROW, NULL);
    check_place(data, "mostly_in", MLP, "net.mlp");
    check_place(data, "mostly_in", WAITING, NULL);
    check_place(data, "mostly_before", WAITING, NULL);
    json_decref(data);
    free(text);
    rows[MLP].mostly_at = "(no layer)";
    rows[WAITING].mostly_at = "net.mlp";
    text = page_text(&size);
    data = data_of(text);
    check_place(data, "mostly_in", MLP, NULL);
    check_place(data, "mostly_before", WAITING, "net.mlp");
    json_decref(data);
    free(text);
}

static void test_what_is_missing_is_null(void **state)
{
    (void)state;
    size_t size;
    char *text = page_text(&size);
    json_t *data = data_of(text);
    assert_true(json_is_null(json_array_get(column(data, "rows", "low_j"), 2)));
    assert_true(json_is_null(json_array_get(column(data, "rows", "power_w"), 2)));
    assert_true(json_is_null(column(data, "summary", "steps")));
    assert_true(json_is_null(
        json_array_get(json_object_get(json_array_get(column(data, "power", "boards"), 0), "clock_mhz"), 0)));
    json_decref(data);
    free(text);
}

static void test_answers_name_the_dearest_and_what_is_waited_for(void **state)
{
    (void)state;
    size_t size;
    char *text = page_text(&size);
    json_t *data = data_of(text);
    const json_t *facts = json_object_get(json_array_get(json_object_get(data, "runs"), 0), "facts");
    const char *waiting = NULL, *most = NULL;
    for (size_t i = 0; i < json_array_size(facts); i++) {
        const char *what = json_string_value(json_array_get(json_array_get(facts, i), 0));
        const char *said = json_string_value(json_array_get(json_array_get(facts, i), 1));
        if (strcmp(what, "waiting") == 0) waiting = said;
        if (strcmp(what, "costs most") == 0) most = said;
    }
    assert_non_null(most);
    assert_non_null(strstr(most, ".mlp: 400.0 J, 40.0 % of the total"));
    assert_non_null(waiting);
    assert_non_null(strstr(waiting, "most of it waiting, > 20 ms: 50 \302\26110 J in 1.00 s"));
    json_decref(data);
    free(text);
}

/* What the page says of waiting that is no idle time: one sentence after the other. */
static void assert_waits(double copy_s, double collective_wait_s, int64_t gpu, const char *requested)
{
    size_t size;
    char said[400] = "";
    fake_report.totals.copy_s = copy_s;
    fake_report.totals.copy_energy_j = 3.1;
    fake_report.totals.collective_wait_s = collective_wait_s;
    fake_report.totals.collective_wait_energy_j = 26;
    fake_report.totals.collective_wait_gpu = gpu;
    char *text = page_text(&size);
    json_t *data = data_of(text);
    const json_t *waits = json_object_get(json_array_get(json_object_get(data, "runs"), 0), "waits");
    assert_true(json_is_array(waits));
    for (size_t i = 0; i < json_array_size(waits); i++)
        snprintf(said + strlen(said), sizeof said - strlen(said), "%s.",
                 json_string_value(json_array_get(waits, i)));
    assert_string_equal(said, requested);
    json_decref(data);
    free(text);
}

/* Of 0.5 % of the GPU's 3 s or more, and only where it is known. */
static void test_waiting_inside_of_work_is_told_where_it_matters(void **state)
{
    (void)state;
    assert_waits(NAN, NAN, -1, "");
    assert_waits(0.0149, 0.0149, 1, "");
    assert_waits(
        0.0151, 0, -1,
        "copies with no kernel beside them: 15.1 ms, 3.100 J (counted in the rows that launched them).");
    assert_waits(
        0, 0.12, 1,
        "collectives waited for the slowest rank, mostly GPU 1: 120 ms, 26.00 J (counted in their rows).");
    assert_waits(0, 0.12, -1,
                 "collectives waited for the slowest rank: 120 ms, 26.00 J (counted in their rows).");
}

enum { LONG_NAME = 3000 };

/* Several times as many as a page has. */
static int many(void)
{
    return proof_some(60000, 6000);
}

/* Children of one model, with names as long as C++ has them. The caller frees rows and the first name. */
static jm_row *many_rows(void)
{
    jm_row *rows = calloc((size_t)many(), sizeof *rows);
    char *name = malloc(LONG_NAME + 1);
    assert_non_null(rows);
    assert_non_null(name);
    memset(name, 'x', LONG_NAME);
    name[LONG_NAME] = '\0';
    rows[0] = (jm_row)FAKE_ROW(name, "model", "forward", 0, 1, 1, 2 * many(), NAN, NAN, many() + 1, 1, 1,
                               JM_PROVENANCE_FITTED, "0", 0, 1);
    for (int i = 1; i < many(); i++)
        rows[i] = (jm_row)FAKE_ROW(name, name, "forward", 1, 1, 1e-3, 1, 0.5, 1.5, 1, 1, 1e-4,
                                   JM_PROVENANCE_FITTED, "0", 0, 1);
    fake_report.rows = rows;
    fake_report.row_count = (size_t)many();
    return rows;
}

static void free_rows(jm_row *rows)
{
    free((void *)(uintptr_t)rows[0].name);
    free(rows);
}

static void test_many_rows_are_bounded_and_add_up(void **state)
{
    (void)state;
    size_t size;
    jm_row *rows = many_rows();
    char *text = page_text(&size);
    assert_true(size < 5000000);
    json_t *data = data_of(text);
    const json_t *left = column(data, "rows", "left_out");
    double shown_j = sum_of(column(data, "rows", "own_j"));
    double left_j = json_number_value(json_object_get(left, "energy_j"));
    assert_true(json_integer_value(json_object_get(left, "rows")) > 0);
    assert_true(fabs(shown_j + left_j - 2.0 * many()) < 0.02); /* seven digits */
    json_decref(data);
    free(text);
    free_rows(rows);
}

static void test_rows_without_a_figure_are_left_out_first(void **state)
{
    (void)state;
    enum { ROWS = 40 };
    jm_row rows[ROWS];
    jm__page_lines lines;
    for (size_t i = 0; i < ROWS; i++) { /* most of them are not known, and took long */
        rows[i] = tree[0];
        rows[i].name = rows[i].path = "row";
        rows[i].type = "";
        rows[i].energy_j = i % 8 == 5 ? (double)i : NAN;
        rows[i].busy_s = i % 8 == 5 ? 1 : i % 3 == 0 ? NAN : 1000;
    }
    fake_report.rows = rows;
    fake_report.row_count = ROWS;
    fake_report.options.by = JM_BY_KERNEL;
    assert_int_equal(jm__page_lines_make(&lines, &fake_report, true, 5, NULL), JM_OK);
    assert_int_equal(lines.items.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_true(lines.items.items[i].row->energy_j == (double)(8 * i + 5));
    jm__page_lines_free(&lines);
}

/* Each walks through the whole report. */
static void test_so_many_intervals_are_found_and_no_more(void **state)
{
    (void)state;
    enum { LISTS = 600, EACH = 3 };
    static jm_row rows[EACH * LISTS];
    static char names[LISTS][16];
    size_t sums = 0;
    jm__page_lines lines;
    for (size_t i = 0; i < LISTS; i++) { /* a list with two equal layers */
        jm_row *list = &rows[EACH * i];
        snprintf(names[i], sizeof names[i], "list%zu", i);
        for (size_t k = 0; k < EACH; k++) {
            list[k] = tree[0];
            list[k].name = list[k].path = k == 0 ? names[i] : k == 1 ? "0" : "1";
            list[k].type = names[i];
            list[k].depth = k > 0;
            list[k].calls = 1;
            list[k].energy_j = i % 100 == 0 ? NAN : k == 0 ? 2 * (double)i : (double)i;
        }
    }
    fake_report.rows = rows;
    fake_report.row_count = EACH * LISTS;
    fake_report.options.by = JM_BY_LAYER;
    fake_report.sums = &sums;
    assert_int_equal(jm__page_lines_make(&lines, &fake_report, false, 2000, NULL), JM_OK);
    assert_int_equal(lines.items.count, 2 * LISTS);
    assert_int_equal(sums, 500);
    for (size_t i = 0; i < lines.items.count; i++) /* those of most energy: 594 are known */
        if (lines.items.items[i].members > 1)
            assert_int_equal(isfinite(lines.items.items[i].row->energy_low_j),
                             lines.items.items[i].row->energy_j >= 2 * 95);
    jm__page_lines_free(&lines);
}

static void test_a_full_disk_is_an_error(void **state)
{
    (void)state;
    const jm_page_run run = {.size = sizeof run, .report = &fake_report};
    jm_error err = {0};
    FILE *out = fopen("/dev/full", "w");
    assert_non_null(out);
    jm_status status = jm_page_write(&run, out, &err);
    fclose(out);
    if (status == JM_NOT_SUPPORTED) skip();
    assert_int_equal(status, JM_DISK_FULL);
    assert_non_null(strstr(err.text, "No space left"));
}

static void test_a_page_of_single_spans_is_refused(void **state)
{
    (void)state;
    char *text;
    size_t size;
    jm_error err = {0};
    fake_report.options.by = JM_BY_SPAN;
    assert_int_equal(write_page(&text, &size, &err), JM_USAGE);
    assert_int_equal(size, 0);
    free(text);
}

static void test_spans_are_queried_for_where_steps_are_told(void **state)
{
    (void)state;
    assert_false(jm_page_wants_spans(&fake_report));
    fake_report.totals.steps = 10;
    assert_true(jm_page_wants_spans(&fake_report));
    jm_row busy = tree[0];
    busy.calls = 10000000;
    fake_report.rows = &busy;
    fake_report.row_count = 1;
    assert_false(jm_page_wants_spans(&fake_report));
}

static void test_a_fragment_is_small_and_escaped(void **state)
{
    (void)state;
    char *text, left[32];
    assert_int_equal(jm_report_fragment(&fake_report, 20, &text, NULL), JM_OK);
    assert_null(strstr(text, "<script"));
    assert_non_null(strstr(text, "<bdi>&lt;/script&gt;&lt;script&gt;alert(1)"));
    assert_non_null(strstr(text, "&quot;quoted&quot;"));
    assert_non_null(strstr(text, ">-</td>")); /* the interval that is missing */
    size_t cells = 0, heads = 0;
    for (const char *at = text; (at = strstr(at, "<td")) != NULL; at++)
        cells++;
    for (const char *at = text; (at = strstr(at, "<tr")) != NULL; at++)
        heads++;
    assert_int_equal(cells, 4 * (heads - 1)); /* a name and three figures a row, but for the head */
    free(text);

    jm_row *rows = many_rows();
    fake_report.options.by = JM_BY_KERNEL; /* layers of one name would share a row */
    assert_int_equal(jm_report_fragment(&fake_report, 20, &text, NULL), JM_OK);
    assert_true(strlen(text) < 20000);
    snprintf(left, sizeof left, "%d more rows", many() - 20);
    assert_non_null(strstr(text, left));
    free(text);
    free_rows(rows);
}

/* ---- a page that is served */

static json_t *part_of(const jm_page_run *run)
{
    char *text;
    jm_error err;
    assert_int_equal(jm_page_data(&run, 1, NULL, &text, &err), JM_OK);
    json_t *data = json_loads(text, 0, NULL);
    assert_non_null(data);
    free(text);
    return data;
}

static bool has_key(const json_t *data, const char *key)
{
    return json_object_get(json_array_get(json_object_get(data, "runs"), 0), key) != NULL;
}

static void test_a_part_of_the_data_holds_what_was_given_and_no_more(void **state)
{
    (void)state;
    const jm_page_run report = {.size = sizeof report, .name = "run", .report = &fake_report},
                      kernels = {.size = sizeof kernels, .name = "run", .kernels = &fake_report},
                      spans = {.size = sizeof spans, .name = "run", .spans = &fake_report};
    json_t *data = part_of(&report);
    assert_true(has_key(data, "rows") && has_key(data, "power") && has_key(data, "choices"));
    assert_false(has_key(data, "kernels") || has_key(data, "steps"));
    json_decref(data);
    data = part_of(&kernels);
    assert_true(has_key(data, "kernels"));
    assert_false(has_key(data, "rows") || has_key(data, "steps"));
    json_decref(data);
    data = part_of(&spans); /* of no steps: null */
    assert_true(has_key(data, "steps"));
    assert_false(has_key(data, "rows") || has_key(data, "kernels"));
    json_decref(data);
}

static void test_a_served_page_holds_no_data(void **state)
{
    (void)state;
    char *text;
    size_t size;
    jm_error err = {0};
    FILE *out = open_memstream(&text, &size);
    jm_status status = jm_page_write_served(out, &err);
    fclose(out);
    if (status == JM_NOT_SUPPORTED) {
        free(text);
        skip();
    }
    assert_int_equal(status, JM_OK);
    json_t *data = data_of(text);
    assert_true(json_is_true(json_object_get(data, "served")));
    assert_int_equal(json_array_size(json_object_get(data, "runs")), 0);
    assert_non_null(strstr(text, "connect-src 'self'"));
    json_decref(data);
    free(text);
}

/* JSON has seven digits. */
static void assert_near(double value, double truth)
{
    if (fabs(value - truth) > 1e-5) fail_msg("%.12g is not %.12g", value, truth);
}

/* Two blocks: kernels of each, one of them deep inside of a range. */
static const jm_row blocks[] = {
    FAKE_ROW("net", "net", "layer", 0, 2, 1.0, 100, 98, 102, 10, 100, 1, JM_PROVENANCE_FITTED, "0", 0, 30),
    FAKE_ROW("0", "net.0", "layer", 1, 2, 0.5, 40, 39, 41, 0, 80, 0.4, JM_PROVENANCE_FITTED, "0", 0, 30),
    FAKE_ROW("gemm", "net.0/gemm", "kernel", 2, 4, 0.4, 30, 27, 33, 30, 75, 0.3, JM_PROVENANCE_FITTED, "0", 0,
             30),
    FAKE_ROW("0", "net.0.0", "layer", 2, 2, 0.1, 10, 9, 11, 0, 100, 0.1, JM_PROVENANCE_FITTED, "0", 0, 30),
    FAKE_ROW("add", "net.0.0/add", "kernel", 3, 2, 0.1, 10, 9, 11, 10, 100, 0.1, JM_PROVENANCE_FITTED, "0", 0,
             30),
    FAKE_ROW("1", "net.1", "layer", 1, 2, 0.5, 50, 49, 51, 0, 100, 0.5, JM_PROVENANCE_FITTED, "0", 0, 30),
    FAKE_ROW("gemm", "net.1/gemm", "kernel", 2, 4, 0.5, 50, 46, 54, 50, 100, 0.5, JM_PROVENANCE_FITTED, "0",
             0, 30),
};

static json_t *layer_of(const char *pattern, const jm_report *spans)
{
    char *text;
    jm_error err;
    assert_int_equal(jm_page_layer(&fake_report, spans, pattern, &text, &err), JM_OK);
    json_t *layer = json_loads(text, 0, NULL);
    assert_non_null(layer);
    free(text);
    return layer;
}

static double number_in(const json_t *layer, const char *key)
{
    return json_number_value(json_object_get(layer, key));
}

static void test_layers_in_detail_add_up_their_kernels_by_name(void **state)
{
    (void)state;
    fake_report.rows = blocks;
    fake_report.row_count = sizeof blocks / sizeof *blocks;
    json_t *layer = layer_of("net.*", NULL); /* net.0.0 is part of net.0 */
    assert_int_equal((int)number_in(layer, "members"), 2);
    assert_near(number_in(layer, "energy_j"), 90);
    assert_near(number_in(layer, "busy_s"), 1);
    assert_near(number_in(layer, "high_j"), 90 + sqrt(2));
    const json_t *kernels = json_object_get(layer, "kernels"), *names = json_object_get(kernels, "name"),
                 *energies = json_object_get(kernels, "energy_j"),
                 *highs = json_object_get(kernels, "high_j"), *calls = json_object_get(kernels, "calls");
    assert_int_equal(json_array_size(names), 2);
    assert_string_equal(json_string_value(json_array_get(names, 0)), "gemm");
    assert_near(json_number_value(json_array_get(energies, 0)), 80);
    assert_near(json_number_value(json_array_get(highs, 0)), 80 + 5); /* of 3 and 4 */
    assert_int_equal(json_integer_value(json_array_get(calls, 0)), 8);
    assert_near(json_number_value(json_array_get(energies, 1)), 10);
    assert_true(json_is_null(json_object_get(layer, "steps")));
    json_decref(layer);
    layer = layer_of("net.1", NULL);
    assert_near(number_in(layer, "energy_j"), 50);
    json_decref(layer);
    char *text;
    jm_error err = {0};
    assert_int_equal(jm_page_layer(&fake_report, NULL, "net.2", &text, &err), JM_NOT_FOUND);
    assert_null(text);
    assert_non_null(strstr(err.text, "no layer \"net.2\""));
}

/* Two steps, the first with two calls of a block. */
static const jm_row steps[] = {
    FAKE_ROW("step", "step", "step", 0, 1, 1.0, 100, 98, 102, 0, 100, 0.5, JM_PROVENANCE_FITTED, "0", 0,
             1000000000),
    FAKE_ROW("0", "net.0", "forward", 1, 1, 0.2, 20, 17, 23, 20, 100, 0.1, JM_PROVENANCE_FITTED, "0", 0, 10),
    FAKE_ROW("0", "net.0", "backward", 1, 1, 0.3, 30, 26, 34, 30, 100, 0.1, JM_PROVENANCE_FITTED, "0", 10,
             20),
    FAKE_ROW("step", "step", "step", 0, 1, 1.0, 100, 98, 102, 0, 100, 0.5, JM_PROVENANCE_FITTED, "0",
             1000000000, 3000000000),
    FAKE_ROW("1", "net.1", "forward", 1, 1, 0.2, 20, 17, 23, 20, 100, 0.1, JM_PROVENANCE_FITTED, "0", 0, 10),
};

static void test_steps_of_a_layer_hold_its_calls_alone(void **state)
{
    (void)state;
    jm_report spans = fake_report;
    spans.rows = steps;
    spans.row_count = sizeof steps / sizeof *steps;
    fake_report.rows = blocks;
    fake_report.row_count = sizeof blocks / sizeof *blocks;
    json_t *layer = layer_of("net.0", &spans);
    const json_t *series = json_object_get(layer, "steps"), *energies = json_object_get(series, "energy_j"),
                 *highs = json_object_get(series, "high_j"), *seconds = json_object_get(series, "seconds");
    assert_int_equal(json_array_size(energies), 2);
    assert_near(json_number_value(json_array_get(energies, 0)), 50);
    assert_near(json_number_value(json_array_get(highs, 0)), 50 + 5);
    assert_near(json_number_value(json_array_get(seconds, 0)), 0.5);
    assert_near(json_number_value(json_array_get(energies, 1)), 0);
    json_decref(layer);
    json_t *whole = jm__page_steps(&spans, NULL, NULL);
    seconds = json_object_get(whole, "seconds");
    assert_near(json_number_value(json_array_get(seconds, 1)), 2);
    json_decref(whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_name_ends_the_element_that_it_stands_in, reset),
        cmocka_unit_test_setup(test_what_is_missing_is_null, reset),
        cmocka_unit_test_setup(test_places_are_told_as_in_a_table, reset),
        cmocka_unit_test_setup(test_waiting_inside_of_work_is_told_where_it_matters, reset),
        cmocka_unit_test_setup(test_answers_name_the_dearest_and_what_is_waited_for, reset),
        cmocka_unit_test_setup(test_many_rows_are_bounded_and_add_up, reset),
        cmocka_unit_test_setup(test_rows_without_a_figure_are_left_out_first, reset),
        cmocka_unit_test_setup(test_so_many_intervals_are_found_and_no_more, reset),
        cmocka_unit_test_setup(test_a_full_disk_is_an_error, reset),
        cmocka_unit_test_setup(test_a_page_of_single_spans_is_refused, reset),
        cmocka_unit_test_setup(test_spans_are_queried_for_where_steps_are_told, reset),
        cmocka_unit_test_setup(test_a_fragment_is_small_and_escaped, reset),
        cmocka_unit_test_setup(test_a_part_of_the_data_holds_what_was_given_and_no_more, reset),
        cmocka_unit_test_setup(test_a_served_page_holds_no_data, reset),
        cmocka_unit_test_setup(test_layers_in_detail_add_up_their_kernels_by_name, reset),
        cmocka_unit_test_setup(test_steps_of_a_layer_hold_its_calls_alone, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
