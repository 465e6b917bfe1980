/* A walk over pieces and the edges of spans. */
#include "attribute/rollup/step_idle.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* A span begins, another section of it, or it ends: of what is at one time, ends come first. */
typedef enum edge_kind { ENDS, GOES_ON, BEGINS } edge_kind;

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
        if (!walk->is_wanted(walk->context, i)) continue;
        span_edge begin = {d->spans[i].start_ns, i, BEGINS},
                  end = {jm__span_end_ns(d, &d->spans[i]), i, ENDS};
        if (end.t_ns > begin.t_ns && (!jm__vec_push(edges, begin) || !jm__vec_push(edges, end))) return false;
    }
    for (size_t i = 0; i < spans->more.count; i++) {
        const jm__section *more = &spans->more.items[i];
        const span_edge edge = {more->from_ns, more->span, GOES_ON};
        if (walk->is_wanted(walk->context, more->span) && !jm__vec_push(edges, edge)) return false;
    }
    if (edges->count > 1) qsort(edges->items, edges->count, sizeof *edges->items, by_time);
    return true;
}

/* Idle pieces of [from, to], where the cursor stands or later, which lie in one section of a span. */
static bool add_idle_between(const jm__idle_walk *walk, const jm__board_part *part, size_t section,
                             jm__piece_cursor *cursor, int64_t from_ns, int64_t to_ns)
{
    for (; !jm__cursor_at_end(cursor) && cursor->now.start_ns < to_ns; jm__cursor_next(cursor)) {
        const jm__moment *now = &cursor->now;
        uint32_t column = jm__cursor_column(cursor, 0);
        if (column >= part->work->columns.class_columns) {
            int64_t from = now->start_ns > from_ns ? now->start_ns : from_ns;
            int64_t to = now->end_ns < to_ns ? now->end_ns : to_ns;
            double seconds = (double)jm__windows_overlap_ns(&part->traced, from, to) * 1e-9;
            if (seconds > 0 &&
                !walk->add(walk->context, section, (uint32_t)part->first_column + column, seconds))
                return false;
        }
        if (now->end_ns > to_ns) break; /* the rest of it lies in the next stretch */
    }
    return true;
}

static bool take_edge(open_spans *open, const span_edge *edge)
{
    if (edge->kind == BEGINS) return jm__vec_push(open, edge->span);
    if (edge->kind == GOES_ON) return true;
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
    bool fine = find_edges(&edges, walk, &a->spans);
    int64_t from_ns = INT64_MIN;
    for (size_t i = 0; fine && i <= edges.count; i++) {
        int64_t to_ns = i < edges.count ? edges.items[i].t_ns : INT64_MAX;
        size_t inside = open.count > 0 ? open.items[open.count - 1] : JM__NO_SPAN;
        inside = jm__section_at(&a->spans, inside, from_ns);
        if (to_ns > from_ns) fine = add_idle_between(walk, part, inside, &cursor, from_ns, to_ns);
        from_ns = to_ns;
        if (fine && i < edges.count) fine = take_edge(&open, &edges.items[i]);
    }
    jm__vec_free(&edges);
    jm__vec_free(&open);
    jm__cursor_free(&cursor);
    if (!fine) return jm__no_memory(err, "jm__idle_walk_board");
    return jm__pieces_check(&part->work->pieces, err);
}
