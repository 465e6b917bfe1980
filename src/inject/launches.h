/* Which thread started which work, and when: CUPTI's callbacks of the calls that start some.
 *
 * Not its records of calls: once these are on, each call of the runtime pays for them, those too that are
 * left out, and a program makes many for each launch. In a decoding Llama they cost 28 % of a step beside the
 * kernels' own 13 %, callbacks of the launches alone 1 % (bench/results/launch_cost.txt). */
#ifndef JM_INJECT_LAUNCHES_H
#define JM_INJECT_LAUNCHES_H

#include "inject/cupti.h"

/* Once, before all else. */
void jm__launches_find(const jm__cupti *cupti);

typedef enum jm__launches_wanted {
    JM_LAUNCHES_NONE,
    JM_LAUNCHES_ALL,
    JM_LAUNCHES_UNHEARD, /* CUPTI calls, for somebody else's use, but nothing is recorded */
} jm__launches_wanted;

CUptiResult jm__launches_follow(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber,
                                jm__launches_wanted wanted);

/* A callback of CUPTI's, of any domain. */
void jm__launches_hear(CUpti_CallbackDomain domain, const void *data);

/* In the child of a fork. */
void jm__launches_forget(void);

#endif
