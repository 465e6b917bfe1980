/* When what is condensed, by age and by the size of the file; readings of a chunk into means over a second;
 * of kernels and spans of a chunk, process by process, a traced step, and marks that say so. */
#include "format/condense.h"

#include "base/vec.h"
#include "format/row.h"
#include "format/rows/marks.h"
#include "format/rows/sensor_role.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Rows come in up to this much after their time: a ring a second, what waits for CUPTI ten
 * (collector_parts.h). */
#define LATE_NS (15 * JM_NS_PER_S)
/* Between two milestones. */
#define MILESTONE_NS (5 * JM_NS_PER_S)
/* So much always stays whole, whatever the size. */
#define YOUNG_NS JM_CHUNK_NS
/* At once: a second of work for the writer's thread. */
#define CHUNKS_MOST     8
#define CHUNKS_A_MINUTE (60 * JM_NS_PER_S / JM_CHUNK_NS)
/* Of the size, for what comes until the next look and for the journal. */
#define ROOM(bytes)    ((bytes) / 10)
#define THINNING_MOST  24
#define SECONDS        (JM_CHUNK_NS / JM_NS_PER_S)
#define PROCESSES_MOST 4096 /* with something in one minute; those beyond stay whole */

/* The last rows of these tables when all that happened before t was in the file. */
typedef struct milestone {
    int64_t t_ns;
    int64_t readings, spans, kernels;
} milestone;

/* Rows that may be of a chunk: after `from`, up to `to`. */
typedef struct chunk_rows {
    int64_t from_ns, to_ns;
    milestone from, to;
} chunk_rows;

/* What stayed of a process in a chunk. */
typedef struct kept_step {
    chunk_rows chunk;
    int64_t process_id;
    int64_t warm_ns; /* from here on all is there */
    int64_t start_ns, end_ns;
} kept_step;

/* What a process said of itself last, before the time that is condensed. */
typedef struct said_level {
    int64_t process_id;
    int64_t said;    /* name of the mark, 0: none */
    int64_t written; /* the same in the file */
} said_level;

typedef struct condenser {
    jm__writer *writer;
    jm__writer_inside in;
    int64_t keep_ns;   /* what is younger stays as it is, if the size allows it; 0: no such time */
    int64_t max_bytes; /* 0: no limit */
    JM_VEC(milestone) milestones;
    JM_VEC(kept_step) kept;
    JM_VEC(said_level) levels;
    JM_VEC(int64_t) means;           /* by index in the writer's sensors: its board's power_mean, 0: none */
    int64_t traced, steps, untraced; /* names of the marks */
    int64_t start_ns;                /* of the first chunk, 0: none yet */
    int64_t until_ns;                /* all before is condensed */
    unsigned thinning;               /* one minute in 2 to that keeps a step */
    bool told, told_full;
} condenser;

/* ---- SQL */

/* A statement with whole numbers for its parameters. */
static int prepare(sqlite3 *db, sqlite3_stmt **out, const char *sql, size_t count, const int64_t *values)
{
    int rc = sqlite3_prepare_v2(db, sql, -1, out, NULL);
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++)
        rc = sqlite3_bind_int64(*out, (int)i + 1, values[i]);
    return rc;
}

/* To its end. */
static int run_sql(sqlite3 *db, const char *sql, size_t count, const int64_t *values)
{
    sqlite3_stmt *statement;
    int rc = prepare(db, &statement, sql, count, values);
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW)
        rc = SQLITE_OK;
    sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int64_t ask(sqlite3 *db, const char *sql)
{
    int64_t value = 0;
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) return 0;
    if (sqlite3_step(statement) == SQLITE_ROW) value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

/* ---- how far the tables had come when */

static milestone here(sqlite3 *db, int64_t t_ns)
{
    return (milestone){.t_ns = t_ns,
                       .readings = ask(db, "SELECT max(rowid) FROM readings"),
                       .spans = ask(db, "SELECT max(id) FROM spans"),
                       .kernels = ask(db, "SELECT max(rowid) FROM kernels")};
}

static bool note_milestone(condenser *c, int64_t complete_ns)
{
    size_t count = c->milestones.count;
    if (count > 0 && complete_ns - c->milestones.items[count - 1].t_ns < MILESTONE_NS) return false;
    milestone now = here(c->in.db, complete_ns);
    return jm__vec_push(&c->milestones, now);
}

