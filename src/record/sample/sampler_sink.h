/* Where the sampler's rows go. */
#ifndef JM_RECORD_SAMPLE_SAMPLER_SINK_H
#define JM_RECORD_SAMPLE_SAMPLER_SINK_H

#include "format/rows/rows.h"

/* Called from the sampler's thread, but for the calls made inside create and stop.
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

#endif
