/* From sampler and collector into the writer. */
#include "base/clock.h"
#include "run/inside.h"

#include <stdio.h>
#include <string.h>

/* ---- sampler: its thread waits for the writer's only when a board or a sensor is new */

static int64_t take_board(void *context, const jm_board *board)
{
    jm_run *run = context;
    jm_board row = *board;
    pthread_mutex_lock(&run->writer_lock);
    jm_status status = jm__writer_board(run->writer, &row, NULL);
    if (status == JM_OK && !jm__vec_push(&run->boards, row)) status = JM_NO_MEMORY;
    pthread_mutex_unlock(&run->writer_lock);
    return status == JM_OK ? row.id : -1;
}

static int64_t take_sensor(void *context, const jm_sensor *sensor)
{
    jm_run *run = context;
    jm_sensor row = *sensor;
    pthread_mutex_lock(&run->writer_lock);
    jm_status status = jm__writer_sensor(run->writer, &row, NULL);
    pthread_mutex_unlock(&run->writer_lock);
    return status == JM_OK ? row.id : -1;
}

static void take_readings(void *context, const jm_reading *readings, size_t count)
{
    jm__run_queue_add_readings(&((jm_run *)context)->queue, readings, count);
}

static void take_event(void *context, const jm__event *event)
{
    jm__run_queue_add_event(&((jm_run *)context)->queue, event);
}

static void take_anchor(void *context, int64_t monotonic_ns, int64_t realtime_ns)
{
    jm__anchor anchor = {monotonic_ns, realtime_ns};
    jm__run_queue_add_anchor(&((jm_run *)context)->queue, &anchor);
}

jm__sampler_sink jm__run_sampler_sink(jm_run *run)
{
    return (jm__sampler_sink){.context = run,
                              .board = take_board,
                              .sensor = take_sensor,
                              .readings = take_readings,
                              .event = take_event,
                              .anchor = take_anchor};
}

/* ---- collector: in the writer's thread, which holds writer_lock */

static int64_t take_name(void *context, const char *text)
{
    return jm__writer_name(((jm_run *)context)->writer, text);
}

static void take_process(void *context, const jm__process *process)
{
    jm__writer_process(((jm_run *)context)->writer, process, NULL);
}

static void take_span_begin(void *context, const jm__span *span)
{
    jm__writer_span_begin(((jm_run *)context)->writer, span, NULL);
}

static void take_span_end(void *context, int64_t span_id, int64_t end_ns)
{
    jm__writer_span_end(((jm_run *)context)->writer, span_id, end_ns, NULL);
}

static void take_mark(void *context, const jm__mark *mark)
{
    jm__writer_mark(((jm_run *)context)->writer, mark, NULL);
}

static int64_t take_class(void *context, const jm__kernel_class *kernel_class)
{
    jm__kernel_class row = *kernel_class;
    return jm__writer_kernel_class(((jm_run *)context)->writer, &row, NULL) == JM_OK ? row.id : -1;
}

static int64_t take_stream(void *context, const jm__stream *stream, const char *board_uuid)
{
    jm_run *run = context;
    jm__stream row = *stream;
    for (size_t i = 0; i < run->boards.count && board_uuid != NULL && board_uuid[0] != '\0'; i++)
        if (strcmp(run->boards.items[i].uuid, board_uuid) == 0) row.board_id = run->boards.items[i].id;
    return jm__writer_stream(run->writer, &row, NULL) == JM_OK ? row.id : -1;
}

static void take_kernels(void *context, const jm__kernel *kernels, size_t count)
{
    jm__writer_kernels(((jm_run *)context)->writer, kernels, count, NULL);
}

static void take_loss(void *context, const jm__loss *loss)
{
    jm__writer_loss(((jm_run *)context)->writer, loss, NULL);
}

static void take_note(void *context, int64_t process_id, const char *text)
{
    jm__event event = {.kind = JM_EVENT_CUPTI, .t_ns = jm__now_ns()};
    snprintf(event.text, sizeof event.text, "process %lld: %s", (long long)process_id, text);
    jm__writer_event(((jm_run *)context)->writer, &event, NULL);
}

jm__collector_sink jm__run_collector_sink(jm_run *run)
{
    return (jm__collector_sink){.context = run,
                                .name = take_name,
                                .process = take_process,
                                .span_begin = take_span_begin,
                                .span_end = take_span_end,
                                .mark = take_mark,
                                .kernel_class = take_class,
                                .stream = take_stream,
                                .kernels = take_kernels,
                                .loss = take_loss,
                                .note = take_note};
}

/* ---- both */

static void write_loss(jm_run *run, int64_t count, const char *reason)
{
    jm__loss loss = {.t_ns = jm__now_ns(), .count = count, .source = "recorder", .reason = reason};
    if (count > 0) jm__writer_loss(run->writer, &loss, NULL);
}

size_t jm__run_take_rows(jm_run *run)
{
    jm__run_queue_swap(&run->queue, &run->taken);
    jm__run_rows *rows = &run->taken;
    jm__writer_readings(run->writer, rows->readings.items, rows->readings.count, NULL);
    for (size_t i = 0; i < rows->events.count; i++)
        jm__writer_event(run->writer, &rows->events.items[i], NULL);
    for (size_t i = 0; i < rows->anchors.count; i++)
        jm__writer_anchor(run->writer, rows->anchors.items[i].monotonic_ns,
                          rows->anchors.items[i].realtime_ns, NULL);
    write_loss(run, rows->lost_readings, "the writer did not keep up with the readings");
    write_loss(run, rows->lost_events, "the writer did not keep up with the events");
    jm__run_rows_clear(rows);
    size_t records = 0;
    if (run->collector != NULL) jm__collector_poll(run->collector, &records, NULL);
    return records;
}
