/* Cells that the pass has lent, once for each row that they go to. */
#include "attribute/rollup/stood_rows.h"

#include "attribute/rollup/draws.h"

#include <stdlib.h>

/* So many steps of a row that a turn's traced ones stand for. */
typedef struct target {
    uint32_t turn, row;
    double steps;
} target;

typedef struct targets {
    target *items;
    size_t count, capacity;
    jm__map at; /* (turn, row) */
} targets;

typedef struct lending {
    jm__views *views;
    size_t board;
    const jm__stood *stood;
    const jm__tally *tally;
    jm__stood_taker *take;
    void *context;
} lending;

static bool add_target(targets *all, uint32_t turn, uint32_t row, double steps)
{
    const uint32_t key[2] = {turn, row};
    const target fresh = {turn, row, steps};
    all->at.key_size = sizeof key;
    const jm__map_value *known = jm__map_find(&all->at, key);
    if (known != NULL) {
        all->items[known->id].steps += steps;
        return true;
    }
    return jm__map_put(&all->at, key, (jm__map_value){.id = (int64_t)all->count}) && jm__vec_push(all, fresh);
}

/* The row of a single step, or of the requests that it worked on. */
static bool row_of_step(jm__views *v, const jm__lap *lap, uint32_t *row)
{
    const jm__attribution *a = v->a;
    const jm__dataset *d = a->dataset;
    bool requests = a->options.by == JM_BY_REQUEST;
    bool mine = jm__dataset_process_has_pid(d, d->processes[lap->process].id, a->options.process_id);
    if (requests) {
        uint32_t batch = a->batches.of_step[lap->span];
        *row = !mine ? JM_REQUESTS_OTHERS : batch == 0 ? JM_REQUESTS_NONE : JM_REQUESTS_FIRST + batch - 1;
        return true;
    }
    size_t node =
        mine ? jm__view_span_node(v, lap->span)
             : jm__tree_node(v->tree, JM__NO_NODE, "(other processes)", "(other processes)", "outside");
    *row = (uint32_t)node;
    return node != JM__NO_NODE;
}

static bool find_by_step(targets *out, const lending *l)
{
    const jm__stands *stands = l->stood->stands;
    for (size_t i = 0; i < stands->laps.count; i++) {
        const jm__lap *lap = &stands->laps.items[i];
        uint32_t row;
        if (!(l->stood->of_lap[i] > 0)) continue;
        if (!row_of_step(l->views, lap, &row)) return false;
        if (!add_target(out, stands->items.items[lap->stand].turn, row, (double)l->stood->of_lap[i]))
            return false;
    }
    return true;
}

/* What is known of a cell goes to a row of `of`, a turn that its own is, or is the partner of: then only what
 * the two differ by. */
static void give(const lending *l, size_t cell, uint32_t of, uint32_t row, double steps)
{
    const jm__stood *stood = l->stood;
    const jm__turn *turns = stood->stands->turns.items;
    jm__work_cell mine = l->tally->lent.items.items[cell];
    uint32_t turn = l->tally->lent_rows.items[mine.row].turn;
    const double *parts = stood->parts + (size_t)of * JM_DRAWS,
                 *alone = l->tally->lent.off_s.items + cell * JM_DRAWS;
    double off_s[JM_DRAWS], share = of == turn ? -steps : steps * turns[of].laps / turns[turn].laps;
    for (size_t r = 0; r < JM_DRAWS; r++)
        off_s[r] = share * parts[r] * mine.seconds + (of == turn ? steps * alone[r] : 0);
    mine.row = row;
    mine.calls = 0;
    mine.seconds *= of == turn ? steps : 0;
    mine.stood_calls *= of == turn ? steps : 0;
    mine.start_ns = INT64_MAX;
    mine.end_ns = INT64_MIN;
    l->take(l->context, l->board, &mine, off_s);
}

/* The turns that a cell of this one tells of: itself, and those whose partner it is. */
static size_t told_by(uint32_t of[3], const jm__stood *stood, uint32_t turn)
{
    size_t count = 0;
    of[count++] = turn;
    if (turn > 0 && stood->partner[turn - 1] == turn) of[count++] = turn - 1;
    if (turn + 1 < stood->stands->turns.count && stood->partner[turn + 1] == turn) of[count++] = turn + 1;
    return count;
}

static int by_turn(const void *a, const void *b)
{
    const target *left = a, *right = b;
    if (left->turn != right->turn) return left->turn < right->turn ? -1 : 1;
    return (left->row > right->row) - (left->row < right->row);
}

