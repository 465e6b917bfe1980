/* The rows of a recording of any version, whole or damaged, into a new one of this version. */
#ifndef JM_FORMAT_REWRITE_H
#define JM_FORMAT_REWRITE_H

#include "format/insert.h"
#include "format/recording.h"

/* A new database that has tables, but no rows. */
typedef struct jm__rewriting {
    sqlite3 *db;
    const char *path;
    jm__inserter *inserter;
    int64_t counter_sets; /* the highest number of one that came along */
} jm__rewriting;

/* All rows that the reader gets, in their order and with their numbers, in one transaction; but not the end
 * mark, and no row that cannot be one of its table (its number is taken, a value is missing): only files that
 * joulemap did not write have such. */
jm_status jm__rewrite(jm__rewriting *to, jm_recording *from, jm_error *err);

#endif
