/* A program that closes all descriptors, the recorder's among them, and opens files of its own. */
#include "base/clock.h"
#include "format/dataset.h"
#include "format/writer.h"
#include "record/timeline/ring.h"

#include <joulemap/joulemap.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define START_NS         (INT64_C(1000) * JM_NS_PER_S)
#define DESCRIPTORS_MOST 4200 /* a little more than the recorder's lie */

static char folder[] = "/tmp/joulemap-test-descriptors-XXXXXX";
static char path[96];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/r.joulemap", folder);
    setenv("JOULEMAP_NVML", JM_BUILD_DIR "/sim/libnvidia-ml.so.1", 1);
    setenv("JOULEMAP_SIM", "h200", 1);
    unsetenv("JOULEMAP_RUN");
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* As closefrom(3) does, which glibc has from 2.34 on: unseen by a sanitizer, to which it is a race. */
static void close_all(void)
{
    for (long fd = 3; fd < DESCRIPTORS_MOST; fd++)
        syscall(SYS_close, fd);
}

/* ---- the program's own files */

enum { OWN_FILES = 8 };

typedef struct own_files {
    int fds[DESCRIPTORS_MOST];
    int count;
} own_files;

static void own_name(char *name, size_t size, int number)
{
    snprintf(name, size, "%s/own-%d", folder, number);
}

static void open_own(own_files *own, int most)
{
    char name[128];
    for (own->count = 0; own->count < most; own->count++) {
        own_name(name, sizeof name, own->count % OWN_FILES);
        own->fds[own->count] = open(name, O_RDWR | O_CREAT, 0600);
        if (own->fds[own->count] < 0) break;
    }
    for (int i = 0; i < OWN_FILES; i++)
        if (write(own->fds[i], "own", 3) != 3) _exit(50);
}

/* They are still open, and hold what the program wrote and nothing else. */
static bool own_are_intact(const own_files *own)
{
    char text[8];
    for (int i = 0; i < own->count; i++) {
        struct stat info;
        if (fstat(own->fds[i], &info) != 0 || info.st_size != 3) return false;
        if (pread(own->fds[i], text, sizeof text, 0) != 3 || memcmp(text, "own", 3) != 0) return false;
    }
    return true;
}

