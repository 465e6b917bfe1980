/* CUDA's number of a board. */
#ifndef JM_RECORD_COUNTERS_PROCESS_CUDA_H
#define JM_RECORD_COUNTERS_PROCESS_CUDA_H

#include "record/counters/process/fault.h"

#include <stddef.h>

/* Start CUDA (JOULEMAP_CUDA, else libcuda.so.1), without a context, and find the board of this UUID
 * ("GPU-0123..."). */
bool jm__pm_find_device(size_t *device, const char *uuid, jm__pm_fault *fault);

#endif
