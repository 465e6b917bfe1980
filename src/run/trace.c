/* Recording a process only at times. */
#include "rows/marks.h"
#include "run/inside.h"
#include "timeline/timeline.h"

#include <joulemap/span.h>
#include <stdatomic.h>
#include <unistd.h>

/* What this process said last: its rings are one, whichever of its runs they are of. */
static struct {
    pid_t pid; /* a forked child traces everything and has said nothing (timeline/track.c) */
    bool at_times;
    jm_tracing tracing;
} told;

static void forget(void)
{
    told.pid = getpid();
    told.at_times = false;
    told.tracing = JM_TRACING_ON;
}

void jm_run_trace(jm_run *run, jm_tracing tracing)
{
    bool has_ended = run->owner != getpid() || atomic_load(&run->stopped);
    if (has_ended || (run->collector == NULL && !run->attached)) return;
    if (told.pid != getpid()) forget();
    bool was_told = told.at_times && told.tracing == JM_TRACING_ON;
    bool is_told = tracing == JM_TRACING_ON,
         is_off = tracing == JM_TRACING_OFF || tracing == JM_TRACING_STEPS;
    const char *ends = tracing == JM_TRACING_STEPS ? JM_MARK_STEPS : JM_MARK_UNTRACED;
    /* Marks lie inside of what is traced. */
    if (was_told && !is_told) jm_mark(ends, NULL);
    jm__timeline_trace(tracing);
    jm__run_kernels_trace(run, !is_off);
    if (!told.at_times && !is_told) jm_mark(ends, NULL);
    if (!was_told && is_told) jm_mark(JM_MARK_TRACED, NULL);
    told.at_times = true;
    told.tracing = tracing;
}

void jm__run_trace_begin(jm_run *run)
{
    bool is_limited = told.pid == getpid() && told.at_times && told.tracing != JM_TRACING_ON;
    if (run->has_rings) forget();
    if (run->attached && is_limited) jm_run_trace(run, JM_TRACING_ON);
}
