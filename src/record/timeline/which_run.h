/* Which run this program is in. Libc alone: also part of libjoulemap_inject. */
#ifndef JM_RECORD_TIMELINE_WHICH_RUN_H
#define JM_RECORD_TIMELINE_WHICH_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef enum jm__start_name { JM_START_RUN, JM_START_DORMANT, JM_START_NAMES } jm__start_name;

/* The variable: as the environment has it now, else as it was when this library was loaded, else as it was
 * when the program started. NULL: none. Copied into `buffer`; one that does not fit is none. */
const char *jm__start_variable(jm__start_name name, char *buffer, size_t size);

/* ---- A recorder that has attached to a process above this one: who was started dormant enters its run at
 * once. By the time that the recorder finds a process, which it looks for once a second, a short one is gone.
 */

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

/* ---- The door of a run's folder: a process that may not enter, as it is another user's, knocks, so that the
 * recorder can say that nothing of it is recorded. A socket in the abstract, by the folder's name; who it is
 * the kernel says. */

/* The recorder's side: a descriptor to hear at; -1: there is none. */
int jm__door_make(const char *run_dir);
/* The next who has knocked since; false: nobody has. */
bool jm__door_hear(int door, pid_t *pid, uid_t *uid);

/* The program's side. Waits for nothing. */
void jm__door_knock(const char *run_dir);

#endif
