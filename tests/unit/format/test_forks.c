/* A program that forks while it is recorded: its children find no lock of SQLite's held, by which they would
 * hang for good, and it does not wait for the disk of a commit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/no_fork.h"
#include "day.h"
#include "format/copy.h"
#include "format/dataset.h"
#include "format/recording.h"
#include "small_run.h"

#include <fcntl.h>
#include <joulemap/joulemap.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char folder[] = "/tmp/joulemap-test-forks-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* ---- SQLite with an eye on its locks: those that all of its users share are taken in intervals without a
 * fork alone */

#define SHARED_LOCKS 16

static sqlite3_mutex_methods real;
static sqlite3_mutex *_Atomic shared_locks[SHARED_LOCKS];
static atomic_int taken, taken_outside;
static _Thread_local bool is_theirs; /* the test's own calls are the program's */

static sqlite3_mutex *watched_alloc(int type)
{
    sqlite3_mutex *mutex = real.xMutexAlloc(type);
    if (type > SQLITE_MUTEX_RECURSIVE && type < SHARED_LOCKS) shared_locks[type] = mutex;
    return mutex;
}

static void look_at(const sqlite3_mutex *mutex)
{
    for (int i = 0; i < SHARED_LOCKS; i++) {
        if (shared_locks[i] != mutex || mutex == NULL || is_theirs) continue;
        taken++;
        if (!jm__no_fork_here()) taken_outside++; /* break here */
    }
}

static void watched_enter(sqlite3_mutex *mutex)
{
    look_at(mutex);
    real.xMutexEnter(mutex);
}

static int watched_try(sqlite3_mutex *mutex)
{
    look_at(mutex);
    return real.xMutexTry(mutex);
}

static void watch_locks(void)
{
    sqlite3_initialize(); /* which chooses its own */
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_GETMUTEX, &real);
    sqlite3_mutex_methods watched = real;
    watched.xMutexAlloc = watched_alloc;
    watched.xMutexEnter = watched_enter;
    watched.xMutexTry = watched_try;
    sqlite3_config(SQLITE_CONFIG_MUTEX, &watched);
}

/* ---- and with files whose syncs take as long as they are told to */

static atomic_bool disk_is_slow, is_syncing;
static sqlite3_vfs slow_files;
static sqlite3_vfs *fast_files;
static sqlite3_io_methods slow_methods;
static int (*real_sync)(sqlite3_file *file, int flags);

static int slow_sync(sqlite3_file *file, int flags)
{
    while (disk_is_slow) {
        is_syncing = true;
        jm__sleep_ns(JM_NS_PER_MS);
    }
    return real_sync(file, flags);
}

static int slow_open(sqlite3_vfs *files, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)files;
    int rc = fast_files->xOpen(fast_files, name, file, flags, out);
    if (rc != SQLITE_OK || (flags & SQLITE_OPEN_WAL) == 0) return rc;
    real_sync = file->pMethods->xSync;
    slow_methods = *file->pMethods;
    slow_methods.xSync = slow_sync;
    file->pMethods = &slow_methods;
    return rc;
}

static void slow_down_files(void)
{
    fast_files = sqlite3_vfs_find(NULL);
    slow_files = *fast_files;
    slow_files.zName = "slow";
    slow_files.xOpen = slow_open;
    sqlite3_vfs_register(&slow_files, 1);
}

/* ---- */

static int set_up(void **state)
{
    (void)state;
    watch_locks();
    is_theirs = true;
    slow_down_files();
    is_theirs = false;
    return mkdtemp(folder) == NULL ? -1 : setenv("XDG_DATA_HOME", folder, 1);
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* What the child says, or how it ended. */
static int child_says(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static jm__writer *write_small(const char *path, synthetic *run)
{
    jm__writer *writer;
    jm_error err;
    if (jm__writer_create(&writer, path, true, &err) != JM_OK) fail_msg("%s", err.text);
    assert_int_equal(small_run_tell(writer, run, NULL), JM_OK);
    return writer;
}

static void report_on(const char *path)
{
    jm_error err;
    jm_recording *recording;
    jm_report *report = NULL;
    jm_sum energy;
    jm_timeline *timeline = NULL;
    const jm_report_options options = {.size = sizeof options, .by = JM_BY_KERNEL};
    if (jm_recording_open(&recording, path, &err) != JM_OK ||
        jm_report_create(&report, recording, &options, &err) != JM_OK ||
        jm_timeline_create(&timeline, recording, &err) != JM_OK ||
        jm_recording_energy(recording, 0, SMALL_START_NS, 2 * (int64_t)SMALL_START_NS, &energy, &err) !=
            JM_OK)
        fail_msg("%s: %s", path, err.text);
    jm_timeline_free(timeline);
    jm_report_free(report);
    jm_recording_close(recording);
}

static void cut_half_off(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size / 2), 0);
}

