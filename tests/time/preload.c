/* Preloaded into each program under `virtual-time`: stands before libc's clocks, sleeps and timed waits,
 * which take their time from the shared page. Nothing here allocates or locks: all of it may be called in a
 * signal handler and after a fork. Without a page, the time is the real one. */
#include "page.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS   1000000 /* of real time: how long a wait that something else may end lasts at a time */
#define BARRIER_NS INT64_C(1000000000) /* of real time: how long a look waits for those whose time comes */

static _Atomic(page *) shared;
static _Atomic bool tried;

/* What this library itself takes of libc: what it stands before, or what a sanitizer stands before. */
static int (*real_cond_signal)(pthread_cond_t *);
static int (*real_cond_broadcast)(pthread_cond_t *);
static int (*real_cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
static int (*real_mutex_lock)(pthread_mutex_t *);
static int (*real_mutex_unlock)(pthread_mutex_t *);
static int (*real_mutex_clocklock)(pthread_mutex_t *, clockid_t, const struct timespec *);
static int (*real_sem_clockwait)(sem_t *, clockid_t, const struct timespec *);
static int (*real_clockjoin)(pthread_t, void **, clockid_t, const struct timespec *);

static void resolve(void *slot, const char *name)
{
    void *address = dlsym(RTLD_NEXT, name);
    memcpy(slot, &address, sizeof address);
}

/* A sanitizer asks for the time while it holds its own locks, so none of the calls that it stands before. */
static page *page_get(void)
{
    page *found = atomic_load(&shared);
    if (found != NULL || atomic_load(&tried) || environ == NULL) return found;
    int kept_errno = errno;
    resolve(&real_cond_signal, "pthread_cond_signal");
    resolve(&real_cond_broadcast, "pthread_cond_broadcast");
    resolve(&real_cond_clockwait, "pthread_cond_clockwait");
    resolve(&real_mutex_lock, "pthread_mutex_lock");
    resolve(&real_mutex_unlock, "pthread_mutex_unlock");
    resolve(&real_mutex_clocklock, "pthread_mutex_clocklock");
    resolve(&real_sem_clockwait, "sem_clockwait");
    resolve(&real_clockjoin, "pthread_clockjoin_np");
    const char *path = getenv(PAGE_VARIABLE);
    int file = path == NULL ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (file >= 0) {
        void *at =
            (void *)syscall(SYS_mmap, NULL, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, (long)file, 0L);
        syscall(SYS_close, file);
        if (at != MAP_FAILED) {
            found = at;
            page *none = NULL;
            if (!atomic_compare_exchange_strong(&shared, &none,
                                                found)) { /* two threads at once: either will do */
                syscall(SYS_munmap, at, sizeof(page));
                found = none;
            }
        }
    }
    atomic_store(&tried, true);
    errno = kept_errno;
    return found;
}

/* ---- waiting ---- */

static int64_t real_ns(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t now_of(page *on)
{
    return atomic_load(&on->now_ns);
}

static int64_t ns_of(const struct timespec *t)
{
    return t->tv_sec > NEVER / NS_PER_S - 1 ? NEVER : t->tv_sec * NS_PER_S + t->tv_nsec;
}

static int64_t sum(int64_t a, int64_t b)
{
    return b > NEVER - a ? NEVER : a + b;
}

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){ns / NS_PER_S, ns % NS_PER_S};
}

static waiter *enlist(page *on, int64_t until_ns, int32_t wakes_by)
{
    int32_t tid = (int32_t)syscall(SYS_gettid);
    for (uint32_t i = 0;; i++) {
        if (i == 100 * WAITERS) abort();
        waiter *own = &on->waiters[((uint32_t)tid + i) % WAITERS];
        int32_t free = 0;
        if (!atomic_compare_exchange_strong(&own->tid, &free, -tid)) continue;
        atomic_store(&own->sequence, atomic_fetch_add(&on->sequence, 1));
        atomic_store(&own->wakes_by, wakes_by);
        atomic_store(&own->until_ns, until_ns);
        atomic_store(&own->tid, tid);
        if (wakes_by != NOT_ASLEEP) next_lower(on, until_ns);
        return own;
    }
}

static void leave(page *on, waiter *own)
{
    int32_t due = atomic_load(&on->due);
    bool is_due = due > 0 && atomic_load(&own->until_ns) <= atomic_load(&on->now_ns);
    atomic_store(&own->tid, 0);
    while (is_due && due > 0 && !atomic_compare_exchange_weak(&on->due, &due, due - 1)) {
    }
}

