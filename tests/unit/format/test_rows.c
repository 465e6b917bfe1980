/* The tables of a recording: the same in the file, in the documentation and in recovery; old ones; counters.
 */
#include "format/dataset.h"
#include "format/file_lock.h"
#include "format/recording.h"
#include "format/recover.h"
#include "format/rows/table.h"
#include "format/writer.h"
#include "told.h"

#include <joulemap/report.h>

#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/joulemap-rows-XXXXXX";

static void run_sql(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
}

static char *read_text(const char *name)
{
    char whole[512];
    snprintf(whole, sizeof whole, JM_SOURCE_DIR "/%s", name);
    FILE *file = fopen(whole, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    long size = ftell(file);
    rewind(file);
    char *text = calloc(1, (size_t)size + 1);
    assert_int_equal(fread(text, 1, (size_t)size, file), (size_t)size);
    fclose(file);
    return text;
}

/* ---- what SQLite and the documentation say of the tables */

/* Name, type, NOT NULL and key of each column of a table, as SQLite understands it. */
static void add_columns(jm__strbuf *text, sqlite3 *db, const char *table)
{
    char sql[256];
    sqlite3_stmt *columns;
    snprintf(sql, sizeof sql, "SELECT name, type, \"notnull\", pk FROM pragma_table_info('%s')", table);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &columns, NULL), SQLITE_OK);
    while (sqlite3_step(columns) == SQLITE_ROW)
        jm__strbuf_format(text, "%s.%s %s %d %d\n", table, (const char *)sqlite3_column_text(columns, 0),
                          (const char *)sqlite3_column_text(columns, 1), sqlite3_column_int(columns, 2),
                          sqlite3_column_int(columns, 3));
    sqlite3_finalize(columns);
}

static void test_the_tables_of_format_1_are_those_that_0_1_made(void **state)
{
    (void)state;
    jm_error err;
    sqlite3 *was, *is;
    jm__strbuf columns_were = {0}, columns_are = {0};
    char *schema = read_text("tests/data/recordings/schema-1.sql");
    assert_int_equal(sqlite3_open(":memory:", &was), SQLITE_OK);
    run_sql(was, schema);
    assert_int_equal(jm__database_create(&is, NULL, 1, &err), JM_OK);
    for (int table = 0; table < JM_TABLE_COUNT; table++) {
        add_columns(&columns_were, was, jm__tables[table].name);
        add_columns(&columns_are, is, jm__tables[table].name);
    }
    assert_non_null(strstr(columns_were.text, "processes.parent_id INTEGER 0 0\n"));
    assert_string_equal(columns_are.text, columns_were.text);
    jm__strbuf_free(&columns_were);
    jm__strbuf_free(&columns_are);
    sqlite3_close(was);
    sqlite3_close(is);
    free(schema);
}

/* The part of the page below the heading that names `table`. */
static char *section_of(const char *page, const char *table)
{
    const char *heading = strstr(page, "\n### ");
    for (; heading != NULL; heading = strstr(heading + 1, "\n### ")) {
        size_t length = strcspn(heading + 5, "\n"), at = 0;
        while (at < length) { /* names with ", " between them */
            size_t name = strcspn(heading + 5 + at, ",\n");
            if (name == strlen(table) && strncmp(heading + 5 + at, table, name) == 0) break;
            at += name + 2;
        }
        if (at < length) break;
    }
    if (heading == NULL) return NULL;
    const char *end = strstr(heading + 1, "\n##");
    return strndup(heading, end == NULL ? strlen(heading) : (size_t)(end - heading));
}

static void test_every_table_and_column_is_explained_in_the_documentation(void **state)
{
    (void)state;
    char *page = read_text("docs/file-format.md");
    for (int t = 0; t < JM_TABLE_COUNT; t++) {
        const jm__table *table = &jm__tables[t];
        char *section = section_of(page, table->name);
        if (section == NULL) fail_msg("docs/file-format.md has no heading for %s", table->name);
        for (size_t i = 0; i < table->column_count; i++) {
            char name[64];
            if (!jm__column_in(&table->columns[i], JM_RECORDING_VERSION)) continue;
            snprintf(name, sizeof name, "`%s`", table->columns[i].name);
            if (strstr(section, name) == NULL)
                fail_msg("docs/file-format.md does not explain %s.%s", table->name, table->columns[i].name);
        }
        free(section);
    }
    char version[64];
    snprintf(version, sizeof version, "`PRAGMA user_version` is the version of the format, now %d.",
             JM_RECORDING_VERSION);
    assert_non_null(strstr(page, version));
    free(page);
}

