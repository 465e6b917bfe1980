/* Corrects late timestamps of the sample ring to the grid on which the board sampled.
 *
 * The board samples at a fixed period of its own clock. Most stamps are within 0.5 ms of that grid; some are
 * late: one in six by 9 to 10 ms (H200), one in five by 2.5 to 5 ms (H100). The value belongs to the grid
 * time (docs/sensors.md). The grid is where most neighbouring stamps lie, modulo the period. */
#ifndef JM_ATTRIBUTE_INPUT_RING_GRID_H
#define JM_ATTRIBUTE_INPUT_RING_GRID_H

#include <joulemap/board.h>
#include <stdbool.h>

/* Correct one sensor's readings in place; they are in order of time and stay so. A reading keeps its time if
 * no grid is found, or if the corrected time would be out of order. `all`: stamps that are on time as well,
 * so that they lie on the grid and not just near it. */
jm_status jm__ring_grid(jm_reading *readings, size_t count, int64_t period_ns, bool all, jm_error *err);

#endif
