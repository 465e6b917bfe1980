/* One line on the terminal that says what takes so long, and for how long. */
#include "cli/verb.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct timespec start;
    char text[160];
    bool running;
    bool stop;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum { INTERVAL_MS = 500 };

static struct timespec now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t;
}

static struct timespec later(struct timespec t, long ms)
{
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static void *show(void *unused)
{
    (void)unused;
    bool shown = false;
    pthread_mutex_lock(&progress.lock);
    struct timespec next = now();
    while (!progress.stop) {
        next = later(next, INTERVAL_MS);
        while (!progress.stop && pthread_cond_timedwait(&progress.changed, &progress.lock, &next) == 0) {
        }
        if (progress.stop) break;
        int room = cli_terminal_width(STDERR_FILENO) - 12;
        fprintf(stderr, "\r\033[K%.*s ... %lld s", room, progress.text,
                (long long)(now().tv_sec - progress.start.tv_sec));
        fflush(stderr);
        shown = true;
    }
    if (shown) fputs("\r\033[K", stderr);
    pthread_mutex_unlock(&progress.lock);
    return NULL;
}

static void end(void)
{
    pthread_mutex_lock(&progress.lock);
    progress.stop = true;
    pthread_cond_signal(&progress.changed);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(progress.thread, NULL);
    pthread_cond_destroy(&progress.changed);
    progress.running = false;
}

void cli_progress(const char *text)
{
    if (text == NULL) {
        if (progress.running) end();
        return;
    }
    if (!progress.running && !isatty(STDERR_FILENO)) return;
    pthread_mutex_lock(&progress.lock);
    snprintf(progress.text, sizeof progress.text, "%s", text);
    progress.start = now();
    pthread_mutex_unlock(&progress.lock);
    if (progress.running) return;

    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&progress.changed, &clock);
    pthread_condattr_destroy(&clock);
    progress.stop = false;
    /* Signals are for the thread that works. Without this one the work goes on, only silently. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    progress.running = pthread_create(&progress.thread, NULL, show, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
