/* The sampler: its thread, its schedule, and what happens to it at fork and at the end. */
#include "sample/sampler.h"

#include "base/status.h"
#include "sample/sampler_parts.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REST_NS    (INT64_C(1) * JM_NS_PER_S)    /* longest sleep */
#define SILENCE_NS (INT64_C(3) * JM_NS_PER_S)    /* a sensor silent for so long holds nothing up */
#define FIRST_NS   (INT64_C(700) * JM_NS_PER_MS) /* longest wait for the first edge readings */
#define LAST_NS    (INT64_C(900) * JM_NS_PER_MS) /* and for the last */

/* Counts the forks of this process and its forebears: a sampler of another generation has no thread here. */
static _Atomic unsigned fork_generation;

static void fork_child(void)
{
    atomic_fetch_add(&fork_generation, 1);
}

static void fork_watch(void)
{
    (void)pthread_atfork(NULL, NULL, fork_child);
}

static bool is_forked(const jm__sampler *sampler)
{
    return sampler->fork_generation != atomic_load(&fork_generation);
}

/* ---- the thread ---- */

/* A step of CLOCK_REALTIME is told once, here; the rings find it in their own stamps. */
static void anchor_take(jm__sampler *sampler)
{
    jm__anchor before = sampler->anchor;
    jm__anchor now = jm__anchor_take();
    int64_t step_ns = (now.realtime_ns - now.monotonic_ns) - (before.realtime_ns - before.monotonic_ns);
    sampler->anchor = now;
    sampler->anchor_due_ns = now.monotonic_ns + JM_NS_PER_S;
    sampler->sink.anchor(sampler->sink.context, now.monotonic_ns, now.realtime_ns);
    if (before.monotonic_ns != 0 && llabs(step_ns) > JM_CLOCK_STEP_NS)
        jm__sampler_event(sampler, JM_EVENT_CLOCK_STEP, 0, (double)step_ns, "CLOCK_REALTIME was set");
}

/* Serve what is due: the rings first, whose samples fall out after some seconds. A lost board is tried
 * through its first channel alone. Returns when the next is due. */
static int64_t due_serve(jm__sampler *sampler)
{
    int64_t next_ns = jm__now_ns() + REST_NS;
    if (sampler->anchor_due_ns <= jm__now_ns()) anchor_take(sampler);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < sampler->channel_count; i++) {
            jm__channel *channel = &sampler->channels[i];
            sampled_board *board = &sampler->boards[channel->board];
            if ((channel->way == JM_CHANNEL_BUFFERED) != (pass == 0)) continue;
            if (board->lost && i != board->first_channel) continue;
            const int64_t *due_ns = board->lost ? &board->retry_ns : &channel->due_ns;
            if (*due_ns <= jm__now_ns()) jm__sampler_serve(sampler, channel);
        }
    }
    for (size_t i = 0; i < sampler->channel_count; i++) {
        const jm__channel *channel = &sampler->channels[i];
        const sampled_board *board = &sampler->boards[channel->board];
        int64_t due_ns = board->lost ? board->retry_ns : channel->due_ns;
        if (due_ns < next_ns) next_ns = due_ns;
    }
    return sampler->anchor_due_ns < next_ns ? sampler->anchor_due_ns : next_ns;
}

/* What somebody waits for and is not there yet. */
typedef struct awaited {
    bool edge;    /* an energy reading after the last kick */
    bool reading; /* any reading that tells of the time before it */
} awaited;

/* Up to when all power and energy readings are out. */
static int64_t fresh_find(const jm__sampler *sampler, awaited *awaits)
{
    int64_t now_ns = jm__now_ns();
    int64_t fresh_ns = now_ns;
    int64_t silence_ns = SILENCE_NS + 2 * sampler->context.ring_period_ns;
    awaits->edge = awaits->reading = false;
    for (size_t i = 0; i < sampler->channel_count; i++) {
        const jm__channel *channel = &sampler->channels[i];
        if (!channel->power || jm__channel_is_silent(channel) || sampler->boards[channel->board].lost)
            continue;
        bool energy = channel->row.quantity == JM_QUANTITY_ENERGY;
        if (channel->edge_ns != 0) awaits->reading = true;
        if (channel->edge_ns != 0 && energy) awaits->edge = true;
        int64_t to_ns = now_ns;
        if (channel->way == JM_CHANNEL_BUFFERED || channel->ticked) to_ns = channel->fresh_ns;
        if (channel->way == JM_CHANNEL_COUNTER && channel->search_ns != 0) to_ns = channel->value_ns;
        if (to_ns < now_ns - silence_ns) continue;
        if (to_ns < fresh_ns) fresh_ns = to_ns;
    }
    return fresh_ns;
}

