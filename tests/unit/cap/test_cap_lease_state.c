/* What is written down of a lease: whole, bounded, assumed only where it is ours. What was lost is put back.
 */
#include "cap_lease.h"
#include "files_open.h"

#include <dirent.h>
#include <errno.h>
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
    written.before_w = 500.5;
    snprintf(written.boot, sizeof written.boot, "another boot");
    snprintf(written.run, sizeof written.run, "/run");
    snprintf(written.fault, sizeof written.fault, "it is lost");
    must(jm__lease_folder_make(&caps, &err), &err);
    must(jm__lease_state_write(&written, &caps, &err), &err);
    must(jm__lease_state_read(&read, &caps, written.uuid, &err), &err);
    assert_memory_equal(&read, &written, sizeof read);
    char command[300]; /* a line a fact, for people too */
    snprintf(command, sizeof command, "grep -qx ' \"found_w\": 650.125,' '%s'", state_path(0));
    assert_int_equal(system(command), 0);
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
    const size_t files = files_open();
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
    assert_int_equal(files_open(), files);
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

typedef struct place {
    const char *named, *state, *home, *cap;
    const char *path;    /* NULL: none */
    const char *as_root; /* likewise, where that is another */
    const char *words;   /* of the error */
    bool of_root_too;    /* a user's own, and root's beside it */
} place;

