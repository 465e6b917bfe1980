/* Kernels of a file, row by row. */
#include "recording/kernel_source.h"

#include "recording/dataset_rows.h"
#include "recording/recording.h"

#include <inttypes.h>

static const char as_written[] =
    "SELECT start_ns, duration_ns, class_id, stream_id, span_id, queued_ns, bytes, calls FROM kernels "
    "WHERE rowid <= ?1 ORDER BY rowid";
static const char in_order[] =
    "SELECT start_ns, duration_ns, class_id, stream_id, span_id, queued_ns, bytes, calls FROM kernels "
    "WHERE rowid <= ?1 ORDER BY start_ns, duration_ns, rowid";

/* False: it names what is not there, or no clock gave its times. */
static bool read_row(jm__kernel *kernel, const jm__kernel_table *table, sqlite3_stmt *row)
{
    int64_t duration_ns = sqlite3_column_int64(row, 1), queued_ns = sqlite3_column_int64(row, 5);
    *kernel = (jm__kernel){.start_ns = sqlite3_column_int64(row, 0),
                           .class_id = sqlite3_column_int64(row, 2),
                           .stream_id = sqlite3_column_int64(row, 3),
                           .span_id = sqlite3_column_int64(row, 4),
                           .launch_ns = -1,
                           .bytes = sqlite3_column_int64(row, 6),
                           .calls = sqlite3_column_int64(row, 7)};
    if (kernel->calls == 0 && sqlite3_column_type(row, 7) == SQLITE_NULL) kernel->calls = 1;
    bool fits = jm__time_is_plausible(kernel->start_ns) && duration_ns >= 0 &&
                jm__time_is_plausible(duration_ns) && jm__time_is_plausible(kernel->start_ns + duration_ns);
    if (!fits || kernel->calls < 1 || kernel->class_id < 1 || kernel->stream_id < 1 ||
        (uint64_t)kernel->class_id > table->class_count || (uint64_t)kernel->stream_id > table->stream_count)
        return false;
    kernel->end_ns = kernel->start_ns + duration_ns;
    bool queued = queued_ns != 0 || sqlite3_column_type(row, 5) != SQLITE_NULL;
    if (queued && queued_ns > -JM_NS_PER_S * 3600 && queued_ns <= kernel->start_ns)
        kernel->launch_ns = kernel->start_ns - queued_ns;
    return true;
}

static jm_status prepare(sqlite3_stmt **statement, const jm__kernel_table *table, sqlite3 *db,
                         const char *sql, jm_error *err)
{
    int rc = sqlite3_prepare_v2(db, sql, -1, statement, NULL);
    if (rc == SQLITE_ERROR) rc = SQLITE_CORRUPT; /* the table is not there */
    if (rc == SQLITE_OK) return JM_OK;
    return jm__database_fail(err, db, rc, "sqlite3_prepare_v2", jm__recording_path(table->recording));
}

jm_status jm__kernel_table_begin(jm__kernel_table *table, sqlite3 *db, jm_error *err)
{
    sqlite3_stmt *statement;
    JM_TRY(prepare(&statement, table, db, "SELECT max(rowid) FROM kernels", err));
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) table->last_row = sqlite3_column_int64(statement, 0);
    jm_status status = JM_OK;
    if (rc != SQLITE_ROW)
        status = jm__database_fail(err, db, rc, "sqlite3_step", jm__recording_path(table->recording));
    sqlite3_finalize(statement);
    return status;
}

static jm_status pass(jm__kernel_table *table, sqlite3 *db, bool by_time, jm__kernel_taker take, void *taker,
                      jm_error *err)
{
    const char *path = jm__recording_path(table->recording);
    sqlite3_stmt *statement = NULL;
    JM_TRY(prepare(&statement, table, db, by_time ? in_order : as_written, err));
    sqlite3_bind_int64(statement, 1, table->last_row);
    jm_status status = JM_OK;
    int rc = SQLITE_DONE;
    table->strays = 0;
    while (status == JM_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        jm__kernel kernel;
        if (read_row(&kernel, table, statement))
            status = take(taker, &kernel, err);
        else
            table->strays++;
    }
    if (status == JM_OK && rc != SQLITE_DONE) status = jm__database_fail(err, db, rc, "sqlite3_step", path);
    sqlite3_finalize(statement);
    if (status == JM_OK && table->strays > 0)
        jm__recording_note_damage(table->recording,
                                  "%" PRId64 " kernels refer to what is not there and are left out",
                                  table->strays);
    return status;
}

jm_status jm__kernel_table_each(jm__kernel_table *table, bool by_time, jm__kernel_taker take, void *taker,
                                jm_error *err)
{
    sqlite3 *db;
    JM_TRY(jm__recording_begin(table->recording, &db, err));
    jm_status status = pass(table, db, by_time, take, taker, err);
    jm__recording_end(table->recording, db);
    return status;
}

typedef struct bounds {
    int64_t earliest_ns, latest_ns;
} bounds;

static jm_status widen(void *taker, const jm__kernel *kernel, jm_error *err)
{
    (void)err;
    bounds *seen = taker;
    if (kernel->start_ns < seen->earliest_ns) seen->earliest_ns = kernel->start_ns;
    if (kernel->end_ns > seen->latest_ns) seen->latest_ns = kernel->end_ns;
    return JM_OK;
}

jm_status jm__kernels_bounds(const jm__kernel_source *source, int64_t *earliest_ns, int64_t *latest_ns,
                             jm_error *err)
{
    bounds seen = {INT64_MAX, INT64_MIN};
    if (source->each != NULL) JM_TRY(source->each(source->context, false, widen, &seen, err));
    *earliest_ns = seen.earliest_ns;
    *latest_ns = seen.latest_ns;
    return JM_OK;
}
