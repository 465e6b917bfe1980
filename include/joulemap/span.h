/* Spans and marks, with which a program describes its work.
 *
 * Threads: any. Once a thread has written its first record, begin and end neither allocate, lock, print nor
 * make system calls. Without a run (no recorder in this process and no JOULEMAP_RUN) they do nothing and cost
 * a load and a branch. They never fail: what does not fit into the thread's ring is counted as lost. */
#ifndef JOULEMAP_SPAN_H
#define JOULEMAP_SPAN_H

#include <joulemap/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, text in files and reports, 1 if the span covers all threads of the process, and its role: CONTAINER
 * is a time (a phase, a step), LAYER a pass of a layer, WORK other work, OTHER the rest. A "batch" is a step
 * that joulemap found; it counts as a step if the process marks none. "data" is a wait for the next batch of
 * a data loader. A "function" is a call of a compiled function, or a part of it, with unknown direction. A
 * "carried" is a range that continued in another thread: it shares the row of the "nvtx" of the same name and
 * place, and is no call of its own. */
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

/* A number that a program attaches to a range (NVTX's payload): name, text, type in C */
#define JM_PAYLOAD_MAP(X)                                                                                    \
    X(INTEGER, "integer", int64_t)                                                                           \
    X(NATURAL, "natural", uint64_t) /* in recordings: only values above INT64_MAX */                         \
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

typedef uint32_t jm_name;    /* an interned text of this process; 0: "" */
typedef uint64_t jm_span_id; /* unique in this process; 0: nothing was recorded */

JM_API const char *jm_span_kind_text(jm_span_kind kind);

/* The number of a text (UTF-8, cut at 4095 bytes). Locks and may allocate: call it once per name, not per
 * span. 0 for "" and without a run. Equal texts get equal numbers. A number stays valid across runs of this
 * process. */
JM_API jm_name jm_name_intern(const char *text);

/* Open a span. `name`: for a layer its full module path ("blocks.0.attn"). `type`: its class of work, for
 * which power is fitted if there are no kernels ("Linear(768, 3072)"); 0: none. `samples`: number of samples
 * of a step; 0: unknown. A span belongs to the calling thread; process-wide kinds also contain the work of
 * threads without a span. */
JM_API jm_span_id jm_span_begin(jm_span_kind kind, jm_name name, jm_name type, uint32_t samples);

/* Open a step of one of several tasks that the calling thread interleaves (coroutines). `task`: a number that
 * is unique at the time; 0: no task. A step inside a step of the same task, or if either has no task, is a
 * part of it; steps of other tasks are separate. */
JM_API jm_span_id jm_step_begin(jm_name name, uint32_t samples, uint64_t task);

/* A collective operation (or send, receive), open while the calling thread launches it, or without a GPU runs
 * it. `operation`: "all-reduce". `group`: a text for the participating processes, equal in all of them ("dp
 * (ranks 0,1)"); 0: unknown. `bytes`: message size; negative: unknown. NCCL reports its calls itself. */
JM_API jm_span_id jm_collective_begin(jm_name operation, jm_name group, int64_t bytes);

/* Close a span, from any thread. 0 does nothing. */
JM_API void jm_span_end(jm_span_id span);

/* The same for a step, with counts that are known only at its end: `samples` (0: as at the begin) and
 * `tokens` of a language model (0: unknown). */
JM_API void jm_span_end_counted(jm_span_id span, uint32_t samples, uint32_t tokens);

/* A named instant; `meta` is a JSON object as text, or NULL. Interns both: not for a hot path. */
JM_API void jm_mark(const char *name, const char *meta);

#ifdef __cplusplus
}
#endif
#endif
