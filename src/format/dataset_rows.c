/* Rows of a file into rows of a dataset. A file may hold anything, so each number that is later used as an
 * index is checked here. */
#include "format/dataset_rows.h"

#include <math.h>
#include <string.h>

#define BOARDS_MAX  1024
#define SENSORS_MAX 65536
#define VALUE_MAX   1e20 /* of any reading in any of our units, bits of throttle reasons included */

const char *jm__loading_keep(jm__loading *loading, const char *value)
{
    if (value == NULL || value[0] == '\0') return "";
    return jm__text_store_add(&loading->texts, value, strlen(value));
}

static bool skip_stray(jm__loading *loading)
{
    loading->strays++;
    return true;
}

static bool in_range(int64_t id, size_t count)
{
    return id >= 1 && id <= (int64_t)count;
}

/* Of a sensor's lag, window or time constant: up to an hour. */
static bool is_plausible_duration(int64_t duration_ns)
{
    return duration_ns >= 0 && duration_ns <= 3600 * JM_NS_PER_S;
}

static int64_t name_or_none(const jm__loading *loading, int64_t id)
{
    return id > 0 && id < (int64_t)loading->names.count ? id : 0;
}

/* Store a row at index id - 1. Rows before it that a damaged file lost become copies of `blank`. */
#define PLACE(vec, item, blank, maximum)                                                                     \
    do {                                                                                                     \
        if ((item).id < 1 || (item).id > (int64_t)(maximum)) return skip_stray(loading);                     \
        while ((int64_t)(vec).count < (item).id) {                                                           \
            (blank).id = (int64_t)(vec).count + 1;                                                           \
            if (!jm__vec_push(&(vec), (blank))) return false;                                                \
        }                                                                                                    \
        (vec).items[(item).id - 1] = (item);                                                                 \
        return true;                                                                                         \
    } while (0)

/* ---- tables: rows as jm__row_read gives them, with borrowed texts */

static bool take_board(void *context, const void *row)
{
    jm__loading *loading = context;
    const jm_board *board = row;
    jm_board blank = jm__board_blank;
    PLACE(loading->boards, *board, blank, BOARDS_MAX);
}

static bool take_sensor(void *context, const void *row)
{
    jm__loading *loading = context;
    const jm_sensor *sensor = row;
    jm_sensor blank = {.missing = "lost with a part of the file", .board_id = sensor->board_id};
    if (!in_range(sensor->board_id, loading->boards.count)) return skip_stray(loading);
    if (sensor->quantity >= JM_QUANTITY_COUNT || sensor->response >= JM_RESPONSE_COUNT)
        return skip_stray(loading);
    if (!is_plausible_duration(sensor->period_ns) ||
        (!is_plausible_duration(sensor->lag_ns) &&
         !(sensor->lag_ns > INT64_MIN && is_plausible_duration(-sensor->lag_ns))) ||
        !is_plausible_duration(sensor->lag_u_ns) || !is_plausible_duration(sensor->window_ns) ||
        !is_plausible_duration(sensor->tau_ns) || !is_plausible_duration(sensor->tau_u_ns))
        return skip_stray(loading);
    PLACE(loading->sensors, *sensor, blank, SENSORS_MAX);
}

static bool take_name(void *context, const void *row)
{
    jm__loading *loading = context;
    const jm__name *name = row;
    if (name->id < 1 || name->id > JM_NUMBERED_MAX) return skip_stray(loading);
    while ((int64_t)loading->names.count <= name->id)
        if (!jm__vec_push(&loading->names, "")) return false;
    const char *text = jm__loading_keep(loading, name->text);
    if (text == NULL) return false;
    loading->names.items[name->id] = text;
    return true;
}

/* The slot for our kind of a kind id in the file. */
static jm_span_kind *kind_slot(jm__loading *loading, int64_t number)
{
    bool known = number >= 1 && number < (int64_t)(sizeof loading->kinds / sizeof *loading->kinds);
    return known ? &loading->kinds[number] : NULL;
}

static bool take_span_kind(void *context, const void *row)
{
    jm__loading *loading = context;
    const jm__span_kind_row *named = row;
    jm_span_kind *slot = kind_slot(loading, named->id);
    if (slot == NULL) return skip_stray(loading);
    for (int kind = 1; kind < JM_SPAN_KIND_COUNT; kind++)
        if (strcmp(jm_span_kind_text((jm_span_kind)kind), named->text) == 0) *slot = (jm_span_kind)kind;
    return true;
}

static bool take_process(void *context, const void *row)
{
    jm__loading *loading = context;
    jm__process process = *(const jm__process *)row;
    if (!jm__time_is_plausible(process.start_ns)) process.start_ns = 0;
    if (!jm__time_is_plausible(process.end_ns)) process.end_ns = process.start_ns;
    process.host = jm__loading_keep(loading, process.host);
    process.command = jm__loading_keep(loading, process.command);
    return process.host != NULL && process.command != NULL && jm__vec_push(&loading->processes, process);
}

