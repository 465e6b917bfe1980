/* Rows into SQL. */
#include "format/insert.h"

#include "base/no_fork.h"
#include "format/row.h"
#include "format/rows/table_sql.h"

#include <inttypes.h>
#include <stdio.h>

jm_status jm__inserter_prepare(jm__inserter *inserter, sqlite3 *db, const char *path, jm_error *err)
{
    static const char span_end[] =
        "UPDATE spans SET end_ns=?2, samples=iif(?3>0, ?3, samples), tokens=?4 WHERE id=?1";
    jm_status status = jm__database_prepare(db, &inserter->span_end, span_end, path, err);
    for (int table = 0; status == JM_OK && table < JM_TABLE_COUNT; table++) {
        jm__strbuf sql = {0};
        jm__table_sql_insert(&sql, &jm__tables[table], JM_RECORDING_VERSION, NULL);
        status = sql.failed ? jm__no_memory(err, "jm__inserter_prepare")
                            : jm__database_prepare(db, &inserter->rows[table], sql.text, path, err);
        jm__strbuf_free(&sql);
    }
    return status;
}

void jm__inserter_free(jm__inserter *inserter)
{
    jm__no_fork_begin();
    for (int table = 0; table < JM_TABLE_COUNT; table++)
        sqlite3_finalize(inserter->rows[table]);
    sqlite3_finalize(inserter->span_end);
    jm__no_fork_end();
    *inserter = (jm__inserter){0};
}

static int finish(sqlite3_stmt *statement)
{
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_DONE) return sqlite3_reset(statement);
    sqlite3_reset(statement);
    return rc == SQLITE_OK ? SQLITE_ERROR : rc;
}

int jm__insert(jm__inserter *inserter, jm__table_id table, const void *row)
{
    jm__row_bind(inserter->rows[table], &jm__tables[table], row);
    return finish(inserter->rows[table]);
}

static int insert_span_end(jm__inserter *inserter, const jm__span_end *end)
{
    sqlite3_bind_int64(inserter->span_end, 1, end->span_id);
    if (end->end_ns == -1)
        sqlite3_bind_null(inserter->span_end, 2);
    else
        sqlite3_bind_int64(inserter->span_end, 2, end->end_ns);
    sqlite3_bind_int64(inserter->span_end, 3, end->samples);
    if (end->tokens > 0)
        sqlite3_bind_int64(inserter->span_end, 4, end->tokens);
    else
        sqlite3_bind_null(inserter->span_end, 4);
    return finish(inserter->span_end);
}

/* Every row of one vector of the batch. */
#define INSERT_ALL(vec, table)                                                                               \
    for (size_t i = 0; rc == SQLITE_OK && i < batch->vec.count; i++)                                         \
    rc = jm__insert(inserter, table, &batch->vec.items[i])

int jm__insert_batch(jm__inserter *inserter, const jm__batch *batch)
{
    int rc = SQLITE_OK;
    INSERT_ALL(processes, JM_TABLE_PROCESSES);
    INSERT_ALL(spans, JM_TABLE_SPANS);
    for (size_t i = 0; rc == SQLITE_OK && i < batch->span_ends.count; i++)
        rc = insert_span_end(inserter, &batch->span_ends.items[i]);
    INSERT_ALL(readings, JM_TABLE_READINGS);
    INSERT_ALL(kernels, JM_TABLE_KERNELS);
    INSERT_ALL(counter_blocks, JM_TABLE_COUNTER_BLOCKS);
    INSERT_ALL(marks, JM_TABLE_MARKS);
    INSERT_ALL(events, JM_TABLE_EVENTS);
    INSERT_ALL(losses, JM_TABLE_LOSSES);
    INSERT_ALL(anchors, JM_TABLE_ANCHORS);
    INSERT_ALL(meta, JM_TABLE_META);
    return rc;
}

int jm__insert_meta(jm__inserter *inserter, const char *key, const char *value)
{
    jm__meta row = {key, value};
    return jm__insert(inserter, JM_TABLE_META, &row);
}

int jm__insert_number(jm__inserter *inserter, const char *key, int64_t value)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, value);
    return jm__insert_meta(inserter, key, number);
}
