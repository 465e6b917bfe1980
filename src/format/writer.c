/* Writing a recording from its first rows to its end. Rows collect in a batch until a commit writes them into
 * SQLite, on a full disk as many as fit. */
#include "format/writer.h"

#include "base/clock.h"
#include "base/no_fork.h"
#include "base/plain.h"
#include "base/utf8.h"
#include "format/batch.h"
#include "format/file_lock.h"
#include "format/recording.h"
#include "format/row.h"
#include "format/rows/span_kind.h"
#include "record/timeline/identity.h"
#include "record/timeline/ring.h"
#include "record/timeline/ring_format.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FLUSH_BYTES    ((size_t)1 << 20)  /* a batch of this size is written before the next commit */
#define META_BYTES_MAX ((size_t)64 << 10) /* of one value: a command line may have megabytes */
#define CHECKPOINT_NS  (5 * JM_NS_PER_S)
#define CLOSE_ATTEMPTS 20
#define CLOSE_WAIT_NS  (50 * JM_NS_PER_MS)

/* Limits for a full disk. */
#define RESERVE_BYTES ((size_t)1 << 20)  /* reserved for readings: some minutes of two boards */
#define RESERVE_SHARE 8                  /* or this fraction of a small disk */
#define ROWS_LEAST    64                 /* fewer rows are not tried: two or three pages of readings */
#define WORK_ROWS     256                /* of spans, kernels and the like per part, some ten pages */
#define PART_BYTES    ((size_t)32 << 10) /* the most space such a part takes */

/* Of the tables whose rows get their ids here: the last, and one before the first. */
static const jm__table_id LAST_NUMBERED = JM_TABLE_COUNTER_SETS, NO_NUMBERED = JM_TABLE_META;

/* Rows that get their ids here stay in memory: they are few, and their ids must survive a failed commit. */
struct jm__writer {
    sqlite3 *db;
    jm__file_lock file_lock;
    const char *path; /* in file_lock; NULL: in memory */
    jm__guard *guard;
    jm__inserter inserter;
    jm__batch batch;
    jm__names names;
    jm__row_list numbered[JM_TABLE_COUNT]; /* of the tables whose rows get their ids here */
    size_t written[JM_TABLE_COUNT];        /* how many of these are in the file, of `names` too */
    int64_t counter_sets_copied;           /* the highest id of copied sets; others follow */
    int64_t complete_ns;                   /* of the last successful commit, 0: none */
    int64_t checkpoint_ns;                 /* of the last checkpoint, 0: never */
    bool closing;                          /* the next commit sets the end mark */
    jm_status failure;                     /* of the last commit, JM_OK on success */
    pthread_mutex_t lock;                  /* protects the database, which readers in this process share */
    jm_recording *recording;
    jm__writer_follower follower;
};

/* ---- copying a recording of any version, complete or damaged, into the tables of this version */

typedef struct copying {
    jm__writer *to;
    jm__table_id table;
    int rc; /* of the copy */
} copying;

/* Leaves out the end mark, and rows that violate a constraint (a taken id, a missing value): only files of
 * other programs have such. */
static bool copy_row(void *context, const void *row)
{
    copying *c = context;
    const jm__any_row *any = row;
    if (c->table == JM_TABLE_META && strcmp(any->meta.key, "closed") == 0) return true;
    int rc = jm__insert(&c->to->inserter, c->table, row);
    if ((rc & 0xff) == SQLITE_CONSTRAINT) return true;
    if (c->table == JM_TABLE_COUNTER_SETS && any->counter_sets.id > c->to->counter_sets_copied)
        c->to->counter_sets_copied = any->counter_sets.id;
    c->rc = rc;
    return rc == SQLITE_OK;
}

static jm_status copy_tables(jm__writer *writer, jm_recording *from, sqlite3 *db, jm_error *err)
{
    for (int table = 0; table < JM_TABLE_COUNT; table++) {
        copying c = {.to = writer, .table = (jm__table_id)table, .rc = SQLITE_OK};
        jm_status status = jm__recording_rows(from, db, c.table, copy_row, &c, err);
        if (c.rc != SQLITE_OK) return jm__database_fail(err, writer->db, c.rc, "sqlite3_step", writer->path);
        if (status != JM_OK) return status;
    }
    return JM_OK;
}

