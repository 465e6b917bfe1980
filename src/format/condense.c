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

/* A process in a chunk, and the step that stays of it. */
typedef struct process_chunk {
    chunk_rows chunk;
    int64_t process_id;
    int64_t warm_ns; /* start of the complete rows: the step before; INT64_MAX: no step stays */
    int64_t start_ns, end_ns;
} process_chunk;

#define NO_STEP .warm_ns = INT64_MAX, .end_ns = INT64_MIN

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
    JM_VEC(process_chunk) kept;
    JM_VEC(trace_level) levels;
    JM_VEC(int64_t) means; /* by index of the writer's sensors: the id of its board's power_mean, 0: none */
    int64_t traced, steps, untraced; /* name ids of the marks */
    int64_t start_ns;                /* of the first chunk, 0: none yet */
    int64_t until_ns;                /* everything before it is condensed */
    unsigned thinning;               /* one minute in 2^thinning keeps a step */
    bool announced, announced_full;
} condenser;

/* ---- SQL */

#define READINGS_OF_CHUNK "rowid > :readings_after AND rowid <= :readings_to AND t_ns >= :from AND t_ns < :to"
#define SPANS_OF_CHUNK    "id > :spans_after AND id <= :spans_to AND start_ns >= :from AND start_ns < :to"
#define KERNELS_OF_CHUNK                                                                                     \
    "rowid > :kernels_after AND rowid <= :kernels_to AND start_ns >= :from AND start_ns < :to"
#define TRACING_MARKS "name_id IN (:traced, :steps, :untraced)"
#define KEPT          "(start_ns >= :warm AND start_ns <= :end)"

/* Prepares a statement; its parameters are found by their names. */
static int prepare(const condenser *c, const process_chunk *p, sqlite3_stmt **out, const char *sql)
{
    const chunk_rows *chunk = &p->chunk;
    const struct {
        const char *name;
        int64_t value;
    } values[] = {
        {":process", p->process_id},
        {":from", chunk->from_ns},
        {":to", chunk->to_ns},
        {":readings_after", chunk->from.readings},
        {":readings_to", chunk->to.readings},
        {":spans_after", chunk->from.spans},
        {":spans_to", chunk->to.spans},
        {":kernels_after", chunk->from.kernels},
        {":kernels_to", chunk->to.kernels},
        {":traced", c->traced},
        {":steps", c->steps},
        {":untraced", c->untraced},
        {":warm", p->warm_ns},
        {":start", p->start_ns},
        {":end", p->end_ns},
    };
    int rc = sqlite3_prepare_v2(c->internals.db, sql, -1, out, NULL);
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof values / sizeof *values; i++) {
        int at = sqlite3_bind_parameter_index(*out, values[i].name);
        if (at > 0) rc = sqlite3_bind_int64(*out, at, values[i].value);
    }
    return rc;
}

