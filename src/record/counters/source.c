/* The thread that runs the counter helpers. */
#include "record/counters/source.h"

#include "base/plain.h"
#include "base/thread.h"
#include "format/rows/marks.h"
#include "record/counters/duty_cycle.h"
#include "record/counters/helper.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Helpers send ten times a second; a decision may be this late. */
#define POLL_MS 50
/* Pause after another tool was found to use the board's counters. */
#define REFUSED_NS (10 * JM_NS_PER_S)
/* A board draws more power from about 0.2 s before its first sample (H200, bench/results/counters.txt). */
#define BEFORE_NS (200 * JM_NS_PER_MS)
/* Evaluating the samples decoded until the stop may take this long. */
#define DRAIN_NS JM_NS_PER_S
/* Time for helpers to release the board's counters. */
#define LEAVE_NS (200 * JM_NS_PER_MS)

typedef struct board {
    jm__counter_source *source;
    jm_board row;
    jm__counter_helper helper;
    bool started;       /* the helper was started */
    bool is_reported;   /* the error was reported */
    bool sampling;      /* as reported to the duty cycle */
    bool has_sampler;   /* as reported in the recording */
    int64_t sampler_ns; /* of that report; 0: none yet */
    int64_t set_id;
    int64_t fed_ns;            /* without traced kernels: busy until here */
    _Atomic bool busy;         /* kernels were seen on it */
    jm__duty_cycle duty_cycle; /* under the source's lock */
} board;

static const struct {
    const char *name;
    jm__duty_cycle_burst what;
    bool ends; /* the process has ended */
} burst_marks[] = {{JM_MARK_TRACED, JM_DUTY_CYCLE_TRACED, false},
                   {JM_MARK_UNTRACED, JM_DUTY_CYCLE_UNTRACED, false},
                   {JM_MARK_STEPS, JM_DUTY_CYCLE_UNTRACED, false},
                   {JM_MARK_SOON, JM_DUTY_CYCLE_SOON, false},
                   {JM_MARK_ENDED, JM_DUTY_CYCLE_UNTRACED, true}};
enum { BURST_MARKS = sizeof burst_marks / sizeof burst_marks[0] };

struct jm__counter_source {
    bool requested, traced;
    jm__counter_launch launch;
    jm__counter_sink sink;
    pthread_t thread;
    pthread_mutex_t lock;
    _Atomic bool stop;
    char error[200]; /* the last one reported: boards with equal errors report it once */
    board *boards;
    size_t count;
    jm__bursts_of_boards bursts; /* under the lock */
    /* For the thread of the run's rows: */
    JM_VEC(board *) boards_of_streams; /* by stream id - 1; NULL: another board */
    int64_t mark_names[BURST_MARKS];   /* name ids of burst_marks, 0: not seen yet */
};

/* ---- reporting */

/* Reports why a board's counters are not sampled: at once if they were requested, else once the board has
 * work. */
static void report_error(jm__counter_source *source, board *b)
{
    if (b->is_reported || (!source->requested && !b->busy)) return;
    b->is_reported = true;
    if (strcmp(source->error, b->helper.error) == 0) return;
    jm__event event = {.kind = JM_EVENT_COUNTERS, .t_ns = jm__now_ns(), .board_id = b->row.id};
    const char *cure = b->helper.cure;
    snprintf(source->error, sizeof source->error, "%s", b->helper.error);
    snprintf(event.text, sizeof event.text, "%.140s%s%.110s%s", b->helper.error, cure[0] != '\0' ? " (" : "",
             cure, cure[0] != '\0' ? ")" : "");
    source->sink.event(source->sink.context, &event);
}

/* Reports boards that were never sampled. Idle boards are reported only if no board was sampled. */
static void report_unsampled(jm__counter_source *source, board *b)
{
    bool any = false, busy = b->busy;
    for (size_t i = 0; i < source->count; i++)
        any = any || source->boards[i].set_id > 0;
    if (b->set_id > 0 || b->helper.error[0] != '\0' || (any && !busy)) return;
    snprintf(b->helper.error, sizeof b->helper.error,
             busy ? "the run was over before they could be" : "no kernel was seen on the board");
    report_error(source, b);
}

/* Stores the chip, the amount and the cost in `meta`. */
static void store_cost(const jm__counter_source *source, const board *b)
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
    jm__counter_helper_start(&b->helper, &source->launch, "serve", &b->row);
}

static void take_block(void *context, const jm__counter_block *block)
{
    const board *b = context;
    jm__counter_block row = *block;
    row.set_id = b->set_id;
    if (row.set_id > 0) b->source->sink.block(b->source->sink.context, &row);
}

/* Adds the helper's counters as a set of the recording. */
static void make_set(const jm__counter_source *source, board *b)
{
    const jm__counter_set set = {.board_id = b->row.id,
                                 .metric_count = b->helper.metric_count,
                                 .metrics = b->helper.metrics,
                                 .units = b->helper.units,
                                 .period_ns = b->helper.period_ns};
    b->set_id = source->sink.set(source->sink.context, &set);
}

