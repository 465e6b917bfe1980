/* One set, and its blocks one after the other. */
#include "import/sample_blocks.h"

#include "base/status.h"
#include "base/strbuf.h"

#include <stdlib.h>

enum { BLOCK_SAMPLES = 1000 /* a second of them, mostly */ };

static jm_status write_set(jm__sample_blocks *blocks, const char *const *names, const char *const *units,
                           jm_error *err)
{
    jm__strbuf metric_texts = {0}, unit_texts = {0};
    for (int64_t i = 0; i < blocks->set.metric_count; i++) {
        const char *before = i == 0 ? "[" : ", ";
        jm__strbuf_format(&metric_texts, "%s\"%s\"", before, names[i]);
        jm__strbuf_format(&unit_texts, "%s\"%s\"", before, units[i]);
    }
    jm__strbuf_add(&metric_texts, "]");
    jm__strbuf_add(&unit_texts, "]");
    blocks->set.metrics = metric_texts.text;
    blocks->set.units = unit_texts.text;
    jm_status status = metric_texts.failed || unit_texts.failed
                           ? jm__no_memory(err, "jm__sample_blocks_begin")
                           : jm__writer_counter_set(blocks->writer, &blocks->set, err);
    jm__strbuf_free(&metric_texts);
    jm__strbuf_free(&unit_texts);
    blocks->set.metrics = blocks->set.units = NULL;
    return status;
}

jm_status jm__sample_blocks_begin(jm__sample_blocks *blocks, jm__writer *writer, int64_t board_id,
                                  const char *const *names, const char *const *units, size_t count,
                                  jm_error *err)
{
    *blocks = (jm__sample_blocks){.writer = writer,
                                  .set = {.board_id = board_id, .metric_count = (int64_t)count},
                                  .samples = calloc(BLOCK_SAMPLES, sizeof *blocks->samples),
                                  .most = BLOCK_SAMPLES};
    if (blocks->samples == NULL) return jm__no_memory(err, "jm__sample_blocks_begin");
    while (jm__counter_block_size(blocks->most, blocks->set.metric_count) == 0)
        blocks->most /= 2;
    return write_set(blocks, names, units, err);
}

jm__counter_sample *jm__sample_blocks_next(const jm__sample_blocks *blocks)
{
    return &blocks->samples[blocks->count];
}

jm_status jm__sample_blocks_add(jm__sample_blocks *blocks, jm_error *err)
{
    return ++blocks->count == blocks->most ? jm__sample_blocks_end(blocks, err) : JM_OK;
}

jm_status jm__sample_blocks_end(jm__sample_blocks *blocks, jm_error *err)
{
    if (blocks->count == 0) return JM_OK;
    size_t size = jm__counter_block_size(blocks->count, blocks->set.metric_count);
    void *data = malloc(size);
    if (data == NULL) return jm__no_memory(err, "jm__sample_blocks_end");
    jm__counter_block block = {.set_id = blocks->set.id,
                               .start_ns = blocks->samples[0].start_ns,
                               .end_ns = blocks->samples[blocks->count - 1].end_ns,
                               .count = blocks->count,
                               .data = {data, size}};
    jm__counter_block_pack(data, block.start_ns, blocks->samples, blocks->count, blocks->set.metric_count);
    jm_status status = jm__writer_counter_block(blocks->writer, &block, err);
    free(data);
    blocks->count = 0;
    return status;
}

void jm__sample_blocks_free(jm__sample_blocks *blocks)
{
    free(blocks->samples);
}
