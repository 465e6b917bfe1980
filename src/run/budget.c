/* The rules of a budget for tracing. */
#include "run/budget_kinds.h"

#include <math.h>

#define LOOK_NS                                                                                              \
    (10 * JM_NS_PER_MS) /* between two looks at whether a turn is due: of short steps not at each */
enum { CHANGED_LAST = 5 };

void jm__budget_have(jm__budget *b, jm_tracing level)
{
    if (level == b->level) return;
    if (level == JM_TRACING_STEPS) b->awaited = NULL;
    if (level == JM_TRACING_WARM) b->early_ns = 0;
    if (level != JM_TRACING_WARM) b->on_step = 0;
    b->level = level;
    b->soon_ns = 0;
    b->since_ns = 0;
    b->since_steps = 0;
}

/* Untraced steps take another time than at the last turn. */
static bool has_changed(const jm__budget_kind *kind)
{
    if (kind->change_ns == 0 || kind->untraced.count < CHANGED_LAST) return false;
    double differs = fabs((double)(jm__budget_median(&kind->untraced, CHANGED_LAST, NULL) - kind->change_ns));
    double chance = 4 * JM_BUDGET_MAD_TO_SIGMA * (double)kind->change_mad_ns;
    return differs > JM_BUDGET_CHANGE * (double)kind->change_ns && differs > chance;
}

static uint64_t warm_steps(const jm__budget_kind *kind)
{
    return kind == NULL ? 1 : (uint64_t)jm__budget_steps_in(JM_BUDGET_WARM_NS, kind->before_ns);
}

/* Steps of it come one at a time, or so few that none would be left once the turn is warm. */
static bool comes_alone(const jm__budget *b, const jm__budget_kind *kind)
{
    bool is_whole = kind != NULL && kind->step.whole != 0;
    return kind != NULL && !is_whole && kind != b->kind && kind->gap > 0 && kind->stay <= warm_steps(kind);
}

/* A kind that comes and goes (the prompt of a generation) and is not known yet: the turn has to begin before
 * it.
 */
static const jm__budget_kind *expected(const jm__budget *b)
{
    for (size_t i = 0; i < JM_BUDGET_KINDS; i++) {
        const jm__budget_kind *kind = &b->kinds[i];
        bool wanted = kind->steps > 0 && kind->step.whole == 0 && kind != b->kind &&
                      (!kind->opened || kind->traced.count == 0);
        if (wanted && kind->gap > 0 && b->steps + warm_steps(b->kind) - kind->entered >= kind->gap)
            return kind;
    }
    return NULL;
}

static int64_t last_ns(const jm__budget_kind *kind)
{
    return kind == NULL ? 0 : kind->before_ns;
}

/* From asking for a turn to the first step that is traced. */
static uint64_t steps_ahead(const jm__budget *b, const jm__budget_kind *kind, bool whole)
{
    return whole ? 0 : 2 * b->lag_steps + warm_steps(kind);
}

static int64_t ahead_ns(const jm__budget *b, const jm__budget_kind *kind, bool whole)
{
    return (int64_t)steps_ahead(b, kind, whole) * last_ns(kind);
}

/* How long a turn that is due waits after it was told. Not where it takes as long by itself, nor where a step
 * is so long that it would come too late. */
static int64_t wait_ns(const jm__budget *b, const jm__budget_kind *kind, bool whole)
{
    int64_t by_itself_ns = ahead_ns(b, kind, whole);
    int64_t in_steps_ns = (int64_t)jm__budget_steps_in(JM_BUDGET_AHEAD_NS, last_ns(kind)) * last_ns(kind);
    bool waits = by_itself_ns < JM_BUDGET_AHEAD_NS && in_steps_ns + by_itself_ns <= JM_BUDGET_AHEAD_MOST_NS;
    return waits ? JM_BUDGET_AHEAD_NS : 0;
}

/* What was told comes, whichever kind's step it begins with, unless the last turns turned out to cost more.
 */
static bool is_told_due(jm__budget *b)
{
    if (b->now_ns - b->soon_ns < JM_BUDGET_AHEAD_NS) return false;
    bool comes = jm__budget_left_ns(b, 1) >= b->soon_cost_ns;
    if (!comes) b->soon_ns = 0;
    return comes;
}

/* Nothing but time calls for it: it is told ahead. */
static bool is_regular_due(jm__budget *b, const jm__budget_kind *kind, bool whole, double cost_ns)
{
    if (b->soon_ns > 0) return is_told_due(b);
    bool is_new = kind == NULL || kind->traced.count == 0;
    double part = is_new || has_changed(kind) ? 1 : JM_BUDGET_REGULAR;
    int64_t waits_ns = wait_ns(b, kind, whole);
    bool is_apart = b->since_steps >= JM_BUDGET_APART_STEPS && b->since_ns + waits_ns >= JM_BUDGET_APART_NS;
    bool is_known = kind == NULL || kind->owed == 0 || jm__budget_has_known_time(kind); /* else it soon is */
    if (!is_apart || !is_known || jm__budget_left_at_ns(b, part, b->now_ns + waits_ns) < cost_ns)
        return false;
    if (waits_ns == 0) return true;
    b->soon_ns = b->now_ns;
    b->soon_cost_ns = cost_ns;
    return false;
}

