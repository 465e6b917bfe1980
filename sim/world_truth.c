/* The truth of the simulated machine: who writes it, and the helper that keeps up with rings and file. */
#include "world_parts.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HELPER_NS  INT64_C(20000000)
#define REFRESH_NS INT64_C(1000000000)

static char truth_path[4096]; /* "": not written by this process */
static pid_t truth_pid;

static pthread_t helper;
static pid_t helper_pid; /* 0: no helper; else the process that it runs in */
static bool helper_stop;
static pthread_cond_t helper_wake;

static bool writes_truth(void)
{
    return truth_path[0] != '\0' && truth_pid == getpid();
}

static int write_truth(void)
{
    uint64_t overtaken = sim_the_world.live != NULL ? sim_live_overtaken(sim_the_world.live) : 0;
    return sim_truth_write(truth_path, sim_the_world.boards, sim_the_world.board_count, &sim_the_world.labels,
                           overtaken);
}

/* A path of one's own always serves; that of the environment goes to the first process that asks. */
void sim_world_truth_claim(void)
{
    const char *path = sim_given.truth[0] != '\0' ? sim_given.truth : getenv("JOULEMAP_SIM_TRUTH");
    if (path == NULL || path[0] == '\0' || strlen(path) >= sizeof truth_path) return;
    int32_t mine = (int32_t)getpid();
    int32_t owner = atomic_load(&sim_the_world.shared.state->truth_pid);
    bool free_to_take = owner == 0 || owner == mine || (kill(owner, 0) != 0 && errno == ESRCH);
    if (sim_given.truth[0] == '\0' &&
        (!free_to_take ||
         !atomic_compare_exchange_strong(&sim_the_world.shared.state->truth_pid, &owner, mine)))
        return;
    atomic_store(&sim_the_world.shared.state->truth_pid, mine);
    memcpy(truth_path, path, strlen(path) + 1);
    truth_pid = getpid();
    for (int i = 0; i < sim_the_world.board_count; i++)
        sim_power_account_reset(&sim_the_world.boards[i].power);
}

int sim_world_truth_finish(void)
{
    if (!writes_truth()) return 0;
    int64_t now_ns = sim_monotonic_ns();
    sim_world_drive(now_ns, now_ns);
    int failed = write_truth();
    truth_path[0] = '\0';
    atomic_store(&sim_the_world.shared.state->truth_pid, 0);
    return failed;
}

/* --- the helper --- */

static void *help(void *unused)
{
    (void)unused;
    int64_t written_ns = 0;
    pthread_mutex_lock(&sim_world_lock);
    while (!helper_stop) {
        int64_t now_ns = sim_world_settle();
        if (writes_truth() && now_ns - written_ns >= REFRESH_NS) {
            write_truth();
            written_ns = now_ns;
        }
        int64_t wake_ns = now_ns + HELPER_NS;
        struct timespec wake = {wake_ns / 1000000000, wake_ns % 1000000000};
        while (!helper_stop && pthread_cond_timedwait(&helper_wake, &sim_world_lock, &wake) == 0) {
        }
    }
    pthread_mutex_unlock(&sim_world_lock);
    return NULL;
}

void sim_world_helper_start(void)
{
    if (helper_pid == getpid() || (sim_the_world.live == NULL && !writes_truth())) return;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&helper_wake, &attributes);
    pthread_condattr_destroy(&attributes);
    helper_stop = false;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* the program's signals are not for us */
    if (pthread_create(&helper, NULL, help, NULL) == 0) helper_pid = getpid();
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* Lock held; let go of while the thread ends. */
void sim_world_helper_stop(void)
{
    if (helper_pid != getpid()) return;
    helper_stop = true;
    pthread_cond_signal(&helper_wake);
    pthread_mutex_unlock(&sim_world_lock);
    pthread_join(helper, NULL);
    pthread_mutex_lock(&sim_world_lock);
    pthread_cond_destroy(&helper_wake);
    helper_pid = 0;
}
