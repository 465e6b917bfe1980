/* SQLite as joulemap uses it: opening, the schema, error texts. */
#include "format/database.h"

#include "base/clock.h"
#include "base/kept_file.h"
#include "base/no_fork.h"
#include "base/strbuf.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define TEXT_MAX     (1 << 20) /* the longest text or row that is read from a file */
#define BUSY_STEP_MS 5
#define BUSY_MOST_MS 2000 /* for how long a connection waits for others */
#define PASS_STEPS   1000 /* SQLite instructions between two checks for a waiting fork: 0.1 ms at most */

static const char views_sql[] = {
#include "views_sql.inc"
};

/* SQLite reports some writes that failed for lack of space as "I/O error", without an errno. It writes pages
 * of 4096 bytes, a few at a time. */
#define ROOM_BYTES UINT64_C(65536)

static bool disk_is_full(const char *path)
{
    struct statvfs fs;
    if (path == NULL || statvfs(path, &fs) != 0) return false;
    return (uint64_t)fs.f_bavail * fs.f_frsize < ROOM_BYTES;
}

/* Has the database or its journal reached the file size limit of this process (`ulimit -f`)? */
static bool limit_is_reached(const char *path)
{
    static const char *const journals[] = {"", "-wal", "-journal"};
    struct rlimit limit;
    if (path == NULL || getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
    for (size_t i = 0; i < sizeof journals / sizeof *journals; i++) {
        char name[4096];
        struct stat info;
        if ((size_t)snprintf(name, sizeof name, "%s%s", path, journals[i]) >= sizeof name) continue;
        if (stat(name, &info) != 0) continue;
        uint64_t size = (uint64_t)info.st_size;
        if (size <= limit.rlim_cur && size + ROOM_BYTES > limit.rlim_cur) return true;
    }
    return false;
}

static jm_status status_of_sqlite(sqlite3 *db, int rc, const char *path)
{
    jm_status system = jm_status_of_errno(db == NULL ? 0 : sqlite3_system_errno(db));
    if (rc == SQLITE_IOERR_NOMEM) return JM_NO_MEMORY;
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return JM_DISK_FULL;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return disk_is_full(path) || limit_is_reached(path) ? JM_DISK_FULL : system;
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return JM_NO_PERMISSION;
    case SQLITE_NOMEM:
        return JM_NO_MEMORY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_TOOBIG:
        return JM_BAD_DATA;
    case SQLITE_ERROR: /* our SQL is valid: a read-only file does not have the schema that its header claims
                        */
        return db != NULL && sqlite3_db_readonly(db, "main") == 1 ? JM_BAD_DATA : JM_INTERNAL;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return JM_BUSY;
    default:
        return JM_INTERNAL;
    }
}

jm_status jm__database_fail(jm_error *err, sqlite3 *db, int rc, const char *call, const char *path)
{
    jm__no_fork_begin();
    jm_status status = status_of_sqlite(db, rc, path);
    bool limited = status == JM_DISK_FULL && !disk_is_full(path) && limit_is_reached(path);
    jm__fail(err, status, rc, call, "%s: %s (%s)", path == NULL ? "recording in memory" : path,
             jm_status_text(status), db == NULL ? sqlite3_errstr(rc) : sqlite3_errmsg(db));
    jm__no_fork_end();
    return limited ? jm__hint(err, status, "raise the limit on the size of a file (`ulimit -f`)") : status;
}

jm_status jm__database_run(sqlite3 *db, const char *sql, const char *path, jm_error *err)
{
    jm__no_fork_begin();
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    jm_status status = rc == SQLITE_OK ? JM_OK : jm__database_fail(err, db, rc, "sqlite3_exec", path);
    jm__no_fork_end();
    return status;
}

jm_status jm__database_prepare(sqlite3 *db, sqlite3_stmt **out, const char *sql, const char *path,
                               jm_error *err)
{
    jm__no_fork_begin();
    int rc = sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL);
    jm_status status = rc == SQLITE_OK ? JM_OK : jm__database_fail(err, db, rc, "sqlite3_prepare_v3", path);
    jm__no_fork_end();
    return status;
}

