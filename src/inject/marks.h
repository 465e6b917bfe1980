/* Marks of NVTX: instants, and names that a program gives to threads, streams and the like. Not for a hot
 * path: what is told with a mark is JSON, written at once. */
#ifndef JM_INJECT_MARKS_H
#define JM_INJECT_MARKS_H

#include "inject/ranges.h"

/* An instant; its category and payload are told as {"category": "io", "payload": 3}. */
void jm__mark_put(const jm__range *range);

/* "NVTX name": {"of": "thread", "id": 4711, "name": "loader"}. `name` may be NULL: nothing is told. */
void jm__mark_named(const char *of, uint64_t id, const char *name);

#endif
