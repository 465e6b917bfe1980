/* SQLite as joulemap uses it: opening, the schema, errors in our words. */
#ifndef JM_FORMAT_DATABASE_H
#define JM_FORMAT_DATABASE_H

#include "base/status.h"
#include "format/rows/table.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define JM_PAGE_BYTES 4096u /* of a new recording */

/* SQLite has locks of all threads, which a forked child must find free: whoever calls it is in an interval
 * without a fork (base/no_fork.h). The functions here see to that themselves. A connection that they open
 * lets a fork pass now and then while a statement runs, as it waits for others, and, where it writes, for the
 * disk.
 *
 * The error of the last call on `db`, concerning the file `path` (NULL: memory). */
jm_status jm__database_fail(jm_error *err, sqlite3 *db, int rc, const char *call, const char *path);

/* Connections have no locks of their own: one thread at a time uses one.
 *
 * A new recording with the tables of that version of the format (what is recovered of an older file keeps its
 * own), in WAL mode. `path` NULL: in memory. The file must not exist or be empty. */
jm_status jm__database_create(sqlite3 **out, const char *path, int version, jm_error *err);

/* An existing file, read-only, guarded against hostile content. `immutable`: nobody writes to it and no
 * journal lies beside it. */
jm_status jm__database_open(sqlite3 **out, const char *path, bool immutable, jm_error *err);

void jm__database_close(sqlite3 *db);

jm_status jm__database_run(sqlite3 *db, const char *sql, const char *path, jm_error *err);
jm_status jm__database_prepare(sqlite3 *db, sqlite3_stmt **out, const char *sql, const char *path,
                               jm_error *err);

/* Which of our tables are ordinary ones, a bit each: where one is a view, reading may never end. Before
 * anything is read of a file that was opened. */
jm_status jm__database_tables(sqlite3 *db, uint32_t *tables, const char *path, jm_error *err);

/* BAD_DATA if the table is not among them. */
jm_status jm__database_check_table(uint32_t tables, jm__table_id table, const char *path, jm_error *err);

/* What an SQLite file says that it is. */
typedef struct jm__marks {
    int64_t application_id;
    int64_t version; /* of the recording's format */
} jm__marks;

/* BAD_DATA or UNKNOWN_VERSION, with words, for what is no recording that this joulemap reads. */
jm_status jm__marks_check(const jm__marks *marks, const char *path, jm_error *err);

/* First column of the first row as an integer. */
jm_status jm__database_integer(sqlite3 *db, const char *sql, int64_t *out, const char *path, jm_error *err);

/* The descriptors of a recording that this process writes, guarded against the program around it.
 *
 * A program may close what is not its own, and its next file then has one of SQLite's numbers: SQLite would
 * write its pages into that file. So they lie high, where a program's next file does not come to lie, and are
 * looked at before SQLite uses them: one that is closed is opened again under its number, one whose number is
 * somebody else's is left alone, and nothing is written or closed until it is free again. */
typedef struct jm__guard jm__guard;

/* Before SQLite first opens the file, which is there. NULL: no memory. */
jm__guard *jm__guard_create(const char *path);

/* JM_OK: SQLite may use its descriptors. `guard` NULL: a recording in memory. */
jm_status jm__guard_check(jm__guard *guard, jm_error *err);

/* SQLite has closed the journal and its index itself. */
void jm__guard_forget_journal(jm__guard *guard);

/* After SQLite has closed its own. */
void jm__guard_free(jm__guard *guard);

#endif
