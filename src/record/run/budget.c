/* The tracing budget: durations of steps by class, the cost of tracing, and the rules of bursts. `class` is
 * NULL if unknown. */
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

#define MAD_TO_SIGMA 1.4826 /* for a normal distribution */
#define MEDIAN_ERROR 1.2533 /* error of a median relative to that of a mean */
enum { COMPARED_LEAST = 3 };

/* ---- how long steps take */

static void add_duration(jm__budget_last *last, int64_t ns)
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

/* The median of the last `most` durations, ns. `mad_ns`, unless NULL, gets their median absolute
 * deviation. */
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

static size_t minimum(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Are there enough untraced steps for comparison? */
static bool has_known_time(const jm__step_class *class)
{
    return class->untraced_ns >= JM_BUDGET_COMPARED_NS;
}

/* Compares the traced steps of a burst with the untraced ones around it. */
static void compare(jm__step_class *class)
{
    size_t traced = minimum(class->traced.count, JM_BUDGET_LAST),
           untraced = minimum(class->untraced.count, JM_BUDGET_LAST);
    if (class->owed >= COMPARED_LEAST) traced = minimum(traced, class->owed);
    if (traced < COMPARED_LEAST || untraced < COMPARED_LEAST) return;
    if (!has_known_time(class)) return;
    int64_t traced_mad_ns, untraced_mad_ns;
    int64_t traced_ns = median_of_last(&class->traced, traced, &traced_mad_ns);
    int64_t untraced_ns = median_of_last(&class->untraced, untraced, &untraced_mad_ns);
    class->compared = true;
    class->extra_ns = traced_ns > untraced_ns ? (double)(traced_ns - untraced_ns) : 0;
    class->extra_error_ns = hypot(error_of(traced, traced_mad_ns), error_of(untraced, untraced_mad_ns));
}

/* The extra time of a traced step; for a class without comparison, that of other classes. */
static double extra_ns(const jm__budget *b, const jm__step_class *class)
{
    if (class->compared) return class->extra_ns;
    int64_t untraced_ns = median_of_last(&class->untraced, JM_BUDGET_LAST, NULL);
    return b->slower * (double)(untraced_ns > 0 ? untraced_ns : class->before_ns);
}

/* ---- classes */

static jm__budget_step key_of(const jm__budget *b)
{
    const jm__budget_step *step = &b->step;
    return (jm__budget_step){.name = b->ignores_names ? 0 : step->name,
                             .phase = step->phase,
                             .samples = jm__count_class(step->samples),
                             .tokens = jm__count_class(step->tokens),
                             .is_phase = step->is_phase};
}

static bool matches(const jm__step_class *class, const jm__budget_step *key)
{
    return class->steps > 0 && memcmp(&class->step, key, sizeof *key) == 0;
}

/* The same with any counts. */
static bool is_similar(const jm__step_class *class, const jm__budget_step *key)
{
    return class->steps > 0 && class->step.name == key->name && class->step.phase == key->phase &&
           class->step.is_phase == key->is_phase;
}

/* Was any similar class opened? */
static bool is_opened(const jm__budget *b, const jm__budget_step *key)
{
    for (size_t i = 0; i < JM_STEP_CLASSES; i++)
        if (b->classes[i].opened && is_similar(&b->classes[i], key)) return true;
    return false;
}

/* The class of the step that has finished. If there are too many classes, the least recently seen one is
 * replaced. */
static jm__step_class *class_of(jm__budget *b)
{
    jm__budget_step key = key_of(b);
    if (b->class != NULL && matches(b->class, &key)) return b->class;
    jm__step_class *oldest = NULL;
    for (size_t i = 0; i < JM_STEP_CLASSES; i++) {
        jm__step_class *class = &b->classes[i];
        if (matches(class, &key)) return class;
        if (class != b->awaited && (oldest == NULL || class->last < oldest->last)) oldest = class;
    }
    b->evicted_single_steps += oldest->steps == 1;
    b->ignores_names = b->ignores_names || b->evicted_single_steps > JM_STEP_CLASSES;
    *oldest = (jm__step_class){.step = key, .opened = is_opened(b, &key)};
    return oldest;
}

/* The class of the step that begins, whose counts may be unknown: that of the last similar step. NULL: it is
 * new. */
static const jm__step_class *guess_class(const jm__budget *b)
{
    jm__budget_step key = key_of(b);
    const jm__step_class *last = NULL;
    for (size_t i = 0; i < JM_STEP_CLASSES; i++) {
        const jm__step_class *class = &b->classes[i];
        if (!is_similar(class, &key)) continue;
        if (key.samples != 0 && class->step.samples != key.samples) continue;
        if (key.tokens != 0 && class->step.tokens != key.tokens) continue;
        if (last == NULL || class->last > last->last) last = class;
    }
    return last;
}

/* ---- cost */

/* Charges the after-effect of a burst. Never negative, or a program that becomes faster would earn budget. A
 * step that takes twice as long is not slower because of launches. */
static void charge_after(jm__budget *b, jm__step_class *class)
{
    if (class->owed_after == 0 || class->untraced.count < COMPARED_LEAST) return;
    int64_t untraced_ns = median_of_last(&class->untraced, JM_BUDGET_LAST, NULL);
    int64_t after_ns = median_of_last(&class->after, minimum(class->owed_after, JM_BUDGET_LAST), NULL);
    if (after_ns > untraced_ns && after_ns < 2 * untraced_ns)
        b->spent_ns += (double)class->owed_after * (double)(after_ns - untraced_ns);
    class->owed_after = 0;
}

/* Charges traced steps since the last call. */
static void charge_all(jm__budget *b)
{
    for (size_t i = 0; i < JM_STEP_CLASSES; i++) {
        jm__step_class *class = &b->classes[i];
        charge_after(b, class);
        if (class->owed == 0) continue;
        compare(class);
        if (!class->compared && b->slower == 0) continue; /* unknown as yet */
        double extra = extra_ns(b, class);
        int64_t untraced_ns = median_of_last(&class->untraced, JM_BUDGET_LAST, NULL);
        if (class->compared && untraced_ns > 0) b->slower = extra / (double)untraced_ns;
        b->spent_ns += (double)class->owed * extra;
        class->owed = 0;
    }
}

double jm__budget_cost(jm__budget *b, int64_t now_ns)
{
    charge_all(b);
    int64_t elapsed_ns = now_ns - b->began_ns;
    return elapsed_ns > 0 ? b->spent_ns / (double)elapsed_ns : 0;
}

/* What is left of this part of the budget at that time; negative: debt. */
static double left_at_ns(const jm__budget *b, double part, int64_t t_ns)
{
    return part * b->share * (double)(t_ns - b->began_ns) - b->spent_ns;
}

static double left_ns(const jm__budget *b, double part)
{
    return left_at_ns(b, part, b->now_ns);
}

/* The number of steps of this duration that take at least `ns`. */
static double steps_in(int64_t ns, int64_t step_ns)
{
    return step_ns > 0 ? ceil((double)ns / (double)step_ns) : 1;
}

/* The cost of a burst that begins with this class. */
static double burst_cost_ns(const jm__budget *b, const jm__step_class *class)
{
    if (class == NULL) return (double)b->switch_ns;
    int64_t step_ns = class->before_ns;
    double warm = steps_in(JM_BUDGET_WARM_NS, step_ns), on = steps_in(JM_BUDGET_BURST_NS, step_ns);
    if (on < JM_BUDGET_BURST_STEPS && step_ns < JM_BUDGET_LONG_NS) on = JM_BUDGET_BURST_STEPS;
    double extra = extra_ns(b, class);
    return (double)b->switch_ns + fmax(b->early_ns, (warm + 1) * extra) + (on - 1) * extra;
}

/* Does tracing every step of this class cost less than bursts may, significantly? */
static bool is_cheap(const jm__budget *b, const jm__step_class *class)
{
    double step_ns = (double)median_of_last(&class->untraced, JM_BUDGET_LAST, NULL);
    return class->compared &&
           class->extra_ns + class->extra_error_ns <= JM_BUDGET_REGULAR * b->share * step_ns;
}

/* ---- the end of a step */

static void open_class(jm__step_class *class, int64_t took_ns)
{
    bool quicker = 3 * took_ns < 2 * class->before_ns;
    class->settled =
        class->settled || (class->steps > 1 && !quicker) || class->steps > JM_BUDGET_SETTLING_STEPS;
    if (!class->settled) return;
    class->opening_ns += took_ns;
    class->opening_steps++;
    uint64_t requested =
        class->opening_ns >= JM_BUDGET_OPENED_NS ? JM_BUDGET_OPENED_STEPS_LEAST : JM_BUDGET_OPENED_STEPS;
    class->opened = class->opening_steps >= requested;
}

static void note_place(jm__budget *b, jm__step_class *class)
{
    if (class != b->class) {
        uint64_t gap = b->steps - class->entered;
        if (class->steps > 0) class->gap = class->gap == 0 || gap < class->gap ? gap : (class->gap + gap) / 2;
        class->entered = b->steps;
        class->stay = 0;
    }
    class->stay++;
    class->last = b->steps;
    class->steps++;
}

/* Is it one of the first steps of a burst, which are slower than the others? */
static bool is_early(const jm__budget *b, const jm__step_class *class, int64_t took_ns)
{
    bool is_first = b->level == JM_TRACING_WARM || (b->first_burst_done && b->level_steps == 0);
    return is_first && class->step.is_phase == 0 && took_ns < JM_BUDGET_LONG_NS &&
           class->untraced.count >= COMPARED_LEAST;
}

static void charge_early(jm__budget *b, const jm__step_class *class, int64_t took_ns)
{
    double longer_ns = (double)(took_ns - median_of_last(&class->untraced, JM_BUDGET_LAST, NULL));
    longer_ns = fmin(fmax(longer_ns, 0), (double)JM_BUDGET_EARLY_NS); /* as in charge_after */
    b->early_ns += longer_ns;
    b->spent_ns += longer_ns;
}

/* Ends the current step. */
static void end_step(jm__budget *b, int64_t t_ns)
{
    int64_t took_ns = t_ns > b->step_ns ? t_ns - b->step_ns : 0;
    jm__step_class *class = class_of(b);
    note_place(b, class);
    if (b->level != JM_TRACING_STEPS) {
        if (is_early(b, class, took_ns))
            charge_early(b, class, took_ns);
        else
            class->owed++;
        b->traced_steps += b->level == JM_TRACING_ON && class->step.is_phase == 0;
        if (!class->opened && b->level == JM_TRACING_ON) open_class(class, took_ns);
        if (class->settled || class->opened) add_duration(&class->traced, took_ns);
        if (class == b->awaited && b->level == JM_TRACING_ON) b->awaited = NULL;
    } else if (b->level_ns >= JM_BUDGET_AFTER_NS || took_ns >= JM_BUDGET_LONG_NS) {
        /* The after-effect has ended. Long steps are always used, since there are few. */
        add_duration(&class->untraced, took_ns);
        class->untraced_ns += took_ns;
    } else {
        add_duration(&class->after, took_ns);
        class->owed_after++;
    }
    class->before_ns = took_ns;
    b->class = class;
    b->level_ns += took_ns;
    b->level_steps++;
}

/* ---- the rules of bursts */

#define LOOK_NS (10 * JM_NS_PER_MS) /* interval of checking whether a burst is due, for short steps */
enum { CHANGED_LAST = 5 };

void jm__budget_set_level(jm__budget *b, jm_tracing level)
{
    if (level == b->level) return;
    if (level == JM_TRACING_STEPS) b->awaited = NULL;
    if (level == JM_TRACING_WARM) b->early_ns = 0;
    if (level != JM_TRACING_WARM) b->on_step = 0;
    b->level = level;
    b->soon_ns = 0;
    b->level_ns = 0;
    b->level_steps = 0;
}

/* Has the duration of untraced steps changed since the last burst? */
static bool has_changed(const jm__step_class *class)
{
    if (class->change_ns == 0 || class->untraced.count < CHANGED_LAST) return false;
    double differs = fabs((double)(median_of_last(&class->untraced, CHANGED_LAST, NULL) - class->change_ns));
    double chance = 4 * MAD_TO_SIGMA * (double)class->change_mad_ns;
    return differs > JM_BUDGET_CHANGE * (double)class->change_ns && differs > chance;
}

static uint64_t warm_steps(const jm__step_class *class)
{
    return class == NULL ? 1 : (uint64_t)steps_in(JM_BUDGET_WARM_NS, class->before_ns);
}

/* Do its steps come so few at a time that none would be left after the warm-up? */
static bool comes_singly(const jm__budget *b, const jm__step_class *class)
{
    bool is_whole = class != NULL && class->step.is_phase != 0;
    return class != NULL && !is_whole && class != b->class && class->gap > 0 &&
           class->stay <= warm_steps(class);
}

/* A class that comes and goes (the prompt of a generation) and is not covered yet: the burst must begin
 * before it. */
static const jm__step_class *expected_class(const jm__budget *b)
{
    for (size_t i = 0; i < JM_STEP_CLASSES; i++) {
        const jm__step_class *class = &b->classes[i];
        bool requested = class->steps > 0 && class->step.is_phase == 0 && class != b->class &&
                         (!class->opened || class->traced.count == 0);
        if (requested && class->gap > 0 && b->steps + warm_steps(b->class) - class->entered >= class->gap)
            return class;
    }
    return NULL;
}

static int64_t last_ns(const jm__step_class *class)
{
    return class == NULL ? 0 : class->before_ns;
}

/* The number of steps from choosing a burst to its first traced step. */
static uint64_t steps_ahead(const jm__budget *b, const jm__step_class *class)
{
    return b->step.is_phase ? 0 : 2 * b->lag_steps + warm_steps(class);
}

static int64_t ahead_ns(const jm__budget *b, const jm__step_class *class)
{
    return (int64_t)steps_ahead(b, class) * last_ns(class);
}

/* How long a due burst waits after its announcement. 0 if it takes that long anyway, or if steps are so long
 * that it would come too late. */
static int64_t wait_ns(const jm__budget *b, const jm__step_class *class)
{
    int64_t by_itself_ns = ahead_ns(b, class);
    int64_t in_steps_ns = (int64_t)steps_in(JM_BUDGET_AHEAD_NS, last_ns(class)) * last_ns(class);
    bool waits = by_itself_ns < JM_BUDGET_AHEAD_NS && in_steps_ns + by_itself_ns <= JM_BUDGET_AHEAD_MOST_NS;
    return waits ? JM_BUDGET_AHEAD_NS : 0;
}

/* An announced burst comes with any class of step, unless bursts have become too expensive. */
static bool is_announced_due(jm__budget *b)
{
    if (b->now_ns - b->soon_ns < JM_BUDGET_AHEAD_NS) return false;
    bool comes = left_ns(b, 1) >= b->soon_cost_ns;
    if (!comes) b->soon_ns = 0;
    return comes;
}

/* Only time calls for it, so it is announced before. */
static bool is_regular_due(jm__budget *b, const jm__step_class *class, double cost_ns)
{
    if (b->soon_ns > 0) return is_announced_due(b);
    bool is_new = class == NULL || class->traced.count == 0;
    double part = is_new || has_changed(class) ? 1 : JM_BUDGET_REGULAR;
    int64_t waits_ns = wait_ns(b, class);
    bool is_apart = b->level_steps >= JM_BUDGET_APART_STEPS && b->level_ns + waits_ns >= JM_BUDGET_APART_NS;
    bool is_known = class == NULL || class->owed == 0 || has_known_time(class); /* else wait until it has */
    if (!is_apart || !is_known || left_at_ns(b, part, b->now_ns + waits_ns) < cost_ns) return false;
    if (waits_ns == 0) return true;
    b->soon_ns = b->now_ns;
    b->soon_cost_ns = cost_ns;
    return false;
}

/* At level STEPS. */
static bool is_due(jm__budget *b, const jm__step_class *class, bool opened)
{
    double cost_ns = burst_cost_ns(b, class);
    if (!opened && !comes_singly(b, class)) return left_ns(b, 1) + JM_BUDGET_DEBT_NS >= cost_ns;
    const jm__step_class *other = expected_class(b);
    if (other != NULL && left_ns(b, 1) + (other->opened ? 0 : JM_BUDGET_DEBT_NS) >= cost_ns) {
        b->awaited = other;
        return true;
    }
    return is_regular_due(b, class, cost_ns);
}

static bool has_lasted(const jm__budget *b)
{
    int64_t least_ns = b->first_burst_done ? JM_BUDGET_BURST_NS : JM_BUDGET_OPENING_NS;
    bool is_long = b->level_ns >= JM_BUDGET_LONG_NS;
    return b->level_ns >= least_ns && b->level_steps >= (is_long ? 1 : JM_BUDGET_BURST_STEPS);
}

/* Is the burst over? `is_summed_up`: the cost was just summed up. */
static bool is_over(jm__budget *b, const jm__step_class *class, bool opened, bool is_summed_up)
{
    if (!opened) return left_ns(b, 1) + JM_BUDGET_DEBT_NS < 0;
    if (!has_lasted(b)) return false;
    if (b->awaited != NULL) return left_ns(b, 1) + (b->awaited->opened ? 0 : JM_BUDGET_DEBT_NS) < 0;
    if (!is_summed_up && b->all) return false;
    b->all = class != NULL && is_cheap(b, class) && left_ns(b, 1) >= 0 &&
             (b->level_ns < JM_BUDGET_CHECK_NS || b->level_steps < JM_BUDGET_CHECK_STEPS);
    return !b->all;
}

/* Stores the durations of all classes before the burst. */
static void note_changes(jm__budget *b)
{
    for (size_t i = 0; i < JM_STEP_CLASSES; i++) {
        jm__step_class *class = &b->classes[i];
        class->change_ns = median_of_last(&class->untraced, JM_BUDGET_LAST, &class->change_mad_ns);
    }
}

/* At level STEPS. */
static void begin_burst(jm__budget *b, const jm__step_class *class)
{
    note_changes(b);
    b->on_step = b->steps + steps_ahead(b, class);
    b->is_announced = ahead_ns(b, class) < JM_BUDGET_AHEAD_NS;
}

/* Announces the next burst in time. */
static void announce_burst(jm__budget *b, const jm__step_class *class)
{
    if (b->is_announced || b->on_step <= b->steps) return;
    if ((int64_t)(b->on_step - b->steps) * last_ns(class) > JM_BUDGET_AHEAD_MOST_NS) return;
    b->soon_ns = b->now_ns;
    b->soon_cost_ns = burst_cost_ns(b, class);
    b->is_announced = true;
}

static jm_tracing next_level(jm__budget *b, const jm__step_class *class)
{
    const jm__budget_step key = key_of(b);
    bool is_phase = b->step.is_phase != 0, opened = is_opened(b, &key);
    bool is_summed_up = b->now_ns >= b->look_ns;
    if (is_summed_up) {
        charge_all(b);
        b->look_ns = b->now_ns + LOOK_NS;
    }
    if (b->level == JM_TRACING_WARM)
        return !is_phase && b->level_ns < JM_BUDGET_WARM_NS ? JM_TRACING_WARM : JM_TRACING_ON;
    if (b->level == JM_TRACING_ON) {
        if (!is_over(b, class, opened, is_summed_up)) return JM_TRACING_ON;
        b->first_burst_done = true;
        return JM_TRACING_STEPS;
    }
    if (is_phase || b->on_step <= b->steps) {
        if ((!is_summed_up && class != NULL) || !is_due(b, class, opened)) return JM_TRACING_STEPS;
        begin_burst(b, class);
    }
    return is_phase ? JM_TRACING_ON : JM_TRACING_WARM;
}

jm_tracing jm__budget_begin(jm__budget *b, const jm__budget_step *step, int64_t t_ns)
{
    b->now_ns = t_ns;
    if (b->is_running) end_step(b, t_ns);
    b->is_running = true;
    b->step = *step;
    b->step_ns = t_ns;
    b->steps++;
    b->phase_steps += step->is_phase;
    const jm__step_class *class = guess_class(b);
    jm_tracing level = next_level(b, class);
    announce_burst(b, class);
    return level;
}

void jm__budget_rest(jm__budget *b, int64_t t_ns)
{
    b->now_ns = t_ns;
    if (b->is_running) end_step(b, t_ns);
    b->is_running = false;
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

/* ---- bursts of ranks: one word in a shared page */

#define LEVEL_BITS 2 /* for jm_tracing; the step's number is above */

struct jm__bursts_page {
    _Atomic uint64_t decision;      /* the latest decision; 0: none */
    _Atomic uint32_t announcements; /* number of announcements */
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
    /* Written, so its memory exists: no SIGBUS later. */
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
    if (run_dir[0] == '\0') return; /* a dormant run has no folder: each rank makes its own bursts */
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
    bursts->seen_announcements = atomic_load_explicit(&bursts->page->announcements, memory_order_relaxed);
}

/* Reads the latest decision; false: none, or the first rank has ended. */
static bool read_decision(const jm__bursts *bursts, uint64_t *step, jm_tracing *level)
{
    uint64_t decision = atomic_load_explicit(&bursts->page->decision, memory_order_relaxed);
    *step = decision >> LEVEL_BITS;
    *level = (jm_tracing)(decision & ((1u << LEVEL_BITS) - 1));
    return decision != 0;
}

/* A rank that sees the decision too late for a warm-up warms up for one step. */
jm_tracing jm__bursts_agree(const jm__bursts *bursts, uint64_t step, jm_tracing before, jm_tracing requested)
{
    uint64_t from;
    jm_tracing level;
    if (bursts->page == NULL) return requested;
    bool has_decision = read_decision(bursts, &from, &level);
    if (has_decision && from > step) return before;
    if (has_decision && level != before)
        return before == JM_TRACING_STEPS && level == JM_TRACING_ON ? JM_TRACING_WARM : level;
    if (!bursts->leads)
        return has_decision ? before : requested; /* the first rank has not begun, or has ended */
    uint64_t decision = (step + JM_BURSTS_AHEAD) << LEVEL_BITS | (uint64_t)requested;
    if (requested != before) atomic_store_explicit(&bursts->page->decision, decision, memory_order_relaxed);
    return before;
}

uint64_t jm__bursts_lag(const jm__bursts *bursts)
{
    return bursts->page != NULL && bursts->leads ? JM_BURSTS_AHEAD : 0;
}

bool jm__bursts_announce(jm__bursts *bursts, bool own)
{
    if (bursts->page == NULL) return own;
    if (bursts->leads) {
        if (own) atomic_fetch_add_explicit(&bursts->page->announcements, 1, memory_order_relaxed);
        return own;
    }
    uint32_t announced = atomic_load_explicit(&bursts->page->announcements, memory_order_relaxed),
             before = bursts->seen_announcements;
    uint64_t step;
    jm_tracing level;
    bursts->seen_announcements = announced;
    return read_decision(bursts, &step, &level) ? announced != before : own;
}

void jm__bursts_leave(jm__bursts *bursts)
{
    if (bursts->page == NULL) return;
    if (bursts->leads) atomic_store_explicit(&bursts->page->decision, 0, memory_order_relaxed);
    munmap(bursts->page, sizeof *bursts->page);
    bursts->page = NULL;
}
