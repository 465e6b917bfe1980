/* Kernels of a file, row by row. */
#include "recording/kernel_source.h"

#include "recording/dataset_rows.h"
#include "recording/recording.h"
#include "recording/row.h"

#include <inttypes.h>

/* False: it names what is not there, or no clock gave its times. */
static bool check_row(jm__kernel *kernel, const jm__kernel_table *table)
{
    bool fits = jm__time_is_plausible(kernel->start_ns) && jm__time_is_plausible(kernel->end_ns) &&
                kernel->end_ns >= kernel->start_ns &&
                jm__time_is_plausible(kernel->end_ns - kernel->start_ns);
    if (!fits || kernel->calls < 1 || kernel->class_id < 1 || kernel->stream_id < 1 ||
        (uint64_t)kernel->class_id > table->class_count || (uint64_t)kernel->stream_id > table->stream_count)
        return false;
    bool launched = kernel->launch_ns >= 0 && kernel->launch_ns < kernel->start_ns + 3600 * JM_NS_PER_S;
    if (!launched) kernel->launch_ns = -1;
    return true;
}

jm_status jm__kernel_table_begin(jm__kernel_table *table, sqlite3 *db, jm_error *err)
{
    return jm__recording_last_row(table->recording, db, JM_TABLE_KERNELS, &table->last_row, err);
}

static jm_status pass(jm__kernel_table *table, sqlite3 *db, bool by_time, jm__kernel_taker take, void *taker,
                      jm_error *err)
{
    const char *path = jm__recording_path(table->recording);
    sqlite3_stmt *statement = NULL;
    JM_TRY(jm__recording_select(table->recording, db, JM_TABLE_KERNELS,
                                by_time ? "WHERE rowid <= ?1 ORDER BY start_ns, duration_ns, rowid"
                                        : "WHERE rowid <= ?1 ORDER BY rowid",
                                &statement, err));
    sqlite3_bind_int64(statement, 1, table->last_row);
    jm_status status = JM_OK;
    int rc = SQLITE_DONE;
    table->strays = 0;
    while (status == JM_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        jm__kernel kernel;
        jm__row_read(statement, &jm__tables[JM_TABLE_KERNELS], &kernel);
        if (check_row(&kernel, table))
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
