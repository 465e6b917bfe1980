/* Rows that wait for the next commit, in bounded memory: what does not fit is counted as lost. */
#ifndef JM_FORMAT_BATCH_H
#define JM_FORMAT_BATCH_H

#include "base/clock.h"
#include "base/vec.h"
#include "format/rows/table.h"

#define JM_BATCH_BYTES_MAX ((size_t)64 << 20) /* about a million kernels */

/* Reserved for readings: totals need a reading more than another span or kernel. A quarter is 700,000
 * readings, hours of one board. */
#define JM_BATCH_READINGS_BYTES (JM_BATCH_BYTES_MAX / 4)

#define JM_NUMBERED_MAX (1u << 22) /* boards, sensors, streams, classes and names of a recording, each */

/* What can be lost, and its name in the table `losses`. */
#define JM_BATCH_ROW_MAP(X)                                                                                  \
    X(READINGS, "readings")                                                                                  \
    X(SPANS, "spans")                                                                                        \
    X(KERNELS, "kernels")                                                                                    \
    X(MARKS, "marks")                                                                                        \
    X(COUNTERS, "samples of counters")                                                                       \
    X(OTHERS, "events and notes")

typedef enum jm__batch_row {
#define X(name, text) JM_BATCH_##name,
    JM_BATCH_ROW_MAP(X)
#undef X
        JM_BATCH_ROW_COUNT
} jm__batch_row;

typedef JM_VEC(jm_reading) jm__readings;

/* Rows of one table. They own the texts and bytes that they point to. */
typedef struct jm__row_list {
    void *rows;
    size_t count, capacity;
} jm__row_list; /* zeroed: empty */

/* Appends copies; of a table with texts or bytes one row at a time. False if memory is out. */
bool jm__row_list_add(jm__row_list *list, jm__table_id table, const void *rows, size_t count);
void jm__row_list_free(jm__row_list *list, jm__table_id table);

static inline const void *jm__row_at(const jm__row_list *list, jm__table_id table, size_t index)
{
    return (const char *)list->rows + index * jm__tables[table].row_size;
}

typedef struct jm__batch {
    jm__row_list rows[JM_TABLE_COUNT];
    JM_VEC(jm__span_end) span_ends; /* of spans that are already in the file */
    size_t bytes;
    int64_t dropped[JM_BATCH_ROW_COUNT]; /* since the last rows in `losses` */
    int64_t dropped_since_ns;
} jm__batch;

/* These add the rows that fit and count the others. Spans come in the order of their ids. */
void jm__batch_add(jm__batch *batch, jm__table_id table, const void *rows, size_t count);
void jm__batch_end_span(jm__batch *batch, const jm__span_end *end);

/* Counts rows as lost. */
void jm__batch_drop(jm__batch *batch, jm__batch_row row, int64_t count);

/* Empty the batch but keep its memory; _drop_all counts the rows as lost. */
void jm__batch_clear(jm__batch *batch);
void jm__batch_drop_all(jm__batch *batch);

/* jm__batch_first: `part` borrows the first rows of a kind, at most `most` of each table; returns their
 * number. jm__batch_forget removes them from the batch. */
size_t jm__batch_first(const jm__batch *batch, jm__batch_row row, size_t most, jm__batch *part);
void jm__batch_forget(jm__batch *batch, const jm__batch *part);

/* What would be missing if nothing more was written: waiting and dropped rows. */
void jm__batch_lost(const jm__batch *batch, int64_t counts[JM_BATCH_ROW_COUNT]);

void jm__batch_free(jm__batch *batch);

/* Frees memory that a row owns and that is const for everybody else. */
void jm__owned_free(const void *memory);

const char *jm__batch_row_text(jm__batch_row row);

#endif
