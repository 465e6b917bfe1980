/* CUPTI's CLOCK_REALTIME stamps in CLOCK_MONOTONIC, also across a step of the realtime clock. */
#include "record/timeline/collector_parts.h"

#include <string.h>

void jm__collector_clock_update(jm__collector *collector)
{
    jm__anchor anchor = jm__anchor_take();
    int64_t offset_ns = anchor.monotonic_ns - anchor.realtime_ns;
    if (collector->segment_count > 0) {
        int64_t change_ns = offset_ns - collector->segments[collector->segment_count - 1].offset_ns;
        if (change_ns > -JM_CLOCK_STEP_NS && change_ns < JM_CLOCK_STEP_NS) {
            collector->clock_checked_ns = anchor.monotonic_ns;
            return;
        }
    }
    if (collector->segment_count == JM_CLOCK_SEGMENTS) {
        memmove(collector->segments, collector->segments + 1,
                (JM_CLOCK_SEGMENTS - 1) * sizeof collector->segments[0]);
        collector->segment_count--;
    }
    collector->segments[collector->segment_count++] =
        (collector_clock_segment){.from_ns = collector->clock_checked_ns, .offset_ns = offset_ns};
    collector->clock_checked_ns = anchor.monotonic_ns;
}

/* A stamp belongs to the newest segment in which it makes sense: not before the last poll of the segment
 * before, and not in the future. */
int64_t jm__collector_clock_convert(const jm__collector *collector, int64_t realtime_ns)
{
    size_t last = collector->segment_count - 1;
    for (size_t i = last; i > 0; i--) {
        int64_t t_ns = realtime_ns + collector->segments[i].offset_ns;
        if (t_ns >= collector->segments[i].from_ns && t_ns <= collector->now_ns + JM_CLOCK_STEP_NS)
            return t_ns;
    }
    /* With one segment there is no choice; else this is the oldest, or a stamp between the segments. */
    int64_t t_ns = realtime_ns + collector->segments[0].offset_ns;
    if (last > 0 && t_ns > collector->segments[1].from_ns)
        t_ns = realtime_ns + collector->segments[last].offset_ns;
    return t_ns;
}
