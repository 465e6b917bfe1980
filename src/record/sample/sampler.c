/* The sampler: its boards and sensors, its thread and schedule, fork, and the end. */
#include "record/sample/sampler.h"

#include "base/clock.h"
#include "base/plain.h"
#include "base/status.h"
#include "base/thread.h"
#include "format/rows/rows.h"
#include "format/rows/sensor_role.h"
#include "record/sample/inventory.h"
#include "record/sample/stamps.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- a channel: one sensor while it is sampled: when it is due, how it is read, what it has cost
 *
 * Three modes:
 *   buffered  everything since the last read (the ring), once a second;
 *   polled    one value at regular times. `ticked` ones are the board's main power sensor if it has no
 *             ring: polled five times a period and stamped with the instant of their update;
 *   counter   an energy counter with slow updates: read near its update only, on request and every few
 *             seconds. */

typedef enum channel_mode { CHANNEL_BUFFERED, CHANNEL_POLLED, CHANNEL_COUNTER } channel_mode;

typedef struct sampled_channel {
    size_t board, sensor; /* indices in jm__devices */
    jm_sensor row;        /* with the sink's ids */
    channel_mode mode;
    bool ticked;
    bool power;              /* main power sensor or counter: determines how fresh the recording is */
    bool only_energy_source; /* counter: the board has no power sensor */
    int64_t every_ns;        /* distance of reads */
    int64_t due_ns;          /* CLOCK_MONOTONIC */
    int64_t born_ns;         /* begin of sampling */
    int64_t fresh_ns;        /* all its readings before this time were sent */
    int64_t failures;        /* consecutive */
    jm__ring_stream ring;
    jm__tick tick;
    bool has_value;
    double value;       /* last read */
    int64_t value_ns;   /* its time */
    int64_t changed_ns; /* ticked: time of the last change */
    int64_t emitted_ns; /* stamp of the last reading */
    int64_t edge_ns;    /* counter: a reading updated after this time is requested; 0: none */
    int64_t search_ns;  /* counter: begin of the search for its update; 0: no search */
    bool moved;         /* counter: its value changed in this search */
    bool stuck;         /* reported as not changing */
    bool blurred;       /* counter: reported as having updates that cannot be dated */
} sampled_channel;

typedef struct sampled_board {
    int64_t id;
    bool lost;
    int64_t retry_ns;
    int64_t pause_ns;          /* the pause before retry_ns */
    int64_t lost_ns;           /* time of the last loss or failed retry */
    sampled_channel *channels; /* its part of the sampler's */
    size_t channel_count;
    char users[256]; /* processes that use it */
} sampled_board;

struct jm__sampler {
    jm_inventory *inventory;
    jm__sampler_sink sink;
    sampled_board *boards;
    size_t board_count;
    sampled_channel *channels;
    size_t channel_count;
    jm__devices *devices;
    jm__samples samples;    /* the last read */
    jm__ring_result result; /* its new readings */
    int64_t ring_period_ns; /* between reads of rings */
    bool begun;             /* the first edge readings were taken */
    jm__anchor anchor;      /* the newest one */
    int64_t anchor_due_ns;
    int64_t users_due_ns;
    pid_t owner; /* in a forked child the sampler has no thread */

    pthread_t thread;
    bool thread_runs;
    pthread_mutex_t lock; /* protects the following members up to the atomics */
    pthread_cond_t wake;  /* wakes the thread for a request */
    pthread_cond_t done;  /* wakes waiters when an edge is done */
    int64_t kick_ns, kick_edge_ns;
    int64_t stop_ns; /* 0: not stopping */
    bool edge_awaited;

    _Atomic int64_t fresh_ns;
    _Atomic int64_t cpu_ns, calls, call_ns;
};

#define POLL_NS     (INT64_C(100) * JM_NS_PER_MS)
#define POLL_MIN_NS (INT64_C(4) * JM_NS_PER_MS)
#define LIMIT_NS    (INT64_C(5) * JM_NS_PER_S)
#define COUNTER_NS  (INT64_C(5) * JM_NS_PER_S) /* with a ring */
/* With a sensor that covers some of the time, and with only a mean over a second. A read costs 6 ms of driver
 * time. */
#define COUNTER_OFTEN_NS      (INT64_C(1) * JM_NS_PER_S)
#define COUNTER_MOST_OFTEN_NS (INT64_C(500) * JM_NS_PER_MS)
#define SEARCH_STEP_NS        (INT64_C(4) * JM_NS_PER_MS)
#define COUNTER_SLOW_NS       (INT64_C(20) * JM_NS_PER_MS) /* slower updates are awaited */
#define FAILED_MAX_NS         (INT64_C(10) * JM_NS_PER_S)
#define TAIL_MAX_NS           (INT64_C(200) * JM_NS_PER_MS) /* longer tails are not awaited */
#define STUCK_PERIODS         5
#define SHARP_DIVISOR         4  /* an update is dated within a quarter of the period if possible, */
#define BLURRED_DIVISOR       2  /* and not at all if it takes more than half */
#define SILENT_PERIODS        10 /* a ring whose newest sample is older is silent */
#define SAME_PERIODS          10 /* a polled power sensor with one value for longer may be stuck */
#define COST_SHARE            50 /* a slow sensor may take 1/50 of the time, */
#define MAIN_COST_SHARE       2  /* or half of it if the board has no better one */
#define HISTORY_PERIODS       5  /* samples of a ring from before the start */

