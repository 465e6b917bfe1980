/* Which row of `boards` the GPU with an index is. */
#include "base/strbuf.h"
#include "recording/recording.h"

static jm_status find(sqlite3 *db, int index, int64_t *id, jm_error *err)
{
    static const char sql[] = "SELECT id, board_index FROM boards WHERE backend <> 'rapl' AND board_index "
                              "NOT NULL ORDER BY board_index";
    sqlite3_stmt *rows;
    JM_TRY(jm__database_check_table(db, "boards", NULL, err));
    JM_TRY(jm__database_prepare(db, &rows, sql, NULL, err));
    jm__strbuf others = {0};
    bool found = false;
    while (!found && sqlite3_step(rows) == SQLITE_ROW) {
        found = sqlite3_column_int(rows, 1) == index;
        *id = sqlite3_column_int64(rows, 0);
        jm__strbuf_format(&others, "%s%d", others.length > 0 ? ", " : "", sqlite3_column_int(rows, 1));
    }
    sqlite3_finalize(rows);
    jm_status status = JM_OK;
    if (!found) {
        status = jm__fail(err, JM_NOT_FOUND, 0, NULL, "no GPU %d; this recording has: %s", index,
                          others.length > 0 ? others.text : "none");
    }
    jm__strbuf_free(&others);
    return status;
}

jm_status jm_recording_board_id(jm_recording *recording, int index, int64_t *id, jm_error *err)
{
    sqlite3 *db;
    JM_TRY(jm__recording_begin(recording, &db, err));
    jm_status status = find(db, index, id, err);
    jm__recording_end(recording, db);
    return status;
}
