/* Reading one sensor by its schedule. */
#include "record/sample/channel.h"

#include "base/plain.h"
#include "format/rows/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POLL_NS     (INT64_C(100) * JM_NS_PER_MS)
#define POLL_MIN_NS (INT64_C(4) * JM_NS_PER_MS)
#define LIMIT_NS    (INT64_C(5) * JM_NS_PER_S)
#define COUNTER_NS  (INT64_C(5) * JM_NS_PER_S) /* beside a ring; */
/* beside a sensor that sees some of the time, and where there is no more than a mean over a second: 6 ms of
 * the driver's time each */
#define COUNTER_OFTEN_NS      (INT64_C(1) * JM_NS_PER_S)
#define COUNTER_MOST_OFTEN_NS (INT64_C(500) * JM_NS_PER_MS)
#define COUNTER_STEP_NS       (INT64_C(4) * JM_NS_PER_MS)
#define COUNTER_SLOW_NS       (INT64_C(20) * JM_NS_PER_MS) /* updated more rarely than this: wait for the tick */
#define FAILED_MAX_NS         (INT64_C(10) * JM_NS_PER_S)
#define TAIL_MAX_NS           (INT64_C(200) * JM_NS_PER_MS) /* nobody waits for a mean over a second */
#define STUCK_PERIODS         5
#define SHARP_DIVISOR         4  /* a counter's update is dated well within a quarter of its period, */
#define BLURRED_DIVISOR       2  /* and not at all beyond half of it */
#define SILENT_PERIODS        10 /* a ring whose newest sample is older has nothing new to say */
#define SAME_PERIODS          10 /* a polled power sensor that says the same for longer */
#define COST_SHARE            50 /* a slow sensor may take 1/50 of the time, */
#define MAIN_COST_SHARE       2  /* and half of it if the board has no better */
#define HISTORY_PERIODS       5  /* of a ring's samples from before the start */

void jm__channel_init(jm__channel *channel, bool buffered, int best_rank, bool main_power, int64_t now_ns,
                      int64_t ring_period_ns)
{
    const jm_sensor *row = &channel->row;
    channel->due_ns = channel->born_ns = now_ns;
    channel->power = main_power || row->quantity == JM_QUANTITY_ENERGY;
    if (buffered) {
        channel->way = JM_CHANNEL_BUFFERED;
        channel->every_ns = ring_period_ns;
        channel->ring.period_ns = row->period_ns > 0 ? row->period_ns : POLL_NS;
        channel->ring.from_ns = now_ns - HISTORY_PERIODS * channel->ring.period_ns;
        return;
    }
    channel->tick.period_ns = row->period_ns;
    if (row->quantity == JM_QUANTITY_ENERGY && row->period_ns >= COUNTER_SLOW_NS) {
        channel->way = JM_CHANNEL_COUNTER;
        channel->lone = best_rank == JM_RANK_NONE;
        jm__channel_back_up(channel, best_rank);
        return;
    }
    channel->way = JM_CHANNEL_POLLED;
    channel->every_ns = row->quantity == JM_QUANTITY_POWER_LIMIT ? LIMIT_NS : POLL_NS;
    if (row->quantity == JM_QUANTITY_UTIL_GPU || row->quantity == JM_QUANTITY_UTIL_MEMORY)
        channel->every_ns = row->period_ns > POLL_NS ? row->period_ns : POLL_NS;
    if (main_power) jm__channel_promote(channel);
}

void jm__channel_back_up(jm__channel *channel, int best_rank)
{
    if (channel->way != JM_CHANNEL_COUNTER) return;
    channel->every_ns = best_rank == JM_RANK_RING     ? COUNTER_NS
                        : best_rank > JM_RANK_AVERAGE ? COUNTER_OFTEN_NS
                                                      : COUNTER_MOST_OFTEN_NS;
    int64_t due_ns = jm__now_ns() + channel->every_ns;
    if (channel->search_ns == 0 && channel->due_ns > due_ns) channel->due_ns = due_ns;
}

void jm__channel_promote(jm__channel *channel)
{
    const jm_sensor *row = &channel->row;
    channel->power = true;
    if (channel->way != JM_CHANNEL_POLLED || row->quantity != JM_QUANTITY_POWER || row->period_ns == 0)
        return;
    channel->ticked = true;
    channel->changed_ns = jm__now_ns();
    /* Not a whole share of the period: polls then fall on ever new places of it, which narrows the tick. */
    channel->every_ns = row->period_ns * 19 / 100;
    if (channel->every_ns < POLL_MIN_NS) channel->every_ns = POLL_MIN_NS;
    channel->due_ns = jm__now_ns();
}

