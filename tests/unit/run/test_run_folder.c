/* What counts as a run that is being recorded just now: its recorder lives, and is another process. */
#include "record/run/folder.h"
#include "record/timeline/identity.h"
#include "record/timeline/which_run.h"

#include <fcntl.h>
#include <joulemap/status.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "files_open.h"

#define RECORDING "/tmp/some where/r.joulemap"

typedef struct recorder {
    pid_t pid;
    char path[JM_RUN_FOLDER_MAX]; /* of its folder */
    char run[PATH_MAX];           /* the file in it */
} recorder;

/* A process that has a run folder, until it is killed. */
static recorder start_recorder(const char *recording)
{
    recorder it = {0};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    it.pid = fork();
    if (it.pid == 0) {
        jm__run_folder folder;
        jm_error err;
        if (jm__run_folder_create(&folder, recording, 12345, &err) != JM_OK) _exit(1);
        if (write(ends[1], folder.path, sizeof folder.path) < 0) _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], it.path, sizeof it.path), sizeof it.path);
    close(ends[0]);
    snprintf(it.run, sizeof it.run, "%s/run", it.path);
    setenv("JOULEMAP_RUN", it.path, 1);
    return it;
}

static void kill_recorder(const recorder *it)
{
    assert_int_equal(kill(it->pid, SIGKILL), 0);
    assert_int_equal(waitpid(it->pid, NULL, 0), it->pid);
}

static void remove_folder(const recorder *it)
{
    char command[JM_RUN_FOLDER_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", it->path);
    assert_int_equal(system(command), 0);
    unsetenv("JOULEMAP_RUN");
}

static bool is_found(void)
{
    jm__run_folder found;
    char recording[PATH_MAX];
    return jm__run_folder_find(&found, recording, sizeof recording);
}

/* In place: the lock is on the file. */
static void write_run_file(const recorder *it, const char *text)
{
    int file = open(it->run, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
}

static void test_a_run_is_found_while_its_recorder_lives(void **state)
{
    (void)state;
    jm__run_folder found;
    char recording[PATH_MAX];
    recorder it = start_recorder(RECORDING);
    assert_true(jm__run_folder_find(&found, recording, sizeof recording));
    assert_string_equal(recording, RECORDING);
    assert_string_equal(found.path, it.path);
    assert_int_equal(found.budget_ppm, 12345);
    assert_true(jm__run_folder_is_alive(it.path));
    assert_true(jm__run_folder_find(&found, recording, sizeof RECORDING));
    assert_false(
        jm__run_folder_find(&found, recording, sizeof RECORDING - 1)); /* cut, it is another file's */
    kill_recorder(&it);
    assert_int_equal(access(it.run, F_OK), 0); /* what it wrote is there: it is nobody's */
    assert_false(is_found());
    assert_false(jm__run_folder_is_alive(it.path));
    remove_folder(&it);
}

static void test_a_recording_in_memory_has_no_path(void **state)
{
    (void)state;
    jm__run_folder found;
    char recording[PATH_MAX] = "as before";
    recorder it = start_recorder(NULL);
    assert_true(jm__run_folder_find(&found, recording, sizeof recording));
    assert_string_equal(recording, "");
    kill_recorder(&it);
    remove_folder(&it);
}

static void test_a_run_that_does_not_say_what_it_is_is_none(void **state)
{
    (void)state;
    recorder it = start_recorder(RECORDING);
    static const char *const texts[] = {"", "pid=1\n", "recording=" RECORDING "\n", "a word",
                                        "pid\nrecording\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_run_file(&it, texts[i]);
        if (is_found()) fail_msg("found by '%s'", texts[i]);
    }
    write_run_file(&it, "pid=1\nrecording=" RECORDING "\n");
    jm__run_folder found;
    char recording[PATH_MAX];
    assert_true(jm__run_folder_find(&found, recording, sizeof recording));
    assert_int_equal(found.budget_ppm, 0); /* as none was told */
    kill_recorder(&it);
    remove_folder(&it);
}

static void test_what_the_environment_names_may_be_no_run(void **state)
{
    (void)state;
    char text[JM_RUN_FOLDER_MAX + 2];
    unsetenv("JOULEMAP_RUN");
    assert_false(is_found());
    setenv("JOULEMAP_RUN", "", 1);
    assert_false(is_found());
    setenv("JOULEMAP_RUN", "/nowhere/at/all", 1);
    assert_false(is_found());
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    setenv("JOULEMAP_RUN", text, 1); /* longer than any that we make */
    assert_false(is_found());
    unsetenv("JOULEMAP_RUN");
}

static void test_a_process_does_not_join_its_own_run(void **state)
{
    (void)state;
    jm__run_folder folder;
    jm_error err;
    const size_t files = files_open();
    assert_int_equal(jm__run_folder_create(&folder, RECORDING, 10000, &err), JM_OK);
    setenv("JOULEMAP_RUN", folder.path, 1);
    assert_false(is_found());
    char command[2 * JM_RUN_FOLDER_MAX];
    snprintf(command, sizeof command,
             "printf 'pid=%d\\nversion=%s\\nbudget_ppm=10000\\nrecording=" RECORDING
             "\\n' | cmp -s - '%s/run'",
             (int)getpid(), jm_version(), folder.path);
    assert_int_equal(system(command), 0);
    assert_true(jm__run_folder_is_alive(folder.path));
    pid_t child = fork(); /* but a child does, also after we looked: the lock is still there */
    if (child == 0) _exit(is_found() ? 0 : 1);
    int how = -1;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    jm__run_folder_keep(&folder); /* a look by who is its owner lets nothing go */
    snprintf(command, sizeof command, "rm '%s/run'", folder.path);
    assert_int_equal(system(command), 0);
    assert_false(jm__run_folder_is_alive(folder.path));
    jm__run_folder_remove(&folder);
    assert_string_equal(folder.path, "");
    assert_int_equal(files_open(), files);
    unsetenv("JOULEMAP_RUN");
}

/* What a recorder that was killed left goes when this user records the next time; what others have stays. */
static void test_what_dead_recorders_left_is_removed(void **state)
{
    (void)state;
    jm__run_folder folder;
    jm_error err;
    recorder dead = start_recorder(RECORDING), alive = start_recorder(RECORDING);
    kill_recorder(&dead);
    assert_int_equal(jm__run_folder_create(&folder, NULL, 0, &err), JM_OK);
    assert_int_not_equal(access(dead.path, F_OK), 0);
    assert_int_equal(access(alive.run, F_OK), 0);
    jm__run_folder_remove(&folder);
    kill_recorder(&alive);
    remove_folder(&alive);
}

/* It may have been put there since, under the name of a run that is over. */
static void test_a_folder_that_is_not_ours_alone_is_no_run(void **state)
{
    (void)state;
    char by_link[JM_RUN_FOLDER_MAX + 8];
    recorder it = start_recorder(RECORDING);
    assert_int_equal(chmod(it.path, 0777), 0);
    assert_false(is_found());
    assert_int_equal(chmod(it.path, 0700), 0);
    assert_true(is_found());
    snprintf(by_link, sizeof by_link, "%s-link", it.path);
    assert_int_equal(symlink(it.path, by_link), 0);
    setenv("JOULEMAP_RUN", by_link, 1);
    assert_false(is_found());
    assert_int_equal(unlink(by_link), 0);
    kill_recorder(&it);
    remove_folder(&it);
}

static void test_each_wish_to_flush_is_seen_once(void **state)
{
    (void)state;
    jm__run_folder folder;
    jm_error err;
    assert_int_equal(jm__run_folder_create(&folder, RECORDING, 10000, &err), JM_OK);
    assert_false(jm__run_folder_flush_requested(&folder));
    jm__run_folder_request_flush(&folder);
    jm__run_folder_request_flush(&folder);
    assert_true(jm__run_folder_flush_requested(&folder));
    assert_false(jm__run_folder_flush_requested(&folder));
    struct stat info;
    char path[JM_RUN_FOLDER_MAX];
    snprintf(path, sizeof path, "%s", folder.path);
    jm__run_folder_request_flush(&folder);
    jm__run_folder_remove(&folder);
    assert_int_equal(stat(path, &info), -1); /* with all that was in it */
}

/* In a child of this process, whose lock on the run would end by a look at it. */
static bool enters_from_below(const jm__run_folder *folder)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        char path[JM_RUN_FOLDER_MAX];
        bool kernels = false;
        _exit(jm__run_above(path, sizeof path, &kernels) && strcmp(path, folder->path) == 0 && kernels);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status) == 1;
}

