/* First-order response by decaying states, box by a running sum. */
#include "attribute/fit/response.h"

#include "base/search.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double forgotten = 40; /* time constants after which nothing is left (4e-18) */

jm_status jm__design_init(jm__design *design, jm__pieces *pieces, size_t columns, jm_error *err)
{
    *design = (jm__design){.columns = columns};
    design->state = calloc(columns + 1, sizeof *design->state);
    jm_status status = design->state == NULL ? jm__no_memory(err, "jm__design_init") : JM_OK;
    if (status == JM_OK) status = jm__cursor_init(&design->cursor, pieces, err);
    if (status == JM_OK) status = jm__cursor_init(&design->tail, pieces, err);
    if (status != JM_OK) jm__design_free(design);
    return status;
}

void jm__design_free(jm__design *design)
{
    free(design->state);
    jm__cursor_free(&design->cursor);
    jm__cursor_free(&design->tail);
    *design = (jm__design){0};
}

void jm__design_start(jm__design *design, jm__response response)
{
    design->response = response;
    design->started = false;
}

static void restart(jm__design *design, int64_t t_ns)
{
    memset(design->state, 0, design->columns * sizeof *design->state);
    design->now_ns = design->tail_ns = t_ns;
    jm__cursor_seek(&design->cursor, t_ns);
    if (design->response.kind != JM_RESPONSE_FIRST_ORDER) jm__cursor_seek(&design->tail, t_ns);
    design->started = true;
}

/* exp(x) - 1. Of the length of a kernel over a sensor's time constant, a few terms are all: the first one
 * left out is below 1e-17. */
static double growth(double x)
{
    if (x > 1.0 / 64) return expm1(x);
    return x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6 * (1 + x / 7))))));
}

static void advance_first_order(jm__design *design, int64_t target_ns)
{
    double tau = design->response.width_ns;
    double edge = exp(-(double)(target_ns - design->now_ns) / tau); /* weight of the moment's start */
    for (size_t k = 0; k < design->columns; k++)
        design->state[k] *= edge;
    jm__piece_cursor *cursor = &design->cursor;
    for (int64_t from_ns = design->now_ns; from_ns < target_ns && !jm__cursor_at_end(cursor);) {
        const jm__moment *now = &cursor->now;
        if (now->start_ns > from_ns) { /* before all pieces there is nothing */
            if (now->start_ns >= target_ns) break;
            from_ns = now->start_ns;
            edge = exp(-(double)(target_ns - from_ns) / tau);
        }
        int64_t to_ns = now->end_ns < target_ns ? now->end_ns : target_ns;
        double step = edge * growth((double)(to_ns - from_ns) / tau);
        for (size_t i = 0; i < now->count; i++)
            design->state[jm__cursor_column(cursor, i)] += jm__cursor_share(cursor, i) * step;
        edge += step;
        from_ns = to_ns;
        if (now->end_ns <= target_ns) jm__cursor_next(cursor);
    }
    design->now_ns = target_ns;
}

/* Add `sign` times the column shares of [*now, target]. */
static void advance_box(jm__design *design, int64_t *now_ns, jm__piece_cursor *cursor, int64_t target_ns,
                        double sign)
{
    while (*now_ns < target_ns && !jm__cursor_at_end(cursor)) {
        const jm__moment *now = &cursor->now;
        if (now->start_ns >= target_ns) break;
        if (now->start_ns > *now_ns) *now_ns = now->start_ns; /* before all pieces there is nothing */
        int64_t to_ns = now->end_ns < target_ns ? now->end_ns : target_ns;
        double weight = sign * (double)(to_ns - *now_ns) / design->response.width_ns;
        for (size_t i = 0; i < now->count; i++)
            design->state[jm__cursor_column(cursor, i)] += jm__cursor_share(cursor, i) * weight;
        *now_ns = to_ns;
        if (now->end_ns <= target_ns) jm__cursor_next(cursor);
    }
    *now_ns = target_ns;
}

const double *jm__design_row(jm__design *design, int64_t t_ns)
{
    int64_t target_ns = t_ns - (int64_t)llround(design->response.lag_ns);
    double width_ns = design->response.width_ns;
    bool box = design->response.kind != JM_RESPONSE_FIRST_ORDER;
    int64_t memory_ns = (int64_t)ceil(box ? width_ns : forgotten * width_ns);
    if (!design->started || target_ns - design->now_ns > memory_ns) restart(design, target_ns - memory_ns);
    if (!box) {
        advance_first_order(design, target_ns);
        return design->state;
    }
    advance_box(design, &design->now_ns, &design->cursor, target_ns, 1);
    advance_box(design, &design->tail_ns, &design->tail, target_ns - (int64_t)llround(width_ns), -1);
    return design->state;
}