/* Sets how often a counter is read: the more often, the lower the rank of the board's best power sensor. */
static void channel_back_up(sampled_channel *channel, int best_rank)
{
    if (channel->mode != CHANNEL_COUNTER) return;
    channel->every_ns = best_rank == JM_RANK_RING     ? COUNTER_NS
                        : best_rank > JM_RANK_AVERAGE ? COUNTER_OFTEN_NS
                                                      : COUNTER_MOST_OFTEN_NS;
    int64_t due_ns = jm__now_ns() + channel->every_ns;
    if (channel->search_ns == 0 && channel->due_ns > due_ns) channel->due_ns = due_ns;
}

/* Makes it the main power sensor, at the start or after the previous one became silent. */
static void channel_promote(sampled_channel *channel)
{
    const jm_sensor *row = &channel->row;
    channel->power = true;
    if (channel->mode != CHANNEL_POLLED || row->quantity != JM_QUANTITY_POWER || row->period_ns == 0) return;
    channel->ticked = true;
    channel->changed_ns = jm__now_ns();
    /* Not an integer fraction of the period: polls then hit different phases, which narrows the update. */
    channel->every_ns = row->period_ns * 19 / 100;
    if (channel->every_ns < POLL_MIN_NS) channel->every_ns = POLL_MIN_NS;
    channel->due_ns = jm__now_ns();
}

/* Sets mode and schedule. `best_rank`: of the board's working power sensors; `main_power`: this is that
 * sensor. */
static void channel_init(sampled_channel *channel, bool buffered, int best_rank, bool main_power,
                         int64_t now_ns, int64_t ring_period_ns)
{
    const jm_sensor *row = &channel->row;
    channel->due_ns = channel->born_ns = now_ns;
    channel->power = main_power || row->quantity == JM_QUANTITY_ENERGY;
    if (buffered) {
        channel->mode = CHANNEL_BUFFERED;
        channel->every_ns = ring_period_ns;
        channel->ring.period_ns = row->period_ns > 0 ? row->period_ns : POLL_NS;
        channel->ring.from_ns = now_ns - HISTORY_PERIODS * channel->ring.period_ns;
        return;
    }
    channel->tick.period_ns = row->period_ns;
    if (row->quantity == JM_QUANTITY_ENERGY && row->period_ns >= COUNTER_SLOW_NS) {
        channel->mode = CHANNEL_COUNTER;
        channel->only_energy_source = best_rank == JM_RANK_NONE;
        channel_back_up(channel, best_rank);
        return;
    }
    channel->mode = CHANNEL_POLLED;
    channel->every_ns = row->quantity == JM_QUANTITY_POWER_LIMIT ? LIMIT_NS : POLL_NS;
    if (row->quantity == JM_QUANTITY_UTIL_GPU || row->quantity == JM_QUANTITY_UTIL_MEMORY)
        channel->every_ns = row->period_ns > POLL_NS ? row->period_ns : POLL_NS;
    if (main_power) channel_promote(channel);
}

/* It fails or has no new samples, so its readings are not awaited. */
static bool channel_is_silent(const sampled_channel *channel)
{
    return channel->failures > 0 || (channel->mode == CHANNEL_BUFFERED && channel->stuck);
}

__attribute__((format(printf, 6, 7))) static void send_event(const jm__sampler *sampler, jm_event_kind kind,
                                                             int64_t board_id, int64_t t_ns, double value,
                                                             const char *format, ...)
{
    jm__event event = {.kind = kind, .t_ns = t_ns, .board_id = board_id, .value = value};
    va_list args;
    va_start(args, format);
    jm__vprint(event.text, sizeof event.text, format, args);
    va_end(args);
    sampler->sink.event(sampler->sink.context, &event);
}

static void reading_send(sampled_channel *channel, const jm__sampler *sampler, int64_t t_ns, double value)
{
    if (t_ns <= channel->emitted_ns) t_ns = channel->emitted_ns + 1; /* stamps of a sensor increase */
    jm_reading reading = {channel->row.id, t_ns, value};
    channel->emitted_ns = t_ns;
    sampler->sink.readings(sampler->sink.context, &reading, 1);
}

static void gap_send(const sampled_channel *channel, const jm__sampler *sampler, int64_t t_ns, int64_t gap_ns)
{
    send_event(sampler, JM_EVENT_GAP, channel->row.board_id, t_ns, (double)gap_ns,
               "%s: no readings for %.1f ms", channel->row.name, (double)gap_ns / (double)JM_NS_PER_MS);
}

/* Reports a ring without new samples, once. */
static void silence_note(sampled_channel *channel, const jm__sampler *sampler, int64_t now_ns)
{
    int64_t newest_ns = channel->ring.started ? channel->ring.last_ns : channel->born_ns;
    bool silent = sampler->result.count == 0 && now_ns - newest_ns > SILENT_PERIODS * channel->ring.period_ns;
    if (silent && !channel->stuck)
        send_event(sampler, JM_EVENT_SENSOR_FAILED, channel->row.board_id, now_ns, 0,
                   "%s: it has had nothing new for %.0f ms", channel->row.name,
                   (double)(now_ns - newest_ns) / (double)JM_NS_PER_MS);
    channel->stuck = silent;
}

