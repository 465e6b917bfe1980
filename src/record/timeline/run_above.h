/* A recorder that has attached to a process above this one: who was started dormant enters its run at once.
 * By the time that the recorder finds a process, which it looks for once a second, a short one is gone. Libc
 * alone. */
#ifndef JM_RECORD_TIMELINE_RUN_ABOVE_H
#define JM_RECORD_TIMELINE_RUN_ABOVE_H

#include <stdbool.h>
#include <stddef.h>

/* In the run's folder, by its recorder: the process above, the namespace that it has this pid in, and whether
 * kernels are wanted. */
#define JM_EXPECTS_FILE   "expects"
#define JM_EXPECTS_FORMAT "pid=%d\npid_namespace=%llx\nkernels=%d\n"
/* Likewise: locked as long as the recorder lives. */
#define JM_RUN_FILE "run"

/* The run's folder; false: there is none. */
bool jm__run_above(char *run_dir, size_t size, bool *kernels);

/* Its recorder still is at work. Not for a run of this very process, whose lock that would end. */
bool jm__run_goes_on(const char *run_dir);

#endif
