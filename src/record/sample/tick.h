/* The instants at which a polled value is updated, found from seeing it change between two polls.
 *
 * A board updates a value every period; a poll only sees that it did so since the poll before.
 * All those intervals, laid over each other modulo the period, leave a small window, so a stamp can be
 * better than the distance of the polls. Pure: it is given the times. */
#ifndef JM_RECORD_SAMPLE_TICK_H
#define JM_RECORD_SAMPLE_TICK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct jm__tick {
    int64_t period_ns;
    int64_t low_ns, high_ns; /* an update lay in this window */
    bool known;
} jm__tick;

/* The value changed after `low_ns` and not after `high_ns`. Returns the best estimate of when. */
int64_t jm__tick_observe(jm__tick *tick, int64_t low_ns, int64_t high_ns);

/* The window of the first update that ends after `after_ns`; false if none was observed yet, or if the
 * period is not known well enough to tell. */
bool jm__tick_next(const jm__tick *tick, int64_t after_ns, int64_t *low_ns, int64_t *high_ns);

#endif
