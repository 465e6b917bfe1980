/* Time that passes only while all threads sleep. */
#include "virtual_time.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)
#define LOOK_NS  200                              /* what a look at the clock takes */
#define REAL_NS  (INT64_C(1700000000) * NS_PER_S) /* CLOCK_REALTIME less CLOCK_MONOTONIC: any */
#define FOREVER  INT64_MAX

enum { WAITERS = 16 };

typedef struct waiter {
    bool used, woken;
    int64_t until_ns;
    const void *what; /* NULL: sleeps */
    sem_t wakes;
} waiter;

static struct {
    atomic_bool on;
    _Atomic int64_t now_ns;
    int64_t limit_ns;
    int hang_code;
    int running; /* threads that do not wait */
    waiter waiters[WAITERS];
    struct {
        pthread_t id;
        bool used, ended;
    } threads[WAITERS];
} v;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name)                                                                                           \
    static __typeof__(name) *real;                                                                           \
    if (real == NULL) {                                                                                      \
        void *address = dlsym(RTLD_NEXT, #name);                                                             \
        memcpy(&real, &address, sizeof real);                                                                \
    }

void virtual_time_start(int64_t limit_ns, int hang_code)
{
    v.now_ns = 1000 * NS_PER_S;
    v.limit_ns = v.now_ns + limit_ns;
    v.hang_code = hang_code;
    v.running = 1;
    v.on = true;
}

static void wake(waiter *one)
{
    one->woken = true;
    v.running++;
    sem_post(&one->wakes);
}

/* Nobody runs: on to the next deadline. */
static void pass(void)
{
    int64_t next_ns = FOREVER;
    if (v.running > 0) return;
    for (int i = 0; i < WAITERS; i++)
        if (v.waiters[i].used && v.waiters[i].until_ns < next_ns) next_ns = v.waiters[i].until_ns;
    if (next_ns > v.limit_ns) _exit(v.hang_code);
    if (next_ns > v.now_ns) v.now_ns = next_ns;
    for (int i = 0; i < WAITERS; i++)
        if (v.waiters[i].used && !v.waiters[i].woken && v.waiters[i].until_ns <= next_ns) wake(&v.waiters[i]);
}

static waiter *enlist(int64_t until_ns, const void *what)
{
    for (int i = 0; i < WAITERS; i++) {
        if (v.waiters[i].used) continue;
        v.waiters[i] = (waiter){.used = true, .until_ns = until_ns, .what = what};
        sem_init(&v.waiters[i].wakes, 0, 0);
        return &v.waiters[i];
    }
    abort();
}

/* With the lock. */
static void wait_for(waiter *own)
{
    v.running--;
    pass();
    pthread_mutex_unlock(&lock);
    while (sem_wait(&own->wakes) != 0) {
    }
    pthread_mutex_lock(&lock);
    own->used = false;
}

static void wake_all(const void *what)
{
    for (int i = 0; i < WAITERS; i++)
        if (v.waiters[i].used && !v.waiters[i].woken && v.waiters[i].what == what) wake(&v.waiters[i]);
}

/* What follows takes libc's place. */
#pragma GCC visibility push(default)

/* ---- clocks and sleep ---- */

int clock_gettime(clockid_t clock, struct timespec *out)
{
    if (!v.on || (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME))
        return (int)syscall(SYS_clock_gettime, clock, out);
    int64_t now_ns = atomic_fetch_add(&v.now_ns, LOOK_NS) + (clock == CLOCK_REALTIME ? REAL_NS : 0);
    *out = (struct timespec){now_ns / NS_PER_S, now_ns % NS_PER_S};
    return 0;
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *requested, struct timespec *left)
{
    REAL(clock_nanosleep)
    if (!v.on || clock != CLOCK_MONOTONIC) return real(clock, flags, requested, left);
    int64_t until_ns = requested->tv_sec * NS_PER_S + requested->tv_nsec;
    if (flags != TIMER_ABSTIME) until_ns += v.now_ns;
    pthread_mutex_lock(&lock);
    wait_for(enlist(until_ns, NULL));
    pthread_mutex_unlock(&lock);
    return 0;
}

/* ---- conditions: all that the threads of a test wait on have CLOCK_MONOTONIC ---- */

int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until)
{
    REAL(pthread_cond_timedwait)
    if (!v.on) return real(condition, mutex, until);
    int64_t until_ns = until->tv_sec * NS_PER_S + until->tv_nsec;
    pthread_mutex_lock(&lock);
    waiter *own = enlist(until_ns, condition);
    pthread_mutex_unlock(mutex);
    wait_for(own);
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(mutex);
    return v.now_ns >= until_ns ? ETIMEDOUT : 0;
}

int pthread_cond_signal(pthread_cond_t *condition)
{
    REAL(pthread_cond_signal)
    if (!v.on) return real(condition);
    return pthread_cond_broadcast(condition);
}

int pthread_cond_broadcast(pthread_cond_t *condition)
{
    REAL(pthread_cond_broadcast)
    if (!v.on) return real(condition);
    pthread_mutex_lock(&lock);
    wake_all(condition);
    pthread_mutex_unlock(&lock);
    return 0;
}

/* ---- threads ---- */

typedef struct birth {
    void *(*run)(void *);
    void *argument;
    int number;
} birth;

static void *live(void *argument)
{
    birth own = *(birth *)argument;
    free(argument);
    void *result = own.run(own.argument);
    pthread_mutex_lock(&lock);
    v.threads[own.number].ended = true;
    wake_all(&v.threads[own.number]);
    v.running--;
    pass();
    pthread_mutex_unlock(&lock);
    return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    REAL(pthread_create)
    if (!v.on) return real(thread, attributes, run, argument);
    birth *own = malloc(sizeof *own);
    int number = 0;
    pthread_mutex_lock(&lock);
    while (number < WAITERS && v.threads[number].used)
        number++;
    if (own == NULL || number == WAITERS) abort();
    *own = (birth){run, argument, number};
    v.threads[number].used = true;
    v.running++;
    int code = real(thread, attributes, live, own);
    if (code != 0) abort();
    v.threads[number].id = *thread;
    pthread_mutex_unlock(&lock);
    return code;
}

int pthread_join(pthread_t thread, void **result)
{
    REAL(pthread_join)
    if (!v.on) return real(thread, result);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < WAITERS; i++) {
        if (!v.threads[i].used || !pthread_equal(v.threads[i].id, thread)) continue;
        if (!v.threads[i].ended) wait_for(enlist(FOREVER, &v.threads[i]));
        v.threads[i].used = v.threads[i].ended = false;
    }
    pthread_mutex_unlock(&lock);
    return real(thread, result);
}

#pragma GCC visibility pop
