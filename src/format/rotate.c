/* When a part ends, and the next one while both are written. */
#include "format/rotate.h"

#include "base/no_fork.h"
#include "format/old_parts.h"
#include "format/part_name.h"
#include "format/room.h"
#include "format/row.h"
#include "format/rows/table_sql.h"
#include "format/writer_state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A cut is prepared that much before it has to be: commits come twice a second. */
#define SLACK_NS JM_NS_PER_S
/* After a failure. */
#define AGAIN_NS (10 * JM_NS_PER_S)
/* So long a part that is due to be closed stays open for who reads it just now: without waiting for him, its
 * journal would be left beside it. */
#define READ_NS (60 * JM_NS_PER_S)
/* While what is in the next part's journal goes into its file. */
#define CHECKPOINT_NS (5 * JM_NS_PER_S)
/* Of the size that was asked for: rows do not come in evenly. A choice. */
#define MARGIN(bytes) ((bytes) / 20)

/* ---- what it is told */

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t latest_of(const jm__batch *written)
{
    int64_t latest_ns = 0;
    for (size_t i = 0; i < written->readings.count; i++)
        latest_ns = later(latest_ns, written->readings.items[i].t_ns);
    for (size_t i = 0; i < written->kernels.count; i++)
        latest_ns = later(latest_ns, written->kernels.items[i].end_ns);
    for (size_t i = 0; i < written->spans.count; i++)
        latest_ns = later(latest_ns, written->spans.items[i].start_ns);
    return latest_ns;
}

void jm__rotation_saw(jm__writer *writer, const jm__batch *written)
{
    jm__rotation *r = &writer->rotation;
    if (!r->wanted) return;
    jm__carried_spans(&r->carried, written);
    r->latest_ns = later(r->latest_ns, latest_of(written));
    if (written->spans.count > 0) /* they are in order */
        r->last_span = later(r->last_span, written->spans.items[written->spans.count - 1].id);
}

void jm__rotation_saw_kernels(jm__rotation *rotation, const jm__kernel *kernels, size_t count)
{
    if (rotation->number == rotation->first) return;
    for (size_t i = 0; i < count; i++)
        rotation->late += kernels[i].start_ns < rotation->start_ns;
}

/* Their part was closed: of what they did in its time nothing is told. */
static void tell_late(jm__writer *writer, int64_t complete_ns)
{
    jm__rotation *r = &writer->rotation;
    if (r->late == 0) return;
    jm__loss loss = {.t_ns = complete_ns,
                     .count = r->late,
                     .source = "recorder",
                     .reason = "kernels came in when the part that they began in was closed"};
    jm__writer_loss(writer, &loss);
    r->late = 0;
}

/* ---- trouble */

/* Once for each trouble that is another one. */
static void tell_trouble(jm__writer *writer, const jm_error *why)
{
    jm__rotation *r = &writer->rotation;
    r->again_ns = writer->complete_ns + AGAIN_NS;
    r->trouble = *why;
    if (r->told.status == why->status && strcmp(r->told.text, why->text) == 0) return;
    r->told = *why;
    jm__event event = {.kind = JM_EVENT_RECORDER, .t_ns = writer->complete_ns};
    snprintf(event.text, sizeof event.text,
             "the next part could not be begun, so the recording goes on in this one: %.150s", why->text);
    jm__writer_event(writer, &event);
}

void jm__adoption_end(jm__adoption *adoption)
{
    sqlite3_finalize(adoption->find);
    jm__map_free(&adoption->known);
    *adoption = (jm__adoption){0};
}

void jm__rotation_give_up(jm__writer *writer, const jm_error *why)
{
    jm__rotation *r = &writer->rotation;
    if (r->next.db == NULL) return;
    jm__no_fork_begin();
    jm__adoption_end(&r->adoption);
    jm__part_discard(&r->next);
    /* Who reads it looks whether that part is there (dataset.c), so this need not work. */
    if (jm__guard_check(writer->part.guard, NULL) == JM_OK)
        sqlite3_exec(writer->part.db, "DELETE FROM meta WHERE key IN ('cut_ns', 'part_after')", NULL, NULL,
                     NULL);
    jm__no_fork_end();
    if (why != NULL) tell_trouble(writer, why);
}

