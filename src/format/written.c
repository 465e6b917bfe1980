/* Who writes a recording just now: its recorder, if that still lives and has set no end mark. Of this very
 * process that says nothing: it may live on after a disk was full, and no end mark could be written. So it
 * keeps a list. */
#include "format/written.h"

#include "base/no_fork.h"
#include "base/vec.h"
#include "format/database.h"
#include "record/timeline/identity.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Only in a stretch without a fork: a child finds it free. It has the list, too: files of its forebears. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static JM_VEC(jm__written) all;

/* Its index in the list, the length of the list if it is not there. Under the lock. */
static size_t find(jm__written file)
{
    size_t at = 0;
    for (; at < all.count; at++) {
        const jm__written *each = &all.items[at];
        if (each->pid == file.pid && each->device == file.device && each->inode == file.inode) break;
    }
    return at;
}

bool jm__written_add(jm__written *written, int file)
{
    struct stat info;
    *written = (jm__written){0};
    if (fstat(file, &info) != 0) return true;
    jm__written own = {getpid(), info.st_dev, info.st_ino};
    jm__no_fork_lock(&lock);
    bool added = jm__vec_push(&all, own);
    jm__no_fork_unlock(&lock);
    if (added) *written = own;
    return added;
}

void jm__written_remove(jm__written *written)
{
    if (written->pid == 0) return;
    jm__no_fork_lock(&lock);
    size_t at = find(*written);
    if (at < all.count) all.items[at] = all.items[--all.count];
    if (all.count == 0) jm__vec_free(&all);
    jm__no_fork_unlock(&lock);
    *written = (jm__written){0};
}

bool jm__written_is_at(const jm__written *written, const char *path)
{
    struct stat info;
    if (written->pid == 0) return true; /* not known */
    return stat(path, &info) == 0 && info.st_dev == written->device && info.st_ino == written->inode;
}

/* This very process writes the file. */
static bool is_own(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0) return false;
    jm__no_fork_lock(&lock);
    bool own = find((jm__written){getpid(), info.st_dev, info.st_ino}) < all.count;
    jm__no_fork_unlock(&lock);
    return own;
}

bool jm__written_by_forebear(const char *path)
{
    struct stat info;
    bool found = false;
    if (stat(path, &info) != 0) return false;
    jm__no_fork_lock(&lock);
    for (size_t i = 0; !found && i < all.count; i++)
        found = all.items[i].pid != getpid() && all.items[i].device == info.st_dev &&
                all.items[i].inode == info.st_ino;
    jm__no_fork_unlock(&lock);
    return found;
}

bool jm__written_goes_on(const char *path, const char *recorder_pid, const char *recorder_start_ticks)
{
    if (is_own(path)) return true;
    if (recorder_pid == NULL || recorder_start_ticks == NULL) return false;
    int64_t pid = strtoll(recorder_pid, NULL, 10);
    return pid > 0 && pid <= INT32_MAX && pid != getpid() &&
           jm__process_start_ticks((pid_t)pid) == strtoll(recorder_start_ticks, NULL, 10);
}

/* A value of `meta`, "" if there is none. */
static void read_meta(sqlite3 *db, const char *key, char *value, size_t size)
{
    sqlite3_stmt *row = NULL;
    value[0] = '\0';
    if (sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key = ?", -1, &row, NULL) != SQLITE_OK) return;
    sqlite3_bind_text(row, 1, key, -1, SQLITE_STATIC);
    const char *text = sqlite3_step(row) == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;
    if (text != NULL) snprintf(value, size, "%s", text);
    sqlite3_finalize(row);
}

int64_t jm__written_by(const char *path, char *command, size_t size)
{
    char pid[24], ticks[24], closed[8];
    struct stat info;
    sqlite3 *db;
    uint32_t tables;
    command[0] = '\0';
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return 0;
    if (is_own(path)) return getpid();
    if (jm__database_open(&db, path, false, NULL) != JM_OK) return 0;
    jm__no_fork_begin();
    bool readable = jm__database_tables(db, &tables, path, NULL) == JM_OK &&
                    jm__database_check_table(tables, JM_TABLE_META, path, NULL) == JM_OK;
    if (readable) {
        read_meta(db, "closed", closed, sizeof closed);
        read_meta(db, "recorder_pid", pid, sizeof pid);
        read_meta(db, "recorder_start_ticks", ticks, sizeof ticks);
        read_meta(db, "command", command, size);
    }
    jm__database_close(db);
    jm__no_fork_end();
    if (!readable) return 0;
    return closed[0] == '\0' && jm__written_goes_on(path, pid, ticks) ? strtoll(pid, NULL, 10) : 0;
}
