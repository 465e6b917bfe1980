/* A recording, or a part of it, in memory: what attribution works on. */
#ifndef JM_FORMAT_DATASET_H
#define JM_FORMAT_DATASET_H

#include "format/rows/rows.h"
#include <joulemap/recording.h>

/* Where its kernels come from. They are many: they pass by, and nobody holds them all. What attribution needs
 * of one: how many bytes it moved stays in the file. */
typedef struct jm__kernel_run {
    int64_t start_ns;
    int64_t end_ns;
    int64_t class_id;
    int64_t stream_id;
    int64_t span_id;   /* innermost span of the thread that launched it, 0: none */
    int64_t launch_ns; /* when the API call that launched it began, -1: unknown */
    int64_t calls;     /* how many launches this row stands for, from 1 */
} jm__kernel_run;

/* Takes one; what is not JM_OK ends the pass and is what the pass returns. */
typedef jm_status (*jm__kernel_taker)(void *taker, const jm__kernel_run *kernel, jm_error *err);

/* Each pass gives the same kernels. `by_time`: sorted by start, which may cost a sort on disk; else as they
 * were written, which is nearly by time. BAD_DATA: the file is damaged. */
typedef struct jm__kernel_source {
    jm_status (*each)(void *context, bool by_time, jm__kernel_taker take, void *taker, jm_error *err);
    void *context;
} jm__kernel_source;

/* From the first start to the last end; `*earliest_ns` INT64_MAX if there is no kernel. A pass of its own. */
jm_status jm__kernels_bounds(const jm__kernel_source *source, int64_t *earliest_ns, int64_t *latest_ns,
                             jm_error *err);

/* Where its hardware counters come from. A day of them is a gigabyte: they pass by. */

/* Takes a block, which is sound and borrowed for the call; what is not JM_OK ends the pass and is what the
 * pass returns. */
typedef jm_status (*jm__counter_taker)(void *taker, const jm__counter_block *block, jm_error *err);

/* Sets by id, which is index + 1; blocks in the order in which they were written, which is by time for each
 * set. Each pass gives the same blocks, of a damaged file what it still gives. `each` may be NULL: there are
 * none. */
typedef struct jm__counter_source {
    const jm__counter_set *sets;
    size_t set_count;
    jm_status (*each)(void *context, jm__counter_taker take, void *taker, jm_error *err);
    void *context;
} jm__counter_source;

/* Arrays sorted by time (processes by id; boards, sensors, classes, streams by id, which is index + 1).
 * All texts live as long as the dataset. */
typedef struct jm__dataset {
    const jm_board *boards;
    size_t board_count;
    const jm_sensor *sensors;
    size_t sensor_count;
    const jm_reading *readings;
    size_t reading_count;
    const jm__process *processes;
    size_t process_count;
    const jm__span *spans;
    size_t span_count;
    const jm__kernel_class *classes;
    size_t class_count;
    const jm__stream *streams;
    size_t stream_count;
    jm__kernel_source kernels;   /* not held: they pass by */
    jm__counter_source counters; /* likewise */
    const jm__mark *marks;
    size_t mark_count;
    const jm__loss *losses;
    size_t loss_count;
    const jm__event *events;
    size_t event_count;
    const char *const *names; /* [name_id]; names[0] is "" */
    size_t name_count;
    int64_t start_ns; /* of the run */
    int64_t end_ns;   /* of the run, or up to where the file is complete */
    int64_t *gone_ns; /* [process_count]: when it was seen to have ended; INT64_MAX: never; NULL: none was */
    const char *ncu; /* file of Nsight Compute that its windows of counters are from; NULL: they were sampled,
                        or there are none */
    const char *damage; /* what of the recording is missing, in a sentence; NULL if it is whole */
    jm__sampler_cost cost;
    int64_t budget_ppm; /* for tracing, of the programs' time; 0: none was kept */
} jm__dataset;

/* Read everything but kernels and counters, for which the recording must live as long as the dataset; what a
 * damaged file still gives, with its damage noted in the recording. */
jm_status jm__dataset_load(jm__dataset **out, jm_recording *recording, jm_error *err);

/* Which readings: those with a stamp from `from_ns` to `to_ns`, of all sensors or of power and energy alone.
 */
typedef struct jm__fit_interval_requested {
    int64_t from_ns, to_ns;
    bool all_sensors;
    bool spans;        /* no readings, but spans that began then ... */
    jm_span_kind kind; /* ... of this kind, JM_SPAN_NONE: of all, and marks */
    const char *name;  /* ... and this name, NULL: of all */
} jm__fit_interval_requested;

/* The same of boards, sensors and events, and of the wanted readings or spans (with their names and
 * processes) alone; its start is 0, and its end, too, of readings. A file that is damaged is an error. */
jm_status jm__dataset_load_readings(jm__dataset **out, jm_recording *recording,
                                    const jm__fit_interval_requested *requested, jm_error *err);
void jm__dataset_free(jm__dataset *dataset);

/* The process of a row id; NULL if a damaged file lost it. */
const jm__process *jm__dataset_process(const jm__dataset *dataset, int64_t id);

/* People name processes by pid; a pid that came again is several rows. True for pid 0, which names all. */
bool jm__dataset_process_has_pid(const jm__dataset *dataset, int64_t id, int64_t pid);

/* A text of the recording, "" for an unknown number. */
const char *jm__dataset_text(const jm__dataset *dataset, int64_t name_id);

#endif
