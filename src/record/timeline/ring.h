/* What a writer stores in the run's folder: rings, names, and the page of records that had no ring. Needs
 * only libc: libjoulemap_inject contains it as well. The formats are in ring_format.h.
 *
 * One thread at a time pushes into a ring. A push does not lock, allocate or make system calls; in a full
 * ring the record is counted in `lost`. All pages are reserved when the ring is created, so that a full
 * /dev/shm is an errno there and never a SIGBUS later. */
#ifndef JM_RECORD_TIMELINE_RING_H
#define JM_RECORD_TIMELINE_RING_H

#include "base/kept_file.h"
#include "base/map.h"
#include "base/vec.h"
#include "record/timeline/ring_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The ring of kernel records: 64 MiB, half a second at a million kernels and launches a second, in case the
 * recorder waits for its disk. Less if /dev/shm is small. */
#define JM_KERNELS_CAPACITY       (1u << 20)
#define JM_KERNELS_CAPACITY_LEAST 1024u
#define JM_KERNELS_SHARE          8u

typedef struct jm__ring {
    jm_ring_header *header; /* NULL: no ring */
    void *records;
    uint64_t head; /* local copy */
    uint64_t tail; /* as last read */
    uint64_t capacity;
    size_t mapped_bytes;
    uint32_t number; /* in the file name */
} jm__ring;

typedef struct jm__ring_options {
    const char *run_dir;
    uint32_t writer; /* JM_WRITER_* */
    uint32_t names_file;
    uint32_t record_size;
    uint32_t capacity;       /* requested, a power of two */
    uint32_t capacity_least; /* the smallest useful one */
    uint32_t share;          /* use at most 1/share of the free space */
    bool realtime;
} jm__ring_options;

/* 0, or an errno. Creates a smaller ring if there is not enough space. */
int jm__ring_create(jm__ring *ring, const jm__ring_options *options);

/* Marks the ring as closed, and unmaps it. `ours` false: only unmaps (a fork's copy). */
void jm__ring_close(jm__ring *ring, bool ours);

/* Are more than `kept_free` slots free? */
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

/* Fails unless more than `kept_free` slots are free. */
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

/* ---- The names of one writer: texts, their numbers, and the names file of the run.
 *
 * Texts outlive a run: the file of a new run begins with the existing ones. Not locked; the owner locks. */

#define JM_NAMES_MAX (1u << 20) /* texts per process */
/* Numbers for texts that are used once; they are reused. 16 full rings of marks. */
#define JM_NAMES_ONCE_MAX (1u << 20)

typedef struct jm__names_entry {
    uint32_t number;
    uint32_t length;
    char *text; /* NUL-terminated */
} jm__names_entry;

typedef struct jm__names {
    JM_VEC(jm__names_entry) entries;
    jm__map indices; /* of entries, by text */
    uint32_t last_number;
    JM_VEC(uint32_t) once; /* numbers of texts used once; when all exist, the oldest is at once_next */
    size_t once_next;
    uint64_t refused; /* texts that got no number; the owner resets it */
    size_t written;   /* entries written to the file */
    jm__kept_file file;
    char *path; /* of the file, NULL: none */
    uint32_t file_number;
} jm__names;

/* Opens the names file of a run and writes the existing texts into it. 0 or an errno. */
int jm__names_open(jm__names *names, const char *run_dir, uint32_t writer);

/* The number of a text; 0 if memory is out or there are JM_NAMES_MAX texts. */
uint32_t jm__names_intern(jm__names *names, const char *text, size_t length);

/* A number for a text that is used once (a mark's JSON): it is written but not kept. 0 on failure. Numbers
 * are reused after JM_NAMES_ONCE_MAX others, since a program may set marks for months. */
uint32_t jm__names_write_once(jm__names *names, const char *text, size_t length);

/* The text of a number from jm__names_intern, else NULL; valid for ever. */
const char *jm__names_text(const jm__names *names, uint32_t number);

void jm__names_close(jm__names *names); /* closes the file; texts stay */
void jm__names_free(jm__names *names);

/* ---- Counts of records that had no ring: the page `lost` of the run's folder (ring_format.h), shared by all
 * processes of the run.
 *
 * Counting never locks and never fails: without a run or before its page is available, a page of this process
 * collects the counts, and joining a run transfers them. */

/* For the recorder: creates the page with its space reserved. 0 or an errno. */
int jm__lost_create(const char *run_dir);

/* The current counts; false if they cannot be read. */
bool jm__lost_read(const char *run_dir, uint64_t counts[JM_LOST_KINDS]);

/* For writers. Not locked; the owner of the run's other files locks. */
bool jm__lost_join(const char *run_dir); /* false: not possible yet; no effect after success */
void jm__lost_leave(void);
void jm__lost_forget(void); /* in a forked child: the counts so far are the parent's */

void jm__lost_add(jm_lost_kind kind, uint64_t count);

#endif
