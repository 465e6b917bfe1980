/* Rows into SQL: one prepared statement a table. */
#include "recording/insert.h"

#include <math.h>

static const char *const statements_sql[JM_INSERT_COUNT] = {
#define X(name, sql) sql,
    JM_INSERT_MAP(X)
#undef X
};

static const char *const event_texts[JM_EVENT_COUNT] = {
#define X(name, text) text,
    JM_EVENT_MAP(X)
#undef X
};

const char *jm__event_text(jm_event_kind kind)
{
    return (unsigned)kind < JM_EVENT_COUNT ? event_texts[kind] : "recorder";
}

const char *jm__work_text(jm__work work)
{
    return work == JM_WORK_MEMCPY ? "memcpy" : work == JM_WORK_MEMSET ? "memset" : "kernel";
}

jm_status jm__inserter_prepare(jm__inserter *inserter, sqlite3 *db, const char *path, jm_error *err)
{
    inserter->db = db;
    for (int i = 0; i < JM_INSERT_COUNT; i++)
        JM_TRY(jm__database_prepare(db, &inserter->statements[i], statements_sql[i], path, err));
    return JM_OK;
}

void jm__inserter_free(jm__inserter *inserter)
{
    for (int i = 0; i < JM_INSERT_COUNT; i++)
        sqlite3_finalize(inserter->statements[i]);
    *inserter = (jm__inserter){0};
}

/* Binding can only fail for want of memory, and the step that follows reports it. */
static void bind_text(sqlite3_stmt *s, int column, const char *text)
{
    sqlite3_bind_text(s, column, text, -1, SQLITE_STATIC);
}

/* "" means unknown: NULL in the file */
static void bind_known_text(sqlite3_stmt *s, int column, const char *text)
{
    bind_text(s, column, text == NULL || text[0] == '\0' ? NULL : text);
}

/* A value that is missing as `missing` in memory and NULL in the file. */
static void bind_known(sqlite3_stmt *s, int column, int64_t value, int64_t missing)
{
    if (value == missing)
        sqlite3_bind_null(s, column);
    else
        sqlite3_bind_int64(s, column, value);
}

static void bind_known_real(sqlite3_stmt *s, int column, double value, double missing)
{
    if (isnan(value) || value == missing) /* NAN never equals: it is tested by itself */
        sqlite3_bind_null(s, column);
    else
        sqlite3_bind_double(s, column, value);
}

static int finish(sqlite3_stmt *s)
{
    int rc = sqlite3_step(s);
    if (rc == SQLITE_DONE) return sqlite3_reset(s);
    sqlite3_reset(s);
    return rc == SQLITE_OK ? SQLITE_ERROR : rc;
}

int jm__insert_meta(jm__inserter *inserter, const char *key, const char *value)
{
    sqlite3_stmt *s = inserter->statements[JM_INSERT_META];
    bind_text(s, 1, key);
    bind_text(s, 2, value);
    return finish(s);
}

int jm__insert_board(jm__inserter *inserter, const jm_board *board)
{
    sqlite3_stmt *s = inserter->statements[JM_INSERT_BOARD];
    sqlite3_bind_int64(s, 1, board->id);
    bind_text(s, 2, board->backend);
    bind_text(s, 3, board->name);
    bind_known_text(s, 4, board->uuid);
    bind_known_text(s, 5, board->pci);
    bind_known_text(s, 6, board->driver);
    bind_known_text(s, 7, board->profile);
    bind_known(s, 8, board->index, -1);
    bind_known(s, 9, board->cuda_index, -1);
    bind_known_real(s, 10, board->power_limit_w, NAN);
    bind_known_real(s, 11, board->power_limit_min_w, NAN);
    bind_known_real(s, 12, board->power_limit_max_w, NAN);
    sqlite3_bind_int(s, 13, board->simulated);
    sqlite3_bind_int(s, 14, board->mig);
    return finish(s);
}

