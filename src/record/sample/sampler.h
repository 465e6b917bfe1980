/* The sampler: one thread that reads the boards and hands rows to a sink.
 *
 * It owns the inventory's open back ends while it runs. It never blocks the
 * program, survives a board that dies (an event, then that board is tried
 * again now and then), and is stopped by a pthread_atfork child handler's flag: a forked
 * child has no sampler. */
#ifndef JM_RECORD_SAMPLE_SAMPLER_H
#define JM_RECORD_SAMPLE_SAMPLER_H

#include "format/rows/rows.h"

/* Where its rows go. Called from the sampler's thread, but for the calls made inside create and stop.
 * `board` and `sensor` assign ids by returning them (> 0; a negative value
 * means that the sink cannot take it: the sampler goes on without). */
typedef struct jm__sampler_sink {
    void *context;
    int64_t (*board)(void *context, const jm_board *board);
    int64_t (*sensor)(void *context, const jm_sensor *sensor);
    void (*readings)(void *context, const jm_reading *readings, size_t count);
    void (*event)(void *context, const jm__event *event);
    void (*anchor)(void *context, int64_t monotonic_ns, int64_t realtime_ns);
} jm__sampler_sink;

typedef struct jm__sampler jm__sampler;

typedef struct jm__sampler_options {
    const char *sim;        /* see jm_inventory_create */
    bool no_cpu;            /* leave back ends of CPUs out */
    int64_t ring_period_ns; /* 0: one second */
    const char *run_dir;    /* for the simulated board: where live spans are, NULL: none */
    const char *truth_path; /* for the simulated board: where it writes what was true, NULL: nowhere */
} jm__sampler_options;

/* Opens the boards, tells the sink of them, takes the first edge readings and starts the thread. */
jm_status jm__sampler_create(jm__sampler **out, const jm__sampler_options *options,
                             const jm__sampler_sink *sink, jm_error *err);

/* Ask for an immediate read of the rings and (with `edge`) of the counters on
 * their tick; returns at once. jm__sampler_fresh_ns tells when it is done. */
void jm__sampler_kick(jm__sampler *sampler, bool edge);

/* All power and energy readings stamped before this time have reached the sink (of boards and sensors that
 * answer; what has been silent for seconds holds nothing up). */
int64_t jm__sampler_fresh_ns(const jm__sampler *sampler);

jm__sampler_cost jm__sampler_cost_get(const jm__sampler *sampler);
const jm_inventory *jm__sampler_inventory(const jm__sampler *sampler);

/* Last edge readings, end of the thread. */
void jm__sampler_stop(jm__sampler *sampler);
void jm__sampler_free(jm__sampler *sampler);

#endif
