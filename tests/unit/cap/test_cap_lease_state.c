/* What is written down of a lease: whole, bounded, assumed only where it is ours. What was lost is put back.
 */
#include "cap_lease.h"

#include <sys/stat.h>

static const char *path_of(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%.90s/%.100s", caps.path, name);
    return path;
}

static const char *state_path(unsigned board)
{
    char name[128];
    snprintf(name, sizeof name, "%s.json", uuid_of(board));
    return path_of(name);
}

static void write_text(const char *path, const char *text, size_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, count), count);
    close(fd);
    chmod(path, 0644); /* whatever the umask */
}

static jm__lease_state a_state(void)
{
    jm__lease_state state = {.index = 0,
                             .sim = "h200,h200",
                             .holder_start = 7,
                             .helper_pid = 0x7ffffff0,
                             .helper_start = 9,
                             .clock_held = true,
                             .info = {.pid = 0x7ffffff1,
                                      .uid = 1000,
                                      .since_unix_ns = 1700000000123456789,
                                      .until_unix_ns = 1700000000223456789,
                                      .found_w = 650.125,
                                      .cap_w = 400}};
    snprintf(state.uuid, sizeof state.uuid, "%s", uuid_of(0));
    snprintf(state.name, sizeof state.name, "NVIDIA H200");
    snprintf(state.info.who, sizeof state.info.who, "python \"a b\" \xc3\xa9 \\");
    return state;
}

static void must(jm_status status, const jm_error *err)
{
    if (status != JM_OK) fail_msg("%s", err->text);
}

static void test_a_state_is_read_as_it_was_written(void **state)
{
    (void)state;
    jm_error err;
    jm__lease_state written = a_state(), read;
    must(jm__lease_folder_make(&caps, &err), &err);
    must(jm__lease_state_write(&written, &caps, &err), &err);
    must(jm__lease_state_read(&read, &caps, written.uuid, &err), &err);
    assert_memory_equal(&read, &written, sizeof read);
    written.info.cap_w = (double)NAN;
    must(jm__lease_state_write(&written, &caps, &err), &err);
    must(jm__lease_state_read(&read, &caps, written.uuid, &err), &err);
    assert_true(isnan(read.info.cap_w));
    assert_int_not_equal(access(path_of("x.new"), F_OK), 0);
    must(jm__lease_state_remove(&caps, written.uuid, &err), &err);
    must(jm__lease_state_remove(&caps, written.uuid, &err), &err); /* another was quicker */
    assert_int_equal(jm__lease_state_read(&read, &caps, written.uuid, &err), JM_NOT_FOUND);
}

static void test_the_longest_texts_fit(void **state)
{
    (void)state;
    jm_error err;
    jm__lease_state written = a_state(), read;
    memset(written.name, '\\', sizeof written.name - 1);
    memset(written.sim, '"', sizeof written.sim - 1);
    memset(written.run, 'r', sizeof written.run - 1);
    memset(written.info.who, '\n', sizeof written.info.who - 1);
    memset(written.fault, 1, sizeof written.fault - 1);
    must(jm__lease_state_write(&written, &caps, &err), &err);
    must(jm__lease_state_read(&read, &caps, written.uuid, &err), &err);
    assert_memory_equal(&read, &written, sizeof read);
    must(jm__lease_state_remove(&caps, written.uuid, &err), &err);
}

/* An error that names the file and the cure; nobody takes a board of which it is not known what it had. */
static void test_garbage_in_a_state_is_an_error_that_names_the_file_and_the_cure(void **state)
{
    (void)state;
    static char long_one[JM_STATE_BYTES_MAX + 100];
    static const char *const garbage[] = {"",
                                          "{",
                                          "[]",
                                          "null",
                                          "{}",
                                          "\xff\xfe",
                                          "{\"version\": 1}",
                                          "{\"version\": 1, \"found_w\": \"700\"}",
                                          "{\"version\": 1, \"found_w\": -5}",
                                          "{\"version\": 1, \"found_w\": 700}", /* of no GPU */
                                          "{\"version\": 1, \"version\": 1, \"found_w\": 700}",
                                          long_one};
    memset(long_one, ' ', sizeof long_one - 1);
    for (size_t i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        jm_error err = {0};
        jm_cap_restored restored;
        size_t count;
        jm_cap_lease *lease = NULL;
        const jm_cap_lease_options options = {.size = sizeof options};
        write_text(state_path(0), garbage[i], strlen(garbage[i]));
        assert_int_equal(jm_cap_lease_take(&lease, &options, &err), JM_BAD_DATA);
        assert_non_null(strstr(err.text, uuid_of(0)));
        assert_non_null(strstr(err.hint, "remove the file"));
        assert_int_equal(jm_cap_reset(uuid_of(0), NULL, &err), JM_BAD_DATA);
        must(jm_cap_restore(&restored, 1, &count, &err), &err);
        assert_int_equal(count, 1);
        assert_non_null(strstr(restored.fault, "is not the state of a power cap"));
        assert_int_equal(restored.index, -1);
        assert_int_equal(access(state_path(0), F_OK), 0); /* it is the user's to look at */
    }
    write_text(state_path(0), "{\"version\": 2}", 14);
    jm__lease_state read;
    assert_int_equal(jm__lease_state_read(&read, &caps, uuid_of(0), NULL), JM_UNKNOWN_VERSION);
    unlink(state_path(0));
}

