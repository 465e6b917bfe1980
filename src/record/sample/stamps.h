/* The times of a sensor's values. Pure functions, so tests can simulate any clock. */
#ifndef JM_RECORD_SAMPLE_STAMPS_H
#define JM_RECORD_SAMPLE_STAMPS_H

#include "base/clock.h"
#include "record/device/device.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- A buffered sensor as a stream: which samples are new, and their times in CLOCK_MONOTONIC.
 *
 * The stamps are CLOCK_REALTIME, which may be set while samples wait in the board's ring. Then older ones are
 * converted by the old offset and newer ones by the new offset, whichever continues the grid. */

#define JM_RING_GAPS_MAX 8 /* per push; more are added to the last */

typedef struct jm__ring_stream {
    int64_t period_ns;
    int64_t from_ns;          /* older samples are dropped */
    int64_t offset_ns;        /* the board's stamps minus CLOCK_MONOTONIC */
    int64_t anchor_offset_ns; /* CLOCK_REALTIME minus CLOCK_MONOTONIC when offset_ns was found */
    int64_t last_raw_ns;      /* newest sample, as stamped */
    int64_t last_ns;          /* the same, in CLOCK_MONOTONIC */
    bool started;
} jm__ring_stream;

typedef struct jm__ring_gap {
    int64_t t_ns;   /* last sample before the gap */
    int64_t gap_ns; /* time in which samples are missing */
} jm__ring_gap;

typedef struct jm__ring_result {
    jm_reading readings[JM_DEVICE_SAMPLES_MAX];
    size_t count;
    jm__ring_gap gaps[JM_RING_GAPS_MAX];
    size_t gap_count;
    int64_t step_ns; /* jump of the board's stamps without a step of CLOCK_REALTIME; 0: none */
} jm__ring_result;

/* `samples`: the whole ring, oldest first; `anchor`: taken right after reading it. */
void jm__ring_stream_push(jm__ring_stream *stream, const jm__samples *samples, const jm__anchor *anchor,
                          int64_t sensor_id, jm__ring_result *out);

/* All samples before this time were returned; 0: none yet. */
int64_t jm__ring_stream_fresh_ns(const jm__ring_stream *stream);

/* ---- The instants at which a polled value is updated.
 *
 * A board updates the value once per period; a poll only shows that this happened since the previous poll.
 * The intersection of all these intervals, modulo the period, is small, so stamps can be more precise than
 * the distance of polls. */

typedef struct jm__tick {
    int64_t period_ns;
    int64_t low_ns, high_ns; /* an update was in this window */
    bool known;
} jm__tick;

/* The value changed in (low_ns, high_ns]. Returns the best estimate of the time. */
int64_t jm__tick_observe(jm__tick *tick, int64_t low_ns, int64_t high_ns);

/* The window of the first update that ends after `after_ns`; false if none was observed yet or the period is
 * too uncertain. */
bool jm__tick_next(const jm__tick *tick, int64_t after_ns, int64_t *low_ns, int64_t *high_ns);

#endif
