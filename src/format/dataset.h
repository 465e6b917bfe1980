/* A recording, or a part of it, in memory: the input of attribution. */
#ifndef JM_FORMAT_DATASET_H
#define JM_FORMAT_DATASET_H

#include "format/rows/rows.h"
#include "format/rows/sensor_role.h"
#include <joulemap/recording.h>

/* Kernels are too many to keep in memory, so they are streamed. This is what attribution needs of one; the
 * number of bytes that it moved is not read. */
typedef struct jm__kernel_run {
    int64_t start_ns;
    int64_t end_ns;
    int64_t class_id;
    int64_t stream_id;
    int64_t span_id;   /* innermost span of the thread that launched it, 0: none */
    int64_t launch_ns; /* when the API call that launched it began, -1: unknown */
    int64_t calls;     /* how many launches this row represents, from 1 */
} jm__kernel_run;

/* Called with each kernel; any status but JM_OK ends the pass, which returns it. */
typedef jm_status (*jm__kernel_taker)(void *taker, const jm__kernel_run *kernel, jm_error *err);

/* Each pass gives the same kernels. `by_time`: sorted by start, which may need a sort on disk; else in the
 * order in which they were written, which is nearly by time. BAD_DATA: the file is damaged. */
typedef struct jm__kernel_source {
    jm_status (*each)(void *context, bool by_time, jm__kernel_taker take, void *taker, jm_error *err);
    void *context;
} jm__kernel_source;

/* From the first start to the last end, in a pass of its own; `*earliest_ns` is INT64_MAX if there is no
 * kernel. */
jm_status jm__kernels_bounds(const jm__kernel_source *source, int64_t *earliest_ns, int64_t *latest_ns,
                             jm_error *err);

/* Hardware counters are streamed too: a day of them is a gigabyte. */

/* Called with each block, which is valid and borrowed for the call; any status but JM_OK ends the pass, which
 * returns it. */
typedef jm_status (*jm__counter_taker)(void *taker, const jm__counter_block *block, jm_error *err);

/* Sets are indexed by id - 1. Blocks come in the order in which they were written, which is by time within a
 * set. Each pass gives the same blocks; of a damaged file, those that can be read. `each` may be NULL: there
 * are none. */
typedef struct jm__counter_source {
    const jm__counter_set *sets;
    size_t set_count;
    jm_status (*each)(void *context, jm__counter_taker take, void *taker, jm_error *err);
    void *context;
} jm__counter_source;

/* Arrays are sorted by time, processes by id; boards, sensors, classes and streams are indexed by id - 1. All
 * texts live as long as the dataset. */
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
    jm__kernel_source kernels;   /* streamed */
    jm__counter_source counters; /* streamed */
    const jm__mark *marks;
    size_t mark_count;
    const jm__loss *losses;
    size_t loss_count;
    const jm__event *events;
    size_t event_count;
    const char *const *names; /* [name_id]; names[0] is "" */
    size_t name_count;
    int64_t start_ns; /* of the run */
    int64_t end_ns;   /* of the run, or where the complete part of the file ends */
    int64_t *gone_ns; /* [process_count]: when it was found to have ended; INT64_MAX: never */
    const char *ncu; /* the Nsight Compute file that the counter windows are from; NULL: they were sampled, or
                        there are none */
    const char *damage; /* what is missing of the recording, in a sentence; NULL if nothing is */
    jm__sampler_cost cost;
    int64_t budget_ppm; /* for tracing, of the programs' run time; 0: none was kept */
} jm__dataset;

/* Reads everything but kernels and counters, for which the recording must outlive the dataset. Of a damaged
 * file it reads what is left, and notes the damage in the recording. */
jm_status jm__dataset_load(jm__dataset **out, jm_recording *recording, jm_error *err);

/* Selects readings by their stamps, of all sensors or of power and energy alone; or spans. */
typedef struct jm__row_filter {
    int64_t from_ns, to_ns;
    bool all_sensors;
    bool spans;        /* select spans that began in that time instead of readings ... */
    jm_span_kind kind; /* ... of this kind; JM_SPAN_NONE: of all kinds, and marks */
    const char *name;  /* ... and of this name; NULL: of all */
} jm__row_filter;

/* Reads boards, sensors, events and the selected readings, or the selected spans with their names and
 * processes. `start_ns` is 0, and with readings so is `end_ns`. A damaged file is an error. */
jm_status jm__dataset_load_readings(jm__dataset **out, jm_recording *recording,
                                    const jm__row_filter *requested, jm_error *err);
void jm__dataset_free(jm__dataset *dataset);

/* The process with a row id; NULL if a damaged file lost it. */
const jm__process *jm__dataset_process(const jm__dataset *dataset, int64_t id);

/* The first sensor of a board in this role; NULL: it has none. */
const jm_sensor *jm__dataset_sensor(const jm__dataset *dataset, int64_t board_id, jm__sensor_role role);

/* A copy of a sensor's readings from `least` to `most`, by time; the caller frees it. *count 0: there are
 * none, or no sensor. False if memory is out. */
bool jm__dataset_readings(jm_reading **readings, size_t *count, const jm__dataset *dataset,
                          const jm_sensor *sensor, double least, double most);

/* Has the process this pid? Users name processes by pid; a reused pid is several rows. Always true for pid 0,
 * which means all. */
bool jm__dataset_process_has_pid(const jm__dataset *dataset, int64_t id, int64_t pid);

/* A text of the recording by its id, "" for an unknown one. */
const char *jm__dataset_text(const jm__dataset *dataset, int64_t name_id);

#endif
