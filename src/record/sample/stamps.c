/* Times of a sensor's values: new samples of a ring, and update instants of polled values. */
#include "record/sample/stamps.h"

#include <stdlib.h>

/* ---- a ring */

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

/* The index of the first new sample. The driver sometimes restamps the whole ring with a small shift (seen
 * on the H200, once in ten reads). So the last known sample is the one with the nearest stamp. If none is
 * near, all later ones are new. If all are earlier, the clock was set back and everything is new. */
static size_t first_new(const jm__ring_stream *stream, const jm__samples *samples)
{
    if (!stream->started) return 0;
    size_t nearest = samples->count, first_later = samples->count;
    int64_t nearest_ns = stream->period_ns / 2;
    for (size_t i = 0; i < samples->count; i++) {
        int64_t t_ns = samples->items[i].t_ns;
        if (distance(t_ns, stream->last_raw_ns) < nearest_ns) {
            nearest = i;
            nearest_ns = distance(t_ns, stream->last_raw_ns);
        }
        if (t_ns > stream->last_raw_ns && first_later == samples->count) first_later = i;
    }
    if (nearest < samples->count) return nearest + 1;
    return first_later < samples->count ? first_later : 0;
}

/* The offset with which the sample best continues the grid. Candidates are the current one, that one moved by
 * a step of CLOCK_REALTIME, and CLOCK_REALTIME's own. */
static int64_t choose_offset(const jm__ring_stream *stream, int64_t raw_ns, int64_t anchor_offset_ns,
                             int64_t now_ns)
{
    int64_t expected_ns = stream->last_ns + stream->period_ns;
    int64_t best_ns = stream->offset_ns;
    if (!stream->started || distance(raw_ns - best_ns, expected_ns) < 3 * stream->period_ns) return best_ns;
    const int64_t others_ns[] = {stream->offset_ns + anchor_offset_ns - stream->anchor_offset_ns,
                                 anchor_offset_ns};
    for (size_t i = 0; i < sizeof others_ns / sizeof others_ns[0]; i++) {
        bool possible = raw_ns - others_ns[i] <= now_ns + stream->period_ns;
        if (possible &&
            distance(raw_ns - others_ns[i], expected_ns) < distance(raw_ns - best_ns, expected_ns))
            best_ns = others_ns[i];
    }
    return best_ns;
}

static void add_gap(jm__ring_result *out, int64_t t_ns, int64_t gap_ns)
{
    if (out->gap_count < JM_RING_GAPS_MAX) {
        out->gaps[out->gap_count++] = (jm__ring_gap){t_ns, gap_ns};
        return;
    }
    out->gaps[JM_RING_GAPS_MAX - 1].gap_ns += gap_ns;
}

/* Adds one new sample in CLOCK_MONOTONIC. */
static void add_sample(jm__ring_stream *stream, jm_reading reading, jm__ring_result *out)
{
    int64_t missing_ns = reading.t_ns - stream->last_ns - stream->period_ns;
    if (stream->started && stream->last_ns >= stream->from_ns && missing_ns >= 2 * stream->period_ns)
        add_gap(out, stream->last_ns, missing_ns);
    if (reading.t_ns >= stream->from_ns && out->count < JM_DEVICE_SAMPLES_MAX)
        out->readings[out->count++] = reading;
}

