/* Which call fails. */
#include "failing.h"

#include <stdatomic.h>

static _Atomic(int) kind = FAILING_COUNT; /* FAILING_COUNT: none */
static _Atomic(long) left;                /* until it fails */
static _Atomic(bool) goes_on, has_failed;

const char *failing_text(failing_what what)
{
    static const char *const texts[FAILING_COUNT] = {
#define X(name, text) text,
        FAILING_MAP(X)
#undef X
    };
    return texts[what];
}

void failing_begin(failing_what what, long n, bool for_good)
{
    atomic_store(&left, n);
    atomic_store(&goes_on, for_good);
    atomic_store(&has_failed, false);
    atomic_store(&kind, (int)what);
}

bool failing_end(void)
{
    atomic_store(&kind, FAILING_COUNT);
    return atomic_load(&has_failed);
}

bool failing_now(failing_what what)
{
    if (atomic_load_explicit(&kind, memory_order_relaxed) != (int)what) return false;
    long before = atomic_fetch_sub(&left, 1);
    bool fails = before == 1 || (before < 1 && atomic_load(&goes_on));
    if (fails) atomic_store(&has_failed, true);
    return fails;
}
