/* A commit: what has gathered goes into SQLite in one transaction; on a full disk what fits. */
#include "base/clock.h"
#include "base/no_fork.h"
#include "format/in_parts.h"
#include "format/room.h"
#include "format/writer_state.h"

#include <stdio.h>
#include <string.h>

#define CHECKPOINT_NS (5 * JM_NS_PER_S)
#define PART_BYTES    ((size_t)32 << 10) /* a part of other rows takes at most (in_parts.c) */

/* Rows that were dropped from the batch, as rows of `losses`: it was full as commits failed, or there was no
 * memory for them. */
static int insert_dropped(const jm__writer *writer, jm__inserter *inserter)
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
        rc = jm__insert(inserter, JM_TABLE_LOSSES, &loss);
    }
    return rc;
}

/* Numbered rows that are not in the file yet. */
#define INSERT_NEW(vec, table)                                                                               \
    for (size_t i = part->written.vec; rc == SQLITE_OK && i < writer->vec.count; i++)                        \
    rc = jm__insert(&part->inserter, table, &writer->vec.items[i])

static int insert_boards(const jm__writer *writer, jm__part *part)
{
    int rc = SQLITE_OK;
    INSERT_NEW(boards, JM_TABLE_BOARDS);
    INSERT_NEW(sensors, JM_TABLE_SENSORS);
    return rc;
}

static void boards_are_written(const jm__writer *writer, jm__part *part)
{
    part->written.boards = writer->boards.count;
    part->written.sensors = writer->sensors.count;
}

/* What spans, kernels, marks and counters name. */
static int insert_work(const jm__writer *writer, jm__part *part)
{
    int rc = SQLITE_OK;
    for (size_t i = part->written.names; rc == SQLITE_OK && i < writer->names.count; i++) {
        jm__name name = {(int64_t)i + 1, writer->names.entries[i].text};
        rc = jm__insert(&part->inserter, JM_TABLE_NAMES, &name);
    }
    INSERT_NEW(streams, JM_TABLE_STREAMS);
    INSERT_NEW(classes, JM_TABLE_KERNEL_CLASSES);
    INSERT_NEW(counter_sets, JM_TABLE_COUNTER_SETS);
    return rc;
}

static void work_is_written(const jm__writer *writer, jm__part *part)
{
    part->written.names = writer->names.count;
    part->written.streams = writer->streams.count;
    part->written.classes = writer->classes.count;
    part->written.counter_sets = writer->counter_sets.count;
}

void jm__writer_named_are_written(const jm__writer *writer, jm__part *part)
{
    boards_are_written(writer, part);
    work_is_written(writer, part);
}

int jm__writer_put_gathered(jm__writer *writer, jm__part *part, int64_t complete_ns)
{
    jm__inserter *inserter = &part->inserter;
    int rc = insert_boards(writer, part);
    if (rc == SQLITE_OK) rc = insert_work(writer, part);
    if (rc == SQLITE_OK) rc = jm__insert_batch(inserter, &writer->batch);
    if (rc == SQLITE_OK) rc = insert_dropped(writer, inserter);
    if (rc == SQLITE_OK && complete_ns > 0) rc = jm__insert_number(inserter, "complete_ns", complete_ns);
    return rc;
}

static int insert_all(jm__writer *writer, int64_t complete_ns)
{
    int rc = jm__writer_put_gathered(writer, &writer->part, complete_ns);
    if (rc == SQLITE_OK && writer->closing) rc = jm__insert_meta(&writer->part.inserter, "closed", "1");
    return rc;
}

/* The same for in_parts.h. */
static int put_boards(void *context)
{
    jm__writer *writer = context;
    return insert_boards(writer, &writer->part);
}

static void note_boards(void *context)
{
    jm__writer *writer = context;
    boards_are_written(writer, &writer->part);
}

static int put_work(void *context)
{
    jm__writer *writer = context;
    return insert_work(writer, &writer->part);
}

static void note_work(void *context)
{
    jm__writer *writer = context;
    work_is_written(writer, &writer->part);
}

static void note_rows(void *context, const jm__batch *written)
{
    jm__rotation_saw(context, written);
}

/* What may pass when there is room again, or the memory. */
static bool may_recover(jm_status status)
{
    return status == JM_DISK_FULL || status == JM_IO || status == JM_BUSY || status == JM_NO_MEMORY ||
           status == JM_NO_PERMISSION;
}

static void forget_written(jm__writer *writer)
{
    jm__rotation_saw(writer, &writer->batch);
    jm__writer_named_are_written(writer, &writer->part);
    jm__batch_clear(&writer->batch);
    memset(writer->batch.dropped, 0, sizeof writer->batch.dropped);
    writer->batch.dropped_since_ns = 0;
}

