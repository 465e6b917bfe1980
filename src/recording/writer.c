/* Writing a recording: rows gather in a batch, a commit puts them into SQLite in one transaction. */
#include "recording/writer.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "recording/alive.h"
#include "recording/batch.h"
#include "recording/claim.h"
#include "recording/guard.h"
#include "recording/in_parts.h"
#include "recording/insert.h"
#include "recording/journal.h"
#include "recording/recording.h"
#include "recording/rewrite.h"
#include "recording/room.h"
#include "rows/span_kind.h"
#include "timeline/names.h"
#include "timeline/ring_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FLUSH_BYTES   ((size_t)1 << 20) /* a batch this large goes to SQLite before the next commit */
#define CHECKPOINT_NS (5 * JM_NS_PER_S)
#define PART_BYTES    ((size_t)32 << 10) /* a part of other rows takes at most (in_parts.c) */

/* Rows that are numbered here stay in memory: few, and their numbers must outlive a failed commit. */
struct jm__writer {
    sqlite3 *db;
    jm__claim claim;
    char *path; /* the claim's; NULL: in memory */
    jm__guard *guard;
    jm__inserter inserter;
    jm__batch batch;
    jm__names names;
    JM_VEC(jm_board) boards;
    JM_VEC(jm_sensor) sensors;
    JM_VEC(jm__stream) streams;
    JM_VEC(jm__kernel_class) classes;
    JM_VEC(jm__counter_set) counter_sets; /* own their texts */
    size_t names_written, boards_written, sensors_written, streams_written, classes_written,
        counter_sets_written;
    int64_t counter_sets_copied; /* with numbers below those of counter_sets */
    int64_t checkpoint_ns;       /* when the journal was last emptied into the file, 0: never */
    int64_t complete_ns;         /* of the last commit that worked, 0: none */
    bool closing;                /* the next commit sets the end mark */
    jm_status failure;           /* of the last commit, JM_OK if it worked */
    pthread_mutex_t lock;        /* the database, when a reader in this process shares it */
    jm_recording *recording;
};

static int insert_meta(jm__inserter *inserter, const char *key, const char *value)
{
    jm__meta row = {key, value};
    return jm__insert(inserter, JM_TABLE_META, &row);
}

static int insert_number(jm__inserter *inserter, const char *key, int64_t value)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, value);
    return insert_meta(inserter, key, number);
}

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
    if (rc == SQLITE_OK) rc = insert_meta(&writer->inserter, "joulemap_version", jm_version());
    if (rc == SQLITE_OK) rc = insert_number(&writer->inserter, "recorder_pid", getpid());
    if (rc == SQLITE_OK)
        rc = insert_number(&writer->inserter, "recorder_start_ticks", jm__process_start_ticks(getpid()));
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

/* ---- commits */

/* Rows that were dropped from the batch, as rows of `losses`: it was full as commits failed, or there was no
 * memory for them. */
static int insert_dropped(jm__writer *writer)
{
    int rc = SQLITE_OK;
    jm_status cause = writer->failure == JM_OK ? JM_NO_MEMORY : writer->failure;
    for (int row = 0; rc == SQLITE_OK && row < JM_BATCH_ROW_COUNT; row++) {
        if (writer->batch.dropped[row] == 0) continue;
        char reason[128];
        snprintf(reason, sizeof reason, "%s while %s were to be written", jm_status_text(cause),
                 jm__batch_row_text((jm__batch_row)row));
        jm__loss loss = {.t_ns = writer->batch.dropped_since_ns,
                         .count = writer->batch.dropped[row],
                         .source = "recorder",
                         .reason = reason};
        rc = jm__insert(&writer->inserter, JM_TABLE_LOSSES, &loss);
    }
    return rc;
}

