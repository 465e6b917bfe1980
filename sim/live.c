/* Open spans of all threads, and the loads that they put on the boards.
 *
 * A thread's load is its innermost open span that is work: of kind forward, backward, recompute or optimizer,
 * or of any kind with a type. */
#include "live.h"

#include "again.h"
#include "ring_watch.h"

#include <stdlib.h>
#include <string.h>

#define BATCH    65536
#define DEPTH    256 /* open spans of a thread; deeper ones are passed over */
#define ORPHANS  64
#define DEATH_NS INT64_C(100000000) /* how often to look whether processes live */

/* jm_span_kind, by number */
static const char *const kind_texts[] = {"none",    "phase",    "epoch",     "step",      "window",
                                         "forward", "backward", "recompute", "optimizer", "nvtx",
                                         "batch",   "data",     "function",  "carried"};
enum { KIND_STEP = 3, KIND_BATCH = 10 };
enum { KIND_FORWARD = 5, KIND_BACKWARD = 6, KIND_RECOMPUTE = 7, KIND_OPTIMIZER = 8, KIND_COUNT = 14 };

typedef struct open_span {
    uint64_t id;
    sim_load load;
    bool works;
} open_span;

typedef struct thread {
    open_span spans[DEPTH];
    int count;
} thread;

/* What a thread left open when its ring went to another: it goes on, as it does in the recording. */
typedef struct left_span {
    int writer;
    uint64_t thread; /* a number of its own */
    open_span span;
} left_span;

struct sim_live {
    sim_ring_watch watch;
    sim_agains again;
    sim_labels *labels;
    thread *threads; /* one a ring */
    int thread_count;
    left_span *left;
    size_t left_count, left_size;
    uint64_t left_threads;
    sim_record *batch;
    size_t batch_size;
    uint64_t orphans[ORPHANS]; /* ends that came before their beginning, from another thread */
    unsigned orphan_count;
    int64_t start_ns;
    int64_t looked_ns;
};

sim_live *sim_live_open(const char *run_dir, sim_labels *labels, int64_t now_ns)
{
    sim_live *live = calloc(1, sizeof *live);
    if (live == NULL) return NULL;
    live->labels = labels;
    live->start_ns = now_ns;
    live->batch_size = BATCH;
    live->batch = malloc(live->batch_size * sizeof *live->batch);
    if (live->batch == NULL || !sim_ring_watch_open(&live->watch, run_dir)) {
        sim_live_close(live);
        return NULL;
    }
    return live;
}

void sim_live_close(sim_live *live)
{
    if (live == NULL) return;
    sim_agains_free(&live->again);
    free(live->threads);
    free(live->left);
    free(live->batch);
    sim_ring_watch_close(&live->watch);
    free(live);
}

