/* The tool itself, under it: `test_virtual_time` is run by virtual-time, and runs itself as other programs.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define S  INT64_C(1000000000)
#define MS INT64_C(1000000)

static const char *own_path;

static int64_t ns_of(struct timespec t)
{
    return t.tv_sec * S + t.tv_nsec;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return ns_of(now);
}

static int64_t real_ns(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return ns_of(now);
}

static void sleep_ns(int64_t ns)
{
    struct timespec wanted = {ns / S, ns % S};
    assert_int_equal(nanosleep(&wanted, NULL), 0);
}

/* Since then so much has passed, and what a few looks take. */
static void check_passed(int64_t from_ns, int64_t wanted_ns)
{
    assert_in_range(now_ns() - from_ns, wanted_ns, wanted_ns + MS);
}

static void test_an_hour_of_sleep_takes_a_moment(void **state)
{
    (void)state;
    int64_t from_ns = now_ns(), really_ns = real_ns();
    assert_int_equal(sleep(3600), 0);
    check_passed(from_ns, 3600 * S);
    assert_true(real_ns() - really_ns < 60 * S); /* well, on a machine that stands still nearly */
}

static void test_clocks_move_together(void **state)
{
    (void)state;
    struct timespec before[2], after[2];
    struct timeval day;
    clock_gettime(CLOCK_REALTIME, &before[0]);
    clock_gettime(CLOCK_BOOTTIME, &before[1]);
    time_t seconds = time(NULL);
    usleep(2500000);
    clock_gettime(CLOCK_REALTIME, &after[0]);
    clock_gettime(CLOCK_BOOTTIME, &after[1]);
    for (int i = 0; i < 2; i++)
        assert_in_range(ns_of(after[i]) - ns_of(before[i]), 2500 * MS, 2501 * MS);
    gettimeofday(&day, NULL);
    assert_in_range(time(NULL) - seconds, 2, 3);
    assert_in_range(day.tv_sec - after[0].tv_sec, 0, 1);
}

static void test_time_stands_still_while_somebody_works(void **state)
{
    (void)state;
    struct timespec used;
    int64_t from_ns = now_ns();
    do
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    while (ns_of(used) < 300 * MS);
    check_passed(from_ns, 0);
}

static void *spin(void *argument)
{
    int64_t until_ns = now_ns() + *(int64_t *)argument;
    while (now_ns() < until_ns) {
    }
    return NULL;
}

static void test_a_loop_on_the_clock_ends_beside_who_sleeps(void **state)
{
    (void)state;
    pthread_t thread;
    int64_t length_ns = 20 * MS, from_ns = now_ns();
    assert_int_equal(pthread_create(&thread, NULL, spin, &length_ns), 0);
    sleep_ns(5 * MS);
    pthread_join(thread, NULL);
    assert_in_range(now_ns() - from_ns, 20 * MS, 26 * MS); /* the sleep may begin late */
}

/* ---- processes ---- */

static pid_t start(const char *what, int out)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    if (out >= 0) dup2(out, STDOUT_FILENO);
    execl(own_path, own_path, what, (char *)NULL);
    _exit(1);
}

static void check_ends(pid_t child)
{
    int how = -1;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    assert_int_equal(WEXITSTATUS(how), 0);
}

static void test_processes_wake_in_the_order_of_their_times(void **state)
{
    (void)state;
    static const int order[] = {3, 1, 2};
    int64_t from_ns = now_ns();
    int ends[2];
    char heard[4] = "";
    pid_t children[3];
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < 3; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] > 0) continue;
        sleep_ns(from_ns + order[i] * 10 * S - now_ns());
        _exit(write(ends[1], &"0123"[order[i]], 1) == 1 ? 0 : 1);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(read(ends[0], heard + i, 1), 1);
    assert_string_equal(heard, "123");
    check_passed(from_ns, 30 * S);
    for (int i = 0; i < 3; i++)
        check_ends(children[i]);
    close(ends[0]);
    close(ends[1]);
}

