/* Killed with -9 at any instant: the program that holds a lease, its helper, its helper's guard, all at once.
 * The board is at what was found afterwards, each time. */
#include "cap_lease.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#define FOUND_W 650.0
#define MOST_NS (INT64_C(12) * JM_NS_PER_MS) /* an instant lies so long after the first cap, at most */

enum { INSTANTS = 50 };

static uint64_t seed;

/* xorshift64* */
static uint64_t draw(uint64_t below)
{
    static uint64_t x;
    if (x == 0) x = seed;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    return (x * UINT64_C(2685821657736338717)) % below;
}

/* ---- the program */

/* The helper of a program that was killed early may still be on its way to the board, which is then taken for
 * a moment. NULL with why. */
static jm_cap_lease *take_when_free(const char *who, jm_error *err)
{
    jm_cap_lease *lease = NULL;
    const jm_cap_lease_options options = {.size = sizeof options, .who = who};
    for (int64_t until_ns = jm__now_ns() + SOON_NS; lease == NULL; jm__sleep_ns(JM_NS_PER_MS)) {
        jm_status status = jm_cap_lease_take(&lease, &options, err);
        if (status != JM_OK && (status != JM_BUSY || jm__now_ns() > until_ns)) return NULL;
    }
    return lease;
}

/* As a search does: one cap after another. It ends by itself once its lease is over, for it does not outlive
 * the test. */
_Noreturn static void work(int told)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    jm_cap_lease *lease = take_when_free("a search", NULL);
    if (lease == NULL) _exit(1);
    for (double watts = 200; jm_cap_lease_set(lease, watts, NULL, NULL) == JM_OK; watts += 25) {
        if (watts >= 600) watts = 200;
        if (told >= 0 && write(told, "", 1) != 1) _exit(2);
        told = -1;
    }
    _exit(jm_cap_lease_end(lease, NULL) == JM_OK ? 0 : 3);
}

/* It has set its first cap, unless it is to be killed before. */
static pid_t start(bool wait_for_cap)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t program = fork();
    if (program == 0) work(ends[1]);
    assert_true(program > 0);
    close(ends[1]);
    if (wait_for_cap) assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return program;
}

static void wait_for(pid_t program)
{
    int status;
    assert_int_equal(waitpid(program, &status, 0), program);
}

/* ---- what was killed */

/* Its helper may not be there yet. */
static pid_t helper_now(void)
{
    jm__lease_state state;
    return read_state(0, &state) ? (pid_t)state.helper_pid : 0;
}

static void kill_if_there(pid_t process)
{
    if (process > 0) kill(process, SIGKILL);
}

/* A signal takes a moment. */
static void wait_until_dead(pid_t process)
{
    while (jm__process_lives(process, jm__process_start(process)))
        jm__sleep_ns(JM_NS_PER_MS);
}

/* Whoever takes it next finds what was found. */
static void check_board(void)
{
    jm_error err = {0};
    assert_float_equal(limit_w(0), FOUND_W, 1e-3);
    jm_cap_lease *lease = take_when_free("the test", &err);
    if (lease == NULL) fail_msg("%s", err.text);
    assert_float_equal(jm_cap_lease_board(lease)->cap_w, FOUND_W, 1e-3);
    end(lease);
}

/* Some are killed while they start. Whether a cap stood just before. */
static bool wait_for_instant(pid_t *program)
{
    bool from_start = draw(5) == 0;
    *program = start(!from_start);
    jm__sleep_ns((int64_t)draw((uint64_t)MOST_NS));
    return limit_w(0) < FOUND_W;
}

static void tell(const char *what, int capped)
{
    print_message("%s killed at %d instants (seed %llu), %d of them with a cap below what was found\n", what,
                  INSTANTS, (unsigned long long)seed, capped);
    assert_true(capped > INSTANTS / 4); /* else nothing was shown */
}

static void test_a_killed_program_leaves_no_cap(void **state)
{
    (void)state;
    int capped = 0;
    for (int i = 0; i < INSTANTS; i++) {
        pid_t program;
        capped += wait_for_instant(&program);
        kill(program, SIGKILL);
        wait_for(program);
        wait_until_put_back(0); /* nobody asks for it */
        check_board();
    }
    tell("program", capped);
}