/* In one transaction. */
static jm_status copy_once(jm__writer *writer, jm_recording *from, jm_error *err)
{
    sqlite3 *db;
    writer->counter_sets_copied = 0;
    JM_TRY(jm__recording_begin(from, &db, err));
    jm_status status = jm__database_run(writer->db, "BEGIN", writer->path, err);
    if (status == JM_OK) status = copy_tables(writer, from, db, err);
    if (status == JM_OK) status = jm__database_run(writer->db, "COMMIT", writer->path, err);
    if (status != JM_OK) sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL); /* BEGIN may have failed */
    jm__recording_end(from, db);
    return status;
}

static jm_status copy_rows(jm__writer *writer, jm_recording *from, jm_error *err)
{
    jm_status status = copy_once(writer, from, err);
    if (status == JM_OK) return JM_OK;
    JM_TRY(jm__recording_recover(from, status, err));
    return copy_once(writer, from, err);
}

/* ---- beginning */

static int insert_span_kinds(jm__inserter *inserter)
{
    int rc = SQLITE_OK;
    for (int i = 1; rc == SQLITE_OK && i < JM_SPAN_KIND_COUNT; i++) {
        jm_span_kind kind = (jm_span_kind)i;
        jm__span_kind_row row = {i, jm_span_kind_text(kind), jm__span_kind_is_wide(kind)};
        rc = jm__insert(inserter, JM_TABLE_SPAN_KINDS, &row);
    }
    return rc;
}

static int insert_recorder(jm__inserter *inserter)
{
    int rc = jm__insert_meta(inserter, "joulemap_version", jm_version());
    if (rc == SQLITE_OK) rc = jm__insert_number(inserter, "recorder_pid", getpid());
    if (rc == SQLITE_OK)
        rc = jm__insert_number(inserter, "recorder_start_ticks", jm__process_start_ticks(getpid()));
    return rc;
}

/* A copy has the span kinds of its original. */
static jm_status write_first_rows(jm__writer *writer, jm_recording *from, jm_error *err)
{
    if (from != NULL) JM_TRY(copy_rows(writer, from, err));
    jm__no_fork_begin();
    int rc = sqlite3_exec(writer->db, "BEGIN", NULL, NULL, NULL);
    if (rc == SQLITE_OK && from == NULL) rc = insert_span_kinds(&writer->inserter);
    if (rc == SQLITE_OK) rc = insert_recorder(&writer->inserter);
    if (rc == SQLITE_OK) rc = sqlite3_exec(writer->db, "COMMIT", NULL, NULL, NULL);
    jm_status status =
        rc == SQLITE_OK ? JM_OK : jm__database_fail(err, writer->db, rc, "sqlite3_step", writer->path);
    jm__no_fork_end();
    return status;
}

static jm_status open_file(jm__writer *writer, const char *path, bool overwrite, jm_error *err)
{
    if (path != NULL) {
        JM_TRY(jm__file_lock_make(&writer->file_lock, path, overwrite, err));
        writer->path = writer->file_lock.path;
        if ((writer->guard = jm__guard_create(path)) == NULL) return jm__no_memory(err, "jm__writer_create");
    }
    JM_TRY(jm__database_create(&writer->db, path, JM_RECORDING_VERSION, err));
    return jm__inserter_prepare(&writer->inserter, writer->db, path, err);
}

jm_status jm__writer_create_copy(jm__writer **out, const char *path, bool overwrite, jm_recording *from,
                                 jm_error *err)
{
    jm__writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) return jm__no_memory(err, "jm__writer_create");
    pthread_mutex_init(&writer->lock, NULL);
    jm_status status = open_file(writer, path, overwrite, err);
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
    return jm__writer_create_copy(out, path, overwrite, NULL, err);
}

void jm__writer_follow(jm__writer *writer, const jm__writer_follower *follower)
{
    writer->follower = *follower;
}

jm__writer_internals jm__writer_internals_of(jm__writer *writer)
{
    const jm__row_list *sensors = &writer->numbered[JM_TABLE_SENSORS];
    return (jm__writer_internals){writer->db, &writer->inserter, sensors->rows, sensors->count};
}

/* ---- rows */