/* ---- damage */

/* What a column's values can be in a record: some of "nirtb", NULL, integer, real, text, bytes. */
static const char *stored_as(const jm__column *column)
{
    switch (column->kind) {
    case JM_COLUMN_ROW_ID:
        return "n";
    case JM_COLUMN_REAL:
        return column->required ? "ir" : "nir";
    case JM_COLUMN_NUMBER:
        return "nirt";
    case JM_COLUMN_CHARS:
    case JM_COLUMN_TEXT:
    case JM_COLUMN_WORD:
    case JM_COLUMN_DERIVED:
        return column->required ? "t" : "nt";
    case JM_COLUMN_BLOB:
        return column->required ? "b" : "nb";
    default:
        return column->required ? "i" : "ni";
    }
}

static size_t columns_of(const jm__table *table, int version, const jm__column *columns[JM_COLUMNS_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < table->column_count; i++)
        if (jm__column_in(&table->columns[i], version)) columns[count++] = &table->columns[i];
    return count;
}

static void test_recovery_cannot_take_a_row_of_one_table_for_one_of_another(void **state)
{
    (void)state;
    for (int version = 1; version <= JM_RECORDING_VERSION; version++) {
        for (int a = 0; a < JM_TABLE_COUNT; a++) {
            for (int b = a + 1; b < JM_TABLE_COUNT; b++) {
                const jm__column *left[JM_COLUMNS_MAX], *right[JM_COLUMNS_MAX];
                size_t count = columns_of(&jm__tables[a], version, left);
                if (jm__tables[a].since > version || jm__tables[b].since > version ||
                    columns_of(&jm__tables[b], version, right) != count)
                    continue;
                bool differ = false;
                for (size_t i = 0; i < count; i++)
                    differ = differ || strpbrk(stored_as(left[i]), stored_as(right[i])) == NULL;
                if (!differ)
                    fail_msg("format %d: a row can be of %s and of %s", version, jm__tables[a].name,
                             jm__tables[b].name);
            }
        }
    }
}

static jm__dataset *load(jm_recording **recording)
{
    jm_error err;
    jm__dataset *data = NULL;
    if (jm_recording_open(recording, path, &err) != JM_OK ||
        jm__dataset_load(&data, *recording, &err) != JM_OK)
        fail_msg("%s", err.text);
    return data;
}

static void check_old_processes(const jm__dataset *data)
{
    assert_int_equal(data->process_count, 2);
    assert_int_equal(data->processes[0].pid, 40);
    assert_int_equal(data->processes[1].pid, 77);
    assert_int_equal(data->processes[1].parent_pid, 40);
    assert_int_equal(data->processes[1].rank, -1);
    assert_string_equal(data->processes[1].host, "node7");
    assert_string_equal(data->processes[1].command, "python x");
    assert_int_equal(data->span_count, 1);
    assert_int_equal(jm__dataset_process(data, data->spans[0].process_id)->pid, 77);
    assert_true(jm__dataset_process_has_pid(data, data->spans[0].process_id, 77));
    assert_false(jm__dataset_process_has_pid(data, data->spans[0].process_id, 40));
    assert_string_equal(data->boards[0].host, "node7");
    assert_int_equal(data->boards[0].cuda_index, -1);
    assert_int_equal(data->boards[0].index, 3);
}

