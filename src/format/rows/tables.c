/* The columns of every table of a recording, their words, and their SQL. docs/file-format.md describes them.
 */
#include "format/rows/table.h"

#include <math.h>

/* A column is a name and the type of its field; R is the struct of the table's rows. The compiler picks the
 * kind by the field's type and rejects other types. */
#define FIELD(field)   .offset = offsetof(R, field)
#define TYPE_OF(field) ((R *)0)->field

#define ROW_ID(field) .kind = _Generic(TYPE_OF(field), int64_t : JM_COLUMN_ROW_ID), FIELD(field)
#define INTEGER(field)                                                                                       \
    .kind = _Generic(TYPE_OF(field), int64_t                                                                 \
                     : JM_COLUMN_INT64, int32_t                                                              \
                     : JM_COLUMN_INT32, uint32_t                                                             \
                     : JM_COLUMN_UINT32, bool                                                                \
                     : JM_COLUMN_BOOL),                                                                      \
    FIELD(field)
#define REAL(field) .kind = _Generic(TYPE_OF(field), double : JM_COLUMN_REAL), FIELD(field)
#define TEXT(field)                                                                                          \
    .kind = _Generic(TYPE_OF(field), char * : JM_COLUMN_CHARS, const char * : JM_COLUMN_TEXT), FIELD(field), \
    .size = sizeof TYPE_OF(field)
#define WORD_AS(as, field, texts)                                                                            \
    .kind = _Generic(TYPE_OF(field), unsigned                                                                \
                     : as),                                                                                  \
    FIELD(field), .words = (texts), .word_count = sizeof(texts) / sizeof *(texts)
#define WORD(field, texts)    WORD_AS(JM_COLUMN_WORD, field, texts)
#define DERIVED(field, texts) WORD_AS(JM_COLUMN_DERIVED, field, texts)
#define DISTANCE(as, field, from)                                                                            \
    .kind = _Generic(TYPE_OF(field), int64_t : as), FIELD(field), .base = offsetof(R, from)
#define AFTER(field, from)  DISTANCE(JM_COLUMN_AFTER, field, from)
#define BEFORE(field, from) DISTANCE(JM_COLUMN_BEFORE, field, from)
#define NUMBER(field, its_kind)                                                                              \
    .kind = _Generic(TYPE_OF(field), jm_payload                                                              \
                     : JM_COLUMN_NUMBER),                                                                    \
    FIELD(field), .base = offsetof(R, its_kind)
#define BLOB(field) .kind = _Generic(TYPE_OF(field), jm__bytes : JM_COLUMN_BLOB), FIELD(field)
#define GONE(last)  .kind = JM_COLUMN_GONE, .until = (last)

#define REQUIRED              .required = true
#define KEY                   .required = true, .is_key = true
#define UPDATED               .is_updated = true
#define MISSING(value)        .missing = (value) /* default 0 */
#define SINCE(version, older) .since = (version), .instead = (older)

/* ---- words */

static const char *const quantities[] = {
#define X(name, text, unit) text,
    JM_QUANTITY_MAP(X)
#undef X
};

static const char *const units[] = {
#define X(name, text, unit) unit,
    JM_QUANTITY_MAP(X)
#undef X
};

static const char *const responses[] = {
#define X(name, text) text,
    JM_RESPONSE_MAP(X)
#undef X
};

static const char *const works[] = {"", /* no work is 0 */
#define X(name, text) text,
                                    JM_WORK_MAP(X)
#undef X
};

static const char *const event_kinds[] = {
#define X(name, text, has_value) text,
    JM_EVENT_MAP(X)
#undef X
};

/* `none`: for a number that is none of them. */
#define TEXT_AT(texts, number, none)                                                                         \
    ((unsigned)(number) < sizeof(texts) / sizeof *(texts) ? (texts)[number] : (none))

const char *jm_quantity_text(jm_quantity quantity)
{
    return TEXT_AT(quantities, quantity, "unknown");
}

const char *jm_quantity_unit(jm_quantity quantity)
{
    return TEXT_AT(units, quantity, "");
}

const char *jm_response_text(jm_response response)
{
    return TEXT_AT(responses, response, "unknown");
}

const char *jm__work_text(jm__work work)
{
    return TEXT_AT(works, work, "");
}

