/* The sample ring's late stamps, put back on the grid the board sampled on.
 *
 * The board takes a sample each period of a clock of its own; most stamps are within half a millisecond of
 * that, some are late: by 9 to 10 ms one in six (H200), by 2.5 to 5 ms one in five (H100). The value is that
 * of the grid (docs/sensors.md). Where the grid lies is what most of the stamps around a sample agree on. */
#ifndef JM_ATTRIBUTE_INPUT_RING_GRID_H
#define JM_ATTRIBUTE_INPUT_RING_GRID_H

#include <joulemap/board.h>

/* Late rows of one sensor go back, in place; `readings` is in order of time and stays so. Where no grid
 * shows, and where a row would no longer be in order, it stays. */
jm_status jm__ring_grid(jm_reading *readings, size_t count, int64_t period_ns, jm_error *err);

#endif
