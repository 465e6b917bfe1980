/* Threads and conditions of ours inside other people's programs. Needs only libc. */
#ifndef JM_BASE_THREAD_H
#define JM_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <time.h>

/* Starts a thread in which all signals are blocked: they belong to the program. Returns 0 or an errno. */
static inline int jm__thread_start(pthread_t *thread, void *(*run)(void *), void *context)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

/* A condition whose timed waits end by CLOCK_MONOTONIC. Returns 0 or an errno. */
static inline int jm__condition_init(pthread_cond_t *condition)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    int code = pthread_cond_init(condition, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return code;
}

#endif
