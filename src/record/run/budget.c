/* A budget for tracing: what steps of each kind take, what tracing them has cost, and the rules of turns.
 * `kind` is NULL where it is not known. */
#include "record/run/budget.h"

#include "base/count_class.h"
#include "base/private_file.h"

#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAD_TO_SIGMA 1.4826 /* of a normal distribution */
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

/* Of the last `most` ones, nanoseconds. `mad_ns`, unless NULL: the median of their distances from it. */
static int64_t median_of_last(const jm__budget_last *last, size_t most, int64_t *mad_ns)
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
    return MEDIAN_ERROR * MAD_TO_SIGMA * (double)mad_ns / sqrt((double)count);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* So many of its untraced steps are known that traced ones can be compared with them. */
static bool has_known_time(const jm__step_class *kind)
{
    return kind->untraced_ns >= JM_BUDGET_COMPARED_NS;
}

/* What the traced steps of a turn took longer than the untraced ones around it. */
static void compare(jm__step_class *kind)
{
    size_t traced = least(kind->traced.count, JM_BUDGET_LAST),
           untraced = least(kind->untraced.count, JM_BUDGET_LAST);
    if (kind->owed >= COMPARED_LEAST) traced = least(traced, kind->owed);
    if (traced < COMPARED_LEAST || untraced < COMPARED_LEAST) return;
    if (!has_known_time(kind)) return;
    int64_t traced_mad_ns, untraced_mad_ns;
    int64_t traced_ns = median_of_last(&kind->traced, traced, &traced_mad_ns);
    int64_t untraced_ns = median_of_last(&kind->untraced, untraced, &untraced_mad_ns);
    kind->compared = true;
    kind->extra_ns = traced_ns > untraced_ns ? (double)(traced_ns - untraced_ns) : 0;
    kind->extra_error_ns = hypot(error_of(traced, traced_mad_ns), error_of(untraced, untraced_mad_ns));
}

/* What a traced step takes longer; of a kind that cannot be compared yet, as others do. */
static double extra_ns(const jm__budget *b, const jm__step_class *kind)
{
    if (kind->compared) return kind->extra_ns;
    int64_t untraced_ns = median_of_last(&kind->untraced, JM_BUDGET_LAST, NULL);
    return b->slower * (double)(untraced_ns > 0 ? untraced_ns : kind->before_ns);
}

/* ---- kinds */

static jm__budget_step key_of(const jm__budget *b, const jm__budget_step *step)
{
    return (jm__budget_step){.name = b->nameless ? 0 : step->name,
                             .phase = step->phase,
                             .samples = jm__count_class(step->samples),
                             .tokens = jm__count_class(step->tokens),
                             .whole = step->whole};
}

static bool is_of(const jm__step_class *kind, const jm__budget_step *key)
{
    return kind->steps > 0 && memcmp(&kind->step, key, sizeof *key) == 0;
}

/* The steps of its name and phase, whatever their counts: has it been traced from its beginning? */
static bool is_opened(const jm__budget *b, const jm__budget_step *key)
{
    for (size_t i = 0; i < JM_STEP_CLASSES; i++) {
        const jm__step_class *kind = &b->kinds[i];
        bool same = kind->steps > 0 && kind->step.name == key->name && kind->step.phase == key->phase &&
                    kind->step.whole == key->whole;
        if (same && kind->opened) return true;
    }
    return false;
}

/* The kind of a step that has ended. Where there are more than can be held, the one that was not seen for
 * longest goes. */
static jm__step_class *kind_of(jm__budget *b, const jm__budget_step *step)
{
    jm__budget_step key = key_of(b, step);
    if (b->kind != NULL && is_of(b->kind, &key)) return b->kind;
    jm__step_class *oldest = NULL;
    for (size_t i = 0; i < JM_STEP_CLASSES; i++) {
        jm__step_class *kind = &b->kinds[i];
        if (is_of(kind, &key)) return kind;
        if (kind != b->awaited && (oldest == NULL || kind->last < oldest->last)) oldest = kind;
    }
    b->lonely += oldest->steps == 1;
    b->nameless = b->nameless || b->lonely > JM_STEP_CLASSES;
    *oldest = (jm__step_class){.step = key, .opened = is_opened(b, &key)};
    return oldest;
}