/* The program does not notice: it stands still, or works on for an hour. */
static void test_a_killed_helper_leaves_no_cap_whatever_its_program_does(void **state)
{
    (void)state;
    int capped = 0;
    for (int i = 0; i < INSTANTS; i++) {
        pid_t program;
        capped += wait_for_instant(&program);
        kill(program, SIGSTOP);
        pid_t helper = helper_now(), guard = helper > 0 ? guard_of(helper) : 0;
        kill_if_there(helper);
        if (guard > 0) wait_until_put_back(0);
        if (guard > 0) assert_float_equal(limit_w(0), FOUND_W, 1e-3);
        if (guard == 0) kill(program, SIGKILL); /* too early: nothing was set */
        kill(program, SIGCONT);
        wait_for(program); /* it is told at its next call, and leaves */
        if (guard > 0) wait_until_put_back(0);
        check_board();
    }
    tell("helper", capped);
}

/* Stopped while its cap stands, and its helper has nothing more to do: that may have a request to answer yet.
 */
static void stop_with_cap(pid_t program)
{
    for (;;) {
        kill(program, SIGSTOP);
        jm__sleep_ns(100 * JM_NS_PER_MS);
        if (limit_w(0) < FOUND_W) return;
        kill(program, SIGCONT);
        jm__sleep_ns((int64_t)draw((uint64_t)MOST_NS));
    }
}

/* No descriptor, no memory: what was written down may not be readable just then. */
static void test_a_guard_that_cannot_read_what_was_found_looks_again(void **state)
{
    (void)state;
    char path[PATH_MAX], aside[PATH_MAX];
    pid_t program = start(true);
    stop_with_cap(program);
    pid_t helper = helper_now(), guard = guard_of(helper);
    assert_true(guard > 0);
    assert_true(jm__lease_folder_path(&caps, uuid_of(0), "json", path, sizeof path));
    assert_true(jm__lease_folder_path(&caps, uuid_of(0), "aside", aside, sizeof aside));
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(symlink(aside, path), 0); /* links are not assumed */
    kill(helper, SIGKILL);
    wait_until_dead(helper);
    jm__sleep_ns(500 * JM_NS_PER_MS);
    assert_true(limit_w(0) < FOUND_W);
    assert_int_equal(rename(aside, path), 0);
    wait_until_put_back(0);
    assert_float_equal(limit_w(0), FOUND_W, 1e-3);
    kill(program, SIGKILL);
    wait_for(program);
    check_board();
}

/* Likewise. The number of leases that were lost. */
static size_t restore_when_free(jm_cap_restored *restored)
{
    size_t count;
    jm_error err;
    for (int64_t until_ns = jm__now_ns() + SOON_NS;; jm__sleep_ns(JM_NS_PER_MS)) {
        if (jm_cap_restore(restored, 1, &count, &err) != JM_OK) fail_msg("%s", err.text);
        if (count == 0 || restored->fault[0] == '\0') return count;
        if (jm__now_ns() > until_ns) fail_msg("%s", restored->fault);
    }
}

/* As if power had been cut: nobody is left but the state. */
static void test_all_killed_at_once_leave_a_state_that_puts_back(void **state)
{
    (void)state;
    int capped = 0, lost = 0;
    for (int i = 0; i < INSTANTS; i++) {
        pid_t program, killed[3];
        jm_cap_restored restored;
        capped += wait_for_instant(&program);
        killed[0] = program;
        killed[1] = helper_now();
        killed[2] = killed[1] > 0 ? guard_of(killed[1]) : 0;
        for (uint64_t k = 0, first = draw(3); k < 3; k++)
            kill_if_there(killed[(first + k) % 3]);
        wait_for(program);
        if (killed[1] == 0) wait_until_put_back(0); /* a helper on its way: see above */
        wait_until_dead(killed[1]);
        wait_until_dead(killed[2]);
        size_t count = restore_when_free(&restored);
        if (count > 0) assert_float_equal(restored.lease.found_w, FOUND_W, 1e-3);
        lost += (int)count;
        wait_until_put_back(0); /* the guard may have lived a moment longer */
        check_board();
    }
    print_message("put back by jm_cap_restore: %d\n", lost);
    tell("program, helper and guard", capped);
}

static void test_a_killed_guard_is_replaced(void **state)
{
    (void)state;
    pid_t program = start(true), helper = helper_now(), guard = guard_of(helper), next = 0;
    assert_true(guard > 0);
    kill(guard, SIGKILL);
    for (int64_t until_ns = jm__now_ns() + SOON_NS; next == 0 || next == guard; next = guard_of(helper)) {
        assert_true(jm__now_ns() < until_ns);
        jm__sleep_ns(JM_NS_PER_MS);
    }
    kill(program, SIGSTOP);
    assert_true(helper_now() == helper); /* the lease stands */
    kill(helper, SIGKILL);
    wait_until_put_back(0);
    kill(program, SIGCONT);
    wait_for(program);
    check_board();
}

