/* Opening a recording, detecting damage, and the table `meta`. */
#include "format/recording.h"

#include "base/no_fork.h"
#include "base/plain.h"
#include "base/vec.h"
#include "format/copy.h"
#include "format/file_lock.h"
#include "format/recover.h"
#include "format/row.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define META_MAX 1000 /* keys that are read from a file */

typedef struct meta_entry {
    char *key;
    char *value;
} meta_entry;

struct jm_recording {
    char *path;             /* NULL: in memory */
    jm__copy *copy;         /* read instead (copy.h), else NULL */
    bool immutable;         /* read without locks */
    bool cut;               /* cut short */
    jm__file_format format; /* of the file; in memory, what this version writes */
    uint32_t tables;        /* jm__database_tables of the database being read */
    sqlite3 *recovered;     /* the rows recovered from a damaged file */
    sqlite3 *shared;        /* in memory: the writer's */
    pthread_mutex_t *lock;  /* in memory: the writer's */
    pid_t owner;            /* in memory: the process that it belongs to */
    jm__strbuf damage;
    JM_VEC(meta_entry) meta;
    JM_VEC(char *) retired; /* replaced values that callers may still use */
};

jm_status jm__recording_note_damage(jm_recording *recording, jm_error *err, const char *format, ...)
{
    jm__strbuf *damage = &recording->damage;
    char sentence[512];
    va_list args;
    va_start(args, format);
    jm__vprint(sentence, sizeof sentence, format, args);
    va_end(args);
    if (damage->text != NULL && strstr(damage->text, sentence) != NULL) return JM_OK;
    jm__strbuf_format(damage, "%s%s", damage->length > 0 ? "; " : "", sentence);
    if (!damage->failed) return JM_OK;
    damage->failed = false; /* the next note may find memory */
    return jm__no_memory(err, "jm__recording_note_damage");
}

/* ---- meta */

static meta_entry *find_meta(const jm_recording *recording, const char *key)
{
    for (size_t i = 0; i < recording->meta.count; i++)
        if (strcmp(recording->meta.items[i].key, key) == 0) return &recording->meta.items[i];
    return NULL;
}

static bool set_meta(jm_recording *recording, const char *key, const char *value)
{
    meta_entry *entry = find_meta(recording, key);
    if (entry != NULL && strcmp(entry->value, value) == 0) return true;
    char *copy = strdup(value);
    if (copy == NULL) return false;
    if (entry != NULL) { /* a caller may still use the old value */
        if (!jm__vec_push(&recording->retired, entry->value)) {
            free(copy);
            return false;
        }
        entry->value = copy;
        return true;
    }
    meta_entry fresh = {strdup(key), copy};
    if (fresh.key != NULL && jm__vec_push(&recording->meta, fresh)) return true;
    free(fresh.key);
    free(copy);
    return false;
}

static bool take_meta(void *context, const void *row)
{
    jm_recording *recording = context;
    const jm__meta *meta = row;
    return recording->meta.count >= META_MAX || set_meta(recording, meta->key, meta->value);
}

static jm_status prepare(const jm_recording *recording, sqlite3 *db, jm__strbuf *sql,
                         sqlite3_stmt **statement, jm_error *err)
{
    int rc = sql->failed ? SQLITE_NOMEM : sqlite3_prepare_v2(db, sql->text, -1, statement, NULL);
    jm__strbuf_free(sql);
    if (rc == SQLITE_ERROR) rc = SQLITE_CORRUPT; /* a column is missing */
    return rc == SQLITE_OK ? JM_OK : jm__database_fail(err, db, rc, "sqlite3_prepare_v2", recording->path);
}

/* BAD_DATA if the database of the current reading has no such table. */
static jm_status check_table(const jm_recording *recording, jm__table_id table, jm_error *err)
{
    return jm__database_check_table(recording->tables, table, recording->path, err);
}

jm_status jm__recording_select(const jm_recording *recording, sqlite3 *db, jm__table_id table,
                               const char *tail, sqlite3_stmt **statement, jm_error *err)
{
    jm__strbuf sql = {0};
    JM_TRY(check_table(recording, table, err));
    jm__table_sql_select(&sql, &jm__tables[table], (int)recording->format.version);
    jm__strbuf_format(&sql, " %s", tail);
    return prepare(recording, db, &sql, statement, err);
}

