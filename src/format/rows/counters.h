/* Hardware counters: many values a second, kept as blocks of samples.
 *
 * A set is metrics that are read together on one board. A block holds samples of one set, one after the
 * other:
 *
 *     uint64  begin of the sample, ns after the block's start_ns
 *     uint64  its duration in ns
 *     float64 one value a metric, in the order of the set; NaN: not measured
 *
 * all of them little-endian, so that a block of n samples of m metrics is n * 8 * (2 + m) bytes. */
#ifndef JM_FORMAT_ROWS_COUNTERS_H
#define JM_FORMAT_ROWS_COUNTERS_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Units of ours. Whatever else a set says is a rate already. */
#define JM_COUNTER_EVENTS      "count"      /* events or cycles within the sample */
#define JM_COUNTER_PERCENT     "%"          /* of what is possible */
#define JM_COUNTER_SLOT_CYCLES "slot-cycle" /* all of a set together: each slot for a warp in each cycle */

#define JM_COUNTER_METRICS_MAX     256
#define JM_COUNTER_BLOCK_BYTES_MAX ((size_t)256 << 10)

typedef struct jm__bytes {
    const void *at;
    size_t size;
} jm__bytes;

typedef struct jm__counter_set {
    int64_t id; /* from 1 */
    int64_t board_id;
    int64_t metric_count;
    const char *metrics; /* their names, a JSON array */
    const char *units;   /* likewise */
    int64_t period_ns;   /* wanted from one sample to the next, 0: none */
} jm__counter_set;

/* Set times: CLOCK_MONOTONIC. All samples lie in [start_ns, end_ns]. */
typedef struct jm__counter_block {
    int64_t set_id;
    int64_t start_ns;
    int64_t end_ns;
    int64_t count; /* of samples */
    jm__bytes data;
} jm__counter_block;

typedef struct jm__counter_sample {
    int64_t start_ns;
    int64_t end_ns;
    double values[JM_COUNTER_METRICS_MAX];
} jm__counter_sample;

/* The size of a block's data; 0 if that many samples of that many metrics are no block. */
size_t jm__counter_block_size(int64_t count, int64_t metric_count);

/* Lay `count` samples down as a block's data. `to` has room for jm__counter_block_size. */
void jm__counter_block_pack(void *to, int64_t block_start_ns, const jm__counter_sample *samples,
                            int64_t count, int64_t metric_count);

/* It is what it says: its size fits, its samples lie in it. */
bool jm__counter_block_is_sound(const jm__counter_block *block, int64_t metric_count);

/* Sample `index` of a sound block. */
void jm__counter_block_sample(const jm__counter_block *block, int64_t metric_count, int64_t index,
                              jm__counter_sample *sample);

#endif
