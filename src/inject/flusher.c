/* The thread that brings out CUPTI's records twice a second, and more often while it is to be let go. */
#include "inject/flusher.h"

#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#define PERIOD_NS    (JM_NS_PER_S / 2)
#define SOON_NS      (50 * JM_NS_PER_MS)
#define STOP_WAIT_NS (2 * JM_NS_PER_S)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wakes;
static pthread_t thread;
static bool running, ending, kicked, ended, given_up;
static bool (*bring_out)(bool forced);
static void (*back)(void);

static void wait_locked(int64_t for_ns)
{
    const struct timespec until = jm__clock_after(CLOCK_MONOTONIC, for_ns);
    while (!ending && !kicked)
        if (pthread_cond_timedwait(&wakes, &mutex, &until) != 0) break;
    kicked = false;
}

static void *flush_now_and_then(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "joulemap");
    pthread_mutex_lock(&mutex);
    for (bool soon = false;;) {
        wait_locked(soon ? SOON_NS : PERIOD_NS);
        if (ending) break;
        pthread_mutex_unlock(&mutex);
        soon = bring_out(false);
        pthread_mutex_lock(&mutex);
    }
    ended = true;
    bool late = given_up;
    pthread_mutex_unlock(&mutex);
    if (late) back();
    return NULL;
}

void jm__flusher_start(bool (*flush)(bool forced), void (*is_back)(void))
{
    pthread_condattr_t attributes;
    sigset_t all, before;
    pthread_mutex_lock(&mutex);
    ending = kicked = ended = given_up = false;
    bring_out = flush;
    back = is_back;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&wakes, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all); /* the program's signals are for the program's threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    running = pthread_create(&thread, NULL, flush_now_and_then, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_unlock(&mutex);
}

void jm__flusher_kick(void)
{
    pthread_mutex_lock(&mutex);
    kicked = true;
    if (running) pthread_cond_signal(&wakes);
    pthread_mutex_unlock(&mutex);
}

bool jm__flusher_stop(void)
{
    pthread_mutex_lock(&mutex);
    bool was_running = running;
    running = false;
    ending = true;
    if (was_running) pthread_cond_signal(&wakes);
    pthread_mutex_unlock(&mutex);
    if (!was_running) return true;
    const struct timespec until = jm__clock_after(CLOCK_REALTIME, STOP_WAIT_NS);
    if (pthread_timedjoin_np(thread, NULL, &until) == 0) return true;
    pthread_mutex_lock(&mutex);
    bool late = ended; /* just now */
    given_up = !late;
    pthread_mutex_unlock(&mutex);
    if (late)
        pthread_join(thread, NULL);
    else
        pthread_detach(thread);
    return late;
}

void jm__flusher_forget(void)
{
    pthread_mutex_init(&mutex, NULL); /* the thread may have held it */
    running = false;
}
