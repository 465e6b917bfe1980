/* Copies from and to a mapped file that another process may truncate at any time. The kernel makes the copy,
 * so missing pages are an error and not a SIGBUS. If a sandbox forbids process_vm_readv, a pipe does the
 * copy; without free descriptors, plain memcpy is left. Needs only libc: the simulated board contains it as
 * well. */
#ifndef JM_BASE_MAPPED_H
#define JM_BASE_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: some of it is gone. */
bool jm__mapped_read(void *to, const void *mapped, size_t size);
bool jm__mapped_write(void *mapped, const void *from, size_t size);

/* A counter there that only grows, as published by its writer; data published before it can be read
 * afterwards. */
bool jm__mapped_read_head(uint64_t *to, const _Atomic uint64_t *mapped);

#endif
