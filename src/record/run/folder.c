/* The folder that a recorder and its recorded processes share. */
#include "record/run/folder.h"

#include "base/private_file.h"
#include "record/timeline/identity.h"
#include "record/timeline/ring.h"
#include "record/timeline/which_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FLUSH_FILE   "flush"
#define RUN_TEXT_MAX (PATH_MAX + 256)
#define YOUNG_S      60 /* a folder without its file may be under construction for so long */

static const char *other_parent(void)
{
    const char *folder = getenv("TMPDIR");
    return folder == NULL || folder[0] == '\0' ? "/tmp" : folder;
}

/* False if the name does not fit. */
static bool join(char *out, size_t size, const char *folder, const char *name)
{
    int length = snprintf(out, size, "%s/%s", folder, name);
    return length > 0 && (size_t)length < size;
}

/* ---- the lock */

static struct flock whole_file(short type)
{
    return (struct flock){.l_type = type, .l_whence = SEEK_SET};
}

/* Does another process hold the lock on the file? */
static bool is_locked(int file)
{
    struct flock lock = whole_file(F_WRLCK);
    return fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* ---- folders of dead recorders */

static void remove_files(const char *folder)
{
    int fd = jm__private_folder(folder);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (entries == NULL) {
        if (fd >= 0) close(fd);
        return;
    }
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        if ((entry->d_name[0] != '.' || strlen(entry->d_name) > 2) && unlinkat(fd, entry->d_name, 0) != 0)
            unlinkat(fd, entry->d_name, AT_REMOVEDIR); /* programs may put anything there */
    closedir(entries);
    rmdir(folder);
}

static bool is_stale(const char *folder)
{
    struct stat info;
    int fd = jm__private_folder(folder);
    if (fd < 0) return false;
    bool has_info = fstat(fd, &info) == 0;
    int file = jm__private_file_at(fd, JM_RUN_FILE, O_RDWR);
    bool missing = file < 0 && errno == ENOENT;
    close(fd);
    if (file < 0) return missing && has_info && time(NULL) - info.st_mtime > YOUNG_S;
    bool locked = is_locked(file);
    close(file);
    return !locked;
}

/* A process sees its own locks as free, and closing the file would drop them: skip own runs by pid. */
static bool is_ours(const char *folder)
{
    char own[64];
    const char *slash = strrchr(folder, '/');
    snprintf(own, sizeof own, "joulemap-%u-%d-", (unsigned)geteuid(), (int)getpid());
    return strncmp(slash == NULL ? folder : slash + 1, own, strlen(own)) == 0;
}

static void remove_stale(const char *parent)
{
    char prefix[48];
    snprintf(prefix, sizeof prefix, "joulemap-%u-", (unsigned)geteuid());
    DIR *entries = opendir(parent);
    if (entries == NULL) return;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char folder[PATH_MAX];
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0 || is_ours(entry->d_name)) continue;
        if (join(folder, sizeof folder, parent, entry->d_name) && is_stale(folder)) remove_files(folder);
    }
    closedir(entries);
}

/* ---- creating */

static bool make_in(jm__run_folder *folder, const char *parent)
{
    remove_stale(parent);
    int length = snprintf(folder->path, sizeof folder->path, "%s/joulemap-%u-%d-XXXXXX", parent,
                          (unsigned)geteuid(), (int)getpid());
    return length > 0 && (size_t)length < sizeof folder->path && mkdtemp(folder->path) != NULL;
}

static bool write_run_file(jm__run_folder *folder, const char *recording)
{
    char text[RUN_TEXT_MAX];
    int length =
        snprintf(text, sizeof text, "pid=%d\nversion=%s\nbudget_ppm=%ld\nrecording=%s\n", (int)getpid(),
                 jm_version(), folder->budget_ppm, recording == NULL ? "" : recording);
    if (length < 0 || (size_t)length >= sizeof text) return false;
    int file = jm__private_file(folder->path, JM_RUN_FILE, O_RDWR | O_CREAT | O_EXCL);
    if (file < 0 || !jm__kept_file_set(&folder->lock_file, file)) return false;
    struct flock lock = whole_file(F_WRLCK);
    return fcntl(file, F_SETLK, &lock) == 0 && write(file, text, (size_t)length) == length;
}

