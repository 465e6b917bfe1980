/* What of this process is recorded, and when: all of it, at the times that the program says, or its steps as
 * a budget has it. */
#include "base/clock.h"
#include "base/helper.h"
#include "base/no_fork.h"
#include "base/status.h"
#include "format/rows/marks.h"
#include "record/run/budget.h"
#include "record/run/inside.h"
#include "record/timeline/track.h"
#include "record/timeline/which_run.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <joulemap/span.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- kernels of this process: the injected library, loaded by hand */

enum { NOTED = 1 }; /* JM_INJECT_NO_KERNELS: a note in the run says why */

static void tell_missing(jm_run *run)
{
    jm__event event = {.kind = JM_EVENT_CUPTI, .t_ns = jm__now_ns()};
    snprintf(event.text, sizeof event.text, "kernels are not traced: %.200s", run->kernels_missing);
    jm__run_queue_add_event(&run->queue, &event);
}

/* A pointer to a function of the library, which no cast makes of what dlsym gives; NULL: it has none. */
static void find_function(void *library, const char *name, void *slot)
{
    void *symbol = dlsym(library, name);
    memcpy(slot, &symbol, sizeof symbol);
}

/* Its address stays good for ever: CUPTI calls into it. */
static void find_functions(jm_run *run, void *library)
{
    find_function(library, "jm_inject_flush", &run->flush_kernels);
    find_function(library, "jm_inject_stop", &run->stop_kernels);
    find_function(library, "jm_inject_trace", &run->trace_kernels);
    find_function(library, "jm_inject_busy", &run->kernels_busy);
}

/* Why the library that was started gives none. */
static void take_reason(jm_run *run, void *library)
{
    const char *(*ask)(void);
    find_function(library, "jm_inject_reason", &ask);
    const char *reason = ask != NULL ? ask() : "";
    snprintf(run->kernels_missing, sizeof run->kernels_missing, "%s",
             reason[0] != '\0' ? reason : "nothing can be written into the folder of the run");
}

static void start_kernels(jm_run *run)
{
    char path[PATH_MAX];
    (void)jm__beside("libjoulemap_inject.so", path, sizeof path); /* where it should be, if it is not */
    void *library = jm__library_open(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        snprintf(run->kernels_missing, sizeof run->kernels_missing, "%.400s",
                 reason == NULL ? "libjoulemap_inject.so cannot be loaded" : reason);
        tell_missing(run);
        return;
    }
    int (*begin)(const char *run_dir);
    find_function(library, "jm_inject_start", &begin);
    if (begin == NULL) {
        snprintf(run->kernels_missing, sizeof run->kernels_missing,
                 "libjoulemap_inject.so is of another version");
        tell_missing(run);
        return;
    }
    int result = begin(run->folder.path);
    if (result != 0) take_reason(run, library);
    if (result != 0 && result != NOTED) tell_missing(run);
    find_functions(run, library);
}

void jm__run_ranges_start(jm_run *run)
{
    char path[PATH_MAX];
    void *library = jm__beside("libjoulemap_inject.so", path, sizeof path)
                        ? jm__library_open(path, RTLD_NOW | RTLD_LOCAL)
                        : NULL;
    int (*begin)(const char *run_dir) = NULL;
    if (library != NULL) find_function(library, "jm_inject_ranges", &begin);
    if (begin != NULL && begin(run->folder.path) == 0) find_functions(run, library);
}

jm_status jm__run_kernels_start(jm_run *run, bool required, jm_error *err)
{
    start_kernels(run);
    if (!required || run->kernels_missing[0] == '\0') return JM_OK;
    jm__fail(err, JM_NOT_SUPPORTED, 0, "jm_run_start", "%.480s", run->kernels_missing);
    return jm__hint(err, JM_NOT_SUPPORTED,
                    "close other profilers of this process; `joulemap doctor` says what CUPTI lacks");
}