/* Records when a sampler begins or stops to raise the board's power. */
static void note_sampler(jm__counter_source *source, board *b)
{
    jm__counter_state state = b->helper.state;
    bool has_sampler =
        (state == JM_COUNTERS_SAMPLING || state == JM_COUNTERS_STOPPING) && !b->helper.renewing;
    if (has_sampler == b->has_sampler) return;
    b->has_sampler = has_sampler;
    int64_t t_ns = jm__now_ns() - (has_sampler ? BEFORE_NS : 0);
    jm__event event = {.kind = JM_EVENT_SAMPLING,
                       .t_ns = t_ns > b->sampler_ns ? t_ns : b->sampler_ns,
                       .board_id = b->row.id,
                       .value = has_sampler};
    snprintf(event.text, sizeof event.text,
             has_sampler ? "hardware counters are sampled" : "no longer sampled");
    source->sink.event(source->sink.context, &event);
    int64_t since_ns = b->sampler_ns;
    b->sampler_ns = event.t_ns;
    if (has_sampler) return;
    pthread_mutex_lock(&source->lock);
    jm__duty_cycle_left(&b->duty_cycle, event.t_ns - since_ns);
    pthread_mutex_unlock(&source->lock);
}

/* Starts or stops sampling by the duty cycle. */
static void control_sampling(jm__counter_source *source, board *b)
{
    int64_t now_ns = jm__now_ns();
    jm__counter_state state = b->helper.state;
    pthread_mutex_lock(&source->lock);
    if (!source->traced) jm__duty_cycle_kernel(&b->duty_cycle, 0, b->fed_ns, now_ns, now_ns);
    b->fed_ns = now_ns;
    if (state == JM_COUNTERS_SAMPLING && !b->sampling) jm__duty_cycle_began(&b->duty_cycle, now_ns);
    bool should_sample =
        !source->stop && jm__duty_cycle_should_sample(&b->duty_cycle, now_ns, b->helper.cpu_ns);
    b->sampling = state == JM_COUNTERS_SAMPLING && should_sample;
    if (state == JM_COUNTERS_SAMPLING && !should_sample) jm__duty_cycle_ended(&b->duty_cycle, now_ns);
    pthread_mutex_unlock(&source->lock);
    bool refused = b->helper.refused_ns > 0 && now_ns - b->helper.refused_ns < REFUSED_NS;
    if (state == JM_COUNTERS_IDLE && should_sample && !refused) {
        if (b->set_id == 0) make_set(source, b);
        jm__counter_helper_command(&b->helper, JM_COUNTERS_START);
    }
    if (state == JM_COUNTERS_SAMPLING && !should_sample)
        jm__counter_helper_command(&b->helper, JM_COUNTERS_STOP);
}

static void update_board(jm__counter_source *source, board *b)
{
    if (!b->started && b->busy && !source->stop) start_helper(source, b);
    if (!b->started) return;
    jm__counter_helper_receive(&b->helper, take_block, b);
    note_sampler(source, b);
    if (b->helper.state == JM_COUNTERS_OVER)
        report_error(source, b);
    else
        control_sampling(source, b);
}

/* ---- the thread */

static void wait_for_helpers(const jm__counter_source *source)
{
    struct pollfd links[JM_COUNTER_BOARDS_MAX];
    for (size_t i = 0; i < source->count; i++)
        links[i] = (struct pollfd){.fd = jm__counter_helper_fd(&source->boards[i].helper), .events = POLLIN};
    (void)poll(links, source->count, POLL_MS);
}

/* Will no helper send anything more? */
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

static void *source_thread(void *context)
{
    jm__counter_source *source = context;
    int64_t stop_ns = 0;
    for (size_t i = 0; i < source->count && source->count <= JM_COUNTER_BOARDS_AT_ONCE; i++)
        if (source->boards[i].row.cuda_index >= 0) start_helper(source, &source->boards[i]);
    for (;;) {
        if (source->stop && stop_ns == 0) stop_ns = jm__now_ns();
        for (size_t i = 0; i < source->count; i++)
            update_board(source, &source->boards[i]);
        if (stop_ns > 0 && (is_drained(source) || jm__now_ns() - stop_ns > DRAIN_NS)) break;
        wait_for_helpers(source);
    }
    int64_t until_ns = jm__now_ns() + LEAVE_NS;
    for (size_t i = 0; i < source->count; i++) {
        store_cost(source, &source->boards[i]);
        report_unsampled(source, &source->boards[i]);
        jm__counter_helper_end(&source->boards[i].helper, until_ns);
    }
    return NULL;
}

static jm_status start_thread(jm__counter_source *source, jm_error *err)
{
    int code = jm__thread_start(&source->thread, source_thread, source);
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
    jm__counter_launch_free(&source->launch);
    jm__bursts_of_boards_free(&source->bursts);
    jm__vec_free(&source->boards_of_streams);
    free(source->boards);
    free(source);
}