static void state_publish(jm__sampler *sampler, awaited *awaits)
{
    struct timespec cpu;
    int64_t fresh_ns = fresh_find(sampler, awaits);
    if (!awaits->edge && fresh_ns > atomic_load(&sampler->fresh_ns))
        atomic_store(&sampler->fresh_ns, fresh_ns);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    atomic_store(&sampler->cpu_ns, cpu.tv_sec * JM_NS_PER_S + cpu.tv_nsec);
    atomic_store(&sampler->calls, sampler->cost.calls);
    atomic_store(&sampler->call_ns, sampler->cost.call_ns);
}

static void wait_until(jm__sampler *sampler, pthread_cond_t *condition, int64_t t_ns)
{
    struct timespec until = {t_ns / JM_NS_PER_S, t_ns % JM_NS_PER_S};
    (void)pthread_cond_timedwait(condition, &sampler->lock, &until);
}

/* Pass on what was asked for since the last round. Called with the lock. */
static void wishes_take(jm__sampler *sampler)
{
    if (sampler->kick_ns == 0 && sampler->kick_edge_ns == 0) return;
    for (size_t i = 0; i < sampler->channel_count; i++) {
        jm__channel *channel = &sampler->channels[i];
        if (sampler->boards[channel->board].lost) continue;
        if (sampler->kick_ns != 0) jm__channel_hurry(channel, sampler->kick_ns, false);
        if (sampler->kick_edge_ns != 0) jm__channel_hurry(channel, sampler->kick_edge_ns, true);
    }
    sampler->kick_ns = sampler->kick_edge_ns = 0;
}

/* After the first readings, which nothing may hold up; a change is told. */
static void *thread_main(void *argument)
{
    jm__sampler *sampler = argument;
    pthread_mutex_lock(&sampler->lock);
    for (;;) {
        awaited awaits;
        wishes_take(sampler);
        pthread_mutex_unlock(&sampler->lock);
        int64_t next_ns = due_serve(sampler);
        jm__sampler_tell_who(sampler);
        state_publish(sampler, &awaits);
        pthread_mutex_lock(&sampler->lock);
        bool wished = sampler->kick_ns != 0 || sampler->kick_edge_ns != 0;
        if (!wished && !awaits.edge && sampler->edge_awaited) {
            sampler->edge_awaited = false;
            sampler->begun = true;
            pthread_cond_broadcast(&sampler->done);
        }
        int64_t stop_ns = sampler->stop_ns;
        if (stop_ns != 0 && !wished) {
            bool complete = !awaits.reading && atomic_load(&sampler->fresh_ns) >= stop_ns;
            if (complete || jm__now_ns() > stop_ns + LAST_NS) break;
        }
        if (!wished && next_ns > jm__now_ns()) wait_until(sampler, &sampler->wake, next_ns);
    }
    pthread_mutex_unlock(&sampler->lock);
    return NULL;
}

/* ---- outside ---- */

static jm_status thread_start(jm__sampler *sampler, jm_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    /* The program's signals are the program's threads' business. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&sampler->thread, NULL, thread_main, sampler);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0)
        return jm__fail(err, JM_INTERNAL, code, "pthread_create", "the sampler's thread cannot start: %s",
                        strerror(code));
    pthread_setname_np(sampler->thread, "joulemap-sample");
    sampler->thread_runs = true;
    return JM_OK;
}

/* Wait for the first edge readings: of any tick, as all that matters comes after it. */
static void first_edge_wait(jm__sampler *sampler, int64_t limit_ns)
{
    int64_t until_ns = jm__now_ns() + limit_ns;
    pthread_mutex_lock(&sampler->lock);
    sampler->kick_edge_ns = jm__now_ns() - JM_NS_PER_S;
    sampler->edge_awaited = true;
    pthread_cond_signal(&sampler->wake);
    while (sampler->edge_awaited && jm__now_ns() < until_ns)
        wait_until(sampler, &sampler->done, until_ns);
    pthread_mutex_unlock(&sampler->lock);
}

static jm_status locks_make(jm__sampler *sampler, jm_error *err)
{
    pthread_condattr_t monotonic;
    bool made = pthread_condattr_init(&monotonic) == 0 &&
                pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 &&
                pthread_mutex_init(&sampler->lock, NULL) == 0 &&
                pthread_cond_init(&sampler->wake, &monotonic) == 0 &&
                pthread_cond_init(&sampler->done, &monotonic) == 0;
    pthread_condattr_destroy(&monotonic);
    return made ? JM_OK
                : jm__fail(err, JM_INTERNAL, 0, "pthread_cond_init", "the sampler cannot make its locks");
}

/* Fork's child handler is registered once a process; a handler that cannot be registered costs fork-safety
 * alone. */
static unsigned fork_generation_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fork_watch);
    return atomic_load(&fork_generation);
}

