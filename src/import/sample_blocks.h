/* Samples of hardware counters that are imported, into blocks of the recording. */
#ifndef JM_IMPORT_SAMPLE_BLOCKS_H
#define JM_IMPORT_SAMPLE_BLOCKS_H

#include "format/writer.h"
#include "record/counters/chip.h"

typedef struct jm__sample_blocks {
    jm__writer *writer;
    jm__counter_set set;
    jm__counter_sample *samples; /* of the block that is being filled */
    int64_t count, most;         /* of them; in a block of this set */
} jm__sample_blocks;

/* Write the set: names and units become texts of JSON as they are. To be freed, also after an error. */
jm_status jm__sample_blocks_begin(jm__sample_blocks *blocks, jm__writer *writer, int64_t board_id,
                                  const char *const *names, const char *const *units, size_t count,
                                  jm_error *err);

/* Room for the next sample, which jm__sample_blocks_add takes once it is filled. */
jm__counter_sample *jm__sample_blocks_next(const jm__sample_blocks *blocks);
jm_status jm__sample_blocks_add(jm__sample_blocks *blocks, jm_error *err);

/* Write what is not written yet. */
jm_status jm__sample_blocks_end(jm__sample_blocks *blocks, jm_error *err);
void jm__sample_blocks_free(jm__sample_blocks *blocks);

#endif
