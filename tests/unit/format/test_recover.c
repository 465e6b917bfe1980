/* Recovery reads pages by itself: what it makes of a sound file is what SQLite makes of it, and of a damaged
 * one it loses what is damaged and no more. */
#include "base/strbuf.h"
#include "format/recording.h"
#include "format/recover.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char path[] = "/tmp/joulemap-recover-XXXXXX";

static void run_sql(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
}

/* ---- a file with values of all sizes */

/* Around each length at which SQLite writes an integer with a byte more. */
static void add_integers(sqlite3 *db)
{
    static const int bits[] = {0, 7, 8, 15, 16, 23, 24, 31, 32, 39, 40, 47, 48, 55, 56, 62};
    char sql[160];
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        for (int64_t off = -2; off <= 2; off++) {
            long long value = (long long)((INT64_C(1) << bits[i]) + off);
            snprintf(sql, sizeof sql, "INSERT INTO readings VALUES(%lld, %lld, %lld.5), (1, %lld, %lld)",
                     value, value, value, -value, value);
            run_sql(db, sql);
        }
    }
}

/* Around each length at which a row needs another page, and with it each length of the part on its first
 * page.
 */
static void add_texts(sqlite3 *db, int page)
{
    char sql[120];
    for (int pages = 0; pages <= 3; pages++) {
        for (int off = -60; off <= 20; off += pages == 1 ? 1 : 7) {
            int length = page * pages + off;
            if (length < 1) continue;
            snprintf(sql, sizeof sql, "INSERT INTO names(text) VALUES(printf('%%.%dc', 'a') || %d)", length,
                     length);
            run_sql(db, sql);
        }
    }
    for (int length = 400; length < 5 * page; length += page / 9) {
        snprintf(sql, sizeof sql, "INSERT INTO names(text) VALUES(printf('%%.%dc', 'b') || %d)", length,
                 length);
        run_sql(db, sql);
    }
    run_sql(db,
            "INSERT INTO names VALUES(70000, 'a number that needs three bytes'), (5000000000, 'and five')");
}

static void make_file(int page)
{
    sqlite3 *db;
    jm_error err;
    char sql[64];
    unlink(path);
    assert_int_equal(jm__database_create(&db, path, JM_RECORDING_VERSION, &err), JM_OK);
    snprintf(sql, sizeof sql, "PRAGMA journal_mode = DELETE; PRAGMA page_size = %d; VACUUM", page);
    run_sql(db, sql);
    run_sql(db, "BEGIN");
    add_integers(db);
    add_texts(db, page);
    run_sql(db,
            "INSERT INTO meta VALUES('start_ns', '100'), ('empty', ''), ('host', 'node7');"
            "INSERT INTO boards(id, backend, name, power_limit_w, clock_limit_mhz, simulated, mig, upstream)"
            " VALUES(1, 'nvml', 'A', 700, 1980.5, 0, 1, 0), (2, '', 'B', NULL, -1e300, 1, 0, 1);"
            "INSERT INTO counter_blocks VALUES(1, 2, 3, 4, x'00ff7f80'), (1, 2, 3, 4, zeroblob(9000));"
            "COMMIT");
    sqlite3_close(db);
}

/* ---- what a database holds, as text */

static void add_value(jm__strbuf *text, sqlite3_stmt *row, int column)
{
    int type = sqlite3_column_type(row, column);
    if (type == SQLITE_INTEGER)
        jm__strbuf_format(text, " %lld", (long long)sqlite3_column_int64(row, column));
    else if (type == SQLITE_FLOAT)
        jm__strbuf_format(text, " %a", sqlite3_column_double(row, column));
    else if (type == SQLITE_TEXT)
        jm__strbuf_format(text, " '%s'", (const char *)sqlite3_column_text(row, column));
    else
        jm__strbuf_format(text, " %d", type);
    const unsigned char *bytes = type == SQLITE_BLOB ? sqlite3_column_blob(row, column) : NULL;
    for (int i = 0; bytes != NULL && i < sqlite3_column_bytes(row, column); i++)
        jm__strbuf_format(text, "%02x", bytes[i]);
}

/* A row a line, the lines sorted: rows without numbers of their own may come in another order. */
static char *content_of(sqlite3 *db)
{
    jm__strbuf text = {0};
    for (int table = 0; table < JM_TABLE_COUNT; table++) {
        char sql[64];
        sqlite3_stmt *row;
        snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY 1, 2", jm__tables[table].name);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
        while (sqlite3_step(row) == SQLITE_ROW) {
            jm__strbuf_add(&text, jm__tables[table].name);
            for (int column = 0; column < sqlite3_column_count(row); column++)
                add_value(&text, row, column);
            jm__strbuf_add(&text, "\n");
        }
        sqlite3_finalize(row);
    }
    return jm__strbuf_take(&text);
}

static char *content_of_file(void)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    char *content = content_of(db);
    sqlite3_close(db);
    return content;
}

static char *recovered(jm__recovery *recovery)
{
    sqlite3 *db;
    jm_error err;
    if (jm__recover(&db, path, recovery, &err) != JM_OK) fail_msg("%s", err.text);
    char *content = content_of(db);
    sqlite3_close(db);
    return content;
}

