/* Readings of an energy counter that can be counted with. */
#ifndef JM_ATTRIBUTE_FIT_COUNTS_H
#define JM_ATTRIBUTE_FIT_COUNTS_H

#include <joulemap/board.h>

/* Takes out, in place, what is no step of the counter: a value that repeats the one before (the counter had
 * not moved yet, or stood still), and a value that no energy leads to and the next one ignores. Returns how
 * many are left. `readings`: sorted by time. */
size_t jm__counts_clean(jm_reading *readings, size_t count);

/* The counter went from one reading to the next as energy does: not back, and not faster than any board
 * draws. */
bool jm__counts_step(const jm_reading *from, const jm_reading *to);

#endif
