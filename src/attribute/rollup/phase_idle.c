/* A row "(idle)" in each phase, and one for what lies in none. */
#include "attribute/rollup/phase_idle.h"

#include "attribute/rollup/step_idle.h"

typedef struct idle_target {
    jm__views *views;
    size_t board;
} idle_target;

static bool is_phase(void *context, size_t span)
{
    const idle_target *to = context;
    return to->views->a->dataset->spans[span].kind == JM_SPAN_PHASE;
}

static size_t idle_node(jm__views *v, size_t span)
{
    size_t phase = span != JM__NO_SPAN ? jm__view_container_node(v, span) : JM__NO_NODE;
    const char *path = "(idle)";
    if (phase != JM__NO_NODE) path = jm__tree_text(v->tree, "%s/(idle)", v->tree->nodes.items[phase].path);
    return jm__tree_node(v->tree, phase, "(idle)", path, "idle");
}

static bool add_idle(void *context, size_t phase, uint32_t column, double seconds)
{
    const idle_target *to = context;
    size_t node = idle_node(to->views, phase);
    if (node == JM__NO_NODE) return true; /* the tree knows that it has failed */
    to->views->tree->nodes.items[node].busy_s += seconds;
    to->views->tree->nodes.items[node].boards |= jm__board_bit(to->board);
    jm__tree_add(to->views->tree, node, column, seconds);
    return true;
}

jm_status jm__phase_idle(jm__views *v, size_t b, jm_error *err)
{
    idle_target to = {v, b};
    const jm__idle_walk walk = {is_phase, add_idle, &to};
    return jm__idle_walk_board(&walk, v->a, b, err);
}
