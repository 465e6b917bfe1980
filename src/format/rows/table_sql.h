/* What SQLite is told about a table, as text. `version`: of the format. */
#ifndef JM_FORMAT_ROWS_TABLE_SQL_H
#define JM_FORMAT_ROWS_TABLE_SQL_H

#include "base/strbuf.h"
#include "format/rows/table.h"

/* CREATE TABLE as that version had it; nothing if it had none. */
void jm__table_sql_create(jm__strbuf *sql, const jm__table *table, int version);

/* Columns of that version in their order, as parameters from 1. `or`: what becomes of a row whose number or
 * key is taken, NULL: as the columns say. */
void jm__table_sql_insert(jm__strbuf *sql, const jm__table *table, int version, const char * or);

/* "SELECT ... FROM ...": all columns of this version, in their order, out of a file of that one. */
void jm__table_sql_select(jm__strbuf *sql, const jm__table *table, int version);

#endif
