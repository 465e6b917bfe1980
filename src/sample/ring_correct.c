/* Late stamps of the sample ring go back to the grid. */
#include "sample/ring_correct.h"

int64_t jm__ring_correct(int64_t before_ns, int64_t stamp_ns, int64_t after_ns, int64_t period_ns)
{
    int64_t gap_before_ns = stamp_ns - before_ns;
    int64_t gap_after_ns = after_ns - stamp_ns;
    bool late = 4 * gap_before_ns > 5 * period_ns && 4 * gap_after_ns < 3 * period_ns;
    if (!late) return stamp_ns;
    /* With samples missing before it, the middle would be nowhere near the grid: only its right neighbour is.
     */
    bool gap = 2 * (after_ns - before_ns) > 5 * period_ns;
    return gap ? after_ns - period_ns : before_ns + (after_ns - before_ns) / 2;
}

size_t jm__ring_correct_rows(jm_reading *readings, size_t count, int64_t period_ns)
{
    size_t moved = 0;
    if (count < 3) return moved;
    int64_t before_ns = readings[0].t_ns; /* as read: its correction must not move the next one's rule */
    for (size_t i = 1; i + 1 < count; i++) {
        int64_t stamp_ns = readings[i].t_ns;
        readings[i].t_ns = jm__ring_correct(before_ns, stamp_ns, readings[i + 1].t_ns, period_ns);
        if (readings[i].t_ns != stamp_ns) moved++;
        before_ns = stamp_ns;
    }
    return moved;
}
