/* The demo's verdict: it passes what is near to the truth, and nothing else. */
#include "cli/truth.h"
#include "fake_report.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Two layers, one of them with two kinds; 900 of 1000 J are theirs. */
static const char usual_truth[] = "board,name,type,kind,calls,busy_s,energy_j\n"
                                  "0,a,\"Linear(4, 8)\",forward,10,1.0,400.0\n"
                                  "0,a,\"Linear(4, 8)\",backward,10,1.0,200.0\n"
                                  "0,\"b, \"\"quoted\"\"\",GELU,forward,10,1.0,290.0\n"
                                  "0,small,LayerNorm,forward,10,0.1,10.0\n"
                                  "0,(idle),,,5,1.0,100.0\n"
                                  "0,(total),,,,4.1,1000.0\n";

#define ROW(name, kind, self_j)                                                                              \
    FAKE_ROW(name, name, kind, 0, 10, 1, 0, 0, 0, self_j, 1, 1, JM_PROVENANCE_FITTED, "0", 0, 1)

static jm_status read_text(cli_truth *truth, const char *text, jm_error *err)
{
    char path[] = "/tmp/test_truth_XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    jm_status status = cli_truth_read(truth, path, err);
    unlink(path);
    return status;
}

/* The exit code for these rows, of a recording of that length, beside the usual truth. */
static int verdict_of(double duration_s, const jm_row *rows, size_t count)
{
    cli_truth truth;
    jm_error err = {0};
    fake_report.rows = rows;
    fake_report.row_count = count;
    fake_report.totals.duration_s = duration_s;
    assert_int_equal(read_text(&truth, usual_truth, &err), JM_OK);
    assert_int_equal(cli_truth_compare(&truth, &fake_report, &err), JM_OK);
    int code = cli_truth_print(&truth);
    cli_truth_free(&truth);
    return code;
}
#define VERDICT_OF(duration_s, rows) verdict_of(duration_s, rows, sizeof(rows) / sizeof *(rows))
#define VERDICT(rows)                VERDICT_OF(4.1, rows)

static void test_rows_near_to_the_truth_pass(void **state)
{
    (void)state;
    /* 4 % high, 4 % low, a small one far off; sum 1000.4: within 0.5 % */
    const jm_row rows[] = {ROW("a", "layer", 624), ROW("b, \"quoted\"", "layer", 278.4),
                           ROW("small", "layer", 2), ROW("(idle)", "idle", 66),
                           ROW("train (no layer)", "phase", 30)};
    assert_int_equal(VERDICT(rows), 0);
}

static void test_a_layer_off_by_more_than_five_percent_fails(void **state)
{
    (void)state;
    const jm_row rows[] = {ROW("a", "layer", 560), ROW("b, \"quoted\"", "layer", 290),
                           ROW("small", "layer", 50), ROW("(idle)", "idle", 100)};
    assert_int_equal(VERDICT(rows), CLI_EXIT_MISSED);
}

static void test_a_layer_that_is_missing_fails(void **state)
{
    (void)state;
    const jm_row rows[] = {ROW("a", "layer", 600), ROW("small", "layer", 10), ROW("(idle)", "idle", 100),
                           ROW("(unresolved)", "unresolved", 290)};
    assert_int_equal(VERDICT(rows), CLI_EXIT_MISSED);
}

static void test_energy_that_nobody_took_fails(void **state)
{
    (void)state;
    const jm_row rows[] = {ROW("a", "layer", 590), ROW("b, \"quoted\"", "layer", 280),
                           ROW("(idle)", "idle", 100), ROW("(unresolved)", "unresolved", 30)};
    assert_int_equal(VERDICT(rows), CLI_EXIT_MISSED);
}

static void test_rows_that_do_not_add_up_fail(void **state)
{
    (void)state;
    const jm_row rows[] = {ROW("a", "layer", 606), ROW("b, \"quoted\"", "layer", 293),
                           ROW("small", "layer", 10), ROW("(idle)", "idle", 101)};
    assert_int_equal(VERDICT(rows), CLI_EXIT_MISSED);
}

/* A machine that is busy with other things starts the recorder late, and ends it late. */
static void test_idle_time_before_and_after_the_recording_is_left_out(void **state)
{
    (void)state;
    const jm_row rows[] = {ROW("a", "layer", 600), ROW("b, \"quoted\"", "layer", 290),
                           ROW("small", "layer", 10), ROW("(idle)", "idle", 50)};
    assert_int_equal(VERDICT_OF(3.6, rows), 0);
    assert_int_equal(VERDICT(rows), CLI_EXIT_MISSED);
    /* Work that is missing is not made up for by what was idle. */
    const jm_row less[] = {ROW("a", "layer", 600), ROW("b, \"quoted\"", "layer", 280),
                           ROW("small", "layer", 0), ROW("(idle)", "idle", 0)};
    assert_int_equal(VERDICT_OF(1, less), CLI_EXIT_MISSED);
}

static void test_an_empty_report_fails(void **state)
{
    (void)state;
    assert_int_equal(verdict_of(4.1, NULL, 0), CLI_EXIT_MISSED);
}

static void test_figures_that_are_none_fail(void **state)
{
    (void)state;
    const jm_row rows[] = {ROW("a", "layer", NAN), ROW("b, \"quoted\"", "layer", 290),
                           ROW("small", "layer", 10), ROW("(idle)", "idle", 100)};
    assert_int_equal(VERDICT(rows), CLI_EXIT_MISSED);
}

static void test_a_truth_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "",
        "board,name,type,kind,calls,busy_s,energy_j\n",                                       /* no total */
        "board,name,type,kind,calls,busy_s,energy_j\n0,a\n",                                  /* cut short */
        "board,name,type,kind,calls,busy_s,energy_j\n0,a,,forward,1,1,lots\n",                /* no number */
        "board,name,type,kind,calls,busy_s,energy_j\n,(overtaken),,,3,,\n0,(total),,,,1,1\n", /* lost track */
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        cli_truth truth;
        jm_error err = {0};
        assert_int_equal(read_text(&truth, broken[i], &err), JM_BAD_DATA);
        assert_true(strlen(err.text) > 0);
    }
    cli_truth truth;
    jm_error err = {0};
    assert_int_equal(cli_truth_read(&truth, "/nowhere/truth.csv", &err), JM_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_near_to_the_truth_pass),
        cmocka_unit_test(test_a_layer_off_by_more_than_five_percent_fails),
        cmocka_unit_test(test_a_layer_that_is_missing_fails),
        cmocka_unit_test(test_energy_that_nobody_took_fails),
        cmocka_unit_test(test_rows_that_do_not_add_up_fail),
        cmocka_unit_test(test_idle_time_before_and_after_the_recording_is_left_out),
        cmocka_unit_test(test_an_empty_report_fails),
        cmocka_unit_test(test_figures_that_are_none_fail),
        cmocka_unit_test(test_a_truth_that_cannot_be_read_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