/* The folder is in /dev/shm, which other containers may share. */
static void test_who_has_the_pid_in_another_namespace_enters_no_run(void **state)
{
    (void)state;
    jm__run_folder folder;
    jm_error err;
    assert_int_equal(jm__run_folder_create(&folder, RECORDING, 0, &err), JM_OK);
    assert_true(jm__run_folder_expect(&folder, getpid(), true));
    assert_true(enters_from_below(&folder));
    char path[JM_RUN_FOLDER_MAX + sizeof JM_EXPECTS_FILE + 1];
    snprintf(path, sizeof path, "%s/" JM_EXPECTS_FILE, folder.path);
    FILE *expects = fopen(path, "w");
    assert_non_null(expects);
    fprintf(expects, JM_EXPECTS_FORMAT, (int)getpid(),
            (unsigned long long)jm__namespace_of(JM_SELF, "pid") + 1, 1);
    assert_int_equal(fclose(expects), 0);
    assert_false(enters_from_below(&folder));
    jm__run_folder_remove(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_is_found_while_its_recorder_lives),
        cmocka_unit_test(test_a_recording_in_memory_has_no_path),
        cmocka_unit_test(test_a_run_that_does_not_say_what_it_is_is_none),
        cmocka_unit_test(test_what_the_environment_names_may_be_no_run),
        cmocka_unit_test(test_a_process_does_not_join_its_own_run),
        cmocka_unit_test(test_what_dead_recorders_left_is_removed),
        cmocka_unit_test(test_a_folder_that_is_not_ours_alone_is_no_run),
        cmocka_unit_test(test_each_wish_to_flush_is_seen_once),
        cmocka_unit_test(test_who_has_the_pid_in_another_namespace_enters_no_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
