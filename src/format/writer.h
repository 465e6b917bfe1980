/* Writing a recording: one thread, in batches, into SQLite.
 *
 * Rows gather in a bounded batch in memory (batch.h); jm__writer_commit puts them into the file in one
 * transaction and so makes them safe against a kill of this process. After an error of the file system
 * (DISK_FULL, IO) the batch stays, and is written at the next commit; what no longer fits is counted as a
 * loss. */
#ifndef JM_FORMAT_WRITER_H
#define JM_FORMAT_WRITER_H

#include "format/rows/rows.h"
#include <joulemap/recording.h>
#include <sqlite3.h>

typedef struct jm__writer jm__writer;
typedef struct jm__inserter jm__inserter; /* format/row.h */

/* `path` NULL: in memory. Refuses an existing file unless `overwrite`: then it stays aside until
 * jm__writer_keep or _close. */
jm_status jm__writer_create(jm__writer **out, const char *path, bool overwrite, jm_error *err);

/* With all rows of another recording, as they can be read, for counters and facts to be added: what else has
 * numbers would get some that are taken. `from` is another file. */
jm_status jm__writer_create_copy(jm__writer **out, const char *path, bool overwrite, jm_recording *from,
                                 jm_error *err);

/* Same text, same id (>= 1); 0 for "" or NULL; negative on failure. */
int64_t jm__writer_name(jm__writer *writer, const char *text);

void jm__writer_meta(jm__writer *writer, const char *key, const char *value);
void jm__writer_anchor(jm__writer *writer, const jm__anchor *anchor);

/* These give the row its id (returned through the pointer). */
jm_status jm__writer_board(jm__writer *writer, jm_board *board, jm_error *err);
jm_status jm__writer_sensor(jm__writer *writer, jm_sensor *sensor, jm_error *err);
jm_status jm__writer_stream(jm__writer *writer, jm__stream *stream, jm_error *err);
jm_status jm__writer_kernel_class(jm__writer *writer, jm__kernel_class *kernel_class, jm_error *err);

jm_status jm__writer_counter_set(jm__writer *writer, jm__counter_set *set, jm_error *err);

/* What does not fit into memory is counted as lost. */
void jm__writer_readings(jm__writer *writer, const jm_reading *readings, size_t count); /* NAN: no reading */
void jm__writer_event(jm__writer *writer, const jm__event *event);
void jm__writer_process(jm__writer *writer, const jm__process *process); /* new or changed, by its id */
void jm__writer_span_begin(jm__writer *writer, const jm__span *span);    /* its id is the caller's */
void jm__writer_span_end(jm__writer *writer, const jm__span_end *end);
void jm__writer_kernels(jm__writer *writer, const jm__kernel *kernels, size_t count);
void jm__writer_mark(jm__writer *writer, const jm__mark *mark);
void jm__writer_loss(jm__writer *writer, const jm__loss *loss);

/* BAD_DATA: it is no sound block (format/rows/rows.h) of a set of this recording. */
jm_status jm__writer_counter_block(jm__writer *writer, const jm__counter_block *block, jm_error *err);

/* Make everything so far durable; `complete_ns`: all that happened before it is in. */
jm_status jm__writer_commit(jm__writer *writer, int64_t complete_ns, jm_error *err);

/* What goes on from each commit that worked but the last, with the writer's lock held, before what is in the
 * journal goes into the file (format/condense.h). The writer frees it at its end. */
typedef struct jm__writer_follower {
    void (*committed)(void *context, int64_t complete_ns);
    void (*free)(void *context);
    void *context;
} jm__writer_follower;

/* One at most. */
void jm__writer_follow(jm__writer *writer, const jm__writer_follower *follower);

/* For a follower, while it is called: what it works on. The array moves when a sensor is added. */
typedef struct jm__writer_inside {
    sqlite3 *db;
    jm__inserter *inserter;
    const jm_sensor *sensors;
    size_t sensor_count;
} jm__writer_inside;

jm__writer_inside jm__writer_look(jm__writer *writer);

/* Of a writer in memory: what it wrote, to be read while writing goes on. A file is opened by its path. */
jm_status jm__writer_recording(jm__writer *writer, jm_recording **out, jm_error *err);

/* The file stands: what it replaces goes. */
void jm__writer_keep(jm__writer *writer);

/* Close without the file: it goes, and what it replaced is there again. */
void jm__writer_discard(jm__writer *writer);

/* Commit, leave one single file without a journal beside it, close. */
jm_status jm__writer_close(jm__writer *writer, jm_error *err);

#endif
