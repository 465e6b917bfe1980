/* Where the hardware counters of a dataset come from. A day of them is a gigabyte: they pass by. */
#ifndef JM_FORMAT_COUNTER_SOURCE_H
#define JM_FORMAT_COUNTER_SOURCE_H

#include "format/rows/counters.h"
#include <joulemap/recording.h>

/* Takes a block, which is sound and borrowed for the call; what is not JM_OK ends the pass and is what the
 * pass returns. */
typedef jm_status (*jm__counter_taker)(void *taker, const jm__counter_block *block, jm_error *err);

/* Sets by id, which is index + 1; blocks in the order in which they were written, which is by time for each
 * set. Each pass gives the same blocks, of a damaged file what it still gives. `each` may be NULL: there are
 * none. */
typedef struct jm__counter_source {
    const jm__counter_set *sets;
    size_t set_count;
    jm_status (*each)(void *context, jm__counter_taker take, void *taker, jm_error *err);
    void *context;
} jm__counter_source;

/* The blocks of a recording that belong to one of `sets`. How many are not what they say, and left out, is
 * noted in the recording as damage. None in files of format 1. */
jm_status jm__counter_blocks_each(jm_recording *recording, const jm__counter_set *sets, size_t set_count,
                                  jm__counter_taker take, void *taker, jm_error *err);

#endif
