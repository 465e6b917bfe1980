/* Creates the file of a new recording, and finds its writer: the recorder, if it is alive and has set no end
 * mark. */
#include "format/file_lock.h"

#include "base/no_fork.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "format/database.h"
#include "record/timeline/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- writers. For this process the end mark is not enough: after a full disk it may live on without having
 * been able to write one. So it keeps a list of its files. */

/* Taken only in a no-fork section, so that a child finds it free. The child inherits the list: the files of
 * its ancestors. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static JM_VEC(jm__file_writer) files_of_this_process;

/* Adds the open file to the list; false if memory is out. */
static bool add_writer(jm__file_writer *writer, int file)
{
    struct stat info;
    *writer = (jm__file_writer){0};
    if (fstat(file, &info) != 0) return true;
    jm__file_writer own = {getpid(), info.st_dev, info.st_ino};
    jm__no_fork_lock(&lock);
    bool added = jm__vec_push(&files_of_this_process, own);
    jm__no_fork_unlock(&lock);
    if (added) *writer = own;
    return added;
}

static void remove_writer(jm__file_writer *writer)
{
    if (writer->pid == 0) return;
    jm__no_fork_lock(&lock);
    for (size_t i = 0; i < files_of_this_process.count; i++) {
        const jm__file_writer *each = &files_of_this_process.items[i];
        if (each->pid == writer->pid && each->device == writer->device && each->inode == writer->inode)
            files_of_this_process.items[i--] = files_of_this_process.items[--files_of_this_process.count];
    }
    if (files_of_this_process.count == 0) jm__vec_free(&files_of_this_process);
    jm__no_fork_unlock(&lock);
    *writer = (jm__file_writer){0};
}

/* Is the file in the list, written by this process or by an ancestor? */
static bool is_listed(const char *path, bool by_ancestor)
{
    struct stat info;
    bool found = false;
    if (stat(path, &info) != 0) return false;
    jm__no_fork_lock(&lock);
    for (size_t i = 0; !found && i < files_of_this_process.count; i++) {
        const jm__file_writer *each = &files_of_this_process.items[i];
        found = (each->pid != getpid()) == by_ancestor && each->device == info.st_dev &&
                each->inode == info.st_ino;
    }
    jm__no_fork_unlock(&lock);
    return found;
}

bool jm__file_written_by_ancestor(const char *path)
{
    return is_listed(path, true);
}

bool jm__recorder_is_alive(const char *path, const char *recorder_pid, const char *recorder_start_ticks)
{
    if (is_listed(path, false)) return true;
    if (recorder_pid == NULL || recorder_start_ticks == NULL) return false;
    int64_t pid = strtoll(recorder_pid, NULL, 10);
    return pid > 0 && pid <= INT32_MAX && pid != getpid() &&
           jm__process_start_ticks((pid_t)pid) == strtoll(recorder_start_ticks, NULL, 10);
}

/* A value of `meta`, "" if it is missing. */
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

int64_t jm__recorder_of(const char *path, char *command, size_t size)
{
    char pid[24], ticks[24], closed[8];
    struct stat info;
    sqlite3 *db;
    uint32_t tables;
    command[0] = '\0';
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return 0;
    if (is_listed(path, false)) return getpid();
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
    return closed[0] == '\0' && jm__recorder_is_alive(path, pid, ticks) ? strtoll(pid, NULL, 10) : 0;
}

/* ---- the file of a new recording */

static jm_status refuse_existing(const char *path, jm_error *err)
{
    jm_status status = jm__fail(err, JM_IO, EEXIST, "open", "%s exists already", path);
    return jm__hint(err, status, "choose another name with -o, or replace it with --force");
}

static jm_status fail_to_create(const char *path, int code, jm_error *err)
{
    jm_status status = jm_status_of_errno(code);
    jm__fail(err, status, code, "open", "%s cannot be created: %s", path,
             code == EROFS            ? "its folder is read-only"
             : status == JM_NOT_FOUND ? "its folder does not exist"
                                      : strerror(code));
    if (status == JM_NO_PERMISSION)
        return jm__hint(err, status, "record into a folder that you may write to, with -o");
    if (status == JM_NOT_FOUND)
        return jm__hint(err, status, "make the folder first, or choose another with -o");
    return status;
}

static jm_status refuse_if_written(const char *path, jm_error *err)
{
    char command[160];
    int64_t writer = jm__recorder_of(path, command, sizeof command);
    if (writer == 0) return JM_OK;
    command[jm__utf8_cut(command, 80)] = '\0';
    bool own = writer == getpid();
    jm_status status =
        jm__fail(err, JM_BUSY, writer, "open", "%s is being written: %sprocess %lld%s%s records into it",
                 path, own ? "this very " : "", (long long)writer, command[0] != '\0' ? " of " : "", command);
    return jm__hint(err, status, "let that run end first, or choose another name");
}