/* ---- tables */

#define R jm__meta
static const jm__column meta[] = {
    {"key", KEY, TEXT(key)},
    {"value", REQUIRED, TEXT(value)},
};
#undef R

#define R jm_board
static const jm__column boards[] = {
    {"id", ROW_ID(id)},
    {"host", TEXT(host), SINCE(2, "(SELECT value FROM meta WHERE key = 'host')")},
    {"backend", REQUIRED, TEXT(backend)},
    {"name", REQUIRED, TEXT(name)},
    {"uuid", TEXT(uuid)},
    {"pci", TEXT(pci)},
    {"driver", TEXT(driver)},
    {"profile", TEXT(profile)},
    {"board_index", INTEGER(index), MISSING(-1)},
    {"cuda_index", INTEGER(cuda_index), MISSING(-1)},
    {"power_limit_w", REAL(power_limit_w), MISSING(NAN)},
    {"power_limit_min_w", REAL(power_limit_min_w), MISSING(NAN)},
    {"power_limit_max_w", REAL(power_limit_max_w), MISSING(NAN)},
    {"clock_limit_mhz", REAL(clock_limit_mhz), MISSING(NAN), SINCE(2, "NULL")},
    {"multiprocessors", INTEGER(multiprocessors), MISSING(0), SINCE(7, "NULL")},
    {"simulated", REQUIRED, INTEGER(simulated)},
    {"mig", REQUIRED, INTEGER(mig)},
    {"upstream", REQUIRED, INTEGER(upstream), SINCE(2, "0")},
};
#undef R

#define R jm_sensor
static const jm__column sensors[] = {
    {"id", ROW_ID(id)},
    {"board_id", REQUIRED, INTEGER(board_id)},
    {"name", REQUIRED, TEXT(name)},
    {"source", REQUIRED, TEXT(source)},
    {"missing", TEXT(missing)},
    {"quantity", REQUIRED, WORD(quantity, quantities)},
    {"unit", REQUIRED, DERIVED(quantity, units)},
    {"response", REQUIRED, WORD(response, responses)},
    {"period_ns", INTEGER(period_ns)},
    {"lag_ns", REQUIRED, INTEGER(lag_ns)},
    {"lag_u_ns", REQUIRED, INTEGER(lag_u_ns)},
    {"window_ns", REQUIRED, INTEGER(window_ns)},
    {"tau_ns", REQUIRED, INTEGER(tau_ns)},
    {"tau_u_ns", REQUIRED, INTEGER(tau_u_ns)},
    {"read_cost_ns", INTEGER(read_cost_ns)},
    {"noise", REAL(noise)},
    {"gain_u", REAL(gain_u)},
};
#undef R

#define R jm__name
static const jm__column names[] = {
    {"id", ROW_ID(id)},
    {"text", REQUIRED, TEXT(text)},
};
#undef R

#define R jm__span_kind_row
static const jm__column span_kinds[] = {
    {"id", ROW_ID(id)},
    {"text", REQUIRED, TEXT(text)},
    {"process_wide", REQUIRED, INTEGER(process_wide)},
};
#undef R

/* Version 1 identified a process by its pid alone: its `id` was the pid. */
#define R jm__process
static const jm__column processes[] = {
    {"id", UPDATED, ROW_ID(id)},
    {"pid", REQUIRED, INTEGER(pid), SINCE(2, "id")},
    {"host", TEXT(host), SINCE(2, "(SELECT value FROM meta WHERE key = 'host')")},
    {"rank", INTEGER(rank), MISSING(-1), SINCE(2, "NULL")},
    {"parent_id", GONE(1)},
    {"parent_pid", INTEGER(parent_pid), SINCE(2, "parent_id")},
    {"start_ns", REQUIRED, INTEGER(start_ns)},
    {"end_ns", REQUIRED, INTEGER(end_ns)},
    {"command", TEXT(command)},
};
#undef R

