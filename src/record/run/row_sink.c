/* Each row to every sink, of which the recording is one. */
#include "record/run/row_sink.h"

#include "base/status.h"

#include <stdio.h>

bool jm__sinks_add(jm__sinks *sinks, const jm__row_sink *sink)
{
    if (sinks->count == JM_SINKS_MAX) return false;
    sinks->items[sinks->count++] = *sink;
    return true;
}

/* Tell sinks from number `from` on. */
#define TELL(sinks, from, what, ...)                                                                         \
    for (size_t i_ = (from); i_ < (sinks)->count; i_++)                                                      \
        if ((sinks)->items[i_].what != NULL) (sinks)->items[i_].what((sinks)->items[i_].context, __VA_ARGS__)

/* The first numbers the row, the others are told of it. */
#define NUMBER(what, row)                                                                                    \
    do {                                                                                                     \
        (row)->id = sinks->items[0].what(sinks->items[0].context, (row));                                    \
        if ((row)->id < 0) return -1;                                                                        \
        TELL(sinks, 1, what, (row));                                                                         \
        return (row)->id;                                                                                    \
    } while (0)

int64_t jm__sinks_board(jm__sinks *sinks, jm_board *board)
{
    NUMBER(board, board);
}

int64_t jm__sinks_sensor(jm__sinks *sinks, jm_sensor *sensor)
{
    NUMBER(sensor, sensor);
}

int64_t jm__sinks_kernel_class(jm__sinks *sinks, jm__kernel_class *kernel_class)
{
    NUMBER(kernel_class, kernel_class);
}

int64_t jm__sinks_stream(jm__sinks *sinks, jm__stream *stream)
{
    NUMBER(stream, stream);
}

int64_t jm__sinks_counter_set(jm__sinks *sinks, jm__counter_set *set)
{
    NUMBER(counter_set, set);
}

/* Numbers of names have no holes, so a higher one is a new name. */
int64_t jm__sinks_name(jm__sinks *sinks, const char *text)
{
    jm__name name = {.text = text};
    name.id = sinks->items[0].name(sinks->items[0].context, &name);
    if (name.id > sinks->names_told) {
        TELL(sinks, 1, name, &name);
        sinks->names_told = name.id;
    }
    return name.id;
}

void jm__sinks_meta(jm__sinks *sinks, const char *key, const char *value)
{
    TELL(sinks, 0, meta, key, value);
}

void jm__sinks_anchor(jm__sinks *sinks, const jm__anchor *anchor)
{
    TELL(sinks, 0, anchor, anchor);
}

void jm__sinks_readings(jm__sinks *sinks, const jm_reading *readings, size_t count)
{
    TELL(sinks, 0, readings, readings, count);
}

void jm__sinks_event(jm__sinks *sinks, const jm__event *event)
{
    TELL(sinks, 0, event, event);
}

void jm__sinks_process(jm__sinks *sinks, const jm__process *process)
{
    TELL(sinks, 0, process, process);
}

void jm__sinks_span_begin(jm__sinks *sinks, const jm__span *span)
{
    TELL(sinks, 0, span_begin, span);
}

void jm__sinks_span_end(jm__sinks *sinks, const jm__span_end *end)
{
    TELL(sinks, 0, span_end, end);
}

void jm__sinks_mark(jm__sinks *sinks, const jm__mark *mark)
{
    TELL(sinks, 0, mark, mark);
}

void jm__sinks_kernels(jm__sinks *sinks, const jm__kernel *kernels, size_t count)
{
    TELL(sinks, 0, kernels, kernels, count);
}

void jm__sinks_loss(jm__sinks *sinks, const jm__loss *loss)
{
    TELL(sinks, 0, loss, loss);
}

void jm__sinks_counter_block(jm__sinks *sinks, const jm__counter_block *block)
{
    TELL(sinks, 0, counter_block, block);
}

/* The others and the file go on without it. */
static void drop_sink(jm__sinks *sinks, size_t at, const jm_error *cause)
{
    jm__event event = {.kind = JM_EVENT_RECORDER, .t_ns = jm__now_ns()};
    snprintf(event.text, sizeof event.text, "%s is told no more of this run: %.160s", sinks->items[at].title,
             cause->text);
    sinks->count--;
    for (; at < sinks->count; at++)
        sinks->items[at] = sinks->items[at + 1];
    jm__sinks_event(sinks, &event);
}

