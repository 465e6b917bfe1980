/* What steps of each kind take, and what tracing them has cost. */
#include "run/budget_kinds.h"

#include "base/alike.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEDIAN_ERROR 1.2533 /* of a median, in errors of a mean */
enum { COMPARED_LEAST = 3 };

/* ---- how long steps take */

static void keep(jm__budget_last *last, int64_t ns)
{
    last->ns[last->count++ % JM_BUDGET_LAST] = ns;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median_of(int64_t *ns, size_t count)
{
    if (count == 0) return 0;
    qsort(ns, count, sizeof *ns, by_value);
    return (ns[(count - 1) / 2] + ns[count / 2]) / 2;
}

int64_t jm__budget_median(const jm__budget_last *last, size_t most, int64_t *mad_ns)
{
    int64_t ns[JM_BUDGET_LAST];
    size_t count = last->count < most ? last->count : most;
    for (size_t i = 0; i < count; i++)
        ns[i] = last->ns[(last->count - 1 - i) % JM_BUDGET_LAST];
    int64_t middle = median_of(ns, count);
    for (size_t i = 0; i < count; i++)
        ns[i] = llabs(ns[i] - middle);
    if (mad_ns != NULL) *mad_ns = median_of(ns, count);
    return middle;
}

static double error_of(size_t count, int64_t mad_ns)
{
    return MEDIAN_ERROR * JM_BUDGET_MAD_TO_SIGMA * (double)mad_ns / sqrt((double)count);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

bool jm__budget_has_known_time(const jm__budget_kind *kind)
{
    return kind->untraced_ns >= JM_BUDGET_COMPARED_NS;
}

/* What the traced steps of a turn took longer than the untraced ones around it. */
static void compare(jm__budget_kind *kind)
{
    size_t traced = least(kind->traced.count, JM_BUDGET_LAST),
           untraced = least(kind->untraced.count, JM_BUDGET_LAST);
    if (kind->owed >= COMPARED_LEAST) traced = least(traced, kind->owed);
    if (traced < COMPARED_LEAST || untraced < COMPARED_LEAST) return;
    if (!jm__budget_has_known_time(kind)) return;
    int64_t traced_mad_ns, untraced_mad_ns;
    int64_t traced_ns = jm__budget_median(&kind->traced, traced, &traced_mad_ns);
    int64_t untraced_ns = jm__budget_median(&kind->untraced, untraced, &untraced_mad_ns);
    kind->compared = true;
    kind->extra_ns = traced_ns > untraced_ns ? (double)(traced_ns - untraced_ns) : 0;
    kind->extra_error_ns = hypot(error_of(traced, traced_mad_ns), error_of(untraced, untraced_mad_ns));
}

/* What a traced step takes longer; of a kind that cannot be compared yet, as others do. */
static double extra_ns(const jm__budget *b, const jm__budget_kind *kind)
{
    if (kind->compared) return kind->extra_ns;
    int64_t untraced_ns = jm__budget_median(&kind->untraced, JM_BUDGET_LAST, NULL);
    return b->slower * (double)(untraced_ns > 0 ? untraced_ns : kind->before_ns);
}

/* ---- kinds */

static jm__budget_step key_of(const jm__budget *b, const jm__budget_step *step)
{
    return (jm__budget_step){.name = b->nameless ? 0 : step->name,
                             .phase = step->phase,
                             .samples = jm__alike_count(step->samples),
                             .tokens = jm__alike_count(step->tokens),
                             .whole = step->whole};
}

static bool is_of(const jm__budget_kind *kind, const jm__budget_step *key)
{
    return kind->steps > 0 && memcmp(&kind->step, key, sizeof *key) == 0;
}

/* The steps of its name and phase, whatever their counts: has it been traced from its beginning? */
static bool is_opened(const jm__budget *b, const jm__budget_step *key)
{
    for (size_t i = 0; i < JM_BUDGET_KINDS; i++) {
        const jm__budget_kind *kind = &b->kinds[i];
        bool same = kind->steps > 0 && kind->step.name == key->name && kind->step.phase == key->phase &&
                    kind->step.whole == key->whole;
        if (same && kind->opened) return true;
    }
    return false;
}

/* The kind of a step that has ended. Where there are more than can be held, the one that was not seen for
 * longest goes. */
static jm__budget_kind *kind_of(jm__budget *b, const jm__budget_step *step)
{
    jm__budget_step key = key_of(b, step);
    if (b->kind != NULL && is_of(b->kind, &key)) return b->kind;
    jm__budget_kind *oldest = NULL;
    for (size_t i = 0; i < JM_BUDGET_KINDS; i++) {
        jm__budget_kind *kind = &b->kinds[i];
        if (is_of(kind, &key)) return kind;
        if (kind != b->awaited && (oldest == NULL || kind->last < oldest->last)) oldest = kind;
    }
    b->lonely += oldest->steps == 1;
    b->nameless = b->nameless || b->lonely > JM_BUDGET_KINDS;
    *oldest = (jm__budget_kind){.step = key, .opened = is_opened(b, &key)};
    return oldest;
}

const jm__budget_kind *jm__budget_guess(const jm__budget *b, const jm__budget_step *step)
{
    jm__budget_step key = key_of(b, step);
    const jm__budget_kind *last = NULL;
    for (size_t i = 0; i < JM_BUDGET_KINDS; i++) {
        const jm__budget_kind *kind = &b->kinds[i];
        if (kind->steps == 0 || kind->step.name != key.name || kind->step.phase != key.phase) continue;
        if (kind->step.whole != key.whole) continue;
        if (key.samples != 0 && kind->step.samples != key.samples) continue;
        if (key.tokens != 0 && kind->step.tokens != key.tokens) continue;
        if (last == NULL || kind->last > last->last) last = kind;
    }
    return last;
}

bool jm__budget_is_opened(const jm__budget *b, const jm__budget_kind *kind, const jm__budget_step *step)
{
    jm__budget_step key = key_of(b, step);
    return (kind != NULL && kind->opened) || is_opened(b, &key);
}

/* ---- what it has cost */

/* Never less than nothing: a program whose steps become quicker would have it that tracing pays. What makes a
 * step twice as long is no launch that costs more. */
static void charge_after(jm__budget *b, jm__budget_kind *kind)
{
    if (kind->owed_after == 0 || kind->untraced.count < COMPARED_LEAST) return;
    int64_t untraced_ns = jm__budget_median(&kind->untraced, JM_BUDGET_LAST, NULL);
    int64_t after_ns = jm__budget_median(&kind->after, least(kind->owed_after, JM_BUDGET_LAST), NULL);
    if (after_ns > untraced_ns && after_ns < 2 * untraced_ns)
        b->spent_ns += (double)kind->owed_after * (double)(after_ns - untraced_ns);
    kind->owed_after = 0;
}

void jm__budget_charge(jm__budget *b)
{
    for (size_t i = 0; i < JM_BUDGET_KINDS; i++) {
        jm__budget_kind *kind = &b->kinds[i];
        charge_after(b, kind);
        if (kind->owed == 0) continue;
        compare(kind);
        if (!kind->compared && b->slower == 0) continue; /* nobody knows yet */
        double extra = extra_ns(b, kind);
        int64_t untraced_ns = jm__budget_median(&kind->untraced, JM_BUDGET_LAST, NULL);
        if (kind->compared && untraced_ns > 0) b->slower = extra / (double)untraced_ns;
        b->spent_ns += (double)kind->owed * extra;
        kind->owed = 0;
    }
}

double jm__budget_cost(jm__budget *b, int64_t now_ns)
{
    jm__budget_charge(b);
    int64_t elapsed_ns = now_ns - b->began_ns;
    return elapsed_ns > 0 ? b->spent_ns / (double)elapsed_ns : 0;
}

double jm__budget_left_at_ns(const jm__budget *b, double part, int64_t t_ns)
{
    return part * b->share * (double)(t_ns - b->began_ns) - b->spent_ns;
}

double jm__budget_left_ns(const jm__budget *b, double part)
{
    return jm__budget_left_at_ns(b, part, b->now_ns);
}

double jm__budget_steps_in(int64_t ns, int64_t step_ns)
{
    return step_ns > 0 ? ceil((double)ns / (double)step_ns) : 1;
}

double jm__budget_turn_cost_ns(const jm__budget *b, const jm__budget_kind *kind)
{
    if (kind == NULL) return (double)b->switch_ns;
    int64_t step_ns = kind->before_ns;
    double warm = jm__budget_steps_in(JM_BUDGET_WARM_NS, step_ns),
           on = jm__budget_steps_in(JM_BUDGET_TURN_NS, step_ns);
    if (on < JM_BUDGET_TURN_STEPS && step_ns < JM_BUDGET_LONG_NS) on = JM_BUDGET_TURN_STEPS;
    double extra = extra_ns(b, kind);
    return (double)b->switch_ns + fmax(b->early_ns, (warm + 1) * extra) + (on - 1) * extra;
}

bool jm__budget_is_cheap(const jm__budget *b, const jm__budget_kind *kind)
{
    double step_ns = (double)jm__budget_median(&kind->untraced, JM_BUDGET_LAST, NULL);
    return kind->compared && kind->extra_ns + kind->extra_error_ns <= JM_BUDGET_REGULAR * b->share * step_ns;
}

/* ---- a step has ended */

static void open_kind(jm__budget_kind *kind, int64_t took_ns)
{
    bool quicker = 3 * took_ns < 2 * kind->before_ns;
    kind->settled = kind->settled || (kind->steps > 1 && !quicker) || kind->steps > JM_BUDGET_SETTLING_STEPS;
    if (!kind->settled) return;
    kind->opening_ns += took_ns;
    kind->opening_steps++;
    uint64_t wanted =
        kind->opening_ns >= JM_BUDGET_OPENED_NS ? JM_BUDGET_OPENED_STEPS_LEAST : JM_BUDGET_OPENED_STEPS;
    kind->opened = kind->opening_steps >= wanted;
}

static void note_place(jm__budget *b, jm__budget_kind *kind)
{
    if (kind != b->kind) {
        uint64_t gap = b->steps - kind->entered;
        if (kind->steps > 0) kind->gap = kind->gap == 0 || gap < kind->gap ? gap : (kind->gap + gap) / 2;
        kind->entered = b->steps;
        kind->stay = 0;
    }
    kind->stay++;
    kind->last = b->steps;
    kind->steps++;
}

/* Nothing of tracing is left; of long ones there are too few to leave one out. */
static bool is_clean(const jm__budget *b, int64_t took_ns)
{
    return b->since_ns >= JM_BUDGET_AFTER_NS || took_ns >= JM_BUDGET_LONG_NS;
}

/* One of the first steps of a turn, for which the others do not speak. */
static bool is_early(const jm__budget *b, const jm__budget_kind *kind, int64_t took_ns)
{
    bool is_first = b->level == JM_TRACING_WARM || (b->turned && b->since_steps == 0);
    return is_first && kind->step.whole == 0 && took_ns < JM_BUDGET_LONG_NS &&
           kind->untraced.count >= COMPARED_LEAST;
}

static void charge_early(jm__budget *b, const jm__budget_kind *kind, int64_t took_ns)
{
    double longer_ns = (double)(took_ns - jm__budget_median(&kind->untraced, JM_BUDGET_LAST, NULL));
    longer_ns = fmin(fmax(longer_ns, 0), (double)JM_BUDGET_EARLY_NS); /* as above */
    b->early_ns += longer_ns;
    b->spent_ns += longer_ns;
}

void jm__budget_end_step(jm__budget *b, int64_t t_ns)
{
    int64_t took_ns = t_ns > b->step_ns ? t_ns - b->step_ns : 0;
    jm__budget_kind *kind = kind_of(b, &b->step);
    note_place(b, kind);
    if (b->level != JM_TRACING_STEPS) {
        if (is_early(b, kind, took_ns))
            charge_early(b, kind, took_ns);
        else
            kind->owed++;
        b->traced_steps += b->level == JM_TRACING_ON && kind->step.whole == 0;
        if (!kind->opened && b->level == JM_TRACING_ON) open_kind(kind, took_ns);
        if (kind->settled || kind->opened) keep(&kind->traced, took_ns);
        if (kind == b->awaited && b->level == JM_TRACING_ON) b->awaited = NULL;
    } else if (is_clean(b, took_ns)) {
        keep(&kind->untraced, took_ns);
        kind->untraced_ns += took_ns;
    } else {
        keep(&kind->after, took_ns);
        kind->owed_after++;
    }
    kind->before_ns = took_ns;
    b->kind = kind;
    b->since_ns += took_ns;
    b->since_steps++;
}
