/* Hardware counters from CSV, added to a recording. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "line_sets.h"
#include "onto_run.h"
#include "told.h"

#define OFFSET_NS INT64_C(1700000000000000000) /* CLOCK_REALTIME before CLOCK_MONOTONIC */

/* The counters that are in it; told_close the file. */
static void open_out(told_file *file)
{
    jm_error err = {0};
    assert_int_equal(jm_recording_open(&file->recording, out_path, &err), JM_OK);
    assert_int_equal(jm__dataset_load(&file->dataset, file->recording, &err), JM_OK);
    assert_int_equal(told_read_blocks(&file->blocks, file->dataset, &err), JM_OK);
}

static void make_run(const jm__anchor *anchors, size_t count)
{
    jm__writer *writer = onto_begin_run(true);
    for (size_t i = 0; i < count; i++)
        jm__writer_anchor(writer, &anchors[i]);
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
}

static const jm__anchor usual[] = {{SMALL_START_NS, SMALL_START_NS + OFFSET_NS}};

static void put(const char *text)
{
    FILE *csv = fopen(csv_path, "w");
    assert_non_null(csv);
    fputs(text, csv);
    fclose(csv);
}

static jm_status add(const char *board, jm_error *err)
{
    return onto_add(run_path, board, &(jm_counters_options){.counters = csv_path}, err);
}

static char *all_of(const char *path)
{
    enum { KERNELS_MAX = 1000 };
    static jm__kernel_run kernels[KERNELS_MAX];
    jm_error err;
    told_file file = {.kernels = kernels, .kernels_max = KERNELS_MAX};
    if (told_read(&file, path, &err) != JM_OK) fail_msg("%s", err.text);
    char *text = told_text(&file);
    told_close(&file);
    return text;
}

/* ---- what is copied, what is added */

static void take_missing(void *context, const char *line)
{
    (void)context;
    fail_msg("missing: %s", line);
}

static void take_added(void *context, const char *line)
{
    size_t *count = context;
    if (strncmp(line, "set [\"x\", \"dram__pct_of_peak\", \"hits.ratio\"] [\"count\", \"%\", \"%\"]", 60) !=
            0 &&
        strncmp(line, "block 2 of 2, 80 bytes", 22) != 0)
        fail_msg("added: %s", line);
    ++*count;
}

static void test_a_copy_has_all_rows_and_the_counters(void **state)
{
    (void)state;
    jm_error err = {0};
    make_run(usual, 1);
    put("x,end_ns,dram__pct_of_peak,start_ns,hits.ratio\n"
        "5,1700000001002000000,99.5,1700000001001000000,0.5\n"
        ",1700000001004000000,1e-3,1700000001003000000,\n");
    if (add("1", &err) != JM_OK) fail_msg("%s", err.text);

    char *before = all_of(run_path), *after = all_of(out_path);
    line_set was = line_set_of(before), is = line_set_of(after);
    size_t added = 0;
    line_set_less(&was, &is, take_missing, NULL);
    line_set_less(&is, &was, take_added, &added);
    assert_int_equal(added, 2);
    line_set_free(&was);
    line_set_free(&is);
    free(before);
    free(after);

    told_file file = {0};
    jm__counter_sample sample;
    open_out(&file);
    assert_null(jm_recording_damage(file.recording));
    assert_int_equal(file.dataset->counters.set_count, 2);
    assert_int_equal(file.dataset->counters.sets[1].board_id, 2);
    assert_int_equal(file.blocks.count, 2);
    jm__counter_block_sample(&file.blocks.items[1], 3, 0, &sample);
    assert_true(sample.start_ns == 1001000000 && sample.end_ns == 1002000000);
    assert_true(sample.values[0] == 5 && sample.values[1] == 99.5 && sample.values[2] == 0.5);
    jm__counter_block_sample(&file.blocks.items[1], 3, 1, &sample);
    assert_true(sample.start_ns == 1003000000 && sample.end_ns == 1004000000);
    assert_true(isnan(sample.values[0]) && sample.values[1] == 1e-3 && isnan(sample.values[2]));
    told_close(&file);
}