#define R jm__span
static const jm__column spans[] = {
    {"id", ROW_ID(id)},
    {"process_id", REQUIRED, INTEGER(process_id)},
    {"thread_id", REQUIRED, INTEGER(thread_id)},
    {"parent_id", INTEGER(parent_id)},
    {"start_ns", REQUIRED, INTEGER(start_ns)},
    {"end_ns", INTEGER(end_ns), MISSING(-1)},
    {"kind_id", REQUIRED, INTEGER(kind)},
    {"name_id", REQUIRED, INTEGER(name_id)},
    {"type_id", INTEGER(type_id)},
    {"samples", INTEGER(samples)},
    {"tokens", INTEGER(tokens), SINCE(3, "NULL")},
    {"payload", NUMBER(payload, payload_kind), SINCE(6, "NULL")},
};
#undef R

#define R jm__kernel_class
static const jm__column kernel_classes[] = {
    {"id", ROW_ID(id)},
    {"name_id", REQUIRED, INTEGER(name_id)},
    {"work", REQUIRED, WORD(work, works)},
    {"grid_x", REQUIRED, INTEGER(grid[0])},
    {"grid_y", REQUIRED, INTEGER(grid[1])},
    {"grid_z", REQUIRED, INTEGER(grid[2])},
    {"block_x", REQUIRED, INTEGER(block[0])},
    {"block_y", REQUIRED, INTEGER(block[1])},
    {"block_z", REQUIRED, INTEGER(block[2])},
};
#undef R

#define R jm__stream
static const jm__column streams[] = {
    {"id", ROW_ID(id)},
    {"process_id", REQUIRED, INTEGER(process_id)},
    {"board_id", INTEGER(board_id)},
    {"context", REQUIRED, INTEGER(context)},
    {"stream", REQUIRED, INTEGER(stream)},
};
#undef R

#define R jm_reading
static const jm__column readings[] = {
    {"t_ns", REQUIRED, INTEGER(t_ns)},
    {"sensor_id", REQUIRED, INTEGER(sensor_id)},
    {"value", REQUIRED, REAL(value), MISSING(NAN)},
};
#undef R

/* Sized for a million rows a second: small integers, no index; 0 and NULL take no space. */
#define R jm__kernel
static const jm__column kernels[] = {
    {"start_ns", REQUIRED, INTEGER(start_ns)},
    {"duration_ns", REQUIRED, AFTER(end_ns, start_ns)},
    {"class_id", REQUIRED, INTEGER(class_id)},
    {"stream_id", REQUIRED, INTEGER(stream_id)},
    {"span_id", INTEGER(span_id)},
    {"queued_ns", BEFORE(launch_ns, start_ns), MISSING(-1)},
    {"bytes", INTEGER(bytes)},
    {"calls", REQUIRED, INTEGER(calls)},
};
#undef R

#define R jm__mark
static const jm__column marks[] = {
    {"t_ns", REQUIRED, INTEGER(t_ns)},
    {"process_id", REQUIRED, INTEGER(process_id)},
    {"thread_id", REQUIRED, INTEGER(thread_id)},
    {"name_id", REQUIRED, INTEGER(name_id)},
    {"meta", TEXT(meta)},
};
#undef R

#define R jm__loss
static const jm__column losses[] = {
    {"t_ns", REQUIRED, INTEGER(t_ns)},   {"process_id", INTEGER(process_id)},
    {"count", REQUIRED, INTEGER(count)}, {"source", REQUIRED, TEXT(source)},
    {"reason", REQUIRED, TEXT(reason)},
};
#undef R

#define R jm__event
static const jm__column events[] = {
    {"t_ns", REQUIRED, INTEGER(t_ns)},
    {"board_id", INTEGER(board_id)},
    {"kind", REQUIRED, WORD(kind, event_kinds)},
    {"value", REAL(value), MISSING(NAN)},
    {"text", REQUIRED, TEXT(text)},
};
#undef R

#define R jm__anchor
static const jm__column anchors[] = {
    {"monotonic_ns", REQUIRED, INTEGER(monotonic_ns)},
    {"realtime_ns", REQUIRED, INTEGER(realtime_ns)},
};
#undef R

#define R jm__counter_set
static const jm__column counter_sets[] = {
    {"id", ROW_ID(id)},
    {"board_id", REQUIRED, INTEGER(board_id)},
    {"metric_count", REQUIRED, INTEGER(metric_count)},
    {"metrics", REQUIRED, TEXT(metrics)},
    {"units", REQUIRED, TEXT(units)},
    {"period_ns", INTEGER(period_ns)},
};
#undef R