/* Keeps the batch small. After a failure it may grow: only commits retry. */
static void flush_if_large(jm__writer *writer)
{
    if (writer->batch.bytes >= FLUSH_BYTES && writer->failure == JM_OK)
        (void)jm__writer_commit(writer, 0, NULL);
}

int64_t jm__writer_name(jm__writer *writer, const char *text)
{
    if (text == NULL || text[0] == '\0') return 0;
    uint32_t number = jm__names_intern(&writer->names, text, jm__utf8_cut(text, JM_NAME_MAX));
    return number == 0 ? -1 : (int64_t)number;
}

/* A text that is longer than a reader accepts (jm__database_open) is cut and its length appended. */
void jm__writer_meta(jm__writer *writer, const char *key, const char *value)
{
    size_t length = strlen(value);
    jm__strbuf cut = {0};
    if (length > META_BYTES_MAX) {
        jm__strbuf_add_bytes(&cut, value, jm__utf8_cut(value, META_BYTES_MAX));
        jm__strbuf_format(&cut, "... (%zu bytes in all)", length);
    }
    const jm__meta row = {key, length > META_BYTES_MAX ? cut.text : value};
    if (cut.failed)
        jm__batch_drop(&writer->batch, JM_BATCH_OTHERS, 1);
    else
        jm__batch_add(&writer->batch, JM_TABLE_META, &row, 1);
    jm__strbuf_free(&cut);
}

/* Gives the row an id and keeps it until it is written. */
static jm_status add_numbered(jm__writer *writer, jm__table_id table, void *row, const char *what,
                              const char *call, jm_error *err)
{
    jm__row_list *rows = &writer->numbered[table];
    int64_t copied = table == JM_TABLE_COUNTER_SETS ? writer->counter_sets_copied : 0;
    int64_t id = copied + (int64_t)rows->count + 1;
    if (id > JM_NUMBERED_MAX)
        return jm__fail(err, JM_LIMIT, 0, call, "a recording holds at most %u %s", JM_NUMBERED_MAX, what);
    memcpy((char *)row + jm__tables[table].columns[0].offset, &id, sizeof id);
    return jm__row_list_add(rows, table, row, 1) ? JM_OK : jm__no_memory(err, call);
}

jm_status jm__writer_board(jm__writer *writer, jm_board *board, jm_error *err)
{
    return add_numbered(writer, JM_TABLE_BOARDS, board, "boards", __func__, err);
}

jm_status jm__writer_sensor(jm__writer *writer, jm_sensor *sensor, jm_error *err)
{
    return add_numbered(writer, JM_TABLE_SENSORS, sensor, "sensors", __func__, err);
}

jm_status jm__writer_stream(jm__writer *writer, jm__stream *stream, jm_error *err)
{
    return add_numbered(writer, JM_TABLE_STREAMS, stream, "streams", __func__, err);
}

jm_status jm__writer_kernel_class(jm__writer *writer, jm__kernel_class *kernel_class, jm_error *err)
{
    return add_numbered(writer, JM_TABLE_KERNEL_CLASSES, kernel_class, "classes", __func__, err);
}

jm_status jm__writer_counter_set(jm__writer *writer, jm__counter_set *set, jm_error *err)
{
    if (set->metric_count < 1 || set->metric_count > JM_COUNTER_METRICS_MAX)
        return jm__fail(err, JM_LIMIT, 0, "jm__writer_counter_set", "a set of counters has 1 to %d metrics",
                        JM_COUNTER_METRICS_MAX);
    return add_numbered(writer, JM_TABLE_COUNTER_SETS, set, "sets", __func__, err);
}

jm_status jm__writer_counter_block(jm__writer *writer, const jm__counter_block *block, jm_error *err)
{
    const jm__counter_set *sets = writer->numbered[JM_TABLE_COUNTER_SETS].rows;
    int64_t index = block->set_id - writer->counter_sets_copied - 1;
    bool known = index >= 0 && index < (int64_t)writer->numbered[JM_TABLE_COUNTER_SETS].count;
    if (!known || !jm__counter_block_is_sound(block, sets[index].metric_count))
        return jm__fail(err, JM_BAD_DATA, 0, "jm__writer_counter_block",
                        "a block of %lld samples in %zu bytes does not belong to set %lld",
                        (long long)block->count, block->data.size, (long long)block->set_id);
    jm__batch_add(&writer->batch, JM_TABLE_COUNTER_BLOCKS, block, 1);
    flush_if_large(writer);
    return JM_OK;
}