/* Buffered: sends all new samples. */
static void buffered_take(sampled_channel *channel, jm__sampler *sampler)
{
    jm__ring_result *result = &sampler->result;
    jm__anchor anchor = jm__anchor_take();
    jm__ring_stream_push(&channel->ring, &sampler->samples, &anchor, channel->row.id, result);
    if (result->count > 0) {
        sampler->sink.readings(sampler->sink.context, result->readings, result->count);
        channel->emitted_ns = result->readings[result->count - 1].t_ns;
    }
    for (size_t i = 0; i < result->gap_count; i++)
        gap_send(channel, sampler, result->gaps[i].t_ns, result->gaps[i].gap_ns);
    if (result->step_ns != 0)
        send_event(sampler, JM_EVENT_CLOCK_STEP, channel->row.board_id, anchor.monotonic_ns,
                   (double)result->step_ns,
                   "the board's time stamps jumped; they were put back on their grid");
    channel->fresh_ns = jm__ring_stream_fresh_ns(&channel->ring);
    silence_note(channel, sampler, anchor.monotonic_ns);
    channel->due_ns = anchor.monotonic_ns + (channel->stuck ? POLL_NS : channel->every_ns);
    if (channel->edge_ns != 0 && (channel->fresh_ns >= channel->edge_ns || channel->stuck))
        channel->edge_ns = 0;
    /* On request: the requested samples may be a period or two away. */
    if (channel->edge_ns != 0) channel->due_ns = anchor.monotonic_ns + channel->ring.period_ns;
}

/* Reports, once, power that does not change in its last digit for so long: the sensor is probably stuck. */
static void same_note(sampled_channel *channel, const jm__sampler *sampler, int64_t t_ns, bool changed)
{
    if (changed) {
        channel->changed_ns = t_ns;
        channel->stuck = false;
        return;
    }
    if (channel->stuck || t_ns - channel->changed_ns < SAME_PERIODS * channel->tick.period_ns) return;
    channel->stuck = true;
    send_event(sampler, JM_EVENT_SENSOR_FAILED, channel->row.board_id, t_ns, 0,
               "%s: it has said the same for %.1f s, to the last digit: it may stand still",
               channel->row.name, (double)(t_ns - channel->changed_ns) / (double)JM_NS_PER_S);
}

/* The main power sensor of a board without a ring: a reading per update. */
static void ticked_take(sampled_channel *channel, jm__sampler *sampler, const jm__sample *sample)
{
    int64_t low_ns, high_ns;
    bool changed = channel->has_value && sample->value != channel->value;
    int64_t last_ns = channel->emitted_ns;
    same_note(channel, sampler, sample->t_ns, changed || !channel->has_value);
    if (changed) {
        reading_send(channel, sampler, jm__tick_observe(&channel->tick, channel->value_ns, sample->t_ns),
                     sample->value);
    } else if (jm__tick_next(&channel->tick, channel->emitted_ns + channel->tick.period_ns / 2, &low_ns,
                             &high_ns) &&
               high_ns + channel->tick.period_ns / 4 < sample->t_ns) {
        /* It was updated to the same value: a change would have been visible by now. */
        reading_send(channel, sampler, low_ns + (high_ns - low_ns) / 2, sample->value);
    } else if (!channel->has_value) {
        reading_send(channel, sampler, sample->t_ns, sample->value);
    }
    int64_t missing_ns = channel->emitted_ns - last_ns - channel->tick.period_ns;
    if (last_ns != 0 && missing_ns >= 2 * channel->tick.period_ns)
        gap_send(channel, sampler, last_ns, missing_ns);
    channel->fresh_ns = channel->emitted_ns + 1;
}

/* Until an update was seen nothing is known of when they come: the first readings would be dated within a
 * fifth of the period, and those are of the time in which the program begins. */
static int64_t ticked_every_ns(const sampled_channel *channel)
{
    bool search = !channel->tick.known && !channel->stuck && channel->every_ns > SEARCH_STEP_NS;
    return search ? SEARCH_STEP_NS : channel->every_ns;
}

/* Ignores idle (bit 0) and requested clocks (bit 1), which do not throttle. All 64 bits, the value of a
 * broken sensor, are 2^64 as a double, which fits no integer. */
static uint64_t throttle_reasons(double value)
{
    const uint64_t ignored = 0x3;
    return (value < 0x1p64 ? (uint64_t)value : UINT64_MAX) & ~ignored;
}

static void throttle_note(const sampled_channel *channel, const jm__sampler *sampler,
                          const jm__sample *sample)
{
    uint64_t before = channel->has_value ? throttle_reasons(channel->value) : 0,
             now = throttle_reasons(sample->value);
    if (now == before) return;
    send_event(sampler, JM_EVENT_THROTTLE, channel->row.board_id, sample->t_ns, (double)now,
               now == 0 ? "no longer throttled" : "throttled, reasons 0x%llx", (unsigned long long)now);
}

/* Reports a counter that fell, or rose faster than any board can draw. */
static bool break_note(const sampled_channel *channel, const jm__sampler *sampler, const jm__sample *sample)
{
    if (!channel->has_value) return false;
    double step_j = sample->value - channel->value;
    double seconds = (double)(sample->t_ns - channel->value_ns) / (double)JM_NS_PER_S;
    if (step_j >= 0 && step_j <= JM_BOARD_MOST_W * (seconds + 1)) return false;
    send_event(sampler, JM_EVENT_COUNTER_RESET, channel->row.board_id, sample->t_ns, channel->value,
               "%s %s from %.3f J to %.3f J: energy between the two is not in it", channel->row.name,
               step_j < 0 ? "fell" : "jumped", channel->value, sample->value);
    return true;
}

static void polled_take(sampled_channel *channel, jm__sampler *sampler)
{
    const jm__sample *sample = &sampler->samples.items[0];
    if (sampler->samples.count == 0) return;
    if (channel->row.quantity == JM_QUANTITY_THROTTLE) throttle_note(channel, sampler, sample);
    if (channel->row.quantity == JM_QUANTITY_ENERGY) (void)break_note(channel, sampler, sample);
    if (channel->ticked) {
        ticked_take(channel, sampler, sample);
    } else {
        reading_send(channel, sampler, sample->t_ns, sample->value);
        channel->fresh_ns = sample->t_ns + 1;
    }
    channel->has_value = true;
    channel->value = sample->value;
    channel->value_ns = sample->t_ns;
    if (channel->edge_ns != 0 && channel->fresh_ns >= channel->edge_ns) channel->edge_ns = 0;
}

