/* The sweep line over work items. */
#include "attribute/work/sweep.h"

#include "base/clock.h"
#include "base/status.h"

typedef struct sweep {
    jm__pieces *pieces;
    jm__items *items;
    const jm__columns *columns;
    const jm__windows *windows;
    size_t window; /* the first that may still matter */
    JM_VEC(size_t) active;
} sweep;

static bool push(jm__pieces *pieces, int64_t start_ns, int64_t end_ns, uint32_t column, float share)
{
    /* Back to back work of one class is one piece. */
    if (pieces->count > 0) {
        jm__piece *last = &pieces->items[pieces->count - 1];
        if (share == 1 && last->share == 1 && last->column == column && last->end_ns == start_ns) {
            last->end_ns = end_ns;
            return true;
        }
    }
    jm__piece piece = {start_ns, end_ns, column, share};
    return jm__vec_push(pieces, piece);
}

static uint32_t idle_column(const sweep *s, int64_t length_ns, bool before)
{
    jm__idle_state state = JM_IDLE_LONG;
    if (before)
        state = JM_IDLE_BEFORE;
    else if (s->columns->one_gap)
        state = JM_IDLE_LONG;
    else if (length_ns < 50 * JM_NS_PER_US)
        state = JM_IDLE_50_US;
    else if (length_ns < JM_NS_PER_MS)
        state = JM_IDLE_1_MS;
    else if (length_ns < 20 * JM_NS_PER_MS)
        state = JM_IDLE_20_MS;
    return (uint32_t)(s->columns->class_columns + (size_t)state);
}

/* Time of [from, to] inside the windows; the sweep only moves forward. */
static double inside_s(sweep *s, int64_t from_ns, int64_t to_ns)
{
    while (s->window < s->windows->count && s->windows->items[s->window].to_ns <= from_ns)
        s->window++;
    int64_t sum_ns = 0;
    for (size_t i = s->window; i < s->windows->count && s->windows->items[i].from_ns < to_ns; i++) {
        const jm__window *window = &s->windows->items[i];
        int64_t from = window->from_ns > from_ns ? window->from_ns : from_ns;
        int64_t to = window->to_ns < to_ns ? window->to_ns : to_ns;
        sum_ns += to - from;
    }
    return (double)sum_ns * 1e-9;
}

static bool emit_active(sweep *s, int64_t from_ns, int64_t to_ns)
{
    double share = 1.0 / (double)s->active.count;
    double seconds = inside_s(s, from_ns, to_ns) * share;
    for (size_t a = 0; a < s->active.count; a++) {
        jm__item *item = &s->items->items[s->active.items[a]];
        item->seconds += seconds;
        if (!push(s->pieces, from_ns, to_ns, s->columns->of_class[item->class_index], (float)share))
            return false;
    }
    return true;
}

static int64_t first_end(const sweep *s, int64_t limit_ns)
{
    for (size_t a = 0; a < s->active.count; a++) {
        int64_t end_ns = s->items->items[s->active.items[a]].end_ns;
        if (end_ns < limit_ns) limit_ns = end_ns;
    }
    return limit_ns;
}

static void drop_ended(sweep *s, int64_t now_ns)
{
    size_t kept = 0;
    for (size_t a = 0; a < s->active.count; a++)
        if (s->items->items[s->active.items[a]].end_ns > now_ns) s->active.items[kept++] = s->active.items[a];
    s->active.count = kept;
}

static bool run(sweep *s, int64_t from_ns, int64_t to_ns)
{
    size_t next = 0;
    bool before = true;
    int64_t now_ns = from_ns;
    for (;;) {
        while (next < s->items->count && s->items->items[next].start_ns <= now_ns) {
            if (s->items->items[next].end_ns > now_ns && !jm__vec_push(&s->active, next)) return false;
            before = false;
            next++;
        }
        if (now_ns >= to_ns) return true;
        int64_t then_ns = next < s->items->count ? s->items->items[next].start_ns : to_ns;
        if (then_ns > to_ns) then_ns = to_ns;
        if (s->active.count > 0) {
            then_ns = first_end(s, then_ns);
            if (!emit_active(s, now_ns, then_ns)) return false;
        } else if (!push(s->pieces, now_ns, then_ns, idle_column(s, then_ns - now_ns, before), 1)) {
            return false;
        }
        now_ns = then_ns;
        drop_ended(s, now_ns);
    }
}

jm_status jm__sweep(jm__pieces *pieces, jm__items *items, const jm__columns *columns,
                    const jm__windows *windows, int64_t from_ns, int64_t to_ns, jm_error *err)
{
    sweep s = {.pieces = pieces, .items = items, .columns = columns, .windows = windows};
    bool fine = run(&s, from_ns, to_ns);
    jm__vec_free(&s.active);
    return fine ? JM_OK : jm__no_memory(err, "jm__sweep");
}
