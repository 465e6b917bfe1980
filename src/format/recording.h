/* The inside of a jm_recording: how the reader gets at its database. */
#ifndef JM_FORMAT_RECORDING_H
#define JM_FORMAT_RECORDING_H

#include "base/strbuf.h"
#include "format/database.h"
#include "format/rows/table.h"

#include <joulemap/recording.h>
#include <pthread.h>

/* A recording in memory shares the writer's database; `lock` keeps both apart. Owned by the writer. */
jm_status jm__recording_share(jm_recording **out, sqlite3 *db, pthread_mutex_t *lock, jm_error *err);

/* The database, for one reading: a file is opened anew each time, so that nothing stands in the way of the
 * recorder that may still write it. All reads up to jm__recording_end see one state of it, and the process
 * does not fork meanwhile but while a statement runs. NOT_SUPPORTED: it is in the memory of a process that
 * this one is a fork of. */
jm_status jm__recording_begin(jm_recording *recording, sqlite3 **db, jm_error *err);
void jm__recording_end(jm_recording *recording, sqlite3 *db);

/* After a reading that ended with `failure`. OK: the file turned out damaged, and from now on the recording
 * is what can be recovered of it: read again. Else the error that stands: `failure`, which recovery does not
 * cure, or why there could be none. */
jm_status jm__recording_recover(jm_recording *recording, jm_status failure, jm_error *err);

/* NULL: in memory. */
const char *jm__recording_path(const jm_recording *recording);

/* Its end is missing. */
bool jm__recording_is_cut(const jm_recording *recording);

/* A statement whose lines jm__row_read takes. `tail`: what stands behind FROM. BAD_DATA: the file has no such
 * table. */
jm_status jm__recording_select(const jm_recording *recording, sqlite3 *db, jm__table_id table,
                               const char *tail, sqlite3_stmt **statement, jm_error *err);

/* The number of its last row, 0 if it is empty. BAD_DATA as above. */
jm_status jm__recording_last_row(const jm_recording *recording, sqlite3 *db, jm__table_id table, int64_t *row,
                                 jm_error *err);

/* Each row of a table as its struct, in the order in which they were written; none if the file is older than
 * the table. Texts are borrowed for the call. The taker returns false if memory is out. BAD_DATA: the file is
 * damaged. */
typedef bool (*jm__row_taker)(void *context, const void *row);
jm_status jm__recording_rows(const jm_recording *recording, sqlite3 *db, jm__table_id table,
                             jm__row_taker take, void *context, jm_error *err);

/* Add a sentence to jm_recording_damage; the same one only once. */
jm_status jm__recording_note_damage(jm_recording *recording, jm_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* meta.complete_ns as it stands now; -1 if nothing was committed yet. */
jm_status jm__recording_complete_ns(jm_recording *recording, int64_t *complete_ns, jm_error *err);

#endif