jm_status jm__database_integer(sqlite3 *db, const char *sql, int64_t *out, const char *path, jm_error *err)
{
    sqlite3_stmt *statement = NULL;
    JM_TRY(jm__database_prepare(db, &statement, sql, path, err));
    jm__no_fork_begin();
    int rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW) *out = sqlite3_column_int64(statement, 0);
    jm_status status = rc == SQLITE_ROW ? JM_OK : jm__database_fail(err, db, rc, "sqlite3_step", path);
    sqlite3_finalize(statement);
    jm__no_fork_end();
    return status;
}

_Static_assert(JM_TABLE_COUNT <= 32, "a set of tables is a uint32_t");

/* The bit of one of our tables in a set of them; 0 for any other table. */
static uint32_t bit_of(const char *name)
{
    for (int table = 0; name != NULL && table < JM_TABLE_COUNT; table++)
        if (strcmp(jm__tables[table].name, name) == 0) return UINT32_C(1) << table;
    return 0;
}

jm_status jm__database_tables(sqlite3 *db, uint32_t *tables, const char *path, jm_error *err)
{
    static const char sql[] = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0";
    sqlite3_stmt *statement = NULL;
    uint32_t once = 0, again = 0;
    jm__no_fork_begin();
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        uint32_t bit = bit_of((const char *)sqlite3_column_text(statement, 0));
        again |= once & bit;
        once |= bit;
        rc = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    *tables = once & ~again;
    jm_status status = rc == SQLITE_DONE ? JM_OK : jm__database_fail(err, db, rc, "sqlite3_step", path);
    jm__no_fork_end();
    return status;
}

jm_status jm__database_check_table(uint32_t tables, jm__table_id table, const char *path, jm_error *err)
{
    if ((tables & UINT32_C(1) << table) != 0) return JM_OK;
    return jm__fail(err, JM_BAD_DATA, 0, "", "%s has no table %s", path == NULL ? "the recording" : path,
                    jm__tables[table].name);
}

jm_status jm__format_check(const jm__file_format *format, const char *path, jm_error *err)
{
    if (format->application_id != JM_RECORDING_APPLICATION_ID)
        return jm__fail(err, JM_BAD_DATA, format->application_id, "",
                        "%s is a database, but not a recording of joulemap", path);
    if (format->version > JM_RECORDING_VERSION)
        return jm__fail(err, JM_UNKNOWN_VERSION, format->version, "",
                        "%s has format %" PRId64 "; this joulemap (%s) reads up to %d", path, format->version,
                        jm_version(), JM_RECORDING_VERSION);
    if (format->version < 1)
        return jm__fail(err, JM_BAD_DATA, format->version, "", "%s is a recording that was never begun",
                        path);
    return JM_OK;
}

/* The highest descriptor number in use: below the usual limit of 1024 if necessary, and low enough that the
 * kernel's table stays within 32 KB. */
#define GUARDED_HIGHEST 4096u
#define GUARDED_ROOM    64u

/* What SQLite locks while a connection is open, by its file format and os_unix.c: the shared range of the
 * database (https://www.sqlite.org/fileformat2.html#the_lock_byte_page) and the dead man's switch of the
 * -shm. */
static const struct flock shared_range = {
    .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0x40000002, .l_len = 510};
static const struct flock dead_mans_switch = {
    .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 128, .l_len = 1};

typedef struct guarded_file {
    jm__kept_file file;
    const char *suffix; /* of its path */
    int flags;
} guarded_file;

struct jm__guard {
    char *path; /* as SQLite uses it: without symbolic links */
    JM_VEC(guarded_file) files;
};

typedef int open_call(const char *path, int flags, int mode);

/* Taken only in a no-fork section, so that a child finds it free, and SQLite's `open` restored. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static JM_VEC(jm__guard *) guards;
static open_call *real_open;
static _Thread_local bool opening;

/* ---- guarded descriptors: opening */

static const char *const suffixes[] = {"", "-wal", "-shm"};

/* The guard of a recording's file; NULL: the file is not guarded. */
static jm__guard *find_guard(const char *path, const char **suffix)
{
    for (size_t i = 0; i < guards.count; i++) {
        size_t length = strlen(guards.items[i]->path);
        if (strncmp(path, guards.items[i]->path, length) != 0) continue;
        for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
            if (strcmp(path + length, suffixes[k]) != 0) continue;
            *suffix = suffixes[k];
            return guards.items[i];
        }
    }
    return NULL;
}

static unsigned lowest_guarded(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    return (unsigned)(limit.rlim_cur < GUARDED_HIGHEST ? limit.rlim_cur : GUARDED_HIGHEST) - GUARDED_ROOM;
}

