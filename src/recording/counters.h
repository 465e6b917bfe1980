/* The hardware counters of a recording, in memory. */
#ifndef JM_RECORDING_COUNTERS_H
#define JM_RECORDING_COUNTERS_H

#include "rows/counters.h"
#include <joulemap/recording.h>

/* Sets by id, which is index + 1; blocks in the order in which they were written, each of them sound. */
typedef struct jm__counters {
    const jm__counter_set *sets;
    size_t set_count;
    const jm__counter_block *blocks;
    size_t block_count;
} jm__counters;

/* Of a damaged file what it still gives: a block that is not what it says is left out, and noted in the
 * recording. None in files of format 1. */
jm_status jm__counters_load(jm__counters **out, jm_recording *recording, jm_error *err);
void jm__counters_free(jm__counters *counters);

#endif