void jm__writer_readings(jm__writer *writer, const jm_reading *readings, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (isnan(readings[i].value)) continue;
        jm__batch_add(&writer->batch, JM_TABLE_READINGS, &readings[i], 1);
        flush_if_large(writer); /* an import may add all its readings at once */
    }
}

void jm__writer_event(jm__writer *writer, const jm__event *event)
{
    jm__event row = *event;
    if (!jm__event_has_value(row.kind)) row.value = NAN;
    jm__batch_add(&writer->batch, JM_TABLE_EVENTS, &row, 1);
}

void jm__writer_process(jm__writer *writer, const jm__process *process)
{
    jm__batch_add(&writer->batch, JM_TABLE_PROCESSES, process, 1);
}

void jm__writer_span_begin(jm__writer *writer, const jm__span *span)
{
    jm__batch_add(&writer->batch, JM_TABLE_SPANS, span, 1);
    flush_if_large(writer);
}

void jm__writer_span_end(jm__writer *writer, const jm__span_end *end)
{
    jm__batch_end_span(&writer->batch, end);
    flush_if_large(writer);
}

void jm__writer_kernels(jm__writer *writer, const jm__kernel *kernels, size_t count)
{
    jm__batch_add(&writer->batch, JM_TABLE_KERNELS, kernels, count);
    flush_if_large(writer);
}

void jm__writer_mark(jm__writer *writer, const jm__mark *mark)
{
    jm__batch_add(&writer->batch, JM_TABLE_MARKS, mark, 1);
}

void jm__writer_loss(jm__writer *writer, const jm__loss *loss)
{
    jm__batch_add(&writer->batch, JM_TABLE_LOSSES, loss, 1);
}

void jm__writer_anchor(jm__writer *writer, const jm__anchor *anchor)
{
    jm__batch_add(&writer->batch, JM_TABLE_ANCHORS, anchor, 1);
}

/* ---- committing */

/* Adds the dropped rows to `losses`. They were dropped because the batch was full after failed commits, or
 * memory was out. */
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

/* Inserts rows with ids that are not in the file yet, of the tables up to `last`. */
static int insert_numbered(jm__writer *writer, jm__table_id last)
{
    int rc = SQLITE_OK;
    for (size_t i = writer->written[JM_TABLE_NAMES];
         rc == SQLITE_OK && last >= JM_TABLE_NAMES && i < writer->names.entries.count; i++) {
        jm__name name = {(int64_t)i + 1, writer->names.entries.items[i].text};
        rc = jm__insert(&writer->inserter, JM_TABLE_NAMES, &name);
    }
    for (jm__table_id table = 0; rc == SQLITE_OK && table <= last; table++)
        rc = jm__insert_rows(&writer->inserter, table, &writer->numbered[table], writer->written[table]);
    return rc;
}

static void numbered_are_written(jm__writer *writer, jm__table_id last)
{
    for (jm__table_id table = 0; table <= last; table++)
        writer->written[table] =
            table == JM_TABLE_NAMES ? writer->names.entries.count : writer->numbered[table].count;
}

static int insert_all(jm__writer *writer, int64_t complete_ns)
{
    jm__inserter *inserter = &writer->inserter;
    int rc = insert_numbered(writer, LAST_NUMBERED);
    if (rc == SQLITE_OK) rc = jm__insert_batch(inserter, &writer->batch);
    if (rc == SQLITE_OK) rc = insert_dropped(writer);
    if (rc == SQLITE_OK && complete_ns > 0) rc = jm__insert_number(inserter, "complete_ns", complete_ns);
    if (rc == SQLITE_OK && writer->closing) rc = jm__insert_meta(inserter, "closed", "1");
    return rc;
}

static void forget_written(jm__writer *writer)
{
    numbered_are_written(writer, LAST_NUMBERED);
    jm__batch_clear(&writer->batch);
    memset(writer->batch.dropped, 0, sizeof writer->batch.dropped);
    writer->batch.dropped_since_ns = 0;
}

