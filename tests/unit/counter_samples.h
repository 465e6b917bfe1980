/* Samples of hardware counters in memory, as a source that a dataset reads them from. */
#ifndef TEST_COUNTER_SAMPLES_H
#define TEST_COUNTER_SAMPLES_H

#include "base/vec.h"
#include "format/dataset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SAMPLES_SETS = 4, SAMPLES_METRICS = 8, SAMPLES_BLOCK = 100 };

typedef struct one_sample {
    size_t set; /* from 0 */
    int64_t start_ns, end_ns;
    double values[SAMPLES_METRICS];
} one_sample;

typedef struct counter_samples {
    jm__counter_set sets[SAMPLES_SETS];
    size_t set_count;
    JM_VEC(one_sample) items;
} counter_samples;

/* A set whose number it returns, from 0. `metrics` and `units`: JSON arrays. */
static inline size_t samples_set(counter_samples *s, int64_t board_id, int64_t metric_count,
                                 const char *metrics, const char *units)
{
    size_t set = s->set_count++;
    assert_true(set < SAMPLES_SETS && metric_count <= SAMPLES_METRICS);
    s->sets[set] = (jm__counter_set){.id = (int64_t)set + 1,
                                     .board_id = board_id,
                                     .metric_count = metric_count,
                                     .metrics = metrics,
                                     .units = units};
    return set;
}

static inline void samples_add(counter_samples *s, size_t set, int64_t start_ns, int64_t end_ns,
                               const double *values)
{
    one_sample sample = {.set = set, .start_ns = start_ns, .end_ns = end_ns};
    memcpy(sample.values, values, (size_t)s->sets[set].metric_count * sizeof *values);
    assert_true(jm__vec_push(&s->items, sample));
}

/* The samples from `first` on that are of one set, as a block; how many there are. */
static inline size_t samples_block(const counter_samples *s, size_t first, jm__counter_sample *room,
                                   unsigned char *data, jm__counter_block *block)
{
    const one_sample *items = s->items.items;
    size_t set = items[first].set, count = 0;
    int64_t metrics = s->sets[set].metric_count;
    *block = (jm__counter_block){
        .set_id = (int64_t)set + 1, .start_ns = items[first].start_ns, .end_ns = items[first].end_ns};
    for (; first + count < s->items.count && count < SAMPLES_BLOCK; count++) {
        const one_sample *sample = &items[first + count];
        if (sample->set != set) break;
        room[count].start_ns = sample->start_ns;
        room[count].end_ns = sample->end_ns;
        memcpy(room[count].values, sample->values, sizeof sample->values);
        if (sample->start_ns < block->start_ns) block->start_ns = sample->start_ns;
        if (sample->end_ns > block->end_ns) block->end_ns = sample->end_ns;
    }
    block->count = (int64_t)count;
    block->data = (jm__bytes){data, jm__counter_block_size(block->count, metrics)};
    jm__counter_block_pack(data, block->start_ns, room, block->count, metrics);
    return count;
}

/* A jm__counter_source's each, in the order in which samples were added; a pass asks
 * for no memory. */
static inline jm_status samples_each(void *context, jm__counter_taker take, void *taker, jm_error *err)
{
    const counter_samples *s = context;
    static jm__counter_sample room[SAMPLES_BLOCK];
    static unsigned char data[SAMPLES_BLOCK * 8 * (2 + SAMPLES_METRICS)];
    jm_status status = JM_OK;
    for (size_t first = 0; status == JM_OK && first < s->items.count;) {
        jm__counter_block block;
        first += samples_block(s, first, room, data, &block);
        status = take(taker, &block, err);
    }
    return status;
}

static inline jm__counter_source samples_source(counter_samples *s)
{
    return (jm__counter_source){
        .sets = s->sets, .set_count = s->set_count, .each = samples_each, .context = s};
}

static inline void samples_free(counter_samples *s)
{
    jm__vec_free(&s->items);
    *s = (counter_samples){0};
}

#endif
