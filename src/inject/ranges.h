/* Ranges that a thread pushes and pops: a stack a thread, shared by all who have one. Nothing allocates. */
#ifndef JM_INJECT_RANGES_H
#define JM_INJECT_RANGES_H

#include <stdint.h>

/* Begin a range of the calling thread; its level, from 0. `owner`: whose it is (a domain of NVTX, ...); a pop
 * takes the newest of its owner. Beyond 256 open ones of a thread levels go on, spans do not. */
int jm__ranges_push(const void *owner, uint32_t name, uint32_t type);

/* End the newest one; its level, -1 if there is none. */
int jm__ranges_pop(const void *owner);

#endif
