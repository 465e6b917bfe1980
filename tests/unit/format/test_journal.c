/* When what lies in the journal goes into the file: now and then, and sooner where room is scarce. */
#include "base/clock.h"
#include "format/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { READINGS = 20000, FULL = 20 };

static const off_t kib = 1024, mib = 1024 * 1024;

static char folder[] = "/tmp/joulemap-test-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/r.joulemap", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static off_t size_of_file(void)
{
    struct stat file;
    return stat(path, &file) == 0 ? file.st_size : -1;
}

/* Hundreds of kilobytes, in the journal. */
static bool commit_some(jm__writer *writer, int64_t sensor_id)
{
    static int64_t t_ns;
    static jm_reading readings[READINGS];
    for (size_t i = 0; i < READINGS; i++)
        readings[i] = (jm_reading){sensor_id, ++t_ns, 100 + 0.123456 * (double)i};
    jm__writer_readings(writer, readings, READINGS);
    return jm__writer_commit(writer, t_ns, NULL) == JM_OK;
}

/* A process whose files may grow by `room` from where the recording is; its exit code: how many of FULL parts
 * of what it committed then lie in the file, or more if something fails. */
static int commit_with_room(off_t room, int64_t after_ns)
{
    jm__writer *writer;
    jm_board board = {.backend = "nvml", .name = "a board", .uuid = "GPU-1"};
    jm_sensor sensor = {.name = "power", .quantity = JM_QUANTITY_POWER, .response = JM_RESPONSE_INSTANT};
    if (jm__writer_create(&writer, path, true, NULL) != JM_OK) return 101;
    if (jm__writer_board(writer, &board, NULL) != JM_OK) return 102;
    sensor.board_id = board.id;
    if (jm__writer_sensor(writer, &sensor, NULL) != JM_OK) return 103;
    if (!commit_some(writer, sensor.id)) return 104; /* the first goes into the file at once */
    const off_t before = size_of_file();
    if (before < 100 * kib) return 105;
    const struct rlimit limit = {(rlim_t)(2 * before + room), RLIM_INFINITY};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 106;
    jm__sleep_ns(after_ns);
    if (!commit_some(writer, sensor.id)) return 107;
    return (int)(FULL * (size_of_file() - before) / before);
}

/* What lies in the file at the end of such a process. */
static void expect(off_t room, int64_t after_ns, bool in_file)
{
    int status;
    pid_t child = fork();
    if (child == 0) _exit(commit_with_room(room, after_ns));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 2 * FULL);
    if (in_file != (WEXITSTATUS(status) > FULL / 2))
        fail_msg("with room for %lld bytes after %g s the file has grown by %d of %d parts", (long long)room,
                 1e-9 * (double)after_ns, WEXITSTATUS(status), FULL);
}

static void test_the_journal_goes_into_the_file_every_five_seconds(void **state)
{
    (void)state;
    expect(100 * mib, 0, false);
    expect(100 * mib, 4900 * JM_NS_PER_MS, false);
    expect(100 * mib, 5100 * JM_NS_PER_MS, true);
}

/* Twice a batch of a megabyte and twice the megabyte that is kept for readings. */
static void test_the_journal_goes_into_the_file_at_once_where_room_for_it_is_scarce(void **state)
{
    (void)state;
    expect(4 * mib + 300 * kib, 0, false);
    expect(4 * mib - 300 * kib, 0, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_journal_goes_into_the_file_every_five_seconds),
        cmocka_unit_test(test_the_journal_goes_into_the_file_at_once_where_room_for_it_is_scarce),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