void jm__ring_stream_push(jm__ring_stream *stream, const jm__samples *samples, const jm__anchor *anchor,
                          int64_t sensor_id, jm__ring_result *out)
{
    int64_t anchor_offset_ns = anchor->realtime_ns - anchor->monotonic_ns;
    int64_t now_ns = anchor->monotonic_ns;
    out->count = out->gap_count = 0;
    out->step_ns = 0;
    if (!stream->started) stream->offset_ns = stream->anchor_offset_ns = anchor_offset_ns;
    for (size_t i = first_new(stream, samples); i < samples->count; i++) {
        int64_t raw_ns = samples->items[i].t_ns;
        int64_t offset_ns = choose_offset(stream, raw_ns, anchor_offset_ns, now_ns);
        if (offset_ns != stream->offset_ns) stream->anchor_offset_ns = anchor_offset_ns;
        stream->offset_ns = offset_ns;
        int64_t t_ns = raw_ns - offset_ns;
        bool impossible = t_ns > now_ns + stream->period_ns || (stream->started && t_ns <= stream->last_ns);
        if (impossible && !stream->started) continue; /* there is no grid yet to correct it by */
        if (impossible) {
            int64_t step_ns = t_ns - (stream->last_ns + stream->period_ns);
            stream->offset_ns += step_ns;
            out->step_ns += step_ns;
            t_ns -= step_ns;
        }
        add_sample(stream, (jm_reading){sensor_id, t_ns, samples->items[i].value}, out);
        stream->last_raw_ns = raw_ns;
        stream->last_ns = t_ns;
        stream->started = true;
    }
    /* Between steps both clocks run alike; the rest is the noise of anchors. */
    if (distance(anchor_offset_ns, stream->anchor_offset_ns) < JM_CLOCK_STEP_NS) {
        stream->offset_ns += anchor_offset_ns - stream->anchor_offset_ns;
        stream->anchor_offset_ns = anchor_offset_ns;
    }
}

int64_t jm__ring_stream_fresh_ns(const jm__ring_stream *stream)
{
    return stream->started ? stream->last_ns + 1 : 0;
}

/* ---- phase of a periodic update by intersection of intervals */

/* Jitter of an update as a fraction of the period. */
#define JITTER_DIVISOR 32

/* Deviation of a board's period from its profile's, as a fraction of the elapsed time. */
#define DRIFT_DIVISOR 4000

/* The window moved by whole periods next to `near_ns`, and widened by the possible drift. */
static bool window_at(const jm__tick *tick, int64_t near_ns, int64_t *low_ns, int64_t *high_ns)
{
    int64_t middle_ns = tick->low_ns + (tick->high_ns - tick->low_ns) / 2;
    int64_t passed_ns = near_ns - middle_ns + tick->period_ns / 2;
    int64_t periods = passed_ns / tick->period_ns - (passed_ns < 0 && passed_ns % tick->period_ns != 0);
    int64_t shift_ns = periods * tick->period_ns;
    int64_t drift_ns = (shift_ns < 0 ? -shift_ns : shift_ns) / DRIFT_DIVISOR;
    *low_ns = tick->low_ns + shift_ns - drift_ns;
    *high_ns = tick->high_ns + shift_ns + drift_ns;
    return *high_ns - *low_ns < tick->period_ns * 3 / 4;
}

int64_t jm__tick_observe(jm__tick *tick, int64_t low_ns, int64_t high_ns)
{
    int64_t was_low_ns, was_high_ns;
    int64_t middle_ns = low_ns + (high_ns - low_ns) / 2, latest_ns = high_ns;
    /* The window describes the grid, from which this update may deviate. */
    low_ns -= tick->period_ns / JITTER_DIVISOR;
    high_ns += tick->period_ns / JITTER_DIVISOR;
    bool overlap = tick->known && window_at(tick, middle_ns, &was_low_ns, &was_high_ns) &&
                   was_low_ns < high_ns && low_ns < was_high_ns;
    tick->low_ns = overlap && was_low_ns > low_ns ? was_low_ns : low_ns;
    tick->high_ns = overlap && was_high_ns < high_ns ? was_high_ns : high_ns;
    tick->known = high_ns - low_ns < tick->period_ns;
    int64_t best_ns = tick->low_ns + (tick->high_ns - tick->low_ns) / 2;
    return best_ns < latest_ns ? best_ns : latest_ns;
}

bool jm__tick_next(const jm__tick *tick, int64_t after_ns, int64_t *low_ns, int64_t *high_ns)
{
    if (!tick->known) return false;
    bool sharp = window_at(tick, after_ns, low_ns, high_ns);
    while (sharp && *high_ns <= after_ns) {
        *low_ns += tick->period_ns;
        *high_ns += tick->period_ns;
    }
    return sharp;
}
