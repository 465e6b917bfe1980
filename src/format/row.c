/* A row from its struct into SQLite and back. */
#include "format/row.h"

#include "base/no_fork.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields are reached by their offset. */
#define GET(type, row, column, value) memcpy(&(value), (const char *)(row) + (column)->offset, sizeof(type))
#define PUT(type, row, column, value)                                                                        \
    do {                                                                                                     \
        type field_ = (value);                                                                               \
        memcpy((char *)(row) + (column)->offset, &field_, sizeof field_);                                    \
    } while (0)

static int64_t integer_in(const void *row, const jm__column *column)
{
    int64_t wide = 0;
    int32_t narrow = 0;
    uint32_t positive = 0;
    bool yes = false;
    switch (column->kind) {
    case JM_COLUMN_INT32:
        GET(int32_t, row, column, narrow);
        return narrow;
    case JM_COLUMN_BOOL:
        GET(bool, row, column, yes);
        return yes;
    case JM_COLUMN_UINT32:
    case JM_COLUMN_WORD:
    case JM_COLUMN_DERIVED:
        GET(uint32_t, row, column, positive);
        return positive;
    default:
        GET(int64_t, row, column, wide);
        return wide;
    }
}

static int64_t base_in(const void *row, const jm__column *column)
{
    int64_t base_ns;
    memcpy(&base_ns, (const char *)row + column->base, sizeof base_ns);
    return base_ns;
}

/* ---- into the file */

static void bind_integer(sqlite3_stmt *insert, int at, const jm__column *column, const void *row)
{
    int64_t value = integer_in(row, column);
    if (!column->required && value == (int64_t)column->missing)
        sqlite3_bind_null(insert, at);
    else
        sqlite3_bind_int64(insert, at, value);
}

/* The fast path for most columns of kernels, up to a million rows a second. */
static void bind_int64(sqlite3_stmt *insert, int at, const jm__column *column, const void *row)
{
    int64_t value;
    GET(int64_t, row, column, value);
    if (!column->required && value == (int64_t)column->missing)
        sqlite3_bind_null(insert, at);
    else if (column->kind == JM_COLUMN_AFTER)
        sqlite3_bind_int64(insert, at, value - base_in(row, column));
    else if (column->kind == JM_COLUMN_BEFORE)
        sqlite3_bind_int64(insert, at, base_in(row, column) - value);
    else
        sqlite3_bind_int64(insert, at, value);
}

static void bind_real(sqlite3_stmt *insert, int at, const jm__column *column, const void *row)
{
    double value;
    GET(double, row, column, value);
    if (isnan(value) || (!column->required && value == column->missing))
        sqlite3_bind_null(insert, at);
    else
        sqlite3_bind_double(insert, at, value);
}

/* In optional columns "" means unknown. */
static void bind_text(sqlite3_stmt *insert, int at, const jm__column *column, const char *text)
{
    bool none = text == NULL || text[0] == '\0';
    if (none && !column->required)
        sqlite3_bind_null(insert, at);
    else
        sqlite3_bind_text(insert, at, text == NULL ? "" : text, -1, SQLITE_STATIC);
}

static void bind_word(sqlite3_stmt *insert, int at, const jm__column *column, const void *row)
{
    uint64_t word = (uint64_t)integer_in(row, column);
    bind_text(insert, at, column, word < column->word_count ? column->words[word] : "");
}

static void bind_blob(sqlite3_stmt *insert, int at, const jm__column *column, const void *row)
{
    jm__bytes bytes;
    GET(jm__bytes, row, column, bytes);
    sqlite3_bind_blob64(insert, at, bytes.at, bytes.size, SQLITE_STATIC);
}

static void bind_number(sqlite3_stmt *insert, int at, const jm__column *column, const void *row)
{
    jm_payload_kind kind;
    jm_payload value;
    char digits[24];
    memcpy(&kind, (const char *)row + column->base, sizeof kind);
    GET(jm_payload, row, column, value);
    if (kind == JM_PAYLOAD_REAL && !isnan(value.real)) {
        sqlite3_bind_double(insert, at, value.real);
    } else if (kind == JM_PAYLOAD_INTEGER || (kind == JM_PAYLOAD_NATURAL && value.natural <= INT64_MAX)) {
        sqlite3_bind_int64(insert, at, value.integer);
    } else if (kind == JM_PAYLOAD_NATURAL) {
        snprintf(digits, sizeof digits, "%" PRIu64, value.natural);
        sqlite3_bind_text(insert, at, digits, -1, SQLITE_TRANSIENT);
    } else {
        sqlite3_bind_null(insert, at);
    }
}