/* The injected library of this process, which a driver may have loaded meanwhile, for the recorder above. */
static void find_kernels(jm_run *run)
{
    char path[PATH_MAX];
    if (run->trace_kernels != NULL || !jm__beside("libjoulemap_inject.so", path, sizeof path)) return;
    void *library = jm__library_open(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (library != NULL) find_functions(run, library);
}

/* A start or a stop is under way in it, for which trace_kernels would wait. */
static bool kernels_are_busy(const jm_run *run)
{
    return run->kernels_busy != NULL && run->kernels_busy() != 0;
}

/* Go without them, or with them again. False: kernels were traced, and cannot be again. */
static bool trace_kernels(jm_run *run, bool on)
{
    find_kernels(run);
    run->kernels_unmarked = run->trace_kernels != NULL && run->trace_kernels(on) != 0;
    return !run->kernels_unmarked;
}

#define SAY_AGAIN_NS JM_NS_PER_S /* to a CUDA that was started in between; and ask for a first rank */
enum { PHASES_DEEP = 16, PHASES_KNOWN = 64 };

/* ---- at the times that are said */

/* What this process said last: its rings are one, whichever of its runs they are of. */
static struct {
    pid_t pid; /* a forked child traces everything and has said nothing (record/timeline/track.c) */
    _Atomic uint32_t run; /* to whom: jm__track_run */
    const char *mark;     /* that stands; NULL: none was left yet */
    _Atomic int tracing;
} told = {.tracing = JM_TRACING_ON};

static void forget(void)
{
    told.pid = getpid();
    told.mark = NULL;
    atomic_store_explicit(&told.tracing, JM_TRACING_ON, memory_order_relaxed);
    told.run = jm__track_run(); /* last: who finds it finds the level */
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void forget_in_children(void)
{
    pthread_atfork(NULL, NULL, forget);
}

/* Warm time counts as what it follows: as untraced, unless steps alone were recorded before it. */
static const char *mark_of(jm_tracing tracing)
{
    if (tracing == JM_TRACING_ON) return JM_MARK_TRACED;
    if (tracing == JM_TRACING_STEPS) return JM_MARK_STEPS;
    bool after_steps = told.mark != NULL && strcmp(told.mark, JM_MARK_STEPS) == 0;
    return tracing == JM_TRACING_WARM && after_steps ? JM_MARK_STEPS : JM_MARK_UNTRACED;
}

static bool stands(const char *mark)
{
    return told.mark != NULL && strcmp(told.mark, mark) == 0;
}

static void trace(jm_run *run, jm_tracing tracing)
{
    bool has_ended = run->owner != getpid() || atomic_load(&run->stopped);
    if (has_ended || (run->collector == NULL && !run->attached)) return;
    pthread_once(&once, forget_in_children);
    jm__track_look();
    if (run->dormant && jm__track_run() == 0) return; /* whoever attaches begins with everything */
    if (told.pid != getpid() || told.run != jm__track_run()) forget();
    const char *mark = mark_of(tracing);
    bool changes = !stands(mark), before = stands(JM_MARK_TRACED);
    bool is_off = tracing == JM_TRACING_OFF || tracing == JM_TRACING_STEPS;
    /* Marks lie inside of what is traced. */
    if (changes && before) jm_mark(mark, NULL);
    jm__timeline_trace(tracing);
    /* Steps without their kernels must not stand for others. */
    if (!trace_kernels(run, !is_off) && !is_off) {
        mark = told.mark != NULL && !before ? told.mark : JM_MARK_UNTRACED;
        changes = !stands(mark);
    }
    if (changes && !before) jm_mark(mark, NULL);
    told.mark = mark;
    atomic_store_explicit(&told.tracing, (int)tracing, memory_order_relaxed);
}

/* Dormant runs that are open: nothing is recorded but by a recorder that attaches. */
static _Atomic int waiting;

void jm__run_wait(jm_run *run, bool wait)
{
    if (atomic_exchange(&run->waits, wait) == wait) return;
    waiting += wait ? 1 : -1;
    jm__dormant_needs_thread(waiting > 0); /* layers are not even looked at while nobody records */
}

void jm_tracing_follow(void (*changed)(void))
{
    jm__dormant_follow(changed);
}

jm_tracing jm_tracing_now(void)
{
    uint32_t run = jm__track_run();
    if (waiting > 0 && run == 0) return JM_TRACING_OFF;
    if (run != told.run) return JM_TRACING_ON; /* nothing was said in it yet */
    return (jm_tracing)atomic_load_explicit(&told.tracing, memory_order_relaxed);
}

void jm__run_trace_end(void)
{
    forget();
}

void jm__run_trace_begin(jm_run *run)
{
    bool is_limited = told.pid == getpid() && told.mark != NULL && strcmp(told.mark, JM_MARK_TRACED) != 0;
    if (run->has_rings) forget();
    if (run->attached && is_limited) trace(run, JM_TRACING_ON);
}

/* ---- within a budget */

typedef struct phase {
    _Atomic jm_span_id id;
    jm_name name;
} phase;

/* One a process, as the rings are. Whoever has `taken` it may look; two threads whose steps begin at once do
 * not wait for each other: the second is told by its span alone. */
static struct {
    _Atomic pid_t taken; /* by a thread of that process, 0: by none; a forked child finds its parent's */
    jm_run *run;         /* NULL: there is no budget */
    pid_t pid;           /* a forked child traces everything */
    jm__budget budget;
    _Atomic jm_span_id open; /* the outermost step that goes on, 0: none */
    jm_name name;            /* of the step that began last */
    bool has_steps;          /* the program tells its steps: batches are parts of them */
    jm__bursts bursts;
    int64_t said_ns;
    phase phases[PHASES_DEEP];
    _Atomic size_t phase_count;
    jm_name stepped[PHASES_KNOWN]; /* phases that have had steps in them, the last ones */
    size_t stepped_count;
    jm_span_id whole;  /* the phase that stands for a step, while that goes on; 0: none does */
    uint32_t recorded; /* of a dormant run: jm__track_run as the last step began */
} controller;

static bool try_take(void)
{
    pid_t own = getpid(), holder = 0;
    if (atomic_compare_exchange_strong(&controller.taken, &holder, own)) return true;
    return holder != own && atomic_compare_exchange_strong(&controller.taken, &holder, own);
}

static void take(void)
{
    while (!try_take())
        sched_yield();
}

static void give_back(void)
{
    atomic_store(&controller.taken, 0);
}

static void begin_phase(jm_span_id id, jm_name name)
{
    if (id == 0 || controller.phase_count == PHASES_DEEP) return;
    controller.phases[controller.phase_count].name = name;
    atomic_store_explicit(&controller.phases[controller.phase_count++].id, id, memory_order_relaxed);
}

/* They may end in any order: threads have theirs. */
static void end_phase(jm_span_id id)
{
    for (size_t i = controller.phase_count; i-- > 0;) {
        if (controller.phases[i].id != id) continue;
        for (controller.phase_count--; i < controller.phase_count; i++) {
            controller.phases[i].id = controller.phases[i + 1].id;
            controller.phases[i].name = controller.phases[i + 1].name;
        }
        return;
    }
}

static bool has_had_steps(jm_name name)
{
    for (size_t i = 0; i < PHASES_KNOWN && i < controller.stepped_count; i++)
        if (controller.stepped[i] == name) return true;
    return false;
}

static void note_steps(jm_name name)
{
    if (name != 0 && !has_had_steps(name))
        controller.stepped[controller.stepped_count++ % PHASES_KNOWN] = name;
}

/* A step in a step is a part of it; one of the same name is the next one, whose end before was lost. */
static bool is_step(jm_span_kind kind, jm_name name)
{
    if (kind == JM_SPAN_BATCH && controller.has_steps) return false;
    bool inside = atomic_load_explicit(&controller.open, memory_order_relaxed) != 0;
    return !inside || name == controller.name || (kind == JM_SPAN_STEP && !controller.has_steps);
}

/* Of a dormant run: whether a recorder is there, which neither begins nor ends at this moment: CUPTI takes a
 * second for that, and no step waits for it. Each begins with a budget of its own: what was not spent while
 * nobody was there, or on another, is not saved up. */
static bool has_recorder(int64_t now_ns)
{
    uint32_t now = jm__track_run(), before = controller.recorded;
    if (now == 0 &&
        now_ns - controller.said_ns > SAY_AGAIN_NS) { /* not as it starts, and the loader is held */
        find_kernels(controller.run);
        controller.said_ns = now_ns;
    }
    if (now != 0 && kernels_are_busy(controller.run)) {
        jm__budget_rest(&controller.budget, now_ns);
        return false;
    }
    controller.recorded = now;
    if (now == 0 && before != 0) jm__budget_rest(&controller.budget, now_ns);
    if (now != 0 && now != before) {
        jm__budget_init(&controller.budget, controller.budget.share, now_ns);
        trace(controller.run, JM_TRACING_ON);
    }
    return now != 0;
}

/* A step, or a phase that stands for one. */
static void begin_step(jm_span_kind kind, jm_name name, uint32_t samples)
{
    int64_t now_ns = jm__now_ns();
    if (controller.run->dormant && !has_recorder(now_ns)) return;
    jm_tracing before = controller.budget.level;
    bool whole = kind == JM_SPAN_PHASE;
    const jm__budget_step step = {
        .name = whole ? 0 : name,
        .phase = whole                        ? name
                 : controller.phase_count > 0 ? controller.phases[controller.phase_count - 1].name
                                              : 0,
        .samples = samples,
        .whole = whole,
    };
    controller.whole = 0;
    if (!whole) {
        controller.has_steps = controller.has_steps || kind == JM_SPAN_STEP;
        controller.name = name;
        note_steps(step.phase);
    }
    bool was_soon = controller.budget.soon_ns != 0;
    controller.budget.lag_steps = jm__bursts_lag(&controller.bursts);
    jm_tracing requested = jm__budget_begin(&controller.budget, &step, now_ns);
    if (jm__bursts_comes_soon(&controller.bursts, controller.budget.soon_ns != 0 && !was_soon))
        jm_mark(JM_MARK_SOON, NULL);
    jm_tracing level =
        whole ? requested : jm__bursts_agree(&controller.bursts, controller.budget.steps, before, requested);
    jm__budget_have(&controller.budget, level);
    if (level != before) {
        trace(controller.run, level);
        jm__budget_switched(&controller.budget, jm__now_ns());
        controller.said_ns = now_ns;
    } else if (now_ns - controller.said_ns > SAY_AGAIN_NS) {
        bool may_not_know = controller.run->trace_kernels == NULL || controller.run->dormant ||
                            controller.run->kernels_unmarked;
        if (level == JM_TRACING_STEPS && may_not_know) trace_kernels(controller.run, false);
        if (controller.bursts.page == NULL && controller.bursts.waits)
            jm__bursts_join(&controller.bursts, controller.run->folder.path);
        controller.said_ns = now_ns;
    }
}

static uint64_t begin(jm_span_kind kind, jm_name name, jm_name type, uint32_t samples,
                      const jm__track_number *payload)
{
    if (!try_take()) return jm__track_begin_with((uint8_t)kind, name, type, samples, payload);
    bool is_ours = controller.run != NULL && controller.pid == getpid();
    bool inside = atomic_load_explicit(&controller.open, memory_order_relaxed) != 0;
    bool whole = is_ours && kind == JM_SPAN_PHASE && !inside && !has_had_steps(name);
    bool steps = is_ours && kind != JM_SPAN_PHASE && is_step(kind, name);
    if (steps || whole) begin_step(kind, name, samples);
    uint64_t id = jm__track_begin_with((uint8_t)kind, name, type, samples, payload);
    if (steps) atomic_store_explicit(&controller.open, id, memory_order_relaxed);
    if (whole) controller.whole = id;
    if (is_ours && kind == JM_SPAN_PHASE) begin_phase(id, name);
    give_back();
    return id;
}

static bool is_open_phase(uint64_t span)
{
    size_t count = atomic_load_explicit(&controller.phase_count, memory_order_relaxed);
    for (size_t i = 0; i < count; i++)
        if (atomic_load_explicit(&controller.phases[i].id, memory_order_relaxed) == span) return true;
    return false;
}

static void end(uint64_t span, uint32_t samples, uint32_t tokens)
{
    bool is_step = span != 0 && span == atomic_load_explicit(&controller.open, memory_order_relaxed);
    if (!is_step && !is_open_phase(span)) return;
    if (controller.pid != getpid()) return;
    take();
    if (is_step) {
        jm__budget_count(&controller.budget, samples, tokens);
        atomic_store_explicit(&controller.open, 0, memory_order_relaxed);
    } else {
        if (span == controller.whole) jm__budget_rest(&controller.budget, jm__now_ns());
        end_phase(span);
    }
    give_back();
}

static const jm__step_follower follower = {.begin = begin, .end = end};

jm_status jm__budget_check(double share, jm_error *err)
{
    if (share >= 0 && share <= 1) return JM_OK;
    jm__fail(err, JM_USAGE, 0, "jm_run_start", "a budget is a share of the program's time, not %g", share);
    return jm__hint(err, JM_USAGE, "0.01 lets tracing slow it down by 1 %%; 0 is none, and all is traced");
}

void jm__budget_start(jm_run *run, double share)
{
    if (!(share > 0)) return;
    take();
    controller.run = run;
    controller.pid = getpid();
    controller.has_steps = false;
    controller.name = 0;
    controller.phase_count = 0;
    controller.stepped_count = 0;
    controller.whole = 0;
    atomic_store(&controller.open, 0);
    controller.said_ns = jm__now_ns();
    jm__budget_init(&controller.budget, share, controller.said_ns);
    jm__bursts_join(&controller.bursts, run->folder.path);
    trace(run, JM_TRACING_ON);
    controller.recorded = jm__track_run();
    give_back();
    jm__timeline_follow_steps(&follower);
}

/* False: it is not this run's. */
static bool end_pace(const jm_run *run, jm__budget *last)
{
    bool is_ours = false;
    if (run->owner != getpid()) return false;
    take();
    is_ours = controller.run == run;
    if (is_ours) {
        jm__timeline_follow_steps(NULL);
        *last = controller.budget;
        jm__bursts_leave(&controller.bursts);
        controller.run = NULL;
    }
    give_back();
    return is_ours;
}

void jm__budget_leave(jm_run *run)
{
    jm__budget last;
    end_pace(run, &last);
}

void jm_run_trace(jm_run *run, jm_tracing tracing)
{
    jm__budget_leave(run); /* two cannot say it */
    trace(run, tracing);
}

/* While nobody records a dormant run, no time passes. */
static int64_t counted_until_ns(void)
{
    bool rests = controller.run->dormant && controller.recorded == 0;
    return rests ? controller.budget.now_ns : jm__now_ns();
}

bool jm_run_tracing_cost(jm_run *run, jm_tracing_cost *cost)
{
    *cost = (jm_tracing_cost){0};
    if (run->owner != getpid()) return false;
    take();
    bool is_ours = controller.run == run;
    if (is_ours)
        *cost = (jm_tracing_cost){.share = jm__budget_cost(&controller.budget, counted_until_ns()),
                                  .steps = controller.budget.steps - controller.budget.phase_totals,
                                  .traced_steps = controller.budget.traced_steps};
    give_back();
    return is_ours;
}

void jm__budget_end(jm_run *run)
{
    jm__budget last;
    if (!end_pace(run, &last)) return;
    char text[192];
    long cost_ppm = lround(1e6 * jm__budget_cost(&last, jm__now_ns()));
    snprintf(text, sizeof text,
             "{\"budget_ppm\":%ld,\"cost_ppm\":%ld,\"steps\":%" PRIu64 ",\"traced_steps\":%" PRIu64 "}",
             lround(1e6 * last.share), cost_ppm, last.steps - last.phase_totals, last.traced_steps);
    bool is_anothers =
        run->dormant && controller.recorded != jm__track_run(); /* a recorder's that saw no step */
    if (!is_anothers) jm_mark(JM_MARK_BUDGET, text);
    if (run->attached) trace(run, JM_TRACING_ON); /* nobody tells what comes */
}
