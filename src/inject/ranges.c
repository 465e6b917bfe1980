/* Per-thread stacks of pushed ranges. */
#include "inject/ranges.h"

#include "record/timeline/track.h"

#include <joulemap/span.h>

#include <limits.h>
#include <string.h>

#define DEPTH_MAX 256 /* open ranges per thread; deeper ones are not recorded */

static _Thread_local struct {
    const void *owner;
    uint64_t span;
} open_ranges[DEPTH_MAX];
static _Thread_local int open_count;
static _Thread_local int too_deep;

uint64_t jm__range_begin(const jm__range *range)
{
    return jm__track_begin_with(JM_SPAN_NVTX, range->name, range->type, 0, &range->payload);
}

static int push_too_deep(void)
{
    if (too_deep < INT_MAX - DEPTH_MAX) too_deep++;
    return DEPTH_MAX + too_deep - 1;
}

int jm__ranges_push_span(const void *owner, uint64_t span)
{
    if (open_count == DEPTH_MAX) {
        jm__track_end(span);
        return push_too_deep();
    }
    open_ranges[open_count].owner = owner;
    open_ranges[open_count].span = span;
    return open_count++;
}

int jm__ranges_push(const void *owner, const jm__range *range)
{
    if (open_count == DEPTH_MAX) return push_too_deep();
    return jm__ranges_push_span(owner, jm__range_begin(range));
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
