/* Rows of a run stand nearly in the order of their stamps: the first is searched for by halves. */
#include "format/reading_stretch.h"

#include "base/clock.h"
#include "base/search.h"
#include "format/row.h"

#include <stdio.h>

/* How far a stamp may lie before those of rows above it: rings bring in the last seconds. A choice, with
 * room. */
static const int64_t disorder_ns = 3 * JM_NS_PER_S;

/* What is no run's (an import) stands one sensor after another. */
static bool is_by_time(const jm_recording *recording)
{
    return jm_recording_meta(recording, "source") == NULL;
}

/* Of a row, or the next one that is there (condense.h leaves gaps); after all others if there is none. */
static int64_t stamp_of(sqlite3_stmt *statement, size_t row)
{
    sqlite3_reset(statement);
    sqlite3_bind_int64(statement, 1, (int64_t)row);
    return sqlite3_step(statement) == SQLITE_ROW ? jm__time_bounded(sqlite3_column_int64(statement, 0))
                                                 : INT64_MAX - disorder_ns;
}

/* What a table calls the time of a row. */
typedef struct timed_table {
    jm__table_id table;
    const char *stamp_sql;
} timed_table;

static const timed_table timed_readings = {
    JM_TABLE_READINGS, "SELECT t_ns FROM readings WHERE rowid >= ? ORDER BY rowid LIMIT 1"};
static const timed_table timed_spans = {JM_TABLE_SPANS,
                                        "SELECT start_ns FROM spans WHERE rowid >= ? ORDER BY rowid LIMIT 1"};

static int64_t stamp_in(const timed_table *of, const jm__any_row *row)
{
    return of->table == JM_TABLE_SPANS ? row->spans.start_ns : row->readings.t_ns;
}

/* A row before all that have stamps of t or later. */
static jm_status find_first(jm_recording *recording, sqlite3 *db, const timed_table *of, int64_t t_ns,
                            size_t *row, jm_error *err)
{
    int64_t last = 0;
    sqlite3_stmt *statement;
    *row = 0;
    if (!is_by_time(recording)) return JM_OK;
    JM_TRY(jm__recording_last_row(recording, db, of->table, &last, err));
    JM_TRY(jm__database_prepare(db, &statement, of->stamp_sql, NULL, err));
    jm__search(*row, (size_t)last, stamp_of(statement, *row + 1) + disorder_ns < t_ns);
    sqlite3_finalize(statement);
    return JM_OK;
}

static jm_status take_all(const jm_recording *recording, sqlite3 *db, const timed_table *of,
                          sqlite3_stmt *statement, const jm__stretch_wanted *wanted, jm__row_taker take,
                          void *context, jm_error *err)
{
    int rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        jm__any_row row;
        jm__row_read(statement, &jm__tables[of->table], &row);
        int64_t t_ns = stamp_in(of, &row);
        if (is_by_time(recording) && jm__time_bounded(t_ns) - disorder_ns > wanted->to_ns)
            return JM_OK; /* it may be INT64_MAX */
        if (t_ns >= wanted->from_ns && t_ns <= wanted->to_ns && !take(context, &row))
            return jm__no_memory(err, "jm__reading_stretch");
    }
    if (rc == SQLITE_DONE) return JM_OK;
    return jm__database_fail(err, db, rc, "sqlite3_step", jm__recording_path(recording));
}

static jm_status stretch(jm_recording *recording, sqlite3 *db, const timed_table *of, const char *condition,
                         const jm__stretch_wanted *wanted, jm__row_taker take, void *context, jm_error *err)
{
    char tail[200];
    size_t before;
    sqlite3_stmt *statement = NULL;
    JM_TRY(find_first(recording, db, of, wanted->from_ns, &before, err));
    snprintf(tail, sizeof tail, "WHERE rowid > %zu %s ORDER BY rowid", before, condition);
    JM_TRY(jm__recording_select(recording, db, of->table, tail, &statement, err));
    jm_status status = take_all(recording, db, of, statement, wanted, take, context, err);
    sqlite3_finalize(statement);
    return status;
}

jm_status jm__reading_stretch(jm_recording *recording, sqlite3 *db, const jm__stretch_wanted *wanted,
                              jm__row_taker take, void *context, jm_error *err)
{
    char sensors[128] = "";
    if (!wanted->all_sensors)
        snprintf(sensors, sizeof sensors,
                 "AND sensor_id IN (SELECT id FROM sensors WHERE quantity IN ('%s', '%s'))",
                 jm_quantity_text(JM_QUANTITY_POWER), jm_quantity_text(JM_QUANTITY_ENERGY));
    return stretch(recording, db, &timed_readings, sensors, wanted, take, context, err);
}

jm_status jm__span_stretch(jm_recording *recording, sqlite3 *db, const jm__stretch_wanted *wanted,
                           jm__row_taker take, void *context, jm_error *err)
{
    return stretch(recording, db, &timed_spans, "", wanted, take, context, err);
}
