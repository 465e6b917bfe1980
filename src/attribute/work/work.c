/* The pass: kernels are put in order and go through the sweep line of their board into pieces and sums. Then
 * the columns for a board's work are chosen, split and scaled. */
#include "attribute/work/work.h"

#include "attribute/work/classes.h"
#include "attribute/work/clock_track.h"
#include "attribute/work/host_work.h"
#include "attribute/work/joint.h"
#include "attribute/work/sweep.h"
#include "attribute/work/tally.h"
#include "base/clock.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Several times the longest response of a sensor, an average over one second. */
static const int64_t memory_ns = 5 * JM_NS_PER_S;
static const size_t pieces_room = 48 << 20; /* bytes of pieces in memory, of all boards together */

bool jm__board_is_fitted(const jm_board *board)
{
    return jm_board_kind_of(board) == JM_BOARD_GPU;
}

void jm__board_time_free(jm__board_time *time)
{
    jm__intervals *all[] = {&time->lost,   &time->learn,      &time->windows, &time->steady,
                            &time->traced, &time->unrecorded, &time->unknown, &time->steady_traced};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        jm__vec_free(all[i]);
    jm__extrapolated_free(&time->extrapolated);
    *time = (jm__board_time){0};
}

/* One board during the pass. */
typedef struct board_pass {
    jm__board_work *work;
    struct pass *pass;
    jm__sweep sweep;
    jm__time_order order;
    bool begun;
    int64_t span_id, process_id; /* of the last item, to avoid look-ups for the next one */
    size_t section;              /* of the span, JM__NO_SPAN: in none */
    size_t process;              /* by index */
    uint32_t row;
    uint32_t context;
    jm__clock_track clock;
    int64_t clock_step;        /* of the last item */
    uint32_t context_of_clock; /* what `context` was then */
    uint32_t context_at_clock; /* and what it is at that step */
    jm__place place;
    jm__item pending; /* the last kernel; the next one shows whether they share their launch */
    int64_t pending_launch_ns;
    bool has_pending;
    uint32_t multiprocessors; /* of the board */
    size_t collective_span;   /* of the collective that was counted last */
    jm__intervals data;       /* of the report's: in which its programs waited for data */
    jm__utilisation utilisation;
} board_pass;

typedef struct pass {
    jm__work_set *work;
    const jm__dataset *dataset;
    const jm__span_index *spans;
    const jm__intervals *windows;
    const jm__row_of *rows;
    jm__places places;
    jm__pairs pairs;
    board_pass *boards;
    size_t kernels;
    bool late; /* a kernel arrived after later ones had been emitted */
} pass;

/* NULL if no step represents others. */
static const jm__extrapolated *extrapolated_of(const board_pass *b)
{
    const jm__extrapolated *extrapolated = &b->work->time->extrapolated;
    return extrapolated->strata != NULL ? extrapolated : NULL;
}

/* False if memory is out. */
static bool begin_board(board_pass *b, int64_t first_ns)
{
    jm__board_work *work = b->work;
    size_t requested = 0;
    for (size_t i = 0; i < b->pass->work->board_count; i++)
        requested += b->pass->work->boards[i].requested;
    int64_t from_ns = (first_ns < work->from_ns ? first_ns : work->from_ns) - memory_ns;
    jm__pieces_begin(&work->pieces, from_ns, pieces_room / requested);
    work->pieces.sampled = work->time->sampled;
    jm__sweep_begin(&b->sweep, &work->pieces, &work->tally, &work->time->windows, &work->time->steady,
                    &work->time->learn, from_ns);
    b->sweep.one_gap = work->from_host;
    b->sweep.data = &b->data;
    b->sweep.utilisation = &b->utilisation;
    b->sweep.beside = work->from_host ? NULL : jm__pairs_use;
    b->sweep.beside_context = &b->pass->pairs;
    b->begun = true;
    return extrapolated_of(b) == NULL || jm__sweep_extrapolate(&b->sweep, extrapolated_of(b));
}

