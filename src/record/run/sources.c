/* Passes rows of sampler and collector to the writer. */
#include "base/clock.h"
#include "record/run/inside.h"
#include "record/timeline/which_run.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Reports a board or sensor without memory, since figures lack its readings. */
static void report_refused(jm_run *run, int64_t board_id, const char *name)
{
    jm__event event = {.kind = JM_EVENT_RECORDER, .t_ns = jm__now_ns(), .board_id = board_id};
    snprintf(event.text, sizeof event.text, "no room in memory for %.40s: none of its readings are here",
             name);
    run->refused = true;
    jm__run_queue_event(run, &event);
}

/* ---- sampler: its thread waits for the writer's only when a board or sensor is new */

static int64_t take_board(void *context, const jm_board *board)
{
    jm_run *run = context;
    jm_board row = *board;
    if (gethostname(row.host, sizeof row.host - 1) != 0) row.host[0] = '\0';
    pthread_mutex_lock(&run->writer_lock);
    int64_t id = jm__writer_board(run->writer, &row, NULL) == JM_OK ? row.id : -1;
    if (id > 0 && !jm__vec_push(&run->boards, row)) id = -1;
    pthread_mutex_unlock(&run->writer_lock);
    if (id < 0) report_refused(run, 0, row.name);
    return id;
}

static int64_t take_sensor(void *context, const jm_sensor *sensor)
{
    jm_run *run = context;
    jm_sensor row = *sensor;
    pthread_mutex_lock(&run->writer_lock);
    int64_t id = jm__writer_sensor(run->writer, &row, NULL) == JM_OK ? row.id : -1;
    pthread_mutex_unlock(&run->writer_lock);
    if (id < 0) report_refused(run, row.board_id, row.name);
    return id;
}

jm__sampler_sink jm__run_sampler_sink(jm_run *run)
{
    return (jm__sampler_sink){.context = run,
                              .board = take_board,
                              .sensor = take_sensor,
                              .readings = jm__run_queue_readings,
                              .event = jm__run_queue_event,
                              .anchor = jm__run_queue_anchor};
}

/* ---- collector: on the writer's thread, which holds writer_lock */

static int64_t take_name(void *context, const char *text)
{
    jm_run *run = context;
    int64_t id = jm__writer_name(run->writer, text);
    jm__counter_source_name(run->counters, id, text);
    return id;
}

static void take_process(void *context, const jm__process *process)
{
    jm__writer_process(((jm_run *)context)->writer, process);
}

static void take_span_begin(void *context, const jm__span *span)
{
    jm__writer_span_begin(((jm_run *)context)->writer, span);
}

static void take_span_end(void *context, const jm__span_end *end)
{
    jm__writer_span_end(((jm_run *)context)->writer, end);
}

static void take_mark(void *context, const jm__mark *mark)
{
    jm_run *run = context;
    jm__writer_mark(run->writer, mark);
    jm__counter_source_mark(run->counters, mark);
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
    if (jm__writer_stream(run->writer, &row, NULL) != JM_OK) row.id = -1;
    jm__counter_source_stream(run->counters, &row);
    return row.id;
}

static void take_kernels(void *context, const jm__kernel *kernels, size_t count)
{
    jm_run *run = context;
    jm__writer_kernels(run->writer, kernels, count);
    jm__counter_source_kernels(run->counters, kernels, count);
}

static void take_loss(void *context, const jm__loss *loss)
{
    jm__writer_loss(((jm_run *)context)->writer, loss);
}

void jm__run_report_process(jm_run *run, jm_event_kind kind, int64_t pid, const char *text)
{
    jm__event event = {.kind = kind, .t_ns = jm__now_ns()};
    snprintf(event.text, sizeof event.text, JM_EVENT_OF_PROCESS "%s", pid, text);
    jm__writer_event(run->writer, &event);
}

static void take_note(void *context, int64_t pid, const char *text)
{
    jm__run_report_process(context, JM_EVENT_CUPTI, pid, text);
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

/* ---- processes of other users, which may not enter the folder */

static bool is_known(const jm_run *run, pid_t pid)
{
    for (size_t i = 0; i < run->stranger_count; i++)
        if (run->strangers[i] == pid) return true;
    return false;
}

/* With writer_lock held. */
static void report_strangers(jm_run *run)
{
    char text[160];
    pid_t pid;
    uid_t uid;
    if (!jm__kept_file_is_ours(&run->folder.door)) return;
    while (run->stranger_count < JM_RUN_STRANGERS &&
           jm__door_next(run->folder.door.fd_plus_one - 1, &pid, &uid)) {
        if (is_known(run, pid)) continue; /* each of its libraries knocks */
        run->strangers[run->stranger_count++] = pid;
        snprintf(text, sizeof text,
                 "it runs as user %u, who may not enter the folder of this run: nothing of it is recorded%s",
                 (unsigned)uid,
                 run->stranger_count == JM_RUN_STRANGERS ? "; of others nothing more is said" : "");
        jm__run_report_process(run, JM_EVENT_RECORDER, pid, text);
    }
}

/* ---- taking rows */

static void write_loss(jm_run *run, int64_t count, const char *reason)
{
    jm__loss loss = {.t_ns = jm__now_ns(), .count = count, .source = "recorder", .reason = reason};
    if (count > 0) jm__writer_loss(run->writer, &loss);
}

/* After a failed step, spans may be missing, and kernels may belong to the span around theirs. */
static void report_collector(jm_run *run, jm_status status, const jm_error *cause)
{
    if (status == JM_OK) return;
    jm__event event = {.kind = JM_EVENT_RECORDER, .t_ns = jm__now_ns()};
    snprintf(event.text, sizeof event.text,
             "spans and kernels of this moment may be missing or misplaced: %.160s", cause->text);
    jm__writer_event(run->writer, &event);
}

void jm__run_take_last(jm_run *run)
{
    jm_error cause = {0};
    if (run->collector != NULL) report_collector(run, jm__collector_finish(run->collector, &cause), &cause);
}

size_t jm__run_take_rows(jm_run *run)
{
    jm_error cause = {0};
    report_strangers(run);
    jm__run_queue_swap(&run->queue, &run->taken);
    jm__run_rows *rows = &run->taken;
    jm__writer_readings(run->writer, rows->readings.items, rows->readings.count);
    for (size_t i = 0; i < rows->events.count; i++)
        jm__writer_event(run->writer, &rows->events.items[i]);
    for (size_t i = 0; i < rows->anchors.count; i++)
        jm__writer_anchor(run->writer, &rows->anchors.items[i]);
    for (size_t i = 0; i < rows->counter_blocks.count; i++)
        (void)jm__writer_counter_block(run->writer, &rows->counter_blocks.items[i], NULL);
    for (size_t i = 0; i < rows->facts.count; i++)
        jm__writer_meta(run->writer, rows->facts.items[i].key, rows->facts.items[i].value);
    write_loss(run, rows->lost_samples, "the writer did not keep up with the samples of counters");
    write_loss(run, rows->lost_readings, "the writer did not keep up with the readings");
    write_loss(run, rows->lost_events, "the writer did not keep up with the events");
    jm__run_rows_clear(rows);
    size_t records = 0;
    if (run->collector != NULL)
        report_collector(run, jm__collector_poll(run->collector, &records, &cause), &cause);
    return records;
}