jm_status jm__sampler_create(jm__sampler **out, const jm__sampler_options *options,
                             const jm__sampler_sink *sink, jm_error *err)
{
    *out = NULL;
    jm__sampler *sampler = calloc(1, sizeof *sampler);
    if (sampler == NULL) return jm__no_memory(err, "calloc");
    sampler->sink = *sink;
    sampler->fork_generation = fork_generation_get();
    jm_status status = locks_make(sampler, err);
    jm__device_options device = {.sim = options->sim,
                                 .no_cpu = options->no_cpu,
                                 .run_dir = options->run_dir,
                                 .truth_path = options->truth_path};
    if (status == JM_OK) status = jm__inventory_open(&sampler->inventory, &device, err);
    if (status != JM_OK) goto fail;
    sampler->board_count = jm_inventory_board_count(sampler->inventory);
    if (sampler->board_count == 0) {
        status = jm__sampler_no_board(sampler->inventory, err);
        goto fail;
    }
    sampler->boards = calloc(sampler->board_count, sizeof *sampler->boards);
    sampler->channels = calloc(sampler->board_count * JM_DEVICE_SENSORS_MAX, sizeof *sampler->channels);
    if (sampler->boards == NULL || sampler->channels == NULL) {
        status = jm__no_memory(err, "calloc");
        goto fail;
    }
    sampler->context.devices = jm__inventory_devices(sampler->inventory);
    sampler->context.sink = &sampler->sink;
    sampler->context.cost = &sampler->cost;
    sampler->context.ring_period_ns = options->ring_period_ns > 0 ? options->ring_period_ns : JM_NS_PER_S;
    for (size_t i = 0; i < sampler->board_count; i++)
        jm__sampler_announce(sampler, i, jm__now_ns());
    jm__sampler_tell_absent(sampler);
    status = thread_start(sampler, err);
    if (status != JM_OK) goto fail;
    first_edge_wait(sampler, FIRST_NS);
    *out = sampler;
    return JM_OK;
fail:
    jm__sampler_free(sampler);
    return status;
}

void jm__sampler_kick(jm__sampler *sampler, bool edge)
{
    if (is_forked(sampler)) return;
    pthread_mutex_lock(&sampler->lock);
    sampler->kick_ns = jm__now_ns();
    if (edge) sampler->kick_edge_ns = sampler->kick_ns;
    pthread_cond_signal(&sampler->wake);
    pthread_mutex_unlock(&sampler->lock);
}

int64_t jm__sampler_fresh_ns(const jm__sampler *sampler)
{
    return atomic_load(&sampler->fresh_ns);
}

jm__sampler_cost jm__sampler_cost_get(const jm__sampler *sampler)
{
    return (jm__sampler_cost){atomic_load(&sampler->cpu_ns), atomic_load(&sampler->calls),
                              atomic_load(&sampler->call_ns)};
}

const jm_inventory *jm__sampler_inventory(const jm__sampler *sampler)
{
    return sampler->inventory;
}

void jm__sampler_stop(jm__sampler *sampler)
{
    if (sampler == NULL || is_forked(sampler) || !sampler->thread_runs) return;
    pthread_mutex_lock(&sampler->lock);
    sampler->stop_ns = sampler->kick_ns = sampler->kick_edge_ns = jm__now_ns();
    pthread_cond_signal(&sampler->wake);
    pthread_mutex_unlock(&sampler->lock);
    pthread_join(sampler->thread, NULL);
    sampler->thread_runs = false;
}

void jm__sampler_free(jm__sampler *sampler)
{
    if (sampler == NULL) return;
    jm__sampler_stop(sampler);
    /* In a forked child NVML's own locks may be held by threads that are not here: leave it alone. */
    if (!is_forked(sampler)) {
        jm_inventory_free(sampler->inventory);
        pthread_cond_destroy(&sampler->done);
        pthread_cond_destroy(&sampler->wake);
        pthread_mutex_destroy(&sampler->lock);
    }
    free(sampler->channels);
    free(sampler->boards);
    free(sampler);
}
