/* Long recordings in bounded files: what stays of their older parts, and that sums are what they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/condense.h"

#include "day.h"
#include "figures.h"
#include "proof.h"

#include <joulemap/joulemap.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/joulemap-test-condense-XXXXXX";
static char whole_path[96], path[96];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(whole_path, sizeof whole_path, "%s/whole.joulemap", folder);
    snprintf(path, sizeof path, "%s/r.joulemap", folder);
    return setenv("XDG_DATA_HOME", folder, 1);
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static int64_t ask_of(const char *file, const char *sql)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

static int64_t ask(const char *sql)
{
    return ask_of(path, sql);
}

/* All rows as sums that tell when, of what and how much; not where the size of the file decides, which may be
 * another with another SQLite. */
static void rows_kept(void)
{
    static const char *const sums[] = {
        "count(*), sum(t_ns / 1e9), sum(rowid / 1e3), sum(value), sum(value * (t_ns / 1e9)) FROM readings "
        "WHERE sensor_id = 1",
        "count(*), sum(t_ns / 1e9), sum(rowid / 1e3), sum(value), sum(value * (t_ns / 1e9)) FROM readings "
        "WHERE sensor_id = 2",
        "count(*), sum(t_ns / 1e9), sum(rowid / 1e3), sum(value), sum(value * (t_ns / 1e9)) FROM readings "
        "WHERE sensor_id > 2",
        "count(*), sum(t_ns / 1e9), sum(name_id), sum(name_id * (t_ns / 1e9)), sum(process_id) FROM marks",
        "count(*), sum(start_ns / 1e9), sum(rowid), sum(duration_ns / 1e6), count(span_id) FROM kernels",
        "count(*), sum(start_ns / 1e9), sum(id), sum(kind_id), count(parent_id) FROM spans",
        "count(*), sum(period_ns / 1e9), sum(lag_ns / 1e6), sum(window_ns / 1e9), sum(noise) FROM "
        "sensors",
        "count(*), sum(t_ns / 1e9), sum(length(text)), count(board_id), 0 FROM events",
        "count(*), sum(value / 1e9), 0, 0, 0 FROM meta WHERE key = 'condensed_until_ns'",
    };
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        char sql[300];
        sqlite3_stmt *statement;
        double values[5];
        snprintf(sql, sizeof sql, "SELECT %s", sums[i]);
        if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
            fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        for (int k = 0; k < 5; k++)
            values[k] = sqlite3_column_double(statement, k);
        figures_keep(__BASE_FILE__, NULL, values, 5, 0);
        sqlite3_finalize(statement);
    }
    sqlite3_close(db);
}

static double total_of(const char *file)
{
    jm_error err = {0};
    jm_recording *recording;
    jm_report *report = NULL;
    jm_report_options options = {.size = sizeof options, .by = JM_BY_BOARD};
    if (jm_recording_open(&recording, file, &err) != JM_OK ||
        jm_report_create(&report, recording, &options, &err) != JM_OK)
        fail_msg("%s", err.text);
    figures_kept(__BASE_FILE__, report);
    double total_j = jm_report_totals_get(report)->total_energy_j;
    jm_report_free(report);
    jm_recording_close(recording);
    return total_j;
}

static double energy_of(const char *file, int64_t from_ns, int64_t to_ns)
{
    jm_error err = {0};
    jm_recording *recording;
    jm_sum energy;
    if (jm_recording_open(&recording, file, &err) != JM_OK ||
        jm_recording_energy(recording, 0, from_ns, to_ns, &energy, &err) != JM_OK)
        fail_msg("%s", err.text);
    jm_recording_close(recording);
    return energy.energy_j;
}

static day make(const char *file, int64_t traced_every, double seconds, double keep_s, int64_t max_bytes)
{
    day d = day_begin(file, traced_every, keep_s, max_bytes);
    day_go_on(&d, seconds);
    day_end(&d);
    return d;
}

/* Twice the same twenty minutes, in check ten, of which all but the last three or so are condensed in one. */
static int64_t length_s(void)
{
    return proof_some(1200, 600);
}

static day make_both(void)
{
    static day d;
    if (d.start_ns != 0) return d;
    make(whole_path, 60, (double)length_s(), 0, 0);
    d = make(path, 60, (double)length_s(), 120, 0);
    return d;
}

static void test_total_is_that_of_the_whole_recording(void **state)
{
    (void)state;
    day d = make_both();
    rows_kept();
    assert_true(ask("SELECT value FROM meta WHERE key = 'condensed_until_ns'") >
                d.start_ns + (length_s() - 300) * JM_NS_PER_S);
    double whole_j = total_of(whole_path);
    /* The counter's readings are the same ones; beside them there are a ring's delay at both ends. */
    assert_true(fabs(whole_j / d.energy_j - 1) < 1e-4);
    /* Before the first renewal of the counter, 0.1 s, power tells, whose mean over that second is at most 10
     * W off. */
    assert_true(fabs(total_of(path) - whole_j) < 1);
}

