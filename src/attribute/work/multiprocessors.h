/* How many multiprocessors a kernel can be on: by that, kernels that run together share their time. */
#ifndef JM_ATTRIBUTE_WORK_MULTIPROCESSORS_H
#define JM_ATTRIBUTE_WORK_MULTIPROCESSORS_H

#include "attribute/work/classes.h"

/* Of a board; of one that the recording does not say it of, as many as a Hopper has. */
uint32_t jm__multiprocessors_on(const jm_board *board);

/* A grid's blocks go to empty multiprocessors first, so a kernel is on as many as it has blocks, at most on
 * all: however many threads, registers and bytes of shared memory a block takes. A copy that copy engines
 * make is on none, and counts as one. What has no launch shape counts as half of the board. */
float jm__multiprocessors_of(const jm__class *class, uint32_t on_board);

#endif