/* Ends the search for a counter's update until the next round. */
static void counter_rest(sampled_channel *channel, int64_t now_ns)
{
    channel->search_ns = 0;
    channel->due_ns = now_ns + channel->every_ns;
    /* A known update is approached shortly before: two reads instead of twenty. */
    int64_t low_ns, high_ns;
    if (jm__tick_next(&channel->tick, channel->due_ns, &low_ns, &high_ns))
        channel->due_ns = low_ns - channel->row.read_cost_ns - SEARCH_STEP_NS;
}

static void counter_note(const sampled_channel *channel, const jm__sampler *sampler, int64_t t_ns,
                         const char *what)
{
    send_event(sampler, JM_EVENT_SENSOR_FAILED, channel->row.board_id, t_ns, 0, "%s: %s%s", channel->row.name,
               what,
               channel->only_energy_source ? ", so its readings are stamped with the time they were read"
                                           : "; it is left out until that changes");
}

/* The search found no update, or none that can be dated: a guess is used only if the board has no power
 * sensor. */
static void counter_give_up(sampled_channel *channel, const jm__sampler *sampler, bool moved, int64_t now_ns)
{
    const jm__sample *sample = &sampler->samples.items[0];
    bool *is_reported = moved ? &channel->blurred : &channel->stuck;
    if (!*is_reported)
        counter_note(channel, sampler, now_ns,
                     moved ? "reads take too long to date its updates" : "it stands still");
    *is_reported = true;
    if (channel->only_energy_source) reading_send(channel, sampler, sample->t_ns, sample->value);
    channel->edge_ns = 0;
    counter_rest(channel, now_ns);
}

/* A change between two reads dates an update. */
static void counter_change(sampled_channel *channel, const jm__sampler *sampler, int64_t low_ns,
                           int64_t now_ns, bool late)
{
    const jm__sample *sample = &sampler->samples.items[0];
    channel->moved = true;
    if (now_ns - low_ns >= channel->tick.period_ns) return; /* several updates may lie in between */
    int64_t t_ns = jm__tick_observe(&channel->tick, low_ns, now_ns);
    int64_t width_ns = channel->tick.high_ns - channel->tick.low_ns;
    if (width_ns > channel->tick.period_ns / (late ? BLURRED_DIVISOR : SHARP_DIVISOR))
        return; /* the next one may be dated better */
    channel->stuck = channel->blurred = false;
    reading_send(channel, sampler, t_ns, sample->value);
    channel->fresh_ns = channel->emitted_ns + 1;
    if (channel->edge_ns != 0 && channel->emitted_ns < channel->edge_ns) return;
    channel->edge_ns = 0;
    counter_rest(channel, now_ns);
}

static void counter_take(sampled_channel *channel, jm__sampler *sampler, int64_t begin_ns)
{
    const jm__sample *sample = &sampler->samples.items[0];
    int64_t now_ns = jm__now_ns();
    if (sampler->samples.count == 0) return;
    if (channel->search_ns == 0) {
        channel->search_ns = begin_ns;
        channel->moved = false;
    }
    bool broke = break_note(channel, sampler, sample);
    /* Only a change between two reads of one search dates an update; a reset does not. */
    bool dated = channel->has_value && sample->value != channel->value && !broke &&
                 channel->value_ns >= channel->search_ns;
    int64_t low_ns = channel->value_ns;
    bool late = now_ns - channel->search_ns > STUCK_PERIODS * channel->tick.period_ns;
    channel->has_value = true;
    channel->value = sample->value;
    channel->value_ns = begin_ns;
    channel->due_ns = now_ns + SEARCH_STEP_NS;
    if (dated) counter_change(channel, sampler, low_ns, now_ns, late);
    if (late && channel->search_ns != 0) counter_give_up(channel, sampler, channel->moved, now_ns);
}

static void failure_note(sampled_channel *channel, const jm__sampler *sampler, const jm_error *err)
{
    int64_t now_ns = jm__now_ns();
    if (channel->failures++ == 0)
        send_event(sampler, JM_EVENT_SENSOR_FAILED, channel->row.board_id, now_ns, (double)err->code,
                   "%.240s", err->text);
    /* Retry soon at first: a ring still has the missed samples. */
    int64_t wait_ns = POLL_NS << (channel->failures < 8 ? channel->failures - 1 : 7);
    channel->due_ns = now_ns + (wait_ns < FAILED_MAX_NS ? wait_ns : FAILED_MAX_NS);
    channel->edge_ns = 0; /* failed sensors are not awaited */
    channel->search_ns = 0;
}

/* Reads a channel, sends its readings, sets its next due time. DEVICE_LOST is returned with `err`; other
 * errors become events. */
static jm_status channel_serve(sampled_channel *channel, jm__sampler *sampler, jm_error *err)
{
    int64_t begin_ns = jm__now_ns();
    jm_status status =
        jm__devices_read(sampler->devices, channel->board, channel->sensor, &sampler->samples, err);
    int64_t took_ns = jm__now_ns() - begin_ns;
    sampler->calls++;
    sampler->call_ns += took_ns;
    if (status == JM_DEVICE_LOST) return status;
    if (status != JM_OK) {
        failure_note(channel, sampler, err);
        return JM_OK;
    }
    channel->failures = 0;
    if (channel->mode == CHANNEL_BUFFERED) {
        buffered_take(channel, sampler);
        return JM_OK;
    }
    if (channel->mode == CHANNEL_COUNTER) {
        counter_take(channel, sampler, begin_ns);
        return JM_OK;
    }
    polled_take(channel, sampler);
    /* At multiples of the distance, so that channels with one distance share a wake-up. */
    int64_t now_ns = begin_ns + took_ns;
    channel->due_ns = channel->ticked ? begin_ns + ticked_every_ns(channel)
                                      : (now_ns / channel->every_ns + 1) * channel->every_ns;
    int64_t rest_ns = (channel->ticked ? MAIN_COST_SHARE - 1 : COST_SHARE) * took_ns;
    if (channel->due_ns < now_ns + rest_ns && took_ns > JM_NS_PER_MS) channel->due_ns = now_ns + rest_ns;
    return JM_OK;
}

