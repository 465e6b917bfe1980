/* The descriptors of a recording that this process writes, guarded against the program around it. */
#include "format/guard.h"

#include "base/kept_file.h"
#include "base/no_fork.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Where they lie: below the usual limit of 1024 if need be, and no higher than what costs the kernel a table
 * of 32 KB.
 */
#define HIGHEST 4096u
#define ROOM    64u

/* What SQLite locks for as long as a connection is open, by its file format and os_unix.c: the shared range
 * of the database (https://www.sqlite.org/fileformat2.html#the_lock_byte_page), and the dead man's switch of
 * the -shm. */
static const struct flock shared_range = {
    .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0x40000002, .l_len = 510};
static const struct flock dead_mans_switch = {
    .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 128, .l_len = 1};

typedef struct guarded_file {
    jm__kept_file file;
    const char *suffix; /* of its name */
    int flags;
} guarded_file;

struct jm__guard {
    char *path; /* as SQLite sees it: without symbolic links */
    JM_VEC(guarded_file) files;
};

typedef int open_call(const char *path, int flags, int mode);

/* Only in a stretch without a fork: a child finds it free, and SQLite's `open` in its place. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static JM_VEC(jm__guard *) guards;
static open_call *real_open;
static _Thread_local bool opening;

/* ---- opening */

static const char *const suffixes[] = {"", "-wal", "-shm"};

/* The guard of a file of a recording; NULL: it is not one of ours. */
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

static unsigned lowest_of_ours(void)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &most) != 0) return 0;
    return (unsigned)(most.rlim_cur < HIGHEST ? most.rlim_cur : HIGHEST) - ROOM;
}

static void note_file(jm__guard *guard, int fd, const char *suffix, int flags)
{
    guarded_file file = {.suffix = suffix, .flags = flags & O_ACCMODE};
    if (!jm__kept_file_set(&file.file, fd)) return;
    for (size_t i = 0; i < guard->files.count; i++)
        if (guard->files.items[i].file.fd_plus_one == fd + 1) { /* that one is closed by now */
            guard->files.items[i] = file;
            return;
        }
    (void)jm__vec_push(&guard->files, file);
}

/* In SQLite's place, of all its threads; `opening` is the one that holds the lock. */
static int open_high(const char *path, int flags, int mode)
{
    const char *suffix;
    int fd = real_open(path, flags, mode);
    jm__guard *guard = fd < 0 || !opening ? NULL : find_guard(path, &suffix);
    if (guard == NULL) return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, (int)lowest_of_ours());
    if (high >= 0) { /* nothing of the file is locked yet, so nothing is unlocked */
        close(fd);
        fd = high;
    }
    note_file(guard, fd, suffix, flags);
    return fd;
}

/* How SQLite opens files, a call that its file system lets others replace:
 * https://www.sqlite.org/c3ref/vfs.html. Only while a recording is being opened: other users of SQLite in
 * this process see nothing of it. */
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

void jm__guard_opening(void)
{
    jm__no_fork_lock(&lock);
    opening = true;
    if (guards.count > 0) replace_open(true);
}

void jm__guard_opened(void)
{
    if (guards.count > 0) replace_open(false);
    opening = false;
    jm__no_fork_unlock(&lock);
}

/* ---- looking */

/* Under its old number, which SQLite knows. False: somebody else has it, or the file is gone. */
static bool open_again(const jm__guard *guard, guarded_file *lost)
{
    char path[PATH_MAX + 8];
    int number = lost->file.fd_plus_one - 1;
    snprintf(path, sizeof path, "%s%s", guard->path, lost->suffix);
    jm__kept_file again = lost->file;
    int fd = jm__kept_file_fd(&again, path, lost->flags);
    if (fd < 0) return false;
    if (fd != number) {
        int high = fcntl(fd, F_DUPFD_CLOEXEC, number); /* never in another's place */
        close(fd);
        if (high != number) {
            if (high >= 0) close(high);
            return false;
        }
    }
    if (strcmp(lost->suffix, "-wal") != 0) /* closing has unlocked it */
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

jm_status jm__guard_check_path(const char *path, jm_error *err)
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

/* ---- life */

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
