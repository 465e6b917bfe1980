/* Exports that show areas: folded stacks and speedscope's file, on rows made by hand. */
#include "fake_report.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A row with what these formats look at. */
#define ROW(name_, path_, kind_, depth_, self_j_, busy_s_)                                                   \
    {                                                                                                        \
        .name = name_, .path = path_, .kind = kind_, .depth = depth_, .energy_self_j = self_j_,              \
        .busy_s = busy_s_, .boards = "0"                                                                     \
    }

static jm_status export(const char *format, const jm_row *rows, size_t count, char **text, jm_error *err)
{
    size_t size;
    FILE *out = open_memstream(text, &size);
    assert_non_null(out);
    double total_j = fake_report.totals.total_energy_j;
    fake_report.rows = rows;
    fake_report.row_count = count;
    if (total_j == 0)
        for (size_t i = 0; i < count; i++)
            fake_report.totals.total_energy_j += rows[i].energy_self_j;
    jm_status status = jm_export(NULL, format, NULL, out, err);
    fclose(out);
    return status;
}

#define FOLDED(rows) folded(rows, sizeof(rows) / sizeof *(rows))

static char *folded(const jm_row *rows, size_t count)
{
    char *text;
    assert_int_equal(export("folded", rows, count, &text, NULL), JM_OK);
    return text;
}

static json_t *speedscope(const jm_row *rows, size_t count)
{
    char *text;
    assert_int_equal(export("speedscope", rows, count, &text, NULL), JM_OK);
    json_error_t error;
    json_t *root = json_loads(text, 0, &error);
    if (root == NULL) fail_msg("%s in %s", error.text, text);
    free(text);
    return root;
}

static int reset(void **state)
{
    (void)state;
    fake_report = (jm_report){0};
    return 0;
}

static void test_a_line_has_the_joules_of_its_row_alone(void **state)
{
    (void)state;
    static const jm_row rows[] = {
        ROW("model", "model", "layer", 0, 0.5, 4),         ROW("attn", "model.attn", "layer", 1, 1.25, 1),
        ROW("core", "model.attn.core", "layer", 2, 2, .5), ROW("mlp", "model.mlp", "layer", 1, 3, 2),
        ROW("relu", "model.relu", "layer", 1, 0, 0),       ROW("(idle)", "(idle)", "idle", 0, 0.000001, 1),
    };
    char *text = FOLDED(rows);
    assert_string_equal(text, "model 500000\nmodel;attn 1250000\nmodel;attn;core 2000000\n"
                              "model;mlp 3000000\n(idle) 1\n");
    free(text);
}

/* The fit gave 10 J more than the sensors saw: it is taken off all rows alike. */
static void test_joules_that_are_too_many_are_taken_off_the_others(void **state)
{
    (void)state;
    static const jm_row rows[] = {
        ROW("a", "a", "layer", 0, 60, 2),
        ROW("b", "b", "layer", 0, 40, 1),
        ROW("(unresolved)", "(unresolved)", "unresolved", 0, -10, 0),
    };
    char *text = FOLDED(rows);
    assert_string_equal(text, "a 54000000\nb 36000000\n");
    free(text);
}

/* A phase was measured as less than its parts: its own frame is as wide as it was measured, others are not
 * touched. In `c` there is nothing to take it off, so those beside it pay. */
static void test_a_row_that_is_less_than_its_parts_is_as_wide_as_it_is(void **state)
{
    (void)state;
    static const jm_row rows[] = {
        ROW("a", "a", "phase", 0, -20, 2), ROW("x", "a/x", "step", 1, 60, 1),
        ROW("y", "a/y", "step", 1, 40, 1), ROW("b", "b", "phase", 0, 30, 1),
        ROW("c", "c", "phase", 0, 110, 1), ROW("z", "c/z", "step", 1, -11, 1),
    };
    char *text = FOLDED(rows);
    assert_string_equal(text, "a;x 48000000\na;y 32000000\nb 30000000\nc 99000000\n");
    free(text);
}

/* Nobody measured the second board, so nobody knows what of the total is unresolved but for the first. */
static void test_rows_that_no_sensor_saw_leave_the_total_to_the_others(void **state)
{
    (void)state;
    static const jm_row rows[] = {
        ROW("a", "a", "layer", 0, 60, 2),
        ROW("b", "b", "layer", 0, NAN, 1),
        ROW("(unresolved)", "(unresolved)", "unresolved", 0, NAN, 0),
    };
    fake_report.totals.total_energy_j = 100;
    char *text = FOLDED(rows);
    assert_string_equal(text, "a 60000000\n(unresolved) 40000000\n");
    free(text);

    jm_error err;
    fake_report.totals.total_energy_j = NAN;
    assert_int_equal(export("folded", rows + 1, 2, &text, &err), JM_NOT_FOUND);
    assert_string_equal(err.text, "no sensor tells of any joules, so there are no stacks");
    assert_string_equal(text, "");
    free(text);
}