/* For how long after an instant a sensor still depends on it. */
static int64_t tail_ns(const jm_sensor *row)
{
    int64_t length_ns = row->lag_ns + row->window_ns + 3 * row->tau_ns;
    return length_ns < TAIL_MAX_NS ? length_ns : TAIL_MAX_NS;
}

/* Requests fresh readings: all that depend on the time up to `requested_ns`, and with `edge` a counter
 * reading updated after it. */
static void channel_hurry(sampled_channel *channel, int64_t requested_ns, bool edge)
{
    if (!channel->power) return;
    if (channel->mode == CHANNEL_COUNTER && !edge) return;
    if (channel_is_silent(channel)) { /* it may work again, but is not awaited */
        channel->due_ns = jm__now_ns();
        return;
    }
    int64_t edge_ns = requested_ns + tail_ns(&channel->row);
    if (channel->edge_ns < edge_ns) channel->edge_ns = edge_ns;
    int64_t low_ns, high_ns;
    int64_t due_ns = jm__now_ns();
    /* A counter with a known update is read around it. */
    if (channel->mode == CHANNEL_COUNTER && channel->search_ns == 0 &&
        jm__tick_next(&channel->tick, edge_ns, &low_ns, &high_ns) &&
        low_ns - channel->row.read_cost_ns - SEARCH_STEP_NS > due_ns)
        due_ns = low_ns - channel->row.read_cost_ns - SEARCH_STEP_NS;
    if (channel->mode == CHANNEL_COUNTER && channel->search_ns != 0) return; /* a search is running */
    channel->due_ns = due_ns;
}

#define REST_NS    (INT64_C(1) * JM_NS_PER_S)    /* longest sleep of the thread */
#define SILENCE_NS (INT64_C(3) * JM_NS_PER_S)    /* a sensor that is silent for longer is not awaited */
#define FIRST_NS   (INT64_C(700) * JM_NS_PER_MS) /* longest wait for the first edge readings */
#define LAST_NS    (INT64_C(900) * JM_NS_PER_MS) /* longest wait for the last ones */
/* How soon a lost board is tried again, while a ring may still have the missed samples; later less often. */
#define RETRY_NS      (INT64_C(100) * JM_NS_PER_MS)
#define RETRY_MOST_NS (INT64_C(2) * JM_NS_PER_S)
#define USERS_NS      (INT64_C(10) * JM_NS_PER_S) /* period of looking for processes on the boards */

static bool is_forked(const jm__sampler *sampler)
{
    return sampler->owner != getpid();
}

/* ---- boards: on the thread, or before it exists ---- */

static const jm_sensor *ring_of(const jm_inventory *inventory, size_t board)
{
    for (size_t i = 0; i < jm_inventory_sensor_count(inventory, board); i++) {
        const jm_sensor *sensor = jm_inventory_sensor(inventory, board, i);
        if (jm__sensor_is(sensor, JM_SENSOR_POWER_RING)) return sensor;
    }
    return NULL;
}

/* The best working power sensor; NULL: none (RAPL has only a counter). */
static const jm_sensor *main_power(const jm_inventory *inventory, size_t board)
{
    const jm_sensor *best = NULL;
    int best_rank = JM_RANK_NONE;
    for (size_t i = 0; i < jm_inventory_sensor_count(inventory, board); i++) {
        const jm_sensor *sensor = jm_inventory_sensor(inventory, board, i);
        if (sensor->missing[0] != '\0' || jm__sensor_rank(sensor) <= best_rank) continue;
        best = sensor;
        best_rank = jm__sensor_rank(sensor);
    }
    return best;
}

static void report_fallback(const jm__sampler *sampler, size_t board, int64_t board_id, const jm_sensor *best)
{
    const jm_sensor *ring = ring_of(sampler->inventory, board);
    if (ring == NULL || ring == best) return;
    send_event(sampler, JM_EVENT_SENSOR_FAILED, board_id, jm__now_ns(), 0,
               "no %.40s (%.100s): power comes from %.40s", ring->name, ring->missing,
               best == NULL ? "the energy counter alone" : best->name);
}

/* Passes a board and its sensors to the sink; working sensors become channels. */
static void announce_board(jm__sampler *sampler, size_t number, int64_t now_ns)
{
    jm_inventory *inventory = sampler->inventory;
    const jm_sensor *best = main_power(inventory, number);
    int best_rank = best == NULL ? JM_RANK_NONE : jm__sensor_rank(best);
    jm_board row = *jm_inventory_board(inventory, number);
    sampled_board *board = &sampler->boards[number];
    row.id = sampler->sink.board(sampler->sink.context, &row);
    board->id = row.id;
    board->channels = &sampler->channels[sampler->channel_count];
    if (row.id < 0) return;
    report_fallback(sampler, number, row.id, best);
    for (size_t i = 0; i < jm_inventory_sensor_count(inventory, number); i++) {
        const jm_sensor *sensor = jm_inventory_sensor(inventory, number, i);
        jm_sensor sensor_row = *sensor;
        sensor_row.board_id = row.id;
        sensor_row.id = sampler->sink.sensor(sampler->sink.context, &sensor_row);
        if (sensor_row.id < 0 || sensor_row.missing[0] != '\0') continue;
        sampled_channel *channel = &board->channels[board->channel_count++];
        *channel = (sampled_channel){.board = number, .sensor = i, .row = sensor_row};
        bool buffered = jm__devices_sensor(sampler->devices, number, i)->buffered;
        channel_init(channel, buffered, best_rank, sensor == best, now_ns, sampler->ring_period_ns);
    }
    sampler->channel_count += board->channel_count;
}

