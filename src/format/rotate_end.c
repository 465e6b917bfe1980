/* A cut is made: the part before it is closed, the next one is the one that is written, and old ones go. */
#include "format/old_parts.h"
#include "format/writer_state.h"

#include <stdio.h>

/* What its time was, and what the sampler cost in it. */
static int put_end(jm__writer *writer, int64_t end_ns)
{
    jm__rotation *r = &writer->rotation;
    jm__inserter *inserter = &writer->part.inserter;
    const jm__anchor *anchor = &r->carried.anchor;
    int rc = jm__insert_number(inserter, "end_ns", end_ns);
    if (rc == SQLITE_OK && anchor->monotonic_ns != 0)
        rc = jm__insert_number(inserter, "end_unix_ns", end_ns - anchor->monotonic_ns + anchor->realtime_ns);
    if (rc == SQLITE_OK)
        rc = jm__insert_number(inserter, "sampler_cpu_ns", r->cost.cpu_ns - r->cost_told.cpu_ns);
    if (rc == SQLITE_OK)
        rc = jm__insert_number(inserter, "sampler_calls", r->cost.calls - r->cost_told.calls);
    if (rc == SQLITE_OK)
        rc = jm__insert_number(inserter, "sampler_call_ns", r->cost.call_ns - r->cost_told.call_ns);
    return rc;
}

static jm_status put_end_mark(jm__writer *writer, jm_error *err)
{
    jm__part *part = &writer->part;
    int rc = sqlite3_exec(part->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = put_end(writer, writer->rotation.cut_ns);
    if (rc == SQLITE_OK) rc = jm__insert_meta(&part->inserter, "closed", "1");
    if (rc == SQLITE_OK) rc = sqlite3_exec(part->db, "COMMIT", NULL, NULL, NULL);
    if (rc == SQLITE_OK) return JM_OK;
    jm__database_fail(err, part->db, rc, "sqlite3_step", part->path);
    sqlite3_exec(part->db, "ROLLBACK", NULL, NULL, NULL);
    return err->status;
}

static void tell(jm__writer *writer, const jm_error *what)
{
    jm__event event = {.kind = JM_EVENT_RECORDER, .t_ns = writer->rotation.cut_ns};
    snprintf(event.text, sizeof event.text, "%.250s", what->text);
    jm__writer_event(writer, &event);
}

/* What could not be done about the part before is told in the next one: all of its rows are in it. */
static void close_before(jm__writer *writer)
{
    jm__part *part = &writer->part;
    jm_error what;
    if (!jm__written_is_at(&part->claim.file, part->path)) {
        jm__rotation *r = &writer->rotation;
        jm__fail(&r->lost, JM_NOT_FOUND, 0, "stat",
                 "%s is gone: it was removed or replaced while it was recorded", part->path);
        jm__hint(&r->lost, JM_NOT_FOUND, "leave a part where it is until the next but one is there");
        tell(writer, &r->lost);
    }
    if (jm__part_leave_one_file(part, &what) != JM_OK) tell(writer, &what);
    jm__claim_keep(&part->claim);
    jm__part_close(part);
}

static void begin_anew(jm__writer *writer)
{
    jm__rotation *r = &writer->rotation;
    writer->part = r->next;
    r->next = (jm__part){0};
    r->number = r->next_number;
    r->start_ns = r->cut_ns;
    r->seen_ns = 0;
    r->cost_told = r->cost;
    r->trouble = r->told = (jm_error){0};
    jm__condense_begin_anew(writer, r->start_ns);
}

static void remove_old(jm__writer *writer)
{
    jm__rotation *r = &writer->rotation;
    jm_error what;
    if (r->keep <= 0 || jm__old_parts_remove(r->base, r->number, r->keep - 1, &what) == JM_OK) return;
    if (!r->told_old) tell(writer, &what);
    r->told_old = true;
}

jm_status jm__rotation_end_cut(jm__writer *writer, jm_error *err)
{
    jm__rotation *r = &writer->rotation;
    JM_TRY(jm__guard_check(writer->part.guard, err));
    JM_TRY(put_end_mark(writer, err));
    jm__adoption_end(&r->adoption);
    close_before(writer);
    begin_anew(writer);
    remove_old(writer);
    return JM_OK;
}
