/* Which row of `boards` the GPU with an index is. */
#include "base/strbuf.h"
#include "format/recording.h"

#include <stdio.h>

/* `column`: of the index. `what`: what people call it. */
static jm_status find(const jm_recording *recording, sqlite3 *db, const char *column, const char *what,
                      int index, int64_t *id, jm_error *err)
{
    char sql[160];
    sqlite3_stmt *rows;
    snprintf(sql, sizeof sql, "SELECT id, %s FROM boards WHERE backend <> 'rapl' AND %s NOT NULL ORDER BY %s",
             column, column, column);
    JM_TRY(jm__recording_check_table(recording, JM_TABLE_BOARDS, err));
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
        status = jm__fail(err, JM_NOT_FOUND, 0, NULL, "no %s %d; this recording has: %s", what, index,
                          others.length > 0 ? others.text : "none");
    }
    jm__strbuf_free(&others);
    return status;
}

static jm_status find_in(jm_recording *recording, const char *column, const char *what, int index,
                         int64_t *id, jm_error *err)
{
    sqlite3 *db;
    JM_TRY(jm__recording_begin(recording, &db, err));
    jm_status status = find(recording, db, column, what, index, id, err);
    jm__recording_end(recording, db);
    return status;
}

jm_status jm_recording_board_id(jm_recording *recording, int index, int64_t *id, jm_error *err)
{
    return find_in(recording, "board_index", "GPU", index, id, err);
}

jm_status jm_recording_cuda_board_id(jm_recording *recording, int cuda_index, int64_t *id, jm_error *err)
{
    return find_in(recording, "cuda_index", "CUDA device", cuda_index, id, err);
}
