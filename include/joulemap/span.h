/* Spans and marks: what the program says of itself.
 *
 * Threads: any. Begin and end neither allocate, lock, print nor call the
 * system once a thread has written its first record. Without a run (no
 * recorder in this process and no JOULEMAP_RUN in the environment) they do
 * nothing and cost a load and a branch. They never fail: what does not fit
 * into the thread's ring is counted there as lost. */
#ifndef JOULEMAP_SPAN_H
#define JOULEMAP_SPAN_H

#include <joulemap/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, text in files and reports, 1 if the span speaks for all threads of the process, and its role: a
 * CONTAINER says when (a phase, a step), a LAYER is a pass of a layer, WORK is work that is none, OTHER the
 * rest. A "batch" is what was found to be a step where the program told none: it counts as one if the process
 * has no step; "data" is a wait for the next batch of a data loader. A "function" is a
 * call of a compiled function, or a part of it, of which nobody knows whether it is forward or backward. A
 * "carried" is a range that went on in another thread: it shares the row of the "nvtx" of its name and place,
 * and is no call of its own. */
#define JM_SPAN_KIND_MAP(X)                                                                                  \
    X(PHASE, "phase", 1, CONTAINER)                                                                          \
    X(EPOCH, "epoch", 1, CONTAINER)                                                                          \
    X(STEP, "step", 1, CONTAINER)                                                                            \
    X(WINDOW, "window", 1, CONTAINER)                                                                        \
    X(FORWARD, "forward", 0, LAYER)                                                                          \
    X(BACKWARD, "backward", 0, LAYER)                                                                        \
    X(RECOMPUTE, "recompute", 0, LAYER)                                                                      \
    X(OPTIMIZER, "optimizer", 1, WORK)                                                                       \
    X(NVTX, "nvtx", 0, OTHER)                                                                                \
    X(BATCH, "batch", 1, CONTAINER)                                                                          \
    X(DATA, "data", 0, OTHER)                                                                                \
    X(FUNCTION, "function", 0, LAYER)                                                                        \
    X(CARRIED, "carried", 0, OTHER)                                                                          \
    X(COLLECTIVE, "collective", 0, OTHER)

typedef enum jm_span_kind {
    JM_SPAN_NONE,
#define X(name, text, process_wide, role) JM_SPAN_##name,
    JM_SPAN_KIND_MAP(X)
#undef X
        JM_SPAN_KIND_COUNT
} jm_span_kind;

/* A number that a program gives with a range (NVTX's payload): name, text, its type in C */
#define JM_PAYLOAD_MAP(X)                                                                                    \
    X(INTEGER, "integer", int64_t)                                                                           \
    X(NATURAL, "natural", uint64_t) /* in what was recorded: beyond INT64_MAX alone */                       \
    X(REAL, "real", double)

typedef enum jm_payload_kind {
    JM_PAYLOAD_NONE,
#define X(name, text, type) JM_PAYLOAD_##name,
    JM_PAYLOAD_MAP(X)
#undef X
        JM_PAYLOAD_KIND_COUNT
} jm_payload_kind;

typedef union jm_payload {
    uint64_t natural;
    int64_t integer;
    double real;
} jm_payload;

typedef uint32_t jm_name;    /* an interned text of this process; 0 is the empty one */
typedef uint64_t jm_span_id; /* unique in this process; 0 means that nothing was recorded */

JM_API const char *jm_span_kind_text(jm_span_kind kind);

/* The number of a text (UTF-8, at most 4095 bytes, longer ones are cut).
 * Locks and may allocate: call it once a name, not once a span. Returns 0 for
 * "" and where there is no run. Equal texts get equal numbers. A number stays valid
 * across runs of this process. */
JM_API jm_name jm_name_intern(const char *text);

/* Open a span. `name`: for a layer its full module path ("blocks.0.attn");
 * `type`: its class of work, the unit whose power is fitted where there are no
 * kernels ("Linear(768, 3072)"), 0 if it has none; `samples`: the number of
 * samples of a step, 0 if unknown. A span belongs to the calling thread; those
 * kinds that are process-wide also hold the work of threads without a span. */
JM_API jm_span_id jm_span_begin(jm_span_kind kind, jm_name name, jm_name type, uint32_t samples);

/* Open a step of one of the tasks that the calling thread does by turns (coroutines): `task` is a number that
 * no other task has meanwhile, 0 if it is none's. A step in one of the same task is a
 * part of that, as is one where either tells none; those of other tasks are steps of their own. */
JM_API jm_span_id jm_step_begin(jm_name name, uint32_t samples, uint64_t task);

/* A collective operation (or a send, a receive), open while the calling thread launches it, or without a GPU
 * runs it. `operation`: "all-reduce"; `group`: which processes it is of, the same text in all of them
 * ("dp (ranks 0,1)"), 0 if unknown; `bytes`: of its message, less than 0 if unknown. Calls of NCCL are told
 * by NCCL itself. */
JM_API jm_span_id jm_collective_begin(jm_name operation, jm_name group, int64_t bytes);

/* Close it. May be called from another thread than begin. 0 does nothing. */
JM_API void jm_span_end(jm_span_id span);

/* The same of a step, with what it worked on where that is known at its end alone: `samples`, 0 for what the
 * beginning told, and `tokens` (of a language model), 0 if unknown. */
JM_API void jm_span_end_counted(jm_span_id span, uint32_t samples, uint32_t tokens);

/* A named instant; `meta` is a JSON object as text or NULL. Interns both: not
 * for a hot path. */
JM_API void jm_mark(const char *name, const char *meta);

#ifdef __cplusplus
}
#endif
#endif