/* The others first: what one of them fails with is a row of this commit. */
jm_status jm__sinks_commit(jm__sinks *sinks, int64_t complete_ns, jm_error *err)
{
    for (size_t i = sinks->count; i > 1; i--) {
        const jm__row_sink *sink = &sinks->items[i - 1];
        jm_error cause = {0};
        if (sink->commit != NULL && sink->commit(sink->context, complete_ns, &cause) != JM_OK)
            drop_sink(sinks, i - 1, &cause);
    }
    return sinks->items[0].commit(sinks->items[0].context, complete_ns, err);
}

/* ---- the recording as a sink of rows */

static int64_t put_board(void *writer, const jm_board *board)
{
    jm_board row = *board;
    return jm__writer_board(writer, &row, NULL) == JM_OK ? row.id : -1;
}

static int64_t put_sensor(void *writer, const jm_sensor *sensor)
{
    jm_sensor row = *sensor;
    return jm__writer_sensor(writer, &row, NULL) == JM_OK ? row.id : -1;
}

static int64_t put_name(void *writer, const jm__name *name)
{
    return jm__writer_name(writer, name->text);
}

static int64_t put_kernel_class(void *writer, const jm__kernel_class *kernel_class)
{
    jm__kernel_class row = *kernel_class;
    return jm__writer_kernel_class(writer, &row, NULL) == JM_OK ? row.id : -1;
}

static int64_t put_stream(void *writer, const jm__stream *stream)
{
    jm__stream row = *stream;
    return jm__writer_stream(writer, &row, NULL) == JM_OK ? row.id : -1;
}

static int64_t put_counter_set(void *writer, const jm__counter_set *set)
{
    jm__counter_set row = *set;
    return jm__writer_counter_set(writer, &row, NULL) == JM_OK ? row.id : -1;
}

static void put_meta(void *writer, const char *key, const char *value)
{
    jm__writer_meta(writer, key, value);
}

static void put_anchor(void *writer, const jm__anchor *anchor)
{
    jm__writer_anchor(writer, anchor);
}

static void put_readings(void *writer, const jm_reading *readings, size_t count)
{
    jm__writer_readings(writer, readings, count);
}

static void put_event(void *writer, const jm__event *event)
{
    jm__writer_event(writer, event);
}

static void put_process(void *writer, const jm__process *process)
{
    jm__writer_process(writer, process);
}

static void put_span_begin(void *writer, const jm__span *span)
{
    jm__writer_span_begin(writer, span);
}

static void put_span_end(void *writer, const jm__span_end *end)
{
    jm__writer_span_end(writer, end);
}

static void put_mark(void *writer, const jm__mark *mark)
{
    jm__writer_mark(writer, mark);
}

static void put_kernels(void *writer, const jm__kernel *kernels, size_t count)
{
    jm__writer_kernels(writer, kernels, count);
}

static void put_loss(void *writer, const jm__loss *loss)
{
    jm__writer_loss(writer, loss);
}

/* Unsound ones were refused where they came from (record/counters/helper.c). */
static void put_counter_block(void *writer, const jm__counter_block *block)
{
    (void)jm__writer_counter_block(writer, block, NULL);
}

static jm_status commit(void *writer, int64_t complete_ns, jm_error *err)
{
    return jm__writer_commit(writer, complete_ns, err);
}

jm__row_sink jm__row_sink_of_writer(jm__writer *writer)
{
    return (jm__row_sink){.title = "the recording",
                          .context = writer,
                          .board = put_board,
                          .sensor = put_sensor,
                          .name = put_name,
                          .kernel_class = put_kernel_class,
                          .stream = put_stream,
                          .counter_set = put_counter_set,
                          .meta = put_meta,
                          .anchor = put_anchor,
                          .readings = put_readings,
                          .event = put_event,
                          .process = put_process,
                          .span_begin = put_span_begin,
                          .span_end = put_span_end,
                          .mark = put_mark,
                          .kernels = put_kernels,
                          .loss = put_loss,
                          .counter_block = put_counter_block,
                          .commit = commit};
}
