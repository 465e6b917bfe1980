/* Hardware counters of a run: samples from the counter source into the queue, kernels and marks to the
 * source. */
#include "base/clock.h"
#include "format/rows/marks.h"
#include "record/counters/duty_cycle.h"
#include "record/run/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const struct {
    const char *name;
    jm__duty_cycle_burst state;
    bool ends; /* the process has ended as well */
} burst_marks[JM_RUN_BURST_MARKS] = {{JM_MARK_TRACED, JM_DUTY_CYCLE_TRACED, false},
                                     {JM_MARK_UNTRACED, JM_DUTY_CYCLE_UNTRACED, false},
                                     {JM_MARK_STEPS, JM_DUTY_CYCLE_UNTRACED, false},
                                     {JM_MARK_SOON, JM_DUTY_CYCLE_SOON, false},
                                     {JM_MARK_ENDED, JM_DUTY_CYCLE_UNTRACED, true}};

void jm__run_counters_saw_name(jm_run *run, int64_t name_id, const char *text)
{
    if (run->counters == NULL || !jm__mark_is_ours(text)) return;
    for (size_t i = 0; i < JM_RUN_BURST_MARKS; i++)
        if (strcmp(text, burst_marks[i].name) == 0) run->burst_marks[i] = name_id;
}

void jm__run_counters_saw_mark(jm_run *run, const jm__mark *mark)
{
    if (run->counters == NULL || mark->name_id <= 0) return;
    for (size_t i = 0; i < JM_RUN_BURST_MARKS; i++) {
        if (mark->name_id != run->burst_marks[i]) continue;
        if (burst_marks[i].ends)
            jm__counter_source_ended(run->counters, mark->process_id, mark->t_ns);
        else
            jm__counter_source_burst(run->counters, mark->process_id, burst_marks[i].state, mark->t_ns);
    }
}

void jm__run_counters_saw_stream(jm_run *run, const jm__stream *stream)
{
    if (run->counters != NULL && stream->board_id > 0)
        jm__counter_source_runs_on(run->counters, stream->process_id, stream->board_id);
    /* Stream ids have no gaps. A stream that finds no memory here has no board; the next id shows that one is
     * missing. */
    if (run->counters == NULL || stream->id <= 0) return;
    while (run->boards_of_streams.count < (size_t)stream->id - 1)
        if (!jm__vec_push(&run->boards_of_streams, 0)) return;
    if (run->boards_of_streams.count == (size_t)stream->id - 1)
        (void)jm__vec_push(&run->boards_of_streams, stream->board_id);
}

static int64_t board_of(const void *context, int64_t stream_id)
{
    const jm_run *run = context;
    bool is_known = stream_id >= 1 && (size_t)stream_id <= run->boards_of_streams.count;
    return is_known ? run->boards_of_streams.items[stream_id - 1] : 0;
}

void jm__run_counters_saw_kernels(jm_run *run, const jm__kernel *kernels, size_t count)
{
    if (run->counters != NULL) jm__counter_source_kernels(run->counters, kernels, count, board_of, run);
}