static void make_old_file(void)
{
    sqlite3 *db;
    char *schema = read_text("tests/data/recordings/schema-1.sql");
    unlink(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    run_sql(db, schema);
    run_sql(
        db,
        "INSERT INTO meta VALUES('host', 'node7'), ('start_ns', '100'), ('end_ns', '900'), ('closed', '1');"
        "INSERT INTO boards(id, backend, name, board_index, simulated, mig) VALUES(1, 'nvml', 'A', 3, 0, 0);"
        "INSERT INTO processes VALUES(77, 40, 150, 800, 'python x'), (40, NULL, 100, 900, NULL);"
        "INSERT INTO span_kinds VALUES(1, 'phase', 1);"
        "INSERT INTO names VALUES(1, 'train');"
        "INSERT INTO spans VALUES(1, 77, 77, NULL, 200, 300, 1, 1, NULL, NULL)");
    sqlite3_close(db);
    free(schema);
}

static void test_a_file_of_format_1_names_its_processes_by_pid(void **state)
{
    (void)state;
    jm_recording *recording;
    make_old_file();
    jm__dataset *data = load(&recording);
    assert_null(data->damage);
    check_old_processes(data);
    jm__dataset_free(data);
    jm_recording_close(recording);
}

static void test_a_damaged_file_of_format_1_is_recovered_by_its_own_tables(void **state)
{
    (void)state;
    jm_recording *recording;
    struct stat info;
    make_old_file();
    int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(fstat(file, &info), 0);
    assert_int_equal(ftruncate(file, info.st_size - 100), 0); /* a part of an empty table's page */
    close(file);
    jm__dataset *data = load(&recording);
    assert_non_null(strstr(data->damage, "cut short"));
    check_old_processes(data);
    jm__dataset_free(data);
    jm_recording_close(recording);
}

/* Every way to a time or a count that a report reckons with. The sanitizers see what overflows. */
static void test_numbers_that_no_clock_gives_are_not_reckoned_with(void **state)
{
    (void)state;
    static const char *const damages[] = {
        "UPDATE meta SET value = '-9223372036854775807' WHERE key = 'start_ns';"
        "UPDATE meta SET value = '9223372036854775807' WHERE key = 'end_ns'",
        "UPDATE meta SET value = '-9223372036854775807' WHERE key = 'start_ns';"
        "DELETE FROM meta WHERE key IN ('end_ns', 'closed');"
        "INSERT INTO meta VALUES('complete_ns', '9223372036854775807')",
        "UPDATE spans SET start_ns = -2000000000000000000, end_ns = NULL;"
        "UPDATE processes SET end_ns = 9223372036854775807",
        "INSERT INTO losses VALUES(1, 77, 9223372036854775807, 'a', 'b'), (2, 77, 9223372036854775807, 'a', "
        "'b')",
        "INSERT INTO events VALUES(9223372036854775807, 1, 'board_lost', NULL, ''),"
        " (-9223372036854775807 - 1, 1, 'board_lost', NULL, '')",
        "INSERT INTO events VALUES(210, 1, 'gap', NULL, ''), (220, 1, 'gap', 1e300, ''), (230, 1, 'gap', -5, "
        "'')",
        "DELETE FROM spans; DELETE FROM readings; DELETE FROM meta", /* nothing at all */
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        sqlite3 *db;
        jm_error err;
        jm_recording *recording;
        jm_report *report;
        make_old_file();
        assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
        run_sql(db, "INSERT INTO sensors VALUES(1, 1, 'power_instant', '', NULL, 'power', 'W', 'instant', 0,"
                    " 0, 0, 0, 0, 0, 0, 1, 0);"
                    "INSERT INTO readings VALUES(200, 1, 100), (250, 1, 100)");
        run_sql(db, damages[i]);
        sqlite3_close(db);
        assert_int_equal(jm_recording_open(&recording, path, &err), JM_OK);
        for (int by = 0; by < JM_BY_COUNT; by++) {
            for (int phase = 0; phase < (i == 6 ? 1 : 2); phase++) {
                const jm_report_options options = {
                    .size = sizeof options, .by = (jm_by)by, .phase = phase ? "train" : NULL};
                if (jm_report_create(&report, recording, &options, &err) != JM_OK) fail_msg("%s", err.text);
                assert_true(jm_report_quality_get(report)->gap_s == 0);
                jm_report_free(report);
            }
        }
        jm_recording_close(recording);
    }
}

static void test_a_view_by_the_name_of_a_table_is_not_read(void **state)
{
    (void)state;
    jm_error err;
    sqlite3 *db;
    jm__writer *writer;
    assert_int_equal(jm__writer_create(&writer, path, true, &err), JM_OK);
    assert_int_equal(jm__writer_close(writer, &err), JM_OK);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    run_sql(db, "DROP TABLE readings;"
                "CREATE VIEW readings AS WITH RECURSIVE c(t_ns, sensor_id, value) AS"
                " (SELECT 1, 1, 1.0 UNION ALL SELECT t_ns + 1, 1, 1.0 FROM c) SELECT * FROM c");
    sqlite3_close(db);
    jm_recording *recording;
    jm__dataset *data = load(&recording); /* and comes back */
    assert_int_equal(data->reading_count, 0);
    assert_non_null(strstr(data->damage, "damaged"));
    jm__dataset_free(data);
    jm_recording_close(recording);
}

static void test_no_question_to_a_file_runs_into_a_view(void **state)
{
    (void)state;
    jm_error err;
    sqlite3 *db;
    jm__writer *writer;
    jm_recording *recording;
    int64_t id;
    char command[64];
    assert_int_equal(jm__writer_create(&writer, path, true, &err), JM_OK);
    assert_int_equal(jm__writer_close(writer, &err), JM_OK);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    run_sql(db, "DROP TABLE boards;"
                "CREATE VIEW boards AS WITH RECURSIVE c(id, backend, board_index) AS"
                " (SELECT 1, 'nvml', 1 UNION ALL SELECT id + 1, 'nvml', id FROM c) SELECT * FROM c");
    assert_int_equal(jm_recording_open(&recording, path, &err), JM_OK);
    assert_int_equal(jm_recording_board_id(recording, 0, &id, &err), JM_BAD_DATA);
    jm_recording_close(recording);
    run_sql(db, "DROP TABLE meta;"
                "CREATE VIEW meta AS WITH RECURSIVE c(key, value) AS"
                " (SELECT 'a', 1 UNION ALL SELECT 'a', value + 1 FROM c) SELECT * FROM c");
    sqlite3_close(db);
    assert_int_equal(jm__recorder_of(path, command, sizeof command), 0);
}

/* ---- counters */

enum { METRICS = 3, SAMPLES = 500 };

static double value_of(int64_t sample, int64_t metric)
{
    return sample % 50 == 7 && metric == 1 ? NAN : (double)sample * 0.25 + (double)metric * 1e9;
}

static void write_counters(jm__writer *writer, int64_t blocks)
{
    jm_error err;
    jm_board board = jm__board_blank;
    assert_int_equal(jm__writer_board(writer, &board, &err), JM_OK);
    jm__counter_set set = {.board_id = 1,
                           .metric_count = METRICS,
                           .metrics = "[\"sm\",\"tensor\",\"dram\"]",
                           .units = "[\"%\",\"%\",\"B/s\"]",
                           .period_ns = 1000000};
    assert_int_equal(jm__writer_counter_set(writer, &set, &err), JM_OK);
    assert_int_equal(set.id, 1);
    jm__counter_sample *samples = calloc(SAMPLES, sizeof *samples);
    size_t size = jm__counter_block_size(SAMPLES, METRICS);
    assert_int_equal(size, SAMPLES * 8 * (2 + METRICS));
    void *data = malloc(size);
    for (int64_t b = 0; b < blocks; b++) {
        int64_t start_ns = 1000000000 * (b + 1);
        for (int64_t i = 0; i < SAMPLES; i++) {
            samples[i].start_ns = start_ns + i * 1000000;
            samples[i].end_ns = samples[i].start_ns + 900000 + i;
            for (int64_t m = 0; m < METRICS; m++)
                samples[i].values[m] = value_of(b * SAMPLES + i, m);
        }
        jm__counter_block_pack(data, start_ns, samples, SAMPLES, METRICS);
        jm__counter_block block = {1, start_ns, start_ns + 1000000000, SAMPLES, {data, size}};
        assert_int_equal(jm__writer_counter_block(writer, &block, &err), JM_OK);
        block.data.size -= 8;
        assert_int_equal(jm__writer_counter_block(writer, &block, &err), JM_BAD_DATA);
        block.data.size += 8;
        block.set_id = 2;
        assert_int_equal(jm__writer_counter_block(writer, &block, &err), JM_BAD_DATA);
        block.set_id = 1;
        block.end_ns = samples[SAMPLES - 1].end_ns - 1; /* its last sample would reach out of it */
        assert_int_equal(jm__writer_counter_block(writer, &block, &err), JM_BAD_DATA);
    }
    free(data);
    free(samples);
}

static void check_counters(const told_file *file, size_t blocks)
{
    static jm__counter_sample sample;
    const jm__counter_source *counters = &file->dataset->counters;
    assert_int_equal(counters->set_count, 1);
    assert_int_equal(counters->sets[0].metric_count, METRICS);
    assert_string_equal(counters->sets[0].metrics, "[\"sm\",\"tensor\",\"dram\"]");
    assert_string_equal(counters->sets[0].units, "[\"%\",\"%\",\"B/s\"]");
    assert_int_equal(counters->sets[0].period_ns, 1000000);
    assert_int_equal(file->blocks.count, blocks);
    for (size_t b = 0; b < blocks; b++) {
        const jm__counter_block *block = &file->blocks.items[b];
        int64_t number = block->start_ns / 1000000000 - 1;
        assert_int_equal(block->count, SAMPLES);
        for (int64_t i = 0; i < SAMPLES; i++) {
            jm__counter_block_sample(block, METRICS, i, &sample);
            assert_int_equal(sample.start_ns, block->start_ns + i * 1000000);
            assert_int_equal(sample.end_ns, sample.start_ns + 900000 + i);
            for (int64_t m = 0; m < METRICS; m++) {
                double requested = value_of(number * SAMPLES + i, m);
                assert_true(isnan(requested) ? isnan(sample.values[m]) : sample.values[m] == requested);
            }
        }
    }
}

static void make_counters(int64_t blocks)
{
    jm_error err;
    jm__writer *writer;
    assert_int_equal(jm__writer_create(&writer, path, true, &err), JM_OK);
    write_counters(writer, blocks);
    assert_int_equal(jm__writer_close(writer, &err), JM_OK);
}

static void test_counters_come_back_as_they_were_written(void **state)
{
    (void)state;
    jm_error err;
    told_file file = {0};
    make_counters(4);
    assert_int_equal(told_read(&file, path, &err), JM_OK);
    assert_null(jm_recording_damage(file.recording));
    check_counters(&file, 4);
    told_close(&file);
}

static void test_counters_of_a_cut_file_are_recovered(void **state)
{
    (void)state;
    jm_error err;
    told_file file = {0};
    struct stat info;
    make_counters(40);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size * 3 / 4), 0);
    assert_int_equal(told_read(&file, path, &err), JM_OK);
    assert_non_null(strstr(jm_recording_damage(file.recording), "cut short"));
    assert_in_range(file.blocks.count, 20, 39);
    check_counters(&file, file.blocks.count);
    told_close(&file);
}

