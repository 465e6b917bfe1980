/* Hardware counters of a run: samples from the counter source into the queue. */
#include "base/clock.h"
#include "record/counters/duty_cycle.h"
#include "record/run/inside.h"

#include <stdio.h>
#include <stdlib.h>

/* The source's thread waits for the writer's only when a set is new. */
static int64_t take_set(void *context, const jm__counter_set *set)
{
    jm_run *run = context;
    jm__counter_set row = *set;
    pthread_mutex_lock(&run->writer_lock);
    int64_t id = jm__writer_counter_set(run->writer, &row, NULL) == JM_OK ? row.id : -1;
    pthread_mutex_unlock(&run->writer_lock);
    return id;
}

/* Work on a simulated board is spans: its kernels are never reported. */
static bool runs_spans(const jm_run *run)
{
    for (size_t i = 0; i < run->boards.count; i++)
        if (run->boards.items[i].simulated) return true;
    return false;
}

void jm__run_counters_start(jm_run *run, const jm_run_options *options)
{
    const jm__counter_sink sink = {.context = run,
                                   .set = take_set,
                                   .block = jm__run_queue_counter_block,
                                   .event = jm__run_queue_event,
                                   .fact = jm__run_queue_fact};
    bool traced = (options->kernels || options->child_kernels) && run->collector != NULL;
    bool requested = options->counters > 0;
    const jm__counter_options source_options = {
        .seconds_a_minute = requested ? options->counters : JM_DUTY_CYCLE_DEFAULT_S,
        .requested = requested,
        .traced = traced && !(requested && runs_spans(run)),
        .sim = options->sim != NULL ? options->sim : getenv("JOULEMAP_SIM"),
        .run_dir = run->folder.path};
    jm_error cause = {0};
    if (options->counters < 0 || (options->counters == 0 && !traced) || options->sampling_only) return;
    if (jm__counter_source_create(&run->counters, &source_options, run->boards.items, run->boards.count,
                                  &sink, &cause) == JM_OK)
        return;
    jm__event event = {.kind = JM_EVENT_COUNTERS, .t_ns = jm__now_ns()};
    snprintf(event.text, sizeof event.text, "%.250s", cause.text);
    jm__run_queue_event(run, &event);
}
