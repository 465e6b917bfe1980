/* When what is condensed: by age and by the size of the file. */
#include "format/condense.h"

#include "format/rows/marks.h"
#include "format/rows/sensor_role.h"
#include "format/writer_state.h"

#include <inttypes.h>
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
/* After a cut: from there to the first reading of a counter that is read every five seconds, both parts have
 * the same readings, so that joules of one are not those of the other. */
#define EDGE_NS (10 * JM_NS_PER_S)
/* Of the size, for what comes until the next look and for the journal. */
#define ROOM(bytes)   ((bytes) / 10)
#define THINNING_MOST 24

int jm__condense_run(sqlite3 *db, const char *sql, size_t count, const int64_t *values)
{
    sqlite3_stmt *statement;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++)
        rc = sqlite3_bind_int64(statement, (int)i + 1, values[i]);
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

static jm__milestone here(sqlite3 *db, int64_t t_ns)
{
    return (jm__milestone){.t_ns = t_ns,
                           .readings = ask(db, "SELECT max(rowid) FROM readings"),
                           .spans = ask(db, "SELECT max(id) FROM spans"),
                           .kernels = ask(db, "SELECT max(rowid) FROM kernels")};
}

static bool note_milestone(jm__writer *writer, int64_t complete_ns)
{
    jm__condenser *c = &writer->condenser;
    size_t count = c->milestones.count;
    if (count > 0 && complete_ns - c->milestones.items[count - 1].t_ns < MILESTONE_NS) return false;
    jm__milestone now = here(writer->part.db, complete_ns);
    return jm__vec_push(&c->milestones, now);
}

/* The last one at or before t; before all rows if there is none. */
static jm__milestone before(const jm__condenser *c, int64_t t_ns)
{
    jm__milestone found = {0};
    for (size_t i = 0; i < c->milestones.count && c->milestones.items[i].t_ns <= t_ns; i++)
        found = c->milestones.items[i];
    return found;
}

/* The first one after t. */
static jm__milestone after(const jm__condenser *c, int64_t t_ns)
{
    for (size_t i = 0; i < c->milestones.count; i++)
        if (c->milestones.items[i].t_ns > t_ns) return c->milestones.items[i];
    return (jm__milestone){.readings = INT64_MAX, .spans = INT64_MAX, .kernels = INT64_MAX};
}

/* What lies wholly before the next chunk will not be asked for again. */
static void forget_milestones(jm__condenser *c)
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

