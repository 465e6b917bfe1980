/* Rows that wait for the next commit, in bounded memory. */
#include "format/batch.h"

#include "base/search.h"
#include "base/utf8.h"

#include <math.h>
#include <string.h>

static void drop(jm__batch *batch, jm__batch_row row, size_t count)
{
    if (batch->dropped_since_ns == 0) batch->dropped_since_ns = jm__now_ns();
    batch->dropped[row] += (int64_t)count;
}

/* How many of `offered` rows still fit; the others are counted as dropped. */
static size_t admit(jm__batch *batch, jm__batch_row row, size_t offered, size_t row_bytes)
{
    size_t most = JM_BATCH_BYTES_MAX - (row == JM_BATCH_READINGS ? 0 : JM_BATCH_READINGS_BYTES);
    size_t room = batch->bytes < most ? (most - batch->bytes) / row_bytes : 0;
    size_t fits = offered < room ? offered : room;
    if (fits < offered) drop(batch, row, offered - fits);
    batch->bytes += fits * row_bytes;
    return fits;
}

/* Add one row that owns `extra_bytes` of text. */
#define PUSH_ONE(batch, vec, row, item, extra_bytes)                                                         \
    (admit((batch), (row), 1, sizeof(item) + (extra_bytes)) == 1 &&                                          \
     (jm__vec_push(&(batch)->vec, (item)) || (drop((batch), (row), 1), false)))