static void put_variable(const char *name, const char *value)
{
    if (value != NULL)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

/* 0, or 1 and which of them is not where it should be. */
static int misplaced(const place *places, size_t count)
{
    static const char roots[] = "/var/lib/joulemap/caps";
    for (size_t i = 0; i < count; i++) {
        const place *p = &places[i];
        jm_error err = {0};
        jm__lease_folder found = {{0}}, of_root = {{0}};
        put_variable("JOULEMAP_CAPS_DIR", p->named);
        put_variable("XDG_STATE_HOME", p->state);
        put_variable("HOME", p->home);
        put_variable("JOULEMAP_CAP", p->cap);
        bool root = geteuid() == 0;
        const char *path = root && p->as_root != NULL ? p->as_root : p->path;
        jm_status status = jm__lease_folder_find(&found, &err);
        if (path != NULL && (status != JM_OK || strcmp(found.path, path) != 0)) return 1 + (int)i;
        if (path == NULL && (status == JM_OK || strstr(err.text, p->words) == NULL || err.code != 0))
            return 1 + (int)i;
        bool too = jm__lease_folder_of_root(&of_root);
        if (too != (!root && p->of_root_too) || (too && strcmp(of_root.path, roots) != 0))
            return 101 + (int)i;
    }
    return 0;
}

static void test_leases_are_written_down_where_the_environment_says(void **state)
{
    (void)state;
    static char long_one[PATH_MAX];
    static const char roots[] = "/var/lib/joulemap/caps",
                      nowhere[] = "neither XDG_STATE_HOME nor HOME is set";
    memset(long_one, '/', sizeof long_one - 100);
    const place places[] = {
        {"/a/caps", "/state", "/home/x", NULL, "/a/caps", NULL, NULL, false},
        {"", "/state", "/home/x", NULL, "/state/joulemap/caps", roots, NULL, true},
        {NULL, "state", "/home/x", NULL, "/home/x/.local/state/joulemap/caps", roots, NULL, true},
        {NULL, NULL, "/home/x", "", "/home/x/.local/state/joulemap/caps", roots, NULL, true},
        {NULL, "/state", "/home/x", "sudo", roots, roots, NULL, false},
        {NULL, NULL, "x", NULL, NULL, roots, nowhere, true},
        {NULL, "", NULL, NULL, NULL, roots, nowhere, true},
        {"caps", "/state", "/home/x", NULL, NULL, NULL,
         "JOULEMAP_CAPS_DIR is caps, which is not an absolute path", false},
        {long_one, NULL, NULL, NULL, NULL, NULL,
         "no folder for the state of power caps: its path is too long", false},
    };
    const size_t count = sizeof places / sizeof *places;
    pid_t child = fork();
    if (child == 0) {
        int wrong = misplaced(places, count);
        if (wrong == 0 && geteuid() == 0 && setuid(4242) == 0) wrong = misplaced(places, count);
        _exit(wrong);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_the_folder_of_leases_names_those_that_are_there(void **state)
{
    (void)state;
    jm_error err = {0};
    jm__lease_folder deep;
    char uuid[8] = "", command[200];
    snprintf(deep.path, sizeof deep.path, "%s/a/b", folder);
    must(jm__lease_folder_make(&deep, &err), &err);
    must(jm__lease_folder_make(&deep, &err), &err); /* it is there */
    snprintf(command, sizeof command,
             "cd %s/a/b && touch .json GPU-1.json GPU-2.jsonx GPU-3.new GPU-4567.json", folder);
    assert_int_equal(system(command), 0);
    DIR *directory = opendir(deep.path);
    assert_non_null(directory);
    assert_true(jm__lease_folder_next(directory, uuid, sizeof uuid));
    assert_string_equal(uuid, "GPU-1");
    assert_false(jm__lease_folder_next(directory, uuid, sizeof uuid));
    closedir(directory);
    static const struct {
        const char *change;
        jm_status status;
        const char *words;
    } refusals[] = {{"chmod 775 a/b", JM_NO_PERMISSION, "/b is not trusted: others may write into it"},
                    {"rm -r a/b; touch a/b", JM_NO_PERMISSION, "/b is not trusted: it is not a folder"},
                    {"rm a/b", JM_NOT_FOUND, "/b: No such file or directory"}};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        snprintf(command, sizeof command, "cd %s && %s", folder, refusals[i].change);
        assert_int_equal(system(command), 0);
        assert_int_equal(jm__lease_folder_trust(&deep, &err), refusals[i].status);
        if (strstr(err.text, refusals[i].words) == NULL) fail_msg("%s", err.text);
        assert_int_equal(err.code, refusals[i].status == JM_NOT_FOUND ? ENOENT : 0);
    }
    snprintf(command, sizeof command, "rm -r %s/a && touch %s/a", folder, folder);
    assert_int_equal(system(command), 0);
    assert_int_not_equal(jm__lease_folder_make(&deep, &err), JM_OK);
    assert_non_null(strstr(err.text, "/a/b cannot be made: Not a directory"));
    unlink(path_of("../a"));
}

static void test_what_a_state_cannot_be_read_or_written_for_is_told(void **state)
{
    (void)state;
    jm_error err = {0};
    jm__lease_state written = a_state(), read;
    const jm__lease_folder nowhere = {"/nowhere/caps"};
    must(jm__lease_state_write(&written, &caps, &err), &err);
    char own[200];
    snprintf(own, sizeof own, "%s", state_path(0));
    assert_int_equal(rename(own, path_of("GPU-other.json")), 0);
    assert_int_equal(jm__lease_state_read(&read, &caps, "GPU-other", &err), JM_BAD_DATA);
    assert_non_null(
        strstr(err.text, "/GPU-other.json is not the state of a power cap: it is for another GPU"));
    assert_int_equal(err.code, 0);
    unlink(path_of("GPU-other.json"));
    assert_int_equal(jm__lease_state_write(&written, &nowhere, &err), JM_NOT_FOUND);
    assert_string_equal(err.call, "write");
    assert_non_null(strstr(err.text, ".json: No such file or directory"));
    must(jm__lease_state_remove(&nowhere, written.uuid, &err), &err);
    snprintf(written.uuid, sizeof written.uuid, "../x");
    assert_int_equal(jm__lease_state_write(&written, &caps, &err), JM_USAGE);
    assert_string_equal(err.text, "\"../x\" is not the UUID of a GPU");
    assert_int_equal(err.code, 0);
    assert_int_equal(jm__lease_state_remove(&caps, "../x", &err), JM_USAGE);
    int lock = -1, second = -1;
    assert_int_equal(jm__lease_lock_take(&lock, &caps, "../x", &err), JM_USAGE);
    assert_int_equal(jm__lease_lock_take(&lock, &nowhere, "GPU-x", &err), JM_NOT_FOUND);
    assert_false(jm__lease_is_held(&written, &caps)); /* by nobody who could be asked */
    snprintf(written.uuid, sizeof written.uuid, "GPU-x");
    written.helper_pid = getpid();
    written.helper_start = jm__process_start(getpid());
    assert_false(jm__lease_is_held(&written, &caps)); /* there is no lock */
    must(jm__lease_lock_take(&lock, &caps, "GPU-x", &err), &err);
    struct stat info;
    assert_int_equal(stat(path_of("GPU-x.lock"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_true((fcntl(lock, F_GETFD) & FD_CLOEXEC) != 0);
    assert_true(jm__lease_is_held(&written, &caps));
    assert_int_equal(jm__lease_lock_take(&second, &caps, "GPU-x", &err), JM_BUSY);
    assert_string_equal(err.text, "GPU-x has a lease already");
    assert_int_equal(err.code, 0);
    assert_int_equal(second, -1);
    close(lock);
    assert_false(jm__lease_is_held(&written, &caps));
    unlink(path_of("GPU-x.lock"));
    assert_int_equal(mkdir(path_of("GPU-x.lock"), 0755), 0);
    assert_true(jm__lease_is_held(&written, &caps)); /* no look at it: as long as the process lives */
    written.helper_start++;
    assert_false(jm__lease_is_held(&written, &caps));
    rmdir(path_of("GPU-x.lock"));
}

static void test_a_process_is_known_by_its_number_and_start(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    int64_t start = jm__process_start(child);
    assert_true(start > 0);
    assert_true(jm__process_lives(child, start));
    assert_false(jm__process_lives(child, start + 1));
    assert_false(jm__process_lives(child, 0));
    assert_false(jm__process_lives(0, start));
    assert_int_equal(jm__process_signal(child, start, 0), 0);
    assert_int_equal(jm__process_signal(child, start + 1, SIGKILL), ESRCH);
    assert_int_equal(jm__process_signal(child, start, 4711), EINVAL);
    assert_int_equal(jm__process_signal(0, start, 0), ESRCH);
    assert_int_equal(jm__process_signal(child, start, SIGKILL), 0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
    assert_false(jm__process_lives(child, start)); /* a zombie */
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(jm__process_start(child), 0);
    assert_int_equal(jm__process_signal(child, start, 0), ESRCH);
    assert_int_equal(jm__process_start(0), 0);
}

static void test_a_state_of_another_boot_is_void(void **state)
{
    (void)state;
    jm__lease_state of = {.index = 0};
    assert_false(jm__lease_state_is_void(&of)); /* it does not tell */
    jm__boot_id(of.boot, sizeof of.boot);
    assert_int_equal(strlen(of.boot), 36);
    assert_false(jm__lease_state_is_void(&of));
    of.boot[35] = of.boot[35] == '0' ? '1' : '0';
    assert_true(jm__lease_state_is_void(&of));
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
    /* A process that ends closes its files first. */
    while (jm__lease_is_held(&written, &caps) || jm__process_lives(helper, written.helper_start))
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
        cmocka_unit_test(test_leases_are_written_down_where_the_environment_says),
        cmocka_unit_test(test_the_folder_of_leases_names_those_that_are_there),
        cmocka_unit_test(test_what_a_state_cannot_be_read_or_written_for_is_told),
        cmocka_unit_test(test_a_process_is_known_by_its_number_and_start),
        cmocka_unit_test(test_a_state_of_another_boot_is_void),
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
