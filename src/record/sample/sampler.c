/* The sampler: its boards, its thread and schedule, and what happens to it at fork and at the end. */
#include "record/sample/sampler.h"

#include "base/clock.h"
#include "base/status.h"
#include "format/rows/sensor_role.h"
#include "record/sample/channel.h"
#include "record/sample/inventory.h"
#include "record/sample/who_else.h"

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
/* How soon a lost board is tried again, as a ring may still have what was missed; then ever more rarely. */
#define RETRY_NS      (INT64_C(100) * JM_NS_PER_MS)
#define RETRY_MOST_NS (INT64_C(2) * JM_NS_PER_S)
#define WHO_NS        (INT64_C(10) * JM_NS_PER_S) /* how often it is asked who uses a board */

typedef struct sampled_board {
    int64_t id;
    bool lost;
    int64_t retry_ns;
    int64_t pause_ns; /* before it */
    int64_t lost_ns;  /* when it was lost last, or tried in vain */
    size_t first_channel, channel_count;
    char who[256]; /* uses it: pids */
} sampled_board;

struct jm__sampler {
    jm_inventory *inventory;
    jm__sampler_sink sink;
    sampled_board *boards;
    size_t board_count;
    jm__channel *channels;
    size_t channel_count;
    jm__channel_context context;
    jm__sampler_cost cost; /* the thread's own; published below */
    bool begun;            /* the first edge readings are in */
    jm__anchor anchor;     /* the newest */
    int64_t anchor_due_ns;
    int64_t who_due_ns;
    unsigned fork_generation;

    pthread_t thread;
    bool thread_runs;
    pthread_mutex_t lock; /* guards what follows, up to the atomics */
    pthread_cond_t wake;  /* the thread: something is wanted */
    pthread_cond_t done;  /* waiters: an edge is done */
    int64_t kick_ns, kick_edge_ns;
    int64_t stop_ns; /* 0: go on */
    bool edge_awaited;

    _Atomic int64_t fresh_ns;
    _Atomic int64_t cpu_ns, calls, call_ns;
};

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

/* ---- its boards: on the thread, or before there is one ---- */

static void send_event(const jm__sampler *sampler, jm_event_kind kind, int64_t board_id, double value,
                       const char *text)
{
    jm__event event = {.kind = kind, .t_ns = jm__now_ns(), .board_id = board_id, .value = value};
    snprintf(event.text, sizeof event.text, "%s", text);
    sampler->sink.event(sampler->sink.context, &event);
}

static const jm_sensor *ring_of(const jm_inventory *inventory, size_t board)
{
    for (size_t i = 0; i < jm_inventory_sensor_count(inventory, board); i++) {
        const jm_sensor *sensor = jm_inventory_sensor(inventory, board, i);
        if (jm__sensor_is(sensor, JM_SENSOR_POWER_RING)) return sensor;
    }
    return NULL;
}

/* The best power sensor that works. NULL: none (RAPL has only a counter). */
static const jm_sensor *main_power(const jm_inventory *inventory, size_t board)
{
    const jm_sensor *best = NULL;
    int best_rank = JM_RANK_NONE;
    for (size_t i = 0; i < jm_inventory_sensor_count(inventory, board); i++) {
        const jm_sensor *sensor = jm_inventory_sensor(inventory, board, i);
        if (sensor->missing[0] != '\0' || jm__sensor_rank(sensor) <= best_rank) continue;
        best = sensor;
        best_rank = jm__sensor_rank(sensor);
    }
    return best;
}

static void fallback_tell(const jm__sampler *sampler, size_t board, int64_t board_id, const jm_sensor *best)
{
    const jm_sensor *ring = ring_of(sampler->inventory, board);
    if (ring == NULL || ring == best) return;
    char text[256];
    snprintf(text, sizeof text, "no %.40s (%.100s): power comes from %.40s", ring->name, ring->missing,
             best == NULL ? "the energy counter alone" : best->name);
    send_event(sampler, JM_EVENT_SENSOR_FAILED, board_id, 0, text);
}

/* Tell the sink of a board and its sensors; those that work become channels. */
static void announce(jm__sampler *sampler, size_t number, int64_t now_ns)
{
    jm_inventory *inventory = sampler->inventory;
    const jm_sensor *best = main_power(inventory, number);
    int best_rank = best == NULL ? JM_RANK_NONE : jm__sensor_rank(best);
    jm_board row = *jm_inventory_board(inventory, number);
    sampled_board *board = &sampler->boards[number];
    row.id = sampler->sink.board(sampler->sink.context, &row);
    board->id = row.id;
    board->first_channel = sampler->channel_count;
    if (row.id < 0) return;
    fallback_tell(sampler, number, row.id, best);
    for (size_t i = 0; i < jm_inventory_sensor_count(inventory, number); i++) {
        const jm_sensor *sensor = jm_inventory_sensor(inventory, number, i);
        jm_sensor told = *sensor;
        told.board_id = row.id;
        told.id = sampler->sink.sensor(sampler->sink.context, &told);
        if (told.id < 0 || told.missing[0] != '\0') continue;
        jm__channel *channel = &sampler->channels[sampler->channel_count++];
        *channel = (jm__channel){
            .board = number, .sensor = i, .sensor_id = told.id, .board_id = row.id, .row = told};
        bool buffered = jm__devices_sensor(sampler->context.devices, number, i)->buffered;
        jm__channel_init(channel, buffered, best_rank, sensor == best, now_ns,
                         sampler->context.ring_period_ns);
    }
    board->channel_count = sampler->channel_count - board->first_channel;
}

