/* Ranges that a thread pushes and pops: a stack a thread, shared by all who have one. Nothing allocates. */
#ifndef JM_INJECT_RANGES_H
#define JM_INJECT_RANGES_H

#include "record/timeline/track.h"

/* What is told of a range at its begin. */
typedef struct jm__range {
    uint32_t name, type;
    jm__track_number payload;
} jm__range;

/* Begin a range of the calling thread; its level, from 0. `owner`: whose it is (a domain of NVTX, ...); a pop
 * takes the newest of its owner. Beyond 256 open ones of a thread levels go on, spans do not. */
int jm__ranges_push(const void *owner, const jm__range *range);

/* Push what is a span already, 0: none. */
int jm__ranges_push_span(const void *owner, uint64_t span);

/* One that is not pushed, and is ended by its number (jm__track_end). */
uint64_t jm__range_begin(const jm__range *range);

/* End the newest one; its level, -1 if there is none. */
int jm__ranges_pop(const void *owner);

#endif