/* 0: woken, or the word has changed. A wait without a time-out would go on after a signal handler. */
static int futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t most_ns)
{
    struct timespec most = timespec_of(most_ns);
    if (syscall(SYS_futex, word, FUTEX_WAIT, seen, &most, NULL, 0) == 0 || errno == EAGAIN) return 0;
    return errno;
}

/* 0 or EINTR. */
static int sleep_until(page *on, int64_t until_ns)
{
    int code = 0, kept_errno = errno;
    waiter *own = enlist(on, until_ns, BY_OWN_WORD);
    for (;;) {
        uint32_t seen = atomic_load(&own->word);
        if (now_of(on) >= until_ns) break;
        code = futex_wait(&own->word, seen, 3600 * NS_PER_S);
        if (code == EINTR) break;
        code = 0;
    }
    leave(on, own);
    errno = kept_errno;
    return code;
}

/* A look at the clock takes a little time, so that a loop until a time ends. It does not pass a time that
 * somebody sleeps until: they wake together, and the loop goes on when all of them are up. (Unless that takes
 * long: something may run on without a look.) */
static int64_t look(page *on)
{
    int kept_errno = errno;
    int64_t next_ns = atomic_load(&on->next_ns), now_ns = atomic_load(&on->now_ns);
    if (now_ns < next_ns && now_ns + LOOK_NS >= next_ns) {
        waiter *own = enlist(on, next_ns, BY_OWN_WORD);
        uint32_t seen = atomic_load(&own->word);
        if (atomic_load(&on->now_ns) < next_ns) futex_wait(&own->word, seen, BARRIER_NS);
        leave(on, own);
    }
    if (atomic_load(&on->due) > 0) {
        waiter *own = enlist(on, 0, NOT_ASLEEP);
        const struct timespec moment = {0, 20000};
        for (int64_t begin_ns = real_ns(); atomic_load(&on->due) > 0 && real_ns() - begin_ns < BARRIER_NS;)
            syscall(SYS_nanosleep, &moment, NULL);
        atomic_store(&own->tid, 0);
    }
    errno = kept_errno;
    return atomic_fetch_add(&on->now_ns, LOOK_NS) + LOOK_NS;
}

/* A wait that something else than time may end: a real one, again and again for a slice of real time, until
 * it is over or the time has come. */
typedef struct slices {
    page *on;
    int64_t until_ns;
    int64_t real_ns; /* of the next: 0 for the last */
    waiter *own;
    bool over;
} slices;

static bool slice_next(slices *wait)
{
    bool begins = wait->own == NULL;
    if (begins) wait->own = enlist(wait->on, wait->until_ns, BY_ITSELF);
    if (wait->over || (!begins && wait->real_ns == 0)) {
        leave(wait->on, wait->own);
        return false;
    }
    wait->real_ns = now_of(wait->on) >= wait->until_ns ? 0 : SLICE_NS;
    return true;
}

static bool is_real(clockid_t clock)
{
    return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_TAI;
}

static int64_t ahead_ns(page *on, clockid_t clock)
{
    return is_real(clock) ? on->realtime_ns : clock == CLOCK_BOOTTIME ? on->boottime_ns : 0;
}

static bool is_virtual(clockid_t clock)
{
    return is_real(clock) || clock == CLOCK_MONOTONIC || clock == CLOCK_MONOTONIC_RAW ||
           clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_BOOTTIME;
}

/* What follows takes libc's place. */
#pragma GCC visibility push(default)

/* ---- clocks ---- */

int clock_gettime(clockid_t clock, struct timespec *out)
{
    page *on = page_get();
    if (on == NULL || !is_virtual(clock)) return (int)syscall(SYS_clock_gettime, clock, out);
    *out = timespec_of(look(on) + ahead_ns(on, clock));
    return 0;
}

int gettimeofday(struct timeval *restrict out, void *restrict zone)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *out = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    if (zone != NULL) memset(zone, 0, sizeof(struct timezone));
    return 0;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out != NULL) *out = now.tv_sec;
    return now.tv_sec;
}

int timespec_get(struct timespec *out, int base)
{
    return base == TIME_UTC && clock_gettime(CLOCK_REALTIME, out) == 0 ? base : 0;
}

