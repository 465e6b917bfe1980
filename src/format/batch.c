/* Rows that wait for the next commit, in bounded memory. */
#include "format/batch.h"

#include "base/search.h"

#include <string.h>

/* ---- rows of one table */

/* The text or bytes that a column points to. */
static jm__bytes pointed_to(const jm__column *column, const void *row)
{
    jm__bytes bytes = {0};
    const char *at = (const char *)row + column->offset;
    if (column->kind == JM_COLUMN_BLOB) memcpy(&bytes, at, sizeof bytes);
    if (column->kind == JM_COLUMN_TEXT) memcpy(&bytes.at, at, sizeof bytes.at);
    if (column->kind == JM_COLUMN_TEXT && bytes.at != NULL) bytes.size = strlen(bytes.at) + 1;
    return bytes;
}

static size_t pointed_bytes(const jm__table *table, const void *row)
{
    size_t bytes = 0;
    for (size_t i = 0; i < table->column_count; i++)
        bytes += pointed_to(&table->columns[i], row).size;
    return bytes;
}

static bool has_pointers(const jm__table *table)
{
    for (size_t i = 0; i < table->column_count; i++)
        if (table->columns[i].kind == JM_COLUMN_TEXT || table->columns[i].kind == JM_COLUMN_BLOB) return true;
    return false;
}

void jm__owned_free(const void *memory)
{
    union {
        const void *borrowed;
        void *owned;
    } cast = {memory};
    free(cast.owned);
}

static void free_owned(const jm__table *table, const void *row)
{
    for (size_t i = 0; i < table->column_count; i++)
        jm__owned_free(pointed_to(&table->columns[i], row).at);
}

/* Replaces what the row points to by copies; false if memory is out, and then there are none. */
static bool copy_owned(const jm__table *table, void *row)
{
    bool copied = true;
    for (size_t i = 0; i < table->column_count; i++) {
        jm__bytes from = pointed_to(&table->columns[i], row);
        if (from.at == NULL) continue;
        void *copy = copied ? malloc(from.size) : NULL;
        copied = copy != NULL;
        if (copied) memcpy(copy, from.at, from.size);
        memcpy((char *)row + table->columns[i].offset, &copy, sizeof copy); /* jm__bytes begins with it */
    }
    if (!copied) free_owned(table, row);
    return copied;
}

bool jm__row_list_add(jm__row_list *list, jm__table_id id, const void *rows, size_t count)
{
    const jm__table *table = &jm__tables[id];
    if (!jm__vec_grow(&list->rows, &list->capacity, list->count + count, table->row_size)) return false;
    void *added = (char *)list->rows + list->count * table->row_size;
    memcpy(added, rows, count * table->row_size);
    if (has_pointers(table) && !copy_owned(table, added)) return false;
    list->count += count;
    return true;
}

/* Removes the first rows; returns their size in bytes. */
static size_t remove_first(jm__row_list *list, jm__table_id id, size_t count)
{
    const jm__table *table = &jm__tables[id];
    size_t bytes = count * table->row_size;
    for (size_t i = 0; has_pointers(table) && i < count; i++) {
        bytes += pointed_bytes(table, jm__row_at(list, id, i));
        free_owned(table, jm__row_at(list, id, i));
    }
    list->count -= count;
    if (count > 0 && list->count > 0)
        memmove(list->rows, jm__row_at(list, id, count), list->count * table->row_size);
    return bytes;
}

void jm__row_list_free(jm__row_list *list, jm__table_id table)
{
    remove_first(list, table, list->count);
    free(list->rows);
    *list = (jm__row_list){0};
}

/* ---- the batch */

static jm__batch_row row_of(jm__table_id table)
{
    switch (table) {
    case JM_TABLE_READINGS:
        return JM_BATCH_READINGS;
    case JM_TABLE_SPANS:
        return JM_BATCH_SPANS;
    case JM_TABLE_KERNELS:
        return JM_BATCH_KERNELS;
    case JM_TABLE_MARKS:
        return JM_BATCH_MARKS;
    case JM_TABLE_COUNTER_BLOCKS:
        return JM_BATCH_COUNTERS;
    default:
        return JM_BATCH_OTHERS;
    }
}

/* Of a block of counters its samples count. */
static int64_t weight_of(jm__table_id table, const void *row)
{
    return table == JM_TABLE_COUNTER_BLOCKS ? ((const jm__counter_block *)row)->count : 1;
}

void jm__batch_drop(jm__batch *batch, jm__batch_row row, int64_t count)
{
    if (batch->dropped_since_ns == 0) batch->dropped_since_ns = jm__now_ns();
    batch->dropped[row] += count;
}

/* How many of `offered` rows still fit. */
static size_t admit(jm__batch *batch, jm__batch_row row, size_t offered, size_t row_bytes)
{
    size_t most = JM_BATCH_BYTES_MAX - (row == JM_BATCH_READINGS ? 0 : JM_BATCH_READINGS_BYTES);
    size_t room = batch->bytes < most ? (most - batch->bytes) / row_bytes : 0;
    size_t fits = offered < room ? offered : room;
    batch->bytes += fits * row_bytes;
    return fits;
}

