/* For all n (failing_step): the n-th call of a kind fails, alone or with all after it. What is tried either
 * does all that it does when nothing fails, to the last digit, or says what failed. */
#ifndef TEST_FAILING_EACH_H
#define TEST_FAILING_EACH_H

#include "failing.h"

#include <joulemap/status.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct failing_trial {
    const char *name;
    void *context;
    jm_status (*work)(void *context, jm_error *err); /* what may fail */
    char *(*tell)(void *context);                    /* of work that succeeded: all that it gave; free() it */
    void (*drop)(void *context);                     /* after tell */
    bool (*may_end_so)(const jm_error *err);         /* an error that the failing call explains */
} failing_trial;

static inline bool failing_for_memory(const jm_error *err)
{
    return err->status == JM_NO_MEMORY;
}

static inline void failing_compare(const failing_trial *trial, const char *which, char *got, const char *want)
{
    if (strcmp(got, want) == 0) return;
    size_t at = 0, line = 0;
    for (; got[at] == want[at]; at++)
        if (want[at] == '\n') line = at + 1;
    fail_msg("%s, %s: it says\n%.*s\nwhere it said\n%.*s", trial->name, which,
             (int)strcspn(got + at, "\n") + (int)(at - line), got + line,
             (int)strcspn(want + at, "\n") + (int)(at - line), want + line);
}

/* One n. False: nothing failed any more. */
static inline bool failing_try(const failing_trial *trial, failing_what what, long n, bool for_good,
                               const char *want)
{
    jm_error err = {0};
    char which[80];
    snprintf(which, sizeof which, "%s %ld fails%s", failing_text(what), n,
             for_good ? ", and all after it" : "");
    failing_begin(what, n, for_good);
    jm_status status = trial->work(trial->context, &err);
    bool failed = failing_end();
    if (status == JM_OK) {
        char *got = trial->tell(trial->context);
        failing_compare(trial, which, got, want);
        trial->drop(trial->context);
        free(got);
    } else if (!failed || err.status != status || err.text[0] == '\0' || !trial->may_end_so(&err)) {
        fail_msg("%s, %s: %s: %s (%s)", trial->name, which, jm_status_name(status), err.text, err.hint);
    }
    return failed;
}

enum { FAILING_FOR_GOOD_MOST = 100 };

/* One n, then the one that is `step` after it. */
static inline void failing_each_of(const failing_trial *trial, failing_what what, long step)
{
    jm_error err = {0};
    if (trial->work(trial->context, &err) != JM_OK) fail_msg("%s: %s", trial->name, err.text);
    char *want = trial->tell(trial->context);
    trial->drop(trial->context);
    long n = 1;
    while (failing_try(trial, what, n, false, want))
        n += step;
    assert_true(n > 1 || what != FAILING_MEMORY); /* else nothing was tried */
    for (long m = 1; m < n; m += failing_for_good_step(step, n, FAILING_FOR_GOOD_MOST))
        failing_try(trial, what, m, true, want);
    if (n > 1)
        print_message("%s: each %s of %ld, in steps of %ld, failed\n", trial->name, failing_text(what), n - 1,
                      step);
    free(want);
}

static inline void failing_each(const failing_trial *trial, failing_what what)
{
    failing_each_of(trial, what, failing_step());
}

#endif
