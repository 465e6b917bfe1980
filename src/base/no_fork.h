/* Intervals in which this process does not fork: a thread of ours is inside of a library that has locks of
 * its own (SQLite). The child of a fork would have such a lock without the thread that holds it, and wait for
 * ever in that library, be it called by us or by the program.
 *
 * A fork waits until all threads are out, and who comes meanwhile waits for the fork. So an interval is
 * short, or is left now and then, and between begin and end nobody waits for a lock that somebody may hold
 * who begins one: such a lock is taken first. A fork waits for five seconds at most: who hangs must not hold
 * the program. */
#ifndef JM_BASE_NO_FORK_H
#define JM_BASE_NO_FORK_H

#include <pthread.h>
#include <stdbool.h>

/* They nest. */
void jm__no_fork_begin(void);
void jm__no_fork_end(void);

/* An interval with a lock of ours: a child finds it free. */
void jm__no_fork_lock(pthread_mutex_t *lock);
void jm__no_fork_unlock(pthread_mutex_t *lock);

/* Inside of an interval, holding no lock of that library: a fork that waits takes place now. */
void jm__no_fork_pass(void);

/* The same for a call that may take long: out of all intervals of this thread, and back in as many. */
unsigned jm__no_fork_leave(void);
void jm__no_fork_return(unsigned depth);

/* This thread is in one. */
bool jm__no_fork_here(void);

/* dlopen and dlclose in such an interval: the child of a fork that comes while the loader is at it has a
 * loader that is at it for good, and dies at its next dlopen. dlerror tells as after these. */
void *jm__library_open(const char *path, int flags);
void jm__library_close(void *library);

#endif