/* The span of the item, its process, place and context. False if memory is out. */
static bool find_span(board_pass *b, const jm__item *item)
{
    const jm__span_index *spans = b->pass->spans;
    size_t section = b->section;
    bool same = item->span_id == b->span_id;
    if (!same || spans->more.count > 0)
        section = jm__section_at(spans, jm__span_at(spans, item->span_id), jm__item_launched_ns(item));
    if (same && section == b->section && item->process_id == b->process_id) return true;
    b->span_id = item->span_id;
    b->process_id = item->process_id;
    b->section = section;
    b->row = JM__NO_ROW;
    const jm__dataset *d = b->pass->dataset;
    const jm__process *process = jm__dataset_process(d, item->process_id);
    b->process = process == NULL ? d->process_count : (size_t)(process - d->processes);
    b->place = jm__place_of(&b->pass->places, b->section, item->process_id);
    return jm__context_of(&b->pass->work->contexts, b->section, &b->context);
}

/* The item's context, with the clock. False if memory is out. */
static bool find_context(board_pass *b, const jm__item *item, uint32_t *context)
{
    int64_t step = jm__clock_track_step(&b->clock, item->start_ns, item->end_ns);
    *context = step == 0 ? b->context : b->context_at_clock;
    if (step == 0 || (step == b->clock_step && b->context == b->context_of_clock)) return true;
    b->clock_step = step;
    b->context_of_clock = b->context;
    if (!jm__context_at_clock(&b->pass->work->contexts, b->context, step, context)) return false;
    b->context_at_clock = *context;
    return true;
}

/* The launch shows why an item is in no layer. */
static jm__place place_of(const board_pass *b, const jm__item *item)
{
    if (item->collective != 0) return JM_PLACE_IN_LAYER;
    if (b->place != JM_PLACE_ELSEWHERE || item->launch == JM_LAUNCH_SEEN) return b->place;
    return item->launch == JM_LAUNCH_SHARED ? JM_PLACE_BY_GRAPH : JM_PLACE_NO_LAUNCH;
}

static uint32_t find_row(board_pass *b, const jm__item *item)
{
    const jm__row_of *rows = b->pass->rows;
    if (item->collective != 0)
        return rows->of_collective(rows->context, b->section, item->process_id, item->collective - 1,
                                   item->waits ? (size_t)(b - b->pass->boards) : JM__WAITS_NOT);
    if (b->row == JM__NO_ROW) b->row = rows->of(rows->context, b->section, item->process_id);
    return b->row;
}

/* Count an item whose burst represents steps with rows of their own. False if memory is out. */
static bool lend(board_pass *b, const jm__item *item, jm__counted_as *as)
{
    const jm__extrapolated *extrapolated = extrapolated_of(b);
    if (as->step_interval == NULL || !extrapolated->of_burst[as->step_interval->stratum].lends) return true;
    bool by_step = extrapolated->rows == JM_EXTRAPOLATED_BY_STEP;
    bool requested = jm__dataset_process_has_pid(b->pass->dataset, item->process_id, b->pass->work->pid);
    const jm__lent_row row = {as->step_interval->stratum, by_step ? requested : find_row(b, item)};
    if (row.row == JM__NO_ROW) return true;
    as->lent = jm__tally_lend(&b->work->tally, row, as->use, item->calls);
    return as->lent != JM__NO_CELL;
}

static const jm__intervals *counted_windows(const board_pass *b, const jm__counted_as *as,
                                            const jm__intervals *whole)
{
    return as->view == 0 ? whole : &extrapolated_of(b)->views.items[as->view - 1].report;
}

