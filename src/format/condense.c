/* Condensing by age and by file size: readings of a chunk into means over a second; kernels and spans of a
 * chunk, process by process, into one traced step and marks that say so. */
#include "format/condense.h"

#include "base/vec.h"
#include "format/row.h"
#include "format/rows/marks.h"
#include "format/rows/sensor_role.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows may arrive this late: rings are read every second, CUPTI buffers every ten (collector_parts.h). */
#define LATE_NS (15 * JM_NS_PER_S)
/* Between two milestones. */
#define MILESTONE_NS (5 * JM_NS_PER_S)
/* This much is never condensed. */
#define YOUNG_NS JM_CHUNK_NS
/* Per commit: about a second of work for the writer's thread. */
#define CHUNKS_MOST     8
#define CHUNKS_A_MINUTE (60 * JM_NS_PER_S / JM_CHUNK_NS)
/* A part of the size limit, for rows until the next check and for the journal. */
#define ROOM(bytes)    ((bytes) / 10)
#define THINNING_MOST  24
#define SECONDS        (JM_CHUNK_NS / JM_NS_PER_S)
#define PROCESSES_MOST 4096 /* processes with rows in one chunk; those beyond are not condensed */

/* The last rowids of these tables when everything before t_ns was in the file. */
typedef struct milestone {
    int64_t t_ns;
    int64_t readings, spans, kernels;
} milestone;

/* A chunk and the rows that may belong to it: after `from`, up to `to`. */
typedef struct chunk_rows {
    int64_t from_ns, to_ns;
    milestone from, to;
} chunk_rows;

/* The step that stayed of a process in a chunk. */
typedef struct kept_step {
    chunk_rows chunk;
    int64_t process_id;
    int64_t warm_ns; /* start of the complete rows: the step before */
    int64_t start_ns, end_ns;
} kept_step;

/* The last tracing mark of a process before the time that is condensed. */
typedef struct trace_level {
    int64_t process_id;
    int64_t last_mark;    /* name id of the mark, 0: none */
    int64_t last_written; /* the last one that is now in the file */
} trace_level;

typedef struct condenser {
    jm__writer *writer;
    jm__writer_internals internals;
    int64_t keep_ns;   /* younger rows are condensed only for the size limit; 0: no age limit */
    int64_t max_bytes; /* 0: no limit */
    JM_VEC(milestone) milestones;
    JM_VEC(kept_step) kept;
    JM_VEC(trace_level) levels;
    JM_VEC(int64_t) means; /* by index of the writer's sensors: the id of its board's power_mean, 0: none */
    int64_t traced, steps, untraced; /* name ids of the marks */
    int64_t start_ns;                /* of the first chunk, 0: none yet */
    int64_t until_ns;                /* everything before it is condensed */
    unsigned thinning;               /* one minute in 2^thinning keeps a step */
    bool announced, announced_full;
} condenser;

/* ---- SQL */

/* Prepares a statement with integer parameters. */
static int prepare(sqlite3 *db, sqlite3_stmt **out, const char *sql, size_t count, const int64_t *values)
{
    int rc = sqlite3_prepare_v2(db, sql, -1, out, NULL);
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++)
        rc = sqlite3_bind_int64(*out, (int)i + 1, values[i]);
    return rc;
}

/* Runs a statement to its end. */
static int run_sql(sqlite3 *db, const char *sql, size_t count, const int64_t *values)
{
    sqlite3_stmt *statement;
    int rc = prepare(db, &statement, sql, count, values);
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW)
        rc = SQLITE_OK;
    sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int64_t query_integer(sqlite3 *db, const char *sql)
{
    int64_t value = 0;
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) return 0;
    if (sqlite3_step(statement) == SQLITE_ROW) value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* ---- milestones */

static milestone current_milestone(sqlite3 *db, int64_t t_ns)
{
    return (milestone){.t_ns = t_ns,
                       .readings = query_integer(db, "SELECT max(rowid) FROM readings"),
                       .spans = query_integer(db, "SELECT max(id) FROM spans"),
                       .kernels = query_integer(db, "SELECT max(rowid) FROM kernels")};
}

static bool note_milestone(condenser *c, int64_t complete_ns)
{
    size_t count = c->milestones.count;
    if (count > 0 && complete_ns - c->milestones.items[count - 1].t_ns < MILESTONE_NS) return false;
    milestone now = current_milestone(c->internals.db, complete_ns);
    return jm__vec_push(&c->milestones, now);
}

