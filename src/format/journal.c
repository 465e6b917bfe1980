/* The journal of a recording at its end: into the file, and gone. */
#include "format/journal.h"

#include "base/clock.h"
#include "base/no_fork.h"

#include <stdio.h>
#include <string.h>

#define CLOSE_ATTEMPTS 20
#define CLOSE_WAIT_NS  (50 * JM_NS_PER_MS)

/* SQLite tells the mode that holds now in a row, which may be the old one without an error; and that it could
 * not be kept, in the step after that. */
static jm_status set_mode(sqlite3 *db, const char *path, const char *mode, jm_error *err)
{
    char sql[48];
    snprintf(sql, sizeof sql, "PRAGMA journal_mode = %s", mode);
    sqlite3_stmt *change = NULL;
    JM_TRY(jm__database_prepare(db, &change, sql, path, err));
    int rc = sqlite3_step(change);
    const char *now = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(change, 0) : NULL;
    bool changed = now != NULL && strcmp(now, mode) == 0;
    if (rc == SQLITE_ROW) rc = changed ? sqlite3_step(change) : SQLITE_BUSY;
    jm_status status = rc == SQLITE_DONE ? JM_OK : jm__database_fail(err, db, rc, "sqlite3_step", path);
    sqlite3_finalize(change);
    return status;
}

/* Once more after a failure: then the file has the old mode again, while SQLite believes in the new one. */
static jm_status end_once(sqlite3 *db, const char *path, jm_error *err)
{
    jm__no_fork_begin();
    jm_status status = set_mode(db, path, "delete", err);
    if (status != JM_OK && status != JM_BUSY && set_mode(db, path, "wal", NULL) == JM_OK)
        status = set_mode(db, path, "delete", err);
    jm__no_fork_end();
    return status;
}

static void empty(sqlite3 *db)
{
    jm__no_fork_begin();
    sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    jm__no_fork_end();
}

/* Somebody may be reading just now: that passes. */
jm_status jm__journal_end(sqlite3 *db, const char *path, jm_error *err)
{
    jm_error cause = {0};
    empty(db);
    jm_status status = end_once(db, path, &cause);
    for (int i = 1; i < CLOSE_ATTEMPTS && status == JM_BUSY; i++) {
        jm__sleep_ns(CLOSE_WAIT_NS);
        status = end_once(db, path, &cause);
    }
    if (status == JM_OK) return JM_OK;
    jm__fail(err, status, cause.code, cause.call,
             "%s: %s: all of the run is there, but a part of it may lie in %s-wal", path,
             jm_status_text(status), path);
    return jm__hint(err, status, "keep the two files together: whoever reads the first needs the second");
}
