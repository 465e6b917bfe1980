/* Reading one sensor by its schedule. */
#include "sample/channel.h"

#include "rows/sensor_role.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_NS         (INT64_C(100) * JM_NS_PER_MS)
#define POLL_MIN_NS     (INT64_C(4) * JM_NS_PER_MS)
#define LIMIT_NS        (INT64_C(5) * JM_NS_PER_S)
#define COUNTER_NS      (INT64_C(5) * JM_NS_PER_S)
#define COUNTER_STEP_NS (INT64_C(4) * JM_NS_PER_MS)
#define COUNTER_SLOW_NS (INT64_C(20) * JM_NS_PER_MS) /* updated more rarely than this: wait for the tick */
#define FAILED_MAX_NS   (INT64_C(10) * JM_NS_PER_S)
#define TAIL_MAX_NS     (INT64_C(200) * JM_NS_PER_MS) /* nobody waits for a mean over a second */
#define STUCK_PERIODS   5
#define COST_SHARE      50 /* a slow sensor may take 1/50 of the time */
#define HISTORY_PERIODS 5  /* of a ring's samples from before the start */

void jm__channel_init(jm__channel *channel, bool buffered, bool has_ring, bool main_power, int64_t now_ns,
                      int64_t ring_period_ns)
{
    const jm_sensor *row = &channel->row;
    channel->due_ns = now_ns;
    channel->power = main_power || row->quantity == JM_QUANTITY_ENERGY;
    if (buffered) {
        channel->way = JM_CHANNEL_BUFFERED;
        channel->every_ns = ring_period_ns;
        channel->ring.period_ns = row->period_ns > 0 ? row->period_ns : POLL_NS;
        channel->ring.late_stamps = jm__sensor_stamps_late(row);
        channel->ring.from_ns = now_ns - HISTORY_PERIODS * channel->ring.period_ns;
        return;
    }
    channel->tick.period_ns = row->period_ns;
    if (row->quantity == JM_QUANTITY_ENERGY && row->period_ns >= COUNTER_SLOW_NS) {
        channel->way = JM_CHANNEL_COUNTER;
        channel->every_ns = COUNTER_NS;
        return;
    }
    channel->way = JM_CHANNEL_POLLED;
    channel->ticked = main_power && !has_ring && row->quantity == JM_QUANTITY_POWER && row->period_ns > 0;
    channel->every_ns = row->quantity == JM_QUANTITY_POWER_LIMIT ? LIMIT_NS : POLL_NS;
    if (row->quantity == JM_QUANTITY_UTIL_GPU || row->quantity == JM_QUANTITY_UTIL_MEMORY)
        channel->every_ns = row->period_ns > POLL_NS ? row->period_ns : POLL_NS;
    /* Not a whole share of the period: polls then fall on ever new places of it, which narrows the tick. */
    if (channel->ticked) channel->every_ns = row->period_ns * 19 / 100;
    if (channel->ticked && channel->every_ns < POLL_MIN_NS) channel->every_ns = POLL_MIN_NS;
}

static void event_send(const jm__channel *channel, const jm__channel_context *context, jm_event_kind kind,
                       int64_t t_ns, double value, const char *text)
{
    jm__event event = {.kind = kind, .t_ns = t_ns, .board_id = channel->board_id, .value = value};
    snprintf(event.text, sizeof event.text, "%s", text);
    context->sink->event(context->sink->context, &event);
}

static void reading_send(jm__channel *channel, const jm__channel_context *context, int64_t t_ns, double value)
{
    if (t_ns <= channel->emitted_ns) t_ns = channel->emitted_ns + 1; /* time only goes on */
    jm_reading reading = {channel->sensor_id, t_ns, value};
    channel->emitted_ns = t_ns;
    context->sink->readings(context->sink->context, &reading, 1);
}

static void gap_send(const jm__channel *channel, const jm__channel_context *context, int64_t t_ns,
                     int64_t gap_ns)
{
    char text[160];
    snprintf(text, sizeof text, "%s: no readings for %.1f ms", channel->row.name,
             (double)gap_ns / (double)JM_NS_PER_MS);
    event_send(channel, context, JM_EVENT_GAP, t_ns, (double)gap_ns, text);
}

/* Buffered: everything new since the last read. */
static void buffered_take(jm__channel *channel, jm__channel_context *context)
{
    jm__ring_result *result = &context->result;
    jm__anchor anchor = jm__anchor_take();
    jm__ring_stream_push(&channel->ring, &context->samples, &anchor, channel->sensor_id, result);
    if (result->count > 0) {
        context->sink->readings(context->sink->context, result->readings, result->count);
        channel->emitted_ns = result->readings[result->count - 1].t_ns;
    }
    for (size_t i = 0; i < result->gap_count; i++)
        gap_send(channel, context, result->gaps[i].t_ns, result->gaps[i].gap_ns);
    if (result->step_ns != 0)
        event_send(channel, context, JM_EVENT_CLOCK_STEP, anchor.monotonic_ns, (double)result->step_ns,
                   "the board's time stamps jumped; they were put back on their grid");
    channel->fresh_ns = jm__ring_stream_fresh_ns(&channel->ring);
    channel->due_ns = anchor.monotonic_ns + channel->every_ns;
    if (channel->edge_ns != 0 && channel->fresh_ns >= channel->edge_ns) channel->edge_ns = 0;
    /* Hurried: what is wanted needs its right neighbour, which needs two periods more. */
    if (channel->edge_ns != 0) channel->due_ns = anchor.monotonic_ns + channel->ring.period_ns;
}

