/* Time is int64 nanoseconds of CLOCK_MONOTONIC. Anchors convert from CLOCK_REALTIME.
 *
 * Both clocks are slewed alike, so their difference changes only when the realtime clock is set. An anchor
 * taken near a stamp converts it; offsets of two anchors that differ by more than JM_CLOCK_STEP_NS show a
 * step. An anchor is accurate to microseconds, or to a scheduler slice (about 1 ms) if all of its readings
 * were interrupted. */
#ifndef JM_BASE_CLOCK_H
#define JM_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define JM_NS_PER_S      INT64_C(1000000000)
#define JM_NS_PER_MS     INT64_C(1000000)
#define JM_NS_PER_US     INT64_C(1000)
#define JM_CLOCK_STEP_NS (INT64_C(2) * JM_NS_PER_MS)

/* Bound on valid times: differences of two, and a time plus a sensor's lag, cannot overflow. */
#define JM_TIME_MOST_NS (INT64_MAX / 4)

typedef struct jm__anchor {
    int64_t monotonic_ns;
    int64_t realtime_ns;
} jm__anchor;

int64_t jm__now_ns(void); /* CLOCK_MONOTONIC */

/* Both clocks at one instant: the reading with the shortest bracket of five. */
jm__anchor jm__anchor_take(void);

void jm__sleep_ns(int64_t duration_ns);

/* The absolute time `duration_ns` from now, for timed waits. */
struct timespec jm__clock_after(clockid_t clock, int64_t duration_ns);

/* Clamp to valid times. */
static inline int64_t jm__time_bounded(int64_t t_ns)
{
    if (t_ns > JM_TIME_MOST_NS) return JM_TIME_MOST_NS;
    return t_ns < -JM_TIME_MOST_NS ? -JM_TIME_MOST_NS : t_ns;
}

#endif
