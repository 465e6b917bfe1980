/* The rows of a recording into a new one: out of the tables of its version by the one way that there is, into
 * those of this version. */
#include "format/rewrite.h"

#include <string.h>

typedef struct copying {
    jm__rewriting *to;
    jm__table_id table;
    int rc; /* of the new database */
} copying;

static bool take(void *context, const void *row)
{
    copying *c = context;
    const jm__any_row *any = row;
    if (c->table == JM_TABLE_META && strcmp(any->meta.key, "closed") == 0) return true;
    int rc = jm__insert(c->to->inserter, c->table, row);
    if ((rc & 0xff) == SQLITE_CONSTRAINT) return true; /* a number twice, nothing where something must be */
    if (c->table == JM_TABLE_COUNTER_SETS && any->counter_sets.id > c->to->counter_sets)
        c->to->counter_sets = any->counter_sets.id;
    c->rc = rc;
    return rc == SQLITE_OK;
}

static jm_status copy_tables(jm__rewriting *to, jm_recording *from, sqlite3 *db, jm_error *err)
{
    for (int table = 0; table < JM_TABLE_COUNT; table++) {
        copying c = {.to = to, .table = (jm__table_id)table, .rc = SQLITE_OK};
        jm_status status = jm__recording_rows(from, db, c.table, take, &c, err);
        if (c.rc != SQLITE_OK) return jm__database_fail(err, to->db, c.rc, "sqlite3_step", to->path);
        if (status != JM_OK) return status;
    }
    return JM_OK;
}

static jm_status rewrite(jm__rewriting *to, jm_recording *from, jm_error *err)
{
    sqlite3 *db;
    to->counter_sets = 0;
    JM_TRY(jm__recording_begin(from, &db, err));
    jm_status status = jm__database_run(to->db, "BEGIN", to->path, err);
    if (status == JM_OK) status = copy_tables(to, from, db, err);
    if (status == JM_OK) status = jm__database_run(to->db, "COMMIT", to->path, err);
    if (status != JM_OK) sqlite3_exec(to->db, "ROLLBACK", NULL, NULL, NULL); /* may not have begun */
    jm__recording_end(from, db);
    return status;
}

jm_status jm__rewrite(jm__rewriting *to, jm_recording *from, jm_error *err)
{
    jm_status status = rewrite(to, from, err);
    if (status == JM_OK) return JM_OK;
    JM_TRY(jm__recording_recover(from, status, err));
    return rewrite(to, from, err);
}
