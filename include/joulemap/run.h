/* A run: the sampler and the recorder at work, in this process.
 *
 * `joulemap record` starts one around a child; a Python Session starts one in
 * its own process. A process whose parent already records (JOULEMAP_RUN in the
 * environment) attaches to that run instead: no board is read twice. */
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
    const char *command; /* command line to note down, NULL: that of this process */
    bool overwrite;      /* replace an existing file; see jm_run_keep */
    bool kernels;        /* trace kernels of this process through CUPTI, and of its children */
    bool child_kernels;  /* of its children alone: what a recorder wants that launches none itself */
    bool no_cpu;         /* do not read RAPL */
    bool sampling_only;  /* no rings, no kernels: boards alone (`stat`) */
    /* Hardware counters are sampled that many seconds of each minute (in which kernels run, where they are
     * traced), 60: always. 0: two where kernels are traced and the counters may be read; negative: never. A
     * process of its own does it. */
    double counters;
    bool kernels_required; /* with `kernels`: fail where they cannot be traced; otherwise an event says why */
    /* NVTX ranges of this process, too, from every NVTX in it whose first call finds NVTX_INJECTION64_PATH as
     * jm_run_environment has it. With `kernels` they come in any case. */
    bool ranges;
    bool openacc; /* regions of OpenACC in children, too: ACC_PROFLIB is set for them unless it is set */
    /* By what share of its time tracing may slow this process down (0.01: 1 %), and those below it that
     * attach; 0: all is traced. It is kept by steps: spans of the kind STEP, or BATCH where there are none. A
     * few of them now and then are traced, with what they are measured to take longer; of the others that
     * they were (see JM_TRACING_STEPS). Without steps all is traced. An attached run without one has its
     * recorder's. */
    double budget;
    double child_budget; /* of processes below alone: what a recorder wants that has no steps itself */
    /* In a program that was started dormant (`joulemap dormant`): record nothing here, and be attached to
     * nothing until a recorder attaches (`joulemap attach`). */
    bool may_wait;
    /* A run of days: condense what is older than that many seconds (0: nothing), and more, and sooner, so
     * that the recording stays below so many bytes (0: no limit): of kernels and layers a traced step a
     * minute or fewer, which stands for the others, of power the mean over a second. Totals are exact. The
     * last 20 s always stay whole. */
    double keep_s;
    int64_t max_bytes;
} jm_run_options;

/* The clock of all times here: CLOCK_MONOTONIC. */
JM_API int64_t jm_now_ns(void);

/* Start, or attach; `options` may be NULL: all as if 0. Fails with NO_DEVICE only if there is no board at all
 * and none was simulated; a single missing sensor is a finding, not an error. */
JM_API jm_status jm_run_start(jm_run **out, const jm_run_options *options, jm_error *err);

/* True if this run belongs to a parent process. */
JM_API bool jm_run_attached(const jm_run *run);

/* True if this run waits for recorders, as may_wait allows: jm_run_attached is true, too, and there is no
 * recording here to ask. */
JM_API bool jm_run_dormant(const jm_run *run);

/* What there is of a process to record. */
typedef enum jm_following {
    JM_FOLLOWING,        /* it records into this run */
    JM_FOLLOWING_LATER,  /* it was started dormant, but has not used CUDA, NVTX or joulemap yet: ask again */
    JM_FOLLOWING_NOTHING /* it was not: boards alone are recorded */
} jm_following;

/* Record that process of the same user into this run, too, from now on until it ends or jm_run_stop: its
 * spans, its NVTX ranges and, with `kernels`, its kernels, if it was started dormant (`joulemap dormant`). It
 * is not stopped, traced or sent a signal; joulemap's libraries in it are asked. Children of it are asked for
 * by themselves. Ask again now and then (once a second): what was loaded or replaced meanwhile joins then.
 * NOT_FOUND: there is no such process; NO_PERMISSION: it is another user's; BUSY: it is being recorded;
 * NOT_SUPPORTED: it cannot be reached, as in a container. One thread at a time. */
JM_API jm_status jm_run_follow(jm_run *run, int64_t pid, bool kernels, jm_following *out, jm_error *err);

/* What `pid` starts from now on, and what that starts, enters the run by itself as soon as it uses CUDA, NVTX
 * or joulemap, if it was started dormant: jm_run_follow comes too late for short ones. It is to be called for
 * those that stay all the same: they leave by that. One process a run; another one takes its place. Errors as
 * there.
 */