int jm__insert_sensor(jm__inserter *inserter, const jm_sensor *sensor)
{
    sqlite3_stmt *s = inserter->statements[JM_INSERT_SENSOR];
    sqlite3_bind_int64(s, 1, sensor->id);
    sqlite3_bind_int64(s, 2, sensor->board_id);
    bind_text(s, 3, sensor->name);
    bind_text(s, 4, sensor->source);
    bind_known_text(s, 5, sensor->missing);
    bind_text(s, 6, jm_quantity_text(sensor->quantity));
    bind_text(s, 7, jm_quantity_unit(sensor->quantity));
    bind_text(s, 8, jm_response_text(sensor->response));
    bind_known(s, 9, sensor->period_ns, 0);
    sqlite3_bind_int64(s, 10, sensor->lag_ns);
    sqlite3_bind_int64(s, 11, sensor->lag_u_ns);
    sqlite3_bind_int64(s, 12, sensor->window_ns);
    sqlite3_bind_int64(s, 13, sensor->tau_ns);
    sqlite3_bind_int64(s, 14, sensor->tau_u_ns);
    bind_known(s, 15, sensor->read_cost_ns, 0);
    bind_known_real(s, 16, sensor->noise, 0);
    bind_known_real(s, 17, sensor->gain_u, 0);
    return finish(s);
}

int jm__insert_name(jm__inserter *inserter, int64_t id, const char *text)
{
    sqlite3_stmt *s = inserter->statements[JM_INSERT_NAME];
    sqlite3_bind_int64(s, 1, id);
    bind_text(s, 2, text);
    return finish(s);
}

static const bool process_wide[JM_SPAN_KIND_COUNT] = {
#define X(name, text, wide) [JM_SPAN_##name] = wide,
    JM_SPAN_KIND_MAP(X)
#undef X
};

int jm__insert_span_kind(jm__inserter *inserter, jm_span_kind kind)
{
    sqlite3_stmt *s = inserter->statements[JM_INSERT_SPAN_KIND];
    sqlite3_bind_int(s, 1, (int)kind);
    bind_text(s, 2, jm_span_kind_text(kind));
    sqlite3_bind_int(s, 3, process_wide[kind]);
    return finish(s);
}

int jm__insert_class(jm__inserter *inserter, const jm__kernel_class *kernel_class)
{
    sqlite3_stmt *s = inserter->statements[JM_INSERT_KERNEL_CLASS];
    sqlite3_bind_int64(s, 1, kernel_class->id);
    sqlite3_bind_int64(s, 2, kernel_class->name_id);
    bind_text(s, 3, jm__work_text(kernel_class->work));
    for (int i = 0; i < 3; i++) {
        sqlite3_bind_int64(s, 4 + i, kernel_class->grid[i]);
        sqlite3_bind_int64(s, 7 + i, kernel_class->block[i]);
    }
    return finish(s);
}

int jm__insert_stream(jm__inserter *inserter, const jm__stream *stream)
{
    sqlite3_stmt *s = inserter->statements[JM_INSERT_STREAM];
    sqlite3_bind_int64(s, 1, stream->id);
    sqlite3_bind_int64(s, 2, stream->process_id);
    bind_known(s, 3, stream->board_id, 0);
    sqlite3_bind_int64(s, 4, stream->context);
    sqlite3_bind_int64(s, 5, stream->stream);
    return finish(s);
}

int jm__insert_loss(jm__inserter *inserter, const jm__loss *loss)
{
    sqlite3_stmt *s = inserter->statements[JM_INSERT_LOSS];
    sqlite3_bind_int64(s, 1, loss->t_ns);
    bind_known(s, 2, loss->process_id, 0);
    sqlite3_bind_int64(s, 3, loss->count);
    bind_text(s, 4, loss->source == NULL ? "" : loss->source);
    bind_text(s, 5, loss->reason == NULL ? "" : loss->reason);
    return finish(s);
}

static int insert_reading(jm__inserter *inserter, const jm_reading *reading)
{
    if (isnan(reading->value)) return SQLITE_OK; /* a missing reading is no row */
    sqlite3_stmt *s = inserter->statements[JM_INSERT_READING];
    sqlite3_bind_int64(s, 1, reading->t_ns);
    sqlite3_bind_int64(s, 2, reading->sensor_id);
    sqlite3_bind_double(s, 3, reading->value);
    return finish(s);
}

static int insert_process(jm__inserter *inserter, const jm__process *process)
{
    sqlite3_stmt *s = inserter->statements[JM_INSERT_PROCESS];
    sqlite3_bind_int64(s, 1, process->id);
    bind_known(s, 2, process->parent_id, 0);
    sqlite3_bind_int64(s, 3, process->start_ns);
    sqlite3_bind_int64(s, 4, process->end_ns);
    bind_known_text(s, 5, process->command);
    return finish(s);
}