/* ---- sleep ---- */

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted, struct timespec *left)
{
    page *on = page_get();
    if (on == NULL || !is_virtual(clock))
        return syscall(SYS_clock_nanosleep, clock, flags, wanted, left) == 0 ? 0 : errno;
    if (wanted->tv_nsec < 0 || wanted->tv_nsec >= NS_PER_S || wanted->tv_sec < 0) return EINVAL;
    bool absolute = (flags & TIMER_ABSTIME) != 0;
    int64_t until_ns = absolute ? ns_of(wanted) - ahead_ns(on, clock) : sum(now_of(on), ns_of(wanted));
    int code = sleep_until(on, until_ns);
    if (code == EINTR && !absolute && left != NULL) {
        int64_t left_ns = until_ns - now_of(on);
        *left = timespec_of(left_ns > 0 ? left_ns : 0);
    }
    return code;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    int code = clock_nanosleep(CLOCK_MONOTONIC, 0, wanted, left);
    if (code != 0) errno = code;
    return code == 0 ? 0 : -1;
}

int usleep(useconds_t us)
{
    struct timespec wanted = timespec_of((int64_t)us * 1000);
    return nanosleep(&wanted, NULL);
}

unsigned sleep(unsigned seconds)
{
    struct timespec wanted = {seconds, 0}, left = {0, 0};
    return nanosleep(&wanted, &left) == 0 ? 0 : (unsigned)(left.tv_sec + (left.tv_nsec >= NS_PER_S / 2));
}

/* ---- condition variables: a signal wakes those who wait with a time by a count of its own ---- */

static uint32_t number_of(const pthread_cond_t *condition)
{
    return (uint32_t)(((uintptr_t)condition / 16 + (uintptr_t)getpid() * 2654435761u) % CONDITIONS);
}

static void count_signal(pthread_cond_t *condition)
{
    page *on = page_get();
    if (on == NULL) return;
    _Atomic uint32_t *count = &on->conditions[number_of(condition)];
    int kept_errno = errno;
    atomic_fetch_add(count, 1);
    syscall(SYS_futex, count, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    errno = kept_errno;
}

int pthread_cond_signal(pthread_cond_t *condition)
{
    count_signal(condition);
    return real_cond_signal(condition);
}

int pthread_cond_broadcast(pthread_cond_t *condition)
{
    count_signal(condition);
    return real_cond_broadcast(condition);
}

static int condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                          const struct timespec *until)
{
    page *on = page_get();
    if (on == NULL) return real_cond_clockwait(condition, mutex, clock, until);
    int64_t until_ns = ns_of(until) - ahead_ns(on, clock);
    if (until->tv_nsec < 0 || until->tv_nsec >= NS_PER_S) return EINVAL;
    uint32_t number = number_of(condition), seen = atomic_load(&on->conditions[number]);
    int kept_errno = errno;
    waiter *own = enlist(on, until_ns, (int32_t)number);
    int code = real_mutex_unlock(mutex);
    if (code == 0 && now_of(on) < until_ns) futex_wait(&on->conditions[number], seen, 3600 * NS_PER_S);
    leave(on, own);
    errno = kept_errno;
    if (code == 0) code = real_mutex_lock(mutex);
    if (code != 0) return code;
    /* The keeper changes the count too, but only when the time has come. */
    return now_of(on) >= until_ns ? ETIMEDOUT : 0;
}

/* Which clock the condition has, its time tells: CLOCK_MONOTONIC is far from 30 years. */
int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until)
{
    clockid_t clock = until->tv_sec < 1000000000 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    return condition_wait(condition, mutex, clock, until);
}

int pthread_cond_clockwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           clockid_t clock, const struct timespec *restrict until)
{
    return condition_wait(condition, mutex, clock, until);
}

/* ---- other waits of threads ---- */

static struct timespec slice_end(int64_t slice_ns)
{
    return timespec_of(slice_ns == 0 ? 0 : real_ns() + slice_ns);
}

