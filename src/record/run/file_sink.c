/* The recording as a sink of rows. */
#include "record/run/row_sink.h"

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

/* Unsound ones were refused where they came from (record/counters/frame.c). */
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