jm_status jm__recording_last_row(const jm_recording *recording, sqlite3 *db, jm__table_id table, int64_t *row,
                                 jm_error *err)
{
    jm__strbuf sql = {0};
    sqlite3_stmt *statement = NULL;
    JM_TRY(check_table(recording, table, err));
    jm__strbuf_format(&sql, "SELECT max(rowid) FROM %s", jm__tables[table].name);
    JM_TRY(prepare(recording, db, &sql, &statement, err));
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW)
        *row = sqlite3_column_int64(statement, 0); /* NULL, read as 0, if the table is empty */
    jm_status status =
        rc == SQLITE_ROW ? JM_OK : jm__database_fail(err, db, rc, "sqlite3_step", recording->path);
    sqlite3_finalize(statement);
    return status;
}

jm_status jm__recording_rows(const jm_recording *recording, sqlite3 *db, jm__table_id id,
                             jm__row_taker enter_reading, void *context, jm_error *err)
{
    const jm__table *table = &jm__tables[id];
    if (table->since > (int)recording->format.version) return JM_OK;
    jm__any_row row;
    sqlite3_stmt *statement = NULL;
    JM_TRY(jm__recording_select(recording, db, id, "ORDER BY rowid", &statement, err));
    int rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        jm__row_read(statement, table, &row);
        if (sqlite3_errcode(db) == SQLITE_NOMEM || !enter_reading(context, &row))
            break; /* with NOMEM a text may be missing */
    }
    jm_status status = JM_OK;
    if (rc == SQLITE_ROW)
        status = jm__no_memory(err, "jm__recording_rows");
    else if (rc != SQLITE_DONE)
        status = jm__database_fail(err, db, rc, "sqlite3_step", recording->path);
    sqlite3_finalize(statement);
    return status;
}

/* The file is opened anew for each reading and may be another one; tables in memory do not change. */
static jm_status load_meta(jm_recording *recording, sqlite3 *db, jm_error *err)
{
    if (recording->shared == NULL || recording->tables == 0)
        JM_TRY(jm__database_tables(db, &recording->tables, recording->path, err));
    return jm__recording_rows(recording, db, JM_TABLE_META, take_meta, recording, err);
}

const char *jm_recording_meta(const jm_recording *recording, const char *key)
{
    meta_entry *entry = find_meta(recording, key);
    return entry == NULL ? NULL : entry->value;
}

/* ---- opening */

static const char *path_in_use(const jm_recording *recording)
{
    return recording->copy != NULL ? jm__copy_path(recording->copy) : recording->path;
}

/* A forked child inherits SQLite's state of a file that its parent writes: it would rely on locks that it
 * does not hold, and wait for locks that nobody releases. So it reads a copy. */
static jm_status copy_from_parent(const jm_recording *recording, jm__copy **copy, jm_error *err)
{
    if (recording->copy != NULL || !jm__file_written_by_ancestor(recording->path)) return JM_OK;
    unsigned depth = jm__no_fork_leave();
    jm_status status = jm__copy_create(copy, recording->path, err);
    jm__no_fork_return(depth);
    return status;
}

/* Opens the file and checks that pages can be read. */
static jm_status open_at(jm_recording *recording, const char *path, sqlite3 **out, jm_error *err)
{
    sqlite3 *db = NULL;
    JM_TRY(jm__database_open(&db, path, recording->immutable, err));
    jm__file_format *format = &recording->format;
    jm_status status = jm__database_integer(db, "PRAGMA application_id", &format->application_id, path, err);
    if (status == JM_OK)
        status = jm__database_integer(db, "PRAGMA user_version", &format->version, path, err);
    if (status != JM_OK) {
        jm__database_close(db);
        return status;
    }
    *out = db;
    return JM_OK;
}

/* A copy of a parent's file is made for each reading, so that it has the newest rows. Its names are removed
 * as soon as it is open: nothing is left behind however this process ends. */
static jm_status try_open(jm_recording *recording, sqlite3 **out, jm_error *err)
{
    jm__copy *copy = NULL;
    JM_TRY(copy_from_parent(recording, &copy, err));
    jm_status status =
        open_at(recording, copy != NULL ? jm__copy_path(copy) : path_in_use(recording), out, err);
    jm__copy_free(copy);
    return status;
}

static bool journal_has_content(const char *path)
{
    char name[4096];
    struct stat info;
    if ((size_t)snprintf(name, sizeof name, "%s-wal", path) >= sizeof name) return false;
    return stat(name, &info) == 0 && info.st_size > 0;
}