/* The error for a machine without boards, with NVML's reason. */
static jm_status fail_without_board(const jm_inventory *inventory, jm_error *err)
{
    const jm__findings *findings = jm__devices_findings(jm__inventory_devices(inventory));
    const char *detail = "no back end found one";
    for (size_t i = findings->count; i-- > 0;) {
        const jm_finding *finding = &findings->items[i];
        /* A missing single call ("NVML: nvmlDevice...") is not the reason. */
        if (!finding->works && strchr(finding->subject, ':') == NULL) detail = finding->detail;
    }
    return jm__fail(err, JM_NO_DEVICE, 0, "", "no GPU to read on this machine: %s", detail);
}

static void board_lose(jm__sampler *sampler, sampled_board *board, const jm_error *err)
{
    if (!board->lost)
        send_event(sampler, JM_EVENT_BOARD_LOST, board->id, jm__now_ns(), (double)err->code, "%.240s",
                   err->text);
    /* A flapping board is tried as rarely as a missing one. */
    int64_t now_ns = jm__now_ns();
    bool flapping = board->pause_ns != 0 && now_ns - board->lost_ns < 2 * RETRY_MOST_NS;
    board->pause_ns = flapping ? 2 * board->pause_ns : RETRY_NS;
    if (board->pause_ns > RETRY_MOST_NS) board->pause_ns = RETRY_MOST_NS;
    board->lost = true;
    board->lost_ns = now_ns;
    board->retry_ns = now_ns + board->pause_ns;
    for (size_t i = 0; i < board->channel_count; i++)
        board->channels[i].edge_ns = board->channels[i].search_ns = 0;
}

static void board_regain(jm__sampler *sampler, sampled_board *board)
{
    board->lost = false;
    send_event(sampler, JM_EVENT_BOARD_BACK, board->id, jm__now_ns(), 0, "it answers again");
    for (size_t i = 0; i < board->channel_count; i++)
        board->channels[i].due_ns = jm__now_ns();
}

/* Replaces a main power sensor that became silent by the best remaining one. */
static void power_replace(const sampled_board *board)
{
    sampled_channel *best = NULL;
    for (size_t i = 0; i < board->channel_count; i++) {
        sampled_channel *channel = &board->channels[i];
        int rank = jm__sensor_rank(&channel->row);
        if (rank == JM_RANK_NONE || channel_is_silent(channel)) continue;
        if (best == NULL || rank > jm__sensor_rank(&best->row)) best = channel;
    }
    if (best != NULL && !best->power) channel_promote(best);
    for (size_t i = 0; i < board->channel_count; i++)
        channel_back_up(&board->channels[i], best == NULL ? JM_RANK_NONE : jm__sensor_rank(&best->row));
}

/* Reads a due channel; its board may be lost or come back. */
static void serve(jm__sampler *sampler, sampled_channel *channel)
{
    bool was_silent = channel_is_silent(channel);
    jm_error err;
    sampled_board *board = &sampler->boards[channel->board];
    bool edge_requested = channel->mode == CHANNEL_COUNTER && channel->edge_ns != 0;
    jm_status status = channel_serve(channel, sampler, &err);
    if (status == JM_DEVICE_LOST) {
        board_lose(sampler, board, &err);
        return;
    }
    if (board->lost) board_regain(sampler, board);
    if (channel->power && !was_silent && channel_is_silent(channel)) power_replace(board);
    /* A counter was read at an edge: the power up to there is needed to separate the energy beyond the edge.
     * At the start the next ring read covers it anyway. */
    bool edge_was_read = sampler->begun && edge_requested && channel->edge_ns == 0;
    for (size_t i = 0; i < board->channel_count && edge_was_read; i++)
        channel_hurry(&board->channels[i], channel->emitted_ns, false);
}

/* From time to time: records which processes use a board. */
static void record_users(jm__sampler *sampler)
{
    if (!sampler->begun || jm__now_ns() < sampler->users_due_ns) return;
    sampler->users_due_ns = jm__now_ns() + USERS_NS;
    for (size_t i = 0; i < sampler->board_count; i++) {
        sampled_board *board = &sampler->boards[i];
        char users[sizeof board->users];
        if (board->id < 0 || board->lost) continue;
        jm__board_users(users, sizeof users, sampler->devices, i);
        if (strcmp(users, board->users) == 0) continue;
        memcpy(board->users, users, sizeof board->users);
        send_event(sampler, JM_EVENT_PROCESSES, board->id, jm__now_ns(), 0, "%s", users);
    }
}

/* ---- the thread ---- */

/* Takes an anchor, and reports steps of CLOCK_REALTIME once; rings detect them in their own stamps. */
static void anchor_take(jm__sampler *sampler)
{
    jm__anchor before = sampler->anchor;
    jm__anchor now = jm__anchor_take();
    int64_t step_ns = (now.realtime_ns - now.monotonic_ns) - (before.realtime_ns - before.monotonic_ns);
    sampler->anchor = now;
    sampler->anchor_due_ns = now.monotonic_ns + JM_NS_PER_S;
    sampler->sink.anchor(sampler->sink.context, &now);
    if (before.monotonic_ns != 0 && llabs(step_ns) > JM_CLOCK_STEP_NS)
        send_event(sampler, JM_EVENT_CLOCK_STEP, 0, jm__now_ns(), (double)step_ns, "CLOCK_REALTIME was set");
}

