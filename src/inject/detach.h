/* Letting go of CUPTI while the program goes on.
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
#ifndef JM_INJECT_DETACH_H
#define JM_INJECT_DETACH_H

#include "inject/cupti.h"

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
