/* Writing a recording: one thread, in batches, into SQLite.
 *
 * Rows are buffered by SQLite's open transaction; jm__writer_commit makes them
 * safe against a kill of this process. After an error of the file system
 * (DISK_FULL, IO) the rows since the last commit are kept in memory, bounded, and
 * written again at the next commit; what no longer fits is counted as a loss. */
#ifndef JM_RECORDING_WRITER_H
#define JM_RECORDING_WRITER_H

#include "rows/rows.h"
#include "sample/sampler.h"
#include <joulemap/recording.h>

typedef struct jm__writer jm__writer;

/* `path` NULL: in memory. Refuses an existing file unless `overwrite`: then it stays aside until
 * jm__writer_keep or _close. */
jm_status jm__writer_create(jm__writer **out, const char *path, bool overwrite, jm_error *err);

/* Same text, same id (>= 1); 0 for "" or NULL; negative on failure. */
int64_t jm__writer_name(jm__writer *writer, const char *text);

jm_status jm__writer_meta(jm__writer *writer, const char *key, const char *value, jm_error *err);
jm_status jm__writer_anchor(jm__writer *writer, int64_t monotonic_ns, int64_t realtime_ns, jm_error *err);

/* These give the row its id (returned through the pointer). */
jm_status jm__writer_board(jm__writer *writer, jm_board *board, jm_error *err);
jm_status jm__writer_sensor(jm__writer *writer, jm_sensor *sensor, jm_error *err);
jm_status jm__writer_stream(jm__writer *writer, jm__stream *stream, jm_error *err);
jm_status jm__writer_kernel_class(jm__writer *writer, jm__kernel_class *kernel_class, jm_error *err);

jm_status jm__writer_readings(jm__writer *writer, const jm_reading *readings, size_t count, jm_error *err);
jm_status jm__writer_event(jm__writer *writer, const jm__event *event, jm_error *err);
jm_status jm__writer_process(jm__writer *writer, const jm__process *process,
                             jm_error *err); /* insert or update */
jm_status jm__writer_span_begin(jm__writer *writer, const jm__span *span,
                                jm_error *err); /* id chosen by the caller */
jm_status jm__writer_span_end(jm__writer *writer, int64_t span_id, int64_t end_ns, jm_error *err);
jm_status jm__writer_kernels(jm__writer *writer, const jm__kernel *kernels, size_t count, jm_error *err);
jm_status jm__writer_mark(jm__writer *writer, const jm__mark *mark, jm_error *err);
jm_status jm__writer_loss(jm__writer *writer, const jm__loss *loss, jm_error *err);

/* Make everything so far durable; `complete_ns`: all that happened before it is in. */
jm_status jm__writer_commit(jm__writer *writer, int64_t complete_ns, jm_error *err);

/* For a recording in memory: the open one, to be read while writing goes on (same thread or locked by the
 * caller). */
jm_status jm__writer_recording(jm__writer *writer, jm_recording **out, jm_error *err);

/* The file stands: what it replaces goes. */
void jm__writer_keep(jm__writer *writer);

/* Close without the file: it goes, and what it replaced is there again. */
void jm__writer_discard(jm__writer *writer);

/* Commit, leave one single file without a journal beside it, close. */
jm_status jm__writer_close(jm__writer *writer, jm_error *err);

#endif