static void test_other_programs_share_the_time(void **state)
{
    (void)state;
    int64_t from_ns = now_ns();
    check_ends(start("sleep", -1));
    check_passed(from_ns, 100 * S);
    assert_int_equal(system("sleep 50 & sleep 20; wait"), 0);
    check_passed(from_ns, 150 * S);
}

static void test_poll_ends_by_what_comes_or_by_its_time(void **state)
{
    (void)state;
    int ends[2];
    char byte;
    fd_set files;
    assert_int_equal(pipe(ends), 0);
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    int64_t from_ns = now_ns();
    assert_int_equal(poll(&one, 1, 60000), 0);
    check_passed(from_ns, 60 * S);
    struct timeval most = {30, 0};
    FD_ZERO(&files);
    FD_SET(ends[0], &files);
    assert_int_equal(select(ends[0] + 1, &files, NULL, NULL, &most), 0);
    check_passed(from_ns, 90 * S);
    pid_t child = start("sleep-then-write", ends[1]);
    assert_int_equal(poll(&one, 1, 1000000), 1);
    check_passed(from_ns, 190 * S);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    check_ends(child);
    close(ends[0]);
    close(ends[1]);
}

/* ---- threads ---- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int count;
} shared = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void *raise_each_second(void *argument)
{
    for (int i = 0; i < *(int *)argument; i++) {
        sleep_ns(S);
        pthread_mutex_lock(&shared.lock);
        shared.count++;
        pthread_cond_signal(&shared.changed);
        pthread_mutex_unlock(&shared.lock);
    }
    return NULL;
}

static void test_conditions_end_by_a_signal_or_by_their_time(void **state)
{
    (void)state;
    pthread_t thread;
    struct timespec until;
    int times = 20, code = 0;
    int64_t from_ns = now_ns();
    assert_int_equal(pthread_create(&thread, NULL, raise_each_second, &times), 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 100;
    pthread_mutex_lock(&shared.lock);
    while (shared.count < times && code == 0)
        code = pthread_cond_timedwait(&shared.changed, &shared.lock, &until);
    assert_int_equal(code, 0);
    check_passed(from_ns, 20 * S);
    while (code == 0)
        code = pthread_cond_timedwait(&shared.changed, &shared.lock, &until);
    assert_int_equal(code, ETIMEDOUT);
    check_passed(from_ns, 100 * S);
    pthread_mutex_unlock(&shared.lock);
    pthread_join(thread, NULL);
}

/* ---- signals ---- */

static void note(int number)
{
    (void)number;
}

static void test_a_signal_ends_a_sleep(void **state)
{
    (void)state;
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    struct timespec wanted = {100, 0}, left = {0, 0};
    pid_t parent = getpid();
    int64_t from_ns = now_ns();
    sigaction(SIGUSR1, &action, NULL);
    for (int way = 0; way < 2; way++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            sleep_ns(10 * S);
            _exit(kill(parent, SIGUSR1));
        }
        assert_int_equal(way == 0 ? nanosleep(&wanted, &left) : poll(NULL, 0, 100000), -1);
        assert_int_equal(errno, EINTR);
        check_passed(from_ns, (way + 1) * 10 * S);
        check_ends(child);
    }
    assert_in_range(ns_of(left), 90 * S - MS, 90 * S);
}

int main(int count, char **words)
{
    own_path = words[0];
    if (count > 1) {
        sleep(100);
        return strcmp(words[1], "sleep-then-write") != 0 || write(STDOUT_FILENO, "x", 1) == 1 ? 0 : 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_hour_of_sleep_takes_a_moment),
        cmocka_unit_test(test_clocks_move_together),
        cmocka_unit_test(test_time_stands_still_while_somebody_works),
        cmocka_unit_test(test_a_loop_on_the_clock_ends_beside_who_sleeps),
        cmocka_unit_test(test_processes_wake_in_the_order_of_their_times),
        cmocka_unit_test(test_other_programs_share_the_time),
        cmocka_unit_test(test_poll_ends_by_what_comes_or_by_its_time),
        cmocka_unit_test(test_conditions_end_by_a_signal_or_by_their_time),
        cmocka_unit_test(test_a_signal_ends_a_sleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
