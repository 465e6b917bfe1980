/* First-order response by decaying states, box by a running sum. */
#include "attribute/fit/response.h"

#include "base/search.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double forgotten = 40; /* time constants after which nothing is left (4e-18) */

jm_status jm__design_init(jm__design *design, const jm__pieces *pieces, size_t columns, jm_error *err)
{
    *design = (jm__design){.pieces = pieces, .columns = columns};
    design->state = calloc(columns + 1, sizeof *design->state);
    return design->state == NULL ? jm__no_memory(err, "jm__design_init") : JM_OK;
}

void jm__design_free(jm__design *design)
{
    free(design->state);
    *design = (jm__design){0};
}

void jm__design_start(jm__design *design, jm__response response)
{
    design->response = response;
    design->started = false;
}

/* The first piece that ends after t. */
static size_t find(const jm__pieces *pieces, int64_t t_ns)
{
    size_t at;
    jm__search(at, pieces->count, pieces->items[at].end_ns <= t_ns);
    return at;
}

static void restart(jm__design *design, int64_t t_ns)
{
    memset(design->state, 0, design->columns * sizeof *design->state);
    design->now_ns = design->tail_ns = t_ns;
    design->cursor = design->tail_cursor = find(design->pieces, t_ns);
    design->started = true;
}

static void advance_first_order(jm__design *design, int64_t target_ns)
{
    double tau = design->response.width_ns;
    double decay = exp(-(double)(target_ns - design->now_ns) / tau);
    for (size_t k = 0; k < design->columns; k++)
        design->state[k] *= decay;
    int64_t edge_ns = design->now_ns; /* whose weight is `edge` */
    double edge = decay;
    const jm__pieces *pieces = design->pieces;
    for (size_t i = design->cursor; i < pieces->count && pieces->items[i].start_ns < target_ns; i++) {
        const jm__piece *piece = &pieces->items[i];
        int64_t from_ns = piece->start_ns > design->now_ns ? piece->start_ns : design->now_ns;
        int64_t to_ns = piece->end_ns < target_ns ? piece->end_ns : target_ns;
        double from = from_ns == edge_ns ? edge : exp(-(double)(target_ns - from_ns) / tau);
        double to = exp(-(double)(target_ns - to_ns) / tau);
        design->state[piece->column] += (double)piece->share * (to - from);
        edge_ns = to_ns;
        edge = to;
        if (piece->end_ns <= target_ns) design->cursor = i + 1;
    }
    design->now_ns = target_ns;
}

/* Add `sign` times the column shares of [*now, target]. */
static void advance_box(jm__design *design, int64_t *now_ns, size_t *cursor, int64_t target_ns, double sign)
{
    const jm__pieces *pieces = design->pieces;
    for (size_t i = *cursor; i < pieces->count && pieces->items[i].start_ns < target_ns; i++) {
        const jm__piece *piece = &pieces->items[i];
        int64_t from_ns = piece->start_ns > *now_ns ? piece->start_ns : *now_ns;
        int64_t to_ns = piece->end_ns < target_ns ? piece->end_ns : target_ns;
        design->state[piece->column] +=
            sign * (double)piece->share * (double)(to_ns - from_ns) / design->response.width_ns;
        if (piece->end_ns <= target_ns) *cursor = i + 1;
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
    advance_box(design, &design->tail_ns, &design->tail_cursor, target_ns - (int64_t)llround(width_ns), -1);
    return design->state;
}