/* Counter readings lie 3 s apart, so 54 s of a minute are theirs; at its edges the power is a mean over
 * seconds, of which the first and the last are cut: at most half a second of the 350 W that power swings by
 * there. */
static void test_energy_of_a_minute_long_ago_is_what_it_was(void **state)
{
    (void)state;
    day d = make_both();
    for (int minute = 2; minute < length_s() / 60 - 6; minute++) {
        int64_t from_ns = d.start_ns + minute * 60 * JM_NS_PER_S + 123 * JM_NS_PER_MS;
        double whole_j = energy_of(whole_path, from_ns, from_ns + 60 * JM_NS_PER_S);
        assert_true(whole_j > 26e3 && whole_j < 28e3);
        assert_true(fabs(energy_of(path, from_ns, from_ns + 60 * JM_NS_PER_S) - whole_j) < 175);
    }
}

static void test_steps_and_other_marks_stay_and_one_traced_step_a_minute(void **state)
{
    (void)state;
    day d = make_both();
    assert_int_equal(ask("SELECT count(*) FROM spans WHERE kind_id = 3"), d.steps);
    int64_t until_ns = ask("SELECT value FROM meta WHERE key = 'condensed_until_ns'");
    char sql[400];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM marks JOIN names ON names.id = name_id WHERE text = '" JM_MARK_TRACED
             "' AND t_ns < %lld",
             (long long)until_ns);
    int64_t minutes = (until_ns - d.start_ns + 59 * JM_NS_PER_S) / (60 * JM_NS_PER_S), windows = ask(sql);
    assert_int_equal(windows, minutes);
    /* Each with the step before it, whose kernels end with it. */
    snprintf(sql, sizeof sql, "SELECT count(*) FROM kernels WHERE start_ns < %lld", (long long)until_ns);
    assert_int_equal(ask(sql), windows * 2 * DAY_KERNELS);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM spans WHERE kind_id = 5 AND start_ns < %lld",
             (long long)until_ns);
    assert_int_equal(ask(sql), windows * 2 * DAY_LAYERS);
    /* A mark lies where a step begins, and the next where it ends. */
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM marks JOIN names ON names.id = marks.name_id JOIN spans ON spans.start_ns "
             "= t_ns WHERE text = "
             "'" JM_MARK_TRACED
             "' AND kind_id = 3 AND t_ns < %lld AND EXISTS (SELECT 1 FROM marks m JOIN names n ON n.id = "
             "m.name_id WHERE n.text = '" JM_MARK_STEPS "' AND m.t_ns = spans.end_ns)",
             (long long)until_ns);
    assert_int_equal(ask(sql), windows);
    /* What is younger is as it was. */
    snprintf(sql, sizeof sql, "SELECT count(*) FROM kernels WHERE start_ns >= %lld", (long long)until_ns);
    assert_int_equal(ask(sql), ask_of(whole_path, sql));
}

/* Steps of 34 ms and chunks of 20 s meet every 340 s, where every tenth window ends. */
static void test_time_that_was_not_traced_is_never_said_to_be(void **state)
{
    (void)state;
    char sql[700];
    day d = day_begin(path, 1000, 60, 0);
    day_go_on(&d, 800);
    day_end(&d);
    rows_kept();
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM (SELECT t_ns, text, lead(t_ns) OVER (ORDER BY t_ns, marks.rowid) AS until "
             "FROM marks JOIN "
             "names ON names.id = name_id) m WHERE text = '" JM_MARK_TRACED
             "' AND (SELECT count(*) FROM kernels WHERE "
             "start_ns >= t_ns AND start_ns < until) <> %d",
             DAY_KERNELS);
    assert_int_equal(ask(sql), 0);
    assert_true(
        ask("SELECT count(*) FROM marks JOIN names ON names.id = name_id WHERE text = '" JM_MARK_TRACED "'") >
        5);
}

static void test_rows_stand_in_the_order_of_time_and_name_what_is_there(void **state)
{
    (void)state;
    make_both();
    assert_int_equal(
        ask("SELECT count(*) FROM kernels WHERE span_id NOT NULL AND span_id NOT IN (SELECT id FROM spans)"),
        0);
    assert_int_equal(ask("SELECT count(*) FROM spans WHERE parent_id NOT NULL AND parent_id NOT IN (SELECT "
                         "id FROM spans)"),
                     0);
    assert_int_equal(ask("SELECT count(*) FROM readings WHERE sensor_id NOT IN (SELECT id FROM sensors)"), 0);
    assert_true(ask("SELECT max(before - t_ns) FROM (SELECT t_ns, max(t_ns) OVER (ORDER BY rowid) AS before "
                    "FROM readings)") <= 2 * JM_NS_PER_S);
    /* Means, one a second. */
    int64_t means =
        ask("SELECT count(*) FROM readings JOIN sensors ON sensors.id = sensor_id WHERE name = 'power_mean'");
    assert_true(means > length_s() - 300 && means < length_s());
    char sql[200];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM readings JOIN sensors ON sensors.id = sensor_id WHERE name = 'power_ring' "
             "AND t_ns BETWEEN 1080000000000 AND %lld",
             (long long)(600 + length_s()) * JM_NS_PER_S);
    assert_int_equal(ask(sql), 0);
    assert_int_equal(ask("SELECT count(*) FROM readings WHERE sensor_id = 2"),
                     ask_of(whole_path, "SELECT count(*) FROM readings WHERE sensor_id = 2"));
}