static void note_file(jm__guard *guard, int fd, const char *suffix, int flags)
{
    guarded_file file = {.suffix = suffix, .flags = flags & O_ACCMODE};
    if (!jm__kept_file_set(&file.file, fd)) return;
    for (size_t i = 0; i < guard->files.count; i++)
        if (guard->files.items[i].file.fd_plus_one == fd + 1) { /* SQLite has closed that one */
            guard->files.items[i] = file;
            return;
        }
    (void)jm__vec_push(&guard->files, file);
}

/* Replaces SQLite's `open` for all threads; `opening` is true in the thread that holds the lock. */
static int open_high(const char *path, int flags, int mode)
{
    const char *suffix;
    int fd = real_open(path, flags, mode);
    jm__guard *guard = fd < 0 || !opening ? NULL : find_guard(path, &suffix);
    if (guard == NULL) return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, (int)lowest_guarded());
    if (high >= 0) { /* nothing is locked yet, so closing unlocks nothing */
        close(fd);
        fd = high;
    }
    note_file(guard, fd, suffix, flags);
    return fd;
}

/* Swaps the `open` call of SQLite's file system, which is meant to be replaceable:
 * https://www.sqlite.org/c3ref/vfs.html. Only while a recording is being opened, so other users of SQLite in
 * this process are not affected. */
static void replace_open(bool replaced)
{
    union {
        sqlite3_syscall_ptr any;
        open_call *open;
    } now, next;
    sqlite3_vfs *files = sqlite3_vfs_find("unix");
    if (files == NULL || files->iVersion < 3) return;
    now.any = files->xGetSystemCall(files, "open");
    if (replaced && now.open != open_high) real_open = now.open;
    if (real_open == NULL || (!replaced && now.open != open_high)) return;
    next.open = replaced ? open_high : real_open;
    files->xSetSystemCall(files, "open", next.any);
}

/* Brackets SQLite's opening of any file: descriptors of guarded recordings get high numbers and are noted. */
static void guard_opening(void)
{
    jm__no_fork_lock(&lock);
    opening = true;
    if (guards.count > 0) replace_open(true);
}

static void guard_opened(void)
{
    if (guards.count > 0) replace_open(false);
    opening = false;
    jm__no_fork_unlock(&lock);
}

/* ---- guarded descriptors: checking */

/* Reopens a file under its old number, which SQLite uses. False: the number is taken, or the file is gone. */
static bool open_again(const jm__guard *guard, guarded_file *lost)
{
    char path[PATH_MAX + 8];
    int number = lost->file.fd_plus_one - 1;
    snprintf(path, sizeof path, "%s%s", guard->path, lost->suffix);
    jm__kept_file again = lost->file;
    int fd = jm__kept_file_fd(&again, path, lost->flags);
    if (fd < 0) return false;
    if (fd != number) {
        int high = fcntl(fd, F_DUPFD_CLOEXEC, number); /* never replaces another descriptor */
        close(fd);
        if (high != number) {
            if (high >= 0) close(high);
            return false;
        }
    }
    if (strcmp(lost->suffix, "-wal") != 0) /* closing dropped the lock */
        fcntl(number, F_SETLK, lost->suffix[0] == '\0' ? &shared_range : &dead_mans_switch);
    return true;
}

jm_status jm__guard_check(jm__guard *guard, jm_error *err)
{
    if (guard == NULL) return JM_OK;
    bool all = true;
    jm__no_fork_lock(&lock);
    for (size_t i = 0; i < guard->files.count; i++) {
        guarded_file *file = &guard->files.items[i];
        if (!jm__kept_file_is_ours(&file->file) && !open_again(guard, file)) all = false;
    }
    jm__no_fork_unlock(&lock);
    if (all) return JM_OK;
    jm_status status = jm__fail(
        err, JM_IO, EBADF, "fstat", "%s: this program has closed the recorder's files, and %s", guard->path,
        access(guard->path, F_OK) == 0 ? "has others under their numbers by now" : "they are gone");
    return jm__hint(err, status,
                    "close only what the program itself has opened, or record it from outside with "
                    "`joulemap record`");
}

