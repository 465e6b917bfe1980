/* The door of a run's folder: a process that may not enter, as it is another user's, knocks, so that the
 * recorder can say that nothing of it is recorded. A socket in the abstract, by the folder's name; who it is
 * the kernel says. Libc alone. */
#ifndef JM_RECORD_TIMELINE_DOOR_H
#define JM_RECORD_TIMELINE_DOOR_H

#include <stdbool.h>
#include <sys/types.h>

/* The recorder's side: a descriptor to hear at; -1: there is none. */
int jm__door_make(const char *run_dir);
/* The next who has knocked since; false: nobody has. */
bool jm__door_hear(int door, pid_t *pid, uid_t *uid);

/* The program's side. Waits for nothing. */
void jm__door_knock(const char *run_dir);

#endif