/* The last one at or before t; before all rows if there is none. */
static milestone before(const condenser *c, int64_t t_ns)
{
    milestone found = {0};
    for (size_t i = 0; i < c->milestones.count && c->milestones.items[i].t_ns <= t_ns; i++)
        found = c->milestones.items[i];
    return found;
}

/* The first one after t. */
static milestone after(const condenser *c, int64_t t_ns)
{
    for (size_t i = 0; i < c->milestones.count; i++)
        if (c->milestones.items[i].t_ns > t_ns) return c->milestones.items[i];
    return (milestone){.readings = INT64_MAX, .spans = INT64_MAX, .kernels = INT64_MAX};
}

/* What lies wholly before the next chunk will not be asked for again. */
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
    for (size_t i = 0; i < c->in.sensor_count; i++)
        if (c->in.sensors[i].board_id == sensor->board_id &&
            jm__sensor_rank(&c->in.sensors[i]) > jm__sensor_rank(sensor))
            return false;
    return jm__sensor_rank(sensor) > JM_RANK_NONE;
}

/* A mean over a second of what the sensor says is what a box of a second says as late as it. */
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

/* One a board, for its best sensor of power. Their rows are written by the next commit, long before the first
 * reading of theirs. */
static bool make_means(condenser *c)
{
    for (size_t i = c->means.count; i < c->in.sensor_count; i++) {
        int64_t mean_id = 0;
        jm_sensor sensor = c->in.sensors[i];
        if (strcmp(sensor.name, jm__sensor_name(JM_SENSOR_POWER_MEAN)) != 0 && is_best_so_far(c, &sensor)) {
            jm_sensor mean = mean_of(&sensor);
            if (jm__writer_sensor(c->writer, &mean, NULL) == JM_OK) mean_id = mean.id;
            c->in = jm__writer_look(c->writer);
        }
        if (!jm__vec_push(&c->means, mean_id)) return false;
    }
    return true;
}

/* ---- readings of a chunk */

/* Of one sensor in one second. */
typedef struct cell {
    double sum, t_sum; /* t since the chunk's begin */
    int64_t count;
    int64_t rowid; /* of its first reading: whoever stands for them stands there */
} cell;

typedef enum way { STAYS, CHANGES, MEAN, POWER } way;

typedef struct condensing {
    const condenser *owner;
    const chunk_rows *chunk;
    cell *cells;  /* [sensor][second] */
    double *last; /* by sensor: the value that was kept, NAN: none */
    sqlite3_stmt *remove, *put;
} condensing;

/* Counters are exact at any distance; a mean of bits is none. */
static way way_of(const jm_sensor *sensor)
{
    if (sensor->response == JM_RESPONSE_COUNTER || jm__sensor_is(sensor, JM_SENSOR_POWER_MEAN)) return STAYS;
    if (sensor->quantity == JM_QUANTITY_THROTTLE || sensor->quantity == JM_QUANTITY_POWER_LIMIT)
        return CHANGES;
    return jm__sensor_rank(sensor) > JM_RANK_NONE ? POWER : MEAN;
}