jm_status jm__run_folder_create(jm__run_folder *out, const char *recording, long budget_ppm, jm_error *err)
{
    const char *const parents[] = {"/dev/shm", other_parent()};
    int code = 0;
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        jm__run_folder folder = {.budget_ppm = budget_ppm};
        if (make_in(&folder, parents[i])) {
            code = write_run_file(&folder, recording) ? jm__lost_create(folder.path) : errno;
            if (code == 0) {
                int door = jm__door_make(folder.path);
                if (door >= 0) (void)jm__kept_file_set(&folder.door, door);
                *out = folder;
                return JM_OK;
            }
            jm__run_folder_remove(&folder);
        } else {
            code = errno;
        }
    }
    jm_status status =
        jm__fail(err, jm_status_of_errno(code), code, "mkdtemp",
                 "no folder for the run in /dev/shm or %s: %s", other_parent(), strerror(code));
    return jm__hint(err, status, "make one of them writable, or set TMPDIR to a folder that is");
}

void jm__run_folder_keep(jm__run_folder *folder)
{
    char name[PATH_MAX];
    if (jm__kept_file_is_ours(&folder->lock_file) || !join(name, sizeof name, folder->path, JM_RUN_FILE))
        return;
    int file = jm__kept_file_fd(&folder->lock_file, name, O_RDWR);
    struct flock lock = whole_file(F_WRLCK);
    if (file >= 0) fcntl(file, F_SETLK, &lock);
}

void jm__run_folder_remove(jm__run_folder *folder)
{
    jm__kept_file_close(&folder->lock_file);
    jm__kept_file_close(&folder->door);
    if (folder->path[0] != '\0') remove_files(folder->path);
    *folder = (jm__run_folder){0};
}

/* ---- joining */

/* Copies the rest of the line "key=..."; false if there is none or it does not fit. */
static bool read_value(const char *text, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, key, length) != 0) continue;
        size_t count = strcspn(line + length, "\n");
        if (count >= size) return false;
        memcpy(value, line + length, count);
        value[count] = '\0';
        return true;
    }
    return false;
}

bool jm__run_folder_find(jm__run_folder *out, char *recording, size_t size)
{
    char variable[PATH_MAX];
    const char *path = jm__start_variable(JM_START_RUN, variable, sizeof variable);
    jm__run_folder folder = {0};
    char text[RUN_TEXT_MAX], pid[24], budget[32];
    if (path == NULL || path[0] == '\0' || strlen(path) >= sizeof folder.path) return false;
    memcpy(folder.path, path, strlen(path) + 1);
    if (is_ours(path)) return false;
    int file = jm__private_file(path, JM_RUN_FILE, O_RDWR);
    if (file < 0 && (errno == EACCES || errno == EPERM)) jm__door_knock(path);
    if (file < 0) return false;
    ssize_t count = read(file, text, sizeof text - 1);
    bool is_alive = count > 0 && is_locked(file);
    close(file);
    if (!is_alive) return false;
    text[count] = '\0';
    if (!read_value(text, "pid=", pid, sizeof pid)) return false;
    if (!read_value(text, "recording=", recording, size)) return false;
    if (read_value(text, "budget_ppm=", budget, sizeof budget)) folder.budget_ppm = strtol(budget, NULL, 10);
    *out = folder;
    return true;
}

bool jm__run_folder_expect(const jm__run_folder *folder, int64_t pid, bool kernels)
{
    char text[96];
    int own = jm__private_folder(folder->path);
    if (own < 0) return false;
    unlinkat(own, JM_EXPECTS_FILE, 0);
    int length = snprintf(text, sizeof text, JM_EXPECTS_FORMAT, (int)pid,
                          (unsigned long long)jm__namespace_of(JM_SELF, "pid"), kernels ? 1 : 0);
    int file = pid == 0 ? -1 : jm__private_file_at(own, JM_EXPECTS_FILE, O_WRONLY | O_CREAT | O_EXCL);
    bool written = pid == 0 || (file >= 0 && write(file, text, (size_t)length) == length);
    if (file >= 0) close(file);
    close(own);
    return written;
}

bool jm__run_folder_is_alive(const char *path)
{
    char name[PATH_MAX];
    if (is_ours(path)) return join(name, sizeof name, path, JM_RUN_FILE) && access(name, F_OK) == 0;
    return jm__run_is_alive(path);
}

void jm__run_folder_request_flush(const jm__run_folder *folder)
{
    int file = jm__private_file(folder->path, FLUSH_FILE, O_WRONLY | O_CREAT);
    if (file >= 0) close(file);
}

bool jm__run_folder_flush_requested(const jm__run_folder *folder)
{
    char name[PATH_MAX];
    return join(name, sizeof name, folder->path, FLUSH_FILE) && unlink(name) == 0;
}