static int compare_records(const void *left, const void *right)
{
    const sim_record *a = left;
    const sim_record *b = right;
    if (a->span.t_ns != b->span.t_ns) return a->span.t_ns < b->span.t_ns ? -1 : 1;
    if (a->ring != b->ring) return a->ring < b->ring ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static bool grow_threads(sim_live *live)
{
    if (live->thread_count >= live->watch.ring_count) return true;
    thread *grown = realloc(live->threads, (size_t)live->watch.ring_count * sizeof *grown);
    if (grown == NULL) return false;
    memset(grown + live->thread_count, 0,
           (size_t)(live->watch.ring_count - live->thread_count) * sizeof *grown);
    live->threads = grown;
    live->thread_count = live->watch.ring_count;
    return true;
}

/* Records of all rings up to until_ns, in order of time. Returns how many. */
static size_t take_batch(sim_live *live, int64_t until_ns)
{
    size_t count = 0;
    for (int i = 0; i < live->watch.ring_count; i++) {
        for (;;) {
            size_t room = live->batch_size - count;
            size_t taken = sim_ring_watch_take(&live->watch, i, until_ns, live->batch + count, room);
            for (size_t k = 0; k < taken; k++)
                live->batch[count + k].order = (uint32_t)(count + k);
            count += taken;
            if (taken < room) break;
            sim_record *grown = realloc(live->batch, 2 * live->batch_size * sizeof *grown);
            if (grown == NULL) break;
            live->batch = grown;
            live->batch_size *= 2;
        }
    }
    qsort(live->batch, count, sizeof *live->batch, compare_records);
    return count;
}

static int direction(uint8_t kind)
{
    switch (kind) {
    case KIND_FORWARD:
    case KIND_RECOMPUTE:
        return SIM_FORWARD;
    case KIND_BACKWARD:
        return SIM_BACKWARD;
    case KIND_OPTIMIZER:
        return SIM_OPTIMIZER;
    default:
        return SIM_OTHER;
    }
}

/* What ran before the board was looked at is not in its truth. */
static void count_call(const sim_live *live, sim_board *board, uint32_t label, int64_t t_ns)
{
    if (label != UINT32_MAX && t_ns >= live->start_ns) sim_power_call(&board->power, label);
}

/* Returns the label of a call that begins with it, UINT32_MAX: none. */
static uint32_t begin_span(sim_live *live, const sim_record *record, sim_writer *writer, sim_board *board)
{
    thread *on = &live->threads[record->ring];
    const jm_ring_span *span = &record->span;
    uint8_t kind = span->kind < KIND_COUNT ? span->kind : 0;
    open_span open = {.id = span->id};
    open.works = span->type != 0 || (kind >= KIND_FORWARD && kind <= KIND_OPTIMIZER);
    for (unsigned i = 0; i < ORPHANS; i++) {
        if (live->orphans[i] != 0 && live->orphans[i] == span->id) {
            live->orphans[i] = 0;
            return UINT32_MAX;
        }
    }
    if (on->count == DEPTH) return UINT32_MAX;
    uint32_t call = UINT32_MAX;
    if (open.works) {
        const char *name = sim_writer_name(writer, span->name);
        const char *type = sim_writer_name(writer, span->type);
        call = open.load.label = sim_label_intern(live->labels, name, type, kind_texts[kind]);
        open.load.power_w = sim_profile_watts(board->profile, type[0] != '\0' ? type : name, direction(kind));
        if (open.load.label == UINT32_MAX) return call;
        count_call(live, board, call, span->t_ns);
    }
    on->spans[on->count++] = open;
    return call;
}

static bool close_on(thread *on, uint64_t id)
{
    for (int i = on->count - 1; i >= 0; i--) {
        if (on->spans[i].id != id) continue;
        memmove(&on->spans[i], &on->spans[i + 1], (size_t)(on->count - i - 1) * sizeof on->spans[0]);
        on->count--;
        return true;
    }
    return false;
}

static bool close_left(sim_live *live, int writer, uint64_t id)
{
    for (size_t i = 0; i < live->left_count; i++) {
        if (live->left[i].writer != writer || live->left[i].span.id != id) continue;
        memmove(&live->left[i], &live->left[i + 1], (live->left_count - i - 1) * sizeof *live->left);
        live->left_count--;
        return true;
    }
    return false;
}

static void end_span(sim_live *live, const sim_record *record)
{
    uint64_t id = record->span.id;
    if (close_on(&live->threads[record->ring], id)) return;
    int writer = live->watch.rings[record->ring].writer;
    if (close_left(live, writer, id)) return;
    for (int i = 0; i < live->watch.ring_count; i++)
        if (live->watch.rings[i].writer == writer && close_on(&live->threads[i], id)) return;
    live->orphans[live->orphan_count++ % ORPHANS] = id;
}

/* A new thread writes into this ring from here on. */
static void hand_over(sim_live *live, int ring)
{
    thread *on = &live->threads[ring];
    live->left_threads++;
    for (int i = 0; i < on->count; i++) {
        if (live->left_count == live->left_size) {
            size_t size = live->left_size == 0 ? 64 : 2 * live->left_size;
            left_span *grown = realloc(live->left, size * sizeof *grown);
            if (grown == NULL) break;
            live->left = grown;
            live->left_size = size;
        }
        live->left[live->left_count++] =
            (left_span){live->watch.rings[ring].writer, live->left_threads, on->spans[i]};
    }
    on->count = 0;
}

static void forget_left(sim_live *live, int writer)
{
    size_t kept = 0;
    for (size_t i = 0; i < live->left_count; i++)
        if (live->left[i].writer != writer) live->left[kept++] = live->left[i];
    live->left_count = kept;
}

/* exec: what the program before it left open never ends, and is no work any more. */
static void replace_program(sim_live *live, int writer)
{
    const sim_writer *now = &live->watch.writers[writer];
    for (int i = 0; i < live->watch.writer_count && now->program > 0; i++) {
        const sim_writer *before = &live->watch.writers[i];
        if (before->pid != now->pid || before->letter != now->letter || before->program >= now->program)
            continue;
        forget_left(live, i);
        sim_again_forget(&live->again, now->pid);
        for (int k = 0; k < live->watch.ring_count; k++) {
            if (live->watch.rings[k].header == NULL || live->watch.rings[k].writer != i) continue;
            live->threads[k].count = 0;
            sim_ring_watch_drop(&live->watch, k);
        }
    }
}

/* Whose loads: those of a board, or of one process. */
typedef struct whose {
    int board;
    int32_t pid; /* 0: of all on the board */
} whose;

static bool is_theirs(const sim_live *live, int writer, whose of)
{
    const sim_writer *its = &live->watch.writers[writer];
    return of.pid != 0 ? its->pid == of.pid : its->board == of.board;
}

/* `left_out`: loads that there is no room for. */
static void add_load(sim_load *loads, int *count, sim_load load, uint64_t *left_out)
{
    if (*count < SIM_LOADS)
        loads[(*count)++] = load;
    else
        ++*left_out;
}

/* The innermost that works of each thread that is gone. */
static void add_left_loads(const sim_live *live, whose of, sim_load *loads, int *count, uint64_t *left_out)
{
    uint64_t seen = 0;
    for (size_t i = live->left_count; i > 0; i--) {
        const left_span *left = &live->left[i - 1];
        if (!is_theirs(live, left->writer, of) || !left->span.works || left->thread == seen) continue;
        seen = left->thread;
        add_load(loads, count, left->span.load, left_out);
    }
}

/* What spans put on the board; returns how many loads. */
static int told_loads(const sim_live *live, whose of, sim_load *loads, uint64_t *left_out)
{
    int count = 0;
    for (int i = 0; i < live->watch.ring_count; i++) {
        const sim_ring *ring = &live->watch.rings[i];
        if (ring->header == NULL || !is_theirs(live, ring->writer, of)) continue;
        const thread *on = &live->threads[i];
        for (int k = on->count - 1; k >= 0; k--) {
            if (!on->spans[k].works) continue;
            add_load(loads, &count, on->spans[k].load, left_out);
            break;
        }
    }
    add_left_loads(live, of, loads, &count, left_out);
    return count;
}

static bool has_context(const sim_live *live, int board, int64_t t_ns)
{
    for (int i = 0; i < live->watch.ring_count; i++) {
        const sim_ring *ring = &live->watch.rings[i];
        if (ring->header == NULL || live->watch.writers[ring->writer].board != board) continue;
        if (live->watch.writers[ring->writer].created_ns <= t_ns) return true;
    }
    return false;
}

/* What the board carries now. */
static void load_board(sim_live *live, sim_board *board, int64_t t_ns)
{
    sim_load loads[SIM_LOADS], again[SIM_LOADS];
    uint64_t *left_out = &board->power.loads_left_out;
    int count = told_loads(live, (whose){.board = board->index}, loads, left_out);
    int more = sim_again_loads(&live->again, board->index, again);
    for (int k = 0; k < more; k++)
        add_load(loads, &count, again[k], left_out);
    sim_board_load(board, loads, count, has_context(live, board->index, t_ns));
}

/* ---- steps that are not traced */

/* What the program says with a record that has been taken. */
static void tell_again(sim_live *live, const sim_record *record, sim_writer *writer, uint32_t call)
{
    const jm_ring_span *span = &record->span;
    sim_again *again = sim_again_of(&live->again, writer->pid, writer->board);
    if (again == NULL) return;
    if (record->broken) sim_again_broken(again);
    if (span->op == JM_RING_MARK) {
        sim_again_mark(again, sim_writer_name(writer, span->name));
        return;
    }
    if (span->op == JM_RING_BEGIN && (span->kind == KIND_STEP || span->kind == KIND_BATCH))
        sim_again_begin(again, span->id, (uint64_t)span->kind << 32 | span->name, span->t_ns);
    if (span->op == JM_RING_END) sim_again_end(again, span->id, span->t_ns);
    sim_load loads[SIM_LOADS];
    uint64_t left_out = 0;
    int count = told_loads(live, (whose){.pid = writer->pid}, loads, &left_out);
    sim_again_told(again, loads, count, call, span->t_ns);
}

/* What boards carry again, up to there. */
static void play_again(sim_live *live, sim_board *boards, int64_t until_ns, sim_live_step *step,
                       void *context)
{
    int64_t t_ns;
    for (sim_again *next; (next = sim_again_next(&live->again, &t_ns)) != NULL && t_ns <= until_ns;) {
        uint32_t call;
        sim_board *board = &boards[sim_again_move(next, &call)];
        step(context, board, t_ns);
        count_call(live, board, call, t_ns);
        load_board(live, board, t_ns);
    }
}

static int board_of(const sim_writer *writer, int board_count)
{
    return writer->board % board_count;
}

static void bury(sim_live *live, sim_board *boards, int board_count, int64_t until_ns, sim_live_step *step,
                 void *context)
{
    for (int i = 0; i < live->watch.ring_count; i++) {
        sim_ring *ring = &live->watch.rings[i];
        if (ring->header == NULL || live->watch.writers[ring->writer].dead_ns > until_ns) continue;
        sim_board *board = &boards[board_of(&live->watch.writers[ring->writer], board_count)];
        step(context, board, until_ns);
        live->threads[i].count = 0;
        forget_left(live, ring->writer);
        sim_again_forget(&live->again, live->watch.writers[ring->writer].pid);
        sim_ring_watch_drop(&live->watch, i);
        load_board(live, board, until_ns);
    }
}

void sim_live_drive(sim_live *live, sim_board *boards, int board_count, int64_t until_ns, int64_t now_ns,
                    sim_live_step *step, void *context)
{
    bool deaths = now_ns - live->looked_ns >= DEATH_NS;
    if (deaths) live->looked_ns = now_ns;
    sim_ring_watch_scan(&live->watch, now_ns, deaths);
    for (int i = 0; i < live->watch.writer_count; i++)
        live->watch.writers[i].board = board_of(&live->watch.writers[i], board_count);
    size_t count = grow_threads(live) ? take_batch(live, until_ns) : 0;
    for (size_t i = 0; i < count; i++) {
        const sim_record *record = &live->batch[i];
        sim_writer *writer = &live->watch.writers[live->watch.rings[record->ring].writer];
        sim_board *board = &boards[writer->board];
        uint32_t call = UINT32_MAX;
        play_again(live, boards, record->span.t_ns, step, context);
        step(context, board, record->span.t_ns);
        if (record->broken) live->threads[record->ring].count = 0;
        switch (record->span.op) {
        case JM_RING_BEGIN:
            call = begin_span(live, record, writer, board);
            break;
        case JM_RING_END:
            end_span(live, record);
            break;
        case JM_RING_THREAD:
            hand_over(live, record->ring);
            break;
        case SIM_RING_OPENED:
            replace_program(live, live->watch.rings[record->ring].writer);
            break;
        case JM_RING_MARK:
            break;
        default:
            continue;
        }
        tell_again(live, record, writer, call);
        load_board(live, board, record->span.t_ns);
    }
    play_again(live, boards, until_ns, step, context);
    for (int i = 0; i < board_count; i++)
        step(context, &boards[i], until_ns);
    bury(live, boards, board_count, until_ns, step, context);
}

uint64_t sim_live_overtaken(const sim_live *live)
{
    return live->watch.overtaken;
}

int sim_live_processes(const sim_live *live, int board, int32_t *pids, int size)
{
    int count = 0;
    for (int i = 0; i < live->watch.writer_count; i++) {
        const sim_writer *writer = &live->watch.writers[i];
        if (writer->board != board || writer->dead_ns != INT64_MAX) continue;
        bool seen = false;
        for (int k = 0; k < i && !seen; k++)
            seen = live->watch.writers[k].pid == writer->pid && live->watch.writers[k].dead_ns == INT64_MAX;
        if (seen) continue;
        if (count < size) pids[count] = writer->pid;
        count++;
    }
    return count;
}
