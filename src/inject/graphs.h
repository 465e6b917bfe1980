/* CUDA graphs as they are made: which thread makes which node, and of which other one it is a clone.
 *
 * CUPTI calls on the thread that captures, adds, clones or instantiates, within its call of CUDA. What is
 * told goes into that thread's ring of ranges, between its spans: the collector knows what was open there. */
#ifndef JM_INJECT_GRAPHS_H
#define JM_INJECT_GRAPHS_H

#include "inject/cupti.h"

/* Be told of graphs. False: this CUPTI does not. */
bool jm__graphs_follow(const jm__cupti *cupti, CUpti_SubscriberHandle subscriber);

/* A callback of CUPTI's, of any domain. */
void jm__graphs_hear(const jm__cupti *cupti, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                     const void *data);

#endif
