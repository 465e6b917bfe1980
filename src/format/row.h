/* A row from its struct into SQLite and back, as its table's columns say (format/rows/table.h). */
#ifndef JM_FORMAT_ROW_H
#define JM_FORMAT_ROW_H

#include "format/batch.h"
#include "format/database.h"

/* One prepared statement a table. */
typedef struct jm__inserter {
    sqlite3_stmt *rows[JM_TABLE_COUNT];
    sqlite3_stmt *span_end; /* of a span that is in the file already */
} jm__inserter;

jm_status jm__inserter_prepare(jm__inserter *inserter, sqlite3 *db, const char *path, jm_error *err);
void jm__inserter_free(jm__inserter *inserter);

/* One row of that table's struct. SQLite's result code: SQLITE_OK or what went wrong. */
int jm__insert(jm__inserter *inserter, jm__table_id table, const void *row);

/* A fact of the table `meta`. */
int jm__insert_meta(jm__inserter *inserter, const char *key, const char *value);
int jm__insert_number(jm__inserter *inserter, const char *key, int64_t value);

/* All rows of a batch. */
int jm__insert_batch(jm__inserter *inserter, const jm__batch *batch);

/* Out of a line of jm__table_sql_select. Numbers that do not fit their field, and NULL, read as missing.
 * Texts and bytes are borrowed until the next step. */
void jm__row_read(sqlite3_stmt *select, const jm__table *table, void *row);

#endif