static void test_what_is_not_ours_is_not_assumed(void **state)
{
    (void)state;
    jm_error err;
    jm__lease_state written = a_state(), read;
    char elsewhere[128];
    must(jm__lease_state_write(&written, &caps, &err), &err);
    chmod(state_path(0), 0666);
    assert_int_equal(jm__lease_state_read(&read, &caps, written.uuid, &err), JM_NO_PERMISSION);
    chmod(state_path(0), 0644);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", folder);
    assert_int_equal(rename(state_path(0), elsewhere), 0);
    assert_int_equal(symlink(elsewhere, state_path(0)), 0);
    assert_int_equal(jm__lease_state_read(&read, &caps, written.uuid, &err), JM_NO_PERMISSION);
    unlink(state_path(0));
    assert_int_equal(mkfifo(state_path(0), 0644), 0);
    assert_int_equal(jm__lease_state_read(&read, &caps, written.uuid, &err), JM_NO_PERMISSION);
    unlink(state_path(0));
    if (geteuid() == 0) { /* needs root: to give a file away */
        must(jm__lease_state_write(&written, &caps, &err), &err);
        assert_int_equal(chown(state_path(0), 4242, 4242), 0);
        assert_int_equal(jm__lease_state_read(&read, &caps, written.uuid, &err), JM_NO_PERMISSION);
        unlink(state_path(0));
    }
    /* A folder into which others write may hold anything. */
    jm_cap_lease *lease = NULL;
    const jm_cap_lease_options options = {.size = sizeof options};
    chmod(caps.path, 0777);
    assert_int_equal(jm_cap_lease_take(&lease, &options, &err), JM_NO_PERMISSION);
    assert_non_null(strstr(err.text, caps.path));
    size_t count;
    assert_int_equal(jm_cap_restore(NULL, 0, &count, &err), JM_NO_PERMISSION);
    chmod(caps.path, 0755);
    assert_int_equal(jm__lease_state_read(&read, &caps, "../x", &err), JM_USAGE);
    assert_int_equal(jm__lease_state_read(&read, &caps, "", &err), JM_USAGE);
}

static void test_no_folder_and_no_lease_is_nothing_to_say(void **state)
{
    (void)state;
    jm_error err;
    size_t count = 9;
    setenv("JOULEMAP_CAPS_DIR", "/tmp/joulemap-no-such-folder/caps", 1);
    must(jm_cap_restore(NULL, 0, &count, &err), &err);
    assert_int_equal(count, 0);
    assert_int_not_equal(access("/tmp/joulemap-no-such-folder", F_OK), 0); /* to look makes nothing */
    setenv("JOULEMAP_CAPS_DIR", "caps", 1);
    assert_int_equal(jm_cap_restore(NULL, 0, &count, &err), JM_USAGE);
    assert_non_null(strstr(err.text, "JOULEMAP_CAPS_DIR"));
    if (geteuid() == 0) { /* needs root: to be one who has no home */
        pid_t homeless = fork();
        if (homeless == 0) {
            unsetenv("JOULEMAP_CAPS_DIR");
            unsetenv("XDG_STATE_HOME");
            unsetenv("HOME");
            if (setuid(4242) != 0) _exit(1);
            jm_cap_lease *lease;
            const jm_cap_lease_options options = {.size = sizeof options};
            if (jm_cap_restore(NULL, 0, &count, &err) != JM_OK || count != 0) _exit(2);
            _exit(jm_cap_lease_take(&lease, &options, &err) == JM_NOT_FOUND ? 0 : 3);
        }
        int status;
        assert_int_equal(waitpid(homeless, &status, 0), homeless);
        assert_int_equal(status, 0);
    }
    setenv("JOULEMAP_CAPS_DIR", caps.path, 1);
}

