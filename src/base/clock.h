/* The one clock: int64 nanoseconds of CLOCK_MONOTONIC, and the way to it from CLOCK_REALTIME.
 *
 * Both clocks are slewed alike, so their difference only changes when somebody
 * steps the realtime clock: an anchor pair taken near a stamp converts it, and two
 * anchors whose offsets differ by more than JM_CLOCK_STEP_NS show a step. An anchor is right within
 * microseconds, within a slice of the scheduler (about 1 ms) if all of its readings were interrupted. */
#ifndef JM_BASE_CLOCK_H
#define JM_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define JM_NS_PER_S      INT64_C(1000000000)
#define JM_NS_PER_MS     INT64_C(1000000)
#define JM_NS_PER_US     INT64_C(1000)
#define JM_CLOCK_STEP_NS (INT64_C(2) * JM_NS_PER_MS)

/* No clock gives times further from its zero: two of them can be subtracted, and a sensor's lag added. */
#define JM_TIME_MOST_NS (INT64_MAX / 4)

typedef struct jm__anchor {
    int64_t monotonic_ns;
    int64_t realtime_ns;
} jm__anchor;

int64_t jm__now_ns(void); /* CLOCK_MONOTONIC */

/* Both clocks at one instant: the tightest of a few readings. */
jm__anchor jm__anchor_take(void);

void jm__sleep_ns(int64_t duration_ns);

/* So long from now, as what waits with an end wants it. */
struct timespec jm__clock_after(clockid_t clock, int64_t duration_ns);

/* The nearest time that a clock can give. */
static inline int64_t jm__time_bounded(int64_t t_ns)
{
    if (t_ns > JM_TIME_MOST_NS) return JM_TIME_MOST_NS;
    return t_ns < -JM_TIME_MOST_NS ? -JM_TIME_MOST_NS : t_ns;
}

#endif
