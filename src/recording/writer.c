/* Writing a recording, from its first rows to its end: rows gather in a batch until a commit. */
#include "recording/writer.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "recording/alive.h"
#include "recording/journal.h"
#include "recording/recording.h"
#include "recording/rewrite.h"
#include "recording/writer_state.h"
#include "rows/span_kind.h"
#include "timeline/ring_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int insert_span_kind(jm__inserter *inserter, jm_span_kind kind)
{
    jm__span_kind_row row = {(int64_t)kind, jm_span_kind_text(kind), jm__span_kind_is_wide(kind)};
    return jm__insert(inserter, JM_TABLE_SPAN_KINDS, &row);
}

static jm_status copy_rows(jm__writer *writer, jm_recording *from, jm_error *err)
{
    jm__rewriting to = {.db = writer->db, .path = writer->path, .inserter = &writer->inserter};
    JM_TRY(jm__rewrite(&to, from, err));
    writer->counter_sets_copied = to.counter_sets;
    return JM_OK;
}

/* What stands in every recording from its start; a copy has the kinds of spans of the other one. */
static jm_status write_first_rows(jm__writer *writer, jm_recording *from, jm_error *err)
{
    if (from != NULL) JM_TRY(copy_rows(writer, from, err));
    int rc = sqlite3_exec(writer->db, "BEGIN", NULL, NULL, NULL);
    for (int kind = 1; rc == SQLITE_OK && from == NULL && kind < JM_SPAN_KIND_COUNT; kind++)
        rc = insert_span_kind(&writer->inserter, (jm_span_kind)kind);
    if (rc == SQLITE_OK) rc = jm__insert_meta(&writer->inserter, "joulemap_version", jm_version());
    if (rc == SQLITE_OK) rc = jm__insert_number(&writer->inserter, "recorder_pid", getpid());
    if (rc == SQLITE_OK)
        rc = jm__insert_number(&writer->inserter, "recorder_start_ticks", jm__process_start_ticks(getpid()));
    if (rc == SQLITE_OK) rc = sqlite3_exec(writer->db, "COMMIT", NULL, NULL, NULL);
    return rc == SQLITE_OK ? JM_OK : jm__database_fail(err, writer->db, rc, "sqlite3_step", writer->path);
}

static void free_writer(jm__writer *writer)
{
    jm_recording_close(writer->recording);
    if (jm__guard_check(writer->guard, NULL) == JM_OK) { /* else SQLite would close what is not its own */
        jm__inserter_free(&writer->inserter);
        sqlite3_close(writer->db);
    }
    jm__guard_free(writer->guard);
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
    pthread_mutex_destroy(&writer->lock);
    jm__claim_free(&writer->claim);
    free(writer);
}

static jm_status create(jm__writer **out, const char *path, bool overwrite, jm_recording *from, jm_error *err)
{
    jm__writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) return jm__no_memory(err, "jm__writer_create");
    pthread_mutex_init(&writer->lock, NULL);
    jm_status status = path == NULL ? JM_OK : jm__claim_make(&writer->claim, path, overwrite, err);
    writer->path = writer->claim.path;
    if (status == JM_OK && path != NULL && (writer->guard = jm__guard_create(path)) == NULL)
        status = jm__no_memory(err, "jm__writer_create");
    if (status == JM_OK) status = jm__database_create(&writer->db, path, JM_RECORDING_VERSION, err);
    if (status == JM_OK) status = jm__inserter_prepare(&writer->inserter, writer->db, path, err);
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
}

void jm__writer_anchor(jm__writer *writer, const jm__anchor *anchor)
{
    jm__batch_add_anchor(&writer->batch, anchor);
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
}

void jm__writer_process(jm__writer *writer, const jm__process *process)
{
    jm__batch_add_process(&writer->batch, process);
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
    flush_if_large(writer);
}

void jm__writer_mark(jm__writer *writer, const jm__mark *mark)
{
    jm__batch_add_mark(&writer->batch, mark);
}

void jm__writer_loss(jm__writer *writer, const jm__loss *loss)
{
    jm__batch_add_loss(&writer->batch, loss);
}

/* ---- the end */

jm_status jm__writer_recording(jm__writer *writer, jm_recording **out, jm_error *err)
{
    if (writer->recording == NULL)
        JM_TRY(jm__recording_share(&writer->recording, writer->db, &writer->lock, err));
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
        snprintf(since, sizeof since, "its last %.1f s are",
                 (double)(jm__now_ns() - writer->complete_ns) / 1e9);
    jm__fail(err, cause->status, cause->code, cause->call,
             "%s: %s: %s missing (%s); what was written before is whole", writer->path,
             jm_status_text(cause->status), since, lost.length == 0 ? "nothing but its end mark" : lost.text);
    jm__strbuf_free(&lost);
    return jm__hint(err, cause->status, "%s", cause->hint);
}

/* Somebody removed it, or put another in its place: what was recorded is in a file without a name. */
static jm_status fail_gone(const jm__writer *writer, jm_error *err)
{
    jm_status status = jm__fail(err, JM_NOT_FOUND, 0, "stat",
                                "%s is gone: it was removed or replaced while it was recorded", writer->path);
    return jm__hint(err, status, "leave a recording where it is until its run has ended");
}

static jm_status leave_one_file(jm__writer *writer, jm_error *err)
{
    jm__inserter_free(&writer->inserter);
    jm__guard_forget_journal(writer->guard);
    return jm__journal_end(writer->db, writer->path, err);
}

void jm__writer_keep(jm__writer *writer)
{
    jm__claim_keep(&writer->claim);
}

void jm__writer_discard(jm__writer *writer)
{
    if (writer == NULL) return;
    jm__claim claim = writer->claim;
    writer->claim = (jm__claim){0};
    writer->path = NULL;
    free_writer(writer); /* before the files move: SQLite looks for its journal by name */
    jm__claim_undo(&claim);
}

jm_status jm__writer_close(jm__writer *writer, jm_error *err)
{
    if (writer == NULL) return JM_OK;
    jm_error cause = {0};
    writer->closing = true;
    jm_status status = jm__writer_commit(writer, 0, &cause);
    if (status != JM_OK) {
        status = fail_incomplete(writer, &cause, err);
        jm__batch_drop_all(&writer->batch);
        (void)jm__writer_commit(writer, 0, NULL); /* that they are missing may fit where they did not */
    } else if (writer->path != NULL)
        status = leave_one_file(writer, err);
    if (cause.status == JM_OK && writer->path != NULL &&
        !jm__written_is_at(&writer->claim.file, writer->path))
        status = fail_gone(writer, err);
    jm__writer_keep(writer);
    free_writer(writer);
    return status;
}
