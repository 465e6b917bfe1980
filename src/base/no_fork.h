/* No-fork sections: code in which this process must not fork, because one of our threads is inside a library
 * with locks of its own (SQLite). A forked child would have the lock but not the thread that holds it, and
 * would wait for ever.
 *
 * A fork waits until all threads have left their sections, and new sections wait for the fork. So keep
 * sections short, or let forks pass now and then. Inside one, never wait for a lock whose holder may begin a
 * section: take such a lock first. A fork waits at most five seconds, so that a hanging thread cannot block
 * the program. */
#ifndef JM_BASE_NO_FORK_H
#define JM_BASE_NO_FORK_H

#include <pthread.h>
#include <stdbool.h>

/* Sections nest. */
void jm__no_fork_begin(void);
void jm__no_fork_end(void);

/* A section together with a lock of ours, which a forked child then finds free. */
void jm__no_fork_lock(pthread_mutex_t *lock);
void jm__no_fork_unlock(pthread_mutex_t *lock);

/* Inside a section, with no lock of that library held: lets a waiting fork happen now. */
void jm__no_fork_pass(void);

/* For a call that may take long: leave all sections of this thread, and enter as many again. */
unsigned jm__no_fork_leave(void);
void jm__no_fork_return(unsigned depth);

/* Is this thread in a section? */
bool jm__no_fork_here(void);

/* dlopen and dlclose in a no-fork section. A fork while the loader is working leaves the child a broken
 * loader, and its next dlopen crashes. dlerror works as usual afterwards. */
void *jm__library_open(const char *path, int flags);
void jm__library_close(void *library);

#endif
