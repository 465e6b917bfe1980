/* Writing a recording into SQLite, in batches, from one thread.
 *
 * Rows collect in a bounded batch in memory (batch.h). jm__writer_commit writes them in one transaction and
 * so makes them safe against a kill of this process. After a file system error (DISK_FULL, IO) the batch
 * stays for the next commit; what no longer fits is counted as a loss. */
#ifndef JM_FORMAT_WRITER_H
#define JM_FORMAT_WRITER_H

#include "format/rows/rows.h"
#include <joulemap/recording.h>
#include <sqlite3.h>

typedef struct jm__writer jm__writer;
typedef struct jm__inserter jm__inserter; /* format/row.h */

/* `path` NULL: in memory. Refuses an existing file unless `overwrite`; then that file is kept aside until
 * jm__writer_keep or _close. */
jm_status jm__writer_create(jm__writer **out, const char *path, bool overwrite, jm_error *err);

/* Starts with all readable rows of another file. Only counters and meta may be added: other numbered rows
 * would get ids that are taken. */
jm_status jm__writer_create_copy(jm__writer **out, const char *path, bool overwrite, jm_recording *from,
                                 jm_error *err);

/* The id (>= 1) of a text, the same for equal texts; 0 for "" or NULL; negative on failure. */
int64_t jm__writer_name(jm__writer *writer, const char *text);

void jm__writer_meta(jm__writer *writer, const char *key, const char *value);
void jm__writer_anchor(jm__writer *writer, const jm__anchor *anchor);

/* These set the id of the row. */
jm_status jm__writer_board(jm__writer *writer, jm_board *board, jm_error *err);
jm_status jm__writer_sensor(jm__writer *writer, jm_sensor *sensor, jm_error *err);
jm_status jm__writer_stream(jm__writer *writer, jm__stream *stream, jm_error *err);
jm_status jm__writer_kernel_class(jm__writer *writer, jm__kernel_class *kernel_class, jm_error *err);

jm_status jm__writer_counter_set(jm__writer *writer, jm__counter_set *set, jm_error *err);

/* Rows that do not fit into memory are counted as lost. */
void jm__writer_readings(jm__writer *writer, const jm_reading *readings, size_t count); /* skips NAN */
void jm__writer_event(jm__writer *writer, const jm__event *event);
void jm__writer_process(jm__writer *writer, const jm__process *process); /* inserts or updates by id */
void jm__writer_span_begin(jm__writer *writer, const jm__span *span);    /* the caller sets its id */
void jm__writer_span_end(jm__writer *writer, const jm__span_end *end);
void jm__writer_kernels(jm__writer *writer, const jm__kernel *kernels, size_t count);
void jm__writer_mark(jm__writer *writer, const jm__mark *mark);
void jm__writer_loss(jm__writer *writer, const jm__loss *loss);

/* BAD_DATA: the block is invalid (format/rows/rows.h) or its set is not in this recording. */
jm_status jm__writer_counter_block(jm__writer *writer, const jm__counter_block *block, jm_error *err);

/* Writes everything so far; `complete_ns`: everything that happened before it has been added. */
jm_status jm__writer_commit(jm__writer *writer, int64_t complete_ns, jm_error *err);

/* Called after each successful commit but the last, under the writer's lock and before the journal is
 * checkpointed (format/condense.h). The writer frees it at its end. */
typedef struct jm__writer_follower {
    void (*committed)(void *context, int64_t complete_ns);
    void (*free)(void *context);
    void *context;
} jm__writer_follower;

/* At most one follower. */
void jm__writer_follow(jm__writer *writer, const jm__writer_follower *follower);

/* What a follower works on, valid during its call. The array moves when a sensor is added. */
typedef struct jm__writer_internals {
    sqlite3 *db;
    jm__inserter *inserter;
    const jm_sensor *sensors;
    size_t sensor_count;
} jm__writer_internals;

jm__writer_internals jm__writer_internals_of(jm__writer *writer);

/* For a writer in memory: a recording that can be read while writing goes on. A file is opened by its path
 * instead. */
jm_status jm__writer_recording(jm__writer *writer, jm_recording **out, jm_error *err);

/* Keep the new file: deletes the one that it replaced. */
void jm__writer_keep(jm__writer *writer);

/* Close, delete the new file and restore the one that it replaced. */
void jm__writer_discard(jm__writer *writer);

/* Commit, merge the journal into the file, close. */
jm_status jm__writer_close(jm__writer *writer, jm_error *err);

#endif
