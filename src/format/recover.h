/* Recovers the rows of a damaged file.
 *
 * SQLite finds rows through pages that point to other pages; when a file is cut short, some of the pages that
 * point into its first half are lost. So each page of rows is read on its own, and the number and types of a
 * row's columns determine its table. Deleted rows are overwritten (database.c), so pages hold no stale
 * rows. */
#ifndef JM_FORMAT_RECOVER_H
#define JM_FORMAT_RECOVER_H

#include "format/database.h"

typedef struct jm__recovery {
    jm__file_format format;
    int64_t size;          /* of the file, in bytes */
    int64_t expected_size; /* by its header */
    int64_t broken;        /* number of pages or rows that could not be read */
} jm__recovery;

/* Fills a temporary database of the same version with all rows that could be found. BAD_DATA if it is not an
 * SQLite file; else the errors of jm__format_check. */
jm_status jm__recover(sqlite3 **out, const char *path, jm__recovery *recovery, jm_error *err);

#endif