/* Calls, bytes and durations of a collective's row. */
static bool count_collective(board_pass *b, const jm__item *item, uint32_t row, bool starts, size_t *sum)
{
    *sum = SIZE_MAX;
    if (item->collective == 0) return true;
    *sum = jm__tally_collective(&b->work->tally, row);
    if (*sum == SIZE_MAX) return false;
    if (item->waits || !starts) return true;
    jm__collective_sum *sums = &b->work->tally.collectives.items[*sum];
    sums->ran_s += (double)(item->end_ns - item->start_ns) * 1e-9;
    if (item->again) return true;
    sums->with_bytes += !isnan(item->bytes);
    sums->without_bytes += isnan(item->bytes);
    if (!isnan(item->bytes)) sums->bytes += item->bytes;
    return true;
}

/* Count the item in its row; as->cell is JM__NO_CELL if it is not in the report. False if memory is out. */
static bool count_in_row(board_pass *b, const jm__item *item, jm__counted_as *as)
{
    const jm__intervals *counted = counted_windows(b, as, &b->work->time->windows);
    bool starts = jm__intervals_contain(counted_windows(b, as, b->pass->windows), item->start_ns);
    double represented =
        as->step_interval == NULL ? 0 : extrapolated_of(b)->of_burst[as->step_interval->stratum].in_row;
    as->cell = JM__NO_CELL;
    as->sum = SIZE_MAX;
    if (!starts && represented <= 0 && jm__intervals_overlap_ns(counted, item->start_ns, item->end_ns) == 0)
        return true;
    uint32_t row = find_row(b, item);
    if (row == JM__NO_ROW) return true;
    as->cell = jm__work_cell_at(&b->work->tally.work, row, as->use);
    if (as->cell == JM__NO_CELL || !count_collective(b, item, row, starts, &as->sum)) return false;
    jm__work_cell *sums = &b->work->tally.work.items.items[as->cell];
    if (starts) sums->calls += item->calls;
    sums->extrapolated_calls += represented * item->calls;
    if (item->start_ns < sums->start_ns) sums->start_ns = item->start_ns;
    if (item->end_ns > sums->end_ns) sums->end_ns = item->end_ns;
    return true;
}

static jm_status take_item(void *board, const jm__item *item, jm_error *err)
{
    board_pass *b = board;
    uint32_t context;
    bool fine = b->begun || begin_board(b, item->start_ns);
    fine = fine && find_span(b, item) && find_context(b, item, &context);
    jm__counted_as as = {.outside = b->section == JM__NO_SPAN && item->collective == 0,
                         .place = place_of(b, item),
                         .lent = JM__NO_CELL};
    fine = fine && jm__use_number(&b->pass->work->uses, item->class_index, context, &as.use);
    if (extrapolated_of(b) != NULL)
        jm__extrapolated_assign(&as, extrapolated_of(b), item, jm__section_span(b->pass->spans, b->section),
                                b->process);
    fine = fine && count_in_row(b, item, &as) && lend(b, item, &as) && jm__sweep_take(&b->sweep, item, &as);
    return fine ? JM_OK : jm__no_memory(err, "jm__work_pass");
}

static jm_status flush_pending(pass *p, board_pass *b, jm_error *err)
{
    if (!b->has_pending) return JM_OK;
    b->has_pending = false;
    JM_TRY(jm__time_order_add(&b->order, &b->pending, &p->late, err));
    return p->late ? JM_LIMIT : JM_OK; /* ends the pass */
}

static jm_status take_pending(pass *p, board_pass *b, jm__item *item, int64_t launch_ns, jm_error *err)
{
    if (launch_ns < 0)
        item->launch = JM_LAUNCH_UNSEEN;
    else if (b->has_pending && launch_ns == b->pending_launch_ns)
        item->launch = b->pending.launch = JM_LAUNCH_SHARED;
    JM_TRY(flush_pending(p, b, err));
    b->pending = *item;
    b->pending_launch_ns = launch_ns;
    b->has_pending = true;
    return JM_OK;
}

