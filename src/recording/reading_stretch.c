/* Rows of a run stand nearly in the order of their stamps: the first is searched for by halves. */
#include "recording/reading_stretch.h"

#include "base/clock.h"
#include "base/search.h"
#include "recording/row.h"

#include <stdio.h>

/* How far a stamp may lie before those of rows above it: rings bring in the last seconds. A choice, with
 * room. */
static const int64_t disorder_ns = 3 * JM_NS_PER_S;

/* What is no run's (an import) stands one sensor after another. */
static bool is_by_time(const jm_recording *recording)
{
    return jm_recording_meta(recording, "source") == NULL;
}

/* Of a row; INT64_MAX if it is not there. */
static int64_t stamp_of(sqlite3_stmt *statement, size_t row)
{
    sqlite3_reset(statement);
    sqlite3_bind_int64(statement, 1, (int64_t)row);
    return sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : INT64_MAX;
}

/* A row before all that have stamps of t or later. */
static jm_status find_first(jm_recording *recording, sqlite3 *db, int64_t t_ns, size_t *row, jm_error *err)
{
    int64_t last = 0;
    sqlite3_stmt *statement;
    *row = 0;
    if (!is_by_time(recording)) return JM_OK;
    JM_TRY(jm__recording_last_row(recording, db, JM_TABLE_READINGS, &last, err));
    JM_TRY(jm__database_prepare(db, &statement, "SELECT t_ns FROM readings WHERE rowid = ?", NULL, err));
    jm__search(*row, (size_t)last, stamp_of(statement, *row + 1) < t_ns - disorder_ns);
    sqlite3_finalize(statement);
    return JM_OK;
}

static jm_status take_all(const jm_recording *recording, sqlite3 *db, sqlite3_stmt *statement,
                          const jm__stretch_wanted *wanted, jm__row_taker take, void *context, jm_error *err)
{
    int rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        jm__any_row row;
        jm__row_read(statement, &jm__tables[JM_TABLE_READINGS], &row);
        int64_t t_ns = row.readings.t_ns;
        if (is_by_time(recording) && t_ns > wanted->to_ns + disorder_ns) return JM_OK;
        if (t_ns >= wanted->from_ns && t_ns <= wanted->to_ns && !take(context, &row))
            return jm__no_memory(err, "jm__reading_stretch");
    }
    if (rc == SQLITE_DONE) return JM_OK;
    return jm__database_fail(err, db, rc, "sqlite3_step", jm__recording_path(recording));
}

jm_status jm__reading_stretch(jm_recording *recording, sqlite3 *db, const jm__stretch_wanted *wanted,
                              jm__row_taker take, void *context, jm_error *err)
{
    char tail[160], sensors[128] = "";
    size_t before;
    sqlite3_stmt *statement = NULL;
    JM_TRY(find_first(recording, db, wanted->from_ns, &before, err));
    if (!wanted->all_sensors)
        snprintf(sensors, sizeof sensors,
                 "AND sensor_id IN (SELECT id FROM sensors WHERE quantity IN ('%s', '%s'))",
                 jm_quantity_text(JM_QUANTITY_POWER), jm_quantity_text(JM_QUANTITY_ENERGY));
    snprintf(tail, sizeof tail, "WHERE rowid > %zu %s ORDER BY rowid", before, sensors);
    JM_TRY(jm__recording_select(recording, db, JM_TABLE_READINGS, tail, &statement, err));
    jm_status status = take_all(recording, db, statement, wanted, take, context, err);
    sqlite3_finalize(statement);
    return status;
}
