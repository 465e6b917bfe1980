/* Hardware counters that are added to a recording: out of a CSV file, or out of what ncu counted. */
#ifndef JM_IMPORT_COUNTERS_H
#define JM_IMPORT_COUNTERS_H

#include "format/dataset.h"
#include "format/writer.h"
#include "record/counters/chip.h"

/* start_ns,end_ns,METRIC...: times of day, of windows in which the recording ran. BAD_DATA names line and
 * column. */
jm_status jm__import_counters(jm__writer *writer, const jm__dataset *data, int64_t board_id, const char *path,
                              jm_recording *run, jm_error *err);

/* Kernels go by name, launch shape and order: the n-th launch of such a kernel in the recording is the n-th
 * of the file, and after its last comes its first again. Each launch that is told of becomes a window of
 * counters, as long as it took, until its class has been seen for long enough. NOT_FOUND: no kernel of the
 * recording is in the file; BAD_DATA: it is no file of ncu's, or it lacks counters, which are named. */
jm_status jm__import_ncu(jm__writer *writer, const jm__dataset *data, int64_t board_id, const char *path,
                         jm_error *err);

/* Samples into blocks of the recording, for both. */
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
