/* The thread that samples counters by way of its helpers. */
#include "record/counters/source.h"

#include "base/plain.h"
#include "record/counters/duty_cycle.h"
#include "record/counters/helper.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Helpers send ten times a second; a decision may be that late. */
#define POLL_MS 50
/* After another tool was found to have the board's counters. */
#define REFUSED_NS (10 * JM_NS_PER_S)
/* A board draws more from some 0.2 s before its first sample on (H200, bench/results/counters.txt). */
#define BEFORE_NS (200 * JM_NS_PER_MS)
/* What helpers have decoded at the stop may take that long to evaluate. */
#define DRAIN_NS JM_NS_PER_S
/* To give the board's counters back. */
#define LEAVE_NS (200 * JM_NS_PER_MS)

typedef struct board {
    jm_board row;
    jm__counter_helper helper;
    bool started;     /* the helper was */
    bool told;        /* why it does not work */
    bool sampling;    /* as the duty cycle knows */
    bool has_sampler; /* as the recording knows */
    int64_t set_id;
    int64_t fed_ns; /* without kernels: busy up to there */
    /* Under the source's lock. */
    bool busy; /* kernels were seen on it */
    jm__duty_cycle duty_cycle;
} board;

struct jm__counter_source {
    double seconds_a_minute;
    bool queried, traced;
    jm__counter_launch way;
    jm__counter_sink sink;
    pthread_t thread;
    pthread_mutex_t lock;
    _Atomic bool stop;
    char fault[200]; /* told last: boards that fail alike are told once */
    board *boards;
    size_t count;
    jm__bursts_of_boards bursts; /* under the lock */
};

/* ---- words */

/* Why a board's counters are not sampled: at once if somebody asked for them, else once it matters. */
static void tell_fault(jm__counter_source *source, board *b, bool busy)
{
    if (b->told || (!source->queried && !busy)) return;
    b->told = true;
    if (strcmp(source->fault, b->helper.fault) == 0) return;
    jm__event event = {.kind = JM_EVENT_COUNTERS, .t_ns = jm__now_ns(), .board_id = b->row.id};
    const char *cure = b->helper.cure;
    snprintf(source->fault, sizeof source->fault, "%s", b->helper.fault);
    snprintf(event.text, sizeof event.text, "%.140s%s%.110s%s", b->helper.fault, cure[0] != '\0' ? " (" : "",
             cure, cure[0] != '\0' ? ")" : "");
    source->sink.event(source->sink.context, &event);
}

/* A run that was over before anything could be sampled; boards that had nothing to do are told of only if all
 * are such. */
static void tell_end(jm__counter_source *source, board *b, bool busy)
{
    bool any = false;
    for (size_t i = 0; i < source->count; i++)
        any = any || source->boards[i].set_id > 0;
    if (b->set_id > 0 || b->helper.fault[0] != '\0' || (any && !busy)) return;
    snprintf(b->helper.fault, sizeof b->helper.fault,
             busy ? "the run was over before they could be" : "no kernel was seen on the board");
    tell_fault(source, b, busy);
}

/* What it was and what it cost, for the table of facts. */
static void tell_cost(const jm__counter_source *source, const board *b)
{
    char key[32], value[256];
    if (b->set_id <= 0) return;
    snprintf(key, sizeof key, "counters_%" PRId64, b->row.id);
    jm__print(value, sizeof value,
              "%s: %" PRId64 " metrics, %" PRId64 " samples, %" PRId64 " times too late, %.2f s of CPU",
              b->helper.chip, b->helper.metric_count, b->helper.samples, b->helper.lost,
              (double)b->helper.cpu_ns / (double)JM_NS_PER_S);
    source->sink.fact(source->sink.context, key, value);
}

/* ---- a board */

static void start_helper(const jm__counter_source *source, board *b)
{
    b->started = true;
    jm__counter_helper_start(&b->helper, &source->way, "serve", &b->row);
}

typedef struct taking {
    jm__counter_source *source;
    board *board;
} taking;

static void take_block(void *context, const jm__counter_block *block)
{
    const taking *t = context;
    jm__counter_block row = *block;
    row.set_id = t->board->set_id;
    if (row.set_id > 0) t->source->sink.block(t->source->sink.context, &row);
}

/* Its counters are known: they become a set of the recording. */
static void make_set(const jm__counter_source *source, board *b)
{
    const jm__counter_set set = {.board_id = b->row.id,
                                 .metric_count = b->helper.metric_count,
                                 .metrics = b->helper.metrics,
                                 .units = b->helper.units,
                                 .period_ns = b->helper.period_ns};
    b->set_id = source->sink.set(source->sink.context, &set);
}

