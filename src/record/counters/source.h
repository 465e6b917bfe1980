/* Hardware counters of a run's boards: a helper process a board, told when to sample, and a thread that hands
 * what they say to the run.
 *
 * Nothing here waits for a board, a driver or the disk in a thread of the program; what fails is said once,
 * and all else goes on. */
#ifndef JM_RECORD_COUNTERS_SOURCE_H
#define JM_RECORD_COUNTERS_SOURCE_H

#include "base/status.h"
#include "format/rows/rows.h"
#include "record/counters/duty_cycle.h"

#define JM_COUNTER_BOARDS_MAX 64
/* Boards whose helper starts with the run, so that the first second of a program is seen; of more of them,
 * those that kernels are seen on. */
#define JM_COUNTER_BOARDS_AT_ONCE 8

/* Where rows go, from the source's thread. Rows are borrowed for the call. */
typedef struct jm__counter_sink {
    void *context;
    int64_t (*set)(void *context, const jm__counter_set *set); /* its number; negative: refused */
    void (*block)(void *context, const jm__counter_block *block);
    void (*event)(void *context, const jm__event *event);
    void (*fact)(void *context, const char *key, const char *value); /* of the run */
} jm__counter_sink;

typedef struct jm__counter_options {
    double seconds_a_minute; /* duty.h */
    bool queried;            /* not by default: what stands in the way is told in any case */
    bool traced;             /* kernels are told; without, a board counts as busy all the time */
    const char *sim;         /* the profile of simulated boards */
    const char *run_dir;     /* for the simulated board */
    const char *command;     /* for tests; NULL: joulemap-counters beside this library */
} jm__counter_options;

typedef struct jm__counter_source jm__counter_source;

/* Boards without a UUID, and those that are no GPUs, are left out. NULL in `out`: none is left. */
jm_status jm__counter_source_create(jm__counter_source **out, const jm__counter_options *options,
                                    const jm_board *boards, size_t count, const jm__counter_sink *sink,
                                    jm_error *err);

/* Kernels ran; `board_of(context, stream_id)` is the number of its board in the recording, 0: not known. From
 * one thread of the run. */
void jm__counter_source_kernels(jm__counter_source *source, const jm__kernel *kernels, size_t count,
                                int64_t (*board_of)(const void *context, int64_t stream_id),
                                const void *context);

/* Kernels of that process run on that board of the recording: its turns are those of the board. */
void jm__counter_source_works(jm__counter_source *source, int64_t process_id, int64_t board_id);

/* jm__duty_cycle_tell_burst of the boards that the process works on; of all that are nobody's while none is
 * known.
 */
void jm__counter_source_burst(jm__counter_source *source, int64_t process_id, jm__duty_cycle_burst what,
                              int64_t t_ns);

/* The process has ended. */
void jm__counter_source_ended(jm__counter_source *source, int64_t process_id, int64_t t_ns);

/* Sampling ends; what helpers still hold comes within a second. Returns at once. */
void jm__counter_source_stop(jm__counter_source *source);

/* Wait for that second at most, end the helpers, free. NULL is fine. */
void jm__counter_source_free(jm__counter_source *source);

#endif