static void test_shared_locks_of_sqlite_are_never_held_as_a_fork_takes_place(void **state)
{
    (void)state;
    synthetic *run = small_run_make();
    char kept[128];
    snprintf(kept, sizeof kept, "%s", path_of("small.joulemap"));
    taken = taken_outside = 0;
    for (int again = 0; again < 2; again++) { /* the second time in the place of the first */
        jm__writer *writer = write_small(kept, run);
        report_on(kept);
        jm__writer_keep(writer);
        assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
    }
    report_on(kept);
    cut_half_off(kept);
    report_on(kept); /* recovered */
    jm_recording *of_memory;
    jm__writer *memory = write_small(NULL, run);
    assert_int_equal(jm__writer_recording(memory, &of_memory, NULL), JM_OK);
    jm__dataset *rows;
    assert_int_equal(jm__dataset_load(&rows, of_memory, NULL), JM_OK);
    jm__dataset_free(rows);
    jm__writer_discard(memory);
    /* condensed */
    char long_one[96];
    snprintf(long_one, sizeof long_one, "%s/long.joulemap", folder);
    day d = day_begin(long_one, 0, 60, 0);
    day_go_on(&d, 300);
    day_end(&d);
    assert_true(taken > 1000);
    assert_int_equal(taken_outside, 0);
    syn_free(run);
}

/* ---- a fork and the threads that are in such an interval */

static atomic_bool begun, over;
static _Atomic enum { OUTSIDE, INSIDE, PASSING } where;

static void *be_inside_for_a_while(void *unused)
{
    (void)unused;
    jm__no_fork_begin();
    where = INSIDE;
    begun = true;
    jm__sleep_ns(30 * JM_NS_PER_MS);
    where = OUTSIDE;
    jm__no_fork_end();
    while (!over) /* to the child one that has ended would be one that nobody joins */
        jm__sleep_ns(JM_NS_PER_MS);
    return NULL;
}

static void *pass_until_over(void *unused)
{
    (void)unused;
    jm__no_fork_begin();
    jm__no_fork_begin(); /* they nest */
    while (!over) {
        where = PASSING;
        begun = true;
        jm__no_fork_pass();
        where = INSIDE;
    }
    jm__no_fork_end();
    assert_true(jm__no_fork_here());
    jm__no_fork_end();
    return NULL;
}

/* Where the thread was as the child began, as the child has it. */
static int fork_beside(void *(*work)(void *))
{
    pthread_t thread;
    begun = over = false;
    assert_int_equal(pthread_create(&thread, NULL, work, NULL), 0);
    while (!begun)
        jm__sleep_ns(JM_NS_PER_MS);
    pid_t child = fork();
    if (child == 0) {
        int was = (int)where;
        jm__no_fork_begin(); /* nobody is inside here */
        jm__no_fork_end();
        pid_t grandchild = fork();
        if (grandchild == 0) _exit(was);
        _exit(child_says(grandchild));
    }
    over = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
    return child_says(child);
}

static void test_a_fork_waits_until_nobody_is_inside(void **state)
{
    (void)state;
    assert_int_equal(fork_beside(be_inside_for_a_while), OUTSIDE);
}

static void test_who_stays_inside_lets_a_fork_pass(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++)
        assert_int_equal(fork_beside(pass_until_over), PASSING);
}

static void test_who_forks_inside_is_inside_in_the_child(void **state)
{
    (void)state;
    jm__no_fork_begin();
    pid_t child = fork();
    bool inside = jm__no_fork_here();
    jm__no_fork_end();
    if (child == 0) _exit(inside && !jm__no_fork_here() ? 0 : 1);
    assert_int_equal(child_says(child), 0);
}

