/* The producer's side of a ring file. Libc alone: also part of libjoulemap_inject.
 *
 * One thread at a time pushes. A push neither locks, allocates nor calls the
 * system; without room it counts the record in `lost`. All pages are reserved
 * when the ring is made, so a full /dev/shm is an errno there and never a SIGBUS later. */
#ifndef JM_RECORD_TIMELINE_RING_H
#define JM_RECORD_TIMELINE_RING_H

#include "record/timeline/ring_format.h"

#include <stdbool.h>
#include <stddef.h>

/* The ring of kernel records: 64 MiB, half a second of a million kernels and launches a second, for a
 * recorder that is held up by its disk; less where /dev/shm is small. */
#define JM_KERNELS_CAPACITY       (1u << 20)
#define JM_KERNELS_CAPACITY_LEAST 1024u
#define JM_KERNELS_SHARE          8u

typedef struct jm__ring {
    jm_ring_header *header; /* NULL: there is none */
    void *records;
    uint64_t head; /* our own copy */
    uint64_t tail; /* as last seen */
    uint64_t capacity;
    size_t mapped_bytes;
    uint32_t number; /* of the file's name */
} jm__ring;

typedef struct jm__ring_options {
    const char *run_dir;
    uint32_t writer; /* JM_WRITER_* */
    uint32_t names_file;
    uint32_t record_size;
    uint32_t capacity;       /* wanted, a power of two */
    uint32_t capacity_least; /* fewer are of no use */
    uint32_t share;          /* take at most 1/share of what is free on that file system */
    bool realtime;
} jm__ring_options;

/* 0, or an errno. Takes a smaller ring where there is no room for the one wanted. */
int jm__ring_create(jm__ring *ring, const jm__ring_options *options);

/* Say that no more will come, and unmap. `ours` false: only unmap (a fork's copy). */
void jm__ring_close(jm__ring *ring, bool ours);

/* More slots than `kept_free` are left. */
static inline bool jm__ring_is_free(jm__ring *ring, uint64_t kept_free)
{
    if (ring->head - ring->tail + kept_free < ring->capacity) return true;
    ring->tail = atomic_load_explicit(&ring->header->tail, memory_order_acquire);
    return ring->head - ring->tail + kept_free < ring->capacity;
}

static inline bool jm__ring_has_room(jm__ring *ring, uint64_t kept_free)
{
    if (jm__ring_is_free(ring, kept_free)) return true;
    atomic_fetch_add_explicit(&ring->header->lost, 1, memory_order_relaxed);
    return false;
}

/* `kept_free`: refuse unless more slots than this are left. */
static inline bool jm__ring_push_span(jm__ring *ring, const jm_ring_span *record, uint64_t kept_free)
{
    if (!jm__ring_has_room(ring, kept_free)) return false;
    ((jm_ring_span *)ring->records)[ring->head & (ring->capacity - 1)] = *record;
    atomic_store_explicit(&ring->header->head, ++ring->head, memory_order_release);
    return true;
}

static inline bool jm__ring_push_kernel(jm__ring *ring, const jm_ring_kernel *record)
{
    if (!jm__ring_has_room(ring, 0)) return false;
    ((jm_ring_kernel *)ring->records)[ring->head & (ring->capacity - 1)] = *record;
    atomic_store_explicit(&ring->header->head, ++ring->head, memory_order_release);
    return true;
}

#endif
