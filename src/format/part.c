/* A file that a writer writes. */
#include "format/part.h"

#include "format/journal.h"

jm_status jm__part_open(jm__part *part, const char *path, bool overwrite, jm_error *err)
{
    *part = (jm__part){0};
    jm_status status = path == NULL ? JM_OK : jm__claim_make(&part->claim, path, overwrite, err);
    part->path = part->claim.path;
    if (status == JM_OK && path != NULL && (part->guard = jm__guard_create(path)) == NULL)
        status = jm__no_memory(err, "jm__part_open");
    if (status == JM_OK) status = jm__database_create(&part->db, path, JM_RECORDING_VERSION, err);
    if (status == JM_OK) status = jm__inserter_prepare(&part->inserter, part->db, path, err);
    return status;
}

bool jm__part_is_read(jm__part *part)
{
    jm__database_waits(part->db, false);
    int rc = sqlite3_wal_checkpoint_v2(part->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    jm__database_waits(part->db, true);
    return rc == SQLITE_BUSY;
}

jm_status jm__part_leave_one_file(jm__part *part, jm_error *err)
{
    jm__inserter_free(&part->inserter);
    jm__guard_forget_journal(part->guard);
    return jm__journal_end(part->db, part->path, err);
}

static void close_database(jm__part *part)
{
    if (jm__guard_check(part->guard, NULL) == JM_OK) { /* else SQLite would close what is not its own */
        jm__inserter_free(&part->inserter);
        jm__database_close(part->db);
    }
    jm__guard_free(part->guard);
}

void jm__part_close(jm__part *part)
{
    close_database(part);
    jm__claim_free(&part->claim);
    *part = (jm__part){0};
}

void jm__part_discard(jm__part *part)
{
    close_database(part); /* before the files move: SQLite looks for its journal by name */
    jm__claim_undo(&part->claim);
    *part = (jm__part){0};
}