/* ---- is one due? */

/* What the file will have when it is closed, if a cut is prepared now. */
static int64_t bytes_then(jm__writer *writer, int64_t complete_ns)
{
    jm__rotation *r = &writer->rotation;
    int64_t pages = 0;
    if (jm__database_integer(writer->part.db, "PRAGMA page_count", &pages, writer->part.path, NULL) != JM_OK)
        return 0;
    int64_t bytes = pages * JM_PAGE_BYTES;
    if (r->seen_ns == 0) {
        r->seen_ns = complete_ns;
        r->seen_bytes = bytes;
    }
    double passed_ns = (double)(complete_ns - r->seen_ns);
    double rate = passed_ns > 0 ? (double)(bytes - r->seen_bytes) / passed_ns : 0;
    return bytes + (int64_t)(rate * (double)(JM_PART_BEFORE_NS + JM_PART_AFTER_NS + SLACK_NS));
}

/* What is written down already is not in the next part. A stamp that lies far ahead is none. */
static int64_t written_until_ns(const jm__rotation *r, int64_t complete_ns)
{
    bool right = r->latest_ns > complete_ns && r->latest_ns < complete_ns + JM_PART_LEAST_NS;
    return right ? r->latest_ns : complete_ns;
}

static bool is_due(jm__writer *writer, int64_t complete_ns, int64_t *cut_ns)
{
    jm__rotation *r = &writer->rotation;
    int64_t earliest_ns = written_until_ns(r, complete_ns) + JM_PART_BEFORE_NS,
            wanted_ns = r->start_ns + r->every_ns;
    bool by_time = r->every_ns > 0 && earliest_ns + SLACK_NS >= wanted_ns;
    bool by_size = r->bytes > 0 && bytes_then(writer, complete_ns) >= r->bytes - MARGIN(r->bytes);
    *cut_ns = !by_size && wanted_ns > earliest_ns ? wanted_ns : earliest_ns;
    return (by_time || by_size) && complete_ns >= r->again_ns;
}

/* ---- the next part is opened */

/* The first that no file has. */
static char *free_name(jm__rotation *r)
{
    for (r->next_number = r->number + 1;; r->next_number++) {
        char *path = jm__part_name(r->base, r->next_number);
        if (path == NULL || access(path, F_OK) != 0) return path;
        free(path);
    }
}

static int put_facts(jm__writer *writer)
{
    jm__rotation *r = &writer->rotation;
    jm__inserter *inserter = &r->next.inserter;
    const jm__anchor *anchor = &r->carried.anchor;
    int rc = jm__insert_number(inserter, "start_ns", r->cut_ns);
    if (rc == SQLITE_OK)
        rc = jm__insert_number(inserter, "whole_from_ns", written_until_ns(r, writer->complete_ns));
    if (rc == SQLITE_OK && anchor->monotonic_ns != 0)
        rc = jm__insert_number(inserter, "start_unix_ns",
                               r->cut_ns - anchor->monotonic_ns + anchor->realtime_ns);
    if (rc == SQLITE_OK) rc = jm__insert_number(inserter, "part", r->next_number);
    if (rc == SQLITE_OK) rc = jm__insert_meta(inserter, "part_before", jm__part_file_name(writer->part.path));
    return rc;
}