static void *commit_and_close(void *context)
{
    jm__writer *writer = context;
    assert_int_equal(jm__writer_commit(writer, 1, NULL), JM_OK);
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
    return NULL;
}

static void test_a_fork_does_not_wait_for_a_disk_that_does_not_answer(void **state)
{
    (void)state;
    jm__writer *writer;
    pthread_t thread;
    assert_int_equal(jm__writer_create(&writer, path_of("slow.joulemap"), true, NULL), JM_OK);
    disk_is_slow = true;
    assert_int_equal(pthread_create(&thread, NULL, commit_and_close, writer), 0);
    while (!is_syncing) /* of the first checkpoint */
        jm__sleep_ns(JM_NS_PER_MS);
    int64_t before_ns = jm__now_ns();
    pid_t child = fork();
    if (child == 0) _exit(0);
    assert_true(jm__now_ns() - before_ns < 4 * JM_NS_PER_S); /* for those who hang it would wait 5 s */
    disk_is_slow = false;
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(child_says(child), 0);
}

/* ---- children and the recording of their parent */

static int count_spans(jm_recording *recording)
{
    jm__dataset *rows;
    if (jm__dataset_load(&rows, recording, NULL) != JM_OK) return 0;
    int count = (int)rows->span_count;
    jm__dataset_free(rows);
    return count;
}

static void test_a_child_reads_what_its_parent_still_writes(void **state)
{
    (void)state;
    jm_recording *recording, *before;
    synthetic *run = small_run_make();
    jm__writer *writer = write_small(path_of("live.joulemap"), run);
    assert_int_equal(jm_recording_open(&before, path_of("live.joulemap"), NULL), JM_OK);
    assert_int_equal(count_spans(before), run->dataset.span_count);
    sqlite3 *db;
    assert_int_equal(jm__recording_begin(before, &db, NULL), JM_OK); /* locks that nobody gives back there */
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        if (jm_recording_open(&recording, path_of("live.joulemap"), NULL) != JM_OK) _exit(1);
        _exit(count_spans(recording) == (int)run->dataset.span_count ? 0 : 2);
    }
    jm__recording_end(before, db);
    assert_int_equal(child_says(child), 0);
    jm_recording_close(before);
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
    syn_free(run);
}

/* Nothing lies in the folder. */
static bool is_empty(const char *path)
{
    return rmdir(path) == 0 && mkdir(path, 0700) == 0;
}

static void wait_for_byte(int end)
{
    char byte;
    if (read(end, &byte, 1) != 1) _exit(3);
}

static void test_a_child_sees_what_its_parent_writes_later_and_leaves_no_copy(void **state)
{
    (void)state;
    jm_recording *recording;
    int to_child[2], to_parent[2];
    char copies[160];
    synthetic *run = small_run_make();
    jm__writer *writer = write_small(path_of("later.joulemap"), run);
    const int count = (int)run->dataset.span_count;
    snprintf(copies, sizeof copies, "%s/copies", folder);
    assert_int_equal(mkdir(copies, 0700), 0);
    assert_int_equal(pipe(to_child) | pipe(to_parent), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        setenv("TMPDIR", copies, 1);
        if (jm_recording_open(&recording, path_of("later.joulemap"), NULL) != JM_OK) _exit(1);
        bool told = count_spans(recording) != count || jm_recording_meta(recording, "later") != NULL;
        if (told || !is_empty(copies) || write(to_parent[1], "", 1) != 1) _exit(2);
        wait_for_byte(to_child[0]);
        told = count_spans(recording) == count && jm_recording_meta(recording, "later") != NULL;
        _exit(told && is_empty(copies) ? 0 : 4);
    }
    close(to_parent[1]);
    char byte;
    if (read(to_parent[0], &byte, 1) == 1) {
        jm__writer_meta(writer, "later", "1");
        assert_int_equal(jm__writer_commit(writer, 1, NULL), JM_OK);
        assert_int_equal(write(to_child[1], "", 1), 1);
    }
    assert_int_equal(child_says(child), 0);
    close(to_parent[0]);
    close(to_child[0]);
    close(to_child[1]);
    assert_int_equal(rmdir(copies), 0);
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
    syn_free(run);
}