/* Of a program whose steps alone are recorded. */
static bool is_due(jm__budget *b, const jm__budget_kind *kind, bool whole, bool opened)
{
    double cost_ns = jm__budget_turn_cost_ns(b, kind);
    if (!opened && !comes_alone(b, kind)) return jm__budget_left_ns(b, 1) + JM_BUDGET_DEBT_NS >= cost_ns;
    const jm__budget_kind *other = expected(b);
    if (other != NULL && jm__budget_left_ns(b, 1) + (other->opened ? 0 : JM_BUDGET_DEBT_NS) >= cost_ns) {
        b->awaited = other;
        return true;
    }
    return is_regular_due(b, kind, whole, cost_ns);
}

static bool has_lasted(const jm__budget *b)
{
    int64_t least_ns = b->turned ? JM_BUDGET_TURN_NS : JM_BUDGET_OPENING_NS;
    bool is_long = b->since_ns >= JM_BUDGET_LONG_NS;
    return b->since_ns >= least_ns && b->since_steps >= (is_long ? 1 : JM_BUDGET_TURN_STEPS);
}

/* Of one that is traced. `looks`: what it has cost is added up. */
static bool is_over(jm__budget *b, const jm__budget_kind *kind, bool opened, bool looks)
{
    if (!opened) return jm__budget_left_ns(b, 1) + JM_BUDGET_DEBT_NS < 0;
    if (!has_lasted(b)) return false;
    if (b->awaited != NULL)
        return jm__budget_left_ns(b, 1) + (b->awaited->opened ? 0 : JM_BUDGET_DEBT_NS) < 0;
    if (!looks && b->all) return false;
    b->all = kind != NULL && jm__budget_is_cheap(b, kind) && jm__budget_left_ns(b, 1) >= 0 &&
             (b->since_ns < JM_BUDGET_CHECK_NS || b->since_steps < JM_BUDGET_CHECK_STEPS);
    return !b->all;
}

/* For each kind that has been compared or soon will be: how long it takes before the turn. */
static void note_changes(jm__budget *b)
{
    for (size_t i = 0; i < JM_BUDGET_KINDS; i++) {
        jm__budget_kind *kind = &b->kinds[i];
        kind->change_ns = jm__budget_median(&kind->untraced, JM_BUDGET_LAST, &kind->change_mad_ns);
    }
}

/* Of a program whose steps alone are recorded. */
static void begin_turn(jm__budget *b, const jm__budget_kind *kind, bool whole)
{
    note_changes(b);
    b->on_step = b->steps + steps_ahead(b, kind, whole);
    b->on_told = ahead_ns(b, kind, whole) < JM_BUDGET_AHEAD_NS;
}

/* The turn that comes. */
static void tell_on_its_way(jm__budget *b, const jm__budget_kind *kind)
{
    if (b->on_told || b->on_step <= b->steps) return;
    if ((int64_t)(b->on_step - b->steps) * last_ns(kind) > JM_BUDGET_AHEAD_MOST_NS) return;
    b->soon_ns = b->now_ns;
    b->soon_cost_ns = jm__budget_turn_cost_ns(b, kind);
    b->on_told = true;
}

static jm_tracing next_level(jm__budget *b, const jm__budget_kind *kind, const jm__budget_step *step)
{
    bool whole = step->whole != 0;
    bool opened = jm__budget_is_opened(b, kind, step);
    bool looks = b->now_ns >= b->look_ns;
    if (looks) {
        jm__budget_charge(b);
        b->look_ns = b->now_ns + LOOK_NS;
    }
    if (b->level == JM_TRACING_WARM)
        return !whole && b->since_ns < JM_BUDGET_WARM_NS ? JM_TRACING_WARM : JM_TRACING_ON;
    if (b->level == JM_TRACING_ON) {
        if (!is_over(b, kind, opened, looks)) return JM_TRACING_ON;
        b->turned = true;
        return JM_TRACING_STEPS;
    }
    if (whole || b->on_step <= b->steps) {
        if ((!looks && kind != NULL) || !is_due(b, kind, whole, opened)) return JM_TRACING_STEPS;
        begin_turn(b, kind, whole);
    }
    return whole ? JM_TRACING_ON : JM_TRACING_WARM;
}

jm_tracing jm__budget_begin(jm__budget *b, const jm__budget_step *step, int64_t t_ns)
{
    b->now_ns = t_ns;
    if (b->goes_on) jm__budget_end_step(b, t_ns);
    b->goes_on = true;
    b->step = *step;
    b->step_ns = t_ns;
    b->steps++;
    b->wholes += step->whole;
    const jm__budget_kind *kind = jm__budget_guess(b, step);
    jm_tracing level = next_level(b, kind, step);
    tell_on_its_way(b, kind);
    return level;
}

void jm__budget_rest(jm__budget *b, int64_t t_ns)
{
    b->now_ns = t_ns;
    if (b->goes_on) jm__budget_end_step(b, t_ns);
    b->goes_on = false;
}

void jm__budget_switched(jm__budget *b, int64_t t_ns)
{
    int64_t took_ns = t_ns > b->step_ns ? t_ns - b->step_ns : 0;
    b->spent_ns += (double)took_ns;
    b->switch_ns = b->level == JM_TRACING_WARM ? took_ns : b->switch_ns + took_ns;
    b->step_ns = t_ns;
}

void jm__budget_count(jm__budget *b, uint32_t samples, uint32_t tokens)
{
    if (samples != 0) b->step.samples = samples;
    if (tokens != 0) b->step.tokens = tokens;
}

void jm__budget_init(jm__budget *b, double share, int64_t now_ns)
{
    *b = (jm__budget){.share = share, .began_ns = now_ns, .now_ns = now_ns, .level = JM_TRACING_ON};
}
