/* Internals of a jm_recording: access to its database. */
#ifndef JM_FORMAT_RECORDING_H
#define JM_FORMAT_RECORDING_H

#include "base/strbuf.h"
#include "format/database.h"
#include "format/rows/table.h"

#include <joulemap/recording.h>
#include <pthread.h>

/* A recording in memory: shares the writer's database, guarded by the writer's `lock`. Owned by the
 * writer. */
jm_status jm__recording_share(jm_recording **out, sqlite3 *db, pthread_mutex_t *lock, jm_error *err);

/* Begins one reading. A file is opened anew each time, so that no lock blocks a recorder that still writes
 * it. All reads up to jm__recording_end see one snapshot. This is a no-fork section, but forks may happen
 * while a statement runs. NOT_SUPPORTED: the recording is in memory and this process is a fork of its
 * owner. */
jm_status jm__recording_begin(jm_recording *recording, sqlite3 **db, jm_error *err);
void jm__recording_end(jm_recording *recording, sqlite3 *db);

/* Call it when a reading failed with `failure`. OK: the file is damaged, and the recording now is what could
 * be recovered of it: read again. Otherwise an error: `failure`, which recovery does not cure, or the failure
 * of the recovery. */
jm_status jm__recording_recover(jm_recording *recording, jm_status failure, jm_error *err);

/* NULL for a recording in memory. */
const char *jm__recording_path(const jm_recording *recording);

/* Is the file cut short? */
bool jm__recording_is_cut(const jm_recording *recording);

/* Prepares a SELECT whose rows jm__row_read reads. `tail`: the SQL behind FROM. BAD_DATA: the file has no
 * such table. */
jm_status jm__recording_select(const jm_recording *recording, sqlite3 *db, jm__table_id table,
                               const char *tail, sqlite3_stmt **statement, jm_error *err);

/* The rowid of the last row, 0 if the table is empty. BAD_DATA as above. */
jm_status jm__recording_last_row(const jm_recording *recording, sqlite3 *db, jm__table_id table, int64_t *row,
                                 jm_error *err);

/* Calls `take` with each row as its struct, in the order in which they were written; never if the file is
 * older than the table. Texts are borrowed for the call. `take` returns false if memory is out. BAD_DATA: the
 * file is damaged. */
typedef bool (*jm__row_taker)(void *context, const void *row);
jm_status jm__recording_rows(const jm_recording *recording, sqlite3 *db, jm__table_id table,
                             jm__row_taker take, void *context, jm_error *err);

/* Adds a sentence to jm_recording_damage unless it is there already. */
jm_status jm__recording_note_damage(jm_recording *recording, jm_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The current meta.complete_ns; -1 if nothing was committed yet. */
jm_status jm__recording_complete_ns(jm_recording *recording, int64_t *complete_ns, jm_error *err);

#endif