static bool is_best_so_far(const jm__writer *writer, const jm_sensor *sensor)
{
    for (size_t i = 0; i < writer->sensors.count; i++)
        if (writer->sensors.items[i].board_id == sensor->board_id &&
            jm__sensor_rank(&writer->sensors.items[i]) > jm__sensor_rank(sensor))
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
static bool make_means(jm__writer *writer)
{
    jm__condenser *c = &writer->condenser;
    for (size_t i = c->means.count; i < writer->sensors.count; i++) {
        int64_t mean_id = 0;
        jm_sensor sensor = writer->sensors.items[i];
        if (strcmp(sensor.name, jm__sensor_name(JM_SENSOR_POWER_MEAN)) != 0 &&
            is_best_so_far(writer, &sensor)) {
            jm_sensor mean = mean_of(&sensor);
            if (jm__writer_sensor(writer, &mean, NULL) == JM_OK) mean_id = mean.id;
        }
        if (!jm__vec_push(&c->means, mean_id)) return false;
    }
    return true;
}

/* ---- one chunk */

static jm__chunk next_chunk(const jm__condenser *c)
{
    jm__chunk chunk = {.from_ns = c->until_ns, .to_ns = c->until_ns + JM_CHUNK_NS};
    chunk.from = before(c, chunk.from_ns);
    chunk.to = after(c, chunk.to_ns + LATE_NS);
    return chunk;
}

static bool keeps_step(const jm__condenser *c, int64_t from_ns)
{
    int64_t number = (from_ns - c->start_ns) / JM_CHUNK_NS, minute = number / CHUNKS_A_MINUTE;
    return number % CHUNKS_A_MINUTE == 0 && (minute & ((INT64_C(1) << c->thinning) - 1)) == 0;
}

/* In the file, for whoever reads it; and once as an event, of which every report tells. */
static int tell(jm__writer *writer)
{
    jm__condenser *c = &writer->condenser;
    int rc = jm__insert_number(&writer->part.inserter, "condensed_until_ns", c->until_ns);
    if (c->told || rc != SQLITE_OK) return rc;
    jm__event event = {.kind = JM_EVENT_RECORDER, .t_ns = c->until_ns};
    snprintf(event.text, sizeof event.text,
             "older parts of this recording are condensed: power to means over a second, kernels and layers "
             "to one "
             "traced step a minute or fewer, which stands for the others; totals are exact");
    c->told = true;
    jm__writer_event(writer, &event);
    return rc;
}

static int condense_next(jm__writer *writer)
{
    jm__condenser *c = &writer->condenser;
    jm__chunk chunk = next_chunk(c);
    int rc = sqlite3_exec(writer->part.db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc == SQLITE_OK && chunk.from_ns >= c->readings_from_ns) rc = jm__condense_readings(writer, &chunk);
    if (rc == SQLITE_OK) rc = jm__condense_work(writer, &chunk, keeps_step(c, chunk.from_ns));
    c->until_ns = chunk.to_ns;
    if (rc == SQLITE_OK) rc = tell(writer);
    if (rc == SQLITE_OK) rc = sqlite3_exec(writer->part.db, "COMMIT", NULL, NULL, NULL);
    if (rc != SQLITE_OK)
        sqlite3_exec(writer->part.db, "ROLLBACK", NULL, NULL, NULL); /* that chunk stays whole */
    forget_milestones(c);
    return rc;
}

/* ---- the size */

/* Pages with something in them: those that are free take what comes next. */
static int64_t bytes_of(sqlite3 *db)
{
    return (ask(db, "PRAGMA page_count") - ask(db, "PRAGMA freelist_count")) * ask(db, "PRAGMA page_size");
}

static int thin(jm__writer *writer)
{
    jm__condenser *c = &writer->condenser;
    size_t kept = 0;
    c->thinning++;
    int rc = sqlite3_exec(writer->part.db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (size_t i = 0; i < c->kept.count; i++) {
        jm__kept_step step = c->kept.items[i];
        if (rc != SQLITE_OK || keeps_step(c, step.chunk.from_ns))
            c->kept.items[kept++] = step;
        else
            rc = jm__condense_forget_step(writer, &step);
    }
    c->kept.count = kept;
    if (rc == SQLITE_OK) return sqlite3_exec(writer->part.db, "COMMIT", NULL, NULL, NULL);
    sqlite3_exec(writer->part.db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

static void tell_full(jm__writer *writer, int64_t t_ns)
{
    jm__event event = {.kind = JM_EVENT_RECORDER, .t_ns = t_ns};
    if (writer->condenser.told_full) return;
    writer->condenser.told_full = true;
    snprintf(event.text, sizeof event.text,
             "the recording passes the size that was asked for: its steps and readings alone, condensed, "
             "need more");
    jm__writer_event(writer, &event);
}

/* Sooner than by age, and fewer steps, until it fits. */
static int fit_into_size(jm__writer *writer, int64_t complete_ns)
{
    jm__condenser *c = &writer->condenser;
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < CHUNKS_MOST; i++) {
        if (c->max_bytes == 0 || bytes_of(writer->part.db) <= c->max_bytes - ROOM(c->max_bytes))
            return SQLITE_OK;
        if (c->until_ns + JM_CHUNK_NS <= complete_ns - YOUNG_NS)
            rc = condense_next(writer);
        else if (c->kept.count > 1 && c->thinning < THINNING_MOST)
            rc = thin(writer);
        else
            tell_full(writer, complete_ns);
    }
    return rc;
}

int jm__condense(jm__writer *writer, int64_t complete_ns)
{
    jm__condenser *c = &writer->condenser;
    if (!c->wanted || complete_ns <= 0 || !make_means(writer)) return SQLITE_OK;
    if (c->start_ns == 0) c->start_ns = c->until_ns = complete_ns / JM_CHUNK_NS * JM_CHUNK_NS;
    if (!note_milestone(writer, complete_ns)) return SQLITE_OK;
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < CHUNKS_MOST && c->keep_ns > 0; i++) {
        if (c->until_ns + JM_CHUNK_NS > complete_ns - c->keep_ns - LATE_NS) break;
        rc = condense_next(writer);
    }
    return rc == SQLITE_OK ? fit_into_size(writer, complete_ns) : rc;
}

void jm__writer_condense(jm__writer *writer, double keep_s, int64_t max_bytes)
{
    jm__condenser *c = &writer->condenser;
    c->keep_ns = keep_s > 0 ? (int64_t)(keep_s * (double)JM_NS_PER_S) : 0;
    if (keep_s > 0 && c->keep_ns < YOUNG_NS) c->keep_ns = YOUNG_NS;
    c->max_bytes = max_bytes;
    c->wanted = c->keep_ns > 0 || max_bytes > 0;
    if (!c->wanted) return;
    c->traced = jm__writer_name(writer, JM_MARK_TRACED);
    c->steps = jm__writer_name(writer, JM_MARK_STEPS);
    c->untraced = jm__writer_name(writer, JM_MARK_UNTRACED);
}

void jm__condense_begin_anew(jm__writer *writer, int64_t start_ns)
{
    jm__condenser *c = &writer->condenser;
    c->milestones.count = c->kept.count = c->levels.count = 0;
    c->start_ns = c->until_ns = start_ns / JM_CHUNK_NS * JM_CHUNK_NS;
    c->readings_from_ns = start_ns + EDGE_NS;
    c->thinning = 0;
    c->told = c->told_full = false;
    if (c->wanted) (void)jm__condense_find_levels(writer, c->start_ns);
}

void jm__condenser_free(jm__condenser *condenser)
{
    jm__vec_free(&condenser->milestones);
    jm__vec_free(&condenser->kept);
    jm__vec_free(&condenser->levels);
    jm__vec_free(&condenser->means);
}
