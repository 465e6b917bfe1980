/* Rows that wait for the next commit, in bounded memory: what does not fit is counted as lost. */
#ifndef JM_FORMAT_BATCH_H
#define JM_FORMAT_BATCH_H

#include "base/clock.h"
#include "base/vec.h"
#include "format/rows/rows.h"

#define JM_BATCH_BYTES_MAX ((size_t)64 << 20) /* about a million kernels */

/* Reserved for readings: totals need a reading more than another span or kernel. A quarter is 700,000
 * readings, hours of one board. */
#define JM_BATCH_READINGS_BYTES (JM_BATCH_BYTES_MAX / 4)

#define JM_META_BYTES_MAX ((size_t)64 << 10) /* of one value: a command line may have megabytes */

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
typedef JM_VEC(jm__span) jm__spans;
typedef JM_VEC(jm__kernel) jm__kernels;

typedef struct jm__batch {
    jm__readings readings;
    jm__spans spans;                /* by id */
    JM_VEC(jm__span_end) span_ends; /* of spans that are already in the file */
    jm__kernels kernels;
    JM_VEC(jm__mark) marks; /* own their meta */
    JM_VEC(jm__event) events;
    JM_VEC(jm__loss) losses;       /* own their texts */
    JM_VEC(jm__process) processes; /* own their texts */
    JM_VEC(jm__anchor) anchors;
    JM_VEC(jm__meta) meta;                    /* own their texts */
    JM_VEC(jm__counter_block) counter_blocks; /* own their data */
    size_t bytes;
    int64_t dropped[JM_BATCH_ROW_COUNT]; /* since the last rows in `losses` */
    int64_t dropped_since_ns;
} jm__batch;

/* These add the rows that fit and count the others. */
void jm__batch_add_readings(jm__batch *batch, const jm_reading *readings, size_t count); /* skips NAN */
void jm__batch_add_kernels(jm__batch *batch, const jm__kernel *kernels, size_t count);
void jm__batch_add_span(jm__batch *batch, const jm__span *span);
void jm__batch_end_span(jm__batch *batch, const jm__span_end *end);
void jm__batch_add_mark(jm__batch *batch, const jm__mark *mark);
void jm__batch_add_event(jm__batch *batch, const jm__event *event);
void jm__batch_add_loss(jm__batch *batch, const jm__loss *loss);
void jm__batch_add_process(jm__batch *batch, const jm__process *process);
void jm__batch_add_anchor(jm__batch *batch, const jm__anchor *anchor);
void jm__batch_add_counter_block(jm__batch *batch, const jm__counter_block *block);
void jm__batch_add_meta(jm__batch *batch, const char *key, const char *value);

/* Empty the batch but keep its memory; _drop_all counts the rows as lost. */
void jm__batch_clear(jm__batch *batch);
void jm__batch_drop_all(jm__batch *batch);

/* jm__batch_first: `part` borrows the first rows of a kind, at most `most` (of OTHERS always all); returns
 * their number. jm__batch_forget removes them from the batch. */
size_t jm__batch_first(const jm__batch *batch, jm__batch_row row, size_t most, jm__batch *part);
void jm__batch_forget(jm__batch *batch, const jm__batch *part);

/* What would be missing if nothing more was written: waiting and dropped rows. */
void jm__batch_lost(const jm__batch *batch, int64_t counts[JM_BATCH_ROW_COUNT]);

void jm__batch_free(jm__batch *batch);

/* Frees memory that a row owns and that is const for everybody else. */
void jm__owned_free(const void *memory);

const char *jm__batch_row_text(jm__batch_row row);

#endif
