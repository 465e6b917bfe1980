/* Rows into SQL: one prepared statement a table. */
#ifndef JM_RECORDING_INSERT_H
#define JM_RECORDING_INSERT_H

#include "recording/batch.h"
#include "recording/database.h"

/* name, statement */
#define JM_INSERT_MAP(X)                                                                                     \
    X(META, "INSERT INTO meta VALUES(?1,?2) ON CONFLICT(key) DO UPDATE SET value=excluded.value")            \
    X(BOARD, "INSERT INTO boards VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)")                    \
    X(SENSOR, "INSERT INTO sensors VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17)")      \
    X(READING, "INSERT INTO readings VALUES(?1,?2,?3)")                                                      \
    X(PROCESS,                                                                                               \
      "REPLACE INTO processes VALUES(?1,?2,?3,?4,coalesce(?5,(SELECT command FROM processes WHERE id=?1)))") \
    X(NAME, "INSERT INTO names VALUES(?1,?2)")                                                               \
    X(SPAN_KIND, "INSERT INTO span_kinds VALUES(?1,?2,?3)")                                                  \
    X(SPAN, "INSERT INTO spans VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)")                                      \
    X(SPAN_END, "UPDATE spans SET end_ns=?2 WHERE id=?1")                                                    \
    X(MARK, "INSERT INTO marks VALUES(?1,?2,?3,?4,?5)")                                                      \
    X(KERNEL_CLASS, "INSERT INTO kernel_classes VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9)")                         \
    X(STREAM, "INSERT INTO streams VALUES(?1,?2,?3,?4,?5)")                                                  \
    X(KERNEL, "INSERT INTO kernels VALUES(?1,?2,?3,?4,?5,?6,?7,?8)")                                         \
    X(LOSS, "INSERT INTO losses VALUES(?1,?2,?3,?4,?5)")                                                     \
    X(EVENT, "INSERT INTO events VALUES(?1,?2,?3,?4,?5)")                                                    \
    X(ANCHOR, "INSERT INTO anchors VALUES(?1,?2)")

typedef enum jm__insert_kind {
#define X(name, sql) JM_INSERT_##name,
    JM_INSERT_MAP(X)
#undef X
        JM_INSERT_COUNT
} jm__insert_kind;

typedef struct jm__inserter {
    sqlite3 *db;
    sqlite3_stmt *statements[JM_INSERT_COUNT];
} jm__inserter;

jm_status jm__inserter_prepare(jm__inserter *inserter, sqlite3 *db, const char *path, jm_error *err);
void jm__inserter_free(jm__inserter *inserter);

/* SQLite's result code: SQLITE_OK or what went wrong. */
int jm__insert_meta(jm__inserter *inserter, const char *key, const char *value);
int jm__insert_board(jm__inserter *inserter, const jm_board *board);
int jm__insert_sensor(jm__inserter *inserter, const jm_sensor *sensor);
int jm__insert_name(jm__inserter *inserter, int64_t id, const char *text);
int jm__insert_span_kind(jm__inserter *inserter, jm_span_kind kind);
int jm__insert_class(jm__inserter *inserter, const jm__kernel_class *kernel_class);
int jm__insert_stream(jm__inserter *inserter, const jm__stream *stream);
int jm__insert_loss(jm__inserter *inserter, const jm__loss *loss);

/* All rows of a batch. */
int jm__insert_batch(jm__inserter *inserter, const jm__batch *batch);

const char *jm__work_text(jm__work work);
const char *jm__event_text(jm_event_kind kind);

#endif