/* Find its collective; the wait for the last rank becomes an item of its own. */
static jm_status take_collective(board_pass *b, jm__item *item, jm_error *err)
{
    pass *p = b->pass;
    jm__collective_info info;
    size_t span = jm__span_at(p->spans, item->span_id);
    if (!jm__collective_of(&p->work->ranks.collectives, span, item->class_index, &info))
        return jm__no_memory(err, "jm__work_pass");
    if (info.collective == JM__NO_COLLECTIVE) return JM_OK;
    item->collective = info.collective + 1;
    item->bytes = info.bytes;
    item->again = info.span != JM__NO_SPAN && info.span == b->collective_span;
    b->collective_span = info.span;
    int64_t all_ns = jm__ranks_all_ns(&p->work->ranks, item, (size_t)(b - p->boards));
    if (all_ns == item->start_ns) return JM_OK;
    jm__item waiting = *item;
    waiting.end_ns = item->start_ns = all_ns;
    waiting.class_index = p->work->ranks.waiting[item->class_index];
    waiting.waits = true;
    JM_TRY(jm__time_order_add(&b->order, &waiting, &p->late, err));
    return p->late ? JM_LIMIT : JM_OK; /* ends the pass */
}

static jm_status take_kernel(void *walked, const jm__kernel_run *kernel, jm_error *err)
{
    pass *p = walked;
    p->kernels++;
    const jm__dataset *d = p->dataset;
    if (kernel->stream_id < 1 || (size_t)kernel->stream_id > d->stream_count) return JM_OK;
    if (kernel->class_id < 1 || (size_t)kernel->class_id > d->class_count) return JM_OK;
    const jm__stream *stream = &d->streams[kernel->stream_id - 1];
    if (stream->board_id < 1 || (size_t)stream->board_id > p->work->board_count) return JM_OK;
    const jm__class *class = &p->work->classes.items[kernel->class_id - 1];
    int64_t calls = kernel->calls < 1 ? 1 : kernel->calls;
    jm__item item = {
        .start_ns = kernel->start_ns,
        .end_ns = kernel->end_ns > kernel->start_ns ? kernel->end_ns : kernel->start_ns,
        .launch_ns = kernel->launch_ns,
        .span_id = kernel->span_id,
        .process_id = stream->process_id,
        .class_index = (uint32_t)(kernel->class_id - 1),
        .calls = calls > UINT32_MAX ? UINT32_MAX : (uint32_t)calls,
        .copy = class->copy,
    };
    board_pass *b = &p->boards[stream->board_id - 1];
    if (!b->work->requested) return JM_OK;
    item.weight = jm__multiprocessors_of(class, b->multiprocessors);
    if (class->family == JM_KERNEL_FAMILY_COLLECTIVE) JM_TRY(take_collective(b, &item, err));
    return take_pending(p, b, &item, kernel->launch_ns, err);
}

/* The span of a collective is the item itself. */
static jm_status take_host_item(board_pass *b, jm__item item, jm_error *err)
{
    const jm__span_index *spans = b->pass->spans;
    size_t span = jm__span_at(spans, item.span_id);
    if (span != JM__NO_SPAN && spans->dataset->spans[span].kind == JM_SPAN_COLLECTIVE) {
        jm__collective_info info;
        if (!jm__collective_of(&b->pass->work->ranks.collectives, span, item.class_index, &info))
            return jm__no_memory(err, "jm__work_pass");
        if (info.collective != JM__NO_COLLECTIVE) item.collective = info.collective + 1;
        item.bytes = info.bytes;
        item.again = item.calls == 0;
    }
    return take_item(b, &item, err);
}

