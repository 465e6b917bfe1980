/* Adding hardware counters to a recording, from a CSV file or from ncu. */
#ifndef JM_IMPORT_COUNTERS_H
#define JM_IMPORT_COUNTERS_H

#include "format/dataset.h"
#include "format/writer.h"
#include "record/counters/chip.h"

/* Reads "start_ns,end_ns,METRIC...": times of day, of windows within the recording. BAD_DATA names line and
 * column. */
jm_status jm__import_counters(jm__writer *writer, const jm__dataset *data, int64_t board_id, const char *path,
                              jm_recording *run, jm_error *err);

/* Kernels are matched by name, launch shape and order: the n-th launch of a kernel in the recording is the
 * n-th in the file, which starts over after its last. Each matched launch becomes a counter window of its own
 * length, until its class was covered for long enough. NOT_FOUND: no kernel of the recording is in the file.
 * BAD_DATA: the file is not ncu's, or lacks counters, which the error names. */
jm_status jm__import_ncu(jm__writer *writer, const jm__dataset *data, int64_t board_id, const char *path,
                         jm_error *err);

/* Collects samples into blocks of the recording. */
typedef struct jm__sample_blocks {
    jm__writer *writer;
    jm__counter_set set;
    jm__counter_sample *samples; /* of the current block */
    int64_t count, most; /* samples in the current block; the most that a block of this set may have */
} jm__sample_blocks;

/* Writes the set; names and units must need no escaping in JSON. Free the blocks also after an error. */
jm_status jm__sample_blocks_begin(jm__sample_blocks *blocks, jm__writer *writer, int64_t board_id,
                                  const char *const *names, const char *const *units, size_t count,
                                  jm_error *err);

/* The slot of the next sample. Fill it, then call jm__sample_blocks_add. */
jm__counter_sample *jm__sample_blocks_next(const jm__sample_blocks *blocks);
jm_status jm__sample_blocks_add(jm__sample_blocks *blocks, jm_error *err);

/* Writes the remaining samples. */
jm_status jm__sample_blocks_end(jm__sample_blocks *blocks, jm_error *err);
void jm__sample_blocks_free(jm__sample_blocks *blocks);

#endif