static void bind_column(sqlite3_stmt *insert, int at, const jm__column *column, const void *row)
{
    const char *text;
    switch (column->kind) {
    case JM_COLUMN_ROW_ID:
    case JM_COLUMN_INT64:
    case JM_COLUMN_AFTER:
    case JM_COLUMN_BEFORE:
        bind_int64(insert, at, column, row);
        break;
    case JM_COLUMN_REAL:
        bind_real(insert, at, column, row);
        break;
    case JM_COLUMN_CHARS:
        bind_text(insert, at, column, (const char *)row + column->offset);
        break;
    case JM_COLUMN_TEXT:
        GET(const char *, row, column, text);
        bind_text(insert, at, column, text);
        break;
    case JM_COLUMN_WORD:
    case JM_COLUMN_DERIVED:
        bind_word(insert, at, column, row);
        break;
    case JM_COLUMN_BLOB:
        bind_blob(insert, at, column, row);
        break;
    case JM_COLUMN_NUMBER:
        bind_number(insert, at, column, row);
        break;
    default:
        bind_integer(insert, at, column, row);
    }
}

/* Texts and bytes are borrowed until the statement is reset. Binding fails only if memory is out, and the
 * step that follows reports that. */
static void bind_row(sqlite3_stmt *insert, const jm__table *table, const void *row)
{
    int at = 0;
    for (size_t i = 0; i < table->column_count; i++)
        if (jm__column_in(&table->columns[i], JM_RECORDING_VERSION))
            bind_column(insert, ++at, &table->columns[i], row);
}

jm_status jm__inserter_prepare(jm__inserter *inserter, sqlite3 *db, const char *path, jm_error *err)
{
    static const char span_end[] =
        "UPDATE spans SET end_ns=?2, samples=iif(?3>0, ?3, samples), tokens=?4 WHERE id=?1";
    jm_status status = jm__database_prepare(db, &inserter->span_end, span_end, path, err);
    for (int table = 0; status == JM_OK && table < JM_TABLE_COUNT; table++) {
        jm__strbuf sql = {0};
        jm__table_sql_insert(&sql, &jm__tables[table], JM_RECORDING_VERSION, NULL);
        status = sql.failed ? jm__no_memory(err, "jm__inserter_prepare")
                            : jm__database_prepare(db, &inserter->rows[table], sql.text, path, err);
        jm__strbuf_free(&sql);
    }
    return status;
}

void jm__inserter_free(jm__inserter *inserter)
{
    jm__no_fork_begin();
    for (int table = 0; table < JM_TABLE_COUNT; table++)
        sqlite3_finalize(inserter->rows[table]);
    sqlite3_finalize(inserter->span_end);
    jm__no_fork_end();
    *inserter = (jm__inserter){0};
}

static int finish(sqlite3_stmt *statement)
{
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_DONE) return sqlite3_reset(statement);
    sqlite3_reset(statement);
    return rc == SQLITE_OK ? SQLITE_ERROR : rc;
}

int jm__insert(jm__inserter *inserter, jm__table_id table, const void *row)
{
    bind_row(inserter->rows[table], &jm__tables[table], row);
    return finish(inserter->rows[table]);
}

static int insert_span_end(jm__inserter *inserter, const jm__span_end *end)
{
    sqlite3_bind_int64(inserter->span_end, 1, end->span_id);
    if (end->end_ns == -1)
        sqlite3_bind_null(inserter->span_end, 2);
    else
        sqlite3_bind_int64(inserter->span_end, 2, end->end_ns);
    sqlite3_bind_int64(inserter->span_end, 3, end->samples);
    if (end->tokens > 0)
        sqlite3_bind_int64(inserter->span_end, 4, end->tokens);
    else
        sqlite3_bind_null(inserter->span_end, 4);
    return finish(inserter->span_end);
}

int jm__insert_rows(jm__inserter *inserter, jm__table_id table, const jm__row_list *list, size_t first)
{
    int rc = SQLITE_OK;
    for (size_t i = first; rc == SQLITE_OK && i < list->count; i++)
        rc = jm__insert(inserter, table, jm__row_at(list, table, i));
    return rc;
}

int jm__insert_batch(jm__inserter *inserter, const jm__batch *batch)
{
    int rc = SQLITE_OK;
    for (int table = 0; rc == SQLITE_OK && table < JM_TABLE_COUNT; table++)
        rc = jm__insert_rows(inserter, (jm__table_id)table, &batch->rows[table], 0);
    for (size_t i = 0; rc == SQLITE_OK && i < batch->span_ends.count; i++)
        rc = insert_span_end(inserter, &batch->span_ends.items[i]);
    return rc;
}

int jm__insert_meta(jm__inserter *inserter, const char *key, const char *value)
{
    jm__meta row = {key, value};
    return jm__insert(inserter, JM_TABLE_META, &row);
}

int jm__insert_number(jm__inserter *inserter, const char *key, int64_t value)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, value);
    return jm__insert_meta(inserter, key, number);
}

/* ---- out of the file: NULL reads as 0, so the type is checked only for 0 */