#define R jm__counter_block
static const jm__column counter_blocks[] = {
    {"set_id", REQUIRED, INTEGER(set_id)}, {"start_ns", REQUIRED, INTEGER(start_ns)},
    {"end_ns", REQUIRED, INTEGER(end_ns)}, {"count", REQUIRED, INTEGER(count)},
    {"data", REQUIRED, BLOB(data)},
};
#undef R

const jm__table jm__tables[JM_TABLE_COUNT] = {
#define X(constant, name, row, since) {#name, name, sizeof name / sizeof *name, sizeof(row), since},
    JM_TABLE_MAP(X)
#undef X
};

/* ---- SQL */

/* NULL: INTEGER. A number has no affinity: it is stored as bound. */
static const char *const sql_types[] = {
    [JM_COLUMN_ROW_ID] = "INTEGER PRIMARY KEY",
    [JM_COLUMN_REAL] = "REAL",
    [JM_COLUMN_CHARS] = "TEXT",
    [JM_COLUMN_TEXT] = "TEXT",
    [JM_COLUMN_WORD] = "TEXT",
    [JM_COLUMN_DERIVED] = "TEXT",
    [JM_COLUMN_BLOB] = "BLOB",
    [JM_COLUMN_NUMBER] = "",
    [JM_COLUMN_GONE] = NULL,
};

/* The index of the next column of that version, from `at`; column_count if there is none. */
static size_t next_column(const jm__table *table, int version, size_t at)
{
    while (at < table->column_count && !jm__column_in(&table->columns[at], version))
        at++;
    return at;
}

void jm__table_sql_create(jm__strbuf *sql, const jm__table *table, int version)
{
    if (table->since > version) return;
    const char *between = "";
    jm__strbuf_format(sql, "CREATE TABLE %s(", table->name);
    for (size_t i = next_column(table, version, 0); i < table->column_count;
         i = next_column(table, version, i + 1)) {
        const jm__column *column = &table->columns[i];
        const char *type = sql_types[column->kind] != NULL ? sql_types[column->kind] : "INTEGER";
        jm__strbuf_format(sql, "%s%s%s%s%s%s", between, column->name, type[0] != '\0' ? " " : "", type,
                          column->required ? " NOT NULL" : "", column->is_key ? " PRIMARY KEY" : "");
        between = ", ";
    }
    jm__strbuf_add(sql, ");\n");
}

/* An updated row keeps its place: recovery relies on pages without stale rows. */
static void add_update(jm__strbuf *sql, const jm__table *table, int version)
{
    const jm__column *first = &table->columns[0];
    if (!first->is_key && !first->is_updated) return;
    const char *between = "";
    jm__strbuf_format(sql, " ON CONFLICT(%s) DO UPDATE SET ", first->name);
    for (size_t i = next_column(table, version, 1); i < table->column_count;
         i = next_column(table, version, i + 1)) {
        const char *name = table->columns[i].name;
        jm__strbuf_format(sql, "%s%s=excluded.%s", between, name, name);
        between = ", ";
    }
}

void jm__table_sql_insert(jm__strbuf *sql, const jm__table *table, int version, const char * or)
{
    const char *between = "";
    jm__strbuf_format(sql, "INSERT %s%s INTO %s VALUES(", or == NULL ? "" : "OR ", or == NULL ? "" : or,
                      table->name);
    for (size_t i = next_column(table, version, 0); i < table->column_count;
         i = next_column(table, version, i + 1)) {
        jm__strbuf_format(sql, "%s?", between);
        between = ",";
    }
    jm__strbuf_add(sql, ")");
    if (or == NULL) add_update(sql, table, version);
}

void jm__table_sql_select(jm__strbuf *sql, const jm__table *table, int version)
{
    const char *between = "";
    jm__strbuf_add(sql, "SELECT ");
    for (size_t i = next_column(table, JM_RECORDING_VERSION, 0); i < table->column_count;
         i = next_column(table, JM_RECORDING_VERSION, i + 1)) {
        const jm__column *column = &table->columns[i];
        jm__strbuf_format(sql, "%s%s", between, column->since > version ? column->instead : column->name);
        between = ", ";
    }
    jm__strbuf_format(sql, " FROM %s", table->name);
}