/* The size by the header of an SQLite file: bytes 28..31 are its pages, 16..17 the size of a page. */
static int size_it_should_have(sqlite3 *db, int64_t *size)
{
    unsigned char header[32];
    sqlite3_file *file = NULL;
    int rc = sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (rc == SQLITE_OK && file->pMethods == NULL) rc = SQLITE_CANTOPEN;
    if (rc == SQLITE_OK) rc = file->pMethods->xRead(file, header, sizeof header, 0);
    int64_t page = header[16] << 8 | header[17];
    int64_t pages = (int64_t)header[28] << 24 | header[29] << 16 | header[30] << 8 | header[31];
    if (rc == SQLITE_OK) *size = (page == 1 ? 65536 : page) * pages;
    return rc;
}

/* SQLite reads a truncated last page as if it was whole, with zeros. A file with a journal need not be whole:
 * the journal may have its end. */
static jm_status check_end(const jm_recording *recording, sqlite3 *db, jm_error *err)
{
    struct stat info;
    int64_t size = 0;
    if (journal_has_content(recording->path) || stat(recording->path, &info) != 0) return JM_OK;
    int rc = size_it_should_have(db, &size);
    if (rc != SQLITE_OK && rc != SQLITE_IOERR_SHORT_READ)
        return jm__database_fail(err, db, rc, "xRead", recording->path);
    if (rc == SQLITE_OK && info.st_size >= size) return JM_OK;
    return jm__fail(err, JM_BAD_DATA, 0, "", "%s is cut short", recording->path);
}

/* For a file in a folder that is not writable: SQLite cannot read its journal there. */
static jm_status read_without_locks(jm_recording *recording, jm_error *err)
{
    if (recording->copy == NULL && journal_has_content(recording->path))
        return jm__copy_create(&recording->copy, recording->path, err);
    recording->immutable = true;
    return JM_OK;
}

static jm_status open_any_way(jm_recording *recording, sqlite3 **db, jm_error *err)
{
    jm_status status = try_open(recording, db, err);
    if (status == JM_NO_PERMISSION || status == JM_IO || status == JM_NOT_FOUND || status == JM_DISK_FULL) {
        JM_TRY(read_without_locks(recording, err));
        status = try_open(recording, db, err);
    }
    return status;
}

/* Better error texts than SQLite's. The file is not opened here: if this process records it, closing a second
 * descriptor would drop the locks that SQLite holds. */
static jm_status check_file(const char *path, jm_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0 || access(path, R_OK) != 0)
        return jm__fail(err, jm_status_of_errno(errno), errno, "open", "%s cannot be opened: %s", path,
                        strerror(errno));
    if (!S_ISREG(info.st_mode)) return jm__fail(err, JM_BAD_DATA, 0, "", "%s is not a file", path);
    if (info.st_size == 0) return jm__fail(err, JM_BAD_DATA, 0, "", "%s is empty: not a recording", path);
    return JM_OK;
}

/* ---- damage */

/* From the start to the time stored under `key`; 0: unknown. */
static double seconds_until(const jm_recording *recording, const char *key)
{
    const char *start = jm_recording_meta(recording, "start_ns");
    const char *end = jm_recording_meta(recording, key);
    if (start == NULL || end == NULL) return 0;
    return ((double)strtoll(end, NULL, 10) - (double)strtoll(start, NULL, 10)) / 1e9;
}

static bool is_written(const jm_recording *recording)
{
    if (jm_recording_meta(recording, "closed") != NULL) return false;
    return jm__recorder_is_alive(recording->path, jm_recording_meta(recording, "recorder_pid"),
                                 jm_recording_meta(recording, "recorder_start_ticks"));
}

/* No end mark: the recorder still writes, or it was killed. */
static jm_status note_missing_close(jm_recording *recording, jm_error *err)
{
    if (jm_recording_meta(recording, "closed") != NULL || is_written(recording)) return JM_OK;
    double whole_s = seconds_until(recording, "complete_ns");
    double readings_s = seconds_until(recording, "readings_ns");
    char but[80] = "";
    if (readings_s > whole_s)
        jm__print(but, sizeof but, " but for what a full disk had room for: readings until %.1f s",
                  readings_s);
    return jm__recording_note_damage(
        recording, err,
        "the recorder ended before it could close the file: the first %.1f s are whole, "
        "what came later is missing%s",
        whole_s, but);
}

const char *jm_recording_damage(const jm_recording *recording)
{
    return recording->damage.length == 0 ? NULL : recording->damage.text;
}

const char *jm__recording_path(const jm_recording *recording)
{
    return recording->path;
}