static void read_integer(sqlite3_stmt *select, int at, const jm__column *column, void *row)
{
    int64_t value = sqlite3_column_int64(select, at), missing = (int64_t)column->missing;
    if (value == 0 && missing != 0 && sqlite3_column_type(select, at) == SQLITE_NULL) value = missing;
    switch (column->kind) {
    case JM_COLUMN_INT32:
        PUT(int32_t, row, column, (int32_t)(value >= INT32_MIN && value <= INT32_MAX ? value : missing));
        break;
    case JM_COLUMN_UINT32:
        PUT(uint32_t, row, column, (uint32_t)(value >= 0 && value <= UINT32_MAX ? value : missing));
        break;
    case JM_COLUMN_BOOL:
        PUT(bool, row, column, value != 0);
        break;
    default:
        PUT(int64_t, row, column, value);
    }
}

/* On overflow the time becomes INT64_MIN, which is rejected as implausible later. */
static void read_distance(sqlite3_stmt *select, int at, const jm__column *column, void *row)
{
    int64_t distance_ns = sqlite3_column_int64(select, at), t_ns;
    bool fits = column->kind == JM_COLUMN_AFTER
                    ? !__builtin_add_overflow(base_in(row, column), distance_ns, &t_ns)
                    : !__builtin_sub_overflow(base_in(row, column), distance_ns, &t_ns);
    if (!fits) t_ns = INT64_MIN;
    if (distance_ns == 0 && sqlite3_column_type(select, at) == SQLITE_NULL) t_ns = (int64_t)column->missing;
    PUT(int64_t, row, column, t_ns);
}

static void read_chars(sqlite3_stmt *select, int at, const jm__column *column, void *row)
{
    const char *text = (const char *)sqlite3_column_text(select, at);
    char *to = (char *)row + column->offset;
    size_t length = text == NULL ? 0 : strnlen(text, column->size - 1);
    if (length > 0) memcpy(to, text, length);
    to[length] = '\0';
}

static void read_text(sqlite3_stmt *select, int at, const jm__column *column, void *row)
{
    const char *text = (const char *)sqlite3_column_text(select, at);
    PUT(const char *, row, column, text == NULL && column->required ? "" : text);
}

static void read_word(sqlite3_stmt *select, int at, const jm__column *column, void *row)
{
    const char *text = (const char *)sqlite3_column_text(select, at);
    uint32_t word = 0;
    while (word < column->word_count && (text == NULL || strcmp(column->words[word], text) != 0))
        word++;
    PUT(uint32_t, row, column, word);
}

static void read_blob(sqlite3_stmt *select, int at, const jm__column *column, void *row)
{
    jm__bytes bytes = {.at = sqlite3_column_blob(select, at)};
    bytes.size = (size_t)sqlite3_column_bytes(select, at);
    PUT(jm__bytes, row, column, bytes);
}

/* A text that is no natural number reads as none. */
static void read_number(sqlite3_stmt *select, int at, const jm__column *column, void *row)
{
    jm_payload_kind kind = JM_PAYLOAD_NONE;
    jm_payload value = {0};
    char *end;
    const char *text;
    switch (sqlite3_column_type(select, at)) {
    case SQLITE_INTEGER:
        kind = JM_PAYLOAD_INTEGER;
        value.integer = sqlite3_column_int64(select, at);
        break;
    case SQLITE_FLOAT:
        kind = JM_PAYLOAD_REAL;
        value.real = sqlite3_column_double(select, at);
        break;
    case SQLITE_TEXT:
        text = (const char *)sqlite3_column_text(select, at);
        if (text == NULL || text[0] < '0' || text[0] > '9') break;
        value.natural = strtoull(text, &end, 10);
        if (*end == '\0') kind = JM_PAYLOAD_NATURAL;
        break;
    default:
        break;
    }
    memcpy((char *)row + column->base, &kind, sizeof kind);
    PUT(jm_payload, row, column, value);
}

static void read_column(sqlite3_stmt *select, int at, const jm__column *column, void *row)
{
    switch (column->kind) {
    case JM_COLUMN_REAL:
        PUT(double, row, column,
            sqlite3_column_type(select, at) == SQLITE_NULL ? column->missing
                                                           : sqlite3_column_double(select, at));
        break;
    case JM_COLUMN_CHARS:
        read_chars(select, at, column, row);
        break;
    case JM_COLUMN_TEXT:
        read_text(select, at, column, row);
        break;
    case JM_COLUMN_WORD:
        read_word(select, at, column, row);
        break;
    case JM_COLUMN_AFTER:
    case JM_COLUMN_BEFORE:
        read_distance(select, at, column, row);
        break;
    case JM_COLUMN_BLOB:
        read_blob(select, at, column, row);
        break;
    case JM_COLUMN_NUMBER:
        read_number(select, at, column, row);
        break;
    case JM_COLUMN_DERIVED:
        break;
    default:
        read_integer(select, at, column, row);
    }
}

void jm__row_read(sqlite3_stmt *select, const jm__table *table, void *row)
{
    int at = 0;
    for (size_t i = 0; i < table->column_count; i++)
        if (jm__column_in(&table->columns[i], JM_RECORDING_VERSION))
            read_column(select, at++, &table->columns[i], row);
}
