/* The thread that brings out records: now and then, at once when kicked, sooner while it is told to, and
 * without signals. */
#include "inject/outlet.h"

#include "base/clock.h"

#include <joulemap/run.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static atomic_int flushes, unblocked;
static atomic_bool soon;

static bool flush(bool forced)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (!sigismember(&mask, SIGUSR1) || !sigismember(&mask, SIGTERM) || forced) unblocked++;
    flushes++;
    return soon;
}

static void is_back(void) {}

/* How long it takes until there were so many; the limit only ends a failed test. */
static double seconds_until(int count)
{
    int64_t from_ns = jm_now_ns(), now_ns = from_ns;
    while (flushes < count && now_ns < from_ns + 20 * JM_NS_PER_S) {
        nanosleep(&(struct timespec){0, 200000}, NULL);
        now_ns = jm_now_ns();
    }
    assert_true(flushes >= count);
    return (double)(now_ns - from_ns) / JM_NS_PER_S;
}

static void test_it_comes_by_itself_and_at_once_when_kicked(void **state)
{
    (void)state;
    jm__flusher_kick(); /* nobody hears it */
    flushes = 0;
    jm__flusher_start(flush, is_back);
    double alone_s = seconds_until(1);
    assert_true(alone_s > 0.3);
    int before = flushes;
    jm__flusher_kick();
    double kicked_s = seconds_until(before + 1);
    assert_true(kicked_s < 0.3);
    soon = true;
    jm__flusher_kick();
    seconds_until(flushes + 1);
    double soon_s = seconds_until(flushes + 4);
    soon = false;
    assert_true(soon_s > 0.1 && soon_s < 1.5);
    assert_true(jm__flusher_stop());
    int count = flushes;
    nanosleep(&(struct timespec){0, 100000000}, NULL);
    assert_int_equal(flushes, count);
    assert_int_equal(unblocked, 0);
    assert_true(jm__flusher_stop()); /* there is none */
}

static void test_it_starts_again(void **state)
{
    (void)state;
    jm__flusher_start(flush, is_back);
    int before = flushes;
    jm__flusher_kick();
    seconds_until(before + 1);
    assert_true(jm__flusher_stop());
    jm__flusher_start(flush, is_back);
    pid_t child = fork();
    if (child == 0) { /* that thread is not there */
        jm__flusher_forget();
        _exit(!jm__flusher_stop());
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(jm__flusher_stop());
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_it_comes_by_itself_and_at_once_when_kicked),
                                       cmocka_unit_test(test_it_starts_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
