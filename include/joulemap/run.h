/* A run: sampler and recorder in this process.
 *
 * `joulemap record` starts one around a child; a Python Session starts one in its own process. A process
 * whose parent already records (JOULEMAP_RUN in the environment) attaches to that run instead, so that no
 * board is read twice. */
#ifndef JOULEMAP_RUN_H
#define JOULEMAP_RUN_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jm_run jm_run;
typedef struct jm_recording jm_recording;

typedef struct jm_run_options {
    uint32_t size;       /* sizeof(jm_run_options): lets it grow */
    const char *path;    /* recording file, NULL for memory */
    const char *sim;     /* simulated board's profile, NULL: JOULEMAP_SIM or real boards */
    const char *command; /* command line to note, NULL: this process's */
    bool overwrite;      /* replace an existing file; see jm_run_keep */
    bool kernels;        /* trace kernels of this process through CUPTI, and of its children */
    bool child_kernels;  /* trace only kernels of its children, for a recorder that launches none itself */
    bool no_cpu;         /* do not read RAPL */
    bool sampling_only;  /* only boards: no rings, no kernels (`stat`) */
    /* Have a sampler of hardware counters on the GPU this many seconds of each minute (in which kernels run,
     * if they are traced), starts and stops included; 60: always. 0: 1.8 if kernels are traced and the
     * counters may be read; negative: never. A separate process does it. */
    double counters;
    bool kernels_required; /* with `kernels`: fail if they cannot be traced; otherwise an event says why */
    /* Record NVTX ranges of this process too, from each NVTX copy whose first call comes when
     * NVTX_INJECTION64_PATH is set as by jm_run_environment. With `kernels` they are always recorded. */
    bool ranges;
    bool openacc; /* record OpenACC regions in children too: sets ACC_PROFLIB for them unless it is set */
    /* The share by which tracing may slow down this process (0.01: 1 %) and processes below it that attach;
     * 0: trace everything. Only some steps are traced: spans of the kind STEP, or BATCH if there are none.
     * Their slowdown is measured, and of other steps only the times are recorded (see JM_TRACING_STEPS).
     * Without steps everything is traced. An attached run without a budget has its recorder's. */
    double budget;
    double child_budget; /* budget only of child processes, for a recorder without steps of its own */
    /* In a program that was started dormant (`joulemap dormant`): record nothing until a recorder attaches
     * (`joulemap attach`). */
    bool may_wait;
    /* For runs of days: condense data older than keep_s seconds (0: never), and more and earlier if needed to
     * stay below max_bytes (0: no limit). Of kernels and layers a traced step per minute or fewer is kept,
     * which represents the others; of power the mean per second. Totals stay exact. The last 20 s are never
     * condensed. */
    double keep_s;
    int64_t max_bytes;
    /* Find models, layers and steps of children's Python programs that do not use joulemap themselves: sets
     * PYTHONPATH for them. */
    bool child_layers;
} jm_run_options;

/* The clock of all times here: CLOCK_MONOTONIC. */
JM_API int64_t jm_now_ns(void);

/* Start, or attach; `options` may be NULL: all 0. NO_DEVICE only if there is no board at all and none is
 * simulated; a single missing sensor is a finding, not an error. */
JM_API jm_status jm_run_start(jm_run **out, const jm_run_options *options, jm_error *err);

/* True if this run belongs to a parent process. */
JM_API bool jm_run_attached(const jm_run *run);

/* True if this run waits for recorders (may_wait). Then jm_run_attached is true too, and there is no
 * recording yet. */
JM_API bool jm_run_dormant(const jm_run *run);

/* What of a process is recorded. */
typedef enum jm_following {
    JM_FOLLOWING,        /* it records into this run */
    JM_FOLLOWING_LATER,  /* it was started dormant, but has not used CUDA, NVTX or joulemap yet: call again
                            later */
    JM_FOLLOWING_NOTHING /* it was not started dormant: only boards are recorded */
} jm_following;

/* Record another process of the same user into this run from now on, until it ends or jm_run_stop: spans,
 * NVTX ranges and, with `kernels`, kernels, if it was started dormant (`joulemap dormant`). It is not
 * stopped, traced or sent a signal; joulemap's libraries in it are contacted. Each child needs its own call.
 * Call again about once a second, so that libraries loaded meanwhile join. NOT_FOUND: no such process;
 * NO_PERMISSION: another user's; BUSY: it is being recorded; NOT_SUPPORTED: out of reach, as in a container.
 * One thread at a time. */
