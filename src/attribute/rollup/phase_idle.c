/* A row "(idle)" in each phase, and one for what lies in none. */
#include "attribute/rollup/phase_idle.h"

#include "attribute/rollup/idle.h"

#include "attribute/rollup/step_idle.h"
#include "attribute/rollup/stood_rows.h"

typedef struct idle_target {
    jm__views *views;
    size_t board;
} idle_target;

static bool is_phase(void *context, size_t span)
{
    const idle_target *to = context;
    return to->views->a->dataset->spans[span].kind == JM_SPAN_PHASE;
}

static size_t idle_node(jm__views *v, size_t section)
{
    size_t phase = section != JM__NO_SPAN ? jm__view_container_node(v, section) : JM__NO_NODE;
    const char *path = "(idle)";
    if (phase != JM__NO_NODE) path = jm__tree_text(v->tree, "%s/(idle)", v->tree->nodes.items[phase].path);
    return jm__tree_node(v->tree, phase, "(idle)", path, "idle");
}

static void add_to(jm__views *v, size_t board, size_t node, uint32_t column, double seconds)
{
    if (node == JM__NO_NODE) return; /* the tree knows that it has failed */
    v->tree->nodes.items[node].busy_s += seconds;
    v->tree->nodes.items[node].boards |= jm__board_bit(board);
    jm__tree_add(v->tree, node, column, seconds);
}

static bool add_idle(void *context, size_t section, uint32_t column, double seconds)
{
    const idle_target *to = context;
    add_to(to->views, to->board, idle_node(to->views, section), column, seconds);
    return true;
}

/* Of steps that traced ones stand for, in the phases that they lie in. */
static void add_stood(jm__views *v, size_t b)
{
    const jm__board_part *part = &v->a->boards[b];
    const jm__stands *stands = part->stood.stands;
    uint32_t first = (uint32_t)(part->first_column + part->work->columns.class_columns);
    double all_s = 0;
    for (size_t s = 0; s < stands->items.count; s++)
        for (int state = 0; state < JM_IDLE_STATES; state++)
            all_s += part->work->tally.stood_idle_s[s][state];
    for (size_t s = 0; all_s > 0 && s < stands->items.count; s++) {
        const double *idle_s = part->work->tally.stood_idle_s[s];
        for (uint32_t state = 0; state < JM_IDLE_STATES; state++) {
            if (idle_s[state] == 0) continue;
            size_t node = idle_node(v, jm__stood_phase(v->a, stands->items.items[s].span));
            add_to(v, b, node, first + state, idle_s[state]);
            jm__stood_idle_off(v, b, node, (int)state, idle_s[state] / all_s);
        }
    }
}

/* What tracing made, out of the idle time of the phases that it was made in. */
static void part_tracing(jm__views *v, size_t b)
{
    const jm__board_part *part = &v->a->boards[b];
    const jm__stands *stands = part->stood.stands;
    uint32_t first = (uint32_t)(part->first_column + part->work->columns.class_columns);
    for (size_t t = 0; t < stands->turns.count; t++) {
        const double *made_s = part->work->tally.turns[t].tracing_s;
        double all_s = 0;
        for (uint32_t state = 0; state < JM_IDLE_STATES; state++)
            all_s += made_s[state];
        for (uint32_t state = 0; state < JM_IDLE_STATES; state++) {
            if (made_s[state] == 0) continue;
            size_t idle = idle_node(v, jm__stood_phase(v->a, stands->items.items[t].span));
            size_t node = idle == JM__NO_NODE ? idle : jm__view_tracing_node(v, idle);
            add_to(v, b, idle, first + state, -made_s[state]);
            add_to(v, b, node, first + state, made_s[state]);
            jm__stood_tracing_off(v, b, idle, t, (int)state, -made_s[state] / all_s);
            jm__stood_tracing_off(v, b, node, t, (int)state, made_s[state] / all_s);
        }
    }
}

jm_status jm__phase_idle(jm__views *v, size_t b, jm_error *err)
{
    idle_target to = {v, b};
    const jm__idle_walk walk = {is_phase, add_idle, &to};
    JM_TRY(jm__idle_walk_board(&walk, v->a, b, err));
    if (v->a->boards[b].stood.stands == NULL) return JM_OK;
    add_stood(v, b);
    part_tracing(v, b);
    return JM_OK;
}
