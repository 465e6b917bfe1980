/* A row from its struct into SQLite and back, as its table's columns say (format/rows/table.h). */
#ifndef JM_FORMAT_ROW_H
#define JM_FORMAT_ROW_H

#include "format/rows/table.h"

#include <sqlite3.h>

/* Into the parameters of jm__table_sql_insert. Texts and bytes are borrowed until the statement is reset.
 * Binding can only fail for want of memory, and the step that follows reports it. */
void jm__row_bind(sqlite3_stmt *insert, const jm__table *table, const void *row);

/* Out of a line of jm__table_sql_select. Numbers that do not fit their field, and NULL, read as missing.
 * Texts and bytes are borrowed until the next step. */
void jm__row_read(sqlite3_stmt *select, const jm__table *table, void *row);

#endif
