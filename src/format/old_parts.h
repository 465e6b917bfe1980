/* Which parts of a recording are there, and the removal of those that are too old. */
#ifndef JM_FORMAT_OLD_PARTS_H
#define JM_FORMAT_OLD_PARTS_H

#include <joulemap/status.h>
#include <stdint.h>

/* The highest number that a file beside `base` has, 0: there is none. BUSY: that part is being written. */
jm_status jm__old_parts_last(const char *base, int64_t *number, jm_error *err);

/* Of the parts with numbers below `before`, all but the newest `keep` go, with their journals. A file goes
 * only if it is a recording that says of itself that it is the part of its name's number, and nobody writes
 * it. The error is of the first that could not be removed. */
jm_status jm__old_parts_remove(const char *base, int64_t before, int64_t keep, jm_error *err);

#endif