/* A child of the program has a copy of its end of the link. */
static void test_a_guard_that_cannot_be_started_is_tried_again(void **state)
{
    (void)state;
    struct rlimit usual, few;
    jm_cap_lease *lease = take(0, "the test");
    set(lease, 300);
    pid_t helper = helper_now(), guard = guard_of(helper);
    assert_true(guard > 0);
    assert_int_equal(prlimit(helper, RLIMIT_NOFILE, NULL, &usual), 0);
    few = (struct rlimit){.rlim_cur = 4, .rlim_max = usual.rlim_max};
    assert_int_equal(prlimit(helper, RLIMIT_NOFILE, &few, NULL), 0);
    kill(guard, SIGKILL);
    wait_until_dead(guard);
    jm__sleep_ns(300 * JM_NS_PER_MS);
    assert_int_equal(guard_of(helper), 0);
    assert_float_equal(limit_w(0), 300, 1e-3); /* the helper holds on */
    assert_int_equal(prlimit(helper, RLIMIT_NOFILE, &usual, NULL), 0);
    for (int64_t until_ns = jm__now_ns() + SOON_NS; guard_of(helper) == 0; jm__sleep_ns(JM_NS_PER_MS))
        if (jm__now_ns() > until_ns) fail_msg("there is no guard");
    kill(helper, SIGKILL);
    wait_until_put_back(0);
    assert_float_equal(limit_w(0), FOUND_W, 1e-3);
    (void)jm_cap_lease_end(lease, NULL);
}

static void test_a_program_whose_child_lives_on_leaves_no_cap(void **state)
{
    (void)state;
    int ends[2];
    pid_t child = 0;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t program = fork();
    if (program == 0) {
        jm_cap_lease *lease = take(0, "a program with a child");
        set(lease, 300);
        child = fork();
        if (child == 0) {
            jm_error err;
            if (jm_cap_lease_end(lease, &err) != JM_OK) _exit(1); /* not its own: nothing ends */
            pause();
        }
        (void)!write(ends[1], &child, sizeof child);
        pause();
    }
    assert_int_equal(read(ends[0], &child, sizeof child), sizeof child);
    jm__sleep_ns(20 * JM_NS_PER_MS);
    assert_float_equal(limit_w(0), 300, 1e-3);
    kill(program, SIGKILL);
    wait_for(program);
    wait_until_put_back(0);
    assert_int_equal(kill(child, 0), 0);
    kill(child, SIGKILL);
    check_board();
    close(ends[0]);
    close(ends[1]);
}

/* What people and terminals send to a group is not for the helper; SIGTERM puts back and leaves. */
static void test_signals_to_the_helper_leave_no_cap(void **state)
{
    (void)state;
    static const int ignored[] = {SIGINT, SIGHUP, SIGQUIT, SIGPIPE};
    jm_cap_lease *lease = take(0, "the test");
    jm_error err;
    set(lease, 300);
    pid_t helper = helper_now(), guard = guard_of(helper);
    assert_true(getsid(helper) != getsid(0));
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++) {
        kill(helper, ignored[i]);
        kill(guard, ignored[i]);
    }
    kill(guard, SIGTERM);
    set(lease, 350);
    kill(helper, SIGTERM);
    wait_until_put_back(0);
    assert_float_equal(limit_w(0), FOUND_W, 1e-3);
    assert_int_equal(jm_cap_lease_set(lease, 300, NULL, &err), JM_NOT_FOUND);
    assert_non_null(strstr(err.text, "it was reset"));
    end(lease);
    check_board();
}

static int set_up(void **state)
{
    const char *requested = getenv("JOULEMAP_TEST_SEED");
    seed = requested != NULL ? strtoull(requested, NULL, 0) : (uint64_t)jm__now_ns() | 1;
    if (open_board(state) != 0) return -1;
    set_limit(0, FOUND_W);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_killed_program_leaves_no_cap),
        cmocka_unit_test(test_a_killed_helper_leaves_no_cap_whatever_its_program_does),
        cmocka_unit_test(test_a_guard_that_cannot_read_what_was_found_looks_again),
        cmocka_unit_test(test_all_killed_at_once_leave_a_state_that_puts_back),
        cmocka_unit_test(test_a_killed_guard_is_replaced),
        cmocka_unit_test(test_a_guard_that_cannot_be_started_is_tried_again),
        cmocka_unit_test(test_a_program_whose_child_lives_on_leaves_no_cap),
        cmocka_unit_test(test_signals_to_the_helper_leave_no_cap),
    };
    return cmocka_run_group_tests(tests, set_up, close_board);
}
