/* Rows from structs into SQLite and back, by the columns of format/rows/table.h. */
#ifndef JM_FORMAT_ROW_H
#define JM_FORMAT_ROW_H

#include "format/batch.h"
#include "format/database.h"

/* One prepared statement per table. */
typedef struct jm__inserter {
    sqlite3_stmt *rows[JM_TABLE_COUNT];
    sqlite3_stmt *span_end; /* for a span that is already in the file */
} jm__inserter;

jm_status jm__inserter_prepare(jm__inserter *inserter, sqlite3 *db, const char *path, jm_error *err);
void jm__inserter_free(jm__inserter *inserter);

/* Inserts one row of that table's struct. Returns SQLite's result code, SQLITE_OK on success. */
int jm__insert(jm__inserter *inserter, jm__table_id table, const void *row);

/* Inserts a row of the table `meta`. */
int jm__insert_meta(jm__inserter *inserter, const char *key, const char *value);
int jm__insert_number(jm__inserter *inserter, const char *key, int64_t value);

/* Inserts the rows of a list from `first` on. */
int jm__insert_rows(jm__inserter *inserter, jm__table_id table, const jm__row_list *list, size_t first);

/* Inserts all rows of a batch. */
int jm__insert_batch(jm__inserter *inserter, const jm__batch *batch);

/* Reads a row of jm__table_sql_select. NULL and numbers that do not fit their field read as missing. Texts
 * and bytes are borrowed until the next step. */
void jm__row_read(sqlite3_stmt *select, const jm__table *table, void *row);

#endif
