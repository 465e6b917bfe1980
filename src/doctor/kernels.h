/* Whether kernels can be recorded here: CUDA's driver, and which libcupti a program started from here would
 * use. */
#ifndef JM_DOCTOR_KERNELS_H
#define JM_DOCTOR_KERNELS_H

#include "record/device/device.h"

/* "CUDA". "injected library": ours, without which no kernel is recorded. "CUPTI": the file that would be
 * taken, or why there is none; "CUPTI: not taken" and "CUPTI: not needed": each other file that the search
 * found, before and after it. */
void jm__doctor_kernels(jm__findings *findings);

#endif