static void test_a_block_that_is_not_what_it_says_is_left_out_and_told(void **state)
{
    (void)state;
    jm_error err;
    sqlite3 *db;
    told_file file = {0};
    make_counters(4);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    run_sql(db, "UPDATE counter_blocks SET count = count + 1 WHERE rowid = 2;"
                "UPDATE counter_blocks SET data = 'text' WHERE rowid = 3;"
                "UPDATE counter_blocks SET end_ns = start_ns + 1000000 WHERE rowid = 4;"
                "INSERT INTO counter_blocks SELECT 9, start_ns, end_ns, count, data FROM counter_blocks"
                " WHERE rowid = 1");
    sqlite3_close(db);
    assert_int_equal(told_read(&file, path, &err), JM_OK);
    check_counters(&file, 1);
    assert_non_null(strstr(jm_recording_damage(file.recording), "4 blocks of counters"));
    told_close(&file);
}

static int make_path(void **state)
{
    (void)state;
    int file = mkstemp(path);
    if (file >= 0) close(file);
    return file < 0;
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_tables_of_format_1_are_those_that_0_1_made),
        cmocka_unit_test(test_every_table_and_column_is_explained_in_the_documentation),
        cmocka_unit_test(test_recovery_cannot_take_a_row_of_one_table_for_one_of_another),
        cmocka_unit_test(test_a_file_of_format_1_names_its_processes_by_pid),
        cmocka_unit_test(test_a_damaged_file_of_format_1_is_recovered_by_its_own_tables),
        cmocka_unit_test(test_numbers_that_no_clock_gives_are_not_reckoned_with),
        cmocka_unit_test(test_a_view_by_the_name_of_a_table_is_not_read),
        cmocka_unit_test(test_no_question_to_a_file_runs_into_a_view),
        cmocka_unit_test(test_counters_come_back_as_they_were_written),
        cmocka_unit_test(test_counters_of_a_cut_file_are_recovered),
        cmocka_unit_test(test_a_block_that_is_not_what_it_says_is_left_out_and_told),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