static int remove_row(condensing *c, int64_t rowid)
{
    sqlite3_bind_int64(c->remove, 1, rowid);
    int rc = sqlite3_step(c->remove);
    sqlite3_reset(c->remove);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int take(condensing *c, int64_t rowid, const jm_reading *r)
{
    size_t index = (size_t)r->sensor_id - 1;
    if (r->sensor_id < 1 || index >= c->owner->in.sensor_count) return SQLITE_OK;
    way how = way_of(&c->owner->in.sensors[index]);
    if (how == STAYS) return SQLITE_OK;
    if (how == CHANGES) {
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

static int put(condensing *c, int64_t rowid, int64_t t_ns, int64_t sensor_id, double value)
{
    sqlite3_bind_int64(c->put, 1, rowid);
    sqlite3_bind_int64(c->put, 2, t_ns);
    sqlite3_bind_int64(c->put, 3, sensor_id);
    sqlite3_bind_double(c->put, 4, value);
    int rc = sqlite3_step(c->put);
    sqlite3_reset(c->put);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The best sensor of power that saw that second on the board of `best`. */
static const cell *find_power(const condensing *c, const jm_sensor *best, int64_t second)
{
    const cell *found = NULL;
    int rank = JM_RANK_NONE;
    for (size_t i = 0; i < c->owner->in.sensor_count; i++) {
        const jm_sensor *sensor = &c->owner->in.sensors[i];
        const cell *at = &c->cells[(int64_t)i * SECONDS + second];
        if (sensor->board_id != best->board_id || way_of(sensor) != POWER || at->count == 0) continue;
        if (jm__sensor_rank(sensor) <= rank) continue;
        rank = jm__sensor_rank(sensor);
        found = at;
    }
    return found;
}

static int put_sensor(condensing *c, size_t index)
{
    const jm_sensor *sensor = &c->owner->in.sensors[index];
    int64_t mean_id = index < c->owner->means.count ? c->owner->means.items[index] : 0;
    way how = way_of(sensor);
    int rc = SQLITE_OK;
    for (int64_t second = 0; rc == SQLITE_OK && second < SECONDS; second++) {
        const cell *at = &c->cells[(int64_t)index * SECONDS + second];
        if (how == POWER) at = mean_id != 0 ? find_power(c, sensor, second) : NULL;
        if (at == NULL || at->count == 0) continue;
        double count = (double)at->count;
        int64_t t_ns =
            c->chunk->from_ns + (how == POWER ? (second + 1) * JM_NS_PER_S : (int64_t)(at->t_sum / count));
        rc = put(c, at->rowid, t_ns, how == POWER ? mean_id : sensor->id, at->sum / count);
    }
    return rc;
}

static int take_all(condensing *c)
{
    static const char sql[] =
        "SELECT rowid, t_ns, sensor_id, value FROM readings WHERE rowid > ?1 AND rowid <= ?2 AND "
        "t_ns >= ?3 AND t_ns < ?4";
    sqlite3_stmt *select;
    const int64_t values[] = {c->chunk->from.readings, c->chunk->to.readings, c->chunk->from_ns,
                              c->chunk->to_ns};
    int rc = prepare(c->owner->in.db, &select, sql, 4, values);
    while (rc == SQLITE_OK && (rc = sqlite3_step(select)) == SQLITE_ROW) {
        jm_reading r = {.t_ns = sqlite3_column_int64(select, 1),
                        .sensor_id = sqlite3_column_int64(select, 2),
                        .value = sqlite3_column_double(select, 3)};
        rc = take(c, sqlite3_column_int64(select, 0), &r);
    }
    sqlite3_finalize(select);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int condense_readings(const condenser *owner, const chunk_rows *chunk)
{
    size_t sensors = owner->in.sensor_count;
    condensing c = {.owner = owner, .chunk = chunk};
    c.cells = calloc(sensors * SECONDS + 1, sizeof *c.cells);
    c.last = malloc((sensors + 1) * sizeof *c.last);
    int rc = c.cells == NULL || c.last == NULL ? SQLITE_NOMEM : SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sensors; i++)
        c.last[i] = NAN;
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(owner->in.db, "DELETE FROM readings WHERE rowid = ?1", -1, &c.remove, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(owner->in.db,
                                "INSERT INTO readings(rowid, t_ns, sensor_id, value) VALUES (?1, ?2, ?3, ?4)",
                                -1, &c.put, NULL);
    if (rc == SQLITE_OK) rc = take_all(&c);
    /* Of kernels that go. */
    if (rc == SQLITE_OK)
        rc = run_sql(owner->in.db, "DELETE FROM counter_blocks WHERE end_ns <= ?1", 1, &chunk->to_ns);
    for (size_t i = 0; rc == SQLITE_OK && i < sensors; i++)
        rc = put_sensor(&c, i);
    sqlite3_finalize(c.remove);
    sqlite3_finalize(c.put);
    free(c.cells);
    free(c.last);
    return rc;
}

typedef struct process_chunk {
    condenser *owner;
    const chunk_rows *chunk;
    int64_t process_id;
    said_level *level;
} process_chunk;

typedef struct interval {
    int64_t from_ns, to_ns;
} interval;

typedef JM_VEC(interval) intervals;

/* ---- kernels and spans of a chunk: who there is */

static said_level *level_of(condenser *c, int64_t process_id)
{
    for (size_t i = 0; i < c->levels.count; i++)
        if (c->levels.items[i].process_id == process_id) return &c->levels.items[i];
    said_level none = {.process_id = process_id};
    return jm__vec_push(&c->levels, none) ? &c->levels.items[c->levels.count - 1] : NULL;
}

/* ---- when it was traced, and its steps */

static bool is_traced(const condenser *c, int64_t said)
{
    return said == 0 || said == c->traced;
}

/* The time in the chunk in which it was traced, as its own marks tell. */
static int find_traced(const process_chunk *p, intervals *traced)
{
    const condenser *c = p->owner;
    static const char sql[] =
        "SELECT t_ns, name_id FROM marks WHERE process_id = ?1 AND t_ns >= ?2 AND t_ns < ?3 AND "
        "name_id IN (?4, ?5, ?6) ORDER BY t_ns, rowid";
    const int64_t values[] = {p->process_id, p->chunk->from_ns, p->chunk->to_ns,
                              c->traced,     c->steps,          c->untraced};
    sqlite3_stmt *marks;
    int rc = prepare(c->in.db, &marks, sql, 6, values);
    int64_t since_ns = p->chunk->from_ns, said = p->level->said;
    bool fine = true;
    while (rc == SQLITE_OK && (rc = sqlite3_step(marks)) == SQLITE_ROW) {
        interval until = {since_ns, sqlite3_column_int64(marks, 0)};
        if (is_traced(c, said)) fine = fine && jm__vec_push(traced, until);
        since_ns = until.to_ns;
        said = sqlite3_column_int64(marks, 1);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(marks);
    interval rest = {since_ns, p->chunk->to_ns};
    if (is_traced(c, said)) fine = fine && jm__vec_push(traced, rest);
    p->level->said = said;
    return !fine ? SQLITE_NOMEM : rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* In the order of time: steps, and where it told none batches. */
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
        rc = prepare(p->owner->in.db, &spans, sql, 6, values);
        while (rc == SQLITE_OK && (rc = sqlite3_step(spans)) == SQLITE_ROW) {
            interval step = {sqlite3_column_int64(spans, 0), sqlite3_column_int64(spans, 1)};
            rc = jm__vec_push(steps, step) ? SQLITE_OK : SQLITE_NOMEM;
        }
        sqlite3_finalize(spans);
        if (rc == SQLITE_DONE) rc = SQLITE_OK;
    }
    return rc;
}

static bool holds(const intervals *traced, const interval *step)
{
    for (size_t i = 0; i < traced->count; i++)
        if (traced->items[i].from_ns <= step->from_ns && step->to_ns <= traced->items[i].to_ns) return true;
    return false;
}

/* The traced step nearest to the middle of the chunk: in none of its ends it would follow on what is gone. */
static bool choose(const process_chunk *p, const intervals *traced, const intervals *steps, kept_step *kept)
{
    int64_t middle_ns = p->chunk->from_ns + JM_CHUNK_NS / 2, best_ns = INT64_MAX;
    for (size_t i = 1; i < steps->count; i++) {
        const interval *step = &steps->items[i];
        int64_t off_ns = step->from_ns < middle_ns ? middle_ns - step->from_ns : step->from_ns - middle_ns;
        if (off_ns >= best_ns || !holds(traced, step)) continue;
        best_ns = off_ns;
        *kept =
            (kept_step){*p->chunk, p->process_id, steps->items[i - 1].from_ns, step->from_ns, step->to_ns};
    }
    return best_ns < INT64_MAX;
}

/* ---- what goes */

/* Those that only say when, as JM_TRACING_STEPS records (record/timeline/span.c), stay. */
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
    return run_sql(p->owner->in.db, sql, 7, values);
}

/* All but what lies in [warm, end]. */
static int remove_work(const process_chunk *p, int64_t warm_ns, int64_t end_ns)
{
    const chunk_rows *k = p->chunk;
    const int64_t kernels[] = {p->process_id, k->from_ns, k->to_ns, k->from.kernels,
                               k->to.kernels, warm_ns,    end_ns};
    int rc =
        run_sql(p->owner->in.db,
                "DELETE FROM kernels WHERE stream_id IN (SELECT id FROM streams WHERE process_id = ?1) AND "
                "start_ns >= ?2 AND start_ns < ?3 AND rowid > ?4 AND rowid <= ?5 AND NOT (start_ns >= ?6 AND "
                "start_ns <= ?7)",
                7, kernels);
    return rc == SQLITE_OK ? remove_spans(p, warm_ns, end_ns) : rc;
}

/* What stays may have been in a span that went. */
static int untie(const process_chunk *p)
{
    const chunk_rows *k = p->chunk;
    const int64_t kernels[] = {k->from.kernels, k->to.kernels, k->from_ns, k->to_ns},
                  spans[] = {k->from.spans, k->to.spans, k->from_ns, k->to_ns};
    int rc =
        run_sql(p->owner->in.db,
                "UPDATE kernels SET span_id = NULL WHERE rowid > ?1 AND rowid <= ?2 AND start_ns >= ?3 AND "
                "start_ns < ?4 AND span_id NOT NULL AND span_id NOT IN (SELECT id FROM spans)",
                4, kernels);
    if (rc != SQLITE_OK) return rc;
    return run_sql(p->owner->in.db,
                   "UPDATE spans SET parent_id = NULL WHERE id > ?1 AND id <= ?2 AND start_ns >= ?3 AND "
                   "start_ns < ?4 AND parent_id NOT NULL AND parent_id NOT IN (SELECT id FROM spans)",
                   4, spans);
}

/* ---- what is said of it */

static int put_mark(const process_chunk *p, int64_t t_ns, int64_t name_id)
{
    jm__mark mark = {.process_id = p->process_id, .thread_id = 0, .t_ns = t_ns, .name_id = name_id};
    return jm__insert(p->owner->in.inserter, JM_TABLE_MARKS, &mark);
}

/* It said something at the very end of the chunk itself: that holds from there on. */
static int says_at_end(const process_chunk *p, bool *says)
{
    const condenser *c = p->owner;
    static const char sql[] =
        "SELECT 1 FROM marks WHERE process_id = ?1 AND t_ns = ?2 AND name_id IN (?3, ?4, ?5)";
    const int64_t values[] = {p->process_id, p->chunk->to_ns, c->traced, c->steps, c->untraced};
    sqlite3_stmt *mark;
    int rc = prepare(p->owner->in.db, &mark, sql, 5, values);
    if (rc == SQLITE_OK) rc = sqlite3_step(mark);
    *says = rc == SQLITE_ROW;
    sqlite3_finalize(mark);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* `kept` NULL: nothing stays. What it had said holds again from the end of the chunk on. */
static int put_marks(const process_chunk *p, int64_t level, const kept_step *kept)
{
    const condenser *c = p->owner;
    const int64_t values[] = {p->process_id, p->chunk->from_ns, p->chunk->to_ns,
                              c->traced,     c->steps,          c->untraced};
    int rc =
        run_sql(p->owner->in.db,
                "DELETE FROM marks WHERE process_id = ?1 AND t_ns >= ?2 AND t_ns < ?3 AND name_id IN (?4, "
                "?5, ?6)",
                6, values);
    if (rc == SQLITE_OK && p->level->written != level) rc = put_mark(p, p->chunk->from_ns, level);
    if (rc == SQLITE_OK && kept != NULL) rc = put_mark(p, kept->start_ns, c->traced);
    if (rc == SQLITE_OK && kept != NULL) rc = put_mark(p, kept->end_ns, level);
    int64_t next = p->level->said == 0 ? c->traced : p->level->said;
    bool says = false;
    if (rc == SQLITE_OK && next != level) rc = says_at_end(p, &says);
    if (rc == SQLITE_OK && next != level && !says) rc = put_mark(p, p->chunk->to_ns, next);
    p->level->written = level;
    return rc;
}

static int condense_process(const process_chunk *p, bool keeps)
{
    condenser *c = p->owner;
    intervals traced = {0}, steps = {0};
    kept_step kept;
    int rc = find_traced(p, &traced);
    if (rc == SQLITE_OK) rc = find_steps(p, &steps);
    bool stays = rc == SQLITE_OK && keeps && choose(p, &traced, &steps, &kept);
    if (rc == SQLITE_OK)
        rc = stays ? remove_work(p, kept.warm_ns, kept.end_ns) : remove_work(p, INT64_MAX, INT64_MIN);
    if (rc == SQLITE_OK && stays) rc = untie(p);
    if (rc == SQLITE_OK) rc = put_marks(p, steps.count > 0 ? c->steps : c->untraced, stays ? &kept : NULL);
    if (rc == SQLITE_OK && stays && !jm__vec_push(&c->kept, kept)) rc = SQLITE_NOMEM;
    jm__vec_free(&traced);
    jm__vec_free(&steps);
    return rc;
}

/* Each process of which something is recorded in the chunk, or that said something. */
static int condense_work(condenser *c, const chunk_rows *chunk, bool keeps)
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
    int rc = prepare(c->in.db, &found, sql, 9, values);
    while (rc == SQLITE_OK && count < PROCESSES_MOST && sqlite3_step(found) == SQLITE_ROW)
        ids[count++] = sqlite3_column_int64(found, 0);
    sqlite3_finalize(found);
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++) {
        process_chunk p = {c, chunk, ids[i], level_of(c, ids[i])};
        rc = p.level == NULL ? SQLITE_NOMEM : condense_process(&p, keeps);
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
    if (rc == SQLITE_OK) rc = run_sql(c->in.db, sql, 3, traced);
    return rc == SQLITE_OK ? run_sql(c->in.db, sql, 3, after) : rc;
}

/* ---- one chunk */

static chunk_rows next_chunk(const condenser *c)
{
    chunk_rows chunk = {.from_ns = c->until_ns, .to_ns = c->until_ns + JM_CHUNK_NS};
    chunk.from = before(c, chunk.from_ns);
    chunk.to = after(c, chunk.to_ns + LATE_NS);
    return chunk;
}

static bool keeps_step(const condenser *c, int64_t from_ns)
{
    int64_t number = (from_ns - c->start_ns) / JM_CHUNK_NS, minute = number / CHUNKS_A_MINUTE;
    return number % CHUNKS_A_MINUTE == 0 && (minute & ((INT64_C(1) << c->thinning) - 1)) == 0;
}

/* In the file, for whoever reads it; and once as an event, of which every report tells. */
static int tell(condenser *c)
{
    int rc = jm__insert_number(c->in.inserter, "condensed_until_ns", c->until_ns);
    if (c->told || rc != SQLITE_OK) return rc;
    jm__event event = {.kind = JM_EVENT_RECORDER, .t_ns = c->until_ns};
    snprintf(event.text, sizeof event.text,
             "older parts of this recording are condensed: power to means over a second, kernels and layers "
             "to one "
             "traced step a minute or fewer, which stands for the others; totals are exact");
    c->told = true;
    jm__writer_event(c->writer, &event);
    return rc;
}

static int condense_next(condenser *c)
{
    chunk_rows chunk = next_chunk(c);
    int rc = sqlite3_exec(c->in.db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = condense_readings(c, &chunk);
    if (rc == SQLITE_OK) rc = condense_work(c, &chunk, keeps_step(c, chunk.from_ns));
    c->until_ns = chunk.to_ns;
    if (rc == SQLITE_OK) rc = tell(c);
    if (rc == SQLITE_OK) rc = sqlite3_exec(c->in.db, "COMMIT", NULL, NULL, NULL);
    if (rc != SQLITE_OK) sqlite3_exec(c->in.db, "ROLLBACK", NULL, NULL, NULL); /* that chunk stays whole */
    forget_milestones(c);
    return rc;
}

/* ---- the size */

/* Pages with something in them: those that are free take what comes next. */
static int64_t bytes_of(sqlite3 *db)
{
    return (ask(db, "PRAGMA page_count") - ask(db, "PRAGMA freelist_count")) * ask(db, "PRAGMA page_size");
}

static int thin(condenser *c)
{
    size_t kept = 0;
    c->thinning++;
    int rc = sqlite3_exec(c->in.db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (size_t i = 0; i < c->kept.count; i++) {
        kept_step step = c->kept.items[i];
        if (rc != SQLITE_OK || keeps_step(c, step.chunk.from_ns))
            c->kept.items[kept++] = step;
        else
            rc = forget_step(c, &step);
    }
    c->kept.count = kept;
    if (rc == SQLITE_OK) return sqlite3_exec(c->in.db, "COMMIT", NULL, NULL, NULL);
    sqlite3_exec(c->in.db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

static void tell_full(condenser *c, int64_t t_ns)
{
    jm__event event = {.kind = JM_EVENT_RECORDER, .t_ns = t_ns};
    if (c->told_full) return;
    c->told_full = true;
    snprintf(event.text, sizeof event.text,
             "the recording passes the size that was asked for: its steps and readings alone, condensed, "
             "need more");
    jm__writer_event(c->writer, &event);
}

/* Sooner than by age, and fewer steps, until it fits. */
static int fit_into_size(condenser *c, int64_t complete_ns)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < CHUNKS_MOST; i++) {
        if (c->max_bytes == 0 || bytes_of(c->in.db) <= c->max_bytes - ROOM(c->max_bytes)) return SQLITE_OK;
        if (c->until_ns + JM_CHUNK_NS <= complete_ns - YOUNG_NS)
            rc = condense_next(c);
        else if (c->kept.count > 1 && c->thinning < THINNING_MOST)
            rc = thin(c);
        else
            tell_full(c, complete_ns);
    }
    return rc;
}

static int condense(condenser *c, int64_t complete_ns)
{
    if (complete_ns <= 0) return SQLITE_OK;
    c->in = jm__writer_look(c->writer);
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
    (void)condense(context, complete_ns); /* what fails there stays as it was, and the file may grow */
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
