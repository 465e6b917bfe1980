/* A buffered sensor as a stream: which samples are new, when they were taken, in CLOCK_MONOTONIC.
 *
 * Pure: it is given what was read and when, so tests can play any clock. Samples are stamped in
 * CLOCK_REALTIME, which may be set while they lie in the board's ring: then the older ones are
 * converted by the old offset, the newer ones by the new one, whichever continues the grid. */
#ifndef JM_RECORD_SAMPLE_RING_STREAM_H
#define JM_RECORD_SAMPLE_RING_STREAM_H

#include "base/clock.h"
#include "record/device/device.h"

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

#endif
