/* Rows of a file into rows of a dataset. A file may hold anything: each number that is later used as an
 * index is checked here. */
#include "recording/dataset_rows.h"

#include "recording/insert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BOARDS_MAX  1024
#define SENSORS_MAX 65536
#define VALUE_MAX   1e20 /* of any reading, in any unit of ours; bits of throttle reasons fit too */

/* ---- columns */

static int64_t integer(sqlite3_stmt *row, int column, int64_t missing)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? missing : sqlite3_column_int64(row, column);
}

static double real(sqlite3_stmt *row, int column, double missing)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL ? missing : sqlite3_column_double(row, column);
}

static const char *text(sqlite3_stmt *row, int column)
{
    const char *value = (const char *)sqlite3_column_text(row, column);
    return value == NULL ? "" : value;
}

static void copy(char *to, size_t size, sqlite3_stmt *row, int column)
{
    snprintf(to, size, "%s", text(row, column));
}

const char *jm__loading_keep(jm__loading *loading, const char *value)
{
    if (value[0] == '\0') return "";
    char *owned = strdup(value);
    if (owned != NULL && !jm__vec_push(&loading->texts, owned)) {
        free(owned);
        owned = NULL;
    }
    return owned;
}

static bool stray(jm__loading *loading)
{
    loading->strays++;
    return true;
}

static bool in_range(int64_t id, size_t count)
{
    return id >= 1 && id <= (int64_t)count;
}

/* A sensor's lag, window or time constant: up to an hour. */
static bool plausible_span(int64_t duration_ns)
{
    return duration_ns >= 0 && duration_ns <= 3600 * JM_NS_PER_S;
}

static int64_t name_or_none(const jm__loading *loading, int64_t id)
{
    return id > 0 && id < (int64_t)loading->names.count ? id : 0;
}

/* Put `item` at index id - 1. Rows that a damaged file lost before it become copies of `blank`. */
#define PLACE(vec, item, blank, maximum)                                                                     \
    do {                                                                                                     \
        if ((item).id < 1 || (item).id > (int64_t)(maximum)) return stray(loading);                          \
        while ((int64_t)(vec).count < (item).id) {                                                           \
            (blank).id = (int64_t)(vec).count + 1;                                                           \
            if (!jm__vec_push(&(vec), (blank))) return false;                                                \
        }                                                                                                    \
        (vec).items[(item).id - 1] = (item);                                                                 \
        return true;                                                                                         \
    } while (0)

/* ---- tables */

static bool take_board(void *context, sqlite3_stmt *row)
{
    jm__loading *loading = context;
    jm_board blank = {.index = -1,
                      .cuda_index = -1,
                      .power_limit_w = NAN,
                      .power_limit_min_w = NAN,
                      .power_limit_max_w = NAN};
    jm_board board = blank;
    board.id = integer(row, 0, 0);
    copy(board.backend, sizeof board.backend, row, 1);
    copy(board.name, sizeof board.name, row, 2);
    copy(board.uuid, sizeof board.uuid, row, 3);
    copy(board.pci, sizeof board.pci, row, 4);
    copy(board.driver, sizeof board.driver, row, 5);
    copy(board.profile, sizeof board.profile, row, 6);
    board.index = (int32_t)integer(row, 7, -1);
    board.cuda_index = (int32_t)integer(row, 8, -1);
    board.power_limit_w = real(row, 9, NAN);
    board.power_limit_min_w = real(row, 10, NAN);
    board.power_limit_max_w = real(row, 11, NAN);
    board.simulated = integer(row, 12, 0) != 0;
    board.mig = integer(row, 13, 0) != 0;
    PLACE(loading->boards, board, blank, BOARDS_MAX);
}

static jm_quantity quantity_of(const char *name)
{
    for (int i = 0; i < JM_QUANTITY_COUNT; i++)
        if (strcmp(jm_quantity_text((jm_quantity)i), name) == 0) return (jm_quantity)i;
    return JM_QUANTITY_COUNT;
}

static jm_response response_of(const char *name)
{
    for (int i = 0; i < JM_RESPONSE_COUNT; i++)
        if (strcmp(jm_response_text((jm_response)i), name) == 0) return (jm_response)i;
    return JM_RESPONSE_COUNT;
}