/* Reads due channels, rings first since their samples expire after some seconds. A lost board is tried
 * through its first channel only. Returns when the next one is due. */
static int64_t due_serve(jm__sampler *sampler)
{
    int64_t next_ns = jm__now_ns() + REST_NS;
    if (sampler->anchor_due_ns <= jm__now_ns()) anchor_take(sampler);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < sampler->channel_count; i++) {
            sampled_channel *channel = &sampler->channels[i];
            sampled_board *board = &sampler->boards[channel->board];
            if ((channel->mode == CHANNEL_BUFFERED) != (pass == 0)) continue;
            if (board->lost && channel != board->channels) continue;
            const int64_t *due_ns = board->lost ? &board->retry_ns : &channel->due_ns;
            if (*due_ns <= jm__now_ns()) serve(sampler, channel);
        }
    }
    for (size_t i = 0; i < sampler->channel_count; i++) {
        const sampled_channel *channel = &sampler->channels[i];
        const sampled_board *board = &sampler->boards[channel->board];
        int64_t due_ns = board->lost ? board->retry_ns : channel->due_ns;
        if (due_ns < next_ns) next_ns = due_ns;
    }
    return sampler->anchor_due_ns < next_ns ? sampler->anchor_due_ns : next_ns;
}

/* Requests that are not fulfilled yet. */
typedef struct awaited {
    bool edge;    /* an energy reading after the last request */
    bool reading; /* any reading that depends on the time before it */
} awaited;

/* The time before which all power and energy readings were sent. */
static int64_t fresh_find(const jm__sampler *sampler, awaited *pending)
{
    int64_t now_ns = jm__now_ns();
    int64_t fresh_ns = now_ns;
    int64_t silence_ns = SILENCE_NS + 2 * sampler->ring_period_ns;
    pending->edge = pending->reading = false;
    for (size_t i = 0; i < sampler->channel_count; i++) {
        const sampled_channel *channel = &sampler->channels[i];
        if (!channel->power || channel_is_silent(channel) || sampler->boards[channel->board].lost) continue;
        bool energy = channel->row.quantity == JM_QUANTITY_ENERGY;
        if (channel->edge_ns != 0) pending->reading = true;
        if (channel->edge_ns != 0 && energy) pending->edge = true;
        int64_t to_ns = now_ns;
        if (channel->mode == CHANNEL_BUFFERED || channel->ticked) to_ns = channel->fresh_ns;
        if (channel->mode == CHANNEL_COUNTER && channel->search_ns != 0) to_ns = channel->value_ns;
        if (to_ns < now_ns - silence_ns) continue;
        if (to_ns < fresh_ns) fresh_ns = to_ns;
    }
    return fresh_ns;
}

static void state_publish(jm__sampler *sampler, awaited *pending)
{
    struct timespec cpu;
    int64_t fresh_ns = fresh_find(sampler, pending);
    if (!pending->edge && fresh_ns > atomic_load(&sampler->fresh_ns))
        atomic_store(&sampler->fresh_ns, fresh_ns);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    atomic_store(&sampler->cpu_ns, cpu.tv_sec * JM_NS_PER_S + cpu.tv_nsec);
}

static void wait_until(jm__sampler *sampler, pthread_cond_t *condition, int64_t t_ns)
{
    struct timespec until = {t_ns / JM_NS_PER_S, t_ns % JM_NS_PER_S};
    (void)pthread_cond_timedwait(condition, &sampler->lock, &until);
}

/* Passes new requests to the channels. Called with the lock. */
static void take_requests(jm__sampler *sampler)
{
    if (sampler->kick_ns == 0 && sampler->kick_edge_ns == 0) return;
    for (size_t i = 0; i < sampler->channel_count; i++) {
        sampled_channel *channel = &sampler->channels[i];
        if (sampler->boards[channel->board].lost) continue;
        if (sampler->kick_ns != 0) channel_hurry(channel, sampler->kick_ns, false);
        if (sampler->kick_edge_ns != 0) channel_hurry(channel, sampler->kick_edge_ns, true);
    }
    sampler->kick_ns = sampler->kick_edge_ns = 0;
}

/* The sampler's thread. Processes on boards are first looked for after the first readings, which nothing may
 * delay. */
static void *thread_main(void *argument)
{
    jm__sampler *sampler = argument;
    pthread_mutex_lock(&sampler->lock);
    for (;;) {
        awaited pending;
        take_requests(sampler);
        pthread_mutex_unlock(&sampler->lock);
        int64_t next_ns = due_serve(sampler);
        record_users(sampler);
        state_publish(sampler, &pending);
        pthread_mutex_lock(&sampler->lock);
        bool requested = sampler->kick_ns != 0 || sampler->kick_edge_ns != 0;
        if (!requested && !pending.edge && sampler->edge_awaited) {
            sampler->edge_awaited = false;
            sampler->begun = true;
            pthread_cond_broadcast(&sampler->done);
        }
        int64_t stop_ns = sampler->stop_ns;
        if (stop_ns != 0 && !requested) {
            bool complete = !pending.reading && atomic_load(&sampler->fresh_ns) >= stop_ns;
            if (complete || jm__now_ns() > stop_ns + LAST_NS) break;
        }
        if (!requested && next_ns > jm__now_ns()) wait_until(sampler, &sampler->wake, next_ns);
    }
    pthread_mutex_unlock(&sampler->lock);
    return NULL;
}