/* From here on its sampler makes the board draw more, or no longer does. */
static void note_sampler(jm__counter_source *source, board *b)
{
    jm__counter_state state = b->helper.state;
    bool has_sampler =
        (state == JM_COUNTERS_SAMPLING || state == JM_COUNTERS_STOPPING) && !b->helper.renewing;
    if (has_sampler == b->has_sampler) return;
    b->has_sampler = has_sampler;
    jm__event event = {.kind = JM_EVENT_SAMPLING,
                       .t_ns = jm__now_ns() - (has_sampler ? BEFORE_NS : 0),
                       .board_id = b->row.id,
                       .value = has_sampler};
    snprintf(event.text, sizeof event.text,
             has_sampler ? "hardware counters are sampled" : "no longer sampled");
    source->sink.event(source->sink.context, &event);
}

/* Start or stop sampling as the duty cycle has it. */
static void command(jm__counter_source *source, board *b)
{
    int64_t now_ns = jm__now_ns();
    jm__counter_state state = b->helper.state;
    pthread_mutex_lock(&source->lock);
    if (!source->traced) jm__duty_cycle_kernel(&b->duty_cycle, 0, b->fed_ns, now_ns, now_ns);
    b->fed_ns = now_ns;
    if (state == JM_COUNTERS_SAMPLING && !b->sampling) jm__duty_cycle_began(&b->duty_cycle, now_ns);
    bool wants = !source->stop && jm__duty_cycle_wants(&b->duty_cycle, now_ns, b->helper.cpu_ns);
    b->sampling = state == JM_COUNTERS_SAMPLING && wants;
    if (state == JM_COUNTERS_SAMPLING && !wants) jm__duty_cycle_ended(&b->duty_cycle, now_ns);
    pthread_mutex_unlock(&source->lock);
    bool refused = b->helper.refused_ns > 0 && now_ns - b->helper.refused_ns < REFUSED_NS;
    if (state == JM_COUNTERS_IDLE && wants && !refused) {
        if (b->set_id == 0) make_set(source, b);
        jm__counter_helper_tell(&b->helper, JM_COUNTERS_START);
    }
    if (state == JM_COUNTERS_SAMPLING && !wants) jm__counter_helper_tell(&b->helper, JM_COUNTERS_STOP);
}

static bool is_busy(jm__counter_source *source, const board *b)
{
    pthread_mutex_lock(&source->lock);
    bool busy = b->busy;
    pthread_mutex_unlock(&source->lock);
    return busy;
}

static void work(jm__counter_source *source, board *b)
{
    taking t = {source, b};
    bool busy = is_busy(source, b);
    if (!b->started && busy && !source->stop) start_helper(source, b);
    if (!b->started) return;
    jm__counter_helper_hear(&b->helper, take_block, &t);
    note_sampler(source, b);
    if (b->helper.state == JM_COUNTERS_OVER)
        tell_fault(source, b, busy);
    else
        command(source, b);
}

/* ---- the thread */

static void await(const jm__counter_source *source)
{
    struct pollfd links[JM_COUNTER_BOARDS_MAX];
    for (size_t i = 0; i < source->count; i++)
        links[i] = (struct pollfd){.fd = jm__counter_helper_fd(&source->boards[i].helper), .events = POLLIN};
    (void)poll(links, source->count, POLL_MS);
}

/* Nothing more is to come from any of them. */
static bool is_drained(const jm__counter_source *source)
{
    for (size_t i = 0; i < source->count; i++) {
        jm__counter_state state = source->boards[i].helper.state;
        if (source->boards[i].started &&
            (state == JM_COUNTERS_STARTING || state == JM_COUNTERS_SAMPLING || state == JM_COUNTERS_STOPPING))
            return false;
    }
    return true;
}

static void *run(void *context)
{
    jm__counter_source *source = context;
    int64_t stop_ns = 0;
    for (size_t i = 0; i < source->count && source->count <= JM_COUNTER_BOARDS_AT_ONCE; i++)
        if (source->boards[i].row.cuda_index >= 0) start_helper(source, &source->boards[i]);
    for (;;) {
        if (source->stop && stop_ns == 0) stop_ns = jm__now_ns();
        for (size_t i = 0; i < source->count; i++)
            work(source, &source->boards[i]);
        if (stop_ns > 0 && (is_drained(source) || jm__now_ns() - stop_ns > DRAIN_NS)) break;
        await(source);
    }
    int64_t until_ns = jm__now_ns() + LEAVE_NS;
    for (size_t i = 0; i < source->count; i++) {
        tell_cost(source, &source->boards[i]);
        tell_end(source, &source->boards[i], is_busy(source, &source->boards[i]));
        jm__counter_helper_end(&source->boards[i].helper, until_ns);
    }
    return NULL;
}

/* Without signals: those are the program's. */
static jm_status start_thread(jm__counter_source *source, jm_error *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&source->thread, NULL, run, source);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code != 0)
        return jm__fail(err, JM_INTERNAL, code, "pthread_create", "no thread for hardware counters: %s",
                        strerror(code));
    pthread_setname_np(source->thread, "joulemap-count");
    return JM_OK;
}

