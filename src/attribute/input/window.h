/* Sets of time: intervals, sorted and disjoint once they are normalised. */
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

/* Add in any order; an interval that begins within the last one extends it. jm__intervals_normalise sorts
 * and merges them. False if memory is out. */
bool jm__intervals_add(jm__intervals *intervals, int64_t from_ns, int64_t to_ns);
bool jm__intervals_add_all(jm__intervals *intervals, const jm__intervals *others);
void jm__intervals_normalise(jm__intervals *intervals);

/* Both sets are normalised. False if memory is out. */
bool jm__intervals_subtract(jm__intervals *intervals, const jm__intervals *other);
bool jm__intervals_intersect(jm__intervals *intervals, const jm__intervals *other);

void jm__intervals_clip(jm__intervals *intervals, int64_t from_ns, int64_t to_ns);

/* Add the part of `others` (normalised) within [from, to]; false if memory is out. */
bool jm__intervals_add_within(jm__intervals *intervals, const jm__intervals *others, int64_t from_ns,
                              int64_t to_ns);

/* The first interval that ends after t; intervals->count: none. */
size_t jm__intervals_first_after(const jm__intervals *intervals, int64_t t_ns);

/* Time of [from, to] within the intervals. */
int64_t jm__intervals_overlap_ns(const jm__intervals *intervals, int64_t from_ns, int64_t to_ns);
/* The same for calls in order of from_ns: *first is 0 before the first call. */
int64_t jm__intervals_next_overlap_ns(const jm__intervals *intervals, size_t *first, int64_t from_ns,
                                      int64_t to_ns);

int64_t jm__intervals_duration_ns(const jm__intervals *intervals);
bool jm__intervals_contain(const jm__intervals *intervals, int64_t t_ns);

#endif