/* In a child: cmocka's files and the test's are not to be closed. */
static void run_program(int (*program)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(program());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static size_t count_readings(bool *damaged)
{
    jm_recording *recording;
    jm__dataset *data;
    assert_int_equal(jm_recording_open(&recording, path, NULL), JM_OK);
    assert_int_equal(jm__dataset_load(&data, recording, NULL), JM_OK);
    size_t count = data->reading_count;
    *damaged = jm_recording_damage(recording) != NULL;
    jm__dataset_free(data);
    jm_recording_close(recording);
    return count;
}

/* ---- the writer */

enum { READINGS = 2000 };

static jm__writer *begin(void)
{
    jm__writer *writer;
    if (jm__writer_create(&writer, path, true, NULL) != JM_OK) _exit(60);
    jm_board board = {.backend = "nvml", .name = "H200", .simulated = true};
    jm_sensor sensor = {.board_id = 1, .name = "power_ring", .quantity = JM_QUANTITY_POWER};
    if (jm__writer_board(writer, &board, NULL) != JM_OK) _exit(61);
    if (jm__writer_sensor(writer, &sensor, NULL) != JM_OK) _exit(62);
    return writer;
}

static jm_status add(jm__writer *writer, int part, jm_error *err)
{
    for (int i = 0; i < READINGS; i++) {
        jm_reading reading = {1, START_NS + (part * READINGS + i) * JM_NS_PER_MS, 300.0};
        jm__writer_readings(writer, &reading, 1);
    }
    return jm__writer_commit(writer, START_NS + (part + 1) * READINGS * JM_NS_PER_MS, err);
}

static int write_on(void)
{
    own_files own;
    jm__writer *writer = begin();
    if (add(writer, 0, NULL) != JM_OK) return 1;
    close_all();
    open_own(&own, OWN_FILES);
    if (add(writer, 1, NULL) != JM_OK) return 2;
    if (!own_are_intact(&own)) return 3;
    close_all(); /* again, and this time nothing is written before the end */
    open_own(&own, OWN_FILES);
    if (jm__writer_close(writer, NULL) != JM_OK) return 4;
    return own_are_intact(&own) ? 0 : 5;
}

static void test_a_recording_goes_on_when_its_descriptors_are_closed(void **state)
{
    (void)state;
    bool damaged;
    run_program(write_on);
    assert_int_equal(count_readings(&damaged), 2 * READINGS);
    assert_false(damaged);
}

/* Reading in the same process shares SQLite's state with the writing. */
static int read_and_write_on(void)
{
    own_files own;
    bool damaged;
    jm__writer *writer = begin();
    if (add(writer, 0, NULL) != JM_OK || count_readings(&damaged) != READINGS) return 1;
    close_all();
    open_own(&own, OWN_FILES);
    if (count_readings(&damaged) != READINGS || damaged) return 2;
    if (add(writer, 1, NULL) != JM_OK || count_readings(&damaged) != 2 * READINGS) return 3;
    if (jm__writer_close(writer, NULL) != JM_OK) return 4;
    return own_are_intact(&own) ? 0 : 5;
}

static void test_a_recording_whose_descriptors_were_closed_can_be_read_while_it_is_written(void **state)
{
    (void)state;
    bool damaged;
    run_program(read_and_write_on);
    assert_int_equal(count_readings(&damaged), 2 * READINGS);
    assert_false(damaged);
}

static int take_all_numbers(void)
{
    static own_files own;
    jm_error err = {0};
    struct rlimit most;
    jm__writer *writer = begin();
    if (add(writer, 0, NULL) != JM_OK) return 1;
    close_all();
    getrlimit(RLIMIT_NOFILE, &most);
    open_own(&own, DESCRIPTORS_MOST);
    if ((rlim_t)own.count + 3 < most.rlim_cur && own.count < 4097) return 2;
    if (add(writer, 1, &err) != JM_IO || strstr(err.text, "closed the recorder's files") == NULL) return 3;
    if (!own_are_intact(&own)) return 4;
    if (jm__writer_close(writer, &err) != JM_IO || strstr(err.text, "2000 readings") == NULL) return 5;
    return own_are_intact(&own) ? 0 : 6;
}

static void test_numbers_that_are_the_programs_by_now_are_left_alone_and_it_is_told(void **state)
{
    (void)state;
    bool damaged;
    run_program(take_all_numbers);
    assert_int_equal(count_readings(&damaged), READINGS);
    assert_true(damaged);
}

static int give_numbers_back(void)
{
    static own_files own;
    jm__writer *writer = begin();
    if (add(writer, 0, NULL) != JM_OK) return 1;
    close_all();
    open_own(&own, DESCRIPTORS_MOST);
    if (add(writer, 1, NULL) != JM_IO) return 2;
    while (own.count > OWN_FILES)
        close(own.fds[--own.count]);
    if (add(writer, 2, NULL) != JM_OK) return 3;
    if (jm__writer_close(writer, NULL) != JM_OK) return 4;
    return own_are_intact(&own) ? 0 : 5;
}

static void test_nothing_is_lost_once_the_numbers_are_free_again(void **state)
{
    (void)state;
    bool damaged;
    run_program(give_numbers_back);
    assert_int_equal(count_readings(&damaged), 3 * READINGS);
    assert_false(damaged);
}

/* ---- a whole run, with spans and names */

static void do_span(const char *name)
{
    jm_span_id span = jm_span_begin(JM_SPAN_PHASE, jm_name_intern(name), 0, 0);
    jm__sleep_ns(20 * JM_NS_PER_MS);
    jm_span_end(span);
}

static int run_on(void)
{
    own_files own;
    jm_run *run;
    jm_error err;
    jm_run_options options = {.size = sizeof options, .path = path, .overwrite = true, .no_cpu = true};
    if (jm_run_start(&run, &options, NULL) != JM_OK) return 1;
    do_span("before");
    close_all();
    open_own(&own, OWN_FILES);
    do_span("after");
    if (jm_run_flush(run, 10000, &err) != JM_OK) {
        print_message("flush: %s\n", err.text);
        return 2;
    }
    do_span("later");
    if (!own_are_intact(&own)) return 3;
    if (jm_run_stop(run, NULL) != JM_OK) return 4;
    jm_run_free(run);
    /* The (simulated) driver has closed its numbers, as NVML does: those are not the recorder's to guard.
     * What the files hold is. */
    close_all();
    own_files again;
    for (again.count = 0; again.count < OWN_FILES; again.count++) {
        char name[128];
        own_name(name, sizeof name, again.count);
        again.fds[again.count] = open(name, O_RDONLY);
    }
    return own_are_intact(&again) ? 0 : 5;
}

static void test_a_run_goes_on_in_a_program_that_closes_its_descriptors(void **state)
{
    (void)state;
    jm_recording *recording;
    jm__dataset *data;
    run_program(run_on);
    assert_int_equal(jm_recording_open(&recording, path, NULL), JM_OK);
    assert_null(jm_recording_damage(recording));
    assert_int_equal(jm__dataset_load(&data, recording, NULL), JM_OK);
    assert_int_equal(data->loss_count, 0);
    assert_int_equal(data->span_count, 3);
    const char *const names[] = {"before", "after", "later"};
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(data->names[data->spans[i].name_id], names[i]);
    jm__dataset_free(data);
    jm_recording_close(recording);
}

/* ---- the names of a program that is recorded from outside */

static int name_on(void)
{
    own_files own;
    jm__names names = {0};
    if (jm__names_open(&names, folder, 'c') != 0) return 1;
    jm__names_intern(&names, "before", 6);
    close_all();
    open_own(&own, OWN_FILES);
    jm__names_intern(&names, "after", 5);
    if (!own_are_intact(&own)) return 2;
    close_all();
    open_own(&own, OWN_FILES);
    jm__names_free(&names);
    char name[128];
    struct stat info;
    snprintf(name, sizeof name, "%s/%d-c.names", folder, (int)getpid());
    if (stat(name, &info) != 0 || info.st_size != 2 * 8 + 6 + 5) return 3;
    return own_are_intact(&own) ? 0 : 4;
}

static void test_names_do_not_go_into_the_programs_own_files(void **state)
{
    (void)state;
    run_program(name_on);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_recording_goes_on_when_its_descriptors_are_closed),
        cmocka_unit_test(test_a_recording_whose_descriptors_were_closed_can_be_read_while_it_is_written),
        cmocka_unit_test(test_numbers_that_are_the_programs_by_now_are_left_alone_and_it_is_told),
        cmocka_unit_test(test_nothing_is_lost_once_the_numbers_are_free_again),
        cmocka_unit_test(test_a_run_goes_on_in_a_program_that_closes_its_descriptors),
        cmocka_unit_test(test_names_do_not_go_into_the_programs_own_files),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
