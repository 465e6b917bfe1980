/* A lock that somebody who hangs may hold. */
#ifndef JM_INJECT_LOCK_FOR_H
#define JM_INJECT_LOCK_FOR_H

#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Wait that long for it, once: as long as it is held on, the next ones find it held at once. False: it is. */
static inline bool jm__lock_for(pthread_mutex_t *mutex, _Atomic bool *is_late, int64_t wait_ns)
{
    const struct timespec until = jm__clock_after(CLOCK_REALTIME, atomic_load(is_late) ? 0 : wait_ns);
    bool is_held = pthread_mutex_timedlock(mutex, &until) != 0;
    atomic_store(is_late, is_held);
    return !is_held;
}

#endif
