/* What stays of a recording when its recorder is killed, the disk is full, the folder is read-only or the
 * file is cut: all that was written before, with a word on what is missing. */
#include "all_kernels.h"
#include "base/clock.h"
#include "format/copy.h"
#include "format/database.h"
#include "format/dataset.h"
#include "format/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define START_NS (INT64_C(1000) * JM_NS_PER_S)

static char folder[] = "/tmp/joulemap-test-crash-XXXXXX";
static char path[96];
static char mount_point[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/r.joulemap", folder);
    snprintf(mount_point, sizeof mount_point, "%s/mount", folder);
    return mkdir(mount_point, 0700);
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    umount(mount_point);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* A small file system of its own; skips the test where that is not permitted. */
static void mount_small(void)
{
    if (mount("tmpfs", mount_point, "tmpfs", 0, "size=1m,mode=700") == 0) return;
    print_message("skipped: a tmpfs cannot be mounted here (%s)\n", strerror(errno));
    skip();
}

/* ---- a recording that grows: second after second, 50 readings and 1000 kernels each */

enum { READINGS_A_SECOND = 50, KERNELS_A_SECOND = 1000 };

static jm__writer *begin(const char *file)
{
    jm_error err = {0};
    jm__writer *writer;
    jm_status status = jm__writer_create(&writer, file, true, &err);
    if (status != JM_OK) fail_msg("%s", err.text);
    jm_board board = {.backend = "nvml", .name = "H200", .simulated = true};
    assert_int_equal(jm__writer_board(writer, &board, NULL), JM_OK);
    jm_sensor sensor = {.board_id = 1, .name = "power_ring", .quantity = JM_QUANTITY_POWER};
    assert_int_equal(jm__writer_sensor(writer, &sensor, NULL), JM_OK);
    jm__kernel_class kernel_class = {.name_id = jm__writer_name(writer, "gemm"), .work = JM_WORK_KERNEL};
    assert_int_equal(jm__writer_kernel_class(writer, &kernel_class, NULL), JM_OK);
    jm__stream stream = {.process_id = 1, .board_id = 1};
    assert_int_equal(jm__writer_stream(writer, &stream, NULL), JM_OK);
    char start[24];
    snprintf(start, sizeof start, "%" PRId64, START_NS);
    jm__writer_meta(writer, "start_ns", start);
    return writer;
}

static void write_second(jm__writer *writer, int second)
{
    int64_t start_ns = START_NS + second * JM_NS_PER_S;
    for (int i = 0; i < READINGS_A_SECOND; i++) {
        jm_reading reading = {1, start_ns + i * (JM_NS_PER_S / READINGS_A_SECOND), 300.0 + i};
        jm__writer_readings(writer, &reading, 1);
    }
    for (int i = 0; i < KERNELS_A_SECOND; i++) {
        int64_t t_ns = start_ns + i * (JM_NS_PER_S / KERNELS_A_SECOND);
        jm__kernel kernel = {t_ns, t_ns + 500000 + i, 1, 1, 0, t_ns - 9000, 0, 1};
        jm__writer_kernels(writer, &kernel, 1);
    }
}

static jm__dataset *load(jm_recording **recording, const char *file)
{
    jm_error err = {0};
    jm__dataset *data = NULL;
    jm_status status = jm_recording_open(recording, file, &err);
    if (status == JM_OK) status = jm__dataset_load(&data, *recording, &err);
    if (status != JM_OK) fail_msg("%s", err.text);
    return data;
}

static void check_seconds(const jm__dataset *data, size_t seconds)
{
    assert_int_equal(data->reading_count, seconds * READINGS_A_SECOND);
    assert_int_equal(all_kernels_count(data), seconds * KERNELS_A_SECOND);
    for (size_t i = 1; i < data->reading_count; i++)
        assert_int_equal(data->readings[i].t_ns - data->readings[i - 1].t_ns,
                         JM_NS_PER_S / READINGS_A_SECOND);
}

/* In a child of its own: `seconds` are committed, one more is not, then it is killed. */
static void write_and_die(const char *file, int seconds)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        jm__writer *writer = begin(file);
        for (int second = 0; second < seconds; second++) {
            write_second(writer, second);
            jm__writer_commit(writer, START_NS + (second + 1) * JM_NS_PER_S, NULL);
        }
        write_second(writer, seconds);
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void test_a_killed_recorder_leaves_all_that_was_committed(void **state)
{
    (void)state;
    jm_recording *recording;
    write_and_die(path, 3);
    jm__dataset *data = load(&recording, path);
    check_seconds(data, 3);
    assert_int_equal(data->end_ns, START_NS + 3 * JM_NS_PER_S);
    assert_string_equal(jm_recording_damage(recording),
                        "the recorder ended before it could close the file: the first 3.0 s are whole, what "
                        "came later is missing");
    jm__dataset_free(data);
    jm_recording_close(recording);
}

static void test_the_journal_of_a_killed_recorder_may_be_cut(void **state)
{
    (void)state;
    enum { SECONDS = 40 };
    char journal[112];
    struct stat info;
    snprintf(journal, sizeof journal, "%s-wal", path);
    write_and_die(path, SECONDS);
    assert_int_equal(stat(journal, &info), 0);
    assert_int_equal(truncate(journal, info.st_size / 2), 0);
    jm_recording *recording;
    jm__dataset *data = load(&recording, path);
    assert_true(data->board_count == 1 && data->sensor_count == 1);
    size_t seconds = data->reading_count / READINGS_A_SECOND;
    assert_in_range(seconds, SECONDS * 40 / 100, SECONDS * 60 / 100);
    check_seconds(data, seconds); /* whole commits, none in parts */
    assert_non_null(
        strstr(jm_recording_damage(recording), "the recorder ended before it could close the file"));
    jm__dataset_free(data);
    jm_recording_close(recording);
    assert_int_equal(truncate(journal, 0), 0); /* or lost */
    data = load(&recording, path);
    assert_int_equal(data->board_count, 1);
    jm__dataset_free(data);
    jm_recording_close(recording);
}

static void test_what_a_killed_recorder_left_opens_from_a_read_only_folder(void **state)
{
    (void)state;
    char file[128];
    jm_recording *recording;
    mount_small();
    snprintf(file, sizeof file, "%s/r.joulemap", mount_point);
    write_and_die(file, 2);
    char beside[140];
    snprintf(beside, sizeof beside, "%s-shm", file);
    unlink(beside); /* as after a copy of both files */
    assert_int_equal(mount("tmpfs", mount_point, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=1m"), 0);
    jm__dataset *data = load(&recording, file);
    check_seconds(data, 2);
    jm__dataset_free(data);
    jm_recording_close(recording);
    assert_int_equal(umount(mount_point), 0);
}

/* A database whose first row counts on, then its last, far behind; its journal begins anew after each. In
 * bursts: in between a copy comes to something. */
static void count_on_and_on(const char *file)
{
    sqlite3 *db;
    if (sqlite3_open(file, &db) != SQLITE_OK) _exit(1);
    sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    for (int i = 1;; i++) {
        sqlite3_exec(db, "UPDATE counts SET value = value + 1 WHERE rowid = 1", NULL, NULL, NULL);
        sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
        sqlite3_exec(db, "UPDATE counts SET value = value + 1 WHERE rowid = 2002", NULL, NULL, NULL);
        sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
        if (i % 20 == 0) usleep(30000);
    }
}

/* By how much the first is ahead of the last; -1: it cannot be read. */
static int64_t count_ahead(const char *file)
{
    static const char sql[] =
        "SELECT a.value - b.value FROM counts a, counts b WHERE a.rowid = 1 AND b.rowid = 2002";
    sqlite3 *db;
    int64_t ahead;
    if (sqlite3_open(file, &db) != SQLITE_OK || jm__database_integer(db, sql, &ahead, file, NULL) != JM_OK)
        ahead = -1;
    sqlite3_close(db);
    return ahead;
}

static void test_a_copy_of_what_is_being_written_is_of_one_moment(void **state)
{
    (void)state;
    sqlite3 *db;
    char file[128], command[512];
    snprintf(file, sizeof file, "%s/counts", folder);
    assert_int_equal(sqlite3_open(file, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db,
                     "PRAGMA journal_mode = WAL; CREATE TABLE counts(value INTEGER, room BLOB);"
                     "INSERT INTO counts VALUES(0, NULL);"
                     "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000)"
                     "INSERT INTO counts SELECT 0, zeroblob(4000) FROM n;"
                     "INSERT INTO counts VALUES(0, NULL);",
                     NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    pid_t child = fork();
    if (child == 0) count_on_and_on(file);
    snprintf(command, sizeof command, "%s-wal", file);
    for (int tries = 0; access(command, F_OK) != 0 && tries < 10000; tries++) /* until it is written */
        usleep(1000);
    int whole = 0, torn = 0, failed = 0;
    for (int tries = 0; whole < 20 && tries < 2000; tries++) {
        jm__copy *copy;
        jm_error err;
        jm_status status = jm__copy_create(&copy, file, &err);
        if (status == JM_BUSY) continue;
        if (status != JM_OK && ++failed) break;
        int64_t ahead = count_ahead(jm__copy_path(copy));
        torn += ahead < 0 || ahead > 1;
        jm__copy_free(copy);
        whole++;
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    snprintf(command, sizeof command, "rm -f %s %s-wal %s-shm", file, file, file);
    assert_int_equal(system(command), 0);
    assert_int_equal(failed, 0);
    assert_int_equal(torn, 0);
    assert_true(whole > 0);
}

static void test_a_whole_recording_opens_from_a_read_only_folder(void **state)
{
    (void)state;
    char file[128];
    jm_recording *recording;
    mount_small();
    snprintf(file, sizeof file, "%s/r.joulemap", mount_point);
    jm__writer *writer = begin(file);
    write_second(writer, 0);
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
    assert_int_equal(mount("tmpfs", mount_point, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=1m"), 0);
    jm__dataset *data = load(&recording, file);
    check_seconds(data, 1);
    assert_null(jm_recording_damage(recording));
    jm__dataset_free(data);
    jm_recording_close(recording);
    jm_error err;
    char other[128];
    snprintf(other, sizeof other, "%s/new.joulemap", mount_point);
    assert_int_equal(jm__writer_create(&writer, other, false, &err), JM_NO_PERMISSION);
    assert_non_null(strstr(err.text, "its folder is read-only"));
    assert_non_null(strstr(err.hint, "-o"));
    assert_int_equal(umount(mount_point), 0);
}

static void test_a_recording_cut_in_half_gives_its_first_half(void **state)
{
    (void)state;
    enum { SECONDS = 100 };
    jm__writer *writer = begin(path);
    for (int second = 0; second < SECONDS; second++) {
        write_second(writer, second);
        assert_int_equal(jm__writer_commit(writer, START_NS + (second + 1) * JM_NS_PER_S, NULL), JM_OK);
    }
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size / 2), 0);
    jm_recording *recording;
    jm__dataset *data = load(&recording, path);
    /* Rows lie in the file in the order of time: half of the file is half of the run, but for a few pages. */
    print_message("%zu of %d readings, %zu of %d kernels\n", data->reading_count, SECONDS * READINGS_A_SECOND,
                  all_kernels_count(data), SECONDS * KERNELS_A_SECOND);
    assert_in_range(data->reading_count, SECONDS * READINGS_A_SECOND * 45 / 100,
                    SECONDS * READINGS_A_SECOND * 55 / 100);
    assert_in_range(all_kernels_count(data), SECONDS * KERNELS_A_SECOND * 45 / 100,
                    SECONDS * KERNELS_A_SECOND * 55 / 100);
    for (size_t i = 0; i < data->reading_count; i++)
        assert_int_equal(data->readings[i].t_ns, START_NS + (int64_t)i * (JM_NS_PER_S / READINGS_A_SECOND));
    const char *damage = jm_recording_damage(recording);
    assert_non_null(damage);
    print_message("%s\n", damage);
    assert_non_null(strstr(damage, "the file is cut short"));

    jm__dataset_free(data);
    jm_recording_close(recording);
}

static void test_a_recording_cut_anywhere_never_crashes_the_reader(void **state)
{
    (void)state;
    jm__writer *writer = begin(path);
    for (int second = 0; second < 5; second++) {
        write_second(writer, second);
        assert_int_equal(jm__writer_commit(writer, START_NS + (second + 1) * JM_NS_PER_S, NULL), JM_OK);
    }
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    size_t last_count = SIZE_MAX;
    for (off_t size = info.st_size - 1; size > 0; size -= 3001) {
        jm_recording *recording;
        jm__dataset *data;
        assert_int_equal(truncate(path, size), 0);
        if (jm_recording_open(&recording, path, NULL) != JM_OK) continue;
        assert_int_equal(jm__dataset_load(&data, recording, NULL), JM_OK);
        assert_non_null(jm_recording_damage(recording));
        size_t count = all_kernels_count(data);
        assert_true(count <= last_count); /* less file, never more rows */
        last_count = count;
        jm__dataset_free(data);
        jm_recording_close(recording);
    }
    assert_true(last_count < 5 * KERNELS_A_SECOND);
}

/* Of "its last 3.1 s are missing (100 kernels, 2 events and notes)". */
static int64_t told_lost(const char *text, const char *what)
{
    const char *at = strstr(text, what);
    while (at != NULL && at > text && strchr("(,", at[-1]) == NULL)
        at--;
    return at == NULL ? 0 : strtoll(at, NULL, 10);
}

static void test_a_full_disk_keeps_readings_before_kernels_and_counts_the_rest(void **state)
{
    (void)state;
    char file[128];
    jm_error err = {0};
    mount_small();
    snprintf(file, sizeof file, "%s/r.joulemap", mount_point);
    jm__writer *writer = begin(file);
    int second = 0, good = 0;
    for (int full = 0; full < 10; second++) { /* for good */
        assert_true(second < 1000);
        write_second(writer, second);
        jm_status status = jm__writer_commit(writer, START_NS + (second + 1) * JM_NS_PER_S, NULL);
        assert_true(status == JM_OK || status == JM_DISK_FULL);
        full = status == JM_OK ? 0 : full + 1;
        if (status == JM_OK) good = second + 1;
    }
    assert_true(good > 2);
    assert_int_equal(jm__writer_close(writer, &err), JM_DISK_FULL);
    assert_non_null(strstr(err.hint, "free space"));
    assert_null(strstr(err.text, "readings"));
    jm_recording *recording;
    jm__dataset *data = load(&recording, file);
    assert_int_equal(data->reading_count, second * READINGS_A_SECOND);
    assert_true(data->end_ns >= data->readings[data->reading_count - 1].t_ns);
    int64_t kernels = (int64_t)all_kernels_count(data), lost = told_lost(err.text, "kernels");
    assert_true(kernels >= good * KERNELS_A_SECOND);
    assert_true(lost > 0);
    assert_int_equal(kernels + lost, second * KERNELS_A_SECOND);
    assert_null(jm_recording_damage(recording)); /* it has its end mark, and says itself what is missing */
    assert_int_equal(data->loss_count, 1);
    assert_int_equal(data->losses[0].count, lost);
    jm__dataset_free(data);
    jm_recording_close(recording);
    assert_int_equal(umount(mount_point), 0);
}

static void test_space_that_is_freed_in_time_loses_nothing(void **state)
{
    (void)state;
    char file[128], ballast[128];
    mount_small();
    snprintf(file, sizeof file, "%s/r.joulemap", mount_point);
    snprintf(ballast, sizeof ballast, "%s/ballast", mount_point);
    int handle = open(ballast, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(posix_fallocate(handle, 0, 512 * 1024), 0);
    close(handle);
    jm__writer *writer = begin(file);
    int second = 0;
    jm_status status = JM_OK;
    while (status == JM_OK && second < 1000) {
        write_second(writer, second++);
        status = jm__writer_commit(writer, START_NS + second * JM_NS_PER_S, NULL);
    }
    assert_int_equal(status, JM_DISK_FULL);
    write_second(writer, second++);
    assert_int_equal(unlink(ballast), 0);
    assert_int_equal(jm__writer_commit(writer, START_NS + second * JM_NS_PER_S, NULL), JM_OK);
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
    jm_recording *recording;
    jm__dataset *data = load(&recording, file);
    check_seconds(data, (size_t)second);
    assert_int_equal(data->loss_count, 0);
    assert_null(jm_recording_damage(recording));
    jm__dataset_free(data);
    jm_recording_close(recording);
    assert_int_equal(umount(mount_point), 0);
}

/* ---- what is no recording of ours */

static void write_text(const char *text, size_t length)
{
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    assert_int_equal(write(file, text, length), length);
    close(file);
}

static void expect_refusal(jm_status status, const char *words)
{
    jm_error err = {0};
    jm_recording *recording;
    assert_int_equal(jm_recording_open(&recording, path, &err), status);
    if (strstr(err.text, words) == NULL) fail_msg("\"%s\" lacks \"%s\"", err.text, words);
}

static void change_file(const char *sql)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void test_what_is_no_recording_is_refused_with_its_reason(void **state)
{
    (void)state;
    unlink(path);
    expect_refusal(JM_NOT_FOUND, "No such file");
    write_text("", 0);
    expect_refusal(JM_BAD_DATA, "is empty");
    write_text("sensor,t_s,value\n1,2,3\n", 23);
    expect_refusal(JM_BAD_DATA, "is not a recording of joulemap");
    unlink(path);
    change_file("CREATE TABLE cats(name)");
    expect_refusal(JM_BAD_DATA, "a database, but not a recording");
    jm__writer *writer = begin(path);
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
    change_file("PRAGMA user_version = 99");
    expect_refusal(JM_UNKNOWN_VERSION, "format 99");
}

/* SQLite's own header: what it makes no sense of is recovered row by row, or refused as what it is. */
static void test_a_damaged_byte_of_the_header_is_never_a_fault_of_ours(void **state)
{
    (void)state;
    enum { MAGIC = 16, HEADER = 100 };
    static const unsigned char turned[] = {0x01, 0x80, 0xff, 0x42};
    jm__writer *writer = begin(path);
    write_second(writer, 0);
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
    int file = open(path, O_RDWR | O_CLOEXEC);
    for (off_t at = MAGIC; at < HEADER; at++) {
        unsigned char was, is;
        assert_int_equal(pread(file, &was, 1, at), 1);
        for (size_t i = 0; i < sizeof turned; i++) {
            jm_error err = {0};
            jm_recording *recording;
            jm__dataset *data;
            is = was ^ turned[i];
            assert_int_equal(pwrite(file, &is, 1, at), 1);
            jm_status status = jm_recording_open(&recording, path, &err);
            if (status == JM_OK) {
                status = jm__dataset_load(&data, recording, &err);
                if (status == JM_OK) jm__dataset_free(data);
                jm_recording_close(recording);
            }
            if (status != JM_OK && status != JM_BAD_DATA && status != JM_UNKNOWN_VERSION)
                fail_msg("byte %d ^ %d: %s", (int)at, turned[i], err.text);
        }
        assert_int_equal(pwrite(file, &was, 1, at), 1);
    }
    close(file);
}

static void test_rows_that_name_what_is_not_there_are_left_out_and_told(void **state)
{
    (void)state;
    jm__writer *writer = begin(path);
    write_second(writer, 0);
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
    change_file(
        "INSERT INTO readings VALUES(1, 4000000000, 1.0), (2, -1, 1.0), (3, 1, 'text');"
        "INSERT INTO kernels VALUES(5, 5, 77, 1, 0, 0, 0, 1), (9223372036854775807, 9, 1, 1, 0, 0, 0, 1);"
        "INSERT INTO boards(id, backend, name, simulated, mig, upstream) VALUES(9000000000000, 'x', 'y', 0, "
        "0, 0)");
    jm_recording *recording;
    jm__dataset *data = load(&recording, path);
    assert_int_equal(all_kernels_count(data), KERNELS_A_SECOND);
    assert_int_equal(data->board_count, 1);
    assert_non_null(strstr(jm_recording_damage(recording), "3 rows refer to what is not there"));
    assert_non_null(strstr(jm_recording_damage(recording), "2 kernels refer to what is not there"));
    assert_string_equal(data->damage, jm_recording_damage(recording));
    jm__dataset_free(data);
    jm_recording_close(recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_killed_recorder_leaves_all_that_was_committed),
        cmocka_unit_test(test_the_journal_of_a_killed_recorder_may_be_cut),
        cmocka_unit_test(test_what_a_killed_recorder_left_opens_from_a_read_only_folder),
        cmocka_unit_test(test_a_copy_of_what_is_being_written_is_of_one_moment),
        cmocka_unit_test(test_a_whole_recording_opens_from_a_read_only_folder),
        cmocka_unit_test(test_a_recording_cut_in_half_gives_its_first_half),
        cmocka_unit_test(test_a_recording_cut_anywhere_never_crashes_the_reader),
        cmocka_unit_test(test_a_full_disk_keeps_readings_before_kernels_and_counts_the_rest),
        cmocka_unit_test(test_space_that_is_freed_in_time_loses_nothing),
        cmocka_unit_test(test_what_is_no_recording_is_refused_with_its_reason),
        cmocka_unit_test(test_a_damaged_byte_of_the_header_is_never_a_fault_of_ours),
        cmocka_unit_test(test_rows_that_name_what_is_not_there_are_left_out_and_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
