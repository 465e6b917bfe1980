/* Ranges that a thread pushes and pops: one stack per thread, shared by all owners. Nothing allocates. */
#ifndef JM_INJECT_RANGES_H
#define JM_INJECT_RANGES_H

#include "record/timeline/track.h"

/* The data of a range, known at its begin. `name`, `type`: numbers of interned texts. */
typedef struct jm__range {
    uint32_t name, type;
    jm__track_number payload;
} jm__range;

/* Begin a range of the calling thread. Returns its level, from 0. `owner`: an NVTX domain, for example; a pop
 * ends the newest range of its owner. Beyond 256 open ranges levels are counted, but no spans recorded. */
int jm__ranges_push(const void *owner, const jm__range *range);

/* Push an existing span as a range; 0: no span. */
int jm__ranges_push_span(const void *owner, uint64_t span);

/* Begin a range that is not pushed; it is ended by its number (jm__track_end). */
uint64_t jm__range_begin(const jm__range *range);

/* End the newest range of the owner. Returns its level; -1: none is open. */
int jm__ranges_pop(const void *owner);

#endif