static void assert_same_content(const char *is, const char *was)
{
    size_t same = 0;
    while (is[same] != '\0' && is[same] == was[same])
        same++;
    if (is[same] != was[same]) fail_msg("at byte %zu: '%.60s' was '%.60s'", same, is + same, was + same);
}

static void test_a_sound_file_is_recovered_value_by_value(void **state)
{
    (void)state;
    static const int pages[] = {512, 1024, 4096, 65536};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        jm__recovery recovery;
        struct stat info;
        make_file(pages[i]);
        char *was = content_of_file(), *is = recovered(&recovery);
        assert_same_content(is, was);
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(recovery.broken, 0);
        assert_int_equal(recovery.size, info.st_size);
        assert_int_equal(recovery.expected_size, info.st_size);
        assert_int_equal(recovery.format.version, JM_RECORDING_VERSION);
        free(was);
        free(is);
    }
}

/* ---- damage */

static size_t lines_of(const char *text)
{
    size_t count = 0;
    for (; *text != '\0'; text++)
        count += *text == '\n';
    return count;
}

typedef struct whole_file {
    unsigned char *bytes;
    size_t size;
} whole_file;

static whole_file read_file(void)
{
    struct stat info;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(fstat(file, &info), 0);
    whole_file whole = {malloc((size_t)info.st_size), (size_t)info.st_size};
    assert_int_equal(read(file, whole.bytes, whole.size), info.st_size);
    close(file);
    return whole;
}

static void write_file(const whole_file *whole)
{
    int file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_int_equal(write(file, whole->bytes, whole->size), whole->size);
    close(file);
}

/* A page of rows whose first row begins with a length and a number of a byte each. */
static unsigned char *leaf_of(const whole_file *whole, size_t page)
{
    for (size_t at = page; at < whole->size; at += page) {
        unsigned char *leaf = whole->bytes + at;
        const unsigned char *row = leaf + ((size_t)leaf[8] << 8 | leaf[9]);
        if (leaf[0] == 0x0d && leaf[4] > 3 && row < leaf + page && row[0] < 0x80 && row[1] < 0x80)
            return leaf;
    }
    return NULL;
}

static void check_one_row_lost(const whole_file *whole, const char *was)
{
    jm__recovery recovery;
    write_file(whole);
    char *is = recovered(&recovery);
    assert_int_equal(lines_of(is), lines_of(was) - 1);
    assert_int_equal(recovery.broken, 1);
    free(is);
}

static void test_a_broken_row_costs_itself_and_is_counted(void **state)
{
    (void)state;
    enum { PAGE = 512 };
    make_file(PAGE);
    char *was = content_of_file();
    whole_file whole = read_file();
    unsigned char *leaf = leaf_of(&whole, PAGE);
    assert_non_null(leaf);
    /* where the first row lies: beyond the page; its last byte, where no row fits */
    unsigned char high = leaf[8], low = leaf[9];
    leaf[8] = PAGE >> 8;
    leaf[9] = 0;
    check_one_row_lost(&whole, was);
    leaf[8] = (PAGE - 1) >> 8;
    leaf[9] = (PAGE - 1) & 0xff;
    check_one_row_lost(&whole, was);
    leaf[8] = high;
    leaf[9] = low;
    /* the first row: longer than any row; a record whose header is longer than it; of a type that is none */
    unsigned char *row = leaf + (high << 8 | low), kept[3] = {row[0], row[1], row[2]};
    memset(row, 0xff, 3);
    check_one_row_lost(&whole, was);
    memcpy(row, kept, 3);
    row[2] = 0x7f;
    check_one_row_lost(&whole, was);
    memcpy(row, kept, 3);
    unsigned char type = row[3];
    row[3] = 10;
    check_one_row_lost(&whole, was);
    row[3] = 11;
    check_one_row_lost(&whole, was);
    row[3] = type;
    write_file(&whole);
    jm__recovery recovery;
    char *is = recovered(&recovery);
    assert_same_content(is, was);
    free(is);
    free(was);
    free(whole.bytes);
}

/* What does not fit in a page goes on in another: there is none of that number. */
/* A page that SQLite had moved, and that was something else at its old place. */
static void test_of_rows_that_are_there_twice_the_first_stays(void **state)
{
    (void)state;
    enum { PAGE = 4096 };
    make_file(PAGE);
    char *was = content_of_file();
    whole_file whole = read_file();
    size_t at = PAGE; /* a page of names, which have numbers */
    while (at < whole.size && (whole.bytes[at] != 0x0d || whole.bytes[at + PAGE - 60] != 'a'))
        at += PAGE;
    assert_true(at < whole.size);
    whole.bytes = realloc(whole.bytes, whole.size + PAGE);
    assert_non_null(whole.bytes);
    memcpy(whole.bytes + whole.size, whole.bytes + at, PAGE);
    whole.bytes[whole.size + PAGE - 60] = 'z';
    whole.size += PAGE;
    whole.bytes[31]++; /* the number of pages */
    write_file(&whole);
    jm__recovery recovery;
    char *is = recovered(&recovery);
    assert_same_content(is, was);
    assert_int_equal(recovery.broken, 0);
    free(is);
    free(was);
    free(whole.bytes);
}

