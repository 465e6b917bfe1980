/* Samples of hardware counters into the bytes of a block, and back. */
#include "format/rows/counters.h"

#include <string.h>

enum { WORD = 8, WORDS_BEFORE_VALUES = 2 };

static size_t sample_size(int64_t metric_count)
{
    return (size_t)(WORDS_BEFORE_VALUES + metric_count) * WORD;
}

size_t jm__counter_block_size(int64_t count, int64_t metric_count)
{
    if (metric_count < 1 || metric_count > JM_COUNTER_METRICS_MAX || count < 1) return 0;
    if ((uint64_t)count > JM_COUNTER_BLOCK_BYTES_MAX / sample_size(metric_count)) return 0;
    return (size_t)count * sample_size(metric_count);
}

static void put(unsigned char *to, uint64_t value)
{
    for (int i = 0; i < WORD; i++)
        to[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t get(const unsigned char *from)
{
    uint64_t value = 0;
    for (int i = 0; i < WORD; i++)
        value |= (uint64_t)from[i] << 8 * i;
    return value;
}

void jm__counter_block_pack(void *to, int64_t block_start_ns, const jm__counter_sample *samples,
                            int64_t count, int64_t metric_count)
{
    unsigned char *at = to;
    for (int64_t i = 0; i < count; i++) {
        put(at, (uint64_t)(samples[i].start_ns - block_start_ns));
        put(at + WORD, (uint64_t)(samples[i].end_ns - samples[i].start_ns));
        at += WORDS_BEFORE_VALUES * WORD;
        for (int64_t m = 0; m < metric_count; m++, at += WORD) {
            uint64_t bits;
            memcpy(&bits, &samples[i].values[m], sizeof bits);
            put(at, bits);
        }
    }
}

bool jm__counter_block_is_sound(const jm__counter_block *block, int64_t metric_count)
{
    size_t size = jm__counter_block_size(block->count, metric_count);
    if (size == 0 || block->data.size != size || block->end_ns < block->start_ns) return false;
    uint64_t length_ns = (uint64_t)block->end_ns - (uint64_t)block->start_ns;
    const unsigned char *at = block->data.at;
    for (int64_t i = 0; i < block->count; i++, at += sample_size(metric_count)) {
        uint64_t begin_ns = get(at), duration_ns = get(at + WORD);
        if (begin_ns > length_ns || duration_ns > length_ns - begin_ns) return false;
    }
    return true;
}

void jm__counter_block_sample(const jm__counter_block *block, int64_t metric_count, int64_t index,
                              jm__counter_sample *sample)
{
    const unsigned char *at =
        (const unsigned char *)block->data.at + (size_t)index * sample_size(metric_count);
    sample->start_ns = block->start_ns + (int64_t)get(at);
    sample->end_ns = sample->start_ns + (int64_t)get(at + WORD);
    at += WORDS_BEFORE_VALUES * WORD;
    for (int64_t m = 0; m < metric_count; m++, at += WORD) {
        uint64_t bits = get(at);
        memcpy(&sample->values[m], &bits, sizeof bits);
    }
}
