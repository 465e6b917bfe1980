/* The rows of a damaged file.
 *
 * SQLite finds a row through pages that name other pages; when the end of a file is cut off, some of those
 * that name the first half are gone with it. So each page of rows is read by itself, and its table is known
 * by the number and kinds of its columns. What is deleted is overwritten (database.c), so no page holds stale
 * ones. */
#ifndef JM_FORMAT_RECOVER_H
#define JM_FORMAT_RECOVER_H

#include "format/database.h"

typedef struct jm__recovery {
    jm__marks marks;
    int64_t size;          /* bytes that are there */
    int64_t expected_size; /* bytes that its header speaks of */
    int64_t broken;        /* pages or rows that could not be read */
} jm__recovery;

/* A temporary database of the same version, with all rows that could be found. BAD_DATA if this was no SQLite
 * file, and what jm__marks_check says. */
jm_status jm__recover(sqlite3 **out, const char *path, jm__recovery *recovery, jm_error *err);

#endif
