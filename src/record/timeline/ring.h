/* What a writer leaves in the run's folder: rings, names, and the page of what found no ring. Libc alone:
 * also part of libjoulemap_inject. The formats are in ring_format.h.
 *
 * One thread at a time pushes into a ring. A push neither locks, allocates nor calls the
 * system; without room it counts the record in `lost`. All pages are reserved
 * when the ring is made, so a full /dev/shm is an errno there and never a SIGBUS later. */
#ifndef JM_RECORD_TIMELINE_RING_H
#define JM_RECORD_TIMELINE_RING_H

#include "base/kept_file.h"
#include "base/map.h"
#include "record/timeline/ring_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* ---- The names of one writer: texts, their numbers, and the names file of the run.
 *
 * Texts outlive a run: a new run's file gets those known already. Not locked:
 * the owner does that. */

#define JM_NAMES_MAX (1u << 20) /* texts kept in a process */
/* Numbers of texts used once, which come again: 16 full rings of marks. */
#define JM_NAMES_ONCE_MAX (1u << 20)

typedef struct jm__names_entry {
    uint32_t number;
    uint32_t length;
    char *text; /* NUL-terminated */
} jm__names_entry;

typedef struct jm__names {
    jm__names_entry *entries;
    size_t count;
    size_t capacity;
    jm__map indices; /* of entries, by text */
    uint32_t last_number;
    uint32_t *once; /* numbers of texts used once, the oldest at once_next when all are there */
    size_t once_count;
    size_t once_next;
    uint64_t refused; /* asked for and without a number; the owner takes the count away */
    size_t written;   /* entries that are in the file */
    jm__kept_file file;
    char *path; /* of the file, NULL: there is none */
    uint32_t file_number;
} jm__names;

/* Open this run's file and write into it what is known already. 0 or an errno. */
int jm__names_open(jm__names *names, const char *run_dir, uint32_t writer);

/* The number of a text, 0 if there is no memory or JM_NAMES_MAX texts are there. */
uint32_t jm__names_intern(jm__names *names, const char *text, size_t length);

/* A number for a text used once (a mark's JSON): goes to the file and is not kept. 0 if it could not. The
 * same number is given again after JM_NAMES_ONCE_MAX others: a program may tell of marks for months. */
uint32_t jm__names_write_once(jm__names *names, const char *text, size_t length);

/* The kept text of a number that jm__names_intern gave, NULL of any other; valid for ever. */
const char *jm__names_text(const jm__names *names, uint32_t number);

void jm__names_close(jm__names *names); /* the file; texts stay */
void jm__names_free(jm__names *names);

/* ---- What found no ring to be written into, counted where the recorder sees it: the page `lost` of the
 * run's folder (ring_format.h), which all processes of the run share.
 *
 * Counting locks nothing and is right at any time: where there is no run, or its page cannot be had yet, a
 * page of this process alone takes the counts, and joining a run hands them on. */

/* The recorder's side: make the page, its room reserved. 0 or an errno. */
int jm__lost_create(const char *run_dir);

/* The counts so far; false if they cannot be read. */
bool jm__lost_read(const char *run_dir, uint64_t counts[JM_LOST_KINDS]);

/* The writer's side. Not locked: the owner of the run's other files does that. */
bool jm__lost_join(const char *run_dir); /* false: not yet; once it has worked, again without effect */
void jm__lost_leave(void);
void jm__lost_forget(void); /* in the child of a fork: what was counted is the parent's */

void jm__lost_add(jm_lost_kind kind, uint64_t count);

#endif
