/* Rows of a table, one after the other, past what is damaged.
 *
 * Rowids only grow, and with them the place in the file. When a page is missing, the reader looks for the
 * first rowid behind the hole by doubling its stride, then by halving it. */
#include "record/salvage.h"

#include <stdio.h>

#define HOLES_MAX 1000 /* more than that is not a recording any more */
#define ROWID_MAX (INT64_C(1) << 48)

typedef enum outcome { OUTCOME_END, OUTCOME_HOLE, OUTCOME_FAILED } outcome;

/* Read on behind `*after`, which follows the rows. */
static outcome read_rows(sqlite3_stmt *statement, int64_t *after, jm__row_taker take, void *context, int *rc)
{
    sqlite3_reset(statement);
    sqlite3_bind_int64(statement, 1, *after);
    while ((*rc = sqlite3_step(statement)) == SQLITE_ROW) {
        int64_t rowid = sqlite3_column_int64(statement, 0);
        if (rowid <= *after) return OUTCOME_HOLE; /* a loop in a damaged tree */
        *after = rowid;
        if (!take(context, statement)) {
            *rc = SQLITE_NOMEM;
            return OUTCOME_FAILED;
        }
    }
    if (*rc == SQLITE_DONE) return OUTCOME_END;
    int primary = *rc & 0xff;
    bool hole = primary == SQLITE_CORRUPT || primary == SQLITE_IOERR || primary == SQLITE_NOTADB ||
                primary == SQLITE_TOOBIG;
    return hole ? OUTCOME_HOLE : OUTCOME_FAILED;
}

static bool has_row_behind(sqlite3_stmt *statement, int64_t after)
{
    sqlite3_reset(statement);
    sqlite3_bind_int64(statement, 1, after);
    return sqlite3_step(statement) == SQLITE_ROW;
}

/* The smallest rowid (as far as strides tell) behind which rows can be read again; -1 if there is none. */
static int64_t find_end_of_hole(sqlite3_stmt *statement, int64_t after)
{
    int64_t stride = 1;
    while (stride < ROWID_MAX && !has_row_behind(statement, after + stride))
        stride *= 2;
    if (stride >= ROWID_MAX) return -1;
    int64_t low = after + stride / 2, high = after + stride;
    while (low + 1 < high) {
        int64_t middle = low + (high - low) / 2;
        if (has_row_behind(statement, middle))
            high = middle;
        else
            low = middle;
    }
    return high;
}

jm_status jm__salvage_rows(sqlite3 *db, const char *path, const char *table, const char *columns,
                           jm__row_taker take, void *context, jm__salvage *salvage, jm_error *err)
{
    char sql[512];
    snprintf(sql, sizeof sql, "SELECT rowid, %s FROM %s WHERE rowid > ?1 ORDER BY rowid", columns, table);
    *salvage = (jm__salvage){0};
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (rc != SQLITE_OK) { /* the table itself is gone */
        if ((rc & 0xff) == SQLITE_NOMEM) return jm__database_fail(err, db, rc, "sqlite3_prepare_v2", path);
        salvage->damaged = true;
        return JM_OK;
    }
    int64_t after = 0;
    outcome result = read_rows(statement, &after, take, context, &rc);
    for (int hole = 0; result == OUTCOME_HOLE && hole < HOLES_MAX; hole++) {
        salvage->damaged = true;
        salvage->lost_after = after;
        salvage->resumed = false;
        int64_t behind = find_end_of_hole(statement, after);
        if (behind < 0) break;
        after = behind;
        salvage->resumed = true;
        result = read_rows(statement, &after, take, context, &rc);
    }
    jm_status status =
        result == OUTCOME_FAILED ? jm__database_fail(err, db, rc, "sqlite3_step", path) : JM_OK;
    sqlite3_finalize(statement);
    return status;
}