bool jm__channel_is_silent(const jm__channel *channel)
{
    return channel->failures > 0 || (channel->way == JM_CHANNEL_BUFFERED && channel->stuck);
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
    jm__print(text, sizeof text, "%s: no readings for %.1f ms", channel->row.name,
              (double)gap_ns / (double)JM_NS_PER_MS);
    event_send(channel, context, JM_EVENT_GAP, t_ns, (double)gap_ns, text);
}

/* A ring that answers, but with nothing new: told once. */
static void silence_note(jm__channel *channel, const jm__channel_context *context, int64_t now_ns)
{
    int64_t newest_ns = channel->ring.started ? channel->ring.last_ns : channel->born_ns;
    bool silent = context->result.count == 0 && now_ns - newest_ns > SILENT_PERIODS * channel->ring.period_ns;
    if (silent && !channel->stuck) {
        char text[160];
        jm__print(text, sizeof text, "%s: it has had nothing new for %.0f ms", channel->row.name,
                  (double)(now_ns - newest_ns) / (double)JM_NS_PER_MS);
        event_send(channel, context, JM_EVENT_SENSOR_FAILED, now_ns, 0, text);
    }
    channel->stuck = silent;
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
    silence_note(channel, context, anchor.monotonic_ns);
    channel->due_ns = anchor.monotonic_ns + (channel->stuck ? POLL_NS : channel->every_ns);
    if (channel->edge_ns != 0 && (channel->fresh_ns >= channel->edge_ns || channel->stuck))
        channel->edge_ns = 0;
    /* Hurried: what is wanted may be a period or two away. */
    if (channel->edge_ns != 0) channel->due_ns = anchor.monotonic_ns + channel->ring.period_ns;
}

/* Power that stays the same to the last digit for so long is rather a sensor that stands still: told once. */
static void same_note(jm__channel *channel, const jm__channel_context *context, int64_t t_ns, bool changed)
{
    if (changed) {
        channel->changed_ns = t_ns;
        channel->stuck = false;
        return;
    }
    if (channel->stuck || t_ns - channel->changed_ns < SAME_PERIODS * channel->tick.period_ns) return;
    channel->stuck = true;
    char text[160];
    jm__print(text, sizeof text, "%s: it has said the same for %.1f s, to the last digit: it may stand still",
              channel->row.name, (double)(t_ns - channel->changed_ns) / (double)JM_NS_PER_S);
    event_send(channel, context, JM_EVENT_SENSOR_FAILED, t_ns, 0, text);
}

