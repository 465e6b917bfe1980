/* Kernels of a file, row by row. */
#include "format/kernel_source.h"

#include "format/dataset_rows.h"
#include "format/recording.h"

#include <inttypes.h>
#include <sys/stat.h>

/* Without `bytes`, which nothing here needs: of ten million rows that is felt. They are the same in all
 * versions of the format. */
#define COLUMNS                                                                                              \
    "SELECT start_ns, duration_ns, class_id, stream_id, span_id, calls, queued_ns FROM kernels WHERE rowid " \
    "<= ?1 "

static int64_t launch_ns(sqlite3_stmt *row, int64_t start_ns)
{
    int64_t queued_ns = sqlite3_column_int64(row, 6);
    bool known =
        sqlite3_column_type(row, 6) != SQLITE_NULL && queued_ns >= -start_ns && queued_ns <= start_ns;
    return known ? start_ns - queued_ns : -1;
}

/* False: it names what is not there, or no clock gave its times. */
static bool read_row(jm__kernel_run *kernel, const jm__kernel_table *table, sqlite3_stmt *row)
{
    int64_t duration_ns = sqlite3_column_int64(row, 1);
    *kernel = (jm__kernel_run){.start_ns = sqlite3_column_int64(row, 0),
                               .class_id = sqlite3_column_int64(row, 2),
                               .stream_id = sqlite3_column_int64(row, 3),
                               .span_id = sqlite3_column_int64(row, 4),
                               .calls = sqlite3_column_int64(row, 5)};
    bool fits = jm__time_is_plausible(kernel->start_ns) && duration_ns >= 0 &&
                jm__time_is_plausible(duration_ns) && jm__time_is_plausible(kernel->start_ns + duration_ns);
    if (!fits) return false;
    kernel->end_ns = kernel->start_ns + duration_ns;
    kernel->launch_ns = launch_ns(row, kernel->start_ns);
    return kernel->calls >= 1 && kernel->class_id >= 1 && kernel->stream_id >= 1 &&
           (uint64_t)kernel->class_id <= table->class_count &&
           (uint64_t)kernel->stream_id <= table->stream_count;
}

/* Of the file that its name leads to now; 0 in memory. */
static void find_file(const jm__kernel_table *table, dev_t *device, ino_t *inode)
{
    struct stat info;
    const char *path = jm__recording_path(table->recording);
    bool there = path != NULL && stat(path, &info) == 0;
    *device = there ? info.st_dev : 0;
    *inode = there ? info.st_ino : 0;
}

static jm_status check_file(const jm__kernel_table *table, jm_error *err)
{
    dev_t device;
    ino_t inode;
    find_file(table, &device, &inode);
    if (device == table->device && inode == table->inode) return JM_OK;
    return jm__fail(err, JM_BUSY, 0, "stat", "%s was replaced or removed while it was read",
                    jm__recording_path(table->recording));
}

jm_status jm__kernel_table_begin(jm__kernel_table *table, sqlite3 *db, jm_error *err)
{
    find_file(table, &table->device, &table->inode);
    return jm__recording_last_row(table->recording, db, JM_TABLE_KERNELS, &table->last_row, err);
}

static jm_status pass(jm__kernel_table *table, sqlite3 *db, bool by_time, jm__kernel_taker take, void *taker,
                      jm_error *err)
{
    const char *path = jm__recording_path(table->recording);
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(
        db, by_time ? COLUMNS "ORDER BY start_ns, duration_ns, rowid" : COLUMNS "ORDER BY rowid", -1,
        &statement, NULL);
    if (rc == SQLITE_ERROR) rc = SQLITE_CORRUPT; /* a column is not there */
    if (rc != SQLITE_OK) return jm__database_fail(err, db, rc, "sqlite3_prepare_v2", path);
    sqlite3_bind_int64(statement, 1, table->last_row);
    jm_status status = JM_OK;
    rc = SQLITE_DONE;
    table->strays = 0;
    while (status == JM_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        jm__kernel_run kernel;
        if (read_row(&kernel, table, statement))
            status = take(taker, &kernel, err);
        else
            table->strays++;
    }
    if (status == JM_OK && rc != SQLITE_DONE) status = jm__database_fail(err, db, rc, "sqlite3_step", path);
    sqlite3_finalize(statement);
    if (status == JM_OK && table->strays > 0)
        status = jm__recording_note_damage(table->recording, err,
                                           "%" PRId64 " kernels refer to what is not there and are left out",
                                           table->strays);
    return status;
}

jm_status jm__kernel_table_each(jm__kernel_table *table, bool by_time, jm__kernel_taker take, void *taker,
                                jm_error *err)
{
    sqlite3 *db;
    JM_TRY(jm__recording_begin(table->recording, &db, err));
    jm_status status = check_file(table, err);
    if (status == JM_OK) status = pass(table, db, by_time, take, taker, err);
    jm__recording_end(table->recording, db);
    return status;
}

typedef struct bounds {
    int64_t earliest_ns, latest_ns;
} bounds;

static jm_status widen(void *taker, const jm__kernel_run *kernel, jm_error *err)
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
