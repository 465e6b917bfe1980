/* The parts of a run (rotate.h) as one follows the other. */
#ifndef JM_FORMAT_PART_BEFORE_H
#define JM_FORMAT_PART_BEFORE_H

#include "base/clock.h"
#include <joulemap/recording.h>

/* So much before its begin is in a part, too: what sensors remember, and two readings of a counter that is
 * read every five seconds (record/sample/sampler.c). */
#define JM_PART_BEFORE_NS (6 * JM_NS_PER_S)

/* The time that is a part's own, of two that are asked for: INT64_MIN is its begin, INT64_MAX its end. */
void jm__part_own_time(const jm_recording *recording, int64_t *from_ns, int64_t *to_ns);

/* Where what happened before `from_ns` of its own is told: the part before, opened, and until when; NULL:
 * here, or nowhere. The error is that of opening it; BAD_DATA: it is none. */
jm_status jm__part_before(jm_recording **out, const jm_recording *recording, int64_t from_ns,
                          int64_t *until_ns, jm_error *err);

#endif
