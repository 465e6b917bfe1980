/* Kernels and spans of a chunk, process by process: a traced step stays, and marks that say so. */
#include "format/condense.h"
#include "format/writer_state.h"

#include <stdio.h>
#include <string.h>

#define PROCESSES_MOST 4096 /* with something in one minute; those beyond stay whole */

typedef struct process_chunk {
    jm__writer *writer;
    const jm__chunk *chunk;
    int64_t process_id;
    jm__level_of *level;
} process_chunk;

typedef struct stretch {
    int64_t from_ns, to_ns;
} stretch;

typedef JM_VEC(stretch) stretches;

/* ---- who there is */

static jm__level_of *level_of(jm__condenser *c, int64_t process_id)
{
    for (size_t i = 0; i < c->levels.count; i++)
        if (c->levels.items[i].process_id == process_id) return &c->levels.items[i];
    jm__level_of none = {.process_id = process_id};
    return jm__vec_push(&c->levels, none) ? &c->levels.items[c->levels.count - 1] : NULL;
}

int jm__condense_find_levels(jm__writer *writer, int64_t before_ns)
{
    jm__condenser *c = &writer->condenser;
    static const char sql[] =
        "SELECT process_id, name_id FROM marks WHERE t_ns < ?1 AND name_id IN (?2, ?3, ?4) "
        "ORDER BY t_ns, rowid";
    const int64_t values[] = {before_ns, c->traced, c->steps, c->untraced};
    sqlite3_stmt *marks;
    int rc = sqlite3_prepare_v2(writer->part.db, sql, -1, &marks, NULL);
    for (int i = 0; rc == SQLITE_OK && i < 4; i++)
        rc = sqlite3_bind_int64(marks, i + 1, values[i]);
    while (rc == SQLITE_OK && (rc = sqlite3_step(marks)) == SQLITE_ROW) {
        jm__level_of *level = level_of(c, sqlite3_column_int64(marks, 0));
        if (level != NULL) level->said = level->written = sqlite3_column_int64(marks, 1);
        rc = level == NULL ? SQLITE_NOMEM : SQLITE_OK;
    }
    sqlite3_finalize(marks);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int query(sqlite3_stmt **out, const process_chunk *p, const char *sql)
{
    int rc = sqlite3_prepare_v2(p->writer->part.db, sql, -1, out, NULL);
    if (rc != SQLITE_OK) return rc;
    const int64_t values[] = {p->process_id, p->chunk->from_ns, p->chunk->to_ns, p->chunk->from.spans,
                              p->chunk->to.spans};
    for (int i = 0; i < sqlite3_bind_parameter_count(*out); i++)
        sqlite3_bind_int64(*out, i + 1, values[i]);
    return SQLITE_OK;
}

/* ---- when it was traced, and its steps */

static bool is_traced(const jm__condenser *c, int64_t said)
{
    return said == 0 || said == c->traced;
}

/* The time in the chunk in which it was traced, as its own marks tell. */
static int find_traced(const process_chunk *p, stretches *traced)
{
    const jm__condenser *c = &p->writer->condenser;
    char sql[256];
    sqlite3_stmt *marks;
    snprintf(
        sql, sizeof sql,
        "SELECT t_ns, name_id FROM marks WHERE process_id = ?1 AND t_ns >= ?2 AND t_ns < ?3 AND name_id IN "
        "(%lld, %lld, %lld) ORDER BY t_ns, rowid",
        (long long)c->traced, (long long)c->steps, (long long)c->untraced);
    int rc = query(&marks, p, sql);
    int64_t since_ns = p->chunk->from_ns, said = p->level->said;
    bool fine = true;
    while (rc == SQLITE_OK && (rc = sqlite3_step(marks)) == SQLITE_ROW) {
        stretch until = {since_ns, sqlite3_column_int64(marks, 0)};
        if (is_traced(c, said)) fine = fine && jm__vec_push(traced, until);
        since_ns = until.to_ns;
        said = sqlite3_column_int64(marks, 1);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(marks);
    stretch rest = {since_ns, p->chunk->to_ns};
    if (is_traced(c, said)) fine = fine && jm__vec_push(traced, rest);
    p->level->said = said;
    return !fine ? SQLITE_NOMEM : rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* In the order of time: steps, and where it told none batches. */
static int find_steps(const process_chunk *p, stretches *steps)
{
    static const jm_span_kind kinds[] = {JM_SPAN_STEP, JM_SPAN_BATCH};
    int rc = SQLITE_OK;
    for (size_t i = 0; i < 2 && rc == SQLITE_OK && steps->count == 0; i++) {
        char sql[256];
        sqlite3_stmt *spans;
        snprintf(
            sql, sizeof sql,
            "SELECT start_ns, end_ns FROM spans WHERE process_id = ?1 AND start_ns >= ?2 AND end_ns < ?3 AND "
            "id > ?4 AND id <= ?5 AND kind_id = %d ORDER BY start_ns",
            (int)kinds[i]);
        rc = query(&spans, p, sql);
        while (rc == SQLITE_OK && (rc = sqlite3_step(spans)) == SQLITE_ROW) {
            stretch step = {sqlite3_column_int64(spans, 0), sqlite3_column_int64(spans, 1)};
            rc = jm__vec_push(steps, step) ? SQLITE_OK : SQLITE_NOMEM;
        }
        sqlite3_finalize(spans);
        if (rc == SQLITE_DONE) rc = SQLITE_OK;
    }
    return rc;
}

static bool holds(const stretches *traced, const stretch *step)
{
    for (size_t i = 0; i < traced->count; i++)
        if (traced->items[i].from_ns <= step->from_ns && step->to_ns <= traced->items[i].to_ns) return true;
    return false;
}

/* The traced step nearest to the middle of the chunk: in none of its ends it would follow on what is gone. */
static bool choose(const process_chunk *p, const stretches *traced, const stretches *steps,
                   jm__kept_step *kept)
{
    int64_t middle_ns = p->chunk->from_ns + JM_CHUNK_NS / 2, best_ns = INT64_MAX;
    for (size_t i = 1; i < steps->count; i++) {
        const stretch *step = &steps->items[i];
        int64_t off_ns = step->from_ns < middle_ns ? middle_ns - step->from_ns : step->from_ns - middle_ns;
        if (off_ns >= best_ns || !holds(traced, step)) continue;
        best_ns = off_ns;
        *kept = (jm__kept_step){*p->chunk, p->process_id, steps->items[i - 1].from_ns, step->from_ns,
                                step->to_ns};
    }
    return best_ns < INT64_MAX;
}

/* ---- what goes */

/* Those that only say when, as JM_TRACING_STEPS records (record/timeline/span.c), stay. */
static int remove_spans(const process_chunk *p, int64_t warm_ns, int64_t end_ns)
{
    const jm__chunk *k = p->chunk;
    const int64_t values[] = {p->process_id, k->from_ns, k->to_ns, k->from.spans,
                              k->to.spans,   warm_ns,    end_ns};
    char sql[512];
    snprintf(sql, sizeof sql,
             "DELETE FROM spans WHERE process_id = ?1 AND start_ns >= ?2 AND start_ns < ?3 AND id > ?4 AND "
             "id <= ?5 AND "
             "kind_id NOT IN (%d, %d, %d, %d, %d, %d) AND NOT (start_ns >= ?6 AND start_ns <= ?7)",
             (int)JM_SPAN_PHASE, (int)JM_SPAN_EPOCH, (int)JM_SPAN_STEP, (int)JM_SPAN_BATCH,
             (int)JM_SPAN_WINDOW, (int)JM_SPAN_DATA);
    return jm__condense_run(p->writer->part.db, sql, 7, values);
}

/* All but what lies in [warm, end]. */
static int remove_work(const process_chunk *p, int64_t warm_ns, int64_t end_ns)
{
    const jm__chunk *k = p->chunk;
    const int64_t kernels[] = {p->process_id, k->from_ns, k->to_ns, k->from.kernels,
                               k->to.kernels, warm_ns,    end_ns};
    int rc = jm__condense_run(
        p->writer->part.db,
        "DELETE FROM kernels WHERE stream_id IN (SELECT id FROM streams WHERE process_id = ?1) AND "
        "start_ns >= ?2 AND start_ns < ?3 AND rowid > ?4 AND rowid <= ?5 AND NOT (start_ns >= ?6 AND "
        "start_ns <= ?7)",
        7, kernels);
    return rc == SQLITE_OK ? remove_spans(p, warm_ns, end_ns) : rc;
}

/* What stays may have been in a span that went. */
static int untie(const process_chunk *p)
{
    const jm__chunk *k = p->chunk;
    const int64_t kernels[] = {k->from.kernels, k->to.kernels, k->from_ns, k->to_ns},
                  spans[] = {k->from.spans, k->to.spans, k->from_ns, k->to_ns};
    int rc = jm__condense_run(
        p->writer->part.db,
        "UPDATE kernels SET span_id = NULL WHERE rowid > ?1 AND rowid <= ?2 AND start_ns >= ?3 AND "
        "start_ns < ?4 AND span_id NOT NULL AND span_id NOT IN (SELECT id FROM spans)",
        4, kernels);
    if (rc != SQLITE_OK) return rc;
    return jm__condense_run(
        p->writer->part.db,
        "UPDATE spans SET parent_id = NULL WHERE id > ?1 AND id <= ?2 AND start_ns >= ?3 AND "
        "start_ns < ?4 AND parent_id NOT NULL AND parent_id NOT IN (SELECT id FROM spans)",
        4, spans);
}

/* ---- what is said of it */

static int put_mark(const process_chunk *p, int64_t t_ns, int64_t name_id)
{
    jm__mark mark = {.process_id = p->process_id, .thread_id = 0, .t_ns = t_ns, .name_id = name_id};
    return jm__insert(&p->writer->part.inserter, JM_TABLE_MARKS, &mark);
}

/* It said something at the very end of the chunk itself: that holds from there on. */
static int says_at_end(const process_chunk *p, bool *says)
{
    const jm__condenser *c = &p->writer->condenser;
    static const char sql[] =
        "SELECT 1 FROM marks WHERE process_id = ?1 AND t_ns = ?2 AND name_id IN (?3, ?4, ?5)";
    const int64_t values[] = {p->process_id, p->chunk->to_ns, c->traced, c->steps, c->untraced};
    sqlite3_stmt *mark;
    int rc = sqlite3_prepare_v2(p->writer->part.db, sql, -1, &mark, NULL);
    for (int i = 0; rc == SQLITE_OK && i < 5; i++)
        rc = sqlite3_bind_int64(mark, i + 1, values[i]);
    if (rc == SQLITE_OK) rc = sqlite3_step(mark);
    *says = rc == SQLITE_ROW;
    sqlite3_finalize(mark);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* `kept` NULL: nothing stays. What it had said holds again from the end of the chunk on. */
static int put_marks(const process_chunk *p, int64_t level, const jm__kept_step *kept)
{
    const jm__condenser *c = &p->writer->condenser;
    const int64_t values[] = {p->process_id, p->chunk->from_ns, p->chunk->to_ns,
                              c->traced,     c->steps,          c->untraced};
    int rc = jm__condense_run(
        p->writer->part.db,
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
    jm__condenser *c = &p->writer->condenser;
    stretches traced = {0}, steps = {0};
    jm__kept_step kept;
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
int jm__condense_work(jm__writer *writer, const jm__chunk *chunk, bool keeps)
{
    static const char sql[] =
        "SELECT DISTINCT process_id FROM spans WHERE id > ?1 AND id <= ?2 AND start_ns >= ?3 AND start_ns < "
        "?4 UNION "
        "SELECT process_id FROM streams WHERE id IN (SELECT DISTINCT stream_id FROM kernels WHERE rowid > ?5 "
        "AND rowid "
        "<= ?6 AND start_ns >= ?3 AND start_ns < ?4) UNION "
        "SELECT process_id FROM marks WHERE t_ns >= ?3 AND t_ns < ?4 AND name_id IN (?7, ?8, ?9)";
    const jm__condenser *c = &writer->condenser;
    const int64_t values[] = {chunk->from.spans,   chunk->to.spans,   chunk->from_ns, chunk->to_ns,
                              chunk->from.kernels, chunk->to.kernels, c->traced,      c->steps,
                              c->untraced};
    int64_t ids[PROCESSES_MOST];
    size_t count = 0;
    sqlite3_stmt *found;
    int rc = sqlite3_prepare_v2(writer->part.db, sql, -1, &found, NULL);
    for (int i = 0; rc == SQLITE_OK && i < 9; i++)
        rc = sqlite3_bind_int64(found, i + 1, values[i]);
    while (rc == SQLITE_OK && count < PROCESSES_MOST && sqlite3_step(found) == SQLITE_ROW)
        ids[count++] = sqlite3_column_int64(found, 0);
    sqlite3_finalize(found);
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++) {
        process_chunk p = {writer, chunk, ids[i], level_of(&writer->condenser, ids[i])};
        rc = p.level == NULL ? SQLITE_NOMEM : condense_process(&p, keeps);
    }
    return rc;
}

int jm__condense_forget_step(jm__writer *writer, const jm__kept_step *kept)
{
    const process_chunk p = {writer, &kept->chunk, kept->process_id, NULL};
    const jm__condenser *c = &writer->condenser;
    const int64_t traced[] = {kept->process_id, kept->start_ns, c->traced},
                  after[] = {kept->process_id, kept->end_ns, c->steps};
    static const char sql[] = "DELETE FROM marks WHERE process_id = ?1 AND t_ns = ?2 AND name_id = ?3";
    int rc = remove_work(&p, INT64_MAX, INT64_MIN);
    if (rc == SQLITE_OK) rc = jm__condense_run(writer->part.db, sql, 3, traced);
    return rc == SQLITE_OK ? jm__condense_run(writer->part.db, sql, 3, after) : rc;
}
