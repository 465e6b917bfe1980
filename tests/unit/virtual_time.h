/* A process whose clocks run as fast as its threads let them: a second of sleep takes no time.
 *
 * Linked into a test, virtual_time.c stands before libc's clock_gettime, clock_nanosleep, timed waits and
 * threads, for the libraries that the test loads too (so the test exports its symbols). CLOCK_MONOTONIC and
 * CLOCK_REALTIME move by a little at each look, and to the next deadline when all threads wait. Before
 * virtual_time_start they are the real ones. */
#ifndef TEST_VIRTUAL_TIME_H
#define TEST_VIRTUAL_TIME_H

#include <stdint.h>

/* From here on, until the process ends. Called by its only thread. A process that is not done after
 * `limit_ns` of virtual time, or whose threads all wait for each other, is ended with `hang_code`. */
void virtual_time_start(int64_t limit_ns, int hang_code);

#endif
