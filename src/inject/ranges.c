/* The stacks of pushed ranges. */
#include "inject/ranges.h"

#include "timeline/track.h"

#include <joulemap/span.h>

#include <limits.h>
#include <string.h>

#define DEPTH_MAX 256 /* open ranges of a thread; deeper ones are not recorded */

typedef struct range {
    const void *owner;
    uint64_t span;
} range;
static _Thread_local range open_ranges[DEPTH_MAX];
static _Thread_local int open_count;
static _Thread_local int too_deep;

int jm__ranges_push(const void *owner, uint32_t name, uint32_t type)
{
    if (open_count == DEPTH_MAX) {
        if (too_deep < INT_MAX - DEPTH_MAX) too_deep++;
        return DEPTH_MAX + too_deep - 1;
    }
    open_ranges[open_count] = (range){owner, jm__track_begin(JM_SPAN_NVTX, name, type, 0)};
    return open_count++;
}

int jm__ranges_pop(const void *owner)
{
    if (too_deep > 0) return DEPTH_MAX + --too_deep;
    for (int i = open_count - 1; i >= 0; i--) {
        if (open_ranges[i].owner != owner) continue;
        jm__track_end(open_ranges[i].span);
        open_count--;
        memmove(&open_ranges[i], &open_ranges[i + 1], (size_t)(open_count - i) * sizeof open_ranges[0]);
        return open_count;
    }
    return -1;
}
