/* Hardware counters of a run's boards: a helper process per board, and a thread that controls the helpers and
 * passes their samples to the run.
 *
 * No thread of the program ever waits for a board, a driver or the disk here. Failures are reported once;
 * everything else goes on. */
#ifndef JM_RECORD_COUNTERS_SOURCE_H
#define JM_RECORD_COUNTERS_SOURCE_H

#include "base/status.h"
#include "format/rows/rows.h"
#include "record/counters/duty_cycle.h"

#define JM_COUNTER_BOARDS_MAX 64
/* With at most this many boards, all helpers start with the run, so that the first second of the program is
 * sampled. With more, a helper starts when its board has kernels. */
#define JM_COUNTER_BOARDS_AT_ONCE 8

/* Receives rows, on the source's thread. Rows are borrowed for the call. */
typedef struct jm__counter_sink {
    void *context;
    int64_t (*set)(void *context, const jm__counter_set *set); /* its id; negative: refused */
    void (*block)(void *context, const jm__counter_block *block);
    void (*event)(void *context, const jm__event *event);
    void (*fact)(void *context, const char *key, const char *value); /* for `meta` */
} jm__counter_sink;

typedef struct jm__counter_options {
    double seconds_a_minute; /* see duty_cycle.h */
    bool requested;          /* explicitly, not by default: then every obstacle is reported */
    bool traced;             /* kernels are reported; else a board counts as always busy */
    const char *sim;         /* the profile of simulated boards */
    const char *run_dir;     /* for the simulated board */
    const char *command;     /* for tests; NULL: joulemap-counters beside this library */
} jm__counter_options;

typedef struct jm__counter_source jm__counter_source;

/* Skips boards without a UUID and boards that are no GPUs. `out` is NULL if none is left. */
jm_status jm__counter_source_create(jm__counter_source **out, const jm__counter_options *options,
                                    const jm_board *boards, size_t count, const jm__counter_sink *sink,
                                    jm_error *err);

/* Rows of the run, from one thread of it: names before their marks, streams before their kernels. NULL is
 * allowed. */
void jm__counter_source_name(jm__counter_source *source, int64_t name_id, const char *text);
void jm__counter_source_mark(jm__counter_source *source, const jm__mark *mark);
void jm__counter_source_stream(jm__counter_source *source, const jm__stream *stream);
void jm__counter_source_kernels(jm__counter_source *source, const jm__kernel *kernels, size_t count);

/* Stops sampling; remaining samples arrive within a second. Returns at once. */
void jm__counter_source_stop(jm__counter_source *source);

/* Waits at most that second, ends the helpers, frees. NULL is allowed. */
void jm__counter_source_free(jm__counter_source *source);

#endif