static jm_status put_batch(jm__writer *writer, int64_t complete_ns, jm_error *err)
{
    int rc = sqlite3_exec(writer->part.db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = insert_all(writer, complete_ns);
    if (rc == SQLITE_OK) rc = sqlite3_exec(writer->part.db, "COMMIT", NULL, NULL, NULL);
    if (rc == SQLITE_OK) {
        jm_error why;
        bool both = jm__rotation_put(writer, complete_ns, &why);
        forget_written(writer);
        if (complete_ns > 0) writer->complete_ns = complete_ns;
        if (!both) jm__rotation_give_up(writer, &why);
        return JM_OK;
    }
    jm_status status = jm__database_fail(err, writer->part.db, rc, "sqlite3_step", writer->part.path);
    sqlite3_exec(writer->part.db, "ROLLBACK", NULL, NULL, NULL); /* may have happened by itself */
    return status;
}

/* At the end no readings come any more, but what is missing is to be told. */
static bool has_room(void *context)
{
    uint64_t room, reserve;
    const jm__writer *writer = context;
    if (!jm__room_find(writer->part.db, writer->part.path, &room, &reserve)) return true;
    return room >= PART_BYTES + (writer->closing ? PART_BYTES : reserve);
}

/* A batch needs its room in the journal and in the file. */
static bool is_short_of_room(const jm__writer *writer)
{
    uint64_t room, reserve;
    return !writer->closing && jm__room_find(writer->part.db, writer->part.path, &room, &reserve) &&
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

/* There is no room for two files, and the next one lacks nothing that this one has not. */
static void give_up_next(jm__writer *writer)
{
    jm_error why;
    if (writer->rotation.next.db == NULL) return;
    jm__database_fail(&why, NULL, SQLITE_FULL, "statvfs", writer->rotation.next.path);
    jm__rotation_give_up(writer, &why);
}

/* Before a disk is full, it is full for all but readings: what they tell nothing else does. */
static jm_status put_rows(jm__writer *writer, int64_t complete_ns, jm_error *err)
{
    jm__in_parts all = {.db = writer->part.db,
                        .inserter = &writer->part.inserter,
                        .batch = &writer->batch,
                        .writer = writer,
                        .boards = {put_boards, note_boards},
                        .work = {put_work, note_work},
                        .rows_written = note_rows,
                        .has_room = has_room};
    if (!is_short_of_room(writer)) {
        jm_status status = put_batch(writer, complete_ns, err);
        if (status != JM_DISK_FULL || writer->part.path == NULL) return status;
    }
    give_up_next(writer);
    sqlite3_wal_checkpoint_v2(writer->part.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    jm__in_parts_write(&all);
    if (has_work(writer)) return jm__database_fail(err, NULL, SQLITE_FULL, "statvfs", writer->part.path);
    return put_batch(writer, complete_ns, err); /* the rest, and that it is all */
}

static jm_status write_batch(jm__writer *writer, int64_t complete_ns, jm_error *err)
{
    jm_status status = jm__guard_check(writer->part.guard, err);
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
    return jm__room_find(writer->part.db, writer->part.path, &room, &reserve) &&
           room < 2 * JM_FLUSH_BYTES + 2 * JM_RESERVE_BYTES;
}

/* Now and then what is in the journal goes into the file itself, the schema and the boards at once: a file
 * whose journal was lost or cut is then worth something, too. If it fails, the journal still has all. */
static void checkpoint_if_due(jm__writer *writer)
{
    int64_t now_ns = jm__now_ns();
    if (writer->part.path == NULL) return;
    if (now_ns - writer->part.checkpoint_ns < CHECKPOINT_NS && !room_is_scarce(writer)) return;
    sqlite3_wal_checkpoint_v2(writer->part.db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    writer->part.checkpoint_ns = now_ns;
}

jm_status jm__writer_commit(jm__writer *writer, int64_t complete_ns, jm_error *err)
{
    pthread_mutex_lock(&writer->lock);
    jm__no_fork_begin();
    jm_status status = write_batch(writer, complete_ns, err);
    /* What fails there stays as it was, and the file may grow. */
    if (status == JM_OK && !writer->closing) (void)jm__condense(writer, complete_ns);
    if (status == JM_OK) checkpoint_if_due(writer);
    if (status == JM_OK && !writer->closing) jm__rotation_go_on(writer, complete_ns);
    jm__no_fork_end();
    pthread_mutex_unlock(&writer->lock);
    return status;
}
