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

/* Newer than the oldest headers that will do (12.1). */
typedef CUptiResult CUPTIAPI jm__graph_exec_id(CUgraphExec graph, uint32_t *id);

typedef struct jm__cupti {
#define X(symbol) __typeof__(symbol) *symbol;
    JM_CUPTI_MAP(X)
#undef X
    /* NULL where it has them not. */
    __typeof__(cuptiGetGraphNodeId) *cuptiGetGraphNodeId;
    __typeof__(cuptiGetGraphId) *cuptiGetGraphId;
    jm__graph_exec_id *cuptiGetGraphExecId;
    __typeof__(cuptiFinalize) *cuptiFinalize;
    uint32_t version;
} jm__cupti;

/* Load once a process. False with a whole sentence in `why`. */
bool jm__cupti_load(jm__cupti *cupti, char *why, size_t why_size);

/* Wait that long for it, once: as long as it is held on, the next ones find it held at once. False: it is. */
static inline bool jm__lock_for(pthread_mutex_t *mutex, _Atomic bool *is_late, int64_t wait_ns)
{
    const struct timespec until = jm__clock_after(CLOCK_REALTIME, atomic_load(is_late) ? 0 : wait_ns);
    bool is_held = pthread_mutex_timedlock(mutex, &until) != 0;
    atomic_store(is_late, is_held);
    return !is_held;
}

/* ---- The buffers that CUPTI fills: a pool, so that a request hardly ever allocates. Any thread. */

#define JM_BUFFER_BYTES (size_t)(4u << 20)
#define JM_BUFFERS_KEPT 4  /* made at the start */
#define JM_BUFFERS_MAX  64 /* 256 MiB: more, and CUPTI drops records, and counts them */

/* Make the first ones; fewer if there is no memory. */
void jm__buffers_prepare(void);

/* A buffer of JM_BUFFER_BYTES, or NULL. */
uint8_t *jm__buffers_take(void);
void jm__buffers_return(const uint8_t *buffer);

/* In the child of a fork: CUPTI is gone, and with it its claim to all of them; whoever held them is not
 * there. */
void jm__buffers_forget_in_child(void);

/* Give back the memory of those that are with nobody. */
void jm__buffers_release(void);

/* When the buffer that has been with CUPTI the longest went there; INT64_MAX: there is none. */
int64_t jm__buffers_oldest_ns(void);

/* ---- Which thread started which work, and when: CUPTI's callbacks of the driver's calls that start some.
 * Each goes into its thread's ring of ranges, so that no launch waits for another, nor for CUPTI's records.
 *
 * Not its records of calls: once these are on, each call of the runtime pays for them, those too that are
 * left out, and a program makes many for each launch. In a decoding Llama they cost 28 % of a step beside the
 * kernels' own 13 %, callbacks of the launches alone 1 % (bench/results/budget.txt). */

/* Once, before all else. */
void jm__launches_find(const jm__cupti *cupti);

/* Be told of launches and record them. `again`: how often CUPTI was taken again since the run began. */
CUptiResult jm__launches_record(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber, uint32_t again);

/* Be told of none but those of graphs, which say that CUPTI may not be let go. */
void jm__launches_ignore(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber);

/* Of a callback of CUPTI's, of any domain: a graph is launched. */
bool jm__launches_is_of_graph(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);

/* The callback itself. */
void jm__launches_hear(CUpti_CallbackDomain domain, const void *data);

/* In the child of a fork. */
void jm__launches_forget(void);

/* ---- CUDA graphs as they are made: which thread makes which node, and of which other one it is a clone.
 *
 * CUPTI calls on the thread that captures, adds, clones or instantiates, within its call of CUDA. What is
 * told goes into that thread's ring of ranges, between its spans: the collector knows what was open there. */

/* Be told of graphs. False: this CUPTI does not. */
bool jm__graphs_follow(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber);

/* A callback of CUPTI's, of any domain. */
void jm__graphs_hear(const jm__cupti *cupti, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                     const void *data);

/* ---- Letting go of CUPTI while the program goes on.
 *
 * Once kernels were recorded, each launch takes half a microsecond more for the rest of the process, all
 * kinds being off and nobody subscribed: 0.6 of 3.7 us on an H100 with CUDA 13.0
 * (bench/results/launch_cost.txt). cuptiFinalize ends that. NVIDIA asks for it to be called where a call of
 * CUDA's returns, so it waits for the program's next launch, and is done on its thread, once (3 ms); a
 * program that launches nothing pays nothing. At the end of a run, as another profiler may come at once, it
 * is done in a call of CUDA's of our own.
 *
 * Not where a CUDA graph was made or launched meanwhile, since its launches fail ever after
 * (bench/results/whole_graphs.txt; pytorch/pytorch#144455, #150957), before CUDA 12.6, and with XLA.
 * JOULEMAP_KEEP_CUPTI=1 in the environment: never.
 */

/* While it is held, nobody lets go: around all calls of CUPTI by threads of ours. The program's threads,
 * inside CUPTI's callbacks, never wait for it. */
void jm__detach_hold(void);
void jm__detach_allow(void);

/* The same, but not for ever: false, a thread of ours hangs in CUPTI. */
bool jm__detach_hold_for_a_while(void);

/* All of the following while it is held. */

/* Nothing is recorded any more: let go at the next launch. Nothing happens where that may not be. */
void jm__detach_ask(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber);

/* It was let go: a call would take CUPTI again. */
bool jm__detach_is_done(void);

/* At the end of a run, called off: let go now. False: we are subscribed still, as where that may not be. */
bool jm__detach_at_once(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber);

/* It may be let go, and has not been asked for yet. */
bool jm__detach_is_to_come(const jm__cupti *cupti);

/* Recording is wanted again: true, we are still attached and subscribed; false, no longer. */
bool jm__detach_call_off(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber);

/* It was let go, and could not be taken again: it is somebody else's now, and none of our calls may reach it.
 */
void jm__detach_stay_away(void);

/* ---- without */

/* Once a process, before anything is traced: what the environment says. */
void jm__detach_prepare(void);

/* Buffers that were with CUPTI when it was let go, since the last time; their records are lost. */
size_t jm__detach_lost_buffers(void);

/* A callback of CUPTI's. */
void jm__detach_hear(CUpti_CallbackDomain domain, const void *data);

/* There are reasons never to. */
void jm__detach_never(void);

/* In the child of a fork: CUPTI is its parent's. */
void jm__detach_forget(void);

#endif
