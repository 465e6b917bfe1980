/* What SQLite is told about a table. */
#include "format/rows/table_sql.h"

static const char *type_of(const jm__column *column)
{
    switch (column->kind) {
    case JM_COLUMN_ROW_ID:
        return "INTEGER PRIMARY KEY";
    case JM_COLUMN_REAL:
        return "REAL";
    case JM_COLUMN_CHARS:
    case JM_COLUMN_TEXT:
    case JM_COLUMN_WORD:
    case JM_COLUMN_TOLD:
        return "TEXT";
    case JM_COLUMN_BLOB:
        return "BLOB";
    case JM_COLUMN_NUMBER:
        return ""; /* as it comes */
    case JM_COLUMN_INT64:
    case JM_COLUMN_INT32:
    case JM_COLUMN_UINT32:
    case JM_COLUMN_BOOL:
    case JM_COLUMN_AFTER:
    case JM_COLUMN_BEFORE:
    case JM_COLUMN_GONE:
        break;
    }
    return "INTEGER";
}

/* The next column of that version at or after `at`; column_count: there is none. */
static size_t next_column(const jm__table *table, int version, size_t at)
{
    while (at < table->column_count && !jm__column_in(&table->columns[at], version))
        at++;
    return at;
}

void jm__table_sql_create(jm__strbuf *sql, const jm__table *table, int version)
{
    if (table->since > version) return;
    const char *between = "";
    jm__strbuf_format(sql, "CREATE TABLE %s(", table->name);
    for (size_t i = next_column(table, version, 0); i < table->column_count;
         i = next_column(table, version, i + 1)) {
        const jm__column *column = &table->columns[i];
        const char *type = type_of(column);
        jm__strbuf_format(sql, "%s%s%s%s%s%s", between, column->name, type[0] != '\0' ? " " : "", type,
                          column->required ? " NOT NULL" : "", column->is_key ? " PRIMARY KEY" : "");
        between = ", ";
    }
    jm__strbuf_add(sql, ");\n");
}

/* A row that is written again keeps its place: recovery knows that no page holds stale ones. */
static void add_update(jm__strbuf *sql, const jm__table *table, int version)
{
    const jm__column *first = &table->columns[0];
    if (!first->is_key && !first->is_updated) return;
    const char *between = "";
    jm__strbuf_format(sql, " ON CONFLICT(%s) DO UPDATE SET ", first->name);
    for (size_t i = next_column(table, version, 1); i < table->column_count;
         i = next_column(table, version, i + 1)) {
        const char *name = table->columns[i].name;
        jm__strbuf_format(sql, "%s%s=excluded.%s", between, name, name);
        between = ", ";
    }
}

void jm__table_sql_insert(jm__strbuf *sql, const jm__table *table, int version, const char * or)
{
    const char *between = "";
    jm__strbuf_format(sql, "INSERT %s%s INTO %s VALUES(", or == NULL ? "" : "OR ", or == NULL ? "" : or,
                      table->name);
    for (size_t i = next_column(table, version, 0); i < table->column_count;
         i = next_column(table, version, i + 1)) {
        jm__strbuf_format(sql, "%s?", between);
        between = ",";
    }
    jm__strbuf_add(sql, ")");
    if (or == NULL) add_update(sql, table, version);
}

void jm__table_sql_select(jm__strbuf *sql, const jm__table *table, int version)
{
    const char *between = "";
    jm__strbuf_add(sql, "SELECT ");
    for (size_t i = next_column(table, JM_RECORDING_VERSION, 0); i < table->column_count;
         i = next_column(table, JM_RECORDING_VERSION, i + 1)) {
        const jm__column *column = &table->columns[i];
        jm__strbuf_format(sql, "%s%s", between, column->since > version ? column->instead : column->name);
        between = ", ";
    }
    jm__strbuf_format(sql, " FROM %s", table->name);
}
