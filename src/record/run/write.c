/* The writer's thread: moves rings and queue into the recording and commits twice a second. */
#include "base/clock.h"
#include "record/run/inside.h"

/* At this interval a ring of 65536 spans, an eighth of it kept for ends, takes 1.1 million records a second.
 * A module's hooks give at most 0.8 million (two in 2.6 us: docs/architecture.md). */
#define POLL_NS (50 * JM_NS_PER_MS)
/* What a killed recorder may lose, besides a second of the sensor's ring. */
#define COMMIT_NS (500 * JM_NS_PER_MS)
/* A read of the ring costs up to 0.7 ms (docs/sensors.md): 0.3 % of the time while a caller waits. */
#define KICK_NS (250 * JM_NS_PER_MS)
/* An eighth of a ring in one poll: it fills faster than it is emptied, so poll again at once. */
#define BUSY_RECORDS 8192
/* While a caller waits for readings: a quarter of the fastest sensor's period (20 ms). */
#define WAIT_NS (5 * JM_NS_PER_MS)

typedef struct writer_state {
    int64_t committed_at_ns;
    int64_t committed_fresh_ns; /* how far the sensors were then */
    int64_t kicked_at_ns;
    bool busy;
} writer_state;

/* Sleeps until the next poll or request. True to continue. */
static bool wait_for_work(jm_run *run, const writer_state *now)
{
    pthread_mutex_lock(&run->lock);
    if (!run->stop && !now->busy && run->requested_ns <= run->complete_ns) {
        const struct timespec until = jm__clock_after(CLOCK_MONOTONIC, POLL_NS);
        pthread_cond_timedwait(&run->changed, &run->lock, &until);
    }
    bool continues = !run->stop;
    pthread_mutex_unlock(&run->lock);
    return continues;
}

/* Attached processes request flushes through the folder. */
static int64_t get_requested_ns(jm_run *run)
{
    bool flush = jm__run_folder_flush_requested(&run->folder);
    pthread_mutex_lock(&run->lock);
    if (flush) run->requested_ns = jm__now_ns();
    int64_t requested_ns = run->requested_ns;
    pthread_mutex_unlock(&run->lock);
    return requested_ns;
}

static void commit(jm_run *run, int64_t complete_ns, int64_t fresh_ns, writer_state *now)
{
    jm_error failure = {0};
    jm__run_folder_keep(&run->folder);
    jm_status status = jm__writer_commit(run->writer, complete_ns, &failure);
    now->committed_at_ns = jm__now_ns();
    now->committed_fresh_ns = fresh_ns;
    pthread_mutex_lock(&run->lock);
    run->failure = failure;
    run->failure.status = status;
    if (status == JM_OK && complete_ns > run->complete_ns) run->complete_ns = complete_ns;
    pthread_cond_broadcast(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

/* A caller waits: the sampler must not wait for its next second. */
static void kick(jm_run *run, writer_state *now)
{
    int64_t now_ns = jm__now_ns();
    if (now_ns - now->kicked_at_ns < KICK_NS) return;
    jm__sampler_kick(run->sampler, true);
    now->kicked_at_ns = now_ns;
}

static void write_rows(jm_run *run, writer_state *now)
{
    int64_t requested_ns = get_requested_ns(run);
    bool requested = requested_ns > run->complete_ns; /* only this thread changes complete_ns */
    if (requested) kick(run, now);
    pthread_mutex_lock(&run->writer_lock);
    /* First the limits, then the rows: what arrives in between is then more than promised, not less. */
    int64_t fresh_ns = jm__sampler_fresh_ns(run->sampler);
    int64_t complete_ns = fresh_ns;
    now->busy = jm__run_take_rows(run) >= BUSY_RECORDS;
    if (run->collector != NULL && jm__collector_complete_ns(run->collector) < complete_ns)
        complete_ns = jm__collector_complete_ns(run->collector);
    /* A ring arrives once a second: waiting with it as well would cost a killed recorder more than a
     * second. */
    bool due =
        jm__now_ns() - now->committed_at_ns >= COMMIT_NS || fresh_ns - now->committed_fresh_ns >= COMMIT_NS;
    if (due || (requested && complete_ns >= requested_ns)) commit(run, complete_ns, fresh_ns, now);
    pthread_mutex_unlock(&run->writer_lock);
    if (requested && complete_ns < requested_ns) jm__sleep_ns(WAIT_NS);
}

void *jm__run_write(void *context)
{
    jm_run *run = context;
    writer_state now = {.committed_at_ns = jm__now_ns()};
    do {
        write_rows(run, &now);
    } while (wait_for_work(run, &now));
    return NULL;
}