/* A board without a single kernel takes the host's spans as its work. */
static jm_status take_host_work(pass *p, jm_error *err)
{
    jm__items host = {0};
    jm_status status = jm__host_work(&host, &p->work->classes, p->spans, err);
    if (status == JM_OK) jm__items_sort(&host);
    for (size_t b = 0; b < p->work->board_count; b++) {
        p->work->boards[b].from_host = p->work->boards[b].requested && host.count > 0;
        for (size_t i = 0; status == JM_OK && p->work->boards[b].from_host && i < host.count; i++)
            status = take_host_item(&p->boards[b], host.items[i], err);
    }
    jm__vec_free(&host);
    return status;
}

static jm_status end_board(board_pass *b, jm_error *err)
{
    JM_TRY(jm__time_order_end(&b->order, err));
    bool fine = (b->begun || begin_board(b, b->work->to_ns)) && jm__sweep_end(&b->sweep, b->work->to_ns) &&
                jm__pieces_end(&b->work->pieces);
    if (fine && extrapolated_of(b) != NULL)
        jm__extrapolated_settle(&b->work->tally, extrapolated_of(b), b->work->from_host);
    return fine ? JM_OK : jm__no_memory(err, "jm__work_pass");
}

static jm_status walk(pass *p, bool by_time, jm_error *err)
{
    const jm__kernel_source *kernels = &p->dataset->kernels;
    jm__pairs_begin(&p->pairs, &p->work->uses, p->work->classes.count,
                    p->work->board_count > 0 ? jm__multiprocessors_on(&p->dataset->boards[0]) : 1);
    for (size_t b = 0; b < p->work->board_count; b++) {
        p->boards[b] = (board_pass){.work = &p->work->boards[b],
                                    .pass = p,
                                    .section = JM__NO_SPAN,
                                    .collective_span = JM__NO_SPAN,
                                    .multiprocessors = jm__multiprocessors_on(&p->dataset->boards[b]),
                                    .row = JM__NO_ROW,
                                    .place = JM_PLACE_UNLAYERED};
        jm__time_order_begin(&p->boards[b].order, take_item, &p->boards[b]);
        bool fine = jm__clock_track_begin(&p->boards[b].clock, p->dataset, &p->dataset->boards[b]);
        if (fine && p->boards[b].work->requested)
            fine = jm__data_waits_find(&p->boards[b].data, p->dataset, p->dataset->boards[b].id,
                                       &p->boards[b].work->time->windows) &&
                   jm__utilisation_begin(&p->boards[b].utilisation, p->dataset, &p->dataset->boards[b]);
        if (!fine) return jm__no_memory(err, "jm__work_pass");
    }
    if (kernels->each != NULL) JM_TRY(kernels->each(kernels->context, by_time, take_kernel, p, err));
    for (size_t b = 0; b < p->work->board_count; b++)
        JM_TRY(flush_pending(p, &p->boards[b], err));
    /* Kernels on one board and none on another: the other one really did nothing. */
    if (p->kernels == 0) JM_TRY(take_host_work(p, err));
    for (size_t b = 0; b < p->work->board_count; b++)
        if (p->work->boards[b].requested) JM_TRY(end_board(&p->boards[b], err));
    return JM_OK;
}

/* Free all of a walk but its results. */
static void end_walk(pass *p)
{
    jm__pairs_free(&p->pairs);
    for (size_t b = 0; b < p->work->board_count; b++) {
        jm__sweep_free(&p->boards[b].sweep);
        jm__time_order_free(&p->boards[b].order);
        jm__clock_track_free(&p->boards[b].clock);
        jm__vec_free(&p->boards[b].data);
        jm__utilisation_free(&p->boards[b].utilisation);
    }
}

static bool find_beside(const jm__work_set *work, jm__board_work *board)
{
    free(board->beside);
    board->beside = calloc(work->uses.items.count + 1, sizeof *board->beside);
    for (size_t u = 0; board->beside != NULL && u < work->uses.items.count; u++) {
        const jm__class *class = &work->classes.items[work->uses.items.items[u].class_index];
        if (!class->joint || class->beside_part == 0) continue;
        uint32_t column = board->columns.of_class[class->beside];
        if (column != JM_NO_COLUMN) board->beside[u] = (jm__use_beside){column, class->beside_part};
    }
    return board->beside != NULL;
}