/* ---- public functions ---- */

static jm_status thread_start(jm__sampler *sampler, jm_error *err)
{
    int code = jm__thread_start(&sampler->thread, thread_main, sampler);
    if (code != 0)
        return jm__fail(err, JM_INTERNAL, code, "pthread_create", "the sampler's thread cannot start: %s",
                        strerror(code));
    pthread_setname_np(sampler->thread, "joulemap-sample");
    sampler->thread_runs = true;
    return JM_OK;
}

/* Waits for the first edge readings. Any update counts, since all relevant time comes later. */
static void first_edge_wait(jm__sampler *sampler, int64_t limit_ns)
{
    int64_t until_ns = jm__now_ns() + limit_ns;
    pthread_mutex_lock(&sampler->lock);
    sampler->kick_edge_ns = jm__now_ns() - JM_NS_PER_S;
    sampler->edge_awaited = true;
    pthread_cond_signal(&sampler->wake);
    while (sampler->edge_awaited && jm__now_ns() < until_ns)
        wait_until(sampler, &sampler->done, until_ns);
    pthread_mutex_unlock(&sampler->lock);
}

static jm_status locks_make(jm__sampler *sampler, jm_error *err)
{
    bool made = pthread_mutex_init(&sampler->lock, NULL) == 0 && jm__condition_init(&sampler->wake) == 0 &&
                jm__condition_init(&sampler->done) == 0;
    return made ? JM_OK
                : jm__fail(err, JM_INTERNAL, 0, "pthread_cond_init", "the sampler cannot make its locks");
}

jm_status jm__sampler_create(jm__sampler **out, const jm__sampler_options *options,
                             const jm__sampler_sink *sink, jm_error *err)
{
    *out = NULL;
    jm__sampler *sampler = calloc(1, sizeof *sampler);
    if (sampler == NULL) return jm__no_memory(err, "calloc");
    sampler->sink = *sink;
    sampler->owner = getpid();
    jm_status status = locks_make(sampler, err);
    if (status == JM_OK) status = jm__inventory_open(&sampler->inventory, &options->device, err);
    if (status != JM_OK) goto fail;
    sampler->board_count = jm_inventory_board_count(sampler->inventory);
    if (sampler->board_count == 0) {
        status = fail_without_board(sampler->inventory, err);
        goto fail;
    }
    sampler->boards = calloc(sampler->board_count, sizeof *sampler->boards);
    sampler->channels = calloc(sampler->board_count * JM_DEVICE_SENSORS_MAX, sizeof *sampler->channels);
    if (sampler->boards == NULL || sampler->channels == NULL) {
        status = jm__no_memory(err, "calloc");
        goto fail;
    }
    sampler->devices = jm__inventory_devices(sampler->inventory);
    sampler->ring_period_ns = options->ring_period_ns > 0 ? options->ring_period_ns : JM_NS_PER_S;
    for (size_t i = 0; i < sampler->board_count; i++)
        announce_board(sampler, i, jm__now_ns());
    const jm__findings *findings = jm__devices_findings(sampler->devices);
    for (size_t i = 0; i < findings->absent_count; i++) /* GPUs of the machine that are not recorded */
        send_event(sampler, JM_EVENT_BOARD_ABSENT, 0, jm__now_ns(), 0, "%s", findings->absent[i]);
    status = thread_start(sampler, err);
    if (status != JM_OK) goto fail;
    first_edge_wait(sampler, FIRST_NS);
    *out = sampler;
    return JM_OK;
fail:
    jm__sampler_free(sampler);
    return status;
}

void jm__sampler_kick(jm__sampler *sampler, bool edge)
{
    if (is_forked(sampler)) return;
    pthread_mutex_lock(&sampler->lock);
    sampler->kick_ns = jm__now_ns();
    if (edge) sampler->kick_edge_ns = sampler->kick_ns;
    pthread_cond_signal(&sampler->wake);
    pthread_mutex_unlock(&sampler->lock);
}

int64_t jm__sampler_fresh_ns(const jm__sampler *sampler)
{
    return atomic_load(&sampler->fresh_ns);
}

jm__sampler_cost jm__sampler_cost_get(const jm__sampler *sampler)
{
    return (jm__sampler_cost){atomic_load(&sampler->cpu_ns), atomic_load(&sampler->calls),
                              atomic_load(&sampler->call_ns)};
}

const jm_inventory *jm__sampler_inventory(const jm__sampler *sampler)
{
    return sampler->inventory;
}

void jm__sampler_stop(jm__sampler *sampler)
{
    if (sampler == NULL || is_forked(sampler) || !sampler->thread_runs) return;
    pthread_mutex_lock(&sampler->lock);
    sampler->stop_ns = sampler->kick_ns = sampler->kick_edge_ns = jm__now_ns();
    pthread_cond_signal(&sampler->wake);
    pthread_mutex_unlock(&sampler->lock);
    pthread_join(sampler->thread, NULL);
    sampler->thread_runs = false;
}

void jm__sampler_free(jm__sampler *sampler)
{
    if (sampler == NULL) return;
    jm__sampler_stop(sampler);
    /* In a forked child, threads of the parent may hold NVML's locks: leave it alone. */
    if (!is_forked(sampler)) {
        jm_inventory_free(sampler->inventory);
        pthread_cond_destroy(&sampler->done);
        pthread_cond_destroy(&sampler->wake);
        pthread_mutex_destroy(&sampler->lock);
    }
    free(sampler->channels);
    free(sampler->boards);
    free(sampler);
}