/* Two seconds of windows of 0.1 ms: more than one block, and each sample once. */
static void test_many_windows_are_many_blocks(void **state)
{
    (void)state;
    enum { WINDOWS = 20000 };
    jm_error err = {0};
    make_run(usual, 1);
    FILE *csv = fopen(csv_path, "w");
    fputs("start_ns,end_ns,n\n", csv);
    for (int64_t i = 0; i < WINDOWS; i++)
        fprintf(csv, "%" PRId64 ",%" PRId64 ",%" PRId64 "\n", SMALL_START_NS + OFFSET_NS + i * 100000,
                SMALL_START_NS + OFFSET_NS + (i + 1) * 100000, i);
    fclose(csv);
    if (add("0", &err) != JM_OK) fail_msg("%s", err.text);
    told_file file = {0};
    int64_t next = 0;
    open_out(&file);
    assert_true(file.blocks.count > 2);
    for (size_t b = 1; b < file.blocks.count; b++)
        for (int64_t i = 0; i < file.blocks.items[b].count; i++, next++) {
            jm__counter_sample sample;
            jm__counter_block_sample(&file.blocks.items[b], 1, i, &sample);
            assert_true(sample.values[0] == (double)next);
            assert_true(sample.start_ns == SMALL_START_NS + next * 100000);
        }
    assert_int_equal(next, WINDOWS);
    told_close(&file);
}

/* Whoever looks meanwhile, or after a kill, does not take it for whole. */
static void test_a_copy_is_not_whole_before_it_is_closed(void **state)
{
    (void)state;
    jm_error err = {0};
    jm_recording *from, *unfinished;
    jm__writer *writer;
    make_run(usual, 1);
    assert_int_equal(jm_recording_open(&from, run_path, &err), JM_OK);
    assert_string_equal(jm_recording_meta(from, "closed"), "1");
    assert_int_equal(jm__writer_create_copy(&writer, out_path, true, from, &err), JM_OK);
    assert_int_equal(jm_recording_open(&unfinished, out_path, &err), JM_OK);
    assert_null(jm_recording_meta(unfinished, "closed"));
    assert_non_null(jm_recording_meta(unfinished, "end_ns"));
    jm_recording_close(unfinished);
    jm_recording_close(from);
    jm__writer_discard(writer);
}

