/* Where the rows of a run go: the file first, and whoever else wants them. */
#ifndef JM_RECORD_RUN_ROW_SINK_H
#define JM_RECORD_RUN_ROW_SINK_H

#include "format/rows/rows.h"
#include "format/writer.h"

#define JM_SINKS_MAX 8

/* Called with the run's writer_lock held. Rows are borrowed for the call. What is NULL is not told.
 *
 * The first six return the row's number (from 1; negative: refused). The first sink of a run chooses it; the
 * others find it in the row. */
typedef struct jm__row_sink {
    const char *title; /* for sentences: "the file" */
    void *context;
    int64_t (*board)(void *context, const jm_board *board);
    int64_t (*sensor)(void *context, const jm_sensor *sensor);
    int64_t (*name)(void *context,
                    const jm__name *name); /* the first sink: also of a text it has, or 0 of "" */
    int64_t (*kernel_class)(void *context, const jm__kernel_class *kernel_class);
    int64_t (*stream)(void *context, const jm__stream *stream);
    int64_t (*counter_set)(void *context, const jm__counter_set *set);
    void (*meta)(void *context, const char *key, const char *value);
    void (*anchor)(void *context, const jm__anchor *anchor);
    void (*readings)(void *context, const jm_reading *readings, size_t count);
    void (*event)(void *context, const jm__event *event);
    void (*process)(void *context, const jm__process *process); /* new, or changed */
    void (*span_begin)(void *context, const jm__span *span);
    void (*span_end)(void *context, const jm__span_end *end);
    void (*mark)(void *context, const jm__mark *mark);
    void (*kernels)(void *context, const jm__kernel *kernels, size_t count);
    void (*loss)(void *context, const jm__loss *loss);
    void (*counter_block)(void *context, const jm__counter_block *block);
    /* All that happened before `complete_ns` has been told; 0: no promise. A sink that fails here is told
     * nothing any more, with words in the others; the first is asked again at the next commit. */
    jm_status (*commit)(void *context, int64_t complete_ns, jm_error *err);
} jm__row_sink;

/* The recording as a sink: it numbers, so it comes first. */
jm__row_sink jm__row_sink_of_writer(jm__writer *writer);

/* All sinks of a run. */
typedef struct jm__sinks {
    jm__row_sink items[JM_SINKS_MAX];
    size_t count;
    int64_t names_told; /* to all but the first */
} jm__sinks;

/* False if there are JM_SINKS_MAX. */
bool jm__sinks_add(jm__sinks *sinks, const jm__row_sink *sink);

/* These number the row (and return the number, negative if it was refused). */
int64_t jm__sinks_board(jm__sinks *sinks, jm_board *board);
int64_t jm__sinks_sensor(jm__sinks *sinks, jm_sensor *sensor);
int64_t jm__sinks_name(jm__sinks *sinks, const char *text);
int64_t jm__sinks_kernel_class(jm__sinks *sinks, jm__kernel_class *kernel_class);
int64_t jm__sinks_stream(jm__sinks *sinks, jm__stream *stream);
int64_t jm__sinks_counter_set(jm__sinks *sinks, jm__counter_set *set);

void jm__sinks_meta(jm__sinks *sinks, const char *key, const char *value);
void jm__sinks_anchor(jm__sinks *sinks, const jm__anchor *anchor);
void jm__sinks_readings(jm__sinks *sinks, const jm_reading *readings, size_t count);
void jm__sinks_event(jm__sinks *sinks, const jm__event *event);
void jm__sinks_process(jm__sinks *sinks, const jm__process *process);
void jm__sinks_span_begin(jm__sinks *sinks, const jm__span *span);
void jm__sinks_span_end(jm__sinks *sinks, const jm__span_end *end);
void jm__sinks_mark(jm__sinks *sinks, const jm__mark *mark);
void jm__sinks_kernels(jm__sinks *sinks, const jm__kernel *kernels, size_t count);
void jm__sinks_loss(jm__sinks *sinks, const jm__loss *loss);
void jm__sinks_counter_block(jm__sinks *sinks, const jm__counter_block *block);

/* Status of the first sink. */
jm_status jm__sinks_commit(jm__sinks *sinks, int64_t complete_ns, jm_error *err);

#endif