static bool take_sensor(void *context, sqlite3_stmt *row)
{
    jm__loading *loading = context;
    jm_sensor blank = {.missing = "lost with a part of the file"};
    jm_sensor sensor = {.id = integer(row, 0, 0), .board_id = integer(row, 1, 0)};
    copy(sensor.name, sizeof sensor.name, row, 2);
    copy(sensor.source, sizeof sensor.source, row, 3);
    copy(sensor.missing, sizeof sensor.missing, row, 4);
    sensor.quantity = quantity_of(text(row, 5));
    sensor.response = response_of(text(row, 6));
    sensor.period_ns = integer(row, 7, 0);
    sensor.lag_ns = integer(row, 8, 0);
    sensor.lag_u_ns = integer(row, 9, 0);
    sensor.window_ns = integer(row, 10, 0);
    sensor.tau_ns = integer(row, 11, 0);
    sensor.tau_u_ns = integer(row, 12, 0);
    sensor.read_cost_ns = integer(row, 13, 0);
    sensor.noise = real(row, 14, 0);
    sensor.gain_u = real(row, 15, 0);
    if (!in_range(sensor.board_id, loading->boards.count)) return stray(loading);
    if (sensor.quantity == JM_QUANTITY_COUNT || sensor.response == JM_RESPONSE_COUNT) return stray(loading);
    if (!plausible_span(sensor.period_ns) ||
        (!plausible_span(sensor.lag_ns) && !(sensor.lag_ns > INT64_MIN && plausible_span(-sensor.lag_ns))) ||
        !plausible_span(sensor.lag_u_ns) || !plausible_span(sensor.window_ns) ||
        !plausible_span(sensor.tau_ns) || !plausible_span(sensor.tau_u_ns))
        return stray(loading);
    blank.board_id = sensor.board_id;
    PLACE(loading->sensors, sensor, blank, SENSORS_MAX);
}

static bool take_name(void *context, sqlite3_stmt *row)
{
    jm__loading *loading = context;
    int64_t id = integer(row, 0, 0);
    if (id < 1 || id > JM_NUMBERED_MAX) return stray(loading);
    while ((int64_t)loading->names.count <= id)
        if (!jm__vec_push(&loading->names, "")) return false;
    const char *name = jm__loading_keep(loading, text(row, 1));
    if (name == NULL) return false;
    loading->names.items[id] = name;
    return true;
}

static bool take_span_kind(void *context, sqlite3_stmt *row)
{
    jm__loading *loading = context;
    int64_t number = integer(row, 0, 0);
    if (number < 1 || number >= (int64_t)(sizeof loading->kinds / sizeof *loading->kinds))
        return stray(loading);
    for (int kind = 1; kind < JM_SPAN_KIND_COUNT; kind++)
        if (strcmp(jm_span_kind_text((jm_span_kind)kind), text(row, 1)) == 0)
            loading->kinds[number] = (jm_span_kind)kind;
    return true;
}

static bool take_process(void *context, sqlite3_stmt *row)
{
    jm__loading *loading = context;
    jm__process process = {.id = integer(row, 0, 0),
                           .parent_id = integer(row, 1, 0),
                           .start_ns = integer(row, 2, 0),
                           .end_ns = integer(row, 3, 0),
                           .command = jm__loading_keep(loading, text(row, 4))};
    return process.command != NULL && jm__vec_push(&loading->processes, process);
}

static bool take_span(void *context, sqlite3_stmt *row)
{
    jm__loading *loading = context;
    int64_t kind = integer(row, 6, 0);
    bool known = kind >= 1 && kind < (int64_t)(sizeof loading->kinds / sizeof *loading->kinds);
    jm__span span = {.id = integer(row, 0, 0),
                     .process_id = integer(row, 1, 0),
                     .thread_id = integer(row, 2, 0),
                     .parent_id = integer(row, 3, 0),
                     .start_ns = integer(row, 4, 0),
                     .end_ns = integer(row, 5, -1),
                     .name_id = name_or_none(loading, integer(row, 7, 0)),
                     .type_id = name_or_none(loading, integer(row, 8, 0)),
                     .samples = (uint32_t)integer(row, 9, 0),
                     .kind = known ? loading->kinds[kind] : JM_SPAN_NONE};
    bool ended = sqlite3_column_type(row, 5) != SQLITE_NULL;
    if (span.kind == JM_SPAN_NONE || !jm__time_is_plausible(span.start_ns)) return stray(loading);
    if (ended && (!jm__time_is_plausible(span.end_ns) || span.end_ns < span.start_ns)) return stray(loading);
    return jm__vec_push(&loading->spans, span);
}

static bool take_class(void *context, sqlite3_stmt *row)
{
    jm__loading *loading = context;
    jm__kernel_class blank = {.work = JM_WORK_KERNEL};
    const char *work = text(row, 2);
    jm__kernel_class kernel_class = {.id = integer(row, 0, 0),
                                     .name_id = name_or_none(loading, integer(row, 1, 0)),
                                     .work = strcmp(work, "memcpy") == 0   ? JM_WORK_MEMCPY
                                             : strcmp(work, "memset") == 0 ? JM_WORK_MEMSET
                                                                           : JM_WORK_KERNEL};
    for (int i = 0; i < 3; i++) {
        kernel_class.grid[i] = (uint32_t)integer(row, 3 + i, 0);
        kernel_class.block[i] = (uint32_t)integer(row, 6 + i, 0);
    }
    PLACE(loading->classes, kernel_class, blank, JM_NUMBERED_MAX);
}

