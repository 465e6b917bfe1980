/* Idle time by cause and by phase, and work in rows of represented steps. */
#include "attribute/rollup/idle.h"

#include "base/order.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many steps of a row each traced step of a burst represents. */
typedef struct row_weight {
    uint32_t burst, row;
    double steps;
} row_weight;

typedef struct row_weights {
    row_weight *items;
    size_t count, capacity;
    jm__map at; /* (burst, row) */
} row_weights;

typedef struct lent_walk {
    jm__views *views;
    size_t board;
    const jm__extrapolated *extrapolated;
    const jm__tally *tally;
    jm__extrapolated_sink *sink;
    void *context;
} lent_walk;

static bool add_row_weight(row_weights *all, uint32_t burst, uint32_t row, double steps)
{
    const uint32_t key[2] = {burst, row};
    all->at.key_size = sizeof key;
    const row_weight first = {burst, row, 0};
    size_t at = jm__map_item(&all->at, key, all, &first);
    if (at == SIZE_MAX) return false;
    all->items[at].steps += steps;
    return true;
}

/* The row of a single step, or of its batch of requests. False if memory is out. */
static bool row_of_step(jm__views *v, const jm__step_interval *step, uint32_t *row)
{
    const jm__attribution *a = v->a;
    const jm__dataset *d = a->scope.dataset;
    bool requests = a->scope.options.by == JM_BY_REQUEST;
    bool requested =
        jm__dataset_process_has_pid(d, d->processes[step->process].id, a->scope.options.process_id);
    if (requests) {
        uint32_t batch = a->scope.batches.of_step[step->span];
        *row = !requested   ? JM_REQUESTS_OTHERS
               : batch == 0 ? JM_REQUESTS_NONE
                            : JM_REQUESTS_FIRST + batch - 1;
        return true;
    }
    size_t node =
        requested ? jm__view_span_node(v, step->span) : jm__tree_top(v->tree, "(other processes)", "outside");
    *row = (uint32_t)node;
    return node != JM__NO_NODE;
}

static bool find_by_step(row_weights *out, const lent_walk *l)
{
    const jm__strata *strata = l->extrapolated->strata;
    for (size_t i = 0; i < strata->step_intervals.count; i++) {
        const jm__step_interval *step = &strata->step_intervals.items[i];
        uint32_t row;
        if (!(l->extrapolated->of_step_interval[i] > 0)) continue;
        if (!row_of_step(l->views, step, &row)) return false;
        if (!add_row_weight(out, strata->items.items[step->stratum].burst, row,
                            (double)l->extrapolated->of_step_interval[i]))
            return false;
    }
    return true;
}

/* Emit a cell for a row that burst `of` represents. `of` is the cell's own burst, or one whose partner the
 * own burst is: then only the errors, by the difference of the two, are emitted. */
static void emit_cell(const lent_walk *l, size_t cell, uint32_t of, uint32_t row, double steps,
                      double steady_steps)
{
    const jm__extrapolated *extrapolated = l->extrapolated;
    const jm__traced_burst *bursts = extrapolated->strata->bursts.items;
    jm__work_cell emitted = l->tally->lent.items.items[cell];
    uint32_t burst = l->tally->lent_rows.items[emitted.row].burst;
    const double *parts = extrapolated->parts + (size_t)of * JM_DRAWS,
                 *alone = l->tally->lent.off_s.items + cell * JM_DRAWS;
    double off_s[JM_DRAWS],
        share = of == burst ? -steps : steps * bursts[of].step_intervals / bursts[burst].step_intervals;
    for (size_t r = 0; r < JM_DRAWS; r++)
        off_s[r] = share * parts[r] * emitted.seconds + (of == burst ? steps * alone[r] : 0);
    emitted.row = row;
    emitted.calls = 0;
    emitted.steady_s = emitted.seconds * (of == burst ? steady_steps : 0);
    emitted.seconds *= of == burst ? steps : 0;
    emitted.extrapolated_calls *= of == burst ? steps : 0;
    emitted.start_ns = INT64_MAX;
    emitted.end_ns = INT64_MIN;
    l->sink(l->context, l->board, &emitted, off_s);
}