int sem_clockwait(sem_t *restrict semaphore, clockid_t clock, const struct timespec *restrict until)
{
    page *on = page_get();
    if (on == NULL) return real_sem_clockwait(semaphore, clock, until);
    if (sem_trywait(semaphore) == 0) return 0;
    int64_t until_ns = ns_of(until) - ahead_ns(on, clock);
    int code = -1;
    for (slices wait = {.on = on, .until_ns = until_ns}; slice_next(&wait);) {
        struct timespec end = slice_end(wait.real_ns);
        code = real_sem_clockwait(semaphore, CLOCK_MONOTONIC, &end);
        wait.over = code == 0 || errno != ETIMEDOUT;
    }
    return code;
}

int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict until)
{
    return sem_clockwait(semaphore, CLOCK_REALTIME, until);
}

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
    page *on = page_get();
    if (on == NULL) return real_mutex_clocklock(mutex, clock, until);
    int code = pthread_mutex_trylock(mutex);
    if (code != EBUSY) return code;
    int64_t until_ns = ns_of(until) - ahead_ns(on, clock);
    for (slices wait = {.on = on, .until_ns = until_ns}; slice_next(&wait);) {
        struct timespec end = slice_end(wait.real_ns);
        code = real_mutex_clocklock(mutex, CLOCK_MONOTONIC, &end);
        wait.over = code != ETIMEDOUT;
    }
    return code;
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict until)
{
    return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, until);
}

int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock, const struct timespec *until)
{
    page *on = page_get();
    if (on == NULL || until == NULL) return real_clockjoin(thread, result, clock, until);
    int64_t until_ns = ns_of(until) - ahead_ns(on, clock);
    int code = ETIMEDOUT;
    for (slices wait = {.on = on, .until_ns = until_ns}; slice_next(&wait);) {
        struct timespec end = slice_end(wait.real_ns);
        code = real_clockjoin(thread, result, CLOCK_MONOTONIC, &end);
        wait.over = code != ETIMEDOUT;
    }
    return code;
}

int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
{
    return pthread_clockjoin_np(thread, result, CLOCK_REALTIME, until);
}

/* ---- files and signals: signals are let in only while the kernel waits, so that none comes between two
 * slices ---- */

enum { MASK_SIZE = 8 }; /* the kernel's, of a set of signals */

static sigset_t block_all(void)
{
    sigset_t all, before;
    memset(&all, 0xff, sizeof all);
    sigemptyset(&before);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, MASK_SIZE);
    return before;
}

static void mask_set(const sigset_t *mask)
{
    int kept_errno = errno;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL, MASK_SIZE);
    errno = kept_errno;
}

/* Negative: without end. */
static int poll_for(struct pollfd *files, nfds_t count, int64_t most_ns, const sigset_t *mask)
{
    page *on = page_get();
    struct timespec most = timespec_of(most_ns);
    if (on == NULL || most_ns <= 0) {
        if (on != NULL && most_ns == 0) look(on);
        return (int)syscall(SYS_ppoll, files, count, most_ns < 0 ? NULL : &most, mask, MASK_SIZE);
    }
    int code = 0;
    int64_t until_ns = sum(now_of(on), most_ns);
    sigset_t before = block_all();
    for (slices wait = {.on = on, .until_ns = until_ns}; slice_next(&wait);) {
        struct timespec part = timespec_of(wait.real_ns);
        code = (int)syscall(SYS_ppoll, files, count, &part, mask == NULL ? &before : mask, MASK_SIZE);
        wait.over = code != 0;
    }
    mask_set(&before);
    return code;
}

int poll(struct pollfd *files, nfds_t count, int timeout_ms)
{
    return poll_for(files, count, timeout_ms < 0 ? -1 : (int64_t)timeout_ms * 1000000, NULL);
}

int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    return poll_for(files, count, timeout == NULL ? -1 : ns_of(timeout), mask);
}

int __poll_chk(struct pollfd *files, nfds_t count, int timeout_ms, size_t room)
{
    if (room / sizeof *files < count) abort();
    return poll(files, count, timeout_ms);
}

int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask,
                size_t room)
{
    if (room / sizeof *files < count) abort();
    return ppoll(files, count, timeout, mask);
}