/* Each cell, to all rows of its turn. */
static bool give_by_step(const lending *l, targets *all)
{
    size_t turns = l->stood->stands->turns.count, cells = l->tally->lent.items.count;
    size_t *first = calloc(turns + 2, sizeof *first);
    if (first == NULL) return false;
    if (all->count > 1) qsort(all->items, all->count, sizeof *all->items, by_turn);
    for (size_t t = 0, i = 0; t <= turns; t++) {
        while (i < all->count && all->items[i].turn < t)
            i++;
        first[t] = i;
    }
    for (size_t c = 0; c < cells; c++) {
        uint32_t turn = l->tally->lent_rows.items[l->tally->lent.items.items[c].row].turn, of[3];
        size_t count = told_by(of, l->stood, turn);
        for (size_t k = 0; k < count; k++)
            for (size_t i = first[of[k]]; i < first[of[k] + 1]; i++)
                give(l, c, of[k], all->items[i].row, all->items[i].steps);
    }
    free(first);
    return true;
}

static void give_to_stands(const lending *l, size_t cell, uint32_t row, uint32_t turn)
{
    const jm__stands *stands = l->stood->stands;
    for (size_t s = stands->turns.count; s < stands->items.count; s++) {
        const jm__stand *stand = &stands->items.items[s];
        if (stand->turn != turn || !(l->stood->steps[s] > 0)) continue;
        size_t node = jm__view_stood_node(l->views, row, stand->span);
        if (node != JM__NO_NODE) give(l, cell, turn, (uint32_t)node, l->stood->steps[s]);
    }
}

/* Of other kinds than the turn's own. */
static void give_to_others(const lending *l)
{
    for (size_t c = 0; c < l->tally->lent.items.count; c++) {
        const jm__lent_row from = l->tally->lent_rows.items[l->tally->lent.items.items[c].row];
        uint32_t of[3];
        size_t count = told_by(of, l->stood, from.turn);
        for (size_t k = 0; k < count; k++)
            give_to_stands(l, c, from.row, of[k]);
    }
}

bool jm__stood_rows_each(jm__views *v, size_t b, jm__stood_taker *take, void *context)
{
    const jm__board_part *part = &v->a->boards[b];
    const lending l = {v, b, &part->stood, &part->work->tally, take, context};
    if (part->stood.stands == NULL || l.tally->lent.items.count == 0) return true;
    if (part->stood.rows != JM_STOOD_BY_STEP) {
        give_to_others(&l);
        return true;
    }
    targets all = {0};
    bool fine = find_by_step(&all, &l) && (all.count == 0 || give_by_step(&l, &all));
    free(all.items);
    jm__map_free(&all.at);
    return fine;
}

void jm__stood_calls_add(jm__views *v, size_t node, size_t span)
{
    const jm__stood *stood = &v->a->stood;
    uint32_t number = stood->stands == NULL ? 0 : stood->stands->lap_of_span[span];
    if (number == 0 || !jm__lap_stands(&stood->stands->laps.items[number - 1])) return;
    const jm__stands *stands = stood->stands;
    uint32_t turn = stands->laps.items[number - 1].stand;
    v->tree->nodes.items[node].stood_calls += stood->in_row[turn];
    if (!stood->lends[turn] || stood->rows != JM_STOOD_IN_ROWS) return;
    for (size_t s = stands->turns.count; s < stands->items.count; s++) {
        if (stands->items.items[s].turn != turn || !(stood->steps[s] > 0)) continue;
        size_t other = jm__view_stood_node(v, node, stands->items.items[s].span);
        if (other != JM__NO_NODE) v->tree->nodes.items[other].stood_calls += stood->steps[s];
    }
}

size_t jm__stood_phase(const jm__attribution *a, size_t step)
{
    size_t span = step;
    while (span != JM__NO_SPAN && a->dataset->spans[span].kind != JM_SPAN_PHASE)
        span = jm__span_parent(&a->spans, span);
    return span;
}

void jm__stood_idle_off(jm__views *v, size_t b, size_t node, int state, double share)
{
    const jm__board_part *part = &v->a->boards[b];
    if (part->stood.stands == NULL || !part->fit.known) return;
    double power_w = part->fit.power_w[part->work->columns.class_columns + (size_t)state];
    jm__draws_add(v->tree, node, b, part->work->tally.off_s, -share * power_w);
}

void jm__stood_tracing_off(jm__views *v, size_t b, size_t node, size_t turn, int state, double share)
{
    const jm__board_part *part = &v->a->boards[b];
    if (part->stood.stands == NULL || !part->fit.known) return;
    double power_w = part->fit.power_w[part->work->columns.class_columns + (size_t)state], off_s[JM_DRAWS];
    const jm__stands *stands = part->stood.stands;
    uint32_t kind =
        stands->whole_of.items[stands->turns.items[turn].kind - 1]; /* errors of its turns are as one */
    for (size_t r = 0; r < JM_DRAWS; r++)
        off_s[r] = jm__draw_sign(~(uint64_t)kind, r) * share * part->work->tally.turns[turn].tracing_u_s;
    jm__draws_add(v->tree, node, b, off_s, power_w);
}
