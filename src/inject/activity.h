/* CUPTI's activity records into this process's ring of kernels. */
#ifndef JM_INJECT_ACTIVITY_H
#define JM_INJECT_ACTIVITY_H

#include <stdbool.h>

/* Make the ring, load CUPTI, begin. 0, or an errno if there can be no ring. `recording` tells whether
 * kernels are recorded: if not, a note in the ring says why. */
int jm__activity_start(const char *run_dir, bool *recording);

/* Why the last start does not record kernels, a sentence; "" if it does. */
const char *jm__activity_reason(void);

/* Switch kinds of records on or off; CUPTI may be let go meanwhile (cupti.h). What was launched before still
 * comes. False: it could not be taken again. */
bool jm__activity_trace(bool on);

/* Bring out what is finished; `forced`: also what is not, at the very end. True: CUPTI waits to be let go, so
 * come again soon. */
bool jm__activity_flush(bool forced);

/* `exiting`: the process ends, and CUPTI with it: leave it as it is. */
void jm__activity_stop(bool exiting);

/* XLA is in this process: copies are traced no more. */
void jm__activity_meet_xla(void);

/* In the child of a fork: CUDA does not work there, and nothing of this is ours any more. */
void jm__activity_forget(void);

#endif
