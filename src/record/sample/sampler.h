/* The sampler: one thread that reads the boards and passes rows to a sink.
 *
 * It owns the inventory's open back ends while it runs. It never blocks the program. A board that fails is an
 * event, and is tried again from time to time. A forked child has no sampler: these functions do nothing
 * there. */
#ifndef JM_RECORD_SAMPLE_SAMPLER_H
#define JM_RECORD_SAMPLE_SAMPLER_H

#include "record/device/device.h"

/* Receives the rows, on the sampler's thread except for calls inside create and stop. `board` and `sensor`
 * return the id of the row (> 0); a negative one means that the sink refuses it, and the sampler continues
 * without. */
typedef struct jm__sampler_sink {
    void *context;
    int64_t (*board)(void *context, const jm_board *board);
    int64_t (*sensor)(void *context, const jm_sensor *sensor);
    void (*readings)(void *context, const jm_reading *readings, size_t count);
    void (*event)(void *context, const jm__event *event);
    void (*anchor)(void *context, const jm__anchor *anchor);
} jm__sampler_sink;

typedef struct jm__sampler jm__sampler;

typedef struct jm__sampler_options {
    jm__device_options device;
    int64_t ring_period_ns; /* 0: one second */
} jm__sampler_options;

/* Opens the boards, passes them to the sink, takes the first edge readings and starts the thread. */
jm_status jm__sampler_create(jm__sampler **out, const jm__sampler_options *options,
                             const jm__sampler_sink *sink, jm_error *err);

/* Requests an immediate read of the rings and, with `edge`, of the counters at their next update; returns at
 * once. jm__sampler_fresh_ns shows when it is done. */
void jm__sampler_kick(jm__sampler *sampler, bool edge);

/* All power and energy readings stamped before this time have reached the sink. Sensors that have been silent
 * for seconds do not count. */
int64_t jm__sampler_fresh_ns(const jm__sampler *sampler);

jm__sampler_cost jm__sampler_cost_get(const jm__sampler *sampler);
const jm_inventory *jm__sampler_inventory(const jm__sampler *sampler);

/* Takes the last edge readings and ends the thread. */
void jm__sampler_stop(jm__sampler *sampler);
void jm__sampler_free(jm__sampler *sampler);

#endif