static int insert_span(jm__inserter *inserter, const jm__span *span)
{
    sqlite3_stmt *s = inserter->statements[JM_INSERT_SPAN];
    sqlite3_bind_int64(s, 1, span->id);
    sqlite3_bind_int64(s, 2, span->process_id);
    sqlite3_bind_int64(s, 3, span->thread_id);
    bind_known(s, 4, span->parent_id, 0);
    sqlite3_bind_int64(s, 5, span->start_ns);
    bind_known(s, 6, span->end_ns, -1);
    sqlite3_bind_int(s, 7, (int)span->kind);
    sqlite3_bind_int64(s, 8, span->name_id);
    bind_known(s, 9, span->type_id, 0);
    bind_known(s, 10, span->samples, 0);
    return finish(s);
}

static int insert_span_end(jm__inserter *inserter, const jm__span_end *end)
{
    sqlite3_stmt *s = inserter->statements[JM_INSERT_SPAN_END];
    sqlite3_bind_int64(s, 1, end->span_id);
    bind_known(s, 2, end->end_ns, -1);
    return finish(s);
}

static int insert_mark(jm__inserter *inserter, const jm__mark *mark)
{
    sqlite3_stmt *s = inserter->statements[JM_INSERT_MARK];
    sqlite3_bind_int64(s, 1, mark->t_ns);
    sqlite3_bind_int64(s, 2, mark->process_id);
    sqlite3_bind_int64(s, 3, mark->thread_id);
    sqlite3_bind_int64(s, 4, mark->name_id);
    bind_text(s, 5, mark->meta);
    return finish(s);
}

static int insert_kernel(jm__inserter *inserter, const jm__kernel *kernel)
{
    sqlite3_stmt *s = inserter->statements[JM_INSERT_KERNEL];
    sqlite3_bind_int64(s, 1, kernel->start_ns);
    sqlite3_bind_int64(s, 2, kernel->end_ns - kernel->start_ns);
    sqlite3_bind_int64(s, 3, kernel->class_id);
    sqlite3_bind_int64(s, 4, kernel->stream_id);
    bind_known(s, 5, kernel->span_id, 0);
    if (kernel->launch_ns == -1)
        sqlite3_bind_null(s, 6);
    else
        sqlite3_bind_int64(s, 6, kernel->start_ns - kernel->launch_ns);
    bind_known(s, 7, kernel->bytes, 0);
    sqlite3_bind_int64(s, 8, kernel->calls);
    return finish(s);
}

static bool event_has_value(jm_event_kind kind)
{
    return kind == JM_EVENT_CLOCK_STEP || kind == JM_EVENT_GAP || kind == JM_EVENT_COUNTER_RESET ||
           kind == JM_EVENT_THROTTLE;
}

static int insert_event(jm__inserter *inserter, const jm__event *event)
{
    sqlite3_stmt *s = inserter->statements[JM_INSERT_EVENT];
    sqlite3_bind_int64(s, 1, event->t_ns);
    bind_known(s, 2, event->board_id, 0);
    bind_text(s, 3, jm__event_text(event->kind));
    bind_known_real(s, 4, event_has_value(event->kind) ? event->value : NAN, NAN);
    bind_text(s, 5, event->text);
    return finish(s);
}

static int insert_anchor(jm__inserter *inserter, const jm__anchor *anchor)
{
    sqlite3_stmt *s = inserter->statements[JM_INSERT_ANCHOR];
    sqlite3_bind_int64(s, 1, anchor->monotonic_ns);
    sqlite3_bind_int64(s, 2, anchor->realtime_ns);
    return finish(s);
}

/* Every row of one vector of the batch. */
#define INSERT_ALL(vec, insert)                                                                              \
    for (size_t i = 0; rc == SQLITE_OK && i < batch->vec.count; i++)                                         \
    rc = insert(inserter, &batch->vec.items[i])

int jm__insert_batch(jm__inserter *inserter, const jm__batch *batch)
{
    int rc = SQLITE_OK;
    INSERT_ALL(processes, insert_process);
    INSERT_ALL(spans, insert_span);
    INSERT_ALL(span_ends, insert_span_end);
    INSERT_ALL(readings, insert_reading);
    INSERT_ALL(kernels, insert_kernel);
    INSERT_ALL(marks, insert_mark);
    INSERT_ALL(events, insert_event);
    INSERT_ALL(losses, jm__insert_loss);
    INSERT_ALL(anchors, insert_anchor);
    for (size_t i = 0; rc == SQLITE_OK && i < batch->meta.count; i++)
        rc = jm__insert_meta(inserter, batch->meta.items[i].key, batch->meta.items[i].value);
    return rc;
}