/* Of a step that begins, whose tokens may be told at its end: that of the last one like it; NULL: it is new.
 */
static const jm__step_class *guess(const jm__budget *b, const jm__budget_step *step)
{
    jm__budget_step key = key_of(b, step);
    const jm__step_class *last = NULL;
    for (size_t i = 0; i < JM_STEP_CLASSES; i++) {
        const jm__step_class *kind = &b->kinds[i];
        if (kind->steps == 0 || kind->step.name != key.name || kind->step.phase != key.phase) continue;
        if (kind->step.whole != key.whole) continue;
        if (key.samples != 0 && kind->step.samples != key.samples) continue;
        if (key.tokens != 0 && kind->step.tokens != key.tokens) continue;
        if (last == NULL || kind->last > last->last) last = kind;
    }
    return last;
}

static bool is_traced_from_its_beginning(const jm__budget *b, const jm__step_class *kind,
                                         const jm__budget_step *step)
{
    jm__budget_step key = key_of(b, step);
    return (kind != NULL && kind->opened) || is_opened(b, &key);
}

/* ---- what it has cost */

/* Never less than nothing: a program whose steps become quicker would have it that tracing pays. What makes a
 * step twice as long is no launch that costs more. */
static void charge_after(jm__budget *b, jm__step_class *kind)
{
    if (kind->owed_after == 0 || kind->untraced.count < COMPARED_LEAST) return;
    int64_t untraced_ns = median_of_last(&kind->untraced, JM_BUDGET_LAST, NULL);
    int64_t after_ns = median_of_last(&kind->after, least(kind->owed_after, JM_BUDGET_LAST), NULL);
    if (after_ns > untraced_ns && after_ns < 2 * untraced_ns)
        b->spent_ns += (double)kind->owed_after * (double)(after_ns - untraced_ns);
    kind->owed_after = 0;
}

/* Add up what traced steps have cost since the last time. */
static void charge(jm__budget *b)
{
    for (size_t i = 0; i < JM_STEP_CLASSES; i++) {
        jm__step_class *kind = &b->kinds[i];
        charge_after(b, kind);
        if (kind->owed == 0) continue;
        compare(kind);
        if (!kind->compared && b->slower == 0) continue; /* nobody knows yet */
        double extra = extra_ns(b, kind);
        int64_t untraced_ns = median_of_last(&kind->untraced, JM_BUDGET_LAST, NULL);
        if (kind->compared && untraced_ns > 0) b->slower = extra / (double)untraced_ns;
        b->spent_ns += (double)kind->owed * extra;
        kind->owed = 0;
    }
}

double jm__budget_cost(jm__budget *b, int64_t now_ns)
{
    charge(b);
    int64_t elapsed_ns = now_ns - b->began_ns;
    return elapsed_ns > 0 ? b->spent_ns / (double)elapsed_ns : 0;
}

/* What is left of that part of the share at that time; below 0: it is owed. */
static double left_at_ns(const jm__budget *b, double part, int64_t t_ns)
{
    return part * b->share * (double)(t_ns - b->began_ns) - b->spent_ns;
}

static double left_ns(const jm__budget *b, double part)
{
    return left_at_ns(b, part, b->now_ns);
}

/* So many steps, of which each takes that long, take at least `ns`. */
static double steps_in(int64_t ns, int64_t step_ns)
{
    return step_ns > 0 ? ceil((double)ns / (double)step_ns) : 1;
}

