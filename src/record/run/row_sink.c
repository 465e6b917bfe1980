/* Each row to every sink, of which the recording is one. */
#include "record/run/inside.h"

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
#define NUMBERED(what, type)                                                                                 \
    int64_t jm__sinks_##what(jm__sinks *sinks, type *row)                                                    \
    {                                                                                                        \
        row->id = sinks->items[0].what(sinks->items[0].context, row);                                        \
        if (row->id < 0) return -1;                                                                          \
        TELL(sinks, 1, what, row);                                                                           \
        return row->id;                                                                                      \
    }

NUMBERED(board, jm_board)
NUMBERED(sensor, jm_sensor)
NUMBERED(kernel_class, jm__kernel_class)
NUMBERED(stream, jm__stream)
NUMBERED(counter_set, jm__counter_set)

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

void jm__sinks_readings(jm__sinks *sinks, const jm_reading *readings, size_t count)
{
    TELL(sinks, 0, readings, readings, count);
}

void jm__sinks_kernels(jm__sinks *sinks, const jm__kernel *kernels, size_t count)
{
    TELL(sinks, 0, kernels, kernels, count);
}

#define TOLD(what, type)                                                                                     \
    void jm__sinks_##what(jm__sinks *sinks, const type *row)                                                 \
    {                                                                                                        \
        TELL(sinks, 0, what, row);                                                                           \
    }

TOLD(anchor, jm__anchor)
TOLD(event, jm__event)
TOLD(process, jm__process)
TOLD(span_begin, jm__span)
TOLD(span_end, jm__span_end)
TOLD(mark, jm__mark)
TOLD(loss, jm__loss)
TOLD(counter_block, jm__counter_block)

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

#define PUT_NUMBERED(what, type)                                                                             \
    static int64_t put_##what(void *writer, const type *row)                                                 \
    {                                                                                                        \
        type numbered = *row;                                                                                \
        return jm__writer_##what(writer, &numbered, NULL) == JM_OK ? numbered.id : -1;                       \
    }

PUT_NUMBERED(board, jm_board)
PUT_NUMBERED(sensor, jm_sensor)
PUT_NUMBERED(kernel_class, jm__kernel_class)
PUT_NUMBERED(stream, jm__stream)
PUT_NUMBERED(counter_set, jm__counter_set)

#define PUT(what, type)                                                                                      \
    static void put_##what(void *writer, const type *row)                                                    \
    {                                                                                                        \
        jm__writer_##what(writer, row);                                                                      \
    }

PUT(anchor, jm__anchor)
PUT(event, jm__event)
PUT(process, jm__process)
PUT(span_begin, jm__span)
PUT(span_end, jm__span_end)
PUT(mark, jm__mark)
PUT(loss, jm__loss)

static int64_t put_name(void *writer, const jm__name *name)
{
    return jm__writer_name(writer, name->text);
}

static void put_meta(void *writer, const char *key, const char *value)
{
    jm__writer_meta(writer, key, value);
}

static void put_readings(void *writer, const jm_reading *readings, size_t count)
{
    jm__writer_readings(writer, readings, count);
}

static void put_kernels(void *writer, const jm__kernel *kernels, size_t count)
{
    jm__writer_kernels(writer, kernels, count);
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
