/* The intervals of time that a report speaks of: sorted, apart from each other. */
#ifndef JM_ATTRIBUTE_INPUT_WINDOW_H
#define JM_ATTRIBUTE_INPUT_WINDOW_H

#include "base/vec.h"
#include <joulemap/status.h>
#include <stdint.h>

typedef struct jm__interval {
    int64_t from_ns;
    int64_t to_ns;
} jm__interval;

typedef JM_VEC(jm__interval) jm__intervals;

/* Add one in any order, which makes the last one longer if it begins in it; jm__intervals_normalise then
 * sorts and unites. False if memory is out. */
bool jm__intervals_add(jm__intervals *windows, int64_t from_ns, int64_t to_ns);
bool jm__intervals_add_all(jm__intervals *windows, const jm__intervals *others);
void jm__intervals_normalise(jm__intervals *windows);

/* Take the time of `other` out, or keep no other; both are normalised. False if memory is out. */
bool jm__intervals_subtract(jm__intervals *windows, const jm__intervals *other);
bool jm__intervals_intersect(jm__intervals *windows, const jm__intervals *other);

/* Keep only what lies within [from, to]. */
void jm__intervals_clip(jm__intervals *windows, int64_t from_ns, int64_t to_ns);

/* Add what of `others` (normalised) lies within [from, to]; false if memory is out. */
bool jm__intervals_add_within(jm__intervals *windows, const jm__intervals *others, int64_t from_ns,
                              int64_t to_ns);

/* The first that ends after t; `count` of them: none. */
size_t jm__intervals_first_after(const jm__intervals *windows, int64_t t_ns);

/* Time of [from, to] that lies in the windows. */
int64_t jm__intervals_overlap_ns(const jm__intervals *windows, int64_t from_ns, int64_t to_ns);
/* The same for who asks in order of from_ns: `first` is 0 before the first time. */
int64_t jm__intervals_next_overlap_ns(const jm__intervals *windows, size_t *first, int64_t from_ns,
                                      int64_t to_ns);

int64_t jm__intervals_duration_ns(const jm__intervals *windows);
bool jm__intervals_hold(const jm__intervals *windows, int64_t t_ns);

#endif