static bool take_span(void *context, const void *row)
{
    jm__loading *loading = context;
    jm__span span = *(const jm__span *)row;
    const jm_span_kind *kind = kind_slot(loading, (int64_t)span.kind);
    if (kind == NULL || *kind == JM_SPAN_NONE || !jm__time_is_plausible(span.start_ns))
        return skip_stray(loading);
    if (span.end_ns != -1 && (!jm__time_is_plausible(span.end_ns) || span.end_ns < span.start_ns))
        return skip_stray(loading);
    span.kind = *kind;
    span.name_id = name_or_none(loading, span.name_id);
    span.type_id = name_or_none(loading, span.type_id);
    return jm__vec_push(&loading->spans, span);
}

static bool take_class(void *context, const void *row)
{
    jm__loading *loading = context;
    jm__kernel_class blank = {.work = JM_WORK_KERNEL}, kernel_class = *(const jm__kernel_class *)row;
    kernel_class.name_id = name_or_none(loading, kernel_class.name_id);
    if (jm__work_text(kernel_class.work)[0] == '\0') kernel_class.work = JM_WORK_KERNEL;
    PLACE(loading->classes, kernel_class, blank, JM_NUMBERED_MAX);
}

static bool take_stream(void *context, const void *row)
{
    jm__loading *loading = context;
    jm__stream blank = {0}, stream = *(const jm__stream *)row;
    if (!in_range(stream.board_id, loading->boards.count)) stream.board_id = 0;
    PLACE(loading->streams, stream, blank, JM_NUMBERED_MAX);
}

static bool take_reading(void *context, const void *row)
{
    jm__loading *loading = context;
    const jm_reading *reading = row;
    if (!in_range(reading->sensor_id, loading->sensors.count) || !jm__time_is_plausible(reading->t_ns) ||
        !(fabs(reading->value) <= VALUE_MAX)) /* rejects NAN as well */
        return skip_stray(loading);
    return jm__vec_push(&loading->readings, *reading);
}

static bool take_mark(void *context, const void *row)
{
    jm__loading *loading = context;
    jm__mark mark = *(const jm__mark *)row;
    if (!jm__time_is_plausible(mark.t_ns)) return skip_stray(loading);
    mark.name_id = name_or_none(loading, mark.name_id);
    if (mark.meta != NULL) {
        mark.meta = jm__loading_keep(loading, mark.meta);
        if (mark.meta == NULL) return false;
    }
    return jm__vec_push(&loading->marks, mark);
}

static bool take_loss(void *context, const void *row)
{
    jm__loading *loading = context;
    jm__loss loss = *(const jm__loss *)row;
    if (loss.count < 0 || !jm__time_is_plausible(loss.t_ns)) return skip_stray(loading);
    if (loss.count > INT64_MAX - loading->lost) loss.count = INT64_MAX - loading->lost;
    loading->lost += loss.count;
    loss.source = jm__loading_keep(loading, loss.source);
    loss.reason = jm__loading_keep(loading, loss.reason);
    return loss.source != NULL && loss.reason != NULL && jm__vec_push(&loading->losses, loss);
}

static bool take_event(void *context, const void *row)
{
    jm__loading *loading = context;
    jm__event event = *(const jm__event *)row;
    if (event.kind >= JM_EVENT_COUNT || !jm__time_is_plausible(event.t_ns)) return skip_stray(loading);
    if (!in_range(event.board_id, loading->boards.count)) event.board_id = 0;
    return jm__vec_push(&loading->events, event);
}

static bool take_counter_set(void *context, const void *row)
{
    jm__loading *loading = context;
    jm__counter_set set = *(const jm__counter_set *)row, blank = {.metrics = "[]", .units = "[]"};
    if (!in_range(set.board_id, loading->boards.count) || set.metric_count < 1 ||
        set.metric_count > JM_COUNTER_METRICS_MAX)
        return skip_stray(loading);
    set.metrics = jm__loading_keep(loading, set.metrics);
    set.units = jm__loading_keep(loading, set.units);
    if (set.metrics == NULL || set.units == NULL) return false;
    PLACE(loading->counter_sets, set, blank, JM_NUMBERED_MAX);
}

const jm__dataset_table jm__dataset_tables[] = {
    {JM_TABLE_BOARDS, take_board, true, false},
    {JM_TABLE_SENSORS, take_sensor, true, false},
    {JM_TABLE_NAMES, take_name, false, true},
    {JM_TABLE_SPAN_KINDS, take_span_kind, false, true},
    {JM_TABLE_PROCESSES, take_process, false, true},
    {JM_TABLE_SPANS, take_span, false, true},
    {JM_TABLE_KERNEL_CLASSES, take_class, false, false},
    {JM_TABLE_STREAMS, take_stream, false, false},
    {JM_TABLE_READINGS, take_reading, true, false},
    {JM_TABLE_MARKS, take_mark, false, true},
    {JM_TABLE_LOSSES, take_loss, false, false},
    {JM_TABLE_EVENTS, take_event, true, false},
    {JM_TABLE_COUNTER_SETS, take_counter_set, false, false},
};

const size_t jm__dataset_table_count = sizeof jm__dataset_tables / sizeof *jm__dataset_tables;
