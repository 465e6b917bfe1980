/* Recording a process only at times. */
#include "rows/marks.h"
#include "run/inside.h"
#include "timeline/dormant.h"
#include "timeline/timeline.h"
#include "timeline/track.h"

#include <joulemap/span.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* What this process said last: its rings are one, whichever of its runs they are of. */
static struct {
    pid_t pid;            /* a forked child traces everything and has said nothing (timeline/track.c) */
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

void jm__run_trace(jm_run *run, jm_tracing tracing)
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
    if (!jm__run_kernels_trace(run, !is_off) && !is_off) {
        mark = told.mark != NULL && !before ? told.mark : JM_MARK_UNTRACED;
        changes = !stands(mark);
    }
    if (changes && !before) jm_mark(mark, NULL);
    told.mark = mark;
    atomic_store_explicit(&told.tracing, (int)tracing, memory_order_relaxed);
}

void jm_run_trace(jm_run *run, jm_tracing tracing)
{
    jm__budget_leave(run); /* two cannot say it */
    jm__run_trace(run, tracing);
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
    if (run->attached && is_limited) jm__run_trace(run, JM_TRACING_ON);
}
