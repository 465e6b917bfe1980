/* The exported functions of libjoulemap_inject.so.
 *
 * The CUDA driver (CUDA_INJECTION64_PATH) and NVTX (NVTX_INJECTION64_PATH) load it into a program under
 * `joulemap record`; a run in the same process loads it by dlopen. It never prints or exits; its messages are
 * notes in the ring. */
#ifndef JM_INJECT_INJECT_H
#define JM_INJECT_INJECT_H

#include <joulemap/status.h>

enum {
    JM_INJECT_OK = 0,
    JM_INJECT_NO_KERNELS =
        1, /* CUPTI is absent, unknown or used by another tool, as a note in the run says; NVTX is recorded */
    JM_INJECT_NO_RUN = 2, /* nothing is recorded: into that folder, or at present at all */
};

/* Record kernels and NVTX ranges of this process into `run_dir` from now on, replacing any other run. */
JM_API int jm_inject_start(const char *run_dir);

/* Record only NVTX ranges; CUPTI is not touched. JM_INJECT_OK or JM_INJECT_NO_RUN. */
JM_API int jm_inject_ranges(const char *run_dir);

/* A sentence on why the last start recorded no kernels; "": it did. */
JM_API const char *jm_inject_reason(void);

/* Stop tracing kernels and NVTX ranges (0) or resume it. Work launched before is still recorded.
 * JM_INJECT_NO_KERNELS: another tool has CUPTI now, or CUPTI hangs; else JM_INJECT_OK. */
JM_API int jm_inject_trace(int on);

/* 1 if a start or stop is under way, for which jm_inject_trace would wait; else 0. */
JM_API int jm_inject_busy(void);

/* Flush CUPTI: records of all work that ended before this call. Synchronise the device first. */
JM_API void jm_inject_flush(void);

/* Flush and stop recording; CUPTI is then free for other tools. */
JM_API void jm_inject_stop(void);

JM_API int InitializeInjection(void);

/* Not exported. XLA was found in this process: stop tracing copies. */
void jm__inject_xla_found(void);

#endif