bool jm__recording_is_cut(const jm_recording *recording)
{
    return recording->cut;
}

static jm_status note_recovery(jm_recording *recording, const jm__recovery *recovery, jm_error *err)
{
    bool cut = recovery->size < recovery->expected_size;
    if (cut)
        JM_TRY(jm__recording_note_damage(recording, err,
                                         "the file is cut short: %" PRId64 " of %" PRId64
                                         " bytes are there, and what they hold is read",
                                         recovery->size, recovery->expected_size));
    if (cut && recovery->broken == 0) return JM_OK;
    return jm__recording_note_damage(recording, err,
                                     "parts of the file are damaged: what can be read is read");
}

static jm_status recover(jm_recording *recording, jm_error *err)
{
    jm__recovery recovery;
    sqlite3 *recovered;
    jm__copy *copy = NULL;
    JM_TRY(copy_from_parent(recording, &copy, err));
    const char *path = copy != NULL ? jm__copy_path(copy) : path_in_use(recording);
    jm_status status = jm__recover(&recovered, path, &recovery, err);
    jm__copy_free(copy);
    if (status != JM_OK) return status;
    status = note_recovery(recording, &recovery, err);
    if (status != JM_OK) {
        jm__database_close(recovered);
        return status;
    }
    recording->recovered = recovered;
    recording->format = recovery.format;
    recording->cut = recovery.size < recovery.expected_size;
    return JM_OK;
}

jm_status jm__recording_recover(jm_recording *recording, jm_status failure, jm_error *err)
{
    bool curable = failure == JM_BAD_DATA && recording->recovered == NULL && recording->shared == NULL;
    return curable ? recover(recording, err) : failure;
}

/* ---- public functions */

static jm_status open_whole(jm_recording *recording, jm_error *err)
{
    sqlite3 *db = NULL;
    JM_TRY(open_any_way(recording, &db, err));
    jm__no_fork_begin();
    jm_status status = jm__format_check(&recording->format, recording->path, err);
    if (status == JM_OK) status = check_end(recording, db, err);
    if (status == JM_OK) status = load_meta(recording, db, err);
    jm__database_close(db);
    jm__no_fork_end();
    return status;
}

static jm_status open_damaged(jm_recording *recording, jm_error *err)
{
    JM_TRY(recover(recording, err));
    jm__no_fork_begin();
    jm_status status = load_meta(recording, recording->recovered, err);
    jm__no_fork_end();
    return status;
}

jm_status jm_recording_open(jm_recording **out, const char *path, jm_error *err)
{
    JM_TRY(check_file(path, err));
    jm_recording *recording = calloc(1, sizeof *recording);
    if (recording == NULL || (recording->path = strdup(path)) == NULL) {
        free(recording);
        return jm__no_memory(err, "jm_recording_open");
    }
    recording->format.application_id = JM_RECORDING_APPLICATION_ID; /* until the header is read */
    jm_status status = open_whole(recording, err);
    bool foreign = recording->format.application_id != JM_RECORDING_APPLICATION_ID;
    if (status == JM_BAD_DATA && !foreign) status = open_damaged(recording, err);
    if (status == JM_OK && !recording->cut) status = note_missing_close(recording, err);
    const char *copied = jm_recording_meta(recording, "damage"); /* it lacks what its original lacked */
    if (status == JM_OK && copied != NULL) status = jm__recording_note_damage(recording, err, "%s", copied);
    if (status != JM_OK) {
        jm_recording_close(recording);
        return status;
    }
    *out = recording;
    return JM_OK;
}

jm_status jm__recording_share(jm_recording **out, sqlite3 *db, pthread_mutex_t *lock, jm_error *err)
{
    jm_recording *recording = calloc(1, sizeof *recording);
    if (recording == NULL) return jm__no_memory(err, "jm__recording_share");
    recording->format = (jm__file_format){JM_RECORDING_APPLICATION_ID, JM_RECORDING_VERSION};
    recording->shared = db;
    recording->lock = lock;
    recording->owner = getpid();
    *out = recording;
    return JM_OK;
}

static jm_status begin(jm_recording *recording, sqlite3 **db, jm_error *err)
{
    if (recording->shared != NULL || recording->recovered != NULL) {
        *db = recording->shared != NULL ? recording->shared : recording->recovered;
        return JM_OK;
    }
    JM_TRY(try_open(recording, db, err));
    jm_status status = jm__database_run(*db, "BEGIN", recording->path, err);
    if (status != JM_OK) jm__database_close(*db);
    return status;
}

