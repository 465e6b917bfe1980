/* What is recorded of this process, and when: everything, at times that the program sets, or steps within a
 * budget. */
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

/* ---- kernels of this process: the injected library, loaded explicitly */

enum { NOTE_WRITTEN = 1 }; /* JM_INJECT_NO_KERNELS: a note in the run has the reason */

static void report_missing(jm_run *run, const char *why)
{
    jm__event event = {.kind = JM_EVENT_CUPTI, .t_ns = jm__now_ns()};
    snprintf(run->kernels_missing, sizeof run->kernels_missing, "%.400s", why);
    snprintf(event.text, sizeof event.text, "kernels are not traced: %.200s", why);
    jm__run_queue_event(run, &event);
}

/* NULL: see dlerror. */
static void *open_library(int more_flags)
{
    char path[PATH_MAX];
    (void)jm__beside("libjoulemap_inject.so", path, sizeof path); /* missing: the path where it should be */
    return jm__library_open(path, RTLD_NOW | RTLD_LOCAL | more_flags);
}

/* dlsym for functions: its result cannot be cast to a function pointer. NULL: no such function. */
static void find_function(void *library, const char *name, void *slot)
{
    void *symbol = dlsym(library, name);
    memcpy(slot, &symbol, sizeof symbol);
}

/* The library is never unloaded: CUPTI calls into it. */
static void find_functions(jm_run *run, void *library)
{
    find_function(library, "jm_inject_flush", &run->flush_kernels);
    find_function(library, "jm_inject_stop", &run->stop_kernels);
    find_function(library, "jm_inject_trace", &run->trace_kernels);
    find_function(library, "jm_inject_busy", &run->kernels_busy);
}

static void start_kernels(jm_run *run)
{
    int (*begin)(const char *run_dir);
    const char *(*get_reason)(void);
    void *library = open_library(0);
    if (library == NULL) {
        const char *reason = dlerror();
        report_missing(run, reason == NULL ? "libjoulemap_inject.so cannot be loaded" : reason);
        return;
    }
    find_function(library, "jm_inject_start", &begin);
    if (begin == NULL) {
        report_missing(run, "libjoulemap_inject.so is of another version");
        return;
    }
    int result = begin(run->folder.path);
    find_functions(run, library);
    if (result == 0) return;
    find_function(library, "jm_inject_reason", &get_reason);
    const char *reason = get_reason != NULL ? get_reason() : "";
    if (reason[0] == '\0') reason = "nothing can be written into the folder of the run";
    if (result == NOTE_WRITTEN)
        snprintf(run->kernels_missing, sizeof run->kernels_missing, "%s", reason);
    else
        report_missing(run, reason);
}