/* The files of a recording: itself, its journals, and the true energies of a simulated board. */
static const char *const parts[] = {"", "-wal", "-journal", "-shm", ".truth.csv"};
enum { PARTS = sizeof parts / sizeof *parts, JOURNALS_END = PARTS - 1 };

/* Needs no allocation: a replaced file is restored even if memory is out. False: the name is too long for a
 * file. */
static bool name_part(char name[PATH_MAX], const char *path, int part)
{
    return (size_t)snprintf(name, PATH_MAX, "%s%s", path, parts[part]) < PATH_MAX;
}

static void remove_parts(const char *path, int first, int end)
{
    char name[PATH_MAX];
    for (int part = first; part < end; part++)
        if (name_part(name, path, part)) unlink(name);
}

/* Moves the journals with their file: a killed recorder leaves its last seconds in them. The file itself goes
 * last, so that it never lies beside another one's journal. 0 or the errno of the file itself. */
static int move_parts(const char *from, const char *to)
{
    char source[PATH_MAX], target[PATH_MAX];
    int error = 0;
    for (int part = PARTS - 1; part >= 0; part--) {
        if (!name_part(source, from, part) || !name_part(target, to, part))
            error = ENAMETOOLONG;
        else if (rename(source, target) != 0 && part == 0)
            error = errno;
    }
    return error;
}

static jm_status move_aside(jm__file_lock *file_lock, jm_error *err)
{
    struct stat info;
    if (stat(file_lock->path, &info) == 0 && !S_ISREG(info.st_mode))
        return jm__fail(err, JM_IO, 0, "open", "%s is not a regular file", file_lock->path);
    JM_TRY(refuse_if_written(file_lock->path, err));
    jm__strbuf aside = {0};
    jm__strbuf_format(&aside, "%s.replaced-%d", file_lock->path, (int)getpid());
    file_lock->aside = jm__strbuf_take(&aside);
    if (file_lock->aside == NULL) return jm__no_memory(err, "jm__file_lock_make");
    int code = move_parts(file_lock->path, file_lock->aside);
    if (code == 0) return JM_OK;
    move_parts(file_lock->aside, file_lock->path);
    free(file_lock->aside);
    file_lock->aside = NULL;
    return fail_to_create(file_lock->path, code, err);
}

jm_status jm__file_lock_make(jm__file_lock *file_lock, const char *path, bool overwrite, jm_error *err)
{
    *file_lock = (jm__file_lock){.path = strdup(path)};
    if (file_lock->path == NULL) return jm__no_memory(err, "jm__file_lock_make");
    jm_status status = JM_OK;
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    if (file < 0 && errno == EEXIST) {
        status = overwrite ? move_aside(file_lock, err) : refuse_existing(path, err);
        if (status == JM_OK) file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    }
    if (status == JM_OK && file < 0) {
        status = fail_to_create(path, errno, err);
        if (file_lock->aside != NULL) move_parts(file_lock->aside, path);
    }
    if (status == JM_OK && !add_writer(&file_lock->file, file))
        status = jm__no_memory(err, "jm__file_lock_make");
    if (file >= 0) close(file); /* before SQLite opens it: a later close would drop SQLite's locks */
    if (status != JM_OK) {
        if (file >= 0)
            jm__file_lock_undo(file_lock);
        else
            jm__file_lock_free(file_lock);
        return status;
    }
    remove_parts(path, 1, JOURNALS_END); /* journals of a deleted recording of that name */
    return JM_OK;
}

void jm__file_lock_keep(jm__file_lock *file_lock)
{
    if (file_lock->aside != NULL) remove_parts(file_lock->aside, 0, PARTS);
    free(file_lock->aside);
    file_lock->aside = NULL;
}

bool jm__file_lock_is_there(const jm__file_lock *file_lock)
{
    struct stat info;
    const jm__file_writer *file = &file_lock->file;
    if (file->pid == 0) return true; /* unknown */
    return stat(file_lock->path, &info) == 0 && info.st_dev == file->device && info.st_ino == file->inode;
}

void jm__file_lock_undo(jm__file_lock *file_lock)
{
    if (file_lock->path == NULL) return;
    /* Leaves a file that somebody else has put there since. */
    bool ours = jm__file_lock_is_there(file_lock);
    if (ours) remove_parts(file_lock->path, 0, PARTS);
    if (file_lock->aside != NULL && (ours || access(file_lock->path, F_OK) != 0))
        move_parts(file_lock->aside, file_lock->path);
    jm__file_lock_free(file_lock);
}

void jm__file_lock_free(jm__file_lock *file_lock)
{
    remove_writer(&file_lock->file);
    free(file_lock->path);
    free(file_lock->aside);
    *file_lock = (jm__file_lock){0};
}
