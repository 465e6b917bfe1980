/* Which thread started which work, and when: CUPTI's callbacks of the driver's calls that start some. Each
 * goes into its thread's ring of ranges, so that no launch waits for another, nor for CUPTI's records.
 *
 * Not its records of calls: once these are on, each call of the runtime pays for them, those too that are
 * left out, and a program makes many for each launch. In a decoding Llama they cost 28 % of a step beside the
 * kernels' own 13 %, callbacks of the launches alone 1 % (bench/results/budget.txt). */
#ifndef JM_INJECT_LAUNCHES_H
#define JM_INJECT_LAUNCHES_H

#include "inject/cupti.h"

/* Once, before all else. */
void jm__launches_find(const jm__cupti *cupti);

/* Be told of launches and record them. `again`: how often CUPTI was taken again since the run began. */
CUptiResult jm__launches_record(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber, uint32_t again);

/* Be told of them for somebody else's use, and record none. */
void jm__launches_call(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber);

/* Be told of none but those of graphs, which say that CUPTI may not be let go. */
void jm__launches_ignore(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber);

/* Of a callback of CUPTI's, of any domain: a graph is launched. */
bool jm__launches_is_of_graph(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);

/* The callback itself. */
void jm__launches_hear(CUpti_CallbackDomain domain, const void *data);

/* In the child of a fork. */
void jm__launches_forget(void);

#endif
