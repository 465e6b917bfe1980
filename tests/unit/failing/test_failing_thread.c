/* Memory that runs out while a thread begins: it runs, or its start says why not. */
#include "failing.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ALLOCATIONS = 8 }; /* a start asks for fewer */

static void *run(void *has_run)
{
    *(bool *)has_run = true;
    return NULL;
}

static void test_a_thread_without_memory_runs_or_does_not_start(void **state)
{
    (void)state;
    for (long n = 1; n <= ALLOCATIONS; n++) {
        pthread_t thread;
        bool has_run = false;
        failing_begin(FAILING_MEMORY, n, true);
        int code = pthread_create(&thread, NULL, run, &has_run);
        if (code == 0) assert_int_equal(pthread_join(thread, NULL), 0); /* it begins while all fails */
        failing_end();
        assert_true(code == 0 ? has_run : code == EAGAIN || code == ENOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_without_memory_runs_or_does_not_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
