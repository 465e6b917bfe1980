/* Writing a recording, from its first rows to its end: rows gather in a batch until a commit. */
#include "format/writer.h"

#include "base/clock.h"
#include "base/no_fork.h"
#include "base/plain.h"
#include "base/utf8.h"
#include "format/old_parts.h"
#include "format/part_name.h"
#include "format/recording.h"
#include "format/rewrite.h"
#include "format/rows/marks.h"
#include "format/rows/span_kind.h"
#include "format/writer_state.h"
#include "record/timeline/identity.h"
#include "record/timeline/ring_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int insert_span_kind(jm__inserter *inserter, jm_span_kind kind)
{
    jm__span_kind_row row = {(int64_t)kind, jm_span_kind_text(kind), jm__span_kind_is_wide(kind)};
    return jm__insert(inserter, JM_TABLE_SPAN_KINDS, &row);
}

static int insert_span_kinds(jm__inserter *inserter)
{
    int rc = SQLITE_OK;
    for (int kind = 1; rc == SQLITE_OK && kind < JM_SPAN_KIND_COUNT; kind++)
        rc = insert_span_kind(inserter, (jm_span_kind)kind);
    return rc;
}

static int insert_maker(jm__inserter *inserter)
{
    int rc = jm__insert_meta(inserter, "joulemap_version", jm_version());
    if (rc == SQLITE_OK) rc = jm__insert_number(inserter, "recorder_pid", getpid());
    if (rc == SQLITE_OK)
        rc = jm__insert_number(inserter, "recorder_start_ticks", jm__process_start_ticks(getpid()));
    return rc;
}

int jm__writer_put_first_rows(jm__part *part)
{
    int rc = insert_span_kinds(&part->inserter);
    return rc == SQLITE_OK ? insert_maker(&part->inserter) : rc;
}

static jm_status copy_rows(jm__writer *writer, jm_recording *from, jm_error *err)
{
    jm__part *part = &writer->part;
    jm__rewriting to = {.db = part->db, .path = part->path, .inserter = &part->inserter};
    JM_TRY(jm__rewrite(&to, from, err));
    writer->counter_sets_copied = to.counter_sets;
    return JM_OK;
}

/* A copy has the kinds of spans of the other one. */
static jm_status write_first_rows(jm__writer *writer, jm_recording *from, jm_error *err)
{
    jm__part *part = &writer->part;
    if (from != NULL) JM_TRY(copy_rows(writer, from, err));
    jm__no_fork_begin();
    int rc = sqlite3_exec(part->db, "BEGIN", NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = from == NULL ? jm__writer_put_first_rows(part) : insert_maker(&part->inserter);
    if (rc == SQLITE_OK) rc = sqlite3_exec(part->db, "COMMIT", NULL, NULL, NULL);
    jm_status status =
        rc == SQLITE_OK ? JM_OK : jm__database_fail(err, part->db, rc, "sqlite3_step", part->path);
    jm__no_fork_end();
    return status;
}

/* But for its files. */
static void free_writer(jm__writer *writer)
{
    jm__batch_free(&writer->batch);
    jm__names_free(&writer->names);
    jm__vec_free(&writer->boards);
    jm__vec_free(&writer->sensors);
    jm__vec_free(&writer->streams);
    jm__vec_free(&writer->classes);
    for (size_t i = 0; i < writer->counter_sets.count; i++) {
        jm__owned_free(writer->counter_sets.items[i].metrics);
        jm__owned_free(writer->counter_sets.items[i].units);
    }
    jm__vec_free(&writer->counter_sets);
    jm__condenser_free(&writer->condenser);
    jm__rotation_free(&writer->rotation);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}

static jm_status create(jm__writer **out, const char *path, bool overwrite, jm_recording *from, jm_error *err)
{
    jm__writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) return jm__no_memory(err, "jm__writer_create");
    pthread_mutex_init(&writer->lock, NULL);
    jm_status status = jm__part_open(&writer->part, path, overwrite, err);
    if (status == JM_OK) status = write_first_rows(writer, from, err);
    if (status != JM_OK) {
        jm__writer_discard(writer);
        return status;
    }
    *out = writer;
    return JM_OK;
}

jm_status jm__writer_create(jm__writer **out, const char *path, bool overwrite, jm_error *err)
{
    return create(out, path, overwrite, NULL, err);
}

jm_status jm__writer_create_copy(jm__writer **out, const char *path, bool overwrite, jm_recording *from,
                                 jm_error *err)
{
    return create(out, path, overwrite, from, err);
}