/* The last milestone at or before t_ns; zeros, before all rows, if there is none. */
static milestone milestone_before(const condenser *c, int64_t t_ns)
{
    milestone found = {0};
    for (size_t i = 0; i < c->milestones.count && c->milestones.items[i].t_ns <= t_ns; i++)
        found = c->milestones.items[i];
    return found;
}

/* The first milestone after t_ns; after all rows if there is none. */
static milestone milestone_after(const condenser *c, int64_t t_ns)
{
    for (size_t i = 0; i < c->milestones.count; i++)
        if (c->milestones.items[i].t_ns > t_ns) return c->milestones.items[i];
    return (milestone){.readings = INT64_MAX, .spans = INT64_MAX, .kernels = INT64_MAX};
}

/* Drops milestones before the next chunk. */
static void forget_milestones(condenser *c)
{
    size_t gone = 0;
    while (gone + 1 < c->milestones.count && c->milestones.items[gone + 1].t_ns <= c->until_ns - LATE_NS)
        gone++;
    if (gone == 0) return;
    memmove(c->milestones.items, c->milestones.items + gone,
            (c->milestones.count - gone) * sizeof *c->milestones.items);
    c->milestones.count -= gone;
}

/* ---- the sensor of means */

static bool is_best_so_far(const condenser *c, const jm_sensor *sensor)
{
    for (size_t i = 0; i < c->internals.sensor_count; i++)
        if (c->internals.sensors[i].board_id == sensor->board_id &&
            jm__sensor_rank(&c->internals.sensors[i]) > jm__sensor_rank(sensor))
            return false;
    return jm__sensor_rank(sensor) > JM_RANK_NONE;
}

/* The mean over a second of a delayed sensor equals a one-second box with the same delay. */
static jm_sensor mean_of(const jm_sensor *sensor)
{
    jm_sensor mean = *sensor;
    snprintf(mean.name, sizeof mean.name, "%s", jm__sensor_name(JM_SENSOR_POWER_MEAN));
    snprintf(mean.source, sizeof mean.source, "condensed");
    mean.response = JM_RESPONSE_BOX;
    mean.lag_ns += sensor->response == JM_RESPONSE_FIRST_ORDER ? sensor->tau_ns : sensor->window_ns / 2;
    mean.period_ns = mean.window_ns = JM_NS_PER_S;
    mean.tau_ns = mean.tau_u_ns = 0;
    mean.read_cost_ns = 0;
    return mean;
}

/* Adds a mean sensor for the best power sensor of each board. Its row is written by the next commit, long
 * before its first reading. */
static bool make_means(condenser *c)
{
    for (size_t i = c->means.count; i < c->internals.sensor_count; i++) {
        int64_t mean_id = 0;
        jm_sensor sensor = c->internals.sensors[i];
        if (strcmp(sensor.name, jm__sensor_name(JM_SENSOR_POWER_MEAN)) != 0 && is_best_so_far(c, &sensor)) {
            jm_sensor mean = mean_of(&sensor);
            if (jm__writer_sensor(c->writer, &mean, NULL) == JM_OK) mean_id = mean.id;
            c->internals = jm__writer_internals_of(c->writer);
        }
        if (!jm__vec_push(&c->means, mean_id)) return false;
    }
    return true;
}

/* ---- readings of a chunk */

/* The sum of one sensor over one second. */
typedef struct cell {
    double sum, t_sum; /* times since the begin of the chunk, ns */
    int64_t count;
    int64_t rowid; /* of its first reading: the mean takes its place */
} cell;

typedef enum condensed_as { KEEP, KEEP_CHANGES, MEAN, POWER } condensed_as;

typedef struct condensing {
    const condenser *owner;
    const chunk_rows *chunk;
    cell *cells;  /* [sensor][second] */
    double *last; /* by sensor: the last value that was kept, NAN: none */
    sqlite3_stmt *remove, *insert;
} condensing;

/* Counters are exact at any distance; throttle bits have no mean. */
static condensed_as condensing_of(const jm_sensor *sensor)
{
    if (sensor->response == JM_RESPONSE_COUNTER || jm__sensor_is(sensor, JM_SENSOR_POWER_MEAN)) return KEEP;
    if (sensor->quantity == JM_QUANTITY_THROTTLE || sensor->quantity == JM_QUANTITY_POWER_LIMIT)
        return KEEP_CHANGES;
    return jm__sensor_rank(sensor) > JM_RANK_NONE ? POWER : MEAN;
}

