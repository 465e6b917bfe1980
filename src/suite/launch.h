/* Kernels on the GPU: what one is given, launching it, timing launches that follow each other. */
#ifndef SUITE_LAUNCH_H
#define SUITE_LAUNCH_H

#include "suite/driver.h"

enum { SUITE_THREADS = 256 };

/* As kernels/common.cuh has it. */
typedef struct suite_work {
    suite_address a, b, c; /* operands */
    suite_address out;
    suite_address index;
    uint64_t n[4];
    uint32_t rounds; /* how often all of it is done in a launch */
    uint32_t seed;
} suite_work;

typedef struct suite_call {
    suite_cuda_handle function;
    uint32_t blocks;
    uint32_t shared_bytes; /* of each */
    suite_work work;
} suite_call;

/* Let its function have its shared memory, where that is more than others get. NOT_SUPPORTED: this GPU
 * has not so much. */
jm_status suite_allow(const suite_driver *driver, const suite_call *call, const char *name, jm_error *err);

/* Launch it so many times, one behind the other, wait for their end: `seconds` from the begin of the first to
 * the end of the last. `name` is for the error. */
jm_status suite_play(const suite_driver *driver, const suite_call *call, const char *name, uint32_t calls,
                     double *seconds, jm_error *err);

#endif
