/* Readings of a chunk into means over a second. */
#include "format/condense.h"
#include "format/rows/sensor_role.h"
#include "format/writer_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS (JM_CHUNK_NS / JM_NS_PER_S)

/* Of one sensor in one second. */
typedef struct cell {
    double sum, t_sum; /* t since the chunk's begin */
    int64_t count;
    int64_t rowid; /* of its first reading: whoever stands for them stands there */
} cell;

typedef enum way { STAYS, CHANGES, MEAN, POWER } way;

typedef struct condensing {
    jm__writer *writer;
    const jm__chunk *chunk;
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
    if (r->sensor_id < 1 || index >= c->writer->sensors.count) return SQLITE_OK;
    way how = way_of(&c->writer->sensors.items[index]);
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
    for (size_t i = 0; i < c->writer->sensors.count; i++) {
        const jm_sensor *sensor = &c->writer->sensors.items[i];
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
    const jm_sensor *sensor = &c->writer->sensors.items[index];
    int64_t mean_id = index < c->writer->condenser.means.count ? c->writer->condenser.means.items[index] : 0;
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
    int rc = sqlite3_prepare_v2(c->writer->part.db, sql, -1, &select, NULL);
    if (rc != SQLITE_OK) return rc;
    sqlite3_bind_int64(select, 1, c->chunk->from.readings);
    sqlite3_bind_int64(select, 2, c->chunk->to.readings);
    sqlite3_bind_int64(select, 3, c->chunk->from_ns);
    sqlite3_bind_int64(select, 4, c->chunk->to_ns);
    while (rc == SQLITE_OK && (rc = sqlite3_step(select)) == SQLITE_ROW) {
        jm_reading r = {.t_ns = sqlite3_column_int64(select, 1),
                        .sensor_id = sqlite3_column_int64(select, 2),
                        .value = sqlite3_column_double(select, 3)};
        rc = take(c, sqlite3_column_int64(select, 0), &r);
    }
    sqlite3_finalize(select);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

int jm__condense_readings(jm__writer *writer, const jm__chunk *chunk)
{
    size_t sensors = writer->sensors.count;
    condensing c = {.writer = writer, .chunk = chunk};
    c.cells = calloc(sensors * SECONDS + 1, sizeof *c.cells);
    c.last = malloc((sensors + 1) * sizeof *c.last);
    int rc = c.cells == NULL || c.last == NULL ? SQLITE_NOMEM : SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sensors; i++)
        c.last[i] = NAN;
    if (rc == SQLITE_OK)
        rc =
            sqlite3_prepare_v2(writer->part.db, "DELETE FROM readings WHERE rowid = ?1", -1, &c.remove, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(writer->part.db,
                                "INSERT INTO readings(rowid, t_ns, sensor_id, value) VALUES (?1, ?2, ?3, ?4)",
                                -1, &c.put, NULL);
    if (rc == SQLITE_OK) rc = take_all(&c);
    /* Of kernels that go. */
    if (rc == SQLITE_OK)
        rc = jm__condense_run(writer->part.db, "DELETE FROM counter_blocks WHERE end_ns <= ?1", 1,
                              &chunk->to_ns);
    for (size_t i = 0; rc == SQLITE_OK && i < sensors; i++)
        rc = put_sensor(&c, i);
    sqlite3_finalize(c.remove);
    sqlite3_finalize(c.put);
    free(c.cells);
    free(c.last);
    return rc;
}
