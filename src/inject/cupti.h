/* The libcupti in use: found and loaded at run time, never unloaded. */
#ifndef JM_INJECT_CUPTI_H
#define JM_INJECT_CUPTI_H

#include "base/clock.h"
#include "record/cupti/search.h"

#include <cuda.h>
#include <cupti.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Newer than the oldest supported headers (12.1). */
typedef CUptiResult CUPTIAPI jm__graph_exec_id(CUgraphExec graph, uint32_t *id);

typedef struct jm__cupti {
#define X(symbol) __typeof__(symbol) *symbol;
    JM_CUPTI_MAP(X)
#undef X
    /* NULL if this CUPTI lacks them. */
    __typeof__(cuptiGetGraphNodeId) *cuptiGetGraphNodeId;
    __typeof__(cuptiGetGraphId) *cuptiGetGraphId;
    jm__graph_exec_id *cuptiGetGraphExecId;
    __typeof__(cuptiFinalize) *cuptiFinalize;
    uint32_t version;
    CUpti_SubscriberHandle subscriber;
} jm__cupti;

/* The libcupti in use. Written only before CUPTI may call us. */
extern jm__cupti jm__cupti_used;

/* Load CUPTI, once per process. On failure false, with a full sentence in `why`. */
bool jm__cupti_load(char *why, size_t why_size);

/* In the child of a fork: CUPTI, its buffers and the threads that held locks belong to the parent. */
void jm__cupti_forget(void);

/* Lock the mutex, waiting at most `wait_ns`. After a timeout, further calls do not wait until a lock
 * succeeds. False: not locked. */
static inline bool jm__lock_for(pthread_mutex_t *mutex, _Atomic bool *is_late, int64_t wait_ns)
{
    const struct timespec until = jm__clock_after(CLOCK_REALTIME, atomic_load(is_late) ? 0 : wait_ns);
    bool is_held = pthread_mutex_timedlock(mutex, &until) != 0;
    atomic_store(is_late, is_held);
    return !is_held;
}

/* ---- The pool of buffers that CUPTI fills, so that a request rarely allocates. Any thread. */

#define JM_BUFFER_BYTES (size_t)(4u << 20)
#define JM_BUFFERS_KEPT 4  /* allocated at the start */
#define JM_BUFFERS_MAX  64 /* 256 MiB; beyond, CUPTI drops records and counts them */

/* Allocate the first buffers; fewer if memory is out. */
void jm__buffers_prepare(void);

/* A buffer of JM_BUFFER_BYTES, or NULL. */
uint8_t *jm__buffers_take(void);
void jm__buffers_return(const uint8_t *buffer);

/* Free the memory of unused buffers. */
void jm__buffers_release(void);

/* When CUPTI got the buffer that it has had for the longest time; INT64_MAX: it has none. */
int64_t jm__buffers_oldest_ns(void);

/* ---- Which thread launched which work, and when, from CUPTI's callbacks of the driver's launch calls. Each
 * launch goes into its thread's ring of ranges, so that launches wait neither for each other nor for CUPTI's
 * records.
 *
 * CUPTI's records of calls are not used: once on, every call of the runtime pays for them, even if it is
 * filtered out, and a program makes many per launch. In a decoding Llama they cost 28 % of a step, beside 13
 * % for the kernels' records; callbacks of launches alone cost 1 % (bench/results/budget.txt). */

/* Enable callbacks of launches and record them. `again`: number of reattachments to CUPTI since the run
 * began. */
CUptiResult jm__launches_record(uint32_t again);

/* Keep only the callbacks of graph launches, which forbid detaching. */
void jm__launches_ignore(void);

/* Whether a callback of any domain is a graph launch. */
bool jm__launches_is_graph(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);

/* Handle a callback. */
void jm__launches_on_callback(CUpti_CallbackDomain domain, const void *data);

/* ---- The making of CUDA graphs: which thread makes which node, and of which node it is a clone.
 *
 * CUPTI calls on the thread that captures, adds, clones or instantiates, inside its CUDA call. The records go
 * into that thread's ring of ranges, between its spans, so that the collector knows which spans were open. */

/* Enable callbacks of graphs. False: this CUPTI has none. */
bool jm__graphs_follow(void);

/* Handle a callback of any domain. */
void jm__graphs_on_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);

/* ---- Detaching from CUPTI while the program goes on.
 *
 * After kernels were recorded, each launch takes half a microsecond more for the rest of the process, even
 * with all kinds off and nobody subscribed: 0.6 of 3.7 us on an H100 with CUDA 13.0
 * (bench/results/launch_cost.txt). cuptiFinalize ends that. NVIDIA requires it to be called where a CUDA call
 * returns. So it waits for the program's next launch and runs once on that thread (3 ms). A program that
 * launches nothing pays nothing. At the end of a run another profiler may follow at once, so it runs inside a
 * CUDA call of our own.
 *
 * Detaching is forbidden once a CUDA graph was made or launched, since its launches fail ever after
 * (bench/results/whole_graphs.txt; pytorch/pytorch#144455, #150957), before CUDA 12.6, and with XLA.
 * JOULEMAP_KEEP_CUPTI=1 in the environment forbids it too. */

/* Lock out detaching around all CUPTI calls by our own threads. The program's threads, inside CUPTI's
 * callbacks, never wait for this lock. */
void jm__detach_lock(void);
void jm__detach_unlock(void);

/* The same with a time limit. False: a thread of ours hangs in CUPTI. */
bool jm__detach_lock_timed(void);

/* The following require the lock. */

/* Recording has stopped: detach at the next launch. Does nothing if detaching is forbidden. */
void jm__detach_request(void);

/* Whether we have detached. A CUPTI call would then attach again. */
bool jm__detach_is_done(void);

/* Detach at once, at the end of a run after jm__detach_cancel. False: still subscribed, as detaching is
 * forbidden. */
bool jm__detach_now(void);

/* Whether detaching is possible and not yet requested. */
bool jm__detach_is_possible(void);

/* Cancel a detach request, as recording resumes. True: still attached and subscribed; false: detached
 * already. */
bool jm__detach_cancel(void);

/* Reattaching failed: another tool has CUPTI now, and none of our calls may reach it. */
void jm__detach_mark_lost(void);

/* ---- The following do not require the lock. */

/* Number of buffers that CUPTI had at detaching, since the last call; their records are lost. */
size_t jm__detach_lost_buffers(void);

/* Handle a callback. */
void jm__detach_on_callback(CUpti_CallbackDomain domain, const void *data);

/* Forbid detaching for the rest of the process. */
void jm__detach_forbid(void);

#endif