static double overlap_s(const jm__intervals *with, int64_t from_ns, int64_t to_ns)
{
    return (double)jm__intervals_overlap_ns(with, from_ns, to_ns) * 1e-9;
}

/* What sampling drew beside work that was not recorded is in that work's energy. */
static bool leave_unrecorded_out(jm__board_work *board)
{
    jm__seconds *idle = &board->sampler[JM_SAMPLER_IDLE];
    jm__intervals both = {0};
    bool fine = jm__intervals_add_all(&both, board->time->sampled) &&
                jm__intervals_intersect(&both, &board->tally.unrecorded);
    for (size_t i = 0; fine && i < both.count; i++) {
        idle->learn_s -= overlap_s(&board->time->learn, both.items[i].from_ns, both.items[i].to_ns);
        idle->report_s -= overlap_s(&board->time->traced, both.items[i].from_ns, both.items[i].to_ns);
    }
    jm__vec_free(&both);
    return fine;
}

/* How long counters were sampled beside work and beside none; in extrapolated time, nearly all of which has
 * work, beside work. */
static jm_status count_sampled(jm__board_work *board, jm_error *err)
{
    jm__piece_cursor cursor;
    jm__seconds *sums = board->sampler;
    memset(sums, 0, sizeof board->sampler);
    if (board->time->sampled == NULL) return JM_OK;
    JM_TRY(jm__cursor_init(&cursor, &board->pieces, err));
    for (size_t i = 0; i < board->time->windows.count; i++)
        sums[JM_SAMPLER_BUSY].report_s += overlap_s(
            board->time->sampled, board->time->windows.items[i].from_ns, board->time->windows.items[i].to_ns);
    for (size_t i = 0; i < board->time->sampled->count; i++) {
        const jm__interval *window = &board->time->sampled->items[i];
        jm__cursor_seek(&cursor, window->from_ns);
        for (; !jm__cursor_at_end(&cursor) && cursor.now.start_ns < window->to_ns; jm__cursor_next(&cursor)) {
            const jm__moment *now = &cursor.now;
            bool idle = jm__cursor_is_idle(&cursor);
            sums[idle].learn_s += overlap_s(&board->time->learn, now->start_ns, now->end_ns);
            if (idle) sums[idle].report_s += overlap_s(&board->time->traced, now->start_ns, now->end_ns);
        }
    }
    sums[JM_SAMPLER_BUSY].report_s -= sums[JM_SAMPLER_IDLE].report_s;
    jm__cursor_free(&cursor);
    if (!leave_unrecorded_out(board)) return jm__no_memory(err, "jm__work_pass");
    return jm__pieces_check(&board->pieces, err);
}