/* The burst itself and the bursts whose partner it is. */
static size_t bursts_of(uint32_t of[3], const jm__extrapolated *extrapolated, uint32_t burst)
{
    size_t count = 0;
    of[count++] = burst;
    if (burst > 0 && extrapolated->of_burst[burst - 1].partner == burst) of[count++] = burst - 1;
    if (burst + 1 < extrapolated->strata->bursts.count && extrapolated->of_burst[burst + 1].partner == burst)
        of[count++] = burst + 1;
    return count;
}

static int by_burst(const void *a, const void *b)
{
    const row_weight *left = a, *right = b;
    if (left->burst != right->burst) return left->burst < right->burst ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

/* Each cell to all rows that its bursts represent. */
static bool emit_by_step(const lent_walk *l, row_weights *all)
{
    size_t bursts = l->extrapolated->strata->bursts.count, cells = l->tally->lent.items.count;
    size_t *first = calloc(bursts + 2, sizeof *first);
    if (first == NULL) return false;
    jm__sort(all->items, all->count, sizeof *all->items, by_burst);
    for (size_t t = 0, i = 0; t <= bursts; t++) {
        while (i < all->count && all->items[i].burst < t)
            i++;
        first[t] = i;
    }
    for (size_t c = 0; c < cells; c++) {
        uint32_t burst = l->tally->lent_rows.items[l->tally->lent.items.items[c].row].burst, of[3];
        size_t count = bursts_of(of, l->extrapolated, burst);
        for (size_t k = 0; k < count; k++)
            for (size_t i = first[of[k]]; i < first[of[k] + 1]; i++)
                emit_cell(l, c, of[k], all->items[i].row, all->items[i].steps, 0);
    }
    free(first);
    return true;
}

static void emit_to_strata(const lent_walk *l, size_t cell, uint32_t row, uint32_t burst)
{
    const jm__strata *strata = l->extrapolated->strata;
    for (size_t s = strata->bursts.count; s < strata->items.count; s++) {
        const jm__stratum *stratum = &strata->items.items[s];
        if (stratum->burst != burst || !(l->extrapolated->of_stratum[s].steps > 0)) continue;
        size_t node = jm__view_extrapolated_node(l->views, row, stratum->span);
        if (node != JM__NO_NODE)
            emit_cell(l, cell, burst, (uint32_t)node, l->extrapolated->of_stratum[s].steps,
                      l->extrapolated->of_stratum[s].steady_steps);
    }
}

/* Each cell to the rows of steps of other kinds than the burst's own. */
static void emit_to_other_kinds(const lent_walk *l)
{
    for (size_t c = 0; c < l->tally->lent.items.count; c++) {
        const jm__lent_row from = l->tally->lent_rows.items[l->tally->lent.items.items[c].row];
        uint32_t of[3];
        size_t count = bursts_of(of, l->extrapolated, from.burst);
        for (size_t k = 0; k < count; k++)
            emit_to_strata(l, c, from.row, of[k]);
    }
}

bool jm__extrapolated_rows_each(jm__views *v, size_t b, jm__extrapolated_sink *sink, void *context)
{
    const jm__board_part *part = &v->a->boards[b];
    const lent_walk l = {v, b, &part->time.extrapolated, &part->work->tally, sink, context};
    if (part->time.extrapolated.strata == NULL || l.tally->lent.items.count == 0) return true;
    if (part->time.extrapolated.rows != JM_EXTRAPOLATED_BY_STEP) {
        emit_to_other_kinds(&l);
        return true;
    }
    row_weights all = {0};
    bool fine = find_by_step(&all, &l) && (all.count == 0 || emit_by_step(&l, &all));
    free(all.items);
    jm__map_free(&all.at);
    return fine;
}

void jm__extrapolated_calls_add(jm__views *v, size_t node, size_t span)
{
    const jm__extrapolated *extrapolated = &v->a->scope.extrapolated;
    uint32_t number = extrapolated->strata == NULL ? 0 : extrapolated->strata->step_interval_of_span[span];
    if (number == 0 || !jm__step_interval_is_sampled(&extrapolated->strata->step_intervals.items[number - 1]))
        return;
    const jm__strata *strata = extrapolated->strata;
    uint32_t burst = strata->step_intervals.items[number - 1].stratum;
    v->tree->nodes.items[node].extrapolated_calls += extrapolated->of_burst[burst].in_row;
    if (!extrapolated->of_burst[burst].lends || extrapolated->rows != JM_EXTRAPOLATED_IN_ROWS) return;
    for (size_t s = strata->bursts.count; s < strata->items.count; s++) {
        if (strata->items.items[s].burst != burst || !(extrapolated->of_stratum[s].steps > 0)) continue;
        size_t other = jm__view_extrapolated_node(v, node, strata->items.items[s].span);
        if (other != JM__NO_NODE)
            v->tree->nodes.items[other].extrapolated_calls += extrapolated->of_stratum[s].steps;
    }
}

/* The innermost phase of a step; JM__NO_SPAN: none. */
static size_t phase_of_step(const jm__attribution *a, size_t step)
{
    size_t span = step;
    while (span != JM__NO_SPAN && a->scope.dataset->spans[span].kind != JM_SPAN_PHASE)
        span = jm__span_parent(&a->scope.spans, span);
    return span;
}

/* The power of an idle state; 0 if nothing is known of powers. */
static double state_w(const jm__board_part *part, int state)
{
    return part->fit.known ? part->fit.power_w[part->work->columns.class_columns + (size_t)state] : 0;
}

void jm__extrapolated_idle_off(jm__views *v, size_t b, size_t node, int state, double share)
{
    const jm__board_part *part = &v->a->boards[b];
    jm__draws_add(v->tree, node, b, part->work->tally.off_s, -share * state_w(part, state));
}

/* Add the error of idle time that tracing caused in the steps of a burst: a share of it, in a state. */
static void extrapolated_tracing_off(jm__views *v, size_t b, size_t node, size_t burst, int state,
                                     double share)
{
    const jm__board_part *part = &v->a->boards[b];
    const jm__strata *strata = part->time.extrapolated.strata;
    double off_s[JM_DRAWS];
    uint32_t kind = strata->unsplit_kind_of
                        .items[strata->bursts.items[burst].kind - 1]; /* one error for all its bursts */
    for (size_t r = 0; r < JM_DRAWS; r++)
        off_s[r] = jm__draw_sign(~(uint64_t)kind, r) * share * part->work->tally.bursts[burst].tracing_u_s;
    jm__draws_add(v->tree, node, b, off_s, state_w(part, state));
}

/* Edges of spans and of their sections. At one time, ends come first. */
typedef enum edge_kind { ENDS, NEXT_SECTION, BEGINS } edge_kind;

typedef struct span_edge {
    int64_t t_ns;
    size_t span;
    edge_kind kind;
} span_edge;

typedef JM_VEC(span_edge) span_edges;

typedef JM_VEC(size_t) open_spans;

static int by_time(const void *a, const void *b)
{
    const span_edge *left = a, *right = b;
    if (left->t_ns != right->t_ns) return left->t_ns < right->t_ns ? -1 : 1;
    return (int)left->kind - (int)right->kind;
}

static bool find_edges(span_edges *edges, const jm__idle_walk *walk, const jm__span_index *spans)
{
    const jm__dataset *d = spans->dataset;
    for (size_t i = 0; i < d->span_count; i++) {
        if (!walk->is_container(walk->context, i)) continue;
        span_edge begin = {d->spans[i].start_ns, i, BEGINS},
                  end = {jm__span_end_ns(d, &d->spans[i]), i, ENDS};
        if (end.t_ns > begin.t_ns && (!jm__vec_push(edges, begin) || !jm__vec_push(edges, end))) return false;
    }
    for (size_t i = 0; i < spans->more.count; i++) {
        const jm__section *more = &spans->more.items[i];
        const span_edge edge = {more->from_ns, more->span, NEXT_SECTION};
        if (walk->is_container(walk->context, more->span) && !jm__vec_push(edges, edge)) return false;
    }
    jm__sort(edges->items, edges->count, sizeof *edges->items, by_time);
    return true;
}

/* Add the idle pieces of [from, to], which is in one section of a span, from the cursor on. */
static bool add_idle_between(const jm__idle_walk *walk, const jm__board_part *part, size_t section,
                             jm__piece_cursor *cursor, int64_t from_ns, int64_t to_ns)
{
    uint32_t first = (uint32_t)part->first_column;
    for (; !jm__cursor_at_end(cursor) && cursor->now.start_ns < to_ns; jm__cursor_next(cursor)) {
        const jm__moment *now = &cursor->now;
        bool idle = jm__cursor_is_idle(cursor), sampled = cursor->sampled && walk->add_sampled != NULL;
        if (idle || sampled) {
            int64_t from = now->start_ns > from_ns ? now->start_ns : from_ns;
            int64_t to = now->end_ns < to_ns ? now->end_ns : to_ns;
            double seconds = (double)jm__intervals_overlap_ns(&part->time.traced, from, to) * 1e-9,
                   steady_s = (double)jm__intervals_overlap_ns(&part->time.steady_traced, from, to) * 1e-9;
            uint32_t column = first + jm__cursor_column(cursor, 0),
                     sampler = first + (uint32_t)jm__sampler_column(&part->work->columns) + idle;
            if (seconds > 0 && idle && !walk->add(walk->context, section, column, seconds, steady_s))
                return false;
            if (seconds > 0 && sampled) walk->add_sampled(walk->context, section, sampler, seconds);
        }
        if (now->end_ns > to_ns) break; /* its rest belongs to the next interval */
    }
    return true;
}

static void add_unrecorded_between(const jm__idle_walk *walk, const jm__board_part *part, size_t section,
                                   int64_t from_ns, int64_t to_ns)
{
    const jm__intervals *all = &part->time.unrecorded;
    if (walk->add_unrecorded == NULL) return;
    for (size_t i = jm__intervals_first_after(all, from_ns); i < all->count; i++) {
        if (all->items[i].from_ns >= to_ns) return;
        jm__interval time = all->items[i];
        if (time.from_ns < from_ns) time.from_ns = from_ns;
        if (time.to_ns > to_ns) time.to_ns = to_ns;
        if (time.to_ns > time.from_ns) walk->add_unrecorded(walk->context, section, &time);
    }
}

static bool apply_edge(open_spans *open, const span_edge *edge)
{
    if (edge->kind == BEGINS) return jm__vec_push(open, edge->span);
    if (edge->kind == NEXT_SECTION) return true;
    for (size_t k = open->count; k-- > 0;) {
        if (open->items[k] != edge->span) continue;
        memmove(open->items + k, open->items + k + 1, (open->count - k - 1) * sizeof *open->items);
        open->count--;
        break;
    }
    return true;
}

jm_status jm__idle_walk_board(const jm__idle_walk *walk, const jm__attribution *a, size_t b, jm_error *err)
{
    const jm__board_part *part = &a->boards[b];
    span_edges edges = {0};
    open_spans open = {0};
    jm__piece_cursor cursor;
    JM_TRY(jm__cursor_init(&cursor, &part->work->pieces, err));
    jm__cursor_seek(&cursor, INT64_MIN);
    bool fine = find_edges(&edges, walk, &a->scope.spans);
    int64_t from_ns = INT64_MIN;
    for (size_t i = 0; fine && i <= edges.count; i++) {
        int64_t to_ns = i < edges.count ? edges.items[i].t_ns : INT64_MAX;
        size_t inside = open.count > 0 ? open.items[open.count - 1] : JM__NO_SPAN;
        inside = jm__section_at(&a->scope.spans, inside, from_ns);
        if (to_ns > from_ns) fine = add_idle_between(walk, part, inside, &cursor, from_ns, to_ns);
        add_unrecorded_between(walk, part, inside, from_ns, to_ns);
        from_ns = to_ns;
        if (fine && i < edges.count) fine = apply_edge(&open, &edges.items[i]);
    }
    jm__vec_free(&edges);
    jm__vec_free(&open);
    jm__cursor_free(&cursor);
    if (!fine) return jm__no_memory(err, "jm__idle_walk_board");
    return jm__pieces_check(&part->work->pieces, err);
}

/* ---- idle time by cause: within one state, gaps draw the same power whatever their cause */

static const char *const cause_texts[JM_IDLE_CAUSES] = {
#define X(name, text) [JM_CAUSE_##name] = text,
    JM_IDLE_CAUSE_MAP(X)
#undef X
};

/* Add the error of a share of all idle time caused by tracing. */
static void add_tracing_off(jm__views *v, size_t b, size_t node, int state, double share)
{
    const jm__tally *tally = &v->a->boards[b].work->tally;
    for (size_t t = 0; t < v->a->boards[b].time.extrapolated.strata->bursts.count; t++)
        if (tally->bursts[t].tracing_u_s > 0) extrapolated_tracing_off(v, b, node, t, state, share);
}

/* Add the error of a cause: its share of the error of all causes but tracing, which is not extrapolated. */
static void add_off(jm__views *v, size_t b, size_t node, size_t cause)
{
    const jm__tally *tally = &v->a->boards[b].work->tally;
    double all_s = 0, tracing_s = 0;
    for (size_t state = 0; state < JM_IDLE_STATES; state++)
        for (size_t other = 0; other < JM_IDLE_CAUSES; other++)
            *(other == JM_CAUSE_TRACING ? &tracing_s : &all_s) += tally->idle_s[state][other];
    for (int state = 0; state < JM_IDLE_STATES; state++) {
        double seconds = tally->idle_s[state][cause];
        if (seconds == 0) continue;
        if (cause == JM_CAUSE_TRACING) {
            add_tracing_off(v, b, node, state, seconds / tracing_s);
            continue;
        }
        jm__extrapolated_idle_off(v, b, node, state, seconds / all_s);
        if (tracing_s > 0) add_tracing_off(v, b, node, state, -seconds / all_s);
    }
}

static void add_cause(jm__views *v, size_t b, size_t idle, size_t cause)
{
    const jm__board_work *work = v->a->boards[b].work;
    size_t node = jm__view_node_under(v, idle, cause_texts[cause], "gap");
    if (node == JM__NO_NODE) return;
    v->tree->nodes.items[node].calls += work->tally.gaps[cause];
    size_t first = v->a->boards[b].first_column + work->columns.class_columns;
    for (size_t state = 0; state < JM_IDLE_STATES; state++)
        jm__tree_add_busy(v->tree, node, b, first + state, work->tally.idle_s[state][cause],
                          cause == JM_CAUSE_TRACING ? 0 : work->tally.idle_steady_s[state][cause]);
    if (v->a->boards[b].time.extrapolated.strata != NULL) add_off(v, b, node, cause);
}

static bool has_time(const jm__tally *tally, size_t cause)
{
    for (size_t state = 0; state < JM_IDLE_STATES; state++)
        if (tally->idle_s[state][cause] > 0) return true;
    return false;
}

/* Without kernels the gaps are unknown: one row for all idle time. */
static void add_whole(jm__views *v, size_t b, size_t idle)
{
    const jm__board_work *work = v->a->boards[b].work;
    size_t first = work->columns.class_columns;
    for (size_t k = first; k < jm__sampler_column(&work->columns); k++)
        jm__tree_add_busy(v->tree, idle, b, v->a->boards[b].first_column + k, work->seconds[k],
                          work->tally.idle[k - first].steady_s);
}

static const char unrecorded_text[] = "(work not seen)", unrecorded_kind[] = "unrecorded";

static void add_unrecorded(jm__views *v, size_t b, size_t node, const jm__total *total,
                           const jm__intervals *time)
{
    if (node == JM__NO_NODE || total->source == NULL) return;
    jm__node *row = &v->tree->nodes.items[node];
    row->measured = true;
    row->measured_j += total->energy_j;
    row->measured_u_j = hypot(row->measured_u_j, total->u_j);
    row->boards |= jm__board_bit(b);
    row->spent.busy_s += 1e-9 * (double)jm__intervals_duration_ns(time);
}

void jm__unrecorded_add(jm__views *v, size_t b)
{
    const jm__board_part *part = &v->a->boards[b];
    if (part->time.unrecorded.count > 0)
        add_unrecorded(v, b, jm__tree_top(v->tree, unrecorded_text, unrecorded_kind), &part->unrecorded_total,
                       &part->time.unrecorded);
}

static const char sampler_text[] = "(counter sampling)", sampler_kind[] = "sampling";

void jm__sampler_add(jm__views *v, size_t b)
{
    const jm__board_work *work = v->a->boards[b].work;
    size_t first = jm__sampler_column(&work->columns);
    for (size_t k = first; k < work->columns.count && work->columns.sampler_columns > 0; k++)
        if (work->seconds[k] > 0)
            jm__tree_add_busy(v->tree, jm__tree_top(v->tree, sampler_text, sampler_kind), b,
                              v->a->boards[b].first_column + k, work->seconds[k], 0);
}

void jm__idle_add(jm__views *v, jm__dominant *dominant, size_t b)
{
    const jm__board_work *work = v->a->boards[b].work;
    size_t idle = jm__tree_top(v->tree, "(idle)", "idle");
    if (idle == JM__NO_NODE) return;
    if (work->from_host) {
        add_whole(v, b, idle);
        return;
    }
    for (size_t cause = 0; cause < JM_IDLE_CAUSES; cause++)
        if (work->tally.gaps[cause] > 0 || has_time(&work->tally, cause)) add_cause(v, b, idle, cause);
    for (size_t i = 0; i < work->tally.waits.items.count && !v->tree->failed; i++) {
        const jm__work_cell *wait = &work->tally.waits.items.items[i];
        jm__dominant_add(dominant, jm__view_node_under(v, idle, cause_texts[wait->row], "gap"), wait->use,
                         wait->seconds);
    }
}

size_t jm__view_tracing_node(jm__views *v, size_t idle)
{
    return jm__view_node_under(v, idle, cause_texts[JM_CAUSE_TRACING], "gap");
}

/* ---- a row "(idle)" in each phase, and one outside of phases */

typedef struct idle_target {
    jm__views *views;
    size_t board;
    double sampled_s[JM_SAMPLER_STATES]; /* so far, in all phases and outside */
} idle_target;

static bool is_phase(void *context, size_t span)
{
    const idle_target *to = context;
    return to->views->a->scope.dataset->spans[span].kind == JM_SPAN_PHASE;
}

static size_t node_in_phase(jm__views *v, size_t section, const char *name, const char *kind)
{
    size_t phase = section != JM__NO_SPAN ? jm__view_container_node(v, section) : JM__NO_NODE;
    const char *path = name;
    if (phase != JM__NO_NODE) path = jm__tree_text(v->tree, "%s/%s", v->tree->nodes.items[phase].path, name);
    return jm__tree_node(v->tree, phase, name, path, kind);
}

static size_t idle_node(jm__views *v, size_t section)
{
    return node_in_phase(v, section, "(idle)", "idle");
}

static bool add_idle(void *context, size_t section, uint32_t column, double seconds, double steady_s)
{
    const idle_target *to = context;
    jm__tree_add_busy(to->views->tree, idle_node(to->views, section), to->board, column, seconds, steady_s);
    return true;
}

/* Time that other rows of the phase have too. */
static void add_shared_time(jm__tree *tree, size_t node, size_t board, size_t column, double seconds)
{
    if (node == JM__NO_NODE) return;
    tree->nodes.items[node].shared_s += seconds;
    tree->nodes.items[node].boards |= jm__board_bit(board);
    jm__tree_add(tree, node, (uint32_t)column, seconds, 0); /* sampling is part of no step */
}

static void add_sampled(void *context, size_t section, uint32_t column, double seconds)
{
    idle_target *to = context;
    const jm__board_part *part = &to->views->a->boards[to->board];
    size_t node = node_in_phase(to->views, section, sampler_text, sampler_kind);
    to->sampled_s[column - part->first_column - jm__sampler_column(&part->work->columns)] += seconds;
    add_shared_time(to->views->tree, node, to->board, column, seconds);
}

static void add_unrecorded_time(void *context, size_t section, const jm__interval *time)
{
    const idle_target *to = context;
    jm__interval copy = *time;
    const jm__intervals one = {&copy, 1, 1};
    jm__total total = jm__total_measure(&to->views->a->boards[to->board].readings, &one);
    add_unrecorded(to->views, to->board, node_in_phase(to->views, section, unrecorded_text, unrecorded_kind),
                   &total, &one);
}

/* Sampled time in which nothing was traced. */
static void add_sampled_rest(const idle_target *to)
{
    const jm__board_part *part = &to->views->a->boards[to->board];
    size_t first = jm__sampler_column(&part->work->columns);
    for (size_t s = 0; s < part->work->columns.sampler_columns; s++) {
        double rest_s = part->work->seconds[first + s] - to->sampled_s[s];
        if (rest_s > 1e-6)
            add_shared_time(to->views->tree,
                            node_in_phase(to->views, JM__NO_SPAN, sampler_text, sampler_kind), to->board,
                            part->first_column + first + s, rest_s);
    }
}

/* Add the idle time of represented steps to their phases. */
static void add_extrapolated(jm__views *v, size_t b)
{
    const jm__board_part *part = &v->a->boards[b];
    const jm__strata *strata = part->time.extrapolated.strata;
    uint32_t first = (uint32_t)(part->first_column + part->work->columns.class_columns);
    double all_s = 0;
    for (size_t s = 0; s < strata->items.count; s++)
        for (int state = 0; state < JM_IDLE_STATES; state++)
            all_s += part->work->tally.extrapolated_idle_s[s][state];
    for (size_t s = 0; all_s > 0 && s < strata->items.count; s++) {
        const double *idle_s = part->work->tally.extrapolated_idle_s[s];
        for (uint32_t state = 0; state < JM_IDLE_STATES; state++) {
            if (idle_s[state] == 0) continue;
            size_t node = idle_node(v, phase_of_step(v->a, strata->items.items[s].span));
            const jm__stratum_sum *sum = &part->time.extrapolated.of_stratum[s];
            double steady = sum->seconds > 0 ? sum->steady_s / sum->seconds : 0;
            jm__tree_add_busy(v->tree, node, b, first + state, idle_s[state], steady * idle_s[state]);
            jm__extrapolated_idle_off(v, b, node, (int)state, idle_s[state] / all_s);
        }
    }
}

/* Move idle time caused by tracing from the phases' idle rows to rows inside them. */
static void split_tracing(jm__views *v, size_t b)
{
    const jm__board_part *part = &v->a->boards[b];
    const jm__strata *strata = part->time.extrapolated.strata;
    uint32_t first = (uint32_t)(part->first_column + part->work->columns.class_columns);
    for (size_t t = 0; t < strata->bursts.count; t++) {
        const double *tracing_s = part->work->tally.bursts[t].tracing_s;
        double all_s = 0;
        for (uint32_t state = 0; state < JM_IDLE_STATES; state++)
            all_s += tracing_s[state];
        for (uint32_t state = 0; state < JM_IDLE_STATES; state++) {
            if (tracing_s[state] == 0) continue;
            size_t idle = idle_node(v, phase_of_step(v->a, strata->items.items[t].span));
            size_t node = idle == JM__NO_NODE ? idle : jm__view_tracing_node(v, idle);
            jm__tree_add_busy(v->tree, idle, b, first + state, -tracing_s[state],
                              -part->work->tally.bursts[t].tracing_steady_s[state]);
            jm__tree_add_busy(v->tree, node, b, first + state, tracing_s[state], 0);
            extrapolated_tracing_off(v, b, idle, t, (int)state, -tracing_s[state] / all_s);
            extrapolated_tracing_off(v, b, node, t, (int)state, tracing_s[state] / all_s);
        }
    }
}

jm_status jm__phase_idle(jm__views *v, size_t b, jm_error *err)
{
    idle_target to = {.views = v, .board = b};
    const jm__idle_walk walk = {is_phase, add_idle, add_sampled, add_unrecorded_time, &to};
    JM_TRY(jm__idle_walk_board(&walk, v->a, b, err));
    add_sampled_rest(&to);
    if (v->a->boards[b].time.extrapolated.strata == NULL) return JM_OK;
    add_extrapolated(v, b);
    split_tracing(v, b);
    return JM_OK;
}