static void test_a_row_whose_next_page_is_missing_is_lost_alone(void **state)
{
    (void)state;
    make_file(4096);
    char *was = content_of_file();
    whole_file whole = read_file();
    size_t pages = whole.size / 4096, cut = 0;
    for (size_t at = 4096; at < whole.size && cut == 0; at += 4096) {
        if (whole.bytes[at] != 0x0d) continue;
        for (size_t row = at + 8; row + 8 < at + 4096;
             row++) { /* a row ends with the number of the next page */
            if (memcmp(whole.bytes + row, "aaaa\0\0", 6) != 0) continue;
            size_t next = (size_t)whole.bytes[row + 6] << 8 | whole.bytes[row + 7];
            if (next < 2 || next > pages) continue;
            cut = row;
            whole.bytes[row + 4] = 0x7f;
            break;
        }
    }
    assert_true(cut > 0);
    check_one_row_lost(&whole, was);
    whole.bytes[cut + 4] = 0; /* page 0: no page either */
    whole.bytes[cut + 6] = whole.bytes[cut + 7] = 0;
    check_one_row_lost(&whole, was);
    free(was);
    free(whole.bytes);
}

static void test_a_table_of_more_columns_than_any_of_ours_is_left_out(void **state)
{
    (void)state;
    sqlite3 *db;
    make_file(4096);
    char *was = content_of_file();
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    jm__strbuf create = {0}, insert = {0};
    jm__strbuf_add(&create, "CREATE TABLE wide(c0");
    jm__strbuf_add(&insert, "INSERT INTO wide VALUES(0");
    for (int column = 1; column <= 3 * JM_COLUMNS_MAX; column++) {
        jm__strbuf_format(&create, ", c%d", column);
        jm__strbuf_add(&insert, ", 7");
    }
    jm__strbuf_add(&create, ")");
    jm__strbuf_add(&insert, ")");
    run_sql(db, create.text);
    run_sql(db, insert.text);
    sqlite3_close(db);
    jm__recovery recovery;
    char *is = recovered(&recovery);
    assert_same_content(is, was);
    assert_int_equal(recovery.broken, 1);
    jm__strbuf_free(&create);
    jm__strbuf_free(&insert);
    free(is);
    free(was);
}

static void check_refused(const whole_file *whole, const char *reason)
{
    sqlite3 *db;
    jm_error err;
    jm__recovery recovery;
    write_file(whole);
    assert_int_equal(jm__recover(&db, path, &recovery, &err), JM_BAD_DATA);
    if (strstr(err.text, reason) == NULL) fail_msg("'%s' is not in '%s'", reason, err.text);
}

static void test_a_file_whose_beginning_makes_no_sense_is_refused(void **state)
{
    (void)state;
    make_file(4096);
    whole_file whole = read_file();
    static const unsigned char sizes[][2] = {{0, 0}, {1, 0}, {0, 2}};
    unsigned char kept[2] = {whole.bytes[16], whole.bytes[17]}, reserved = whole.bytes[20];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memcpy(whole.bytes + 16, sizes[i], 2);
        check_refused(&whole, "damaged at its very beginning");
    }
    whole.bytes[16] = 2; /* pages of 512, of which 479 bytes can be used */
    whole.bytes[17] = 0;
    whole.bytes[20] = 512 - 479;
    check_refused(&whole, "damaged at its very beginning");
    memcpy(whole.bytes + 16, kept, 2);
    whole.bytes[20] = reserved;
    whole.bytes[3] = 'x';
    check_refused(&whole, "is not a recording of joulemap");
    whole.bytes[3] = 'i';
    size_t size = whole.size;
    whole.size = 99;
    check_refused(&whole, "is not a recording of joulemap");
    whole.size = size - 5000;
    write_file(&whole);
    jm__recovery recovery;
    free(recovered(&recovery));
    assert_int_equal(recovery.size, size - 5000);
    assert_int_equal(recovery.expected_size, size);
    free(whole.bytes);
}

static void test_a_file_that_cannot_be_opened_is_an_error_with_its_path(void **state)
{
    (void)state;
    sqlite3 *db;
    jm_error err;
    jm__recovery recovery;
    assert_int_equal(jm__recover(&db, "/nowhere/at/all.joulemap", &recovery, &err), JM_IO);
    assert_non_null(strstr(err.text, "/nowhere/at/all.joulemap cannot be opened"));
}

static int make_path(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_sound_file_is_recovered_value_by_value),
        cmocka_unit_test(test_a_broken_row_costs_itself_and_is_counted),
        cmocka_unit_test(test_of_rows_that_are_there_twice_the_first_stays),
        cmocka_unit_test(test_a_row_whose_next_page_is_missing_is_lost_alone),
        cmocka_unit_test(test_a_table_of_more_columns_than_any_of_ours_is_left_out),
        cmocka_unit_test(test_a_file_whose_beginning_makes_no_sense_is_refused),
        cmocka_unit_test(test_a_file_that_cannot_be_opened_is_an_error_with_its_path),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