static bool take_boards(jm__counter_source *source, double seconds_a_minute, const jm_board *boards,
                        size_t count)
{
    source->boards = calloc(count + 1, sizeof *source->boards);
    for (size_t i = 0; source->boards != NULL && i < count && source->count < JM_COUNTER_BOARDS_MAX; i++) {
        if (!jm__board_has_counters(&boards[i])) continue;
        board *b = &source->boards[source->count++];
        b->source = source;
        b->row = boards[i];
        b->busy = !source->traced;
        b->fed_ns = jm__now_ns();
        jm__duty_cycle_init(&b->duty_cycle, seconds_a_minute, b->fed_ns);
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
    source->requested = options->requested;
    source->traced = options->traced;
    source->sink = *sink;
    jm_status status = JM_OK;
    if (!take_boards(source, options->seconds_a_minute, boards, count))
        status = jm__no_memory(err, "jm__counter_source_create");
    if (status == JM_OK && source->count > 0) {
        bool simulated = source->boards[0].row.simulated; /* all boards are, or none */
        jm__counter_launch_find(&source->launch, options->command, simulated ? options->sim : NULL,
                                options->run_dir);
        status = start_thread(source, err);
    }
    if (status == JM_OK && source->count > 0)
        *out = source;
    else
        free_memory(source);
    return status;
}

/* Under the lock. */
static void note_burst(jm__counter_source *source, jm__burst_boards boards, jm__duty_cycle_burst what,
                       int64_t t_ns)
{
    for (size_t k = 0; k < source->count; k++)
        if (boards >> k & 1) jm__duty_cycle_note_burst(&source->boards[k].duty_cycle, what, t_ns);
}

static void note_changes(jm__counter_source *source, jm__burst_changes changes, int64_t t_ns)
{
    note_burst(source, changes.untraced, JM_DUTY_CYCLE_UNTRACED, t_ns);
    note_burst(source, changes.no_bursts, JM_DUTY_CYCLE_NO_BURSTS, t_ns);
}

/* ---- rows of the run */

void jm__counter_source_name(jm__counter_source *source, int64_t name_id, const char *text)
{
    for (size_t i = 0; source != NULL && i < BURST_MARKS; i++)
        if (strcmp(text, burst_marks[i].name) == 0) source->mark_names[i] = name_id;
}

/* A mark concerns the boards of its process; while none is known, all boards that no process is known to
 * use. */
void jm__counter_source_mark(jm__counter_source *source, const jm__mark *mark)
{
    for (size_t i = 0; source != NULL && mark->name_id > 0 && i < BURST_MARKS; i++) {
        if (mark->name_id != source->mark_names[i]) continue;
        jm__duty_cycle_burst what = burst_marks[i].what;
        pthread_mutex_lock(&source->lock);
        if (burst_marks[i].ends)
            note_changes(source, jm__bursts_of_boards_ended(&source->bursts, mark->process_id), mark->t_ns);
        else
            note_burst(source, jm__bursts_of_boards_mark(&source->bursts, mark->process_id, what), what,
                       mark->t_ns);
        pthread_mutex_unlock(&source->lock);
    }
}

/* Stream ids have no gaps. A stream that finds no memory here has no board. */
void jm__counter_source_stream(jm__counter_source *source, const jm__stream *stream)
{
    board *found = NULL;
    if (source == NULL) return;
    for (size_t k = 0; k < source->count; k++)
        if (source->boards[k].row.id == stream->board_id) found = &source->boards[k];
    if (found != NULL) {
        size_t number = (size_t)(found - source->boards);
        pthread_mutex_lock(&source->lock);
        note_changes(source, jm__bursts_of_boards_runs_on(&source->bursts, stream->process_id, number),
                     jm__now_ns());
        pthread_mutex_unlock(&source->lock);
    }
    while (stream->id > 0 && source->boards_of_streams.count < (size_t)stream->id) {
        bool is_last = source->boards_of_streams.count + 1 == (size_t)stream->id;
        if (!jm__vec_push(&source->boards_of_streams, is_last ? found : NULL)) return;
    }
}

void jm__counter_source_kernels(jm__counter_source *source, const jm__kernel *kernels, size_t count)
{
    if (source == NULL) return;
    int64_t now_ns = jm__now_ns();
    pthread_mutex_lock(&source->lock);
    for (size_t i = 0; i < count; i++) {
        size_t stream = (size_t)kernels[i].stream_id - 1;
        board *b = stream < source->boards_of_streams.count ? source->boards_of_streams.items[stream] : NULL;
        if (b == NULL) continue;
        b->busy = true;
        jm__duty_cycle_kernel(&b->duty_cycle, kernels[i].class_id, kernels[i].start_ns, kernels[i].end_ns,
                              now_ns);
    }
    pthread_mutex_unlock(&source->lock);
}

/* ---- the end */

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
