/* Copies out of and into a mapped file that somebody else may cut short at any time: the kernel copies, so
 * what is gone is an error and not a SIGBUS. Where a sandbox forbids one way it goes another; plain copies
 * are left where no descriptor is free there. Libc alone: also part of the simulated board. */
#ifndef JM_BASE_MAPPED_H
#define JM_BASE_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: (part of) it is gone. */
bool jm__mapped_read(void *to, const void *mapped, size_t size);
bool jm__mapped_write(void *mapped, const void *from, size_t size);

/* A number there that only grows, as its writer published it: what it published before can be read then. */
bool jm__mapped_read_head(uint64_t *to, const _Atomic uint64_t *mapped);

#endif