/* Made by somebody else: a table without keys, and a number in it twice. */
static void test_rows_that_cannot_be_stay_behind(void **state)
{
    (void)state;
    static const char sql[] =
        "PRAGMA legacy_alter_table = ON; CREATE TABLE other AS SELECT * FROM names; DROP TABLE names;"
        "ALTER TABLE other RENAME TO names;"
        "INSERT INTO names VALUES (1, 'again'), (50, 'odd')";
    jm_error err = {0};
    sqlite3 *db;
    make_run(usual, 1);
    assert_int_equal(sqlite3_open(run_path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    put("start_ns,end_ns,a\n1700000001001000000,1700000001002000000,1\n");
    if (add("0", &err) != JM_OK) fail_msg("%s", err.text);
    jm_recording *recording;
    jm__dataset *d;
    assert_int_equal(jm_recording_open(&recording, out_path, &err), JM_OK);
    assert_int_equal(jm__dataset_load(&d, recording, &err), JM_OK);
    assert_int_equal(d->name_count, 51);
    assert_string_equal(d->names[50], "odd");
    assert_string_not_equal(d->names[1], "again");
    jm__dataset_free(d);
    jm_recording_close(recording);
}

/* GH100's slots in use, without those that are not, tell no clock. */
static void test_slots_that_are_not_all_there_are_counts(void **state)
{
    (void)state;
    static const struct {
        const char *names, *units;
    } cases[] = {{"tpc__warps_active_realtime.sum", "[\"count\"]"},
                 {"tpc__warps_active_realtime.sum,TPC.TriageCompute.tpc__warps_inactive_sm_idle_realtime.sum,"
                  "TPC.TriageCompute.tpc__warps_inactive_sm_active_realtime.sum",
                  "[\"slot-cycle\", \"slot-cycle\", \"slot-cycle\"]"}};
    make_run(usual, 1);
    for (size_t i = 0; i < 2; i++) {
        jm_error err = {0};
        told_file file = {0};
        char text[512];
        snprintf(text, sizeof text, "start_ns,end_ns,TPC.TriageCompute.%s\n%s%s\n", cases[i].names,
                 "1700000001001000000,1700000001002000000,1", i == 0 ? "" : ",1,1");
        put(text);
        if (add("0", &err) != JM_OK) fail_msg("%s", err.text);
        open_out(&file);
        assert_string_equal(file.dataset->counters.sets[1].units, cases[i].units);
        told_close(&file);
    }
}

/* ---- the clock */

/* The begin of each window of one ms, in ms of CLOCK_REALTIME after OFFSET_NS and where it is to be on the
 * recording's clock. */
typedef struct told_time {
    int64_t realtime_ms, monotonic_ms;
} told_time;

static void check_times(const jm__anchor *anchors, size_t anchor_count, const told_time *times, size_t count)
{
    jm_error err = {0};
    told_file file = {0};
    make_run(anchors, anchor_count);
    FILE *csv = fopen(csv_path, "w");
    fputs("start_ns,end_ns,n\n", csv);
    for (size_t i = 0; i < count; i++)
        fprintf(csv, "%" PRId64 ",%" PRId64 ",1\n", OFFSET_NS + times[i].realtime_ms * 1000000,
                OFFSET_NS + (times[i].realtime_ms + 1) * 1000000);
    fclose(csv);
    if (add("0", &err) != JM_OK) fail_msg("%s", err.text);
    open_out(&file);
    assert_int_equal(file.blocks.items[1].count, count);
    for (size_t i = 0; i < count; i++) {
        jm__counter_sample sample;
        jm__counter_block_sample(&file.blocks.items[1], 1, (int64_t)i, &sample);
        if (sample.start_ns != times[i].monotonic_ms * 1000000)
            fail_msg("window %zu begins at %" PRId64, i, sample.start_ns);
    }
    told_close(&file);
}

static void test_a_clock_that_was_set_changes_no_time(void **state)
{
    (void)state;
    const int64_t ms = 1000000;
    /* noise of anchors does not matter; set forward by 500 ms at 1250 ms; set back by 300 ms at 1450 ms */
    const jm__anchor anchors[] = {{1000 * ms, OFFSET_NS + 1000 * ms},
                                  {1200 * ms, OFFSET_NS + 1200 * ms + 300000},
                                  {1300 * ms, OFFSET_NS + 1800 * ms},
                                  {1400 * ms, OFFSET_NS + 1900 * ms},
                                  {1500 * ms, OFFSET_NS + 1700 * ms}};
    const told_time times[] = {{900, 900},   {1100, 1100}, {1201, 1201}, {1249, 1249},
                               {1751, 1251}, {1799, 1299}, {1801, 1301}, {1949, 1449},
                               {1651, 1451}, {1690, 1490}, {1701, 1501}, {1999, 1799}};
    check_times(anchors, sizeof anchors / sizeof *anchors, times, sizeof times / sizeof *times);
}

static void test_onto_an_import_times_are_those_of_its_files(void **state)
{
    (void)state;
    jm_error err = {0};
    put("sensor,t_s,value\npower_ring_w,-0.02,80\npower_ring_w,0.04,81\n");
    const jm_import_options import = {.size = sizeof import,
                                      .overwrite = true,
                                      .path = run_path,
                                      .board = "h200",
                                      .files = {[JM_IMPORT_READINGS] = csv_path}};
    assert_int_equal(jm_recording_import(&import, &err), JM_OK);
    put("start_ns,end_ns,n\n-1000000,0,7\n0,1000000,8\n");
    if (add(NULL, &err) != JM_OK) fail_msg("%s", err.text);
    told_file file = {0};
    open_out(&file);
    assert_true(file.blocks.items[0].start_ns == -1000000 && file.blocks.items[0].end_ns == 1000000);
    told_close(&file);
}

/* ---- what cannot be */

static void expect(const char *board, jm_status status, const char *words)
{
    jm_error err = {0};
    jm_status got = add(board, &err);
    if (got != status || strstr(err.text, words) == NULL)
        fail_msg("%d \"%s\", not %d: %s", (int)got, err.text, (int)status, words);
    assert_true(err.code == 0 || status == JM_BUSY || status == JM_NOT_FOUND); /* a process, an errno */
    assert_int_not_equal(access(out_path, F_OK), 0);                           /* nothing half made is left */
}

static void test_what_is_wrong_with_counters_is_told_by_file_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"start_ns,n\n1,2\n", "no column \"end_ns\"; this file has: start_ns, n"},
        {"start_ns,end_ns\n1,2\n", "line 1, column \"end_ns\": there is no metric"},
        {"start_ns,end_ns,a,b,a\n", "line 1, column \"a\": this metric is there twice"},
        {"start_ns,end_ns,\n", "there is no metric"},
        {"start_ns,end_ns,a \"b\n", "a metric's name"},
        {"start_ns,end_ns,a\n", "no rows"},
        {"start_ns,end_ns,a\n1700000001001000000,1700000001000000000,1\n",
         "line 2, column \"end_ns\": a window ends after its start"},
        {"start_ns,end_ns,a\n1700000001001000000,1700000001002000000,x\n",
         "line 2, column \"a\": \"x\" is not a number"},
        {"start_ns,end_ns,a\n1.5,2,1\n", "line 2, column \"start_ns\": \"1.5\" is not a whole number"},
        {"start_ns,end_ns,a\n9000000000000000000,9000000000001000000,1\n",
         "line 2, column \"start_ns\": 9000000000000000000 ns is not a time of this recording"},
        {"start_ns,end_ns,a\n1700000001003000000,1700000001004000000,1\n"
         "1700000001001000000,1700000001002000000,1\n",
         "line 3, column \"start_ns\": the window begins before the one before it has ended"},
        {"start_ns,end_ns,a\n1700000001003000000,1700000001004000000,1\n"
         "1700000001003900000,1700000001005000000,1\n",
         "line 3, column \"start_ns\": the window begins before"},
        {"start_ns,end_ns,a\n1700000001003000000,1700000001004000000,1\n"
         "1700000001003999999,1700000001004000000,1\n",
         "line 3, column \"end_ns\": the window lies in the one before it"},
        {"start_ns,end_ns,a\n1700000009000000000,1700000009001000000,1\n",
         "its windows lie 8.000 to 8.001 s after the start of /tmp/"},
        {"start_ns,end_ns,a\n1699999999000000000,1699999999500000000,1\n",
         "its windows lie -2.000 to -1.500 s after the start of"},
    };
    make_run(usual, 1);
    unlink(out_path);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put(cases[i].text);
        expect("0", JM_BAD_DATA, cases[i].words);
    }
    char many[8192] = "start_ns,end_ns";
    for (int i = 0; i < 257; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), ",m%d", i);
    put(many);
    expect("0", JM_BAD_DATA, "line 1, column \"m256\": more than 256 metrics");
    for (int longer = 1; longer >= 0; longer--) { /* a name has at most 512 bytes */
        snprintf(many, sizeof many, "start_ns,end_ns,%0*d\n1700000001001000000,1700000001002000000,1\n",
                 512 + longer, 1);
        put(many);
        if (longer == 1) expect("0", JM_BAD_DATA, "line 1, column \"000");
    }
    jm_error err = {0};
    if (add("0", &err) != JM_OK) fail_msg("%s", err.text);
}