static jm_status write_all(jm__writer *writer, int64_t complete_ns, jm_error *err)
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
    sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL); /* SQLite may have rolled back already */
    return status;
}

/* ---- a full disk: write the part of the batch that fits, readings first */

/* `room`: by how many bytes the file may grow after a checkpoint, by free space and by `ulimit -f`.
 * `reserve`: how much of that is reserved for readings. False: unknown. */
static bool find_room(const jm__writer *writer, uint64_t *room, uint64_t *reserve)
{
    struct statvfs fs;
    struct stat file;
    struct rlimit limit;
    int64_t pages = 0;
    const char *path = writer->path;
    if (path == NULL || statvfs(path, &fs) != 0 || stat(path, &file) != 0) return false;
    if (jm__database_integer(writer->db, "PRAGMA page_count", &pages, path, NULL) != JM_OK) return false;
    uint64_t all = (uint64_t)fs.f_blocks * fs.f_frsize, free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    uint64_t size = (uint64_t)file.st_size, needed = (uint64_t)pages * JM_PAGE_BYTES;
    uint64_t most_size = size + free_bytes;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < most_size) all = most_size = limit.rlim_cur;
    *room = needed < most_size ? most_size - needed : 0;
    *reserve = all / RESERVE_SHARE < RESERVE_BYTES ? all / RESERVE_SHARE : RESERVE_BYTES;
    return true;
}

/* Room for a part of rows other than readings? At the end the reserve is free: no more readings come, and the
 * losses must be recorded. */
static bool has_room(const jm__writer *writer)
{
    uint64_t room, reserve;
    return !find_room(writer, &room, &reserve) ||
           room >= PART_BYTES + (writer->closing ? PART_BYTES : reserve);
}

/* A batch takes space in the journal and again in the file. */
static bool is_short_of_room(const jm__writer *writer)
{
    uint64_t room, reserve;
    return !writer->closing && find_room(writer, &room, &reserve) && room < reserve + 2 * writer->batch.bytes;
}

/* Records how far the readings go, even if other rows of that time are missing. */
static int note_readings(jm__writer *writer, const jm__batch *part)
{
    int64_t latest_ns = 0;
    const jm_reading *readings = part->rows[JM_TABLE_READINGS].rows;
    for (size_t i = 0; i < part->rows[JM_TABLE_READINGS].count; i++)
        if (readings[i].t_ns > latest_ns) latest_ns = readings[i].t_ns;
    return latest_ns == 0 ? SQLITE_OK : jm__insert_number(&writer->inserter, "readings_ns", latest_ns);
}

/* Writes a part, and the numbered rows up to a table, in a transaction of its own and checkpoints it, which
 * frees its space in the journal. */
