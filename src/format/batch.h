/* Rows that wait for the next commit, bounded: what does not fit is counted. */
#ifndef JM_FORMAT_BATCH_H
#define JM_FORMAT_BATCH_H

#include "base/clock.h"
#include "base/vec.h"
#include "format/rows/rows.h"

#define JM_BATCH_BYTES_MAX ((size_t)64 << 20) /* about a million kernels */

/* Of it for readings alone: a total needs them more than it needs another span or kernel. A quarter is
 * 700,000 of them, hours of a board. */
#define JM_BATCH_READINGS_BYTES (JM_BATCH_BYTES_MAX / 4)

#define JM_META_BYTES_MAX ((size_t)64 << 10) /* of one fact: a command line may be megabytes long */

#define JM_NUMBERED_MAX                                                                                      \
    (1u << 22) /* boards, sensors, streams, classes, names of a recording: each at most that */

/* What can be lost, and its word in the table `losses`. */
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
    jm__spans spans;                /* in the order of their ids */
    JM_VEC(jm__span_end) span_ends; /* of spans that are in the file already */
    jm__kernels kernels;
    JM_VEC(jm__mark) marks; /* own their meta */
    JM_VEC(jm__event) events;
    JM_VEC(jm__loss) losses;       /* own their texts */
    JM_VEC(jm__process) processes; /* own their texts */
    JM_VEC(jm__anchor) anchors;
    JM_VEC(jm__meta) meta;                    /* own their texts */
    JM_VEC(jm__counter_block) counter_blocks; /* own their data */
    size_t bytes;
    int64_t dropped[JM_BATCH_ROW_COUNT]; /* since they were last written down as losses */
    int64_t dropped_since_ns;
} jm__batch;

/* These take what fits and count what does not. */
void jm__batch_add_readings(jm__batch *batch, const jm_reading *readings, size_t count); /* NAN is no row */
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

/* Empty it, keeping its memory; `drop_all` counts the rows as dropped. */
void jm__batch_clear(jm__batch *batch);
void jm__batch_drop_all(jm__batch *batch);

/* The first rows of a kind, at most `most` (of OTHERS all there are), borrowed; their count. And the batch
 * without them. */
size_t jm__batch_first(const jm__batch *batch, jm__batch_row row, size_t most, jm__batch *part);
void jm__batch_forget(jm__batch *batch, const jm__batch *part);

/* What would be missing if nothing more were written: rows that wait and rows that were dropped. */
void jm__batch_lost(const jm__batch *batch, int64_t counts[JM_BATCH_ROW_COUNT]);

void jm__batch_free(jm__batch *batch);

/* Texts and data that a row owns are const to everybody else. */
void jm__owned_free(const void *memory);

const char *jm__batch_row_text(jm__batch_row row);

#endif