static void test_a_copy_is_removed_by_who_made_it_alone(void **state)
{
    (void)state;
    jm__copy *copy;
    char path[1200];
    synthetic *run = small_run_make();
    jm__writer *writer = write_small(path_of("copied.joulemap"), run);
    assert_int_equal(jm__copy_create(&copy, path_of("copied.joulemap"), NULL), JM_OK);
    snprintf(path, sizeof path, "%s", jm__copy_path(copy));
    pid_t child = fork();
    if (child == 0) {
        jm__copy_free(copy);
        _exit(0);
    }
    assert_int_equal(child_says(child), 0);
    assert_int_equal(access(path, F_OK), 0);
    jm__copy_free(copy);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
    syn_free(run);
}

static void test_a_child_is_told_that_it_has_no_recording_in_memory(void **state)
{
    (void)state;
    jm_recording *recording;
    sqlite3 *db;
    synthetic *run = small_run_make();
    jm__writer *writer = write_small(NULL, run);
    assert_int_equal(jm__writer_recording(writer, &recording, NULL), JM_OK);
    assert_int_equal(jm__recording_begin(recording, &db, NULL), JM_OK); /* somebody reads it */
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        _exit((int)jm__recording_begin(recording, &db, NULL));
    }
    jm__recording_end(recording, db);
    assert_int_equal(child_says(child), JM_NOT_SUPPORTED);
    jm__writer_discard(writer);
    syn_free(run);
}

/* ---- all at once */

static void *write_all_the_time(void *context)
{
    char *path = context;
    synthetic *run = small_run_make();
    while (!over) {
        jm__writer *writer = write_small(path, run);
        if (path != NULL) report_on(path);
        assert_int_equal(jm__writer_close(writer, NULL), JM_OK);
    }
    syn_free(run);
    return NULL;
}

static int use_sqlite(void)
{
    sqlite3 *db;
    is_theirs = true;
    int rc = sqlite3_open(":memory:", &db);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "CREATE TABLE t (a); INSERT INTO t VALUES (1)", NULL, NULL, NULL);
    sqlite3_close(db);
    is_theirs = false;
    return rc;
}

static void test_no_child_of_a_program_that_writes_and_reads_all_the_time_hangs(void **state)
{
    (void)state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its allocator (LLVM 14) leaves locks held in a child: tests/python/test_forks.py has this
               promise, too */
#endif
    enum { FORKS = 60 };
    pthread_t threads[2];
    char of_file[128], of_child[128];
    synthetic *run = small_run_make();
    snprintf(of_file, sizeof of_file, "%s", path_of("often.joulemap"));
    snprintf(of_child, sizeof of_child, "%s", path_of("child.joulemap"));
    over = false;
    assert_int_equal(pthread_create(&threads[0], NULL, write_all_the_time, of_file), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, write_all_the_time, NULL), 0);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(60);
            if (use_sqlite() != SQLITE_OK) _exit(1);
            jm__writer *writer;
            if (jm__writer_create(&writer, of_child, true, NULL) != JM_OK) _exit(2);
            _exit((int)jm__writer_close(writer, NULL));
        }
        assert_int_equal(child_says(child), 0);
    }
    over = true;
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    syn_free(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_locks_of_sqlite_are_never_held_as_a_fork_takes_place),
        cmocka_unit_test(test_a_fork_waits_until_nobody_is_inside),
        cmocka_unit_test(test_who_stays_inside_lets_a_fork_pass),
        cmocka_unit_test(test_who_forks_inside_is_inside_in_the_child),
        cmocka_unit_test(test_a_fork_does_not_wait_for_a_disk_that_does_not_answer),
        cmocka_unit_test(test_a_child_reads_what_its_parent_still_writes),
        cmocka_unit_test(test_a_child_sees_what_its_parent_writes_later_and_leaves_no_copy),
        cmocka_unit_test(test_a_copy_is_removed_by_who_made_it_alone),
        cmocka_unit_test(test_a_child_is_told_that_it_has_no_recording_in_memory),
        cmocka_unit_test(test_no_child_of_a_program_that_writes_and_reads_all_the_time_hangs),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