/* What a turn that begins with the kind will cost. */
static double burst_cost_ns(const jm__budget *b, const jm__step_class *kind)
{
    if (kind == NULL) return (double)b->switch_ns;
    int64_t step_ns = kind->before_ns;
    double warm = steps_in(JM_BUDGET_WARM_NS, step_ns), on = steps_in(JM_BUDGET_BURST_NS, step_ns);
    if (on < JM_BUDGET_BURST_STEPS && step_ns < JM_BUDGET_LONG_NS) on = JM_BUDGET_BURST_STEPS;
    double extra = extra_ns(b, kind);
    return (double)b->switch_ns + fmax(b->early_ns, (warm + 1) * extra) + (on - 1) * extra;
}

/* Tracing each step of the kind costs less than turns may, and that is no chance. */
static bool is_cheap(const jm__budget *b, const jm__step_class *kind)
{
    double step_ns = (double)median_of_last(&kind->untraced, JM_BUDGET_LAST, NULL);
    return kind->compared && kind->extra_ns + kind->extra_error_ns <= JM_BUDGET_REGULAR * b->share * step_ns;
}

/* ---- a step has ended */

static void open_kind(jm__step_class *kind, int64_t took_ns)
{
    bool quicker = 3 * took_ns < 2 * kind->before_ns;
    kind->settled = kind->settled || (kind->steps > 1 && !quicker) || kind->steps > JM_BUDGET_SETTLING_STEPS;
    if (!kind->settled) return;
    kind->opening_ns += took_ns;
    kind->opening_steps++;
    uint64_t requested =
        kind->opening_ns >= JM_BUDGET_OPENED_NS ? JM_BUDGET_OPENED_STEPS_LEAST : JM_BUDGET_OPENED_STEPS;
    kind->opened = kind->opening_steps >= requested;
}

static void note_place(jm__budget *b, jm__step_class *kind)
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
static bool is_early(const jm__budget *b, const jm__step_class *kind, int64_t took_ns)
{
    bool is_first = b->level == JM_TRACING_WARM || (b->turned && b->since_steps == 0);
    return is_first && kind->step.whole == 0 && took_ns < JM_BUDGET_LONG_NS &&
           kind->untraced.count >= COMPARED_LEAST;
}

static void charge_early(jm__budget *b, const jm__step_class *kind, int64_t took_ns)
{
    double longer_ns = (double)(took_ns - median_of_last(&kind->untraced, JM_BUDGET_LAST, NULL));
    longer_ns = fmin(fmax(longer_ns, 0), (double)JM_BUDGET_EARLY_NS); /* as above */
    b->early_ns += longer_ns;
    b->spent_ns += longer_ns;
}