void jm__batch_add_readings(jm__batch *batch, const jm_reading *readings, size_t count)
{
    count = admit(batch, JM_BATCH_READINGS, count, sizeof *readings);
    if (count == 0) return;
    if (!jm__vec_reserve(&batch->readings, batch->readings.count + count)) {
        drop(batch, JM_BATCH_READINGS, count);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (!isnan(readings[i].value)) batch->readings.items[batch->readings.count++] = readings[i];
}

void jm__batch_add_kernels(jm__batch *batch, const jm__kernel *kernels, size_t count)
{
    count = admit(batch, JM_BATCH_KERNELS, count, sizeof *kernels);
    if (count == 0) return;
    if (!jm__vec_reserve(&batch->kernels, batch->kernels.count + count)) {
        drop(batch, JM_BATCH_KERNELS, count);
        return;
    }
    memcpy(batch->kernels.items + batch->kernels.count, kernels, count * sizeof *kernels);
    batch->kernels.count += count;
}

void jm__batch_add_span(jm__batch *batch, const jm__span *span)
{
    jm__span row = *span;
    (void)PUSH_ONE(batch, spans, JM_BATCH_SPANS, row, 0);
}

/* Most spans end before they are committed: then their row is written only once. */
static jm__span *find_span(jm__batch *batch, int64_t span_id)
{
    const jm__span *spans = batch->spans.items;
    size_t at;
    jm__search(at, batch->spans.count, spans[at].id < span_id);
    return at < batch->spans.count && spans[at].id == span_id ? &batch->spans.items[at] : NULL;
}

void jm__batch_end_span(jm__batch *batch, const jm__span_end *end)
{
    jm__span *span = find_span(batch, end->span_id);
    if (span != NULL) {
        span->end_ns = end->end_ns;
        span->tokens = end->tokens;
        if (end->samples > 0) span->samples = end->samples;
        return;
    }
    (void)PUSH_ONE(batch, span_ends, JM_BATCH_SPANS, *end, 0);
}

/* Copies a text that may be NULL; false if memory is out. */
static bool copy_text(const char *text, char **copy)
{
    *copy = text == NULL ? NULL : strdup(text);
    return text == NULL || *copy != NULL;
}

static size_t size_of(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

void jm__owned_free(const void *memory)
{
    union {
        const void *borrowed;
        void *owned;
    } cast = {memory};
    free(cast.owned);
}

void jm__batch_add_mark(jm__batch *batch, const jm__mark *mark)
{
    jm__mark row = *mark;
    char *meta;
    if (!copy_text(mark->meta, &meta)) {
        drop(batch, JM_BATCH_MARKS, 1);
        return;
    }
    row.meta = meta;
    if (!PUSH_ONE(batch, marks, JM_BATCH_MARKS, row, size_of(meta))) free(meta);
}

void jm__batch_add_event(jm__batch *batch, const jm__event *event)
{
    jm__event row = *event;
    if (!jm__event_has_value(row.kind)) row.value = NAN;
    (void)PUSH_ONE(batch, events, JM_BATCH_OTHERS, row, 0);
}

/* Add a row with copies of its two texts. */
#define PUSH_WITH_TEXTS(batch, vec, row, first, second)                                                      \
    do {                                                                                                     \
        char *a_ = NULL, *b_ = NULL;                                                                         \
        bool copied_ = copy_text((row).first, &a_) && copy_text((row).second, &b_);                          \
        (row).first = a_;                                                                                    \
        (row).second = b_;                                                                                   \
        if (!copied_)                                                                                        \
            drop((batch), JM_BATCH_OTHERS, 1);                                                               \
        else if (PUSH_ONE((batch), vec, JM_BATCH_OTHERS, (row), size_of(a_) + size_of(b_)))                  \
            break;                                                                                           \
        free(a_);                                                                                            \
        free(b_);                                                                                            \
    } while (0)

void jm__batch_add_loss(jm__batch *batch, const jm__loss *loss)
{
    jm__loss row = *loss;
    PUSH_WITH_TEXTS(batch, losses, row, source, reason);
}

void jm__batch_add_process(jm__batch *batch, const jm__process *process)
{
    jm__process row = *process;
    PUSH_WITH_TEXTS(batch, processes, row, host, command);
}

void jm__batch_add_counter_block(jm__batch *batch, const jm__counter_block *block)
{
    size_t samples = (size_t)block->count;
    jm__counter_block row = *block;
    if (batch->bytes + sizeof row + row.data.size > JM_BATCH_BYTES_MAX - JM_BATCH_READINGS_BYTES) {
        drop(batch, JM_BATCH_COUNTERS, samples);
        return;
    }
    void *data = malloc(row.data.size);
    if (data != NULL) row.data.at = memcpy(data, block->data.at, row.data.size);
    if (data == NULL || !jm__vec_push(&batch->counter_blocks, row)) {
        free(data);
        drop(batch, JM_BATCH_COUNTERS, samples);
        return;
    }
    batch->bytes += sizeof row + row.data.size;
}

void jm__batch_add_anchor(jm__batch *batch, const jm__anchor *anchor)
{
    jm__anchor row = *anchor;
    (void)PUSH_ONE(batch, anchors, JM_BATCH_OTHERS, row, 0);
}

/* A copy; a text that is longer than a reader accepts (jm__database_open) is cut and its length appended. */
static char *copy_bounded(const char *text)
{
    size_t length = strlen(text);
    if (length <= JM_META_BYTES_MAX) return strdup(text);
    jm__strbuf cut = {0};
    jm__strbuf_add_bytes(&cut, text, jm__utf8_cut(text, JM_META_BYTES_MAX));
    jm__strbuf_format(&cut, "... (%zu bytes in all)", length);
    return jm__strbuf_take(&cut);
}

void jm__batch_add_meta(jm__batch *batch, const char *key, const char *value)
{
    char *own_key = strdup(key), *own_value = copy_bounded(value);
    jm__meta row = {own_key, own_value};
    if (own_key == NULL || own_value == NULL)
        drop(batch, JM_BATCH_OTHERS, 1);
    else if (PUSH_ONE(batch, meta, JM_BATCH_OTHERS, row, size_of(own_key) + size_of(own_value)))
        return;
    free(own_key);
    free(own_value);
}

/* ---- removing written rows */

#define BORROW(vec_, most_)                                                                                  \
    (part->vec_.items = batch->vec_.items,                                                                   \
     part->vec_.count = batch->vec_.count < (most_) ? batch->vec_.count : (most_))

size_t jm__batch_first(const jm__batch *batch, jm__batch_row row, size_t most, jm__batch *part)
{
    *part = (jm__batch){0};
    switch (row) {
    case JM_BATCH_READINGS:
        return BORROW(readings, most);
    case JM_BATCH_SPANS:
        return BORROW(spans, most) + BORROW(span_ends, most);
    case JM_BATCH_KERNELS:
        return BORROW(kernels, most);
    case JM_BATCH_MARKS:
        return BORROW(marks, most);
    case JM_BATCH_COUNTERS:
        return BORROW(counter_blocks, most);
    case JM_BATCH_OTHERS:
        return BORROW(events, SIZE_MAX) + BORROW(losses, SIZE_MAX) + BORROW(processes, SIZE_MAX) +
               BORROW(anchors, SIZE_MAX) + BORROW(meta, SIZE_MAX);
    case JM_BATCH_ROW_COUNT:
        break;
    }
    return 0;
}

/* The vectors of a batch. */
#define VECTORS(X)                                                                                           \
    X(readings)                                                                                              \
    X(spans)                                                                                                 \
    X(span_ends)                                                                                             \
    X(kernels)                                                                                               \
    X(marks)                                                                                                 \
    X(events)                                                                                                \
    X(losses)                                                                                                \
    X(processes)                                                                                             \
    X(anchors)                                                                                               \
    X(meta)                                                                                                  \
    X(counter_blocks)

static size_t free_text(const char *text)
{
    size_t size = size_of(text);
    jm__owned_free(text);
    return size;
}

/* Frees texts and data that the rows own; returns their size in bytes. */
static size_t free_owned(const jm__batch *part)
{
    size_t freed = 0;
    for (size_t i = 0; i < part->marks.count; i++)
        freed += free_text(part->marks.items[i].meta);
    for (size_t i = 0; i < part->losses.count; i++)
        freed += free_text(part->losses.items[i].source) + free_text(part->losses.items[i].reason);
    for (size_t i = 0; i < part->processes.count; i++)
        freed += free_text(part->processes.items[i].host) + free_text(part->processes.items[i].command);
    for (size_t i = 0; i < part->meta.count; i++)
        freed += free_text(part->meta.items[i].key) + free_text(part->meta.items[i].value);
    for (size_t i = 0; i < part->counter_blocks.count; i++) {
        freed += part->counter_blocks.items[i].data.size;
        jm__owned_free(part->counter_blocks.items[i].data.at);
    }
    return freed;
}

void jm__batch_forget(jm__batch *batch, const jm__batch *part)
{
    size_t freed = free_owned(part);
#define FORGET(vec)                                                                                          \
    if (part->vec.count > 0) {                                                                               \
        batch->vec.count -= part->vec.count;                                                                 \
        memmove(batch->vec.items, batch->vec.items + part->vec.count,                                        \
                batch->vec.count * sizeof batch->vec.items[0]);                                              \
        freed += part->vec.count * sizeof batch->vec.items[0];                                               \
    }
    VECTORS(FORGET)
#undef FORGET
    batch->bytes -= freed < batch->bytes ? freed : batch->bytes;
}

void jm__batch_clear(jm__batch *batch)
{
    free_owned(batch);
#define CLEAR(vec) batch->vec.count = 0;
    VECTORS(CLEAR)
#undef CLEAR
    batch->bytes = 0;
}

void jm__batch_lost(const jm__batch *batch, int64_t counts[JM_BATCH_ROW_COUNT])
{
    for (int row = 0; row < JM_BATCH_ROW_COUNT; row++)
        counts[row] = batch->dropped[row];
    counts[JM_BATCH_READINGS] += (int64_t)batch->readings.count;
    counts[JM_BATCH_SPANS] += (int64_t)(batch->spans.count + batch->span_ends.count);
    counts[JM_BATCH_KERNELS] += (int64_t)batch->kernels.count;
    counts[JM_BATCH_MARKS] += (int64_t)batch->marks.count;
    for (size_t i = 0; i < batch->counter_blocks.count; i++)
        counts[JM_BATCH_COUNTERS] += batch->counter_blocks.items[i].count;
    counts[JM_BATCH_OTHERS] += (int64_t)(batch->events.count + batch->losses.count);
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
    jm__batch_clear(batch);
#define FREE(vec) jm__vec_free(&batch->vec);
    VECTORS(FREE)
#undef FREE
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
