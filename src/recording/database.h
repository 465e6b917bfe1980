/* SQLite as joulemap uses it: opening, the schema, errors in our words. */
#ifndef JM_RECORDING_DATABASE_H
#define JM_RECORDING_DATABASE_H

#include "base/status.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define JM_RECORDING_APPLICATION_ID 0x4a4d4150 /* 'JMAP' */
#define JM_RECORDING_VERSION        1

/* The error of the last call on `db`, concerning the file `path` (NULL: memory). */
jm_status jm__database_fail(jm_error *err, sqlite3 *db, int rc, const char *call, const char *path);

/* Connections have no locks of their own: one thread at a time uses one.
 *
 * A new recording with its schema, in WAL mode. `path` NULL: in memory. The file must not exist or be empty.
 */
jm_status jm__database_create(sqlite3 **out, const char *path, jm_error *err);

/* An existing file, read-only, guarded against hostile content. `immutable`: nobody writes to it and no
 * journal lies beside it. */
jm_status jm__database_open(sqlite3 **out, const char *path, bool immutable, jm_error *err);

jm_status jm__database_run(sqlite3 *db, const char *sql, const char *path, jm_error *err);
jm_status jm__database_prepare(sqlite3 *db, sqlite3_stmt **out, const char *sql, const char *path,
                               jm_error *err);

/* First column of the first row as an integer. */
jm_status jm__database_integer(sqlite3 *db, const char *sql, int64_t *out, const char *path, jm_error *err);

#endif
