/* One sensor while it is sampled: when it is due, how it is read, what it has cost.
 *
 * A channel belongs to the sampler's thread. Three ways to read:
 *   buffered  everything the board kept since the last read (the ring), once a second;
 *   polled    one value every so often; `ticked` ones are the board's main power sensor where there is no
 *             ring: polled five times a period and stamped with the instant of their update;
 *   counter   an energy counter of slow update: read around its tick only, on request and every few seconds.
 */
#ifndef JM_RECORD_SAMPLE_CHANNEL_H
#define JM_RECORD_SAMPLE_CHANNEL_H

#include "record/sample/ring_stream.h"
#include "record/sample/sampler_sink.h"
#include "record/sample/tick.h"

typedef enum jm__channel_way { JM_CHANNEL_BUFFERED, JM_CHANNEL_POLLED, JM_CHANNEL_COUNTER } jm__channel_way;

typedef struct jm__channel {
    size_t board, sensor; /* numbers in jm__devices */
    int64_t sensor_id;    /* the sink's */
    int64_t board_id;
    jm_sensor row;
    jm__channel_way way;
    bool ticked;
    bool power;       /* main power sensor or counter: counts for how fresh the recording is */
    bool lone;        /* counter: nothing else tells of the board's energy */
    int64_t every_ns; /* how often it is read */
    int64_t due_ns;   /* CLOCK_MONOTONIC */
    int64_t born_ns;  /* when sampling began */
    int64_t fresh_ns; /* all its readings before this time are out */
    int64_t failures; /* reads in a row */
    jm__ring_stream ring;
    jm__tick tick;
    bool has_value;
    double value;       /* last read */
    int64_t value_ns;   /* when */
    int64_t changed_ns; /* ticked: when it last changed */
    int64_t emitted_ns; /* stamp of the last reading */
    int64_t edge_ns;    /* counter: a reading updated after this time is wanted; 0: none */
    int64_t search_ns;  /* counter: when the search for its tick began; 0: it rests */
    bool moved;         /* counter: it has, in this search */
    bool stuck;         /* already told that it stands still */
    bool blurred;       /* counter: already told that its updates cannot be dated */
} jm__channel;

/* What a channel needs of its sampler. */
typedef struct jm__channel_context {
    jm__devices *devices;
    const jm__sampler_sink *sink;
    jm__samples samples;
    jm__ring_result result;
    int64_t ring_period_ns; /* between reads of rings */
    jm__sampler_cost *cost; /* calls and call_ns are added to */
} jm__channel_context;

/* Fill in way and schedule. `best_rank`: of the power sensors of the board that work; `main_power`: this is
 * the one. */
void jm__channel_init(jm__channel *channel, bool buffered, int best_rank, bool main_power, int64_t now_ns,
                      int64_t ring_period_ns);

/* Read, hand over, set the next due time. DEVICE_LOST is passed on with `err`; other errors are an event
 * here. */
jm_status jm__channel_serve(jm__channel *channel, jm__channel_context *context, jm_error *err);

/* The board's main power sensor is silent: this one takes its place. */
void jm__channel_promote(jm__channel *channel);

/* The rank of the best power sensor that the board still has: the worse, the more often its counter is read.
 */
void jm__channel_back_up(jm__channel *channel, int best_rank);

/* It fails, or has nothing new to say: nobody waits for it. */
bool jm__channel_is_silent(const jm__channel *channel);

/* Fresh readings are wanted: all that tell of the time up to `wanted_ns`, of counters (with `edge`) one
 * updated after it. */
void jm__channel_hurry(jm__channel *channel, int64_t wanted_ns, bool edge);

#endif