/* ---- life */

static void free_memory(jm__counter_source *source)
{
    pthread_mutex_destroy(&source->lock);
    jm__counter_launch_free(&source->way);
    jm__bursts_of_boards_free(&source->bursts);
    free(source->boards);
    free(source);
}

static bool take_boards(jm__counter_source *source, const jm_board *boards, size_t count)
{
    source->boards = calloc(count + 1, sizeof *source->boards);
    for (size_t i = 0; source->boards != NULL && i < count && source->count < JM_COUNTER_BOARDS_MAX; i++) {
        if (!jm__counter_board_has_them(&boards[i])) continue;
        board *b = &source->boards[source->count++];
        b->row = boards[i];
        b->busy = !source->traced;
        b->fed_ns = jm__now_ns();
        jm__duty_cycle_init(&b->duty_cycle, source->seconds_a_minute, b->fed_ns);
    }
    return source->boards != NULL;
}

jm_status jm__counter_source_create(jm__counter_source **out, const jm__counter_options *options,
                                    const jm_board *boards, size_t count, const jm__counter_sink *sink,
                                    jm_error *err)
{
    *out = NULL;
    jm__counter_source *source = calloc(1, sizeof *source);
    if (source == NULL) return jm__no_memory(err, "jm__counter_source_create");
    pthread_mutex_init(&source->lock, NULL);
    source->seconds_a_minute = options->seconds_a_minute;
    source->queried = options->queried;
    source->traced = options->traced;
    source->sink = *sink;
    jm_status status = JM_OK;
    if (!take_boards(source, boards, count)) status = jm__no_memory(err, "jm__counter_source_create");
    if (status == JM_OK && source->count > 0) {
        bool simulated = source->boards[0].row.simulated; /* all are, or none */
        jm__counter_launch_find(&source->way, options->command, simulated ? options->sim : NULL,
                                options->run_dir);
        status = start_thread(source, err);
    }
    if (status == JM_OK && source->count > 0)
        *out = source;
    else
        free_memory(source);
    return status;
}

void jm__counter_source_kernels(jm__counter_source *source, const jm__kernel *kernels, size_t count,
                                int64_t (*board_of)(const void *context, int64_t stream_id),
                                const void *context)
{
    int64_t now_ns = jm__now_ns();
    pthread_mutex_lock(&source->lock);
    for (size_t i = 0; i < count; i++) {
        int64_t id = board_of(context, kernels[i].stream_id);
        for (size_t k = 0; k < source->count; k++) {
            board *b = &source->boards[k];
            if (b->row.id != id) continue;
            b->busy = true;
            jm__duty_cycle_kernel(&b->duty_cycle, kernels[i].class_id, kernels[i].start_ns, kernels[i].end_ns,
                                  now_ns);
        }
    }
    pthread_mutex_unlock(&source->lock);
}

/* Under the lock. */
static void tell_burst(jm__counter_source *source, jm__burst_boards boards, jm__duty_cycle_burst what,
                       int64_t t_ns)
{
    for (size_t k = 0; k < source->count; k++)
        if (boards >> k & 1) jm__duty_cycle_tell_burst(&source->boards[k].duty_cycle, what, t_ns);
}

static void tell_news(jm__counter_source *source, jm__bursts_news news, int64_t t_ns)
{
    tell_burst(source, news.untraced, JM_DUTY_CYCLE_UNTRACED, t_ns);
    tell_burst(source, news.no_bursts, JM_DUTY_CYCLE_NO_BURSTS, t_ns);
}

void jm__counter_source_works(jm__counter_source *source, int64_t process_id, int64_t board_id)
{
    pthread_mutex_lock(&source->lock);
    for (size_t k = 0; k < source->count; k++)
        if (source->boards[k].row.id == board_id)
            tell_news(source, jm__bursts_of_boards_works(&source->bursts, process_id, k), jm__now_ns());
    pthread_mutex_unlock(&source->lock);
}

void jm__counter_source_burst(jm__counter_source *source, int64_t process_id, jm__duty_cycle_burst what,
                              int64_t t_ns)
{
    pthread_mutex_lock(&source->lock);
    tell_burst(source, jm__bursts_of_boards_said(&source->bursts, process_id, what), what, t_ns);
    pthread_mutex_unlock(&source->lock);
}

void jm__counter_source_ended(jm__counter_source *source, int64_t process_id, int64_t t_ns)
{
    pthread_mutex_lock(&source->lock);
    tell_news(source, jm__bursts_of_boards_ended(&source->bursts, process_id), t_ns);
    pthread_mutex_unlock(&source->lock);
}

void jm__counter_source_stop(jm__counter_source *source)
{
    source->stop = true;
}

void jm__counter_source_free(jm__counter_source *source)
{
    if (source == NULL) return;
    source->stop = true;
    pthread_join(source->thread, NULL);
    free_memory(source);
}
