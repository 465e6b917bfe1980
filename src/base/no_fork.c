/* No-fork sections. */
#include "base/no_fork.h"

#include "base/clock.h"
#include "base/thread.h"

#include <dlfcn.h>
#include <pthread.h>

#define FORK_WAIT_MAX_NS (5 * JM_NS_PER_S)

/* Protects everything below; held during a fork. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static unsigned inside; /* threads that are in a section */
static bool is_late;    /* a fork timed out: later ones do not wait until all sections are left */
static _Atomic unsigned forking;
static _Thread_local unsigned depth;

static void enter(unsigned nesting)
{
    pthread_mutex_lock(&mutex);
    while (forking > 0)
        pthread_cond_wait(&changed, &mutex);
    inside++;
    depth = nesting;
    pthread_mutex_unlock(&mutex);
}

static void leave(void)
{
    pthread_mutex_lock(&mutex);
    depth = 0;
    if (--inside == 0) is_late = false;
    if (forking > 0) pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

void jm__no_fork_begin(void)
{
    if (depth > 0)
        depth++;
    else
        enter(1);
}

void jm__no_fork_end(void)
{
    if (depth > 1)
        depth--;
    else
        leave();
}

unsigned jm__no_fork_leave(void)
{
    unsigned left_depth = depth;
    if (left_depth > 0) leave();
    return left_depth;
}

void jm__no_fork_return(unsigned left_depth)
{
    if (left_depth > 0) enter(left_depth);
}

void jm__no_fork_pass(void)
{
    if (forking > 0) jm__no_fork_return(jm__no_fork_leave());
}

bool jm__no_fork_here(void)
{
    return depth > 0;
}

/* ---- a fork */

/* The forking thread may itself be in a section (in a callback of that library), which goes on in the
 * child. */
static unsigned own_sections(void)
{
    return depth > 0;
}

static void before_fork(void)
{
    const struct timespec until = jm__clock_after(CLOCK_MONOTONIC, FORK_WAIT_MAX_NS);
    pthread_mutex_lock(&mutex);
    forking++;
    while (inside > own_sections() && !is_late)
        is_late = pthread_cond_timedwait(&changed, &mutex, &until) != 0;
}

static void after_fork_in_parent(void)
{
    forking--;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void after_fork_in_child(void)
{
    forking = 0;
    inside = own_sections();
    is_late = false;
    jm__condition_init(&changed); /* its waiters are not in the child */
    pthread_mutex_unlock(&mutex);
}

/* Registered after the handlers of track.c and so called before them: track.c's lock is not held while this
 * one waits. */
static __attribute__((constructor)) void set_up_at_load(void)
{
    jm__condition_init(&changed);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void jm__no_fork_lock(pthread_mutex_t *lock)
{
    jm__no_fork_begin();
    pthread_mutex_lock(lock);
}

void jm__no_fork_unlock(pthread_mutex_t *lock)
{
    pthread_mutex_unlock(lock);
    jm__no_fork_end();
}

/* ---- dlopen and dlclose ---- */

void *jm__library_open(const char *path, int flags)
{
    jm__no_fork_begin();
    void *library = dlopen(path, flags);
    jm__no_fork_end();
    return library;
}

void jm__library_close(void *library)
{
    jm__no_fork_begin();
    dlclose(library);
    jm__no_fork_end();
}
