/* What `virtual-time` and the processes that it runs share: the time, and who waits for it until when. */
#ifndef TEST_TIME_PAGE_H
#define TEST_TIME_PAGE_H

#include <stdatomic.h>
#include <stdint.h>

#define NS_PER_S      INT64_C(1000000000)
#define LOOK_NS       200 /* what a look at a clock takes */
#define NEVER         INT64_MAX
#define PAGE_VARIABLE "JOULEMAP_VIRTUAL_TIME" /* the environment variable with the page's path */

enum { WAITERS = 512, CONDITIONS = 4096 };

/* A thread in a call that a time ends. */
typedef struct waiter {
    _Atomic int32_t tid;       /* 0: free; negative: being written */
    _Atomic uint32_t word;     /* for a wait on nothing but time */
    _Atomic uint32_t sequence; /* no two waits have the same */
    _Atomic int32_t
        wakes_by; /* index of the futex to change and to wake when the time has come; or an enum below */
    _Atomic int64_t until_ns;
} waiter;

/* BY_ITSELF: looks at the time every millisecond. NOT_ASLEEP: sleeps for a moment of real time, and is awake
 * in virtual time. */
enum { BY_OWN_WORD = -1, BY_ITSELF = -2, NOT_ASLEEP = -3 };

typedef struct page {
    _Atomic int64_t now_ns;           /* CLOCK_MONOTONIC */
    _Atomic int64_t next_ns;          /* no waiter's time comes before, as far as is known */
    _Atomic int32_t due;              /* waiters whose time has come and who have not left yet */
    int64_t realtime_ns, boottime_ns; /* these clocks less CLOCK_MONOTONIC */
    _Atomic uint32_t sequence;
    waiter waiters[WAITERS];
    _Atomic uint32_t conditions[CONDITIONS]; /* signals to condition variables, by their address */
} page;

static inline void next_lower(page *on, int64_t until_ns)
{
    int64_t next_ns = atomic_load(&on->next_ns);
    while (until_ns < next_ns && !atomic_compare_exchange_weak(&on->next_ns, &next_ns, until_ns)) {
    }
}

#endif