/* What follows from the columns of uses: those of pieces, and how long each ran. */
static jm_status count_columns(const jm__work_set *work, jm__board_work *board, jm_error *err)
{
    const jm__columns *columns = &board->columns;
    double *seconds = calloc(3 * columns->count, sizeof *seconds);
    uint32_t *column_of = malloc((JM_IDLE_STATES + work->pass_uses) * sizeof *column_of);
    free(board->seconds);
    free(board->column_of);
    board->seconds = seconds;
    board->pieces.column_of = board->column_of = column_of;
    if (seconds == NULL || column_of == NULL || !find_beside(work, board))
        return jm__no_memory(err, "jm__work_pass");
    board->pieces.rest_column = jm__gap_column(board);
    board->learn_seconds = seconds + columns->count;
    board->extrapolated_seconds = seconds + 2 * columns->count;
    for (uint32_t s = 0; s < JM_IDLE_STATES; s++) {
        column_of[s] = (uint32_t)columns->class_columns + s;
        board->seconds[column_of[s]] = board->tally.idle[s].report_s;
        board->learn_seconds[column_of[s]] = board->tally.idle[s].learn_s;
    }
    board->pieces.sampler_column = (uint32_t)jm__sampler_column(columns);
    for (size_t s = 0; s < columns->sampler_columns; s++) {
        board->seconds[jm__sampler_column(columns) + s] = board->sampler[s].report_s;
        board->learn_seconds[jm__sampler_column(columns) + s] = board->sampler[s].learn_s;
    }
    for (uint32_t u = 0; u < work->pass_uses; u++)
        column_of[jm__piece_code(u)] = columns->of_use[work->use_of[u]];
    for (size_t u = 0; u < board->tally.uses.count; u++) {
        const jm__use_sum *sum = &board->tally.uses.items[u];
        const double sums[] = {sum->inside.report_s, sum->inside.learn_s, sum->extrapolated_s};
        if (sum->ran_s < 0) continue;
        double scale = jm__use_scale(board, u);
        for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
            seconds[i * columns->count + columns->of_use[u]] += scale * sums[i];
            seconds[i * columns->count + jm__gap_column(board)] += (1 - scale) * sums[i];
        }
    }
    return JM_OK;
}

/* Once all uses of a board are known. */
static jm_status choose_columns(jm__work_set *work, jm__board_work *board, jm_error *err)
{
    if (!jm__tally_renumber(&board->tally, work->use_of)) return jm__no_memory(err, "jm__work_pass");
    JM_TRY(count_sampled(board, err));
    bool sampled = board->time->sampled != NULL;
    JM_TRY(jm__columns_choose(&board->columns, &board->tally, &work->uses, &work->classes, sampled, err));
    JM_TRY(jm__columns_by_place(&board->columns, &board->tally, &work->uses, &work->contexts, err));
    return count_columns(work, board, err);
}

static jm_status compare_ranks(pass *p, jm_error *err)
{
    jm__work_set *work = p->work;
    const jm__intervals **windows = calloc(work->board_count + 1, sizeof *windows);
    if (windows == NULL) return jm__no_memory(err, "jm__work_pass");
    for (size_t b = 0; b < work->board_count; b++)
        windows[b] = work->boards[b].requested ? &work->boards[b].time->traced : NULL;
    jm_status status = jm__ranks_compare(&work->ranks, p->spans, &work->classes, windows, err);
    free(windows);
    return status;
}

static bool choose_pairs(const pass *p, uint32_t **final_of)
{
    jm__work_set *work = p->work;
    const jm__tally **tallies = calloc(work->board_count + 1, sizeof *tallies);
    if (tallies == NULL) return false;
    for (size_t b = 0; b < work->board_count; b++)
        tallies[b] = work->boards[b].requested ? &work->boards[b].tally : NULL;
    bool fine = jm__pairs_choose(&p->pairs, tallies, work->board_count, &work->classes, final_of);
    free(tallies);
    return fine;
}

static jm_status finish(pass *p, jm_error *err)
{
    uint32_t *final_of = NULL;
    jm__work_set *work = p->work;
    work->pass_uses = work->uses.items.count;
    bool fine = choose_pairs(p, &final_of) && jm__uses_renumber(&work->uses, final_of, &work->use_of);
    jm_status status = fine ? JM_OK : jm__no_memory(err, "jm__work_pass");
    for (size_t b = 0; status == JM_OK && b < work->board_count; b++)
        if (work->boards[b].requested) status = choose_columns(work, &work->boards[b], err);
    free(final_of);
    return status;
}

