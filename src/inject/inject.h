/* libjoulemap_inject.so: what it exports.
 *
 * Loaded by the CUDA driver (CUDA_INJECTION64_PATH) and by NVTX (NVTX_INJECTION64_PATH) into a program under
 * `joulemap record`, or by dlopen for a run in the same process. It never prints and never exits; what it has
 * to say goes as a note through the ring. */
#ifndef JM_INJECT_INJECT_H
#define JM_INJECT_INJECT_H

#include <joulemap/status.h>

enum {
    JM_INJECT_OK = 0,
    JM_INJECT_NO_KERNELS =
        1,                /* CUPTI is absent, taken or unknown: a note in the run says why; NVTX goes on */
    JM_INJECT_NO_RUN = 2, /* nothing is: into that folder, or at present at all */
};

/* Record kernels and NVTX ranges of this process into `run_dir` from now on (in place of any other). */
JM_API int jm_inject_start(const char *run_dir);

/* Record NVTX ranges alone: CUPTI is not touched. JM_INJECT_OK or JM_INJECT_NO_RUN. */
JM_API int jm_inject_ranges(const char *run_dir);

/* Why the last start gave no kernels, a sentence; "" if it did. */
JM_API const char *jm_inject_reason(void);

/* Go without kernels and NVTX ranges from now on (0), or with them again. What was launched before comes.
 * JM_INJECT_NO_KERNELS: another tool has taken CUPTI meanwhile, or CUPTI hangs; else JM_INJECT_OK. */
JM_API int jm_inject_trace(int on);

/* Whether a start or a stop is under way, for which jm_inject_trace would wait: 1 or 0. */
JM_API int jm_inject_busy(void);

/* Bring out what CUPTI has: records of all work that ended before this call. Synchronise the device first. */
JM_API void jm_inject_flush(void);

/* Flush and stop recording; CUPTI is free for other tools. */
JM_API void jm_inject_stop(void);

JM_API int InitializeInjection(void);

/* Not exported. XLA is in this process: copies are traced no more. */
void jm__inject_meet_xla(void);

#endif
