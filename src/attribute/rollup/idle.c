/* A board's idle states, parted by why nothing ran: gaps of one state draw alike, whatever their cause. */
#include "attribute/rollup/idle.h"

#include "attribute/rollup/stood_rows.h"

static const char *const texts[JM_IDLE_CAUSES] = {
#define X(name, text) [JM_CAUSE_##name] = text,
    JM_IDLE_CAUSE_MAP(X)
#undef X
};

static void add_time(jm__views *v, size_t b, size_t node, size_t column, double seconds)
{
    if (node == JM__NO_NODE || seconds == 0) return;
    jm__node *row = &v->tree->nodes.items[node];
    row->busy_s += seconds;
    row->boards |= jm__board_bit(b);
    jm__tree_add(v->tree, node, (uint32_t)(v->a->boards[b].first_column + column), seconds);
}

/* Of all time that a turn was idle for being traced, which is off against all other idle time. */
static void add_tracing_off(jm__views *v, size_t b, size_t node, int state, double share)
{
    const jm__tally *tally = &v->a->boards[b].work->tally;
    for (size_t t = 0; t < v->a->boards[b].stood.stands->turns.count; t++)
        if (tally->turns[t].tracing_u_s > 0) jm__stood_tracing_off(v, b, node, t, state, share);
}

/* What a cause is off by: its share of what all are, but that what tracing made does not stand for other
 * steps.
 */
static void add_off(jm__views *v, size_t b, size_t node, size_t cause)
{
    const jm__tally *tally = &v->a->boards[b].work->tally;
    double all_s = 0, made_s = 0;
    for (size_t state = 0; state < JM_IDLE_STATES; state++)
        for (size_t other = 0; other < JM_IDLE_CAUSES; other++)
            *(other == JM_CAUSE_TRACING ? &made_s : &all_s) += tally->idle_s[state][other];
    for (int state = 0; state < JM_IDLE_STATES; state++) {
        double seconds = tally->idle_s[state][cause];
        if (seconds == 0) continue;
        if (cause == JM_CAUSE_TRACING) {
            add_tracing_off(v, b, node, state, seconds / made_s);
            continue;
        }
        jm__stood_idle_off(v, b, node, state, seconds / all_s);
        if (made_s > 0) add_tracing_off(v, b, node, state, -seconds / all_s);
    }
}

static void add_cause(jm__views *v, size_t b, size_t idle, size_t cause)
{
    const jm__board_work *work = v->a->boards[b].work;
    size_t node = jm__view_node_under(v, idle, texts[cause], "gap");
    if (node == JM__NO_NODE) return;
    v->tree->nodes.items[node].calls += work->tally.gaps[cause];
    for (size_t state = 0; state < JM_IDLE_STATES; state++)
        add_time(v, b, node, work->columns.class_columns + state, work->tally.idle_s[state][cause]);
    if (v->a->boards[b].stood.stands != NULL) add_off(v, b, node, cause);
}

static bool lasts(const jm__tally *tally, size_t cause)
{
    for (size_t state = 0; state < JM_IDLE_STATES; state++)
        if (tally->idle_s[state][cause] > 0) return true;
    return false;
}

/* Without kernels nobody knows the gaps: all of it is one row. */
static void add_whole(jm__views *v, size_t b, size_t idle)
{
    const jm__board_work *work = v->a->boards[b].work;
    for (size_t k = work->columns.class_columns; k < work->columns.count; k++)
        add_time(v, b, idle, k, work->seconds[k]);
}

void jm__idle_add(jm__views *v, jm__mostly *mostly, size_t b)
{
    const jm__board_work *work = v->a->boards[b].work;
    size_t idle = jm__tree_node(v->tree, JM__NO_NODE, "(idle)", "(idle)", "idle");
    if (idle == JM__NO_NODE) return;
    if (work->from_host) {
        add_whole(v, b, idle);
        return;
    }
    for (size_t cause = 0; cause < JM_IDLE_CAUSES; cause++)
        if (work->tally.gaps[cause] > 0 || lasts(&work->tally, cause)) add_cause(v, b, idle, cause);
    for (size_t i = 0; i < work->tally.waits.items.count && !v->tree->failed; i++) {
        const jm__work_cell *wait = &work->tally.waits.items.items[i];
        jm__mostly_add(mostly, jm__view_node_under(v, idle, texts[wait->row], "gap"), wait->use,
                       wait->seconds);
    }
}

size_t jm__view_tracing_node(jm__views *v, size_t idle)
{
    return jm__view_node_under(v, idle, texts[JM_CAUSE_TRACING], "gap");
}