void jm__run_ranges_start(jm_run *run)
{
    void *library = open_library(0);
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

/* Finds the injected library if a driver has loaded it meanwhile for the recorder above. */
static void find_kernels(jm_run *run)
{
    if (run->trace_kernels != NULL) return;
    void *library = open_library(RTLD_NOLOAD);
    if (library != NULL) find_functions(run, library);
}

/* Switches kernels on or off. False: the switching failed. */
static bool trace_kernels(jm_run *run, bool on)
{
    find_kernels(run);
    run->kernel_switch_failed = run->trace_kernels != NULL && run->trace_kernels(on) != 0;
    return !run->kernel_switch_failed;
}

/* A level is repeated for a CUDA that started meanwhile, and a first rank is looked for. */
#define REPEAT_NS JM_NS_PER_S
enum { PHASES_DEEP = 16, PHASES_KNOWN = 64 };

/* ---- levels set by the program */

/* The last level that was set in this process. All its runs share its rings. */
static struct {
    pid_t pid;            /* a forked child traces everything */
    _Atomic uint32_t run; /* jm__track_run at that time */
    const char *mark;     /* the mark in effect; NULL: none so far */
    _Atomic int tracing;
} current = {.tracing = JM_TRACING_ON};

void jm__run_trace_reset(void)
{
    current.pid = getpid();
    current.mark = NULL;
    atomic_store_explicit(&current.tracing, JM_TRACING_ON, memory_order_relaxed);
    current.run = jm__track_run(); /* last: a reader that sees it also sees the level */
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void reset_in_children(void)
{
    pthread_atfork(NULL, NULL, jm__run_trace_reset);
}

/* Warm time counts as what precedes it: untraced, or STEPS after STEPS. */
static const char *mark_of(jm_tracing tracing)
{
    if (tracing == JM_TRACING_ON) return JM_MARK_TRACED;
    if (tracing == JM_TRACING_STEPS) return JM_MARK_STEPS;
    bool after_steps = current.mark != NULL && strcmp(current.mark, JM_MARK_STEPS) == 0;
    return tracing == JM_TRACING_WARM && after_steps ? JM_MARK_STEPS : JM_MARK_UNTRACED;
}

static bool is_current(const char *mark)
{
    return current.mark != NULL && strcmp(current.mark, mark) == 0;
}

static void trace(jm_run *run, jm_tracing tracing)
{
    bool has_ended = run->owner != getpid() || atomic_load(&run->stopped);
    if (has_ended || (run->collector == NULL && !run->attached)) return;
    pthread_once(&once, reset_in_children);
    jm__track_look();
    if (run->dormant && jm__track_run() == 0)
        return; /* an attaching recorder begins with everything traced */
    if (current.pid != getpid() || current.run != jm__track_run()) jm__run_trace_reset();
    const char *mark = mark_of(tracing);
    bool is_change = !is_current(mark), before = is_current(JM_MARK_TRACED);
    bool is_off = tracing == JM_TRACING_OFF || tracing == JM_TRACING_STEPS;
    /* Marks lie inside traced time. */
    if (is_change && before) jm_mark(mark, NULL);
    jm__timeline_trace(tracing);
    /* Steps without their kernels must not represent others. */
    if (!trace_kernels(run, !is_off) && !is_off) {
        mark = current.mark != NULL && !before ? current.mark : JM_MARK_UNTRACED;
        is_change = !is_current(mark);
    }
    if (is_change && !before) jm_mark(mark, NULL);
    current.mark = mark;
    atomic_store_explicit(&current.tracing, (int)tracing, memory_order_relaxed);
}

/* Number of open dormant runs, which record only with an attached recorder. */
static _Atomic int waiting;

void jm__run_wait(jm_run *run, bool wait)
{
    if (atomic_exchange(&run->waits, wait) == wait) return;
    waiting += wait ? 1 : -1;
    jm__dormant_needs_thread(waiting > 0); /* without a recorder, not even layers are watched */
}

void jm_tracing_follow(void (*changed)(void))
{
    jm__dormant_follow(changed);
}

jm_tracing jm_tracing_now(void)
{
    uint32_t run = jm__track_run();
    if (waiting > 0 && run == 0) return JM_TRACING_OFF;
    if (run != current.run) return JM_TRACING_ON; /* no level was set in it yet */
    return (jm_tracing)atomic_load_explicit(&current.tracing, memory_order_relaxed);
}

void jm__run_trace_begin(jm_run *run)
{
    bool is_limited =
        current.pid == getpid() && current.mark != NULL && strcmp(current.mark, JM_MARK_TRACED) != 0;
    if (run->has_rings) jm__run_trace_reset();
    if (run->attached && is_limited) trace(run, JM_TRACING_ON);
}

/* ---- within a budget */

typedef struct phase {
    _Atomic jm_span_id id;
    jm_name name;
} phase;

/* One per process, like the rings. `locked_by` gives access. Two threads whose steps begin at once do not
 * wait for each other: the second one only records its span. */
static struct {
    _Atomic pid_t locked_by; /* by a thread of that process, 0: none; a forked child finds its parent's pid */
    jm_run *run;             /* NULL: no budget */
    pid_t pid;               /* a forked child starts with everything traced (record/timeline/track.c) */
    jm__budget budget;
    _Atomic jm_span_id open; /* the outermost running step, 0: none */
    jm_name name;            /* of the last step */
    bool has_steps;          /* the program marks steps, so batches are parts of them */
    jm__bursts bursts;
    int64_t repeated_ns;
    phase phases[PHASES_DEEP];
    _Atomic size_t phase_count;
    jm_name stepped[PHASES_KNOWN]; /* the last phases that contained steps */
    size_t stepped_count;
    jm_span_id phase_step; /* the running phase that is treated as a step; 0: none */
    uint32_t recorded;     /* in a dormant run: jm__track_run at the last step */
} controller;

static bool try_lock_controller(void)
{
    pid_t own = getpid(), holder = 0;
    if (atomic_compare_exchange_strong(&controller.locked_by, &holder, own)) return true;
    return holder != own && atomic_compare_exchange_strong(&controller.locked_by, &holder, own);
}

static void lock_controller(void)
{
    while (!try_lock_controller())
        sched_yield();
}

static void unlock_controller(void)
{
    atomic_store(&controller.locked_by, 0);
}

static void begin_phase(jm_span_id id, jm_name name)
{
    if (id == 0 || controller.phase_count == PHASES_DEEP) return;
    controller.phases[controller.phase_count].name = name;
    atomic_store_explicit(&controller.phases[controller.phase_count++].id, id, memory_order_relaxed);
}

/* Phases may end in any order, since threads have their own. */
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

/* A step within a step is part of it. One of the same name is the next one, and the end of the previous one
 * was lost. */
static bool is_step(jm_span_kind kind, jm_name name)
{
    if (kind == JM_SPAN_BATCH && controller.has_steps) return false;
    bool inside = atomic_load_explicit(&controller.open, memory_order_relaxed) != 0;
    return !inside || name == controller.name || (kind == JM_SPAN_STEP && !controller.has_steps);
}

/* In a dormant run: is a recorder there, and CUPTI neither starting nor stopping? That takes a second, for
 * which no step waits. Each recorder begins with a new budget: what was unspent before is not saved. */
static bool has_recorder(int64_t now_ns)
{
    uint32_t now = jm__track_run(), before = controller.recorded;
    if (now == 0 &&
        now_ns - controller.repeated_ns > REPEAT_NS) { /* not at the start, when the loader is locked */
        find_kernels(controller.run);
        controller.repeated_ns = now_ns;
    }
    if (now != 0 && controller.run->kernels_busy != NULL && controller.run->kernels_busy() != 0) {
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

/* Begins a step, or a phase that is treated as one. */
static void begin_step(jm_span_kind kind, jm_name name, uint32_t samples)
{
    int64_t now_ns = jm__now_ns();
    if (controller.run->dormant && !has_recorder(now_ns)) return;
    jm_tracing before = controller.budget.level;
    bool is_phase = kind == JM_SPAN_PHASE;
    const jm__budget_step step = {
        .name = is_phase ? 0 : name,
        .phase = is_phase                     ? name
                 : controller.phase_count > 0 ? controller.phases[controller.phase_count - 1].name
                                              : 0,
        .samples = samples,
        .is_phase = is_phase,
    };
    controller.phase_step = 0;
    if (!is_phase) {
        controller.has_steps = controller.has_steps || kind == JM_SPAN_STEP;
        controller.name = name;
        note_steps(step.phase);
    }
    bool was_soon = controller.budget.soon_ns != 0;
    controller.budget.lag_steps = jm__bursts_lag(&controller.bursts);
    jm_tracing requested = jm__budget_begin(&controller.budget, &step, now_ns);
    if (jm__bursts_announce(&controller.bursts, controller.budget.soon_ns != 0 && !was_soon))
        jm_mark(JM_MARK_SOON, NULL);
    jm_tracing level = is_phase
                           ? requested
                           : jm__bursts_agree(&controller.bursts, controller.budget.steps, before, requested);
    jm__budget_set_level(&controller.budget, level);
    if (level != before) {
        trace(controller.run, level);
        jm__budget_switched(&controller.budget, jm__now_ns());
        controller.repeated_ns = now_ns;
    } else if (now_ns - controller.repeated_ns > REPEAT_NS) {
        bool may_not_know = controller.run->trace_kernels == NULL || controller.run->dormant ||
                            controller.run->kernel_switch_failed;
        if (level == JM_TRACING_STEPS && may_not_know) trace_kernels(controller.run, false);
        if (controller.bursts.page == NULL && controller.bursts.waits)
            jm__bursts_join(&controller.bursts, controller.run->folder.path);
        controller.repeated_ns = now_ns;
    }
}

static uint64_t begin(jm_span_kind kind, jm_name name, jm_name type, uint32_t samples,
                      const jm__track_number *payload)
{
    if (!try_lock_controller()) return jm__track_begin_with((uint8_t)kind, name, type, samples, payload);
    bool is_ours = controller.run != NULL && controller.pid == getpid();
    bool inside = atomic_load_explicit(&controller.open, memory_order_relaxed) != 0;
    bool is_phase = is_ours && kind == JM_SPAN_PHASE && !inside && !has_had_steps(name);
    bool steps = is_ours && kind != JM_SPAN_PHASE && is_step(kind, name);
    if (steps || is_phase) begin_step(kind, name, samples);
    uint64_t id = jm__track_begin_with((uint8_t)kind, name, type, samples, payload);
    if (steps) atomic_store_explicit(&controller.open, id, memory_order_relaxed);
    if (is_phase) controller.phase_step = id;
    if (is_ours && kind == JM_SPAN_PHASE) begin_phase(id, name);
    unlock_controller();
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
    lock_controller();
    if (is_step) {
        jm__budget_count(&controller.budget, samples, tokens);
        atomic_store_explicit(&controller.open, 0, memory_order_relaxed);
    } else {
        if (span == controller.phase_step) jm__budget_rest(&controller.budget, jm__now_ns());
        end_phase(span);
    }
    unlock_controller();
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
    lock_controller();
    controller.run = run;
    controller.pid = getpid();
    controller.has_steps = false;
    controller.name = 0;
    controller.phase_count = 0;
    controller.stepped_count = 0;
    controller.phase_step = 0;
    atomic_store(&controller.open, 0);
    controller.repeated_ns = jm__now_ns();
    jm__budget_init(&controller.budget, share, controller.repeated_ns);
    jm__bursts_join(&controller.bursts, run->folder.path);
    trace(run, JM_TRACING_ON);
    controller.recorded = jm__track_run();
    unlock_controller();
    jm__timeline_follow_steps(&follower);
}

/* Copies the budget to `last` unless NULL. False: another run's budget. */
static bool end_budget(const jm_run *run, jm__budget *last)
{
    if (run->owner != getpid()) return false;
    lock_controller();
    bool is_ours = controller.run == run;
    if (is_ours) {
        jm__timeline_follow_steps(NULL);
        if (last != NULL) *last = controller.budget;
        jm__bursts_leave(&controller.bursts);
        controller.run = NULL;
    }
    unlock_controller();
    return is_ours;
}

void jm__budget_leave(jm_run *run)
{
    end_budget(run, NULL);
}

void jm_run_trace(jm_run *run, jm_tracing tracing)
{
    jm__budget_leave(run); /* a budget and explicit levels exclude each other */
    trace(run, tracing);
}

bool jm_run_tracing_cost(jm_run *run, jm_tracing_cost *cost)
{
    *cost = (jm_tracing_cost){0};
    if (run->owner != getpid()) return false;
    lock_controller();
    bool is_ours = controller.run == run;
    /* Without a recorder, time does not count in a dormant run. */
    bool is_paused = run->dormant && controller.recorded == 0;
    int64_t until_ns = is_paused ? controller.budget.now_ns : jm__now_ns();
    if (is_ours)
        *cost = (jm_tracing_cost){.share = jm__budget_cost(&controller.budget, until_ns),
                                  .steps = controller.budget.steps - controller.budget.phase_steps,
                                  .traced_steps = controller.budget.traced_steps};
    unlock_controller();
    return is_ours;
}

void jm__budget_end(jm_run *run)
{
    jm__budget last;
    if (!end_budget(run, &last)) return;
    char text[192];
    long cost_ppm = lround(1e6 * jm__budget_cost(&last, jm__now_ns()));
    snprintf(text, sizeof text,
             "{\"budget_ppm\":%ld,\"cost_ppm\":%ld,\"steps\":%" PRIu64 ",\"traced_steps\":%" PRIu64 "}",
             lround(1e6 * last.share), cost_ppm, last.steps - last.phase_steps, last.traced_steps);
    bool is_foreign =
        run->dormant && controller.recorded != jm__track_run(); /* the current recorder has seen no step */
    if (!is_foreign) jm_mark(JM_MARK_BUDGET, text);
    if (run->attached) trace(run, JM_TRACING_ON); /* nothing sets levels from here on */
}
