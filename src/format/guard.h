/* The descriptors of a recording that this process writes, guarded against the program around it.
 *
 * A program may close what is not its own, and its next file then has one of SQLite's numbers: SQLite would
 * write its pages into that file. So they lie high, where a program's next file does not come to lie, and are
 * looked at before SQLite uses them: one that is closed is opened again under its number, one whose number is
 * somebody else's is left alone, and nothing is written or closed until it is free again. */
#ifndef JM_FORMAT_GUARD_H
#define JM_FORMAT_GUARD_H

#include "base/status.h"

typedef struct jm__guard jm__guard;

/* Before SQLite first opens the file, which is there. NULL: no memory. */
jm__guard *jm__guard_create(const char *path);

/* Around SQLite's opening of any file: those of guarded recordings are put high and noted. */
void jm__guard_opening(void);
void jm__guard_opened(void);

/* JM_OK: SQLite may use its descriptors. `guard` NULL: a recording in memory. */
jm_status jm__guard_check(jm__guard *guard, jm_error *err);

/* The same of a path that this process may be writing. */
jm_status jm__guard_check_path(const char *path, jm_error *err);

/* SQLite has closed the journal and its index itself. */
void jm__guard_forget_journal(jm__guard *guard);

/* After SQLite has closed its own. */
void jm__guard_free(jm__guard *guard);

#endif