/* The writer's lock comes first: it must not be awaited inside a no-fork section. */
static void enter_reading(const jm_recording *recording)
{
    if (recording->shared != NULL) pthread_mutex_lock(recording->lock);
    jm__no_fork_begin();
}

static void leave_reading(const jm_recording *recording)
{
    jm__no_fork_end();
    if (recording->shared != NULL) pthread_mutex_unlock(recording->lock);
}

jm_status jm__recording_begin(jm_recording *recording, sqlite3 **db, jm_error *err)
{
    if (recording->shared != NULL && recording->owner != getpid())
        return jm__fail(
            err, JM_NOT_SUPPORTED, 0, "jm__recording_begin",
            "a recording in memory belongs to the process that made it: a forked child cannot read it");
    enter_reading(recording);
    jm_status status = begin(recording, db, err);
    if (status != JM_OK) {
        leave_reading(recording);
        return status;
    }
    status =
        jm__format_check(&recording->format, recording->path, err); /* the file may be another one by now */
    if (status == JM_OK) status = load_meta(recording, *db, err);
    if (status != JM_OK) jm__recording_end(recording, *db);
    return status;
}

void jm__recording_end(jm_recording *recording, sqlite3 *db)
{
    if (recording->shared == NULL && recording->recovered == NULL)
        jm__database_close(db); /* ends the transaction as well */
    leave_reading(recording);
}

jm_status jm__recording_complete_ns(jm_recording *recording, int64_t *complete_ns, jm_error *err)
{
    sqlite3 *db;
    JM_TRY(jm__recording_begin(recording, &db, err));
    jm__recording_end(recording, db);
    const char *complete = jm_recording_meta(recording, "complete_ns");
    *complete_ns = complete == NULL ? -1 : strtoll(complete, NULL, 10);
    return JM_OK;
}

/* The row of `boards` of the GPU with an index. `column`: holds the index. `what`: the term for the error
 * text. */
static jm_status find_board(jm_recording *recording, const char *column, const char *what, int index,
                            int64_t *id, jm_error *err)
{
    char sql[160];
    sqlite3 *db;
    sqlite3_stmt *rows = NULL;
    jm__strbuf others = {0};
    bool found = false;
    snprintf(sql, sizeof sql, "SELECT id, %s, backend FROM boards WHERE %s NOT NULL ORDER BY %s", column,
             column, column);
    JM_TRY(jm__recording_begin(recording, &db, err));
    jm_status status = check_table(recording, JM_TABLE_BOARDS, err);
    if (status == JM_OK) status = jm__database_prepare(db, &rows, sql, NULL, err);
    while (status == JM_OK && !found && sqlite3_step(rows) == SQLITE_ROW) {
        jm_board board = {0};
        snprintf(board.backend, sizeof board.backend, "%s", (const char *)sqlite3_column_text(rows, 2));
        if (jm_board_kind_of(&board) != JM_BOARD_GPU) continue;
        found = sqlite3_column_int(rows, 1) == index;
        *id = sqlite3_column_int64(rows, 0);
        jm__strbuf_format(&others, "%s%d", others.length > 0 ? ", " : "", sqlite3_column_int(rows, 1));
    }
    sqlite3_finalize(rows);
    jm__recording_end(recording, db);
    if (status == JM_OK && !found)
        status = jm__fail(err, JM_NOT_FOUND, 0, NULL, "no %s %d; this recording has: %s", what, index,
                          others.length > 0 ? others.text : "none");
    jm__strbuf_free(&others);
    return status;
}

jm_status jm_recording_board_id(jm_recording *recording, int index, int64_t *id, jm_error *err)
{
    return find_board(recording, "board_index", "GPU", index, id, err);
}

jm_status jm_recording_cuda_board_id(jm_recording *recording, int cuda_index, int64_t *id, jm_error *err)
{
    return find_board(recording, "cuda_index", "CUDA device", cuda_index, id, err);
}

void jm_recording_close(jm_recording *recording)
{
    if (recording == NULL) return;
    for (size_t i = 0; i < recording->meta.count; i++) {
        free(recording->meta.items[i].key);
        free(recording->meta.items[i].value);
    }
    for (size_t i = 0; i < recording->retired.count; i++)
        free(recording->retired.items[i]);
    jm__vec_free(&recording->meta);
    jm__vec_free(&recording->retired);
    jm__strbuf_free(&recording->damage);
    jm__database_close(recording->recovered);
    jm__copy_free(recording->copy);
    free(recording->path);
    free(recording);
}