/* The same for a path that this process may be writing. */
static jm_status guard_check_path(const char *path, jm_error *err)
{
    char resolved[PATH_MAX];
    jm__guard *found = NULL;
    if (realpath(path, resolved) == NULL) return JM_OK;
    jm__no_fork_lock(&lock);
    for (size_t i = 0; i < guards.count; i++)
        if (strcmp(guards.items[i]->path, resolved) == 0) found = guards.items[i];
    jm__no_fork_unlock(&lock);
    return jm__guard_check(found, err);
}

void jm__guard_forget_journal(jm__guard *guard)
{
    size_t kept = 0;
    jm__no_fork_lock(&lock);
    for (size_t i = 0; i < guard->files.count; i++)
        if (guard->files.items[i].suffix[0] == '\0') guard->files.items[kept++] = guard->files.items[i];
    guard->files.count = kept;
    jm__no_fork_unlock(&lock);
}

/* ---- guarded descriptors: create and free */

jm__guard *jm__guard_create(const char *path)
{
    jm__guard *guard = calloc(1, sizeof *guard);
    if (guard != NULL) guard->path = realpath(path, NULL);
    jm__no_fork_lock(&lock);
    bool kept = guard != NULL && guard->path != NULL && jm__vec_push(&guards, guard);
    jm__no_fork_unlock(&lock);
    if (kept) return guard;
    if (guard != NULL) free(guard->path);
    free(guard);
    return NULL;
}

void jm__guard_free(jm__guard *guard)
{
    if (guard == NULL) return;
    jm__no_fork_lock(&lock);
    for (size_t i = 0; i < guards.count; i++)
        if (guards.items[i] == guard) guards.items[i--] = guards.items[--guards.count];
    if (guards.count == 0) jm__vec_free(&guards);
    jm__no_fork_unlock(&lock);
    jm__vec_free(&guard->files);
    free(guard->path);
    free(guard);
}

/* ---- opening */

static int let_fork_pass(void *unused)
{
    (void)unused;
    jm__no_fork_pass();
    return 0; /* continue the statement */
}

static int wait_for_others(void *unused, int before)
{
    (void)unused;
    if (before * BUSY_STEP_MS >= BUSY_MOST_MS) return 0;
    unsigned depth = jm__no_fork_leave();
    jm__sleep_ns(BUSY_STEP_MS * JM_NS_PER_MS);
    jm__no_fork_return(depth);
    return 1;
}

/* Set only after the files were opened, since that happens under a lock (jm__guard). */
static void let_forks_pass(sqlite3 *db)
{
    sqlite3_busy_handler(db, wait_for_others, NULL);
    sqlite3_progress_handler(db, PASS_STEPS, let_fork_pass, NULL);
}

/* File methods that leave the no-fork section while SQLite writes to the disk. During these calls SQLite
 * holds no lock but that of the connection. */
typedef struct written_file {
    sqlite3_io_methods methods; /* first: SQLite casts to it */
    const sqlite3_io_methods *real;
} written_file;

static const sqlite3_io_methods *real_of(const sqlite3_file *file)
{
    return ((const written_file *)file->pMethods)->real;
}

static int write_file(sqlite3_file *file, const void *from, int size, sqlite3_int64 offset)
{
    unsigned depth = jm__no_fork_leave();
    int rc = real_of(file)->xWrite(file, from, size, offset);
    jm__no_fork_return(depth);
    return rc;
}

static int sync_file(sqlite3_file *file, int flags)
{
    unsigned depth = jm__no_fork_leave();
    int rc = real_of(file)->xSync(file, flags);
    jm__no_fork_return(depth);
    return rc;
}

/* `control` selects the file of the connection. Called by one thread at a time (jm__guard). SQLite has few
 * kinds of files; their entries here are never freed. */
static void leave_for_disk(sqlite3 *db, int control)
{
    static written_file kinds[4];
    static size_t count;
    sqlite3_file *file = NULL;
    size_t i = 0;
    if (sqlite3_file_control(db, "main", control, &file) != SQLITE_OK || file == NULL) return;
    if (file->pMethods == NULL) return;
    while (i < count && kinds[i].real != file->pMethods)
        i++;
    if (i == sizeof kinds / sizeof *kinds) return;
    if (i == count) {
        kinds[count++] = (written_file){*file->pMethods, file->pMethods};
        kinds[i].methods.xWrite = write_file;
        kinds[i].methods.xSync = sync_file;
        if (kinds[i].methods.iVersion > 3)
            kinds[i].methods.iVersion = 3; /* the version of the struct that was copied */
    }
    file->pMethods = &kinds[i].methods;
}