JM_API jm_status jm_run_follow(jm_run *run, int64_t pid, bool kernels, jm_following *out, jm_error *err);

/* Let processes that `pid` starts from now on, directly or indirectly, join the run as soon as they use CUDA,
 * NVTX or joulemap, if it was started dormant. jm_run_follow comes too late for short ones. For long ones
 * jm_run_follow is still required, as it makes them leave. One process per run; another call replaces it.
 * Errors as above. */
JM_API jm_status jm_run_expect(jm_run *run, int64_t pid, bool kernels, jm_error *err);

/* Why kernels of this process are not traced; NULL: they are, were not requested, or the recorder is a parent
 * process. Valid until jm_run_free. */
JM_API const char *jm_run_kernels_missing(const jm_run *run);

/* What is recorded of this process. Sensors are always read. */
typedef enum jm_tracing {
    JM_TRACING_OFF,  /* only phases, epochs and marks */
    JM_TRACING_WARM, /* everything, but reports leave it out */
    JM_TRACING_ON,   /* everything */
    JM_TRACING_STEPS /* only times: phases, epochs, steps, batches, windows, waits for data */
} jm_tracing;

/* Set what is recorded from now on; a run begins with everything. Once a process of a run has called this,
 * reports (except by board) cover the time in which all processes that called it were ON or STEPS; work of
 * STEPS is extrapolated from traced steps of the same kind. Kernels launched before tracing that run in it
 * are unknown, so be WARM first. One thread at a time. Repeated calls are cheap, and include a CUDA that was
 * started in between. */
JM_API void jm_run_trace(jm_run *run, jm_tracing tracing);

/* What is recorded of this process at present, for callers that can then skip work. ON without a run, or if
 * jm_run_trace was never called; OFF while a dormant run waits. Cheap. With a budget it changes at the begin
 * of a step. jm_run_trace ends a budget. */
JM_API jm_tracing jm_tracing_now(void);

/* Call `changed` on its own thread after a recorder attached to a dormant run or left it. NULL: stop. */
JM_API void jm_tracing_follow(void (*changed)(void));

typedef struct jm_tracing_cost {
    double share; /* of the time since the run began, or for a dormant one since a recorder last attached; of
                     this process alone */
    uint64_t steps;
    uint64_t traced_steps; /* of the steps that have ended; warm ones are not counted */
} jm_tracing_cost;

/* The cost of tracing this process so far. False, and all 0: the run has no budget. */
JM_API bool jm_run_tracing_cost(jm_run *run, jm_tracing_cost *cost);

/* Wait until everything before this call is in the recording, including the sensor's newest readings, at most
 * timeout_ms. BUSY: timeout. */
JM_API jm_status jm_run_flush(jm_run *run, int timeout_ms, jm_error *err);

/* The time (CLOCK_MONOTONIC) up to which the recording is complete, with the sensors' readings: energies
 * before it are final without a flush. 0 before the first commit. It advances twice a second, up to 1.5 s
 * behind. */
JM_API jm_status jm_run_complete_ns(jm_run *run, int64_t *complete_ns, jm_error *err);

/* The present recording, valid until jm_run_free. For an attached run, the parent's file opened for reading.
 */
JM_API jm_status jm_run_recording(jm_run *run, jm_recording **out, jm_error *err);

/* Its absolute path; NULL: in memory. Valid until jm_run_free. */
JM_API const char *jm_run_path(jm_run *run);

/* Store a fact about the run in the recording's table `meta` ("child_exit", "0"). Does nothing in an attached
 * run. */
JM_API jm_status jm_run_note(jm_run *run, const char *key, const char *value, jm_error *err);

/* A file that this run replaces is kept as PATH.replaced-PID until the run is known to succeed. This call, or
 * jm_run_stop, removes the old file. */
JM_API void jm_run_keep(jm_run *run);

/* End and free a run without a result: its file is removed, and a replaced file comes back. After jm_run_keep
 * or jm_run_stop no file comes back, and a stopped run's file stays. */
JM_API void jm_run_discard(jm_run *run);

/* Take last readings and records, and close the file. An error says what could not be saved; what was written
 * before stays. */
JM_API jm_status jm_run_stop(jm_run *run, jm_error *err);

/* Stops the run first if needed. */
JM_API void jm_run_free(jm_run *run);

/* Environment for a child to join this run: NULL-terminated "KEY=value" strings owned by the run
 * (JOULEMAP_RUN, CUDA_INJECTION64_PATH, ...). */
JM_API const char *const *jm_run_environment(const jm_run *run);

#ifdef __cplusplus
}
#endif
#endif