static int remove_row(condensing *c, int64_t rowid)
{
    sqlite3_bind_int64(c->remove, 1, rowid);
    int rc = sqlite3_step(c->remove);
    sqlite3_reset(c->remove);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int take_reading(condensing *c, int64_t rowid, const jm_reading *r)
{
    size_t index = (size_t)r->sensor_id - 1;
    if (r->sensor_id < 1 || index >= c->owner->internals.sensor_count) return SQLITE_OK;
    condensed_as how = condensing_of(&c->owner->internals.sensors[index]);
    if (how == KEEP) return SQLITE_OK;
    if (how == KEEP_CHANGES) {
        bool same = c->last[index] == r->value;
        c->last[index] = r->value;
        return same ? remove_row(c, rowid) : SQLITE_OK;
    }
    int64_t since_ns = r->t_ns - c->chunk->from_ns;
    cell *at = &c->cells[(int64_t)index * SECONDS + since_ns / JM_NS_PER_S];
    if (at->count == 0) at->rowid = rowid;
    at->sum += r->value;
    at->t_sum += (double)since_ns;
    at->count++;
    return remove_row(c, rowid);
}

static int put_reading(condensing *c, int64_t rowid, int64_t t_ns, int64_t sensor_id, double value)
{
    sqlite3_bind_int64(c->insert, 1, rowid);
    sqlite3_bind_int64(c->insert, 2, t_ns);
    sqlite3_bind_int64(c->insert, 3, sensor_id);
    sqlite3_bind_double(c->insert, 4, value);
    int rc = sqlite3_step(c->insert);
    sqlite3_reset(c->insert);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The cell of the best power sensor of the board that has readings in that second. */
static const cell *find_power(const condensing *c, const jm_sensor *best, int64_t second)
{
    const cell *found = NULL;
    int rank = JM_RANK_NONE;
    for (size_t i = 0; i < c->owner->internals.sensor_count; i++) {
        const jm_sensor *sensor = &c->owner->internals.sensors[i];
        const cell *at = &c->cells[(int64_t)i * SECONDS + second];
        if (sensor->board_id != best->board_id || condensing_of(sensor) != POWER || at->count == 0) continue;
        if (jm__sensor_rank(sensor) <= rank) continue;
        rank = jm__sensor_rank(sensor);
        found = at;
    }
    return found;
}

static int put_sensor(condensing *c, size_t index)
{
    const jm_sensor *sensor = &c->owner->internals.sensors[index];
    int64_t mean_id = index < c->owner->means.count ? c->owner->means.items[index] : 0;
    condensed_as how = condensing_of(sensor);
    int rc = SQLITE_OK;
    for (int64_t second = 0; rc == SQLITE_OK && second < SECONDS; second++) {
        const cell *at = &c->cells[(int64_t)index * SECONDS + second];
        if (how == POWER) at = mean_id != 0 ? find_power(c, sensor, second) : NULL;
        if (at == NULL || at->count == 0) continue;
        double count = (double)at->count;
        int64_t t_ns =
            c->chunk->from_ns + (how == POWER ? (second + 1) * JM_NS_PER_S : (int64_t)(at->t_sum / count));
        rc = put_reading(c, at->rowid, t_ns, how == POWER ? mean_id : sensor->id, at->sum / count);
    }
    return rc;
}

static int take_readings(condensing *c)
{
    static const char sql[] =
        "SELECT rowid, t_ns, sensor_id, value FROM readings WHERE rowid > ?1 AND rowid <= ?2 AND "
        "t_ns >= ?3 AND t_ns < ?4";
    sqlite3_stmt *select;
    const int64_t values[] = {c->chunk->from.readings, c->chunk->to.readings, c->chunk->from_ns,
                              c->chunk->to_ns};
    int rc = prepare(c->owner->internals.db, &select, sql, 4, values);
    while (rc == SQLITE_OK && (rc = sqlite3_step(select)) == SQLITE_ROW) {
        jm_reading r = {.t_ns = sqlite3_column_int64(select, 1),
                        .sensor_id = sqlite3_column_int64(select, 2),
                        .value = sqlite3_column_double(select, 3)};
        rc = take_reading(c, sqlite3_column_int64(select, 0), &r);
    }
    sqlite3_finalize(select);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int condense_readings(const condenser *owner, const chunk_rows *chunk)
{
    size_t sensors = owner->internals.sensor_count;
    condensing c = {.owner = owner, .chunk = chunk};
    c.cells = calloc(sensors * SECONDS + 1, sizeof *c.cells);
    c.last = malloc((sensors + 1) * sizeof *c.last);
    int rc = c.cells == NULL || c.last == NULL ? SQLITE_NOMEM : SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sensors; i++)
        c.last[i] = NAN;
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(owner->internals.db, "DELETE FROM readings WHERE rowid = ?1", -1, &c.remove,
                                NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(owner->internals.db,
                                "INSERT INTO readings(rowid, t_ns, sensor_id, value) VALUES (?1, ?2, ?3, ?4)",
                                -1, &c.insert, NULL);
    if (rc == SQLITE_OK) rc = take_readings(&c);
    /* Counters cover kernels that are deleted. */
    if (rc == SQLITE_OK)
        rc = run_sql(owner->internals.db, "DELETE FROM counter_blocks WHERE end_ns <= ?1", 1, &chunk->to_ns);
    for (size_t i = 0; rc == SQLITE_OK && i < sensors; i++)
        rc = put_sensor(&c, i);
    sqlite3_finalize(c.remove);
    sqlite3_finalize(c.insert);
    free(c.cells);
    free(c.last);
    return rc;
}

typedef struct process_chunk {
    condenser *owner;
    const chunk_rows *chunk;
    int64_t process_id;
    trace_level *level;
} process_chunk;

typedef struct interval {
    int64_t from_ns, to_ns;
} interval;

typedef JM_VEC(interval) intervals;

/* ---- processes of a chunk */

static trace_level *level_of(condenser *c, int64_t process_id)
{
    for (size_t i = 0; i < c->levels.count; i++)
        if (c->levels.items[i].process_id == process_id) return &c->levels.items[i];
    trace_level none = {.process_id = process_id};
    return jm__vec_push(&c->levels, none) ? &c->levels.items[c->levels.count - 1] : NULL;
}

/* ---- traced time and steps */

static bool is_traced(const condenser *c, int64_t last_mark)
{
    return last_mark == 0 || last_mark == c->traced;
}

/* The traced parts of the chunk, by the marks of the process. */
static int find_traced_time(const process_chunk *p, intervals *traced)
{
    const condenser *c = p->owner;
    static const char sql[] =
        "SELECT t_ns, name_id FROM marks WHERE process_id = ?1 AND t_ns >= ?2 AND t_ns < ?3 AND "
        "name_id IN (?4, ?5, ?6) ORDER BY t_ns, rowid";
    const int64_t values[] = {p->process_id, p->chunk->from_ns, p->chunk->to_ns,
                              c->traced,     c->steps,          c->untraced};
    sqlite3_stmt *marks;
    int rc = prepare(c->internals.db, &marks, sql, 6, values);
    int64_t since_ns = p->chunk->from_ns, last_mark = p->level->last_mark;
    bool has_memory = true;
    while (rc == SQLITE_OK && (rc = sqlite3_step(marks)) == SQLITE_ROW) {
        interval until = {since_ns, sqlite3_column_int64(marks, 0)};
        if (is_traced(c, last_mark)) has_memory = has_memory && jm__vec_push(traced, until);
        since_ns = until.to_ns;
        last_mark = sqlite3_column_int64(marks, 1);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(marks);
    interval rest = {since_ns, p->chunk->to_ns};
    if (is_traced(c, last_mark)) has_memory = has_memory && jm__vec_push(traced, rest);
    p->level->last_mark = last_mark;
    return !has_memory ? SQLITE_NOMEM : rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Steps in the order of time; batches if the process marks no steps. */
static int find_steps(const process_chunk *p, intervals *steps)
{
    static const jm_span_kind kinds[] = {JM_SPAN_STEP, JM_SPAN_BATCH};
    int rc = SQLITE_OK;
    for (size_t i = 0; i < 2 && rc == SQLITE_OK && steps->count == 0; i++) {
        static const char sql[] =
            "SELECT start_ns, end_ns FROM spans WHERE process_id = ?1 AND start_ns >= ?2 AND end_ns < ?3 AND "
            "id > ?4 AND id <= ?5 AND kind_id = ?6 ORDER BY start_ns";
        const int64_t values[] = {p->process_id,        p->chunk->from_ns,  p->chunk->to_ns,
                                  p->chunk->from.spans, p->chunk->to.spans, (int64_t)kinds[i]};
        sqlite3_stmt *spans;
        rc = prepare(p->owner->internals.db, &spans, sql, 6, values);
        while (rc == SQLITE_OK && (rc = sqlite3_step(spans)) == SQLITE_ROW) {
            interval step = {sqlite3_column_int64(spans, 0), sqlite3_column_int64(spans, 1)};
            rc = jm__vec_push(steps, step) ? SQLITE_OK : SQLITE_NOMEM;
        }
        sqlite3_finalize(spans);
        if (rc == SQLITE_DONE) rc = SQLITE_OK;
    }
    return rc;
}

static bool contains(const intervals *traced, const interval *step)
{
    for (size_t i = 0; i < traced->count; i++)
        if (traced->items[i].from_ns <= step->from_ns && step->to_ns <= traced->items[i].to_ns) return true;
    return false;
}

/* The traced step nearest to the middle of the chunk. Not the first one, since its predecessor is deleted. */
static bool choose_step(const process_chunk *p, const intervals *traced, const intervals *steps,
                        kept_step *kept)
{
    int64_t middle_ns = p->chunk->from_ns + JM_CHUNK_NS / 2, best_ns = INT64_MAX;
    for (size_t i = 1; i < steps->count; i++) {
        const interval *step = &steps->items[i];
        int64_t off_ns = step->from_ns < middle_ns ? middle_ns - step->from_ns : step->from_ns - middle_ns;
        if (off_ns >= best_ns || !contains(traced, step)) continue;
        best_ns = off_ns;
        *kept =
            (kept_step){*p->chunk, p->process_id, steps->items[i - 1].from_ns, step->from_ns, step->to_ns};
    }
    return best_ns < INT64_MAX;
}

/* ---- deleting rows */

/* Keeps containers, as JM_TRACING_STEPS does (record/timeline/span.c). */
static int remove_spans(const process_chunk *p, int64_t warm_ns, int64_t end_ns)
{
    const chunk_rows *k = p->chunk;
    const int64_t values[] = {p->process_id, k->from_ns, k->to_ns, k->from.spans,
                              k->to.spans,   warm_ns,    end_ns};
    char sql[512];
    snprintf(sql, sizeof sql,
             "DELETE FROM spans WHERE process_id = ?1 AND start_ns >= ?2 AND start_ns < ?3 AND id > ?4 AND "
             "id <= ?5 AND "
             "kind_id NOT IN (%d, %d, %d, %d, %d, %d) AND NOT (start_ns >= ?6 AND start_ns <= ?7)",
             (int)JM_SPAN_PHASE, (int)JM_SPAN_EPOCH, (int)JM_SPAN_STEP, (int)JM_SPAN_BATCH,
             (int)JM_SPAN_WINDOW, (int)JM_SPAN_DATA);
    return run_sql(p->owner->internals.db, sql, 7, values);
}

/* Deletes kernels and spans outside [warm_ns, end_ns]. */
static int remove_work(const process_chunk *p, int64_t warm_ns, int64_t end_ns)
{
    const chunk_rows *k = p->chunk;
    const int64_t kernels[] = {p->process_id, k->from_ns, k->to_ns, k->from.kernels,
                               k->to.kernels, warm_ns,    end_ns};
    int rc =
        run_sql(p->owner->internals.db,
                "DELETE FROM kernels WHERE stream_id IN (SELECT id FROM streams WHERE process_id = ?1) AND "
                "start_ns >= ?2 AND start_ns < ?3 AND rowid > ?4 AND rowid <= ?5 AND NOT (start_ns >= ?6 AND "
                "start_ns <= ?7)",
                7, kernels);
    return rc == SQLITE_OK ? remove_spans(p, warm_ns, end_ns) : rc;
}

/* Clears references of the remaining rows to deleted spans. */
static int clear_references(const process_chunk *p)
{
    const chunk_rows *k = p->chunk;
    const int64_t kernels[] = {k->from.kernels, k->to.kernels, k->from_ns, k->to_ns},
                  spans[] = {k->from.spans, k->to.spans, k->from_ns, k->to_ns};
    int rc =
        run_sql(p->owner->internals.db,
                "UPDATE kernels SET span_id = NULL WHERE rowid > ?1 AND rowid <= ?2 AND start_ns >= ?3 AND "
                "start_ns < ?4 AND span_id NOT NULL AND span_id NOT IN (SELECT id FROM spans)",
                4, kernels);
    if (rc != SQLITE_OK) return rc;
    return run_sql(p->owner->internals.db,
                   "UPDATE spans SET parent_id = NULL WHERE id > ?1 AND id <= ?2 AND start_ns >= ?3 AND "
                   "start_ns < ?4 AND parent_id NOT NULL AND parent_id NOT IN (SELECT id FROM spans)",
                   4, spans);
}

/* ---- marks */

static int put_mark(const process_chunk *p, int64_t t_ns, int64_t name_id)
{
    jm__mark mark = {.process_id = p->process_id, .thread_id = 0, .t_ns = t_ns, .name_id = name_id};
    return jm__insert(p->owner->internals.inserter, JM_TABLE_MARKS, &mark);
}

/* Has the process a tracing mark exactly at the end of the chunk? It holds from there on. */
static int has_mark_at_end(const process_chunk *p, bool *has_mark)
{
    const condenser *c = p->owner;
    static const char sql[] =
        "SELECT 1 FROM marks WHERE process_id = ?1 AND t_ns = ?2 AND name_id IN (?3, ?4, ?5)";
    const int64_t values[] = {p->process_id, p->chunk->to_ns, c->traced, c->steps, c->untraced};
    sqlite3_stmt *mark;
    int rc = prepare(p->owner->internals.db, &mark, sql, 5, values);
    if (rc == SQLITE_OK) rc = sqlite3_step(mark);
    *has_mark = rc == SQLITE_ROW;
    sqlite3_finalize(mark);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Replaces the tracing marks of the chunk. `kept` NULL: no step stays. The former state is marked again at
 * the end of the chunk. */
static int put_marks(const process_chunk *p, int64_t level, const kept_step *kept)
{
    const condenser *c = p->owner;
    const int64_t values[] = {p->process_id, p->chunk->from_ns, p->chunk->to_ns,
                              c->traced,     c->steps,          c->untraced};
    int rc =
        run_sql(p->owner->internals.db,
                "DELETE FROM marks WHERE process_id = ?1 AND t_ns >= ?2 AND t_ns < ?3 AND name_id IN (?4, "
                "?5, ?6)",
                6, values);
    if (rc == SQLITE_OK && p->level->last_written != level) rc = put_mark(p, p->chunk->from_ns, level);
    if (rc == SQLITE_OK && kept != NULL) rc = put_mark(p, kept->start_ns, c->traced);
    if (rc == SQLITE_OK && kept != NULL) rc = put_mark(p, kept->end_ns, level);
    int64_t next = p->level->last_mark == 0 ? c->traced : p->level->last_mark;
    bool has_mark = false;
    if (rc == SQLITE_OK && next != level) rc = has_mark_at_end(p, &has_mark);
    if (rc == SQLITE_OK && next != level && !has_mark) rc = put_mark(p, p->chunk->to_ns, next);
    p->level->last_written = level;
    return rc;
}

static int condense_process(const process_chunk *p, bool keeps_a_step)
{
    condenser *c = p->owner;
    intervals traced = {0}, steps = {0};
    kept_step kept;
    int rc = find_traced_time(p, &traced);
    if (rc == SQLITE_OK) rc = find_steps(p, &steps);
    bool stays = rc == SQLITE_OK && keeps_a_step && choose_step(p, &traced, &steps, &kept);
    if (rc == SQLITE_OK)
        rc = stays ? remove_work(p, kept.warm_ns, kept.end_ns) : remove_work(p, INT64_MAX, INT64_MIN);
    if (rc == SQLITE_OK && stays) rc = clear_references(p);
    if (rc == SQLITE_OK) rc = put_marks(p, steps.count > 0 ? c->steps : c->untraced, stays ? &kept : NULL);
    if (rc == SQLITE_OK && stays && !jm__vec_push(&c->kept, kept)) rc = SQLITE_NOMEM;
    jm__vec_free(&traced);
    jm__vec_free(&steps);
    return rc;
}

/* Condenses each process with rows or tracing marks in the chunk. */
static int condense_work(condenser *c, const chunk_rows *chunk, bool keeps_a_step)
{
    static const char sql[] =
        "SELECT DISTINCT process_id FROM spans WHERE id > ?1 AND id <= ?2 AND start_ns >= ?3 AND start_ns < "
        "?4 UNION "
        "SELECT process_id FROM streams WHERE id IN (SELECT DISTINCT stream_id FROM kernels WHERE rowid > ?5 "
        "AND rowid "
        "<= ?6 AND start_ns >= ?3 AND start_ns < ?4) UNION "
        "SELECT process_id FROM marks WHERE t_ns >= ?3 AND t_ns < ?4 AND name_id IN (?7, ?8, ?9)";
    const int64_t values[] = {chunk->from.spans,   chunk->to.spans,   chunk->from_ns, chunk->to_ns,
                              chunk->from.kernels, chunk->to.kernels, c->traced,      c->steps,
                              c->untraced};
    int64_t ids[PROCESSES_MOST];
    size_t count = 0;
    sqlite3_stmt *found;
    int rc = prepare(c->internals.db, &found, sql, 9, values);
    while (rc == SQLITE_OK && count < PROCESSES_MOST && sqlite3_step(found) == SQLITE_ROW)
        ids[count++] = sqlite3_column_int64(found, 0);
    sqlite3_finalize(found);
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++) {
        process_chunk p = {c, chunk, ids[i], level_of(c, ids[i])};
        rc = p.level == NULL ? SQLITE_NOMEM : condense_process(&p, keeps_a_step);
    }
    return rc;
}

static int forget_step(condenser *c, const kept_step *kept)
{
    const process_chunk p = {c, &kept->chunk, kept->process_id, NULL};
    const int64_t traced[] = {kept->process_id, kept->start_ns, c->traced},
                  after[] = {kept->process_id, kept->end_ns, c->steps};
    static const char sql[] = "DELETE FROM marks WHERE process_id = ?1 AND t_ns = ?2 AND name_id = ?3";
    int rc = remove_work(&p, INT64_MAX, INT64_MIN);
    if (rc == SQLITE_OK) rc = run_sql(c->internals.db, sql, 3, traced);
    return rc == SQLITE_OK ? run_sql(c->internals.db, sql, 3, after) : rc;
}

/* ---- one chunk */

static chunk_rows next_chunk(const condenser *c)
{
    chunk_rows chunk = {.from_ns = c->until_ns, .to_ns = c->until_ns + JM_CHUNK_NS};
    chunk.from = milestone_before(c, chunk.from_ns);
    chunk.to = milestone_after(c, chunk.to_ns + LATE_NS);
    return chunk;
}

static bool chunk_keeps_step(const condenser *c, int64_t from_ns)
{
    int64_t number = (from_ns - c->start_ns) / JM_CHUNK_NS, minute = number / CHUNKS_A_MINUTE;
    return number % CHUNKS_A_MINUTE == 0 && (minute & ((INT64_C(1) << c->thinning) - 1)) == 0;
}

/* Records the progress in `meta`, and once as an event, which every report shows. */
static int announce(condenser *c)
{
    int rc = jm__insert_number(c->internals.inserter, "condensed_until_ns", c->until_ns);
    if (c->announced || rc != SQLITE_OK) return rc;
    jm__event event = {.kind = JM_EVENT_RECORDER, .t_ns = c->until_ns};
    snprintf(event.text, sizeof event.text,
             "older parts of this recording are condensed: power to means over a second, kernels and layers "
             "to one "
             "traced step a minute or fewer, which represents the others; totals are exact");
    c->announced = true;
    jm__writer_event(c->writer, &event);
    return rc;
}

static int condense_next(condenser *c)
{
    chunk_rows chunk = next_chunk(c);
    int rc = sqlite3_exec(c->internals.db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = condense_readings(c, &chunk);
    if (rc == SQLITE_OK) rc = condense_work(c, &chunk, chunk_keeps_step(c, chunk.from_ns));
    c->until_ns = chunk.to_ns;
    if (rc == SQLITE_OK) rc = announce(c);
    if (rc == SQLITE_OK) rc = sqlite3_exec(c->internals.db, "COMMIT", NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        sqlite3_exec(c->internals.db, "ROLLBACK", NULL, NULL, NULL); /* the chunk stays as it was */
    forget_milestones(c);
    return rc;
}

/* ---- the size */

/* Bytes in used pages; free pages will be reused. */
static int64_t bytes_of(sqlite3 *db)
{
    return (query_integer(db, "PRAGMA page_count") - query_integer(db, "PRAGMA freelist_count")) *
           query_integer(db, "PRAGMA page_size");
}

static int thin(condenser *c)
{
    size_t kept = 0;
    c->thinning++;
    int rc = sqlite3_exec(c->internals.db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (size_t i = 0; i < c->kept.count; i++) {
        kept_step step = c->kept.items[i];
        if (rc != SQLITE_OK || chunk_keeps_step(c, step.chunk.from_ns))
            c->kept.items[kept++] = step;
        else
            rc = forget_step(c, &step);
    }
    c->kept.count = kept;
    if (rc == SQLITE_OK) return sqlite3_exec(c->internals.db, "COMMIT", NULL, NULL, NULL);
    sqlite3_exec(c->internals.db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

static void announce_full(condenser *c, int64_t t_ns)
{
    jm__event event = {.kind = JM_EVENT_RECORDER, .t_ns = t_ns};
    if (c->announced_full) return;
    c->announced_full = true;
    snprintf(event.text, sizeof event.text,
             "the recording exceeds its size limit: its steps and readings alone need more, "
             "even condensed");
    jm__writer_event(c->writer, &event);
}

/* Condenses younger chunks and keeps fewer steps until the file fits. */
static int fit_into_size(condenser *c, int64_t complete_ns)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < CHUNKS_MOST; i++) {
        if (c->max_bytes == 0 || bytes_of(c->internals.db) <= c->max_bytes - ROOM(c->max_bytes))
            return SQLITE_OK;
        if (c->until_ns + JM_CHUNK_NS <= complete_ns - YOUNG_NS)
            rc = condense_next(c);
        else if (c->kept.count > 1 && c->thinning < THINNING_MOST)
            rc = thin(c);
        else
            announce_full(c, complete_ns);
    }
    return rc;
}

static int condense(condenser *c, int64_t complete_ns)
{
    if (complete_ns <= 0) return SQLITE_OK;
    c->internals = jm__writer_internals_of(c->writer);
    if (!make_means(c)) return SQLITE_OK;
    if (c->start_ns == 0) c->start_ns = c->until_ns = complete_ns / JM_CHUNK_NS * JM_CHUNK_NS;
    if (!note_milestone(c, complete_ns)) return SQLITE_OK;
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < CHUNKS_MOST && c->keep_ns > 0; i++) {
        if (c->until_ns + JM_CHUNK_NS > complete_ns - c->keep_ns - LATE_NS) break;
        rc = condense_next(c);
    }
    return rc == SQLITE_OK ? fit_into_size(c, complete_ns) : rc;
}

static void follow(void *context, int64_t complete_ns)
{
    (void)condense(context, complete_ns); /* on failure the rows stay and the file may grow */
}

static void free_condenser(void *context)
{
    condenser *c = context;
    jm__vec_free(&c->milestones);
    jm__vec_free(&c->kept);
    jm__vec_free(&c->levels);
    jm__vec_free(&c->means);
    free(c);
}

jm_status jm__writer_condense(jm__writer *writer, double keep_s, int64_t max_bytes, jm_error *err)
{
    if (!(keep_s > 0) && max_bytes <= 0) return JM_OK;
    condenser *c = calloc(1, sizeof *c);
    if (c == NULL) return jm__no_memory(err, "jm__writer_condense");
    c->writer = writer;
    c->keep_ns = keep_s > 0 ? (int64_t)(keep_s * (double)JM_NS_PER_S) : 0;
    if (keep_s > 0 && c->keep_ns < YOUNG_NS) c->keep_ns = YOUNG_NS;
    c->max_bytes = max_bytes;
    c->traced = jm__writer_name(writer, JM_MARK_TRACED);
    c->steps = jm__writer_name(writer, JM_MARK_STEPS);
    c->untraced = jm__writer_name(writer, JM_MARK_UNTRACED);
    const jm__writer_follower follower = {follow, free_condenser, c};
    jm__writer_follow(writer, &follower);
    return JM_OK;
}