/* As spreadsheets leave one behind, and pandas numbers rows before. */
static void test_columns_without_a_name_are_no_metrics(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "start_ns,end_ns,a,\n1700000001100000000,1700000001200000000,1,\n",
        ",start_ns,end_ns,a\n0,1700000001100000000,1700000001200000000,1\n",
        "Unnamed: 0,start_ns,end_ns,a\n0,1700000001100000000,1700000001200000000,1\n"};
    make_run(usual, 1);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        unlink(out_path);
        jm_error err = {0};
        put(texts[i]);
        if (add("0", &err) != JM_OK) fail_msg("%s", err.text);
    }
}

static void test_stamps_may_overlap_by_their_noise(void **state)
{
    (void)state;
    jm_error err = {0};
    make_run(usual, 1);
    put("start_ns,end_ns,a\n1700000001003000000,1700000001004000000,1\n"
        "1700000001003999972,1700000001005000000,1\n");
    if (add("0", &err) != JM_OK) fail_msg("%s", err.text);
    unlink(out_path);
}

static void test_a_board_a_recording_and_its_clock_are_needed(void **state)
{
    (void)state;
    put("start_ns,end_ns,a\n1700000001001000000,1700000001002000000,1\n");
    make_run(usual, 1);
    jm_error err = {0};
    const jm_counters_options nothing = {.size = sizeof nothing},
                              no_file = {.size = sizeof no_file, .onto = run_path},
                              no_path = {.size = sizeof no_path, .onto = run_path, .ncu = csv_path},
                              both = {.size = sizeof both,
                                      .onto = run_path,
                                      .ncu = csv_path,
                                      .counters = csv_path};
    const struct {
        const jm_counters_options *options;
        const char *text;
    } lacking[] = {{&nothing, "there is no recording to add to"},
                   {&no_file, "import exactly one file, of counters or of ncu"},
                   {&both, "import exactly one file, of counters or of ncu"},
                   {&no_path, "there is no path to write to"}};
    for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++) {
        assert_int_equal(jm_recording_add_counters(lacking[i].options, &err), JM_USAGE);
        assert_string_equal(err.text, lacking[i].text);
        assert_int_equal(err.code, 0);
    }
    expect("0x", JM_USAGE, "\"0x\" is not the number of a GPU");
    expect("-1", JM_USAGE, "\"-1\" is not the number of a GPU");
    expect("99999999999", JM_USAGE, "is not the number of a GPU");
    expect(NULL, JM_USAGE, "has 2 GPUs: 0 (Synthetic), 1 (Synthetic)");
    expect("7", JM_NOT_FOUND, "no GPU 7; this recording has: 0, 1");
    expect("h200", JM_USAGE, "\"h200\" is not the number of a GPU");
    make_run(NULL, 0);
    expect("0", JM_BAD_DATA, "has no anchors");
    unlink(run_path);
    expect("0", JM_NOT_FOUND, "run.joulemap");
    jm__writer *writer = onto_begin_run(true);
    expect("0", JM_BUSY, "is still being recorded, by process");
    jm__writer_discard(writer);
}

