/* The buffers that CUPTI fills: a pool, so that a request hardly ever allocates. Any thread. */
#ifndef JM_INJECT_BUFFERS_H
#define JM_INJECT_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#define JM_BUFFER_BYTES (size_t)(4u << 20)
#define JM_BUFFERS_KEPT 4  /* made at the start */
#define JM_BUFFERS_MAX  64 /* 256 MiB: more, and CUPTI drops records, and counts them */

/* Make the first ones; fewer if there is no memory. */
void jm__buffers_prepare(void);

/* A buffer of JM_BUFFER_BYTES, or NULL. */
uint8_t *jm__buffers_take(void);
void jm__buffers_return(const uint8_t *buffer);

/* CUPTI is gone, and with it its claim to all of them. How many it had. */
size_t jm__buffers_forget(void);

/* In the child of a fork: likewise, and whoever held them is not there. */
void jm__buffers_forget_in_child(void);

/* Give back the memory of those that are with nobody. */
void jm__buffers_release(void);

/* When the buffer that has been with CUPTI the longest went there; INT64_MAX: there is none. */
int64_t jm__buffers_oldest_ns(void);

#endif