/* After those of earlier runs. */
static jm_status first_name(char **path, const char *base, int64_t *number, jm_error *err)
{
    JM_TRY(jm__old_parts_last(base, number, err));
    *path = jm__part_name(base, ++*number);
    return *path != NULL ? JM_OK : jm__no_memory(err, "jm__writer_create_parts");
}

static jm_status begin_rotation(jm__writer *writer, const char *base, int64_t number, bool overwrite,
                                const jm__rotation_wanted *wanted, jm_error *err)
{
    char text[24];
    jm__rotation *r = &writer->rotation;
    *r = (jm__rotation){.wanted = true,
                        .replaces = overwrite,
                        .every_ns = (int64_t)(wanted->every_s * (double)JM_NS_PER_S),
                        .bytes = wanted->bytes,
                        .keep = wanted->keep,
                        .base = strdup(base),
                        .first = number,
                        .number = number};
    if (r->base == NULL) return jm__no_memory(err, "jm__writer_create_parts");
    if (r->every_ns > 0 && r->every_ns < JM_PART_LEAST_NS) r->every_ns = JM_PART_LEAST_NS;
    r->carried.names = (jm__carried_names){.traced = jm__writer_name(writer, JM_MARK_TRACED),
                                           .steps = jm__writer_name(writer, JM_MARK_STEPS),
                                           .untraced = jm__writer_name(writer, JM_MARK_UNTRACED),
                                           .ended = jm__writer_name(writer, JM_MARK_ENDED),
                                           .graphs = jm__writer_name(writer, JM_MARK_GRAPHS_BEFORE),
                                           .request = jm__writer_name(writer, JM_MARK_REQUEST),
                                           .request_ended = jm__writer_name(writer, JM_MARK_REQUEST_ENDED),
                                           .batch = jm__writer_name(writer, JM_MARK_BATCH)};
    snprintf(text, sizeof text, "%" PRId64, number);
    jm__writer_meta(writer, "part", text);
    return JM_OK;
}

jm_status jm__writer_create_parts(jm__writer **out, const char *base, bool overwrite,
                                  const jm__rotation_wanted *wanted, jm_error *err)
{
    int64_t number = 0;
    char *path = NULL;
    JM_TRY(first_name(&path, base, &number, err));
    jm_status status = create(out, path, false, NULL, err);
    free(path);
    if (status != JM_OK) return status;
    status = begin_rotation(*out, base, number, overwrite, wanted, err);
    if (status == JM_OK) return JM_OK;
    jm__writer_discard(*out);
    *out = NULL;
    return status;
}

/* ---- rows */

/* Keeps the batch small. After a failure it may grow: only commits try again. */
static void flush_if_large(jm__writer *writer)
{
    if (writer->batch.bytes >= JM_FLUSH_BYTES && writer->failure == JM_OK)
        (void)jm__writer_commit(writer, 0, NULL);
}

int64_t jm__writer_name(jm__writer *writer, const char *text)
{
    if (text == NULL || text[0] == '\0') return 0;
    uint32_t number = jm__names_intern(&writer->names, text, jm__utf8_cut(text, JM_NAME_MAX));
    return number == 0 ? -1 : (int64_t)number;
}

void jm__writer_meta(jm__writer *writer, const char *key, const char *value)
{
    jm__batch_add_meta(&writer->batch, key, value);
    if (writer->rotation.wanted) jm__carried_fact(&writer->rotation.carried, key, value);
}

void jm__writer_anchor(jm__writer *writer, const jm__anchor *anchor)
{
    jm__batch_add_anchor(&writer->batch, anchor);
    writer->rotation.carried.anchor = *anchor;
}