/* The board's main power sensor where there is no ring: a reading at each update. */
static void ticked_take(jm__channel *channel, jm__channel_context *context, const jm__sample *sample)
{
    int64_t low_ns, high_ns;
    bool changed = channel->has_value && sample->value != channel->value;
    int64_t last_ns = channel->emitted_ns;
    if (changed) {
        reading_send(channel, context, jm__tick_observe(&channel->tick, channel->value_ns, sample->t_ns),
                     sample->value);
    } else if (jm__tick_next(&channel->tick, channel->emitted_ns + channel->tick.period_ns / 2, &low_ns,
                             &high_ns) &&
               high_ns + channel->tick.period_ns / 4 < sample->t_ns) {
        /* Updated to the same value: it is too late for a change that only shows late. */
        reading_send(channel, context, low_ns + (high_ns - low_ns) / 2, sample->value);
    } else if (!channel->has_value) {
        reading_send(channel, context, sample->t_ns, sample->value);
    }
    int64_t missing_ns = channel->emitted_ns - last_ns - channel->tick.period_ns;
    if (last_ns != 0 && missing_ns >= 2 * channel->tick.period_ns)
        gap_send(channel, context, last_ns, missing_ns);
    channel->fresh_ns = channel->emitted_ns + 1;
}

static void throttle_note(const jm__channel *channel, const jm__channel_context *context,
                          const jm__sample *sample)
{
    /* Idle (bit 0) and the clocks that somebody asked for (bit 1) hold nothing back. */
    const uint64_t ignored = 0x3;
    uint64_t before = channel->has_value ? (uint64_t)channel->value & ~ignored : 0;
    uint64_t now = (uint64_t)sample->value & ~ignored;
    if (now == before) return;
    char text[96];
    snprintf(text, sizeof text, now == 0 ? "no longer throttled" : "throttled, reasons 0x%llx",
             (unsigned long long)now);
    event_send(channel, context, JM_EVENT_THROTTLE, sample->t_ns, (double)now, text);
}

static bool reset_note(const jm__channel *channel, const jm__channel_context *context,
                       const jm__sample *sample)
{
    if (!channel->has_value || sample->value >= channel->value) return false;
    char text[160];
    snprintf(text, sizeof text, "%s fell from %.3f J to %.3f J: energy between the two is not in it",
             channel->row.name, channel->value, sample->value);
    event_send(channel, context, JM_EVENT_COUNTER_RESET, sample->t_ns, channel->value, text);
    return true;
}

static void polled_take(jm__channel *channel, jm__channel_context *context)
{
    const jm__sample *sample = &context->samples.items[0];
    if (context->samples.count == 0) return;
    if (channel->row.quantity == JM_QUANTITY_THROTTLE) throttle_note(channel, context, sample);
    if (channel->row.quantity == JM_QUANTITY_ENERGY) (void)reset_note(channel, context, sample);
    if (channel->ticked) {
        ticked_take(channel, context, sample);
    } else {
        reading_send(channel, context, sample->t_ns, sample->value);
        channel->fresh_ns = sample->t_ns + 1;
    }
    channel->has_value = true;
    channel->value = sample->value;
    channel->value_ns = sample->t_ns;
    if (channel->edge_ns != 0 && channel->fresh_ns >= channel->edge_ns) channel->edge_ns = 0;
}

/* The search for a counter's tick is over: rest until the next round. */
static void counter_rest(jm__channel *channel, int64_t now_ns)
{
    channel->search_ns = 0;
    channel->due_ns = now_ns + channel->every_ns;
    /* Begin shortly before a tick that is known, for two reads instead of twenty. */
    int64_t low_ns, high_ns;
    if (jm__tick_next(&channel->tick, channel->due_ns, &low_ns, &high_ns))
        channel->due_ns = low_ns - channel->row.read_cost_ns - COUNTER_STEP_NS;
}

static void stuck_note(const jm__channel *channel, const jm__channel_context *context, int64_t t_ns)
{
    char text[160];
    snprintf(text, sizeof text, "%s: it stands still%s", channel->row.name,
             channel->tick.known ? "; it is left out until it moves again"
                                 : ", so its readings are stamped with the time they were read");
    event_send(channel, context, JM_EVENT_SENSOR_FAILED, t_ns, 0, text);
}