/* A helper whose processes are both dead. */
static void lose_a_lease(double watts)
{
    jm__lease_state written;
    int64_t helper, guard;
    int status;
    pid_t program = fork();
    if (program == 0) {
        jm_cap_lease *lease;
        const jm_cap_lease_options options = {.size = sizeof options, .who = "the lost one"};
        if (jm_cap_lease_take(&lease, &options, NULL) != JM_OK) _exit(1);
        if (jm_cap_lease_set(lease, watts, NULL, NULL) != JM_OK) _exit(2);
        if (jm_cap_lease_clock(lease, 1200, NULL) != JM_OK) _exit(3);
        raise(SIGSTOP);
        _exit(4);
    }
    assert_int_equal(waitpid(program, &status, WUNTRACED), program);
    assert_true(WIFSTOPPED(status));
    assert_true(read_state(0, &written));
    helper = written.helper_pid;
    guard = guard_of((pid_t)helper);
    assert_true(guard > 0);
    kill((pid_t)helper, SIGSTOP); /* else it would take another guard */
    kill((pid_t)guard, SIGKILL);
    kill((pid_t)helper, SIGKILL);
    kill(program, SIGKILL);
    assert_int_equal(waitpid(program, &status, 0), program);
    while (jm__lease_is_held(&written, &caps))
        jm__sleep_ns(JM_NS_PER_MS);
}

static void test_the_next_lease_on_a_board_puts_back_what_a_lost_one_found(void **state)
{
    (void)state;
    set_limit(0, 680);
    lose_a_lease(300);
    assert_float_equal(limit_w(0), 300, 1e-3);
    jm_cap_boards *boards;
    jm_error err;
    must(jm_cap_boards_create(&boards, NULL, &err), &err);
    assert_true(jm_cap_boards_board(boards, 0)->lease.lost);
    assert_string_equal(jm_cap_boards_board(boards, 0)->lease.who, "the lost one");
    jm_cap_boards_free(boards);
    jm_cap_lease *lease = take(0, "the next");
    assert_float_equal(jm_cap_lease_board(lease)->cap_w, 680, 1e-3); /* and not 300 */
    end(lease);
    assert_float_equal(limit_w(0), 680, 1e-3);
    lose_a_lease(300);
    assert_int_equal(jm_cap_reset(uuid_of(0), NULL, &err), JM_OK);
    assert_float_equal(limit_w(0), 680, 1e-3);
    set_limit(0, 700);
}

