/* A walk over pieces and the edges of phases. */
#include "attribute/rollup/phase_idle.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

typedef struct phase_edge {
    int64_t t_ns;
    size_t span;
    bool begins;
} phase_edge;

static int by_time(const void *a, const void *b)
{
    const phase_edge *left = a, *right = b;
    if (left->t_ns != right->t_ns) return left->t_ns < right->t_ns ? -1 : 1;
    return (int)left->begins - (int)right->begins;
}

static size_t idle_node(jm__views *v, const size_t *open, size_t count)
{
    size_t phase = count > 0 ? jm__view_container_node(v, open[count - 1]) : JM__NO_NODE;
    const char *path = "(idle)";
    if (phase != JM__NO_NODE) path = jm__tree_text(v->tree, "%s/(idle)", v->tree->nodes.items[phase].path);
    return jm__tree_node(v->tree, phase, "(idle)", path, "idle");
}

/* Idle pieces of [from, to], where the cursor stands or later, to one node. */
static void add_idle_between(jm__views *v, size_t b, size_t node, jm__piece_cursor *cursor, int64_t from_ns,
                             int64_t to_ns)
{
    const jm__board_part *part = &v->a->boards[b];
    for (; !jm__cursor_at_end(cursor) && cursor->now.start_ns < to_ns; jm__cursor_next(cursor)) {
        const jm__moment *now = &cursor->now;
        uint32_t column = jm__cursor_column(cursor, 0);
        bool idle = column >= part->work->columns.class_columns;
        if (idle && node != JM__NO_NODE) {
            int64_t from = now->start_ns > from_ns ? now->start_ns : from_ns;
            int64_t to = now->end_ns < to_ns ? now->end_ns : to_ns;
            double seconds = (double)jm__windows_overlap_ns(&part->windows, from, to) * 1e-9;
            if (seconds > 0) {
                v->tree->nodes.items[node].busy_s += seconds;
                v->tree->nodes.items[node].boards |= jm__board_bit(b);
                jm__tree_add(v->tree, node, (uint32_t)part->first_column + column, seconds);
            }
        }
        if (now->end_ns > to_ns) break; /* the rest of it lies in the next stretch */
    }
}

jm_status jm__phase_idle(jm__views *v, size_t b, jm_error *err)
{
    const jm__dataset *d = v->a->dataset;
    JM_VEC(phase_edge) edges = {0};
    JM_VEC(size_t) open = {0};
    jm__piece_cursor cursor;
    JM_TRY(jm__cursor_init(&cursor, &v->a->boards[b].work->pieces, err));
    jm__cursor_seek(&cursor, INT64_MIN);
    bool fine = true;
    for (size_t i = 0; fine && i < d->span_count; i++) {
        if (d->spans[i].kind != JM_SPAN_PHASE) continue;
        phase_edge begin = {d->spans[i].start_ns, i, true},
                   end = {jm__span_end_ns(d, &d->spans[i]), i, false};
        fine = end.t_ns <= begin.t_ns || (jm__vec_push(&edges, begin) && jm__vec_push(&edges, end));
    }
    if (edges.count > 1) qsort(edges.items, edges.count, sizeof *edges.items, by_time);
    int64_t from_ns = INT64_MIN;
    for (size_t i = 0; fine && i <= edges.count; i++) {
        int64_t to_ns = i < edges.count ? edges.items[i].t_ns : INT64_MAX;
        if (to_ns > from_ns)
            add_idle_between(v, b, idle_node(v, open.items, open.count), &cursor, from_ns, to_ns);
        from_ns = to_ns;
        if (i == edges.count) break;
        if (edges.items[i].begins) {
            fine = jm__vec_push(&open, edges.items[i].span);
            continue;
        }
        for (size_t k = open.count; k-- > 0;) {
            if (open.items[k] != edges.items[i].span) continue;
            memmove(open.items + k, open.items + k + 1, (open.count - k - 1) * sizeof *open.items);
            open.count--;
            break;
        }
    }
    jm__vec_free(&edges);
    jm__vec_free(&open);
    jm__cursor_free(&cursor);
    if (!fine) return jm__no_memory(err, "jm__phase_idle");
    return jm__pieces_check(&v->a->boards[b].work->pieces, err);
}
