/* The inside of a jm_recording: how the reader gets at its database. */
#ifndef JM_RECORD_RECORDING_H
#define JM_RECORD_RECORDING_H

#include "base/strbuf.h"
#include "record/database.h"

#include <joulemap/recording.h>
#include <pthread.h>

/* A recording in memory shares the writer's database; `lock` keeps both apart. Owned by the writer. */
jm_status jm__recording_share(jm_recording **out, sqlite3 *db, pthread_mutex_t *lock, jm_error *err);

/* The database, for one reading: a file is opened anew each time, so that nothing stands in the way of the
 * recorder that may still write it. All reads up to jm__recording_end see one state of it. */
jm_status jm__recording_begin(jm_recording *recording, sqlite3 **db, jm_error *err);
void jm__recording_end(jm_recording *recording, sqlite3 *db);

/* Add a sentence to jm_recording_damage; the same one only once. */
void jm__recording_note_damage(jm_recording *recording, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* meta.complete_ns as it stands now; -1 if nothing was committed yet. */
jm_status jm__recording_complete_ns(jm_recording *recording, int64_t *complete_ns, jm_error *err);

#endif