static void test_restore_tells_what_it_put_back_and_what_it_could_not(void **state)
{
    (void)state;
    jm_error err;
    jm_cap_restored restored;
    size_t count;
    lose_a_lease(300);
    setenv("JOULEMAP_SIM_FAULTS", "nvmlDeviceSetPowerManagementLimit=NO_PERMISSION", 1);
    must(jm_cap_restore(&restored, 1, &count, &err), &err);
    unsetenv("JOULEMAP_SIM_FAULTS");
    assert_int_equal(count, 1);
    assert_non_null(strstr(restored.fault, "Permission"));
    jm__lease_state left;
    assert_true(read_state(0, &left)); /* it stays, with words */
    assert_non_null(strstr(left.fault, "Permission"));
    assert_float_equal(limit_w(0), 300, 1e-3);
    must(jm_cap_restore(&restored, 1, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_string_equal(restored.fault, "");
    assert_string_equal(restored.uuid, uuid_of(0));
    assert_int_equal(restored.index, 0);
    assert_true(restored.lease.lost);
    assert_string_equal(restored.lease.who, "the lost one");
    assert_float_equal(restored.lease.found_w, 700, 1e-3);
    assert_float_equal(limit_w(0), 700, 1e-3);
    must(jm_cap_restore(&restored, 1, &count, &err), &err);
    assert_int_equal(count, 0);
}

/* As a guard does, or what was killed and is not quite gone. */
static void test_restore_waits_for_who_still_has_the_lock_of_a_lost_lease(void **state)
{
    (void)state;
    jm_error err;
    jm_cap_restored restored;
    size_t count;
    int ends[2], lock;
    char byte;
    lose_a_lease(300);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t at_work = fork();
    if (at_work == 0) {
        if (jm__lease_lock_take(&lock, &caps, uuid_of(0), NULL) != JM_OK) _exit(1);
        if (write(ends[1], "", 1) != 1) _exit(2);
        jm__sleep_ns(30 * JM_NS_PER_MS);
        _exit(0);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    must(jm_cap_restore(&restored, 1, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_string_equal(restored.fault, "");
    assert_float_equal(limit_w(0), 700, 1e-3);
    assert_int_equal(waitpid(at_work, NULL, 0), at_work);
    close(ends[0]);
    close(ends[1]);
}

static void test_a_lease_that_stands_is_not_restored(void **state)
{
    (void)state;
    jm_error err;
    size_t count;
    jm_cap_lease *lease = take(0, "the test");
    set(lease, 300);
    must(jm_cap_restore(NULL, 0, &count, &err), &err);
    assert_int_equal(count, 0);
    assert_float_equal(limit_w(0), 300, 1e-3);
    end(lease);
}

static void test_a_board_that_is_not_there_any_more_is_named(void **state)
{
    (void)state;
    jm_error err;
    jm_cap_restored restored;
    size_t count;
    jm__lease_state written = a_state();
    snprintf(written.uuid, sizeof written.uuid, "GPU-gone");
    must(jm__lease_state_write(&written, &caps, &err), &err);
    must(jm_cap_restore(&restored, 1, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_int_equal(restored.index, -1);
    assert_non_null(strstr(restored.fault, "no GPU GPU-gone"));
    must(jm__lease_state_remove(&caps, "GPU-gone", &err), &err);
    /* A simulated one goes with its run. */
    written = a_state();
    snprintf(written.run, sizeof written.run, "%s/no-run", folder);
    must(jm__lease_state_write(&written, &caps, &err), &err);
    must(jm_cap_restore(&restored, 1, &count, &err), &err);
    assert_true(is_put_back(0));
}

/* Somebody is there to put it back, and does not in time: which board, what it had, why it has not it yet. */
static void test_what_is_still_to_be_put_back_is_told_with_its_cause(void **state)
{
    (void)state;
    jm_error err;
    int lock;
    jm__lease_state kept = a_state();
    const int64_t pid = kept.helper_pid, start = kept.helper_start;
    must(jm__lease_wait_restored(&caps, kept.uuid, pid, start, 1, &err),
         &err); /* nothing is to be put back */
    must(jm__lease_state_write(&kept, &caps, &err), &err);
    must(jm__lease_lock_take(&lock, &caps, kept.uuid, &err), &err);
    assert_int_equal(jm__lease_wait_restored(&caps, kept.uuid, pid, start, 1, &err), JM_BUSY);
    assert_string_equal(err.text, "GPU 0 must still be put back to 650.1 W");
    assert_string_equal(err.hint, "`joulemap cap restore`");
    assert_int_equal(err.code, 0);
    snprintf(kept.fault, sizeof kept.fault, "the GPU is lost");
    kept.index = 3;
    kept.info.found_w = 300;
    must(jm__lease_state_write(&kept, &caps, &err), &err);
    assert_int_equal(jm__lease_wait_restored(&caps, kept.uuid, pid, start, 1, &err), JM_BUSY);
    assert_string_equal(err.text, "GPU 3 must still be put back to 300 W: the GPU is lost");
    /* What another helper wrote since is its own to put back. */
    must(jm__lease_wait_restored(&caps, kept.uuid, pid + 1, start, 1, &err), &err);
    must(jm__lease_wait_restored(&caps, kept.uuid, pid, start + 1, 1, &err), &err);
    must(jm__lease_state_remove(&caps, kept.uuid, &err), &err);
    close(lock);
}

/* Root's lease is not an ordinary user's to end. */
static void test_another_users_lease_is_not_his_to_end(void **state)
{
    (void)state;
    if (geteuid() != 0) skip(); /* needs root: to be another */
    jm_cap_lease *lease = take(0, "root's");
    set(lease, 300);
    chmod(folder, 0755);
    pid_t other = fork();
    if (other == 0) {
        jm_error err;
        if (setgid(4242) != 0 || setuid(4242) != 0) _exit(1);
        if (jm_cap_reset(uuid_of(0), NULL, &err) != JM_NO_PERMISSION) _exit(2);
        if (strstr(err.hint, "sudo joulemap cap reset") == NULL) _exit(3);
        /* It cannot look at the lock; the process says that the lease stands. */
        size_t count = 9;
        _exit(jm_cap_restore(NULL, 0, &count, &err) == JM_OK && count == 0 ? 0 : 4);
    }
    int status;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    assert_float_equal(limit_w(0), 300, 1e-3);
    end(lease);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_state_is_read_as_it_was_written),
        cmocka_unit_test(test_the_longest_texts_fit),
        cmocka_unit_test(test_garbage_in_a_state_is_an_error_that_names_the_file_and_the_cure),
        cmocka_unit_test(test_what_is_not_ours_is_not_assumed),
        cmocka_unit_test(test_no_folder_and_no_lease_is_nothing_to_say),
        cmocka_unit_test(test_the_next_lease_on_a_board_puts_back_what_a_lost_one_found),
        cmocka_unit_test(test_restore_tells_what_it_put_back_and_what_it_could_not),
        cmocka_unit_test(test_restore_waits_for_who_still_has_the_lock_of_a_lost_lease),
        cmocka_unit_test(test_a_lease_that_stands_is_not_restored),
        cmocka_unit_test(test_a_board_that_is_not_there_any_more_is_named),
        cmocka_unit_test(test_what_is_still_to_be_put_back_is_told_with_its_cause),
        cmocka_unit_test(test_another_users_lease_is_not_his_to_end),
    };
    return cmocka_run_group_tests(tests, open_board, close_board);
}
