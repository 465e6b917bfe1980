/* When a sensor's values were taken. Pure: it is given what was read and when, so tests can play any clock.
 */
#ifndef JM_RECORD_SAMPLE_STAMPS_H
#define JM_RECORD_SAMPLE_STAMPS_H

#include "base/clock.h"
#include "record/device/device.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- A buffered sensor as a stream: which samples are new, when they were taken, in CLOCK_MONOTONIC.
 *
 * Samples are stamped in CLOCK_REALTIME, which may be set while they lie in the board's ring: then the older
 * ones are converted by the old offset, the newer ones by the new one, whichever continues the grid. */

#define JM_RING_GAPS_MAX 8 /* one push; more are counted into the last */

typedef struct jm__ring_stream {
    int64_t period_ns;
    int64_t from_ns;          /* samples from before this time are dropped */
    int64_t offset_ns;        /* the board's stamps minus CLOCK_MONOTONIC */
    int64_t anchor_offset_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC when offset_ns was found */
    int64_t last_raw_ns;      /* newest sample taken, as stamped */
    int64_t last_ns;          /* the same, in CLOCK_MONOTONIC */
    bool started;
} jm__ring_stream;

typedef struct jm__ring_gap {
    int64_t t_ns;   /* last sample before it */
    int64_t gap_ns; /* time without the samples that should be there */
} jm__ring_gap;

typedef struct jm__ring_result {
    jm_reading readings[JM_DEVICE_SAMPLES_MAX];
    size_t count;
    jm__ring_gap gaps[JM_RING_GAPS_MAX];
    size_t gap_count;
    int64_t step_ns; /* the board's stamps jumped by this although CLOCK_REALTIME did not; 0: no */
} jm__ring_result;

/* `samples`: all that the ring holds, oldest first; `anchor`: taken right after they were read. */
void jm__ring_stream_push(jm__ring_stream *stream, const jm__samples *samples, const jm__anchor *anchor,
                          int64_t sensor_id, jm__ring_result *out);

/* All samples stamped before this time have come out; 0: none yet. */
int64_t jm__ring_stream_fresh_ns(const jm__ring_stream *stream);

/* ---- The instants at which a polled value is updated, found from seeing it change between two polls.
 *
 * A board updates a value every period; a poll only sees that it did so since the poll before.
 * All those intervals, laid over each other modulo the period, leave a small window, so a stamp can be
 * better than the distance of the polls. */

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
