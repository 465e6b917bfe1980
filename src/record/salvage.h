/* Rows of a table, one after the other, past what is damaged. */
#ifndef JM_RECORD_SALVAGE_H
#define JM_RECORD_SALVAGE_H

#include "record/database.h"

/* Takes one row; its columns begin at 1 (0 is the rowid). False: out of memory, stop. */
typedef bool (*jm__row_taker)(void *context, sqlite3_stmt *row);

typedef struct jm__salvage {
    bool damaged;       /* something could not be read */
    int64_t lost_after; /* rowid after which the last hole begins, if damaged */
    bool resumed;       /* and rows behind it were found */
} jm__salvage;

/* Every row of `table`, in the order of rowid, that can still be read. Only errors that are not damage of
 * the file come back as a status. */
jm_status jm__salvage_rows(sqlite3 *db, const char *path, const char *table, const char *columns,
                           jm__row_taker take, void *context, jm__salvage *salvage, jm_error *err);

#endif