static int select_for(int count, fd_set *sets[3], int64_t *most_ns, const sigset_t *mask)
{
    page *on = page_get();
    fd_set asked[3];
    struct {
        const sigset_t *mask;
        size_t size;
    } masked = {mask, MASK_SIZE};
    struct timespec part = timespec_of(*most_ns);
    if (on == NULL || *most_ns <= 0) {
        if (on != NULL && *most_ns == 0) look(on);
        return (int)syscall(SYS_pselect6, count, sets[0], sets[1], sets[2], *most_ns < 0 ? NULL : &part,
                            &masked);
    }
    int code = 0;
    int64_t until_ns = sum(now_of(on), *most_ns);
    sigset_t before = block_all();
    if (mask == NULL) masked.mask = &before;
    for (int i = 0; i < 3; i++)
        if (sets[i] != NULL) asked[i] = *sets[i];
    for (slices wait = {.on = on, .until_ns = until_ns}; slice_next(&wait);) {
        part = timespec_of(wait.real_ns);
        for (int i = 0; i < 3; i++)
            if (sets[i] != NULL) *sets[i] = asked[i];
        code = (int)syscall(SYS_pselect6, count, sets[0], sets[1], sets[2], &part, &masked);
        wait.over = code != 0;
    }
    mask_set(&before);
    *most_ns = until_ns - now_of(on);
    if (*most_ns < 0) *most_ns = 0;
    return code;
}

int select(int count, fd_set *restrict read, fd_set *restrict write, fd_set *restrict except,
           struct timeval *restrict timeout)
{
    fd_set *sets[3] = {read, write, except};
    int64_t most_ns = timeout == NULL ? -1 : timeout->tv_sec * NS_PER_S + timeout->tv_usec * 1000;
    int code = select_for(count, sets, &most_ns, NULL);
    if (timeout != NULL) *timeout = (struct timeval){most_ns / NS_PER_S, most_ns % NS_PER_S / 1000};
    return code;
}

int pselect(int count, fd_set *restrict read, fd_set *restrict write, fd_set *restrict except,
            const struct timespec *restrict timeout, const sigset_t *restrict mask)
{
    fd_set *sets[3] = {read, write, except};
    int64_t most_ns = timeout == NULL ? -1 : ns_of(timeout);
    return select_for(count, sets, &most_ns, mask);
}

int epoll_pwait(int file, struct epoll_event *events, int count, int timeout_ms, const sigset_t *mask)
{
    page *on = page_get();
    if (on == NULL || timeout_ms <= 0) {
        if (on != NULL && timeout_ms == 0) look(on);
        return (int)syscall(SYS_epoll_pwait, file, events, count, timeout_ms, mask, MASK_SIZE);
    }
    int code = 0;
    int64_t until_ns = sum(now_of(on), (int64_t)timeout_ms * 1000000);
    sigset_t before = block_all();
    for (slices wait = {.on = on, .until_ns = until_ns}; slice_next(&wait);) {
        code = (int)syscall(SYS_epoll_pwait, file, events, count, (int)(wait.real_ns / 1000000),
                            mask == NULL ? &before : mask, MASK_SIZE);
        wait.over = code != 0;
    }
    mask_set(&before);
    return code;
}

int epoll_wait(int file, struct epoll_event *events, int count, int timeout_ms)
{
    return epoll_pwait(file, events, count, timeout_ms, NULL);
}

int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                 const struct timespec *restrict timeout)
{
    page *on = page_get();
    int64_t most_ns = timeout == NULL ? -1 : ns_of(timeout);
    if (on == NULL || most_ns <= 0) {
        if (on != NULL && most_ns == 0) look(on);
        return (int)syscall(SYS_rt_sigtimedwait, set, info, timeout, MASK_SIZE);
    }
    int code = -1;
    int64_t until_ns = sum(now_of(on), most_ns);
    for (slices wait = {.on = on, .until_ns = until_ns}; slice_next(&wait);) {
        struct timespec part = timespec_of(wait.real_ns);
        code = (int)syscall(SYS_rt_sigtimedwait, set, info, &part, MASK_SIZE);
        wait.over = code >= 0 || errno != EAGAIN;
    }
    return code;
}

#pragma GCC visibility pop

/* A new program in a process: what its thread waited for is over. (Not earlier: to find no symbol allocates,
 * and a sanitizer's malloc may be who looked at the clock.) */
__attribute__((constructor)) static void begin(void)
{
    page *on = page_get();
    int32_t tid = (int32_t)syscall(SYS_gettid);
    for (int i = 0; on != NULL && i < WAITERS; i++) {
        int32_t old = tid;
        if (!atomic_compare_exchange_strong(&on->waiters[i].tid, &old, 0) && old == -tid)
            atomic_store(&on->waiters[i].tid, 0);
    }
}