static jm_status run(pass *p, jm_error *err)
{
    JM_TRY(compare_ranks(p, err));
    jm_status status = walk(p, false, err);
    if (p->late) { /* far out of order: read again, sorted by time */
        end_walk(p);
        p->late = false;
        p->kernels = 0;
        for (size_t b = 0; b < p->work->board_count; b++) {
            jm__tally_free(&p->work->boards[b].tally);
            jm__pieces_free(&p->work->boards[b].pieces);
        }
        jm__uses_free(&p->work->uses);
        status = walk(p, true, err);
    }
    p->work->kernels = p->kernels;
    if (status == JM_OK) status = finish(p, err);
    end_walk(p);
    return status;
}

jm_status jm__work_init(jm__work_set *work, const jm__dataset *dataset, jm_error *err)
{
    *work = (jm__work_set){.board_count = dataset->board_count};
    work->boards = calloc(dataset->board_count + 1, sizeof *work->boards);
    bool fine = work->boards != NULL && jm__classes_of_kernels(&work->classes, dataset);
    return fine ? JM_OK : jm__no_memory(err, "jm__work_init");
}

jm_status jm__work_pass(jm__work_set *work, const jm__span_index *spans, const jm__intervals *windows,
                        const jm__row_of *rows, jm_error *err)
{
    pass p = {.work = work, .dataset = spans->dataset, .spans = spans, .windows = windows, .rows = rows};
    p.boards = calloc(work->board_count + 1, sizeof *p.boards);
    if (p.boards == NULL) return jm__no_memory(err, "jm__work_pass");
    bool fine = jm__contexts_init(&work->contexts, spans) && jm__places_init(&p.places, spans, work->pid);
    jm_status status = fine ? run(&p, err) : jm__no_memory(err, "jm__work_pass");
    jm__places_free(&p.places);
    free(p.boards);
    return status;
}

jm_status jm__work_scale(jm__work_set *work, jm__board_work *board, const double *use_scale, jm_error *err)
{
    size_t uses = work->uses.items.count;
    double *of_code = malloc((JM_IDLE_STATES + work->pass_uses) * sizeof *of_code);
    double *of_use = malloc((uses + 1) * sizeof *of_use);
    free(board->use_scale);
    free(board->scale_of);
    board->use_scale = of_use;
    board->pieces.scale_of = board->scale_of = of_code;
    if (of_code == NULL || of_use == NULL) return jm__no_memory(err, "jm__work_scale");
    memcpy(of_use, use_scale, uses * sizeof *of_use);
    for (size_t s = 0; s < JM_IDLE_STATES; s++)
        of_code[s] = 1;
    for (uint32_t u = 0; u < work->pass_uses; u++)
        of_code[jm__piece_code(u)] = use_scale[work->use_of[u]];
    return count_columns(work, board, err);
}

void jm__work_drop_cells(jm__work_set *work)
{
    for (size_t b = 0; b < work->board_count && work->boards != NULL; b++) {
        jm__work_cells_free(&work->boards[b].tally.work);
        jm__work_cells_free(&work->boards[b].tally.waits);
        jm__work_cells_free(&work->boards[b].tally.lent);
    }
}

void jm__work_drop_pieces(jm__work_set *work)
{
    for (size_t b = 0; b < work->board_count && work->boards != NULL; b++) {
        jm__pieces_free(&work->boards[b].pieces);
        free(work->boards[b].column_of);
        free(work->boards[b].scale_of);
        work->boards[b].column_of = NULL;
        work->boards[b].scale_of = NULL;
    }
}

void jm__work_free(jm__work_set *work)
{
    jm__work_drop_pieces(work);
    for (size_t b = 0; b < work->board_count && work->boards != NULL; b++) {
        jm__tally_free(&work->boards[b].tally);
        jm__columns_free(&work->boards[b].columns);
        free(work->boards[b].seconds);
        free(work->boards[b].use_scale);
        free(work->boards[b].beside);
    }
    free(work->boards);
    jm__vec_free(&work->classes);
    jm__ranks_free(&work->ranks);
    jm__contexts_free(&work->contexts);
    jm__uses_free(&work->uses);
    free(work->use_of);
    *work = (jm__work_set){0};
}
