/* The stretches of time that a report speaks of: sorted, apart from each other. */
#ifndef JM_ATTRIBUTE_INPUT_WINDOW_H
#define JM_ATTRIBUTE_INPUT_WINDOW_H

#include "base/vec.h"
#include <joulemap/status.h>
#include <stdint.h>

typedef struct jm__window {
    int64_t from_ns;
    int64_t to_ns;
} jm__window;

typedef JM_VEC(jm__window) jm__windows;

/* Add one in any order, which makes the last one longer if it begins in it; jm__windows_normalise then sorts
 * and unites. False if memory is out. */
bool jm__windows_add(jm__windows *windows, int64_t from_ns, int64_t to_ns);
bool jm__windows_add_all(jm__windows *windows, const jm__windows *others);
void jm__windows_normalise(jm__windows *windows);

/* Take the time of `other` out, or keep no other; both are normalised. False if memory is out. */
bool jm__windows_subtract(jm__windows *windows, const jm__windows *other);
bool jm__windows_intersect(jm__windows *windows, const jm__windows *other);

/* Keep only what lies within [from, to]. */
void jm__windows_clip(jm__windows *windows, int64_t from_ns, int64_t to_ns);

/* Add what of `others` (normalised) lies within [from, to]; false if memory is out. */
bool jm__windows_add_within(jm__windows *windows, const jm__windows *others, int64_t from_ns, int64_t to_ns);

/* The first that ends after t; `count` of them: none. */
size_t jm__windows_first_after(const jm__windows *windows, int64_t t_ns);

/* Time of [from, to] that lies in the windows. */
int64_t jm__windows_overlap_ns(const jm__windows *windows, int64_t from_ns, int64_t to_ns);
/* The same for who asks in order of from_ns: `first` is 0 before the first time. */
int64_t jm__windows_next_overlap_ns(const jm__windows *windows, size_t *first, int64_t from_ns,
                                    int64_t to_ns);

int64_t jm__windows_duration_ns(const jm__windows *windows);
bool jm__windows_hold(const jm__windows *windows, int64_t t_ns);

#endif