static bool write_part(jm__writer *writer, jm__table_id last, const jm__batch *part)
{
    int rc = sqlite3_exec(writer->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (rc == SQLITE_OK) rc = insert_numbered(writer, last);
    if (rc == SQLITE_OK) rc = jm__insert_batch(&writer->inserter, part);
    if (rc == SQLITE_OK) rc = note_readings(writer, part);
    if (rc == SQLITE_OK) rc = sqlite3_exec(writer->db, "COMMIT", NULL, NULL, NULL);
    if (rc != SQLITE_OK) {
        sqlite3_exec(writer->db, "ROLLBACK", NULL, NULL, NULL);
        return false;
    }
    sqlite3_wal_checkpoint_v2(writer->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    numbered_are_written(writer, last);
    return true;
}

/* Writes as many as fit, in ever smaller parts. */
static void write_rows(jm__writer *writer, jm__batch_row row, size_t limit)
{
    jm__batch part;
    bool work = row != JM_BATCH_READINGS && row != JM_BATCH_OTHERS;
    size_t count;
    while ((count = jm__batch_first(&writer->batch, row, limit, &part)) > 0) {
        if (work && !has_room(writer)) return;
        if (write_part(writer, NO_NUMBERED, &part))
            jm__batch_forget(&writer->batch, &part);
        else if (row != JM_BATCH_OTHERS && count > ROWS_LEAST)
            limit = count / 2;
        else
            return;
    }
}

/* Rows that fit leave the batch; the rest stays. */
static void write_what_fits(jm__writer *writer)
{
    static const jm__batch_row work[] = {JM_BATCH_SPANS, JM_BATCH_KERNELS, JM_BATCH_MARKS, JM_BATCH_COUNTERS};
    static const jm__batch nothing;
    write_rows(writer, JM_BATCH_OTHERS, SIZE_MAX); /* few, and they concern all others */
    if (!write_part(writer, JM_TABLE_SENSORS, &nothing)) return;
    write_rows(writer, JM_BATCH_READINGS, SIZE_MAX);
    if (!has_room(writer) || !write_part(writer, LAST_NUMBERED, &nothing)) return;
    for (size_t i = 0; i < sizeof work / sizeof *work; i++)
        write_rows(writer, work[i], WORK_ROWS);
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

/* Short of space, only readings are written: no other data can replace them. */
static jm_status write_as_fits(jm__writer *writer, int64_t complete_ns, jm_error *err)
{
    if (!is_short_of_room(writer)) {
        jm_status status = write_all(writer, complete_ns, err);
        if (status != JM_DISK_FULL || writer->path == NULL) return status;
    }
    sqlite3_wal_checkpoint_v2(writer->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    write_what_fits(writer);
    if (has_work(writer)) return jm__database_fail(err, NULL, SQLITE_FULL, "statvfs", writer->path);
    return write_all(writer, complete_ns, err); /* the rest, with complete_ns */
}

/* May it pass once there is space or memory again? */
static bool may_recover(jm_status status)
{
    return status == JM_DISK_FULL || status == JM_IO || status == JM_BUSY || status == JM_NO_MEMORY ||
           status == JM_NO_PERMISSION;
}

static jm_status write_batch(jm__writer *writer, int64_t complete_ns, jm_error *err)
{
    jm_status status = jm__guard_check(writer->guard, err);
    if (status == JM_OK) status = write_as_fits(writer, complete_ns, err);
    if (status != JM_OK && !may_recover(status))
        jm__batch_drop_all(&writer->batch); /* it would fail every time */
    writer->failure = status;
    return status;
}

/* A checkpoint needs the space of the journal once more: do it before that is gone. */
static bool is_low_on_room(const jm__writer *writer)
{
    uint64_t room, reserve;
    return find_room(writer, &room, &reserve) && room < 2 * FLUSH_BYTES + 2 * RESERVE_BYTES;
}

/* Checkpoints from time to time, schema and boards at once: then a file whose journal is lost or cut is still
 * useful. If it fails, the journal keeps the data. */
static void checkpoint_if_due(jm__writer *writer)
{
    int64_t now_ns = jm__now_ns();
    if (writer->path == NULL) return;
    if (now_ns - writer->checkpoint_ns < CHECKPOINT_NS && !is_low_on_room(writer)) return;
    sqlite3_wal_checkpoint_v2(writer->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    writer->checkpoint_ns = now_ns;
}

jm_status jm__writer_commit(jm__writer *writer, int64_t complete_ns, jm_error *err)
{
    const jm__writer_follower *follower = &writer->follower;
    pthread_mutex_lock(&writer->lock);
    jm__no_fork_begin();
    jm_status status = write_batch(writer, complete_ns, err);
    if (status == JM_OK && !writer->closing && follower->committed != NULL)
        follower->committed(follower->context, complete_ns);
    if (status == JM_OK) checkpoint_if_due(writer);
    jm__no_fork_end();
    pthread_mutex_unlock(&writer->lock);
    return status;
}

/* ---- removing the journal */

/* The first row is the resulting mode, which may be the old one without an error. The next step reports
 * whether the change worked. */
static jm_status set_mode(const jm__writer *writer, const char *mode, jm_error *err)
{
    char sql[48];
    snprintf(sql, sizeof sql, "PRAGMA journal_mode = %s", mode);
    sqlite3_stmt *change = NULL;
    JM_TRY(jm__database_prepare(writer->db, &change, sql, writer->path, err));
    int rc = sqlite3_step(change);
    const char *now = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(change, 0) : NULL;
    bool changed = now != NULL && strcmp(now, mode) == 0;
    if (rc == SQLITE_ROW) rc = changed ? sqlite3_step(change) : SQLITE_BUSY;
    jm_status status =
        rc == SQLITE_DONE ? JM_OK : jm__database_fail(err, writer->db, rc, "sqlite3_step", writer->path);
    sqlite3_finalize(change);
    return status;
}

/* Retries after a failure: then the file has the old mode again while SQLite assumes the new one. */
static jm_status end_journal_once(const jm__writer *writer, jm_error *err)
{
    jm__no_fork_begin();
    jm_status status = set_mode(writer, "delete", err);
    if (status != JM_OK && status != JM_BUSY && set_mode(writer, "wal", NULL) == JM_OK)
        status = set_mode(writer, "delete", err);
    jm__no_fork_end();
    return status;
}

/* Waits for current readers to finish. */
static jm_status leave_one_file(jm__writer *writer, jm_error *err)
{
    jm_error cause = {0};
    jm__inserter_free(&writer->inserter); /* open statements would block it */
    jm__guard_forget_journal(writer->guard);
    jm__no_fork_begin();
    sqlite3_wal_checkpoint_v2(writer->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    jm__no_fork_end();
    jm_status status = end_journal_once(writer, &cause);
    for (int i = 1; i < CLOSE_ATTEMPTS && status == JM_BUSY; i++) {
        jm__sleep_ns(CLOSE_WAIT_NS);
        status = end_journal_once(writer, &cause);
    }
    if (status == JM_OK) return JM_OK;
    jm__fail(err, status, cause.code, cause.call,
             "%s: %s: all of the run is there, but a part of it may lie in %s-wal", writer->path,
             jm_status_text(status), writer->path);
    return jm__hint(err, status, "keep the two files together: whoever reads the first needs the second");
}

/* ---- closing */

jm_status jm__writer_recording(jm__writer *writer, jm_recording **out, jm_error *err)
{
    if (writer->recording == NULL)
        JM_TRY(jm__recording_share(&writer->recording, writer->db, &writer->lock, err));
    *out = writer->recording;
    return JM_OK;
}

/* An error that lists what the file lacks. */
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
             "%s: %s: %s missing (%s); what was written before is whole", writer->path,
             jm_status_text(cause->status), since, lost.length == 0 ? "nothing but its end mark" : lost.text);
    jm__strbuf_free(&lost);
    return jm__hint(err, cause->status, "%s", cause->hint);
}

/* The file was removed or replaced: the recording is in a file without a name. */
static jm_status fail_gone(const jm__writer *writer, jm_error *err)
{
    jm_status status = jm__fail(err, JM_NOT_FOUND, 0, "stat",
                                "%s is gone: it was removed or replaced while it was recorded", writer->path);
    return jm__hint(err, status, "leave a recording where it is until its run has ended");
}

static void close_database(jm__writer *writer)
{
    jm_recording_close(writer->recording);
    if (jm__guard_check(writer->guard, NULL) == JM_OK) { /* else SQLite would close descriptors of others */
        jm__inserter_free(&writer->inserter);
        jm__database_close(writer->db);
    }
    jm__guard_free(writer->guard);
}

/* Frees all but the files. */
static void free_writer(jm__writer *writer)
{
    jm__batch_free(&writer->batch);
    jm__names_free(&writer->names);
    for (int table = 0; table < JM_TABLE_COUNT; table++)
        jm__row_list_free(&writer->numbered[table], (jm__table_id)table);
    if (writer->follower.free != NULL) writer->follower.free(writer->follower.context);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}

void jm__writer_keep(jm__writer *writer)
{
    jm__file_lock_keep(&writer->file_lock);
}

void jm__writer_discard(jm__writer *writer)
{
    if (writer == NULL) return;
    close_database(writer); /* before the files move: SQLite finds its journal by name */
    jm__file_lock_undo(&writer->file_lock);
    free_writer(writer);
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
        (void)jm__writer_commit(writer, 0, NULL); /* the record of the loss may fit where the rows did not */
    } else if (writer->path != NULL) {
        status = leave_one_file(writer, err);
    }
    if (cause.status == JM_OK && writer->path != NULL && !jm__file_lock_is_there(&writer->file_lock))
        status = fail_gone(writer, err);
    jm__writer_keep(writer);
    close_database(writer);
    jm__file_lock_free(&writer->file_lock);
    free_writer(writer);
    return status;
}