/* The board's main power sensor where there is no ring: a reading at each update. */
static void ticked_take(jm__channel *channel, jm__channel_context *context, const jm__sample *sample)
{
    int64_t low_ns, high_ns;
    bool changed = channel->has_value && sample->value != channel->value;
    int64_t last_ns = channel->emitted_ns;
    same_note(channel, context, sample->t_ns, changed || !channel->has_value);
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

/* Idle (bit 0) and the clocks that somebody asked for (bit 1) hold nothing back. All 64 bits set, as a broken
 * sensor answers, is 2^64 as a double, which no integer holds. */
static uint64_t throttle_reasons(double value)
{
    const uint64_t ignored = 0x3;
    return (value < 0x1p64 ? (uint64_t)value : UINT64_MAX) & ~ignored;
}

static void throttle_note(const jm__channel *channel, const jm__channel_context *context,
                          const jm__sample *sample)
{
    uint64_t before = channel->has_value ? throttle_reasons(channel->value) : 0,
             now = throttle_reasons(sample->value);
    if (now == before) return;
    char text[96];
    snprintf(text, sizeof text, now == 0 ? "no longer throttled" : "throttled, reasons 0x%llx",
             (unsigned long long)now);
    event_send(channel, context, JM_EVENT_THROTTLE, sample->t_ns, (double)now, text);
}

/* What no energy leads to: the counter fell, or rose faster than any board draws. */
static bool break_note(const jm__channel *channel, const jm__channel_context *context,
                       const jm__sample *sample)
{
    if (!channel->has_value) return false;
    double step_j = sample->value - channel->value;
    double seconds = (double)(sample->t_ns - channel->value_ns) / (double)JM_NS_PER_S;
    if (step_j >= 0 && step_j <= JM_BOARD_MOST_W * (seconds + 1)) return false;
    char text[160];
    jm__print(text, sizeof text, "%s %s from %.3f J to %.3f J: energy between the two is not in it",
              channel->row.name, step_j < 0 ? "fell" : "jumped", channel->value, sample->value);
    event_send(channel, context, JM_EVENT_COUNTER_RESET, sample->t_ns, channel->value, text);
    return true;
}

static void polled_take(jm__channel *channel, jm__channel_context *context)
{
    const jm__sample *sample = &context->samples.items[0];
    if (context->samples.count == 0) return;
    if (channel->row.quantity == JM_QUANTITY_THROTTLE) throttle_note(channel, context, sample);
    if (channel->row.quantity == JM_QUANTITY_ENERGY) (void)break_note(channel, context, sample);
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

static void counter_note(const jm__channel *channel, const jm__channel_context *context, int64_t t_ns,
                         const char *what)
{
    char text[200];
    snprintf(text, sizeof text, "%s: %s%s", channel->row.name, what,
             channel->lone ? ", so its readings are stamped with the time they were read"
                           : "; it is left out until that changes");
    event_send(channel, context, JM_EVENT_SENSOR_FAILED, t_ns, 0, text);
}

/* The search found no update, or none whose time is known: the board has better than a guess, if it can. */
static void counter_give_up(jm__channel *channel, const jm__channel_context *context, bool moved,
                            int64_t now_ns)
{
    const jm__sample *sample = &context->samples.items[0];
    bool *told = moved ? &channel->blurred : &channel->stuck;
    if (!*told)
        counter_note(channel, context, now_ns,
                     moved ? "reads take too long to tell when it was updated" : "it stands still");
    *told = true;
    if (channel->lone) reading_send(channel, context, sample->t_ns, sample->value);
    channel->edge_ns = 0;
    counter_rest(channel, now_ns);
}

/* A change of the counter between two reads dates an update. */
static void counter_change(jm__channel *channel, const jm__channel_context *context, int64_t low_ns,
                           int64_t now_ns, bool late)
{
    const jm__sample *sample = &context->samples.items[0];
    channel->moved = true;
    if (now_ns - low_ns >= channel->tick.period_ns) return; /* which of several updates? */
    int64_t t_ns = jm__tick_observe(&channel->tick, low_ns, now_ns);
    int64_t width_ns = channel->tick.high_ns - channel->tick.low_ns;
    if (width_ns > channel->tick.period_ns / (late ? BLURRED_DIVISOR : SHARP_DIVISOR))
        return; /* the next may be seen better */
    channel->stuck = channel->blurred = false;
    reading_send(channel, context, t_ns, sample->value);
    channel->fresh_ns = channel->emitted_ns + 1;
    if (channel->edge_ns != 0 && channel->emitted_ns < channel->edge_ns) return;
    channel->edge_ns = 0;
    counter_rest(channel, now_ns);
}

static void counter_take(jm__channel *channel, jm__channel_context *context, int64_t begin_ns)
{
    const jm__sample *sample = &context->samples.items[0];
    int64_t now_ns = jm__now_ns();
    if (context->samples.count == 0) return;
    if (channel->search_ns == 0) {
        channel->search_ns = begin_ns;
        channel->moved = false;
    }
    bool broke = break_note(channel, context, sample);
    /* Only a change between two reads of one search dates an update; a break is none. */
    bool dated = channel->has_value && sample->value != channel->value && !broke &&
                 channel->value_ns >= channel->search_ns;
    int64_t low_ns = channel->value_ns;
    bool late = now_ns - channel->search_ns > STUCK_PERIODS * channel->tick.period_ns;
    channel->has_value = true;
    channel->value = sample->value;
    channel->value_ns = begin_ns;
    channel->due_ns = now_ns + COUNTER_STEP_NS;
    if (dated) counter_change(channel, context, low_ns, now_ns, late);
    if (late && channel->search_ns != 0) counter_give_up(channel, context, channel->moved, now_ns);
}

static void failure_note(jm__channel *channel, const jm__channel_context *context, const jm_error *err)
{
    int64_t now_ns = jm__now_ns();
    if (channel->failures++ == 0) {
        char text[256];
        snprintf(text, sizeof text, "%.240s", err->text);
        event_send(channel, context, JM_EVENT_SENSOR_FAILED, now_ns, (double)err->code, text);
    }
    /* Soon at first: a ring still has what was missed. */
    int64_t wait_ns = POLL_NS << (channel->failures < 8 ? channel->failures - 1 : 7);
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
    int64_t rest_ns = (channel->ticked ? MAIN_COST_SHARE - 1 : COST_SHARE) * took_ns;
    if (channel->due_ns < now_ns + rest_ns && took_ns > JM_NS_PER_MS) channel->due_ns = now_ns + rest_ns;
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
    if (!channel->power) return;
    if (channel->way == JM_CHANNEL_COUNTER && !edge) return;
    if (jm__channel_is_silent(channel)) { /* perhaps it is back; nobody waits for it */
        channel->due_ns = jm__now_ns();
        return;
    }
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