/* All that was before it and that it must know, in one transaction. */
static int fill(jm__writer *writer)
{
    jm__rotation *r = &writer->rotation;
    jm__part *next = &r->next;
    int rc = sqlite3_exec(next->db, "BEGIN", NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = jm__writer_put_first_rows(next);
    if (rc == SQLITE_OK) rc = jm__carried_put(&r->carried, &next->inserter);
    if (rc == SQLITE_OK) rc = put_facts(writer);
    if (rc == SQLITE_OK) rc = jm__writer_put_gathered(writer, next, 0); /* nothing has: numbered rows alone */
    if (rc == SQLITE_OK) rc = sqlite3_exec(next->db, "COMMIT", NULL, NULL, NULL);
    if (rc == SQLITE_OK) jm__writer_named_are_written(writer, next);
    return rc;
}

/* Where its time ends, for who reads it after a kill. */
static int tell_cut(jm__writer *writer)
{
    jm__rotation *r = &writer->rotation;
    jm__part *part = &writer->part;
    int rc = sqlite3_exec(part->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = jm__insert_number(&part->inserter, "cut_ns", r->cut_ns);
    if (rc == SQLITE_OK)
        rc = jm__insert_meta(&part->inserter, "part_after", jm__part_file_name(r->next.path));
    if (rc == SQLITE_OK) rc = sqlite3_exec(part->db, "COMMIT", NULL, NULL, NULL);
    if (rc != SQLITE_OK) sqlite3_exec(part->db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

static jm_status prepare_adoption(jm__writer *writer, jm_error *err)
{
    jm__rotation *r = &writer->rotation;
    jm__strbuf sql = {0};
    r->adoption = (jm__adoption){.last_span = r->last_span, .known = {.key_size = sizeof(int64_t)}};
    jm__table_sql_select(&sql, &jm__tables[JM_TABLE_SPANS], JM_RECORDING_VERSION);
    jm__strbuf_add(&sql, " WHERE id = ?1");
    jm_status status = sql.failed ? jm__no_memory(err, "jm__rotation_go_on")
                                  : jm__database_prepare(writer->part.db, &r->adoption.find, sql.text,
                                                         writer->part.path, err);
    jm__strbuf_free(&sql);
    for (size_t i = 0; status == JM_OK && i < r->carried.open.count; i++)
        if (r->carried.open.items[i].end_ns == -1 &&
            !jm__map_add(&r->adoption.known, &r->carried.open.items[i].id))
            status = jm__no_memory(err, "jm__rotation_go_on");
    return status;
}

static jm_status fail_of(sqlite3 *db, int rc, const char *path, jm_error *err)
{
    return jm__database_fail(err, db, rc, "sqlite3_step", path);
}

static jm_status begin_cut(jm__writer *writer, jm_error *err)
{
    jm__rotation *r = &writer->rotation;
    char *path = r->carried.failed ? NULL : free_name(r);
    if (path == NULL) return jm__no_memory(err, "jm__rotation_go_on");
    jm_status status = jm__part_open(&r->next, path, false, err);
    free(path);
    if (status != JM_OK) {
        jm__part_discard(&r->next);
        return status;
    }
    int rc = fill(writer);
    if (rc != SQLITE_OK)
        status = fail_of(r->next.db, rc, r->next.path, err);
    else if ((rc = tell_cut(writer)) != SQLITE_OK)
        status = fail_of(writer->part.db, rc, writer->part.path, err);
    if (status == JM_OK) status = prepare_adoption(writer, err);
    if (status != JM_OK) jm__rotation_give_up(writer, NULL);
    return status;
}

/* ---- both are written */

static bool read_span(jm__rotation *r, int64_t id, jm__span *span)
{
    jm__any_row row;
    sqlite3_bind_int64(r->adoption.find, 1, id);
    bool found = sqlite3_step(r->adoption.find) == SQLITE_ROW;
    if (found) {
        jm__row_read(r->adoption.find, &jm__tables[JM_TABLE_SPANS], &row);
        *span = row.spans;
    }
    sqlite3_reset(r->adoption.find);
    return found;
}

/* What it ran in had ended when the part was opened: a queue of seconds. With what is around it. */
static int adopt(jm__rotation *r, int64_t span_id)
{
    jm__span span;
    while (span_id > 0 && span_id <= r->adoption.last_span &&
           jm__map_find(&r->adoption.known, &span_id) == NULL) {
        if (!jm__map_add(&r->adoption.known, &span_id)) return SQLITE_NOMEM;
        if (!read_span(r, span_id, &span)) return SQLITE_OK;
        int rc = jm__insert(&r->next.inserter, JM_TABLE_SPANS, &span);
        if (rc != SQLITE_OK) return rc;
        span_id = span.parent_id;
    }
    return SQLITE_OK;
}

static int adopt_all(jm__writer *writer)
{
    jm__rotation *r = &writer->rotation;
    const jm__kernels *kernels = &writer->batch.kernels;
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < kernels->count; i++)
        if (kernels->items[i].end_ns > r->cut_ns) rc = adopt(r, kernels->items[i].span_id);
    return rc;
}

bool jm__rotation_put(jm__writer *writer, int64_t complete_ns, jm_error *why)
{
    jm__part *next = &writer->rotation.next;
    if (next->db == NULL) return true;
    if (jm__guard_check(next->guard, why) != JM_OK) return false;
    int rc = sqlite3_exec(next->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = jm__writer_put_gathered(writer, next, complete_ns);
    if (rc == SQLITE_OK) rc = adopt_all(writer);
    if (rc == SQLITE_OK) rc = sqlite3_exec(next->db, "COMMIT", NULL, NULL, NULL);
    if (rc == SQLITE_OK) {
        jm__writer_named_are_written(writer, next);
        return true;
    }
    (void)fail_of(next->db, rc, next->path, why);
    sqlite3_exec(next->db, "ROLLBACK", NULL, NULL, NULL);
    return false;
}

static void checkpoint_next(jm__part *next)
{
    int64_t now_ns = jm__now_ns();
    if (now_ns - next->checkpoint_ns < CHECKPOINT_NS) return;
    sqlite3_wal_checkpoint_v2(next->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    next->checkpoint_ns = now_ns;
}

/* ---- as time goes */

/* It is as large as it may become, and has just begun. */
static void tell_small(jm__writer *writer, int64_t complete_ns)
{
    jm__rotation *r = &writer->rotation;
    bool young = complete_ns < r->start_ns + JM_PART_AFTER_NS + 2 * SLACK_NS;
    if (r->told_small || r->number == r->first || !young) return;
    r->told_small = true;
    jm__event event = {.kind = JM_EVENT_RECORDER, .t_ns = complete_ns};
    snprintf(
        event.text, sizeof event.text,
        "parts pass the size that was asked for: each is of %d s at least, and so much comes in meanwhile",
        (int)((JM_PART_BEFORE_NS + JM_PART_AFTER_NS) / JM_NS_PER_S));
    jm__writer_event(writer, &event);
}

static void find_start(jm__writer *writer)
{
    jm__rotation *r = &writer->rotation;
    char text[24];
    static const char sql[] = "SELECT value FROM meta WHERE key = 'start_ns'";
    if (jm__database_integer(writer->part.db, sql, &r->start_ns, writer->part.path, NULL) != JM_OK) return;
    snprintf(text, sizeof text, "%" PRId64, r->start_ns);
    jm__carried_fact(&r->carried, "run_start_ns", text); /* of all parts but this first one */
}

static void end_cut_if_due(jm__writer *writer, int64_t complete_ns)
{
    jm__rotation *r = &writer->rotation;
    jm_error why;
    checkpoint_next(&r->next);
    if (complete_ns < r->cut_ns + JM_PART_AFTER_NS) return;
    if (complete_ns < r->cut_ns + JM_PART_AFTER_NS + READ_NS && jm__part_is_read(&writer->part)) return;
    if (!jm__written_is_at(&r->next.claim.file, r->next.path)) {
        jm__fail(&why, JM_NOT_FOUND, 0, "stat", "%s was removed or replaced", r->next.path);
        jm__rotation_give_up(writer, &why);
    } else if (jm__rotation_end_cut(writer, &why) != JM_OK) {
        tell_trouble(writer, &why); /* the next commit tries again */
    }
}

void jm__rotation_go_on(jm__writer *writer, int64_t complete_ns)
{
    jm__rotation *r = &writer->rotation;
    jm_error why;
    if (!r->wanted || complete_ns <= 0) return;
    if (r->start_ns == 0) find_start(writer);
    tell_late(writer, complete_ns);
    if (r->next.db != NULL) {
        end_cut_if_due(writer, complete_ns);
        return;
    }
    if (r->start_ns == 0 || !is_due(writer, complete_ns, &r->cut_ns)) return;
    if (begin_cut(writer, &why) != JM_OK) {
        tell_trouble(writer, &why);
        return;
    }
    r->trouble = (jm_error){0};
    tell_small(writer, complete_ns);
}

void jm__rotation_free(jm__rotation *rotation)
{
    jm__carried_free(&rotation->carried);
    free(rotation->base);
}
