/* Is that process still there, and is it still the same one? */
#ifndef JM_RECORDING_ALIVE_H
#define JM_RECORDING_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

/* When the process began, in the kernel's ticks: with its pid it names a process for ever. -1: there is none.
 */
int64_t jm__process_start_ticks(int64_t pid);

#endif