static bool take_stream(void *context, sqlite3_stmt *row)
{
    jm__loading *loading = context;
    jm__stream blank = {0};
    jm__stream stream = {.id = integer(row, 0, 0),
                         .process_id = integer(row, 1, 0),
                         .board_id = integer(row, 2, 0),
                         .context = (uint32_t)integer(row, 3, 0),
                         .stream = (uint32_t)integer(row, 4, 0)};
    if (!in_range(stream.board_id, loading->boards.count)) stream.board_id = 0;
    PLACE(loading->streams, stream, blank, JM_NUMBERED_MAX);
}

static bool take_reading(void *context, sqlite3_stmt *row)
{
    jm__loading *loading = context;
    jm_reading reading = {
        .t_ns = integer(row, 0, 0), .sensor_id = integer(row, 1, 0), .value = real(row, 2, NAN)};
    if (!in_range(reading.sensor_id, loading->sensors.count) || !jm__time_is_plausible(reading.t_ns) ||
        !(fabs(reading.value) <= VALUE_MAX)) /* NAN is none either */
        return stray(loading);
    return jm__vec_push(&loading->readings, reading);
}

static bool take_mark(void *context, sqlite3_stmt *row)
{
    jm__loading *loading = context;
    jm__mark mark = {.t_ns = integer(row, 0, 0),
                     .process_id = integer(row, 1, 0),
                     .thread_id = integer(row, 2, 0),
                     .name_id = name_or_none(loading, integer(row, 3, 0))};
    if (!jm__time_is_plausible(mark.t_ns)) return stray(loading);
    if (sqlite3_column_type(row, 4) != SQLITE_NULL) {
        mark.meta = jm__loading_keep(loading, text(row, 4));
        if (mark.meta == NULL) return false;
    }
    return jm__vec_push(&loading->marks, mark);
}

static bool take_loss(void *context, sqlite3_stmt *row)
{
    jm__loading *loading = context;
    jm__loss loss = {.t_ns = integer(row, 0, 0),
                     .process_id = integer(row, 1, 0),
                     .count = integer(row, 2, 0),
                     .source = jm__loading_keep(loading, text(row, 3)),
                     .reason = jm__loading_keep(loading, text(row, 4))};
    return loss.source != NULL && loss.reason != NULL && jm__vec_push(&loading->losses, loss);
}

static bool take_event(void *context, sqlite3_stmt *row)
{
    jm__loading *loading = context;
    jm__event event = {.kind = JM_EVENT_COUNT,
                       .t_ns = integer(row, 0, 0),
                       .board_id = integer(row, 1, 0),
                       .value = real(row, 3, NAN)};
    for (int i = 0; i < JM_EVENT_COUNT; i++)
        if (strcmp(jm__event_text((jm_event_kind)i), text(row, 2)) == 0) event.kind = (jm_event_kind)i;
    if (event.kind == JM_EVENT_COUNT) return stray(loading);
    if (!in_range(event.board_id, loading->boards.count)) event.board_id = 0;
    copy(event.text, sizeof event.text, row, 4);
    return jm__vec_push(&loading->events, event);
}

const jm__table jm__tables[] = {
    {"boards",
     "id, backend, name, uuid, pci, driver, profile, board_index, cuda_index, power_limit_w, "
     "power_limit_min_w, power_limit_max_w, simulated, mig",
     take_board},
    {"sensors",
     "id, board_id, name, source, missing, quantity, response, period_ns, lag_ns, lag_u_ns, window_ns, "
     "tau_ns, tau_u_ns, read_cost_ns, noise, gain_u",
     take_sensor},
    {"names", "id, text", take_name},
    {"span_kinds", "id, text", take_span_kind},
    {"processes", "id, parent_id, start_ns, end_ns, command", take_process},
    {"spans", "id, process_id, thread_id, parent_id, start_ns, end_ns, kind_id, name_id, type_id, samples",
     take_span},
    {"kernel_classes", "id, name_id, work, grid_x, grid_y, grid_z, block_x, block_y, block_z", take_class},
    {"streams", "id, process_id, board_id, context, stream", take_stream},
    {"readings", "t_ns, sensor_id, value", take_reading},
    {"marks", "t_ns, process_id, thread_id, name_id, meta", take_mark},
    {"losses", "t_ns, process_id, count, source, reason", take_loss},
    {"events", "t_ns, board_id, kind, value, text", take_event},
};

const size_t jm__table_count = sizeof jm__tables / sizeof *jm__tables;
