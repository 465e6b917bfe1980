/* What lanes.c and track.c share: a thread's ring, and how it gets to it. */
#ifndef JM_TIMELINE_TRACK_PARTS_H
#define JM_TIMELINE_TRACK_PARTS_H

#include "timeline/dormant.h"
#include "timeline/names.h"
#include "timeline/ring.h"

#include <sys/types.h>

/* A ring and the thread that has it. The lane of a thread that ends goes to the next new one: thousands of
 * short threads need no more rings than run at once. */
typedef struct jm__lane {
    jm__ring ring;
    uint64_t next_id; /* ring's number above, count below: unique in the process without an atomic */
    uint32_t generation;
    pid_t pid;
    struct jm__lane *next; /* on the free list */
} jm__lane;

/* 0: this process is in no run; else changes with each run and fork. A thread whose own one differs has no
 * ring of this run yet. */
extern _Atomic uint32_t jm__track_generation;
extern _Thread_local jm__lane *jm__own_lane;
extern _Thread_local uint32_t jm__own_generation;

/* Out of line, hardly ever needed: the first record of this thread in this run; no ring for this one, which
 * is counted; the run that its ring was of is over. */
jm__lane *jm__lane_attach(void);
jm__lane *jm__lane_miss(void);
jm__lane *jm__lane_leave(void);

/* NULL: no run, or no ring. */
static inline jm__lane *jm__lane_get(void)
{
    uint32_t now = atomic_load_explicit(&jm__track_generation, memory_order_relaxed);
    if (now == 0) {
        jm__dormant_count();
        return __builtin_expect(jm__own_generation == 0, 1) ? NULL : jm__lane_leave();
    }
    jm__lane *mine = jm__own_lane;
    if (__builtin_expect(jm__own_generation != now, 0)) mine = jm__lane_attach();
    if (__builtin_expect(mine == NULL, 0) && jm__own_generation != 0) mine = jm__lane_miss();
    return mine;
}

/* The same inside of a call of the driver's. */
jm__lane *jm__lane_in_callback(void);

/* The names of this process, until they are unlocked. `in_run`: in this run, or one that may come. */
jm__names *jm__track_names_lock(bool *in_run);
void jm__track_names_unlock(void);

#endif
