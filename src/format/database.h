/* SQLite as joulemap uses it: opening, the schema, error texts. */
#ifndef JM_FORMAT_DATABASE_H
#define JM_FORMAT_DATABASE_H

#include "base/status.h"
#include "format/rows/table.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define JM_PAGE_BYTES 4096u /* page size of a new recording */

/* SQLite has global locks that a forked child must find free: call it in a no-fork section only
 * (base/no_fork.h). The functions here do that themselves. A connection that they open lets forks happen
 * while a long statement runs, while it waits for another process, and while it writes to the disk.
 *
 * Fills the error of the last call on `db`, which concerned the file `path` (NULL: memory). */
jm_status jm__database_fail(jm_error *err, sqlite3 *db, int rc, const char *call, const char *path);

/* Connections have no locks: one thread at a time may use one.
 *
 * Creates a recording in WAL mode with the tables of that format version; a recovered older file keeps its
 * version. `path` NULL: in memory. The file must not exist or be empty. */
jm_status jm__database_create(sqlite3 **out, const char *path, int version, jm_error *err);

/* Opens an existing file read-only, hardened against hostile content. `immutable`: nobody writes to it and it
 * has no journal. */
jm_status jm__database_open(sqlite3 **out, const char *path, bool immutable, jm_error *err);

void jm__database_close(sqlite3 *db);

jm_status jm__database_run(sqlite3 *db, const char *sql, const char *path, jm_error *err);
jm_status jm__database_prepare(sqlite3 *db, sqlite3_stmt **out, const char *sql, const char *path,
                               jm_error *err);

/* A bit per table of ours that is an ordinary table: reading a view of that name might never end. Call it
 * before anything else is read from an opened file. */
jm_status jm__database_tables(sqlite3 *db, uint32_t *tables, const char *path, jm_error *err);

/* BAD_DATA if the table is not among them. */
jm_status jm__database_check_table(uint32_t tables, jm__table_id table, const char *path, jm_error *err);

/* What the header of an SQLite file says about its content. */
typedef struct jm__file_format {
    int64_t application_id;
    int64_t version; /* of the recording format */
} jm__file_format;

/* BAD_DATA or UNKNOWN_VERSION unless this joulemap can read it. */
jm_status jm__format_check(const jm__file_format *format, const char *path, jm_error *err);

/* The first column of the first row, as an integer. */
jm_status jm__database_integer(sqlite3 *db, const char *sql, int64_t *out, const char *path, jm_error *err);

/* Guards the descriptors of a recording that this process writes against the program around it.
 *
 * The program may close descriptors that are not its own, and its next file then gets one of SQLite's
 * numbers: SQLite would write its pages into that file. So our descriptors get high numbers, which a
 * program's next file does not get, and they are checked before SQLite uses them. A closed one is reopened
 * under its number. If the number now belongs to another file, nothing is written or closed until it is free
 * again. */
typedef struct jm__guard jm__guard;

/* Call it before SQLite first opens the file, which must exist. NULL: no memory. */
jm__guard *jm__guard_create(const char *path);

/* JM_OK: SQLite may use its descriptors. `guard` is NULL for a recording in memory. */
jm_status jm__guard_check(jm__guard *guard, jm_error *err);

/* Call it before SQLite itself closes the journal and its index. */
void jm__guard_forget_journal(jm__guard *guard);

/* Call it after SQLite has closed its descriptors. */
void jm__guard_free(jm__guard *guard);

#endif