/* What is in the machine and will not be in the recording. */
static void tell_absent(const jm__sampler *sampler)
{
    const jm__findings *findings = jm__devices_findings(sampler->context.devices);
    for (size_t i = 0; i < findings->absent_count; i++)
        send_event(sampler, JM_EVENT_BOARD_ABSENT, 0, 0, findings->absent[i]);
}

/* Nothing to sample at all: say what NVML said. */
static jm_status fail_without_board(const jm_inventory *inventory, jm_error *err)
{
    const jm__findings *findings = jm__devices_findings(jm__inventory_devices(inventory));
    const char *detail = "no back end found one";
    for (size_t i = findings->count; i-- > 0;) {
        const jm_finding *finding = &findings->items[i];
        /* What a single call lacks ("NVML: nvmlDevice...") is not why there is no board. */
        if (!finding->works && strchr(finding->subject, ':') == NULL) detail = finding->detail;
    }
    return jm__fail(err, JM_NO_DEVICE, 0, "", "no GPU to read on this machine: %s", detail);
}

static void board_lose(jm__sampler *sampler, sampled_board *board, const jm_error *err)
{
    if (!board->lost) {
        char text[256];
        snprintf(text, sizeof text, "%.240s", err->text);
        send_event(sampler, JM_EVENT_BOARD_LOST, board->id, (double)err->code, text);
    }
    /* One that comes and goes is tried as rarely as one that stays away. */
    int64_t now_ns = jm__now_ns();
    bool again = board->pause_ns != 0 && now_ns - board->lost_ns < 2 * RETRY_MOST_NS;
    board->pause_ns = again ? 2 * board->pause_ns : RETRY_NS;
    if (board->pause_ns > RETRY_MOST_NS) board->pause_ns = RETRY_MOST_NS;
    board->lost = true;
    board->lost_ns = now_ns;
    board->retry_ns = now_ns + board->pause_ns;
    for (size_t i = 0; i < board->channel_count; i++) {
        jm__channel *channel = &sampler->channels[board->first_channel + i];
        channel->edge_ns = channel->search_ns = 0;
    }
}

static void board_regain(jm__sampler *sampler, sampled_board *board)
{
    board->lost = false;
    send_event(sampler, JM_EVENT_BOARD_BACK, board->id, 0, "it answers again");
    for (size_t i = 0; i < board->channel_count; i++)
        sampler->channels[board->first_channel + i].due_ns = jm__now_ns();
}

/* A counter was read at an edge: the power up to there is wanted too, to tell what of its energy lies beyond.
 */
static void power_follow(jm__sampler *sampler, const sampled_board *board, int64_t t_ns)
{
    for (size_t i = 0; i < board->channel_count; i++)
        jm__channel_hurry(&sampler->channels[board->first_channel + i], t_ns, false);
}

/* A main power sensor fell silent: the best of the board's others takes its place. */
static void power_replace(jm__sampler *sampler, const sampled_board *board)
{
    jm__channel *best = NULL;
    for (size_t i = 0; i < board->channel_count; i++) {
        jm__channel *channel = &sampler->channels[board->first_channel + i];
        int rank = jm__sensor_rank(&channel->row);
        if (rank == JM_RANK_NONE || jm__channel_is_silent(channel)) continue;
        if (best == NULL || rank > jm__sensor_rank(&best->row)) best = channel;
    }
    if (best != NULL && !best->power) jm__channel_promote(best);
    for (size_t i = 0; i < board->channel_count; i++)
        jm__channel_back_up(&sampler->channels[board->first_channel + i],
                            best == NULL ? JM_RANK_NONE : jm__sensor_rank(&best->row));
}

/* Read a channel that is due; its board may be lost by that, or found again. */
static void serve(jm__sampler *sampler, jm__channel *channel)
{
    bool was_silent = jm__channel_is_silent(channel);
    jm_error err;
    sampled_board *board = &sampler->boards[channel->board];
    bool edge_wanted = channel->way == JM_CHANNEL_COUNTER && channel->edge_ns != 0;
    jm_status status = jm__channel_serve(channel, &sampler->context, &err);
    if (status == JM_DEVICE_LOST) {
        board_lose(sampler, board, &err);
        return;
    }
    if (board->lost) board_regain(sampler, board);
    if (channel->power && !was_silent && jm__channel_is_silent(channel)) power_replace(sampler, board);
    /* At the start the next read of the ring brings it anyway. */
    if (sampler->begun && edge_wanted && channel->edge_ns == 0)
        power_follow(sampler, board, channel->emitted_ns);
}

/* Now and then: who else uses a board. */
static void tell_who(jm__sampler *sampler)
{
    if (!sampler->begun || jm__now_ns() < sampler->who_due_ns) return;
    sampler->who_due_ns = jm__now_ns() + WHO_NS;
    for (size_t i = 0; i < sampler->board_count; i++) {
        sampled_board *board = &sampler->boards[i];
        char who[sizeof board->who];
        if (board->id < 0 || board->lost) continue;
        jm__who_else(who, sizeof who, sampler->context.devices, i);
        if (strcmp(who, board->who) == 0) continue;
        memcpy(board->who, who, sizeof board->who);
        send_event(sampler, JM_EVENT_PROCESSES, board->id, 0, who);
    }
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
        send_event(sampler, JM_EVENT_CLOCK_STEP, 0, (double)step_ns, "CLOCK_REALTIME was set");
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
            if (*due_ns <= jm__now_ns()) serve(sampler, channel);
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
        tell_who(sampler);
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
        status = fail_without_board(sampler->inventory, err);
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
        announce(sampler, i, jm__now_ns());
    tell_absent(sampler);
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
