/* Recording a process only at times. */
#include "rows/marks.h"
#include "run/inside.h"
#include "timeline/timeline.h"

#include <joulemap/span.h>
#include <stdatomic.h>
#include <unistd.h>

void jm_run_trace(jm_run *run, jm_tracing tracing)
{
    bool has_ended = run->owner != getpid() || atomic_load(&run->stopped);
    if (has_ended || (run->collector == NULL && !run->attached)) return;
    bool was_told = run->traces_at_times && run->tracing == JM_TRACING_ON;
    bool is_told = tracing == JM_TRACING_ON;
    /* Marks lie inside of what is traced. */
    if (was_told && !is_told) jm_mark(JM_MARK_UNTRACED, NULL);
    jm__timeline_trace(tracing != JM_TRACING_OFF);
    jm__run_kernels_trace(run, tracing != JM_TRACING_OFF);
    if (!run->traces_at_times && !is_told) jm_mark(JM_MARK_UNTRACED, NULL);
    if (!was_told && is_told) jm_mark(JM_MARK_TRACED, NULL);
    run->traces_at_times = true;
    run->tracing = tracing;
}