void jm__batch_add(jm__batch *batch, jm__table_id table, const void *rows, size_t count)
{
    if (count == 0) return;
    jm__batch_row row = row_of(table);
    size_t row_bytes = jm__tables[table].row_size + pointed_bytes(&jm__tables[table], rows);
    size_t fits = admit(batch, row, count, row_bytes);
    if (fits > 0 && !jm__row_list_add(&batch->rows[table], table, rows, fits)) {
        batch->bytes -= fits * row_bytes;
        fits = 0;
    }
    if (fits < count) jm__batch_drop(batch, row, (int64_t)(count - fits) * weight_of(table, rows));
}

/* Most spans end before they are committed: then their row is written only once. */
static jm__span *find_span(jm__batch *batch, int64_t span_id)
{
    jm__span *spans = batch->rows[JM_TABLE_SPANS].rows;
    size_t at, count = batch->rows[JM_TABLE_SPANS].count;
    jm__search(at, count, spans[at].id < span_id);
    return at < count && spans[at].id == span_id ? &spans[at] : NULL;
}

void jm__batch_end_span(jm__batch *batch, const jm__span_end *end)
{
    jm__span *span = find_span(batch, end->span_id);
    if (span != NULL) {
        span->end_ns = end->end_ns;
        span->tokens = end->tokens;
        if (end->samples > 0) span->samples = end->samples;
    } else if (admit(batch, JM_BATCH_SPANS, 1, sizeof *end) == 0 || !jm__vec_push(&batch->span_ends, *end)) {
        jm__batch_drop(batch, JM_BATCH_SPANS, 1);
    }
}

/* ---- removing rows */

size_t jm__batch_first(const jm__batch *batch, jm__batch_row row, size_t most, jm__batch *part)
{
    size_t all = 0;
    *part = (jm__batch){0};
    for (int table = 0; table < JM_TABLE_COUNT; table++) {
        if (row_of((jm__table_id)table) != row) continue;
        size_t count = batch->rows[table].count;
        part->rows[table].rows = batch->rows[table].rows;
        part->rows[table].count = count < most ? count : most;
        all += part->rows[table].count;
    }
    if (row != JM_BATCH_SPANS) return all;
    part->span_ends.count = batch->span_ends.count < most ? batch->span_ends.count : most;
    part->span_ends.items = batch->span_ends.items;
    return all + part->span_ends.count;
}

void jm__batch_forget(jm__batch *batch, const jm__batch *part)
{
    size_t freed = part->span_ends.count * sizeof *part->span_ends.items;
    for (int table = 0; table < JM_TABLE_COUNT; table++)
        freed += remove_first(&batch->rows[table], (jm__table_id)table, part->rows[table].count);
    if (part->span_ends.count > 0) {
        batch->span_ends.count -= part->span_ends.count;
        memmove(batch->span_ends.items, batch->span_ends.items + part->span_ends.count,
                batch->span_ends.count * sizeof *batch->span_ends.items);
    }
    batch->bytes -= freed < batch->bytes ? freed : batch->bytes;
}

void jm__batch_clear(jm__batch *batch)
{
    for (int table = 0; table < JM_TABLE_COUNT; table++)
        remove_first(&batch->rows[table], (jm__table_id)table, batch->rows[table].count);
    batch->span_ends.count = 0;
    batch->bytes = 0;
}

void jm__batch_lost(const jm__batch *batch, int64_t counts[JM_BATCH_ROW_COUNT])
{
    memcpy(counts, batch->dropped, sizeof batch->dropped);
    counts[JM_BATCH_SPANS] += (int64_t)batch->span_ends.count;
    for (int i = 0; i < JM_TABLE_COUNT; i++) {
        jm__table_id table = (jm__table_id)i;
        if (table == JM_TABLE_META || table == JM_TABLE_PROCESSES || table == JM_TABLE_ANCHORS) continue;
        for (size_t r = 0; r < batch->rows[table].count; r++)
            counts[row_of(table)] += weight_of(table, jm__row_at(&batch->rows[table], table, r));
    }
}

void jm__batch_drop_all(jm__batch *batch)
{
    int64_t lost[JM_BATCH_ROW_COUNT];
    jm__batch_lost(batch, lost);
    if (batch->dropped_since_ns == 0) batch->dropped_since_ns = jm__now_ns();
    memcpy(batch->dropped, lost, sizeof lost);
    jm__batch_clear(batch);
}

void jm__batch_free(jm__batch *batch)
{
    for (int table = 0; table < JM_TABLE_COUNT; table++)
        jm__row_list_free(&batch->rows[table], (jm__table_id)table);
    jm__vec_free(&batch->span_ends);
}

const char *jm__batch_row_text(jm__batch_row row)
{
    static const char *const texts[JM_BATCH_ROW_COUNT] = {
#define X(name, text) text,
        JM_BATCH_ROW_MAP(X)
#undef X
    };
    return texts[row];
}