/* Numbered rows that are not in the file yet. */
#define INSERT_NEW(vec, table)                                                                               \
    for (size_t i = writer->vec##_written; rc == SQLITE_OK && i < writer->vec.count; i++)                    \
    rc = jm__insert(inserter, table, &writer->vec.items[i])

static int insert_boards(void *context)
{
    jm__writer *writer = context;
    jm__inserter *inserter = &writer->inserter;
    int rc = SQLITE_OK;
    INSERT_NEW(boards, JM_TABLE_BOARDS);
    INSERT_NEW(sensors, JM_TABLE_SENSORS);
    return rc;
}

static void boards_written(void *context)
{
    jm__writer *writer = context;
    writer->boards_written = writer->boards.count;
    writer->sensors_written = writer->sensors.count;
}

/* What spans, kernels, marks and counters name. */
static int insert_work(void *context)
{
    jm__writer *writer = context;
    jm__inserter *inserter = &writer->inserter;
    int rc = SQLITE_OK;
    for (size_t i = writer->names_written; rc == SQLITE_OK && i < writer->names.count; i++) {
        jm__name name = {(int64_t)i + 1, writer->names.entries[i].text};
        rc = jm__insert(inserter, JM_TABLE_NAMES, &name);
    }
    INSERT_NEW(streams, JM_TABLE_STREAMS);
    INSERT_NEW(classes, JM_TABLE_KERNEL_CLASSES);
    INSERT_NEW(counter_sets, JM_TABLE_COUNTER_SETS);
    return rc;
}

static void work_written(void *context)
{
    jm__writer *writer = context;
    writer->names_written = writer->names.count;
    writer->streams_written = writer->streams.count;
    writer->classes_written = writer->classes.count;
    writer->counter_sets_written = writer->counter_sets.count;
}

static int insert_all(jm__writer *writer, int64_t complete_ns)
{
    jm__inserter *inserter = &writer->inserter;
    int rc = insert_boards(writer);
    if (rc == SQLITE_OK) rc = insert_work(writer);
    if (rc == SQLITE_OK) rc = jm__insert_batch(inserter, &writer->batch);
    if (rc == SQLITE_OK) rc = insert_dropped(writer);
    if (rc == SQLITE_OK && complete_ns > 0) rc = insert_number(inserter, "complete_ns", complete_ns);
    if (rc == SQLITE_OK && writer->closing) rc = insert_meta(inserter, "closed", "1");
    return rc;
}

/* What may pass when there is room again, or the memory. */
static bool may_recover(jm_status status)
{
    return status == JM_DISK_FULL || status == JM_IO || status == JM_BUSY || status == JM_NO_MEMORY ||
           status == JM_NO_PERMISSION;
}

static void forget_written(jm__writer *writer)
{
    boards_written(writer);
    work_written(writer);
    jm__batch_clear(&writer->batch);
    memset(writer->batch.dropped, 0, sizeof writer->batch.dropped);
    writer->batch.dropped_since_ns = 0;
}

static jm_status put_batch(jm__writer *writer, int64_t complete_ns, jm_error *err)
{
    int rc = sqlite3_exec(writer->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = insert_all(writer, complete_ns);
    if (rc == SQLITE_OK) rc = sqlite3_exec(writer->db, "COMMIT", NULL, NULL, NULL);
    if (rc == SQLITE_OK) {
        forget_written(writer);
        if (complete_ns > 0) writer->complete_ns = complete_ns;
        return JM_OK;
    }
    jm_status status = jm__database_fail(err, writer->db, rc, "sqlite3_step", writer->path);
    sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL); /* may have happened by itself */
    return status;
}

/* At the end no readings come any more, but what is missing is to be told. */
static bool has_room(void *context)
{
    uint64_t room, reserve;
    const jm__writer *writer = context;
    if (!jm__room_find(writer->db, writer->path, &room, &reserve)) return true;
    return room >= PART_BYTES + (writer->closing ? PART_BYTES : reserve);
}

/* A batch needs its room in the journal and in the file. */
static bool is_short_of_room(const jm__writer *writer)
{
    uint64_t room, reserve;
    return !writer->closing && jm__room_find(writer->db, writer->path, &room, &reserve) &&
           room < reserve + 2 * writer->batch.bytes;
}

static bool has_work(const jm__writer *writer)
{
    int64_t waiting[JM_BATCH_ROW_COUNT];
    jm__batch_lost(&writer->batch, waiting);
    for (int row = 0; row < JM_BATCH_ROW_COUNT; row++)
        if (row != JM_BATCH_READINGS && row != JM_BATCH_OTHERS && waiting[row] > writer->batch.dropped[row])
            return true;
    return false;
}

/* Before a disk is full, it is full for all but readings: what they tell nothing else does. */
static jm_status put_rows(jm__writer *writer, int64_t complete_ns, jm_error *err)
{
    jm__in_parts all = {.db = writer->db,
                        .inserter = &writer->inserter,
                        .batch = &writer->batch,
                        .writer = writer,
                        .boards = {insert_boards, boards_written},
                        .work = {insert_work, work_written},
                        .has_room = has_room};
    if (!is_short_of_room(writer)) {
        jm_status status = put_batch(writer, complete_ns, err);
        if (status != JM_DISK_FULL || writer->path == NULL) return status;
    }
    sqlite3_wal_checkpoint_v2(writer->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    jm__in_parts_write(&all);
    if (has_work(writer)) return jm__database_fail(err, NULL, SQLITE_FULL, "statvfs", writer->path);
    return put_batch(writer, complete_ns, err); /* the rest, and that it is all */
}

static jm_status write_batch(jm__writer *writer, int64_t complete_ns, jm_error *err)
{
    jm_status status = jm__guard_check(writer->guard, err);
    if (status == JM_OK) status = put_rows(writer, complete_ns, err);
    if (status != JM_OK && !may_recover(status))
        jm__batch_drop_all(&writer->batch); /* it would fail for ever */
    writer->failure = status;
    return status;
}

/* What is in the journal takes its room twice while it goes into the file: soon there may be no more of that.
 */
static bool room_is_scarce(const jm__writer *writer)
{
    uint64_t room, reserve;
    return jm__room_find(writer->db, writer->path, &room, &reserve) &&
           room < 2 * FLUSH_BYTES + 2 * JM_RESERVE_BYTES;
}

/* Now and then what is in the journal goes into the file itself, the schema and the boards at once: a file
 * whose journal was lost or cut is then worth something, too. If it fails, the journal still has all. */
static void checkpoint_if_due(jm__writer *writer)
{
    int64_t now_ns = jm__now_ns();
    if (writer->path == NULL) return;
    if (now_ns - writer->checkpoint_ns < CHECKPOINT_NS && !room_is_scarce(writer)) return;
    sqlite3_wal_checkpoint_v2(writer->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    writer->checkpoint_ns = now_ns;
}

jm_status jm__writer_commit(jm__writer *writer, int64_t complete_ns, jm_error *err)
{
    pthread_mutex_lock(&writer->lock);
    jm_status status = write_batch(writer, complete_ns, err);
    if (status == JM_OK) checkpoint_if_due(writer);
    pthread_mutex_unlock(&writer->lock);
    return status;
}

/* Keeps the batch small. After a failure it may grow: only commits try again. */
static void flush_if_large(jm__writer *writer)
{
    if (writer->batch.bytes >= FLUSH_BYTES && writer->failure == JM_OK)
        (void)jm__writer_commit(writer, 0, NULL);
}

/* ---- rows */

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
    static const size_t most = FLUSH_BYTES / sizeof *readings; /* an import hands over all that it has */
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