static void test_a_recording_is_not_replaced_by_its_own_copy(void **state)
{
    (void)state;
    jm_error err = {0};
    make_run(usual, 1);
    put("start_ns,end_ns,a\n1700000001001000000,1700000001002000000,1\n");
    assert_int_equal(link(run_path, out_path), 0); /* another name of the same file */
    assert_int_equal(add("0", &err), JM_USAGE);
    assert_non_null(strstr(err.text, "cannot be read and replaced at once"));
    assert_int_equal(err.code, 0);
    unlink(out_path);
    char *text = all_of(run_path);
    assert_non_null(strstr(text, "kernel "));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_copy_has_all_rows_and_the_counters),
        cmocka_unit_test(test_many_windows_are_many_blocks),
        cmocka_unit_test(test_a_copy_is_not_whole_before_it_is_closed),
        cmocka_unit_test(test_rows_that_cannot_be_stay_behind),
        cmocka_unit_test(test_slots_that_are_not_all_there_are_counts),
        cmocka_unit_test(test_a_clock_that_was_set_changes_no_time),
        cmocka_unit_test(test_onto_an_import_times_are_those_of_its_files),
        cmocka_unit_test(test_what_is_wrong_with_counters_is_told_by_file_line_and_column),
        cmocka_unit_test(test_columns_without_a_name_are_no_metrics),
        cmocka_unit_test(test_stamps_may_overlap_by_their_noise),
        cmocka_unit_test(test_a_board_a_recording_and_its_clock_are_needed),
        cmocka_unit_test(test_a_recording_is_not_replaced_by_its_own_copy),
    };
    return cmocka_run_group_tests(tests, onto_set_up, onto_tear_down);
}