static void test_a_name_cannot_break_a_line_or_a_stack(void **state)
{
    (void)state;
    static const jm_row rows[] = {
        ROW("f(a; b)\n 12", "f", "nvtx", 0, 1, 1),
        ROW("\xff\033[2J", "g", "nvtx", 1, 2, 1),
        ROW("", "h", "nvtx", 1, 3, 1),
    };
    char *text = FOLDED(rows);
    assert_string_equal(text, "f(a, b)\xef\xbf\xbd 12 1000000\n"
                              "f(a, b)\xef\xbf\xbd 12;\xef\xbf\xbd\xef\xbf\xbd[2J 2000000\n"
                              "f(a, b)\xef\xbf\xbd 12;(unnamed) 3000000\n");
    free(text);
    json_decref(speedscope(rows, 3));
}

static void test_frames_that_are_not_one_have_names_of_their_own(void **state)
{
    (void)state;
    static const jm_row passes[] = {
        ROW("Linear", "Linear", "forward", 0, 1, 1),
        ROW("Linear", "Linear", "backward", 0, 2, 1),
        ROW("Relu", "Relu", "forward", 0, 3, 1),
    };
    char *text = FOLDED(passes);
    assert_string_equal(text, "Linear (forward) 1000000\nLinear (backward) 2000000\nRelu 3000000\n");
    free(text);

    jm_row boards[] = {ROW("H200", "GPU-1", "gpu", 0, 1, 1), ROW("H200", "GPU-2", "gpu", 0, 2, 1)};
    boards[1].boards = "1";
    reset(NULL);
    fake_report.options.by = JM_BY_BOARD;
    text = FOLDED(boards);
    assert_string_equal(text, "H200 [0] 1000000\nH200 [1] 2000000\n");
    free(text);
}

/* Each of 1000 ranges inside another: their joules are all there, in stacks of a size that is bounded. */
static void test_stacks_that_are_too_deep_keep_their_joules(void **state)
{
    (void)state;
    enum { DEEP = 1000, MOST = 256 };
    static jm_row rows[DEEP];
    for (int i = 0; i < DEEP; i++)
        rows[i] = (jm_row)ROW("r", "r", "nvtx", i, 1, 1);
    char *text = FOLDED(rows);
    double sum_j = 0;
    size_t frames = 0;
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        sum_j += atof(strrchr(line, ' ')) * 1e-6;
        frames = 1;
        for (const char *at = line; (at = strchr(at, ';')) != NULL; at++)
            frames++;
    }
    assert_int_equal(frames, MOST);
    assert_true(fabs(sum_j - DEEP) < 1e-9);
    free(text);
}

/* Occurrences of a layer are one frame; weights are those of the rows, time is without that of children. */
static void test_speedscope_has_one_frame_for_all_occurrences_of_a_layer(void **state)
{
    (void)state;
    static const jm_row rows[] = {
        ROW("step", "step", "step", 0, 1, 3),        ROW("attn", "b.attn", "forward", 1, 2, 2),
        ROW("attn", "b.attn", "backward", 1, 4, .5), ROW("step", "step", "step", 0, 1, 2),
        ROW("attn", "b.attn", "forward", 1, 8, 2),   ROW("(idle)", "(idle)", "idle", 0, 16, 1),
    };
    fake_report.options.by = JM_BY_SPAN;
    json_t *root = speedscope(rows, 6), *frames = json_object_get(json_object_get(root, "shared"), "frames");
    static const char *const names[] = {"step", "attn (forward)", "attn (backward)", "(idle)"};
    assert_int_equal(json_array_size(frames), 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(frames, i), "name")), names[i]);

    json_t *profiles = json_object_get(root, "profiles"), *energy = json_array_get(profiles, 0),
           *busy = json_array_get(profiles, 1);
    static const char energy_wanted[] =
        "[\"sampled\",\"none\",0,32.0,[[0],[0,1],[0,2],[0],[0,1],[3]],[1.0,2.0,4.0,1.0,8.0,16.0]]";
    static const char busy_wanted[] =
        "[\"sampled\",\"seconds\",0,6.0,[[0],[0,1],[0,2],[0,1],[3]],[0.5,2.0,0.5,2.0,1.0]]";
    json_t *const each[] = {energy, busy};
    const char *const wanted[] = {energy_wanted, busy_wanted};
    for (size_t i = 0; i < 2; i++) {
        json_t *told =
            json_pack("[O O O O O O]", json_object_get(each[i], "type"), json_object_get(each[i], "unit"),
                      json_object_get(each[i], "startValue"), json_object_get(each[i], "endValue"),
                      json_object_get(each[i], "samples"), json_object_get(each[i], "weights"));
        char *text = json_dumps(told, JSON_COMPACT);
        assert_string_equal(text, wanted[i]);
        free(text);
        json_decref(told);
    }
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_line_has_the_joules_of_its_row_alone, reset),
        cmocka_unit_test_setup(test_joules_that_are_too_many_are_taken_off_the_others, reset),
        cmocka_unit_test_setup(test_a_row_that_is_less_than_its_parts_is_as_wide_as_it_is, reset),
        cmocka_unit_test_setup(test_rows_that_no_sensor_saw_leave_the_total_to_the_others, reset),
        cmocka_unit_test_setup(test_a_name_cannot_break_a_line_or_a_stack, reset),
        cmocka_unit_test_setup(test_frames_that_are_not_one_have_names_of_their_own, reset),
        cmocka_unit_test_setup(test_stacks_that_are_too_deep_keep_their_joules, reset),
        cmocka_unit_test_setup(test_speedscope_has_one_frame_for_all_occurrences_of_a_layer, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