/* The step that goes on is over. */
static void end_step(jm__budget *b, int64_t t_ns)
{
    int64_t took_ns = t_ns > b->step_ns ? t_ns - b->step_ns : 0;
    jm__step_class *kind = kind_of(b, &b->step);
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

/* ---- the rules of turns */

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
static bool has_changed(const jm__step_class *kind)
{
    if (kind->change_ns == 0 || kind->untraced.count < CHANGED_LAST) return false;
    double differs = fabs((double)(median_of_last(&kind->untraced, CHANGED_LAST, NULL) - kind->change_ns));
    double chance = 4 * MAD_TO_SIGMA * (double)kind->change_mad_ns;
    return differs > JM_BUDGET_CHANGE * (double)kind->change_ns && differs > chance;
}

static uint64_t warm_steps(const jm__step_class *kind)
{
    return kind == NULL ? 1 : (uint64_t)steps_in(JM_BUDGET_WARM_NS, kind->before_ns);
}

/* Steps of it come one at a time, or so few that none would be left once the turn is warm. */
static bool comes_alone(const jm__budget *b, const jm__step_class *kind)
{
    bool is_whole = kind != NULL && kind->step.whole != 0;
    return kind != NULL && !is_whole && kind != b->kind && kind->gap > 0 && kind->stay <= warm_steps(kind);
}

/* A kind that comes and goes (the prompt of a generation) and is not known yet: the turn has to begin before
 * it.
 */
static const jm__step_class *expected(const jm__budget *b)
{
    for (size_t i = 0; i < JM_STEP_CLASSES; i++) {
        const jm__step_class *kind = &b->kinds[i];
        bool requested = kind->steps > 0 && kind->step.whole == 0 && kind != b->kind &&
                         (!kind->opened || kind->traced.count == 0);
        if (requested && kind->gap > 0 && b->steps + warm_steps(b->kind) - kind->entered >= kind->gap)
            return kind;
    }
    return NULL;
}

static int64_t last_ns(const jm__step_class *kind)
{
    return kind == NULL ? 0 : kind->before_ns;
}

/* From asking for a turn to the first step that is traced. */
static uint64_t steps_ahead(const jm__budget *b, const jm__step_class *kind, bool whole)
{
    return whole ? 0 : 2 * b->lag_steps + warm_steps(kind);
}

static int64_t ahead_ns(const jm__budget *b, const jm__step_class *kind, bool whole)
{
    return (int64_t)steps_ahead(b, kind, whole) * last_ns(kind);
}

/* How long a turn that is due waits after it was told. Not where it takes as long by itself, nor where a step
 * is so long that it would come too late. */
static int64_t wait_ns(const jm__budget *b, const jm__step_class *kind, bool whole)
{
    int64_t by_itself_ns = ahead_ns(b, kind, whole);
    int64_t in_steps_ns = (int64_t)steps_in(JM_BUDGET_AHEAD_NS, last_ns(kind)) * last_ns(kind);
    bool waits = by_itself_ns < JM_BUDGET_AHEAD_NS && in_steps_ns + by_itself_ns <= JM_BUDGET_AHEAD_MOST_NS;
    return waits ? JM_BUDGET_AHEAD_NS : 0;
}

/* What was told comes, whichever kind's step it begins with, unless the last turns turned out to cost more.
 */
static bool is_told_due(jm__budget *b)
{
    if (b->now_ns - b->soon_ns < JM_BUDGET_AHEAD_NS) return false;
    bool comes = left_ns(b, 1) >= b->soon_cost_ns;
    if (!comes) b->soon_ns = 0;
    return comes;
}

/* Nothing but time calls for it: it is told ahead. */
static bool is_regular_due(jm__budget *b, const jm__step_class *kind, bool whole, double cost_ns)
{
    if (b->soon_ns > 0) return is_told_due(b);
    bool is_new = kind == NULL || kind->traced.count == 0;
    double part = is_new || has_changed(kind) ? 1 : JM_BUDGET_REGULAR;
    int64_t waits_ns = wait_ns(b, kind, whole);
    bool is_apart = b->since_steps >= JM_BUDGET_APART_STEPS && b->since_ns + waits_ns >= JM_BUDGET_APART_NS;
    bool is_known = kind == NULL || kind->owed == 0 || has_known_time(kind); /* else it soon is */
    if (!is_apart || !is_known || left_at_ns(b, part, b->now_ns + waits_ns) < cost_ns) return false;
    if (waits_ns == 0) return true;
    b->soon_ns = b->now_ns;
    b->soon_cost_ns = cost_ns;
    return false;
}

/* Of a program whose steps alone are recorded. */
static bool is_due(jm__budget *b, const jm__step_class *kind, bool whole, bool opened)
{
    double cost_ns = burst_cost_ns(b, kind);
    if (!opened && !comes_alone(b, kind)) return left_ns(b, 1) + JM_BUDGET_DEBT_NS >= cost_ns;
    const jm__step_class *other = expected(b);
    if (other != NULL && left_ns(b, 1) + (other->opened ? 0 : JM_BUDGET_DEBT_NS) >= cost_ns) {
        b->awaited = other;
        return true;
    }
    return is_regular_due(b, kind, whole, cost_ns);
}

static bool has_lasted(const jm__budget *b)
{
    int64_t least_ns = b->turned ? JM_BUDGET_BURST_NS : JM_BUDGET_OPENING_NS;
    bool is_long = b->since_ns >= JM_BUDGET_LONG_NS;
    return b->since_ns >= least_ns && b->since_steps >= (is_long ? 1 : JM_BUDGET_BURST_STEPS);
}

/* Of one that is traced. `looks`: what it has cost is added up. */
static bool is_over(jm__budget *b, const jm__step_class *kind, bool opened, bool looks)
{
    if (!opened) return left_ns(b, 1) + JM_BUDGET_DEBT_NS < 0;
    if (!has_lasted(b)) return false;
    if (b->awaited != NULL) return left_ns(b, 1) + (b->awaited->opened ? 0 : JM_BUDGET_DEBT_NS) < 0;
    if (!looks && b->all) return false;
    b->all = kind != NULL && is_cheap(b, kind) && left_ns(b, 1) >= 0 &&
             (b->since_ns < JM_BUDGET_CHECK_NS || b->since_steps < JM_BUDGET_CHECK_STEPS);
    return !b->all;
}

/* For each kind that has been compared or soon will be: how long it takes before the turn. */
static void note_changes(jm__budget *b)
{
    for (size_t i = 0; i < JM_STEP_CLASSES; i++) {
        jm__step_class *kind = &b->kinds[i];
        kind->change_ns = median_of_last(&kind->untraced, JM_BUDGET_LAST, &kind->change_mad_ns);
    }
}

/* Of a program whose steps alone are recorded. */
static void begin_burst(jm__budget *b, const jm__step_class *kind, bool whole)
{
    note_changes(b);
    b->on_step = b->steps + steps_ahead(b, kind, whole);
    b->on_told = ahead_ns(b, kind, whole) < JM_BUDGET_AHEAD_NS;
}

/* The turn that comes. */
static void tell_on_its_way(jm__budget *b, const jm__step_class *kind)
{
    if (b->on_told || b->on_step <= b->steps) return;
    if ((int64_t)(b->on_step - b->steps) * last_ns(kind) > JM_BUDGET_AHEAD_MOST_NS) return;
    b->soon_ns = b->now_ns;
    b->soon_cost_ns = burst_cost_ns(b, kind);
    b->on_told = true;
}

static jm_tracing next_level(jm__budget *b, const jm__step_class *kind, const jm__budget_step *step)
{
    bool whole = step->whole != 0;
    bool opened = is_traced_from_its_beginning(b, kind, step);
    bool looks = b->now_ns >= b->look_ns;
    if (looks) {
        charge(b);
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
        begin_burst(b, kind, whole);
    }
    return whole ? JM_TRACING_ON : JM_TRACING_WARM;
}

jm_tracing jm__budget_begin(jm__budget *b, const jm__budget_step *step, int64_t t_ns)
{
    b->now_ns = t_ns;
    if (b->goes_on) end_step(b, t_ns);
    b->goes_on = true;
    b->step = *step;
    b->step_ns = t_ns;
    b->steps++;
    b->phase_totals += step->whole;
    const jm__step_class *kind = guess(b, step);
    jm_tracing level = next_level(b, kind, step);
    tell_on_its_way(b, kind);
    return level;
}

void jm__budget_rest(jm__budget *b, int64_t t_ns)
{
    b->now_ns = t_ns;
    if (b->goes_on) end_step(b, t_ns);
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

/* ---- turns: one word in a page that the ranks share */

#define LEVEL_BITS 2 /* of jm_tracing; the step's number above */

struct jm__bursts_page {
    _Atomic uint64_t said; /* 0: nothing */
    _Atomic uint32_t soon; /* how often a turn was to come */
};

static long number_of(const char *name)
{
    const char *text = getenv(name);
    char *end = NULL;
    long number = text == NULL ? -1 : strtol(text, &end, 10);
    return end != text && end != NULL && *end == '\0' ? number : -1;
}

static int open_page(const char *run_dir, long job, bool create)
{
    char name[32];
    const jm__bursts_page none = {0};
    snprintf(name, sizeof name, "turns-%ld", job);
    int fd = jm__private_file(run_dir, name, O_RDWR | (create ? O_CREAT : 0));
    /* Written, so its memory is there: no SIGBUS later. */
    if (fd >= 0 && create && pwrite(fd, &none, sizeof none, 0) != (ssize_t)sizeof none) {
        close(fd);
        return -1;
    }
    return fd;
}

void jm__bursts_join(jm__bursts *bursts, const char *run_dir)
{
    long rank = number_of("LOCAL_RANK"), job = number_of("MASTER_PORT");
    *bursts = (jm__bursts){0};
    if (run_dir[0] == '\0') return; /* of a dormant run, which has no folder: each rank takes its own turns */
    if (number_of("WORLD_SIZE") < 2 || rank < 0) return;
    bursts->leads = rank == 0;
    bursts->waits = rank != 0;
    int fd = open_page(run_dir, job, bursts->leads);
    if (fd < 0) return;
    off_t size = lseek(fd, 0, SEEK_END);
    void *map = size < (off_t)sizeof(jm__bursts_page)
                    ? MAP_FAILED
                    : mmap(NULL, sizeof(jm__bursts_page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED) return;
    bursts->page = map;
    bursts->heard = atomic_load_explicit(&bursts->page->soon, memory_order_relaxed);
}

/* From this step on. */
static void say(const jm__bursts *bursts, uint64_t step, jm_tracing level)
{
    atomic_store_explicit(&bursts->page->said, step << LEVEL_BITS | (uint64_t)level, memory_order_relaxed);
}

/* The last thing said; false: nothing was, or the first rank has ended. */
static bool ask(const jm__bursts *bursts, uint64_t *step, jm_tracing *level)
{
    uint64_t said = atomic_load_explicit(&bursts->page->said, memory_order_relaxed);
    *step = said >> LEVEL_BITS;
    *level = (jm_tracing)(said & ((1u << LEVEL_BITS) - 1));
    return said != 0;
}

/* A rank that was not told in time that it gets warm is so for one step. */
jm_tracing jm__bursts_agree(const jm__bursts *bursts, uint64_t step, jm_tracing before, jm_tracing requested)
{
    uint64_t from;
    jm_tracing level;
    if (bursts->page == NULL) return requested;
    bool told = ask(bursts, &from, &level);
    if (told && from > step) return before;
    if (told && level != before)
        return before == JM_TRACING_STEPS && level == JM_TRACING_ON ? JM_TRACING_WARM : level;
    if (!bursts->leads) return told ? before : requested; /* the first rank has not begun, or has ended */
    if (requested != before) say(bursts, step + JM_BURSTS_AHEAD, requested);
    return before;
}

uint64_t jm__bursts_lag(const jm__bursts *bursts)
{
    return bursts->page != NULL && bursts->leads ? JM_BURSTS_AHEAD : 0;
}

bool jm__bursts_comes_soon(jm__bursts *bursts, bool own)
{
    if (bursts->page == NULL) return own;
    if (bursts->leads) {
        if (own) atomic_fetch_add_explicit(&bursts->page->soon, 1, memory_order_relaxed);
        return own;
    }
    uint32_t said = atomic_load_explicit(&bursts->page->soon, memory_order_relaxed), before = bursts->heard;
    uint64_t step;
    jm_tracing level;
    bursts->heard = said;
    return ask(bursts, &step, &level) ? said != before : own;
}

void jm__bursts_leave(jm__bursts *bursts)
{
    if (bursts->page == NULL) return;
    if (bursts->leads) atomic_store_explicit(&bursts->page->said, 0, memory_order_relaxed);
    munmap(bursts->page, sizeof *bursts->page);
    bursts->page = NULL;
}