static void test_every_report_says_that_it_is_condensed(void **state)
{
    (void)state;
    make_both();
    jm_error err = {0};
    jm_recording *recording;
    jm_report *report;
    jm_report_options options = {.size = sizeof options, .by = JM_BY_BOARD};
    assert_int_equal(jm_recording_open(&recording, path, &err), JM_OK);
    assert_int_equal(jm_report_create(&report, recording, &options, &err), JM_OK);
    figures_kept(__BASE_FILE__, report);
    bool said = false;
    for (size_t i = 0; i < jm_report_note_count(report); i++)
        said = said || strstr(jm_report_note(report, i), "condensed") != NULL;
    assert_true(said);
    jm_report_free(report);
    jm_recording_close(recording);
}

static int64_t bytes_of(const char *file)
{
    struct stat info;
    return stat(file, &info) == 0 ? (int64_t)info.st_size : 0;
}

/* One step in ten traced: 16 MB a minute, so the size decides, not the age. */
static void test_file_stays_below_the_size_that_was_queried_for(void **state)
{
    (void)state;
    day d = day_begin(path, 10, 0, 30000000);
    for (int minute = 0; minute < proof_some(6, 3); minute++) {
        day_go_on(&d, 60);
        assert_true(bytes_of(path) <= 30000000);
    }
    day_end(&d);
    assert_true(bytes_of(path) <= 30000000);
    assert_int_equal(ask("SELECT count(*) FROM spans WHERE kind_id = 3"), d.steps);
    assert_true(fabs(total_of(path) / d.energy_j - 1) < 1e-4);
}

/* Ranges and kernels, and nothing that says where one round ends. */
static void test_kernels_that_no_step_explains_go_and_marks_say_so(void **state)
{
    (void)state;
    day d = day_begin(path, 0, 120, 0);
    for (int second = 0; second < 400; second++) {
        int64_t at = d.t_ns;
        day_span(&d, JM_SPAN_NVTX, d.step_name, 0, at, at + JM_NS_PER_S);
        jm__kernel kernel = {.start_ns = at,
                             .end_ns = at + JM_NS_PER_MS,
                             .class_id = d.gemm,
                             .stream_id = d.stream,
                             .span_id = d.last_span,
                             .launch_ns = at,
                             .calls = 1};
        jm__writer_kernels(d.writer, &kernel, 1);
        day_go_on(&d, 1);
        assert_true(jm__writer_commit(d.writer, d.t_ns, NULL) == JM_OK);
    }
    day_end(&d);
    rows_kept();
    int64_t until_ns = ask("SELECT value FROM meta WHERE key = 'condensed_until_ns'");
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM kernels WHERE start_ns < %lld", (long long)until_ns);
    assert_int_equal(ask(sql), 0);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM kernels WHERE start_ns >= %lld", (long long)until_ns);
    assert_int_equal(ask(sql), (d.t_ns - until_ns) / JM_NS_PER_S);
    assert_int_equal(
        ask("SELECT count(*) FROM marks JOIN names ON names.id = name_id WHERE text = '" JM_MARK_UNTRACED
            "'"),
        1);
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM marks JOIN names ON names.id = name_id WHERE text = '" JM_MARK_TRACED
             "' AND t_ns = %lld",
             (long long)until_ns);
    assert_int_equal(ask(sql), 1);
    assert_true(fabs(total_of(path) / d.energy_j - 1) < 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_total_is_that_of_the_whole_recording),
        cmocka_unit_test(test_energy_of_a_minute_long_ago_is_what_it_was),
        cmocka_unit_test(test_steps_and_other_marks_stay_and_one_traced_step_a_minute),
        cmocka_unit_test(test_rows_stand_in_the_order_of_time_and_name_what_is_there),
        cmocka_unit_test(test_every_report_says_that_it_is_condensed),
        cmocka_unit_test(test_file_stays_below_the_size_that_was_queried_for),
        cmocka_unit_test(test_time_that_was_not_traced_is_never_said_to_be),
        cmocka_unit_test(test_kernels_that_no_step_explains_go_and_marks_say_so),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