/* WAL: a recording can be read while it is written, and a killed recorder leaves complete commits. NORMAL:
 * consistent after a power failure, too, with one fsync per checkpoint in a thread that nobody waits for.
 * secure_delete: deleted rows (condense.h) are overwritten, or recover.h would find them. */
static const char writing_pragmas[] = "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL;"
                                      "PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 16384;"
                                      "PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY;"
                                      "PRAGMA secure_delete = ON;";

static jm_status create_schema(sqlite3 *db, int version, const char *path, jm_error *err)
{
    jm__strbuf sql = {0};
    jm__strbuf_format(&sql, "BEGIN; PRAGMA application_id = %d; PRAGMA user_version = %d;\n",
                      JM_RECORDING_APPLICATION_ID, version);
    for (int table = 0; table < JM_TABLE_COUNT; table++)
        jm__table_sql_create(&sql, &jm__tables[table], version);
    if (version == JM_RECORDING_VERSION) jm__strbuf_add(&sql, views_sql);
    jm__strbuf_add(&sql, "COMMIT;");
    jm_status status =
        sql.failed ? jm__no_memory(err, "jm__database_create") : jm__database_run(db, sql.text, path, err);
    jm__strbuf_free(&sql);
    return status;
}

static jm_status create(sqlite3 **db, const char *path, int version, jm_error *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int rc = sqlite3_open_v2(path == NULL ? ":memory:" : path, db, flags, NULL);
    if (rc != SQLITE_OK) return jm__database_fail(err, *db, rc, "sqlite3_open_v2", path);
    sqlite3_busy_timeout(*db, BUSY_MOST_MS);
    JM_TRY(jm__database_run(*db, writing_pragmas, path, err));
    JM_TRY(create_schema(*db, version, path, err));
    if (path != NULL) leave_for_disk(*db, SQLITE_FCNTL_FILE_POINTER);
    if (path != NULL) leave_for_disk(*db, SQLITE_FCNTL_JOURNAL_POINTER); /* the -wal file */
    return JM_OK;
}

jm_status jm__database_create(sqlite3 **out, const char *path, int version, jm_error *err)
{
    sqlite3 *db = NULL;
    jm__no_fork_begin();
    if (path != NULL) guard_opening(); /* creating the schema opens journal and index */
    jm_status status = create(&db, path, version, err);
    if (path != NULL) guard_opened();
    if (status == JM_OK)
        let_forks_pass(db);
    else
        sqlite3_close(db);
    jm__no_fork_end();
    if (status == JM_OK) *out = db;
    return status;
}

/* "file:PATH?mode=ro..." with special characters escaped. */
static char *uri_of(const char *path, bool immutable)
{
    jm__strbuf uri = {0};
    jm__strbuf_add(&uri, "file:");
    for (const char *c = path; *c != '\0'; c++) {
        if (*c == '%' || *c == '?' || *c == '#')
            jm__strbuf_format(&uri, "%%%02X", (unsigned)(unsigned char)*c);
        else
            jm__strbuf_add_bytes(&uri, c, 1);
    }
    jm__strbuf_add(&uri, immutable ? "?mode=ro&immutable=1" : "?mode=ro");
    return jm__strbuf_take(&uri);
}

static jm_status open_uri(sqlite3 **out, const char *uri, const char *path, jm_error *err)
{
    sqlite3 *db = NULL;
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    guard_opening();
    int rc = sqlite3_open_v2(uri, &db, flags, NULL);
    guard_opened();
    if (rc != SQLITE_OK) {
        jm_status status = jm__database_fail(err, db, rc, "sqlite3_open_v2", path);
        sqlite3_close(db);
        return status;
    }
    let_forks_pass(db);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, TEXT_MAX);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    *out = db;
    return JM_OK;
}

jm_status jm__database_open(sqlite3 **out, const char *path, bool immutable, jm_error *err)
{
    JM_TRY(guard_check_path(path, err));
    char *uri = uri_of(path, immutable);
    if (uri == NULL) return jm__no_memory(err, "jm__database_open");
    jm__no_fork_begin();
    jm_status status = open_uri(out, uri, path, err);
    jm__no_fork_end();
    free(uri);
    return status;
}

void jm__database_close(sqlite3 *db)
{
    jm__no_fork_begin();
    sqlite3_close(db);
    jm__no_fork_end();
}