static void counter_take(jm__channel *channel, jm__channel_context *context, int64_t begin_ns)
{
    const jm__sample *sample = &context->samples.items[0];
    int64_t now_ns = jm__now_ns();
    if (context->samples.count == 0) return;
    if (channel->search_ns == 0) channel->search_ns = begin_ns;
    bool reset = reset_note(channel, context, sample);
    bool changed = channel->has_value && sample->value != channel->value;
    /* Only a change between two reads of one search dates a tick; a reset is no tick. */
    bool dated = changed && !reset && channel->value_ns >= channel->search_ns;
    bool first = !channel->has_value;
    int64_t low_ns = channel->value_ns;
    channel->has_value = true;
    channel->value = sample->value;
    channel->value_ns = begin_ns;
    channel->due_ns = now_ns + COUNTER_STEP_NS;
    if (dated) {
        channel->stuck = false;
        reading_send(channel, context, jm__tick_observe(&channel->tick, low_ns, now_ns), sample->value);
        channel->fresh_ns = channel->emitted_ns + 1;
        if (channel->edge_ns == 0 || channel->emitted_ns >= channel->edge_ns) {
            channel->edge_ns = 0;
            counter_rest(channel, now_ns);
        }
    } else if (now_ns - channel->search_ns > STUCK_PERIODS * channel->tick.period_ns) {
        if (!channel->stuck && !first) stuck_note(channel, context, now_ns);
        channel->stuck = true;
        /* One that has moved before has failed: what it says would take energy for nothing. */
        if (!channel->tick.known) reading_send(channel, context, sample->t_ns, sample->value);
        channel->edge_ns = 0;
        counter_rest(channel, now_ns);
    }
}

static void failure_note(jm__channel *channel, const jm__channel_context *context, const jm_error *err)
{
    int64_t now_ns = jm__now_ns();
    if (channel->failures++ == 0) {
        char text[256];
        snprintf(text, sizeof text, "%.240s", err->text);
        event_send(channel, context, JM_EVENT_SENSOR_FAILED, now_ns, (double)err->code, text);
    }
    int64_t wait_ns = channel->every_ns << (channel->failures < 8 ? channel->failures : 8);
    channel->due_ns = now_ns + (wait_ns < FAILED_MAX_NS ? wait_ns : FAILED_MAX_NS);
    channel->edge_ns = 0; /* nobody waits for a sensor that fails */
    channel->search_ns = 0;
}

jm_status jm__channel_serve(jm__channel *channel, jm__channel_context *context, jm_error *err)
{
    int64_t begin_ns = jm__now_ns();
    jm_status status =
        jm__devices_read(context->devices, channel->board, channel->sensor, &context->samples, err);
    int64_t took_ns = jm__now_ns() - begin_ns;
    context->cost->calls++;
    context->cost->call_ns += took_ns;
    if (status == JM_DEVICE_LOST) return status;
    if (status != JM_OK) {
        failure_note(channel, context, err);
        return JM_OK;
    }
    channel->failures = 0;
    if (channel->way == JM_CHANNEL_BUFFERED) {
        buffered_take(channel, context);
        return JM_OK;
    }
    if (channel->way == JM_CHANNEL_COUNTER) {
        counter_take(channel, context, begin_ns);
        return JM_OK;
    }
    polled_take(channel, context);
    /* On multiples of its own distance: channels of one distance then share a wake-up. */
    int64_t now_ns = begin_ns + took_ns;
    channel->due_ns =
        channel->ticked ? begin_ns + channel->every_ns : (now_ns / channel->every_ns + 1) * channel->every_ns;
    if (channel->due_ns < now_ns + COST_SHARE * took_ns && took_ns > JM_NS_PER_MS)
        channel->due_ns = now_ns + COST_SHARE * took_ns;
    return JM_OK;
}

/* How long a sensor still tells of what happened at one instant. */
static int64_t tail_ns(const jm_sensor *row)
{
    int64_t length_ns = row->lag_ns + row->window_ns + 3 * row->tau_ns;
    return length_ns < TAIL_MAX_NS ? length_ns : TAIL_MAX_NS;
}

void jm__channel_hurry(jm__channel *channel, int64_t wanted_ns, bool edge)
{
    if (!channel->power || channel->failures > 0) return;
    if (channel->way == JM_CHANNEL_COUNTER && !edge) return;
    int64_t edge_ns = wanted_ns + tail_ns(&channel->row);
    if (channel->edge_ns < edge_ns) channel->edge_ns = edge_ns;
    int64_t low_ns, high_ns;
    int64_t due_ns = jm__now_ns();
    /* A counter whose tick is known is only asked around it. */
    if (channel->way == JM_CHANNEL_COUNTER && channel->search_ns == 0 &&
        jm__tick_next(&channel->tick, edge_ns, &low_ns, &high_ns) &&
        low_ns - channel->row.read_cost_ns - COUNTER_STEP_NS > due_ns)
        due_ns = low_ns - channel->row.read_cost_ns - COUNTER_STEP_NS;
    if (channel->way == JM_CHANNEL_COUNTER && channel->search_ns != 0) return; /* already at it */
    channel->due_ns = due_ns;
}