/* Number a row and keep it until it is written. */
#define ADD_NUMBERED(vec, row, call)                                                                         \
    do {                                                                                                     \
        if (writer->vec.count >= JM_NUMBERED_MAX)                                                            \
            return jm__fail(err, JM_LIMIT, 0, call, "a recording holds at most %u " #vec, JM_NUMBERED_MAX);  \
        (row)->id = (int64_t)writer->vec.count + 1;                                                          \
        if (!jm__vec_push(&writer->vec, *(row))) return jm__no_memory(err, call);                            \
        return JM_OK;                                                                                        \
    } while (0)

jm_status jm__writer_board(jm__writer *writer, jm_board *board, jm_error *err)
{
    ADD_NUMBERED(boards, board, "jm__writer_board");
}

jm_status jm__writer_sensor(jm__writer *writer, jm_sensor *sensor, jm_error *err)
{
    ADD_NUMBERED(sensors, sensor, "jm__writer_sensor");
}

jm_status jm__writer_stream(jm__writer *writer, jm__stream *stream, jm_error *err)
{
    ADD_NUMBERED(streams, stream, "jm__writer_stream");
}

jm_status jm__writer_kernel_class(jm__writer *writer, jm__kernel_class *kernel_class, jm_error *err)
{
    ADD_NUMBERED(classes, kernel_class, "jm__writer_kernel_class");
}

jm_status jm__writer_counter_set(jm__writer *writer, jm__counter_set *set, jm_error *err)
{
    if (set->metric_count < 1 || set->metric_count > JM_COUNTER_METRICS_MAX)
        return jm__fail(err, JM_LIMIT, 0, "jm__writer_counter_set", "a set of counters has 1 to %d metrics",
                        JM_COUNTER_METRICS_MAX);
    int64_t numbered = writer->counter_sets_copied + (int64_t)writer->counter_sets.count;
    if (numbered >= JM_NUMBERED_MAX)
        return jm__fail(err, JM_LIMIT, 0, "jm__writer_counter_set", "a recording holds at most %u sets",
                        JM_NUMBERED_MAX);
    char *metrics = strdup(set->metrics), *units = strdup(set->units);
    jm__counter_set row = *set;
    row.id = numbered + 1;
    row.metrics = metrics;
    row.units = units;
    if (metrics == NULL || units == NULL || !jm__vec_push(&writer->counter_sets, row)) {
        free(metrics);
        free(units);
        return jm__no_memory(err, "jm__writer_counter_set");
    }
    set->id = row.id;
    return JM_OK;
}

jm_status jm__writer_counter_block(jm__writer *writer, const jm__counter_block *block, jm_error *err)
{
    int64_t index = block->set_id - writer->counter_sets_copied - 1;
    bool known = index >= 0 && index < (int64_t)writer->counter_sets.count;
    if (!known || !jm__counter_block_is_sound(block, writer->counter_sets.items[index].metric_count))
        return jm__fail(err, JM_BAD_DATA, 0, "jm__writer_counter_block",
                        "a block of %lld samples in %zu bytes is none of set %lld", (long long)block->count,
                        block->data.size, (long long)block->set_id);
    jm__batch_add_counter_block(&writer->batch, block);
    flush_if_large(writer);
    return JM_OK;
}

void jm__writer_readings(jm__writer *writer, const jm_reading *readings, size_t count)
{
    static const size_t most = JM_FLUSH_BYTES / sizeof *readings; /* an import hands over all that it has */
    for (size_t done = 0; done < count;) {
        size_t part = count - done < most ? count - done : most;
        jm__batch_add_readings(&writer->batch, readings + done, part);
        flush_if_large(writer);
        done += part;
    }
}

void jm__writer_event(jm__writer *writer, const jm__event *event)
{
    jm__batch_add_event(&writer->batch, event);
    if (writer->rotation.wanted) jm__carried_event(&writer->rotation.carried, event);
}

void jm__writer_process(jm__writer *writer, const jm__process *process)
{
    jm__batch_add_process(&writer->batch, process);
    if (writer->rotation.wanted) jm__carried_process(&writer->rotation.carried, process);
}

void jm__writer_span_begin(jm__writer *writer, const jm__span *span)
{
    jm__batch_add_span(&writer->batch, span);
    flush_if_large(writer);
}

void jm__writer_span_end(jm__writer *writer, const jm__span_end *end)
{
    jm__batch_end_span(&writer->batch, end);
    flush_if_large(writer);
}

void jm__writer_kernels(jm__writer *writer, const jm__kernel *kernels, size_t count)
{
    jm__batch_add_kernels(&writer->batch, kernels, count);
    if (writer->rotation.wanted) jm__rotation_saw_kernels(&writer->rotation, kernels, count);
    flush_if_large(writer);
}

void jm__writer_mark(jm__writer *writer, const jm__mark *mark)
{
    jm__batch_add_mark(&writer->batch, mark);
    if (!writer->rotation.wanted || mark->name_id < 1 || (size_t)mark->name_id > writer->names.count) return;
    jm__carried_mark_passed(&writer->rotation.carried, mark, writer->names.entries[mark->name_id - 1].text);
}

void jm__writer_loss(jm__writer *writer, const jm__loss *loss)
{
    jm__batch_add_loss(&writer->batch, loss);
}

/* ---- the end */

jm_status jm__writer_recording(jm__writer *writer, jm_recording **out, jm_error *err)
{
    if (writer->recording == NULL)
        JM_TRY(jm__recording_share(&writer->recording, writer->part.db, &writer->lock, err));
    *out = writer->recording;
    return JM_OK;
}

/* What the file lacks at the end, in words. */
static jm_status fail_incomplete(jm__writer *writer, const jm_error *cause, jm_error *err)
{
    jm__strbuf lost = {0};
    int64_t counts[JM_BATCH_ROW_COUNT];
    jm__batch_lost(&writer->batch, counts);
    for (int row = 0; row < JM_BATCH_ROW_COUNT; row++)
        if (counts[row] > 0)
            jm__strbuf_format(&lost, "%s%" PRId64 " %s", lost.length == 0 ? "" : ", ", counts[row],
                              jm__batch_row_text((jm__batch_row)row));
    char since[48] = "all after its start is";
    if (writer->complete_ns != 0)
        jm__print(since, sizeof since, "its last %.1f s are",
                  (double)(jm__now_ns() - writer->complete_ns) / 1e9);
    jm__fail(err, cause->status, cause->code, cause->call,
             "%s: %s: %s missing (%s); what was written before is whole", writer->part.path,
             jm_status_text(cause->status), since, lost.length == 0 ? "nothing but its end mark" : lost.text);
    jm__strbuf_free(&lost);
    return jm__hint(err, cause->status, "%s", cause->hint);
}

/* Somebody removed it, or put another in its place: what was recorded is in a file without a name. */
static jm_status fail_gone(const jm__writer *writer, jm_error *err)
{
    jm_status status =
        jm__fail(err, JM_NOT_FOUND, 0, "stat", "%s is gone: it was removed or replaced while it was recorded",
                 writer->part.path);
    return jm__hint(err, status, "leave a recording where it is until its run has ended");
}

void jm__writer_keep(jm__writer *writer)
{
    jm__rotation *r = &writer->rotation;
    jm__claim_keep(&writer->part.claim);
    if (r->replaces) (void)jm__old_parts_remove(r->base, r->first, 0, NULL);
    r->replaces = false;
}

void jm__writer_discard(jm__writer *writer)
{
    if (writer == NULL) return;
    jm_recording_close(writer->recording);
    jm__rotation_give_up(writer, NULL);
    jm__part_discard(&writer->part);
    free_writer(writer);
}

void jm__writer_settle(jm__writer *writer, int64_t end_ns)
{
    if (writer->rotation.next.db == NULL) return;
    (void)jm__writer_commit(writer, end_ns, NULL); /* what fails comes again at the close */
    pthread_mutex_lock(&writer->lock);
    jm__rotation_give_up(writer, NULL); /* nothing is in it that the part before it has not */
    pthread_mutex_unlock(&writer->lock);
}

const char *jm__writer_path(const jm__writer *writer)
{
    return writer->part.path;
}

void jm__writer_cost(jm__writer *writer, const jm__sampler_cost *so_far)
{
    writer->rotation.cost = *so_far;
}

jm__sampler_cost jm__writer_cost_told(const jm__writer *writer)
{
    return writer->rotation.cost_told;
}

/* All that was measured is there, but not as it was asked for. */
static jm_status fail_to_rotate(const jm__writer *writer, jm_error *err)
{
    const jm__rotation *r = &writer->rotation;
    if (r->lost.status != JM_OK) {
        if (err != NULL) *err = r->lost;
        return r->lost.status;
    }
    if (r->trouble.status == JM_OK) return JM_OK;
    jm__fail(err, r->trouble.status, r->trouble.code, r->trouble.call,
             "%s holds all that came after it was due for a new part, which could not be made: %s",
             writer->part.path, r->trouble.text);
    return jm__hint(err, r->trouble.status, "%s", r->trouble.hint);
}

jm_status jm__writer_close(jm__writer *writer, jm_error *err)
{
    if (writer == NULL) return JM_OK;
    jm_error cause = {0};
    jm__writer_settle(writer, writer->complete_ns);
    writer->closing = true;
    jm_status status = jm__writer_commit(writer, 0, &cause);
    if (status != JM_OK) {
        status = fail_incomplete(writer, &cause, err);
        jm__batch_drop_all(&writer->batch);
        (void)jm__writer_commit(writer, 0, NULL); /* that they are missing may fit where they did not */
    } else if (writer->part.path != NULL)
        status = jm__part_leave_one_file(&writer->part, err);
    if (cause.status == JM_OK && writer->part.path != NULL &&
        !jm__written_is_at(&writer->part.claim.file, writer->part.path))
        status = fail_gone(writer, err);
    if (status == JM_OK) status = fail_to_rotate(writer, err);
    jm__writer_keep(writer);
    jm_recording_close(writer->recording);
    jm__part_close(&writer->part);
    free_writer(writer);
    return status;
}