JM_API jm_status jm_run_expect(jm_run *run, int64_t pid, bool kernels, jm_error *err);

/* Why kernels of this process are not traced; NULL: they are, nobody asked, or the recorder is a parent
 * process. Valid until jm_run_free. */
JM_API const char *jm_run_kernels_missing(const jm_run *run);

/* What is recorded of this process. Sensors are read all of the time. */
typedef enum jm_tracing {
    JM_TRACING_OFF,  /* phases, epochs and marks alone */
    JM_TRACING_WARM, /* everything, but reports leave it out */
    JM_TRACING_ON,   /* everything */
    JM_TRACING_STEPS /* all that only says when: phases, epochs, steps, batches, windows, waits for data */
} jm_tracing;

/* From now on; a run begins with everything. As soon as one process of a run has said this once, reports by
 * other keys than the board are of the time in which all that have said it were ON, and of STEPS, whose work
 * is told by steps of their kind that were traced. Kernels that were
 * launched before tracing and run in it are not known: be WARM first. One thread at a time; to say the same
 * again is cheap, and reaches a CUDA that was started in between. */
JM_API void jm_run_trace(jm_run *run, jm_tracing tracing);

/* What is recorded of this process at present: for who can save himself the trouble. ON without a run, and
 * where nobody said anything; OFF while a dormant run waits for a recorder. Cheap; changes at the begin of a
 * step where there is a budget. jm_run_trace ends a budget.
 */
JM_API jm_tracing jm_tracing_now(void);

/* Have `changed` called after a recorder has come to a dormant run, or left it: on a thread of its own. NULL:
 * nothing. */
JM_API void jm_tracing_follow(void (*changed)(void));

typedef struct jm_tracing_cost {
    double share; /* of the time since the run began, a dormant one's since a recorder came last; by itself */
    uint64_t steps;
    uint64_t traced_steps; /* of those that have ended; warm ones are none */
} jm_tracing_cost;

/* What tracing has cost this process so far; false, and all 0: the run has no budget. */
JM_API bool jm_run_tracing_cost(jm_run *run, jm_tracing_cost *cost);

/* Wait until all that happened before this call is in the recording (the
 * sensor's newest readings included), at most timeout_ms. BUSY if it is not. */
JM_API jm_status jm_run_flush(jm_run *run, int timeout_ms, jm_error *err);

/* Up to when (CLOCK_MONOTONIC) all is in the recording that happened, and the sensors' readings of it:
 * energies of time before it are whole, without a flush; 0 before the first commit. It moves by itself, twice
 * a second, and lies up to 1.5 s behind. */
JM_API jm_status jm_run_complete_ns(jm_run *run, int64_t *complete_ns, jm_error *err);

/* The recording as it stands: valid until jm_run_free. For an attached run, the
 * parent's file opened for reading. */
JM_API jm_status jm_run_recording(jm_run *run, jm_recording **out, jm_error *err);

/* Where that is, an absolute path; NULL: in memory. Valid until jm_run_free. */
JM_API const char *jm_run_path(jm_run *run);

/* A fact about the run for the recording's table `meta` ("child_exit", "0"). Nothing happens in an
 * attached run. */
JM_API jm_status jm_run_note(jm_run *run, const char *key, const char *value, jm_error *err);

/* A file that this run replaces lies aside, as PATH.replaced-PID, until it is known that the run comes to
 * something: from here on it does, and the old file goes. jm_run_stop does that too. */
JM_API void jm_run_keep(jm_run *run);

/* End and free a run of which nothing is wanted: its file goes, and one that it would have replaced is there
 * again. After jm_run_keep or jm_run_stop there is none to come back, and a stopped run's file stays. */
JM_API void jm_run_discard(jm_run *run);

/* Last readings, last records, close the file. An error says what of the recording
 * could not be kept; what was written before stays. */
JM_API jm_status jm_run_stop(jm_run *run, jm_error *err);

/* Stops if need be. */
JM_API void jm_run_free(jm_run *run);

/* Environment a child needs to join this run: NULL-terminated "KEY=value"
 * strings owned by the run (JOULEMAP_RUN, CUDA_INJECTION64_PATH, ...). */
JM_API const char *const *jm_run_environment(const jm_run *run);

#ifdef __cplusplus
}
#endif
#endif