/* Runs a statement to its end. */
static int run_sql(const condenser *c, const process_chunk *p, const char *sql)
{
    sqlite3_stmt *statement;
    int rc = prepare(c, p, &statement, sql);
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW)
        rc = SQLITE_OK;
    sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int begin(const condenser *c)
{
    return sqlite3_exec(c->internals.db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
}

/* Ends the transaction; after a failure everything stays as it was. */
static int end(const condenser *c, int rc)
{
    if (rc == SQLITE_OK) rc = sqlite3_exec(c->internals.db, "COMMIT", NULL, NULL, NULL);
    if (rc != SQLITE_OK) sqlite3_exec(c->internals.db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
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

static bool note_milestone(condenser *c, int64_t complete_ns)
{
    size_t count = c->milestones.count;
    sqlite3 *db = c->internals.db;
    if (count > 0 && complete_ns - c->milestones.items[count - 1].t_ns < MILESTONE_NS) return false;
    milestone now = {.t_ns = complete_ns,
                     .readings = query_integer(db, "SELECT max(rowid) FROM readings"),
                     .spans = query_integer(db, "SELECT max(id) FROM spans"),
                     .kernels = query_integer(db, "SELECT max(rowid) FROM kernels")};
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
    const process_chunk *all; /* of all processes */
    cell *cells;              /* [sensor][second] */
    double *last;             /* by sensor: the last value that was kept, NAN: none */
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
    int64_t since_ns = r->t_ns - c->all->chunk.from_ns;
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
        int64_t t_ns = c->all->chunk.from_ns +
                       (how == POWER ? (second + 1) * JM_NS_PER_S : (int64_t)(at->t_sum / count));
        rc = put_reading(c, at->rowid, t_ns, how == POWER ? mean_id : sensor->id, at->sum / count);
    }
    return rc;
}

static int take_readings(condensing *c)
{
    sqlite3_stmt *select;
    int rc = prepare(c->owner, c->all, &select,
                     "SELECT rowid, t_ns, sensor_id, value FROM readings WHERE " READINGS_OF_CHUNK);
    while (rc == SQLITE_OK && (rc = sqlite3_step(select)) == SQLITE_ROW) {
        jm_reading r = {.t_ns = sqlite3_column_int64(select, 1),
                        .sensor_id = sqlite3_column_int64(select, 2),
                        .value = sqlite3_column_double(select, 3)};
        rc = take_reading(c, sqlite3_column_int64(select, 0), &r);
    }
    sqlite3_finalize(select);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int condense_readings(const condenser *owner, const process_chunk *all)
{
    size_t sensors = owner->internals.sensor_count;
    condensing c = {.owner = owner, .all = all};
    c.cells = calloc(sensors * SECONDS + 1, sizeof *c.cells);
    c.last = malloc((sensors + 1) * sizeof *c.last);
    int rc = c.cells == NULL || c.last == NULL ? SQLITE_NOMEM : SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sensors; i++)
        c.last[i] = NAN;
    if (rc == SQLITE_OK) rc = prepare(owner, all, &c.remove, "DELETE FROM readings WHERE rowid = ?1");
    if (rc == SQLITE_OK)
        rc = prepare(owner, all, &c.insert,
                     "INSERT INTO readings(rowid, t_ns, sensor_id, value) VALUES (?1, ?2, ?3, ?4)");
    if (rc == SQLITE_OK) rc = take_readings(&c);
    /* Counters cover kernels that are deleted. */
    if (rc == SQLITE_OK) rc = run_sql(owner, all, "DELETE FROM counter_blocks WHERE end_ns <= :to");
    for (size_t i = 0; rc == SQLITE_OK && i < sensors; i++)
        rc = put_sensor(&c, i);
    sqlite3_finalize(c.remove);
    sqlite3_finalize(c.insert);
    free(c.cells);
    free(c.last);
    return rc;
}

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
static int find_traced_time(const condenser *c, const process_chunk *p, trace_level *level, intervals *traced)
{
    sqlite3_stmt *marks;
    int rc = prepare(c, p, &marks,
                     "SELECT t_ns, name_id FROM marks WHERE process_id = :process AND t_ns >= :from AND "
                     "t_ns < :to AND " TRACING_MARKS " ORDER BY t_ns, rowid");
    int64_t since_ns = p->chunk.from_ns;
    bool has_memory = true;
    while (rc == SQLITE_OK && (rc = sqlite3_step(marks)) == SQLITE_ROW) {
        interval until = {since_ns, sqlite3_column_int64(marks, 0)};
        if (is_traced(c, level->last_mark)) has_memory = has_memory && jm__vec_push(traced, until);
        since_ns = until.to_ns;
        level->last_mark = sqlite3_column_int64(marks, 1);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(marks);
    interval rest = {since_ns, p->chunk.to_ns};
    if (is_traced(c, level->last_mark)) has_memory = has_memory && jm__vec_push(traced, rest);
    return !has_memory ? SQLITE_NOMEM : rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Steps in the order of time; batches if the process marks no steps. */
static int find_steps(const condenser *c, const process_chunk *p, intervals *steps)
{
    static const jm_span_kind kinds[] = {JM_SPAN_STEP, JM_SPAN_BATCH};
    int rc = SQLITE_OK;
    for (size_t i = 0; i < 2 && rc == SQLITE_OK && steps->count == 0; i++) {
        char sql[320];
        snprintf(sql, sizeof sql,
                 "SELECT start_ns, end_ns FROM spans WHERE process_id = :process AND " SPANS_OF_CHUNK
                 " AND end_ns < :to AND kind_id = %d ORDER BY start_ns",
                 (int)kinds[i]);
        sqlite3_stmt *spans;
        rc = prepare(c, p, &spans, sql);
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
static bool choose_step(process_chunk *p, const intervals *traced, const intervals *steps)
{
    int64_t middle_ns = p->chunk.from_ns + JM_CHUNK_NS / 2, best_ns = INT64_MAX;
    for (size_t i = 1; i < steps->count; i++) {
        const interval *step = &steps->items[i];
        int64_t off_ns = step->from_ns < middle_ns ? middle_ns - step->from_ns : step->from_ns - middle_ns;
        if (off_ns >= best_ns || !contains(traced, step)) continue;
        best_ns = off_ns;
        p->warm_ns = steps->items[i - 1].from_ns;
        p->start_ns = step->from_ns;
        p->end_ns = step->to_ns;
    }
    return best_ns < INT64_MAX;
}

/* ---- deleting rows */

/* Keeps containers, as JM_TRACING_STEPS does (record/timeline/span.c). */
static int remove_spans(const condenser *c, const process_chunk *p)
{
    char sql[512];
    snprintf(sql, sizeof sql,
             "DELETE FROM spans WHERE process_id = :process AND " SPANS_OF_CHUNK
             " AND kind_id NOT IN (%d, %d, %d, %d, %d, %d) AND NOT " KEPT,
             (int)JM_SPAN_PHASE, (int)JM_SPAN_EPOCH, (int)JM_SPAN_STEP, (int)JM_SPAN_BATCH,
             (int)JM_SPAN_WINDOW, (int)JM_SPAN_DATA);
    return run_sql(c, p, sql);
}

/* Deletes kernels and spans but those of the step that stays. */
static int remove_work(const condenser *c, const process_chunk *p)
{
    int rc = run_sql(c, p,
                     "DELETE FROM kernels WHERE stream_id IN (SELECT id FROM streams WHERE process_id = "
                     ":process) AND " KERNELS_OF_CHUNK " AND NOT " KEPT);
    return rc == SQLITE_OK ? remove_spans(c, p) : rc;
}

/* Clears references of the remaining rows to deleted spans. */
static int clear_references(const condenser *c, const process_chunk *p)
{
    int rc = run_sql(c, p,
                     "UPDATE kernels SET span_id = NULL WHERE " KERNELS_OF_CHUNK
                     " AND span_id NOT NULL AND span_id NOT IN (SELECT id FROM spans)");
    if (rc != SQLITE_OK) return rc;
    return run_sql(c, p,
                   "UPDATE spans SET parent_id = NULL WHERE " SPANS_OF_CHUNK
                   " AND parent_id NOT NULL AND parent_id NOT IN (SELECT id FROM spans)");
}

/* ---- marks */

static int put_mark(const condenser *c, const process_chunk *p, int64_t t_ns, int64_t name_id)
{
    jm__mark mark = {.process_id = p->process_id, .thread_id = 0, .t_ns = t_ns, .name_id = name_id};
    return jm__insert(c->internals.inserter, JM_TABLE_MARKS, &mark);
}

/* Has the process a tracing mark exactly at the end of the chunk? It holds from there on. */
static int has_mark_at_end(const condenser *c, const process_chunk *p, bool *has_mark)
{
    sqlite3_stmt *mark;
    int rc = prepare(c, p, &mark,
                     "SELECT 1 FROM marks WHERE process_id = :process AND t_ns = :to AND " TRACING_MARKS);
    if (rc == SQLITE_OK) rc = sqlite3_step(mark);
    *has_mark = rc == SQLITE_ROW;
    sqlite3_finalize(mark);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* Replaces the tracing marks of the chunk. The former state is marked again at its end. */
static int put_marks(const condenser *c, const process_chunk *p, trace_level *level, int64_t now, bool stays)
{
    int rc = run_sql(
        c, p,
        "DELETE FROM marks WHERE process_id = :process AND t_ns >= :from AND t_ns < :to AND " TRACING_MARKS);
    if (rc == SQLITE_OK && level->last_written != now) rc = put_mark(c, p, p->chunk.from_ns, now);
    if (rc == SQLITE_OK && stays) rc = put_mark(c, p, p->start_ns, c->traced);
    if (rc == SQLITE_OK && stays) rc = put_mark(c, p, p->end_ns, now);
    int64_t next = level->last_mark == 0 ? c->traced : level->last_mark;
    bool has_mark = false;
    if (rc == SQLITE_OK && next != now) rc = has_mark_at_end(c, p, &has_mark);
    if (rc == SQLITE_OK && next != now && !has_mark) rc = put_mark(c, p, p->chunk.to_ns, next);
    level->last_written = now;
    return rc;
}

static int condense_process(condenser *c, process_chunk *p, bool keeps_a_step)
{
    trace_level *level = level_of(c, p->process_id);
    intervals traced = {0}, steps = {0};
    if (level == NULL) return SQLITE_NOMEM;
    int rc = find_traced_time(c, p, level, &traced);
    if (rc == SQLITE_OK) rc = find_steps(c, p, &steps);
    bool stays = rc == SQLITE_OK && keeps_a_step && choose_step(p, &traced, &steps);
    if (rc == SQLITE_OK) rc = remove_work(c, p);
    if (rc == SQLITE_OK && stays) rc = clear_references(c, p);
    if (rc == SQLITE_OK) rc = put_marks(c, p, level, steps.count > 0 ? c->steps : c->untraced, stays);
    if (rc == SQLITE_OK && stays && !jm__vec_push(&c->kept, *p)) rc = SQLITE_NOMEM;
    jm__vec_free(&traced);
    jm__vec_free(&steps);
    return rc;
}

/* Condenses each process with rows or tracing marks in the chunk. */
static int condense_work(condenser *c, const process_chunk *all, bool keeps_a_step)
{
    int64_t ids[PROCESSES_MOST];
    size_t count = 0;
    sqlite3_stmt *found;
    int rc = prepare(c, all, &found,
                     "SELECT DISTINCT process_id FROM spans WHERE " SPANS_OF_CHUNK
                     " UNION SELECT process_id FROM streams WHERE id IN (SELECT DISTINCT stream_id FROM "
                     "kernels WHERE " KERNELS_OF_CHUNK ") UNION SELECT process_id FROM marks WHERE "
                     "t_ns >= :from AND t_ns < :to AND " TRACING_MARKS);
    while (rc == SQLITE_OK && count < PROCESSES_MOST && sqlite3_step(found) == SQLITE_ROW)
        ids[count++] = sqlite3_column_int64(found, 0);
    sqlite3_finalize(found);
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++) {
        process_chunk p = *all;
        p.process_id = ids[i];
        rc = condense_process(c, &p, keeps_a_step);
    }
    return rc;
}

static int forget_step(const condenser *c, const process_chunk *kept)
{
    const process_chunk none = {.chunk = kept->chunk, .process_id = kept->process_id, NO_STEP};
    int rc = remove_work(c, &none);
    if (rc != SQLITE_OK) return rc;
    return run_sql(c, kept,
                   "DELETE FROM marks WHERE process_id = :process AND ((t_ns = :start AND name_id = :traced) "
                   "OR (t_ns = :end AND name_id = :steps))");
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

/* An event that every report shows, once. */
static void announce(condenser *c, bool *announced, int64_t t_ns, const char *text)
{
    jm__event event = {.kind = JM_EVENT_RECORDER, .t_ns = t_ns};
    if (*announced) return;
    *announced = true;
    snprintf(event.text, sizeof event.text, "%s", text);
    jm__writer_event(c->writer, &event);
}

static int condense_next(condenser *c)
{
    const process_chunk all = {.chunk = next_chunk(c), NO_STEP};
    int rc = begin(c);
    if (rc == SQLITE_OK) rc = condense_readings(c, &all);
    if (rc == SQLITE_OK) rc = condense_work(c, &all, chunk_keeps_step(c, all.chunk.from_ns));
    c->until_ns = all.chunk.to_ns;
    if (rc == SQLITE_OK) rc = jm__insert_number(c->internals.inserter, "condensed_until_ns", c->until_ns);
    if (rc == SQLITE_OK)
        announce(
            c, &c->announced, c->until_ns,
            "older parts of this recording are condensed: power to means over a second, kernels and "
            "layers to one traced step a minute or fewer, which represents the others; totals are exact");
    rc = end(c, rc);
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
    int rc = begin(c);
    for (size_t i = 0; i < c->kept.count; i++) {
        process_chunk step = c->kept.items[i];
        if (rc != SQLITE_OK || chunk_keeps_step(c, step.chunk.from_ns))
            c->kept.items[kept++] = step;
        else
            rc = forget_step(c, &step);
    }
    c->kept.count = kept;
    return end(c, rc);
}

/* Condenses younger chunks and keeps fewer steps until the file fits. */
static void fit_into_size(condenser *c, int64_t complete_ns)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < CHUNKS_MOST; i++) {
        if (c->max_bytes == 0 || bytes_of(c->internals.db) <= c->max_bytes - ROOM(c->max_bytes)) return;
        if (c->until_ns + JM_CHUNK_NS <= complete_ns - YOUNG_NS)
            rc = condense_next(c);
        else if (c->kept.count > 1 && c->thinning < THINNING_MOST)
            rc = thin(c);
        else
            announce(c, &c->announced_full, complete_ns,
                     "the recording exceeds its size limit: its steps and readings alone need more, even "
                     "condensed");
    }
}

/* After a failure the rows stay and the file may grow. */
static void follow(void *context, int64_t complete_ns)
{
    condenser *c = context;
    if (complete_ns <= 0) return;
    c->internals = jm__writer_internals_of(c->writer);
    if (!make_means(c)) return;
    if (c->start_ns == 0) c->start_ns = c->until_ns = complete_ns / JM_CHUNK_NS * JM_CHUNK_NS;
    if (!note_milestone(c, complete_ns)) return;
    for (int i = 0; i < CHUNKS_MOST && c->keep_ns > 0; i++) {
        if (c->until_ns + JM_CHUNK_NS > complete_ns - c->keep_ns - LATE_NS) break;
        if (condense_next(c) != SQLITE_OK) return;
    }
    fit_into_size(c, complete_ns);
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
