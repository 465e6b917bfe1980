/* The correction of the sample ring's late stamps, live and on imported rows.
 *
 * The board samples on a regular grid, but about one stamp in six is late by
 * half a period: the value belongs to the grid. A sample with more than 1.25
 * periods before it and less than 0.75 periods after it goes to the middle of
 * its neighbours; where samples are missing before it, one period before its right neighbour.
 * See docs/sensors.md. */
#ifndef JM_SAMPLE_RING_CORRECT_H
#define JM_SAMPLE_RING_CORRECT_H

#include <joulemap/board.h>

/* The stamp of a sample between the stamps, as read, of its neighbours. */
int64_t jm__ring_correct(int64_t before_ns, int64_t stamp_ns, int64_t after_ns, int64_t period_ns);

/* The same for rows of one sensor in order of time, in place. The first and the last row,
 * which have one neighbour only, stay. Returns how many were moved. */
size_t jm__ring_correct_rows(jm_reading *readings, size_t count, int64_t period_ns);

#endif
