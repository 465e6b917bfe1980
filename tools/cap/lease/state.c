/* A lease's state, its file, and its lock. */
#include "cap/lease/state.h"

#include "base/json_value.h"
#include "base/status.h"
#include "cap/lease/transport.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* ---- processes, identified by pid and start time */

/* The fields of /proc/PID/stat after the name, which may hold anything. */
enum { STATE_FIELD = 3, START_FIELD = 22 };

/* The start time, and the state letter; 0: no such process. */
static int64_t read_process(int64_t pid, char *state)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    if (length <= 0) return 0;
    text[length] = '\0';
    const char *at = strrchr(text, ')');
    if (at == NULL || at[1] != ' ') return 0;
    at += 2;
    *state = *at;
    for (int field = STATE_FIELD; field < START_FIELD; field++) {
        at = strchr(at, ' ');
        if (at == NULL) return 0;
        at++;
    }
    return strtoll(at, NULL, 10);
}

int64_t jm__process_start(int64_t pid)
{
    char state;
    return pid <= 0 ? 0 : read_process(pid, &state);
}

bool jm__process_lives(int64_t pid, int64_t start)
{
    char state = 'X';
    return pid > 0 && start != 0 && read_process(pid, &state) == start && state != 'Z' && state != 'X';
}

int jm__process_signal(int64_t pid, int64_t start, int signal)
{
    int code = 0;
    /* The descriptor keeps the pid from being reused before the signal. */
    int fd = pid <= 0 ? -1 : (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (fd < 0 && errno != ENOSYS) return pid <= 0 ? ESRCH : errno;
    if (!jm__process_lives(pid, start))
        code = ESRCH;
    else if ((fd >= 0 ? (int)syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0)
                      : kill((pid_t)pid, signal)) != 0)
        code = errno;
    if (fd >= 0) close(fd);
    return code;
}

/* ---- the folder of states, and whether to trust it */

#define ROOTS_FOLDER "/var/lib/joulemap/caps"
#define STATE_END    ".json"

enum { NAME_SIZE = 128 };

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

static bool root_sets_caps(void)
{
    return geteuid() == 0 || is_set(getenv("JOULEMAP_CAP"));
}

jm_status jm__lease_folder_find(jm__lease_folder *folder, jm_error *err)
{
    const char *named = getenv("JOULEMAP_CAPS_DIR"), *state = getenv("XDG_STATE_HOME"),
               *home = getenv("HOME");
    int length = 0;
    if (is_set(named) && named[0] != '/')
        return jm__fail(err, JM_USAGE, 0, NULL, "JOULEMAP_CAPS_DIR is %.200s, which is not an absolute path",
                        named);
    if (is_set(named))
        length = snprintf(folder->path, sizeof folder->path, "%s", named);
    else if (root_sets_caps())
        length = snprintf(folder->path, sizeof folder->path, "%s", ROOTS_FOLDER);
    else if (is_set(state) && state[0] == '/')
        length = snprintf(folder->path, sizeof folder->path, "%s/joulemap/caps", state);
    else if (is_set(home) && home[0] == '/')
        length = snprintf(folder->path, sizeof folder->path, "%s/.local/state/joulemap/caps", home);
    if (length > 0 && (size_t)length < sizeof folder->path - NAME_SIZE) return JM_OK;
    jm_status status = length == 0 ? JM_NOT_FOUND : JM_USAGE;
    jm__fail(err, status, 0, NULL, "no folder for the state of power caps: %s",
             length == 0 ? "neither XDG_STATE_HOME nor HOME is set" : "its path is too long");
    return jm__hint(err, status, "set JOULEMAP_CAPS_DIR");
}

bool jm__lease_folder_of_root(jm__lease_folder *folder)
{
    if (is_set(getenv("JOULEMAP_CAPS_DIR")) || root_sets_caps()) return false;
    snprintf(folder->path, sizeof folder->path, "%s", ROOTS_FOLDER);
    return true;
}

jm_status jm__lease_folder_trust(const jm__lease_folder *folder, jm_error *err)
{
    struct stat info;
    if (stat(folder->path, &info) != 0)
        return jm__fail(err, jm_status_of_errno(errno), errno, "stat", "%.300s: %s", folder->path,
                        strerror(errno));
    bool ours = info.st_uid == geteuid() || info.st_uid == 0;
    if (ours && S_ISDIR(info.st_mode) && (info.st_mode & (S_IWGRP | S_IWOTH)) == 0) return JM_OK;
    jm__fail(err, JM_NO_PERMISSION, 0, NULL, "%.300s is not trusted: %s", folder->path,
             !S_ISDIR(info.st_mode) ? "it is not a folder"
             : ours                 ? "others may write into it"
                                    : "it is another user's");
    return jm__hint(err, JM_NO_PERMISSION,
                    "own it alone (chown, chmod 755), or name another in JOULEMAP_CAPS_DIR");
}

jm_status jm__lease_folder_make(const jm__lease_folder *folder, jm_error *err)
{
    char path[sizeof folder->path + 1];
    snprintf(path, sizeof path, "%s/", folder->path);
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0755) != 0 && errno != EEXIST)
            return jm__fail(err, jm_status_of_errno(errno), errno, "mkdir", "%.300s cannot be made: %s", path,
                            strerror(errno));
        *slash = '/';
    }
    return jm__lease_folder_trust(folder, err);
}

bool jm__lease_folder_path(const jm__lease_folder *folder, const char *uuid, const char *end, char *path,
                           size_t size)
{
    size_t plain = strspn(uuid, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
    if (plain == 0 || uuid[plain] != '\0') return false;
    int length = snprintf(path, size, "%s/%s.%s", folder->path, uuid, end);
    return length > 0 && (size_t)length < size;
}

bool jm__lease_folder_next(void *directory, char *uuid, size_t size)
{
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        size_t length = strlen(entry->d_name), end = strlen(STATE_END);
        if (length <= end || length - end >= size || strcmp(entry->d_name + length - end, STATE_END) != 0)
            continue;
        snprintf(uuid, size, "%.*s", (int)(length - end), entry->d_name);
        return true;
    }
    return false;
}

/* ---- the file of a state */

enum { VERSION = 1 };

static jm_status fail_file(jm_error *err, const char *call, const char *path)
{
    return jm__fail(err, jm_status_of_errno(errno), errno, call, "%.300s: %s", path, strerror(errno));
}

static jm_status fail_path(jm_error *err, const char *uuid)
{
    return jm__fail(err, JM_USAGE, 0, NULL, "\"%.95s\" is not the UUID of a GPU", uuid);
}

/* ---- reading */

static jm_status fail_content(jm_error *err, const char *path, const char *what)
{
    jm__fail(err, JM_BAD_DATA, 0, NULL, "%.300s is not the state of a power cap: %s", path, what);
    return jm__hint(err, JM_BAD_DATA,
                    "check the GPU's cap (nvidia-smi -q -d POWER), set it by hand, remove the file");
}

static int64_t integer_member(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void fill(jm__lease_state *state, const json_t *object)
{
    jm_cap_lease_info *info = &state->info;
    *state = (jm__lease_state){.index = (int32_t)integer_member(object, "index"),
                               .holder_start = integer_member(object, "pid_start"),
                               .helper_pid = integer_member(object, "helper_pid"),
                               .helper_start = integer_member(object, "helper_start"),
                               .clock_held = json_is_true(json_object_get(object, "clock_held"))};
    jm__json_copy(state->uuid, sizeof state->uuid, object, "uuid");
    jm__json_copy(state->name, sizeof state->name, object, "name");
    jm__json_copy(state->sim, sizeof state->sim, object, "sim");
    jm__json_copy(state->run, sizeof state->run, object, "run");
    jm__json_copy(state->fault, sizeof state->fault, object, "fault");
    jm__json_copy(info->who, sizeof info->who, object, "who");
    info->pid = integer_member(object, "pid");
    info->uid = integer_member(object, "uid");
    info->since_unix_ns = integer_member(object, "since_unix_ns");
    info->until_unix_ns = integer_member(object, "until_unix_ns");
    info->found_w = jm__json_number(object, "found_w");
    info->cap_w = jm__json_number(object, "cap_w");
    state->before_w = jm__json_number(object, "before_w");
    jm__json_copy(state->boot, sizeof state->boot, object, "boot");
}

jm_status jm__lease_state_parse(jm__lease_state *state, const char *bytes, size_t count, const char *path,
                                jm_error *err)
{
    json_t *object = json_loadb(bytes, count, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(object)) {
        json_decref(object);
        return fail_content(err, path, "it is not a JSON object");
    }
    int64_t version = integer_member(object, "version");
    fill(state, object);
    json_decref(object);
    if (version > VERSION)
        return jm__fail(err, JM_UNKNOWN_VERSION, 0, NULL, "%.300s is from a newer joulemap", path);
    if (version != VERSION) return fail_content(err, path, "it has no version");
    if (!isfinite(state->info.found_w) || state->info.found_w <= 0)
        return fail_content(err, path, "it has no previous cap");
    return JM_OK;
}

/* Opens a regular file of this user or root that nobody else can write. */
static jm_status open_file(int *fd, const char *path, jm_error *err)
{
    struct stat info;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (*fd < 0 && errno != ELOOP) return fail_file(err, "open", path);
    bool has_info = *fd >= 0 && fstat(*fd, &info) == 0;
    if (has_info && S_ISREG(info.st_mode) && (info.st_uid == geteuid() || info.st_uid == 0) &&
        (info.st_mode & (S_IWGRP | S_IWOTH)) == 0)
        return JM_OK;
    if (*fd >= 0) close(*fd);
    jm__fail(err, JM_NO_PERMISSION, 0, NULL,
             "%.300s is not trusted: it is not a regular file of yours or root's", path);
    return jm__hint(err, JM_NO_PERMISSION, "check its owner, and remove it");
}

jm_status jm__lease_state_read(jm__lease_state *state, const jm__lease_folder *folder, const char *uuid,
                               jm_error *err)
{
    char path[PATH_MAX], bytes[JM_STATE_BYTES_MAX + 1];
    size_t count = 0;
    ssize_t got = 1;
    int fd;
    *state = (jm__lease_state){0};
    if (!jm__lease_folder_path(folder, uuid, "json", path, sizeof path)) return fail_path(err, uuid);
    JM_TRY(open_file(&fd, path, err));
    while (got > 0 && count < sizeof bytes) {
        got = read(fd, bytes + count, sizeof bytes - count);
        if (got > 0) count += (size_t)got;
    }
    int code = errno;
    close(fd);
    errno = code;
    if (got < 0) return fail_file(err, "read", path);
    if (count > JM_STATE_BYTES_MAX) return fail_content(err, path, "it is too long");
    JM_TRY(jm__lease_state_parse(state, bytes, count, path, err));
    if (strcmp(state->uuid, uuid) == 0) return JM_OK;
    return fail_content(err, path, "it is for another GPU");
}

/* ---- boots */

void jm__boot_id(char *boot, size_t size)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, boot, size - 1);
    if (fd >= 0) close(fd);
    boot[length > 0 ? length : 0] = '\0';
    boot[strcspn(boot, "\n")] = '\0';
}

bool jm__lease_state_is_void(const jm__lease_state *state)
{
    char boot[JM_STATE_BOOT];
    jm__boot_id(boot, sizeof boot);
    return state->boot[0] != '\0' && boot[0] != '\0' && strcmp(state->boot, boot) != 0;
}

/* ---- writing */

static json_t *json_of(const jm__lease_state *state)
{
    const jm_cap_lease_info *info = &state->info;
    return json_pack("{s:i, s:o, s:o, s:i, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:b, "
                     "s:I, s:I, s:o}",
                     "version", VERSION, "uuid", jm__json_text(state->uuid), "name",
                     jm__json_text(state->name), "index", (int)state->index, "sim", jm__json_text(state->sim),
                     "run", jm__json_text(state->run), "who", jm__json_text(info->who), "pid",
                     (json_int_t)info->pid, "pid_start", (json_int_t)state->holder_start, "uid",
                     (json_int_t)info->uid, "since_unix_ns", (json_int_t)info->since_unix_ns, "until_unix_ns",
                     (json_int_t)info->until_unix_ns, "found_w", jm__json_real(info->found_w), "cap_w",
                     jm__json_real(info->cap_w), "before_w", jm__json_real(state->before_w), "boot",
                     jm__json_text(state->boot), "clock_held", state->clock_held, "helper_pid",
                     (json_int_t)state->helper_pid, "helper_start", (json_int_t)state->helper_start, "fault",
                     jm__json_text(state->fault));
}

/* A new name is on the disk only after its folder is. */
static bool folder_sync(const jm__lease_folder *folder)
{
    int fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) close(fd);
    return done;
}

static bool write_file(const char *path, const char *bytes, size_t count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return false;
    bool done = true;
    for (size_t at = 0; done && at < count;) {
        ssize_t written = write(fd, bytes + at, count - at);
        done = written > 0 || (written < 0 && errno == EINTR);
        if (written > 0) at += (size_t)written;
    }
    done = done && fchmod(fd, 0644) == 0 && fsync(fd) == 0;
    int code = errno;
    close(fd);
    errno = code;
    return done;
}

jm_status jm__lease_state_write(const jm__lease_state *state, const jm__lease_folder *folder, jm_error *err)
{
    char path[PATH_MAX], temporary[PATH_MAX], bytes[JM_STATE_BYTES_MAX];
    if (!jm__lease_folder_path(folder, state->uuid, "json", path, sizeof path) ||
        !jm__lease_folder_path(folder, state->uuid, "new", temporary, sizeof temporary))
        return fail_path(err, state->uuid);
    json_t *object = json_of(state);
    if (object == NULL) return jm__no_memory(err, "json_pack");
    size_t count = json_dumpb(object, bytes, sizeof bytes, JSON_INDENT(1));
    json_decref(object);
    if (count == 0 || count > sizeof bytes)
        return jm__fail(err, JM_LIMIT, 0, NULL, "the state of a power cap is longer than %d bytes",
                        JM_STATE_BYTES_MAX);
    if (write_file(temporary, bytes, count) && rename(temporary, path) == 0 && folder_sync(folder))
        return JM_OK;
    jm_status status = fail_file(err, "write", path);
    (void)unlink(temporary);
    return status;
}

jm_status jm__lease_state_remove(const jm__lease_folder *folder, const char *uuid, jm_error *err)
{
    char path[PATH_MAX];
    if (!jm__lease_folder_path(folder, uuid, "json", path, sizeof path)) return fail_path(err, uuid);
    if (unlink(path) != 0 && errno != ENOENT) return fail_file(err, "unlink", path);
    (void)folder_sync(folder); /* a state that survives a crash is restored again, which changes nothing */
    return JM_OK;
}

/* ---- the lock */

jm_status jm__lease_lock_take(int *lock, const jm__lease_folder *folder, const char *uuid, jm_error *err)
{
    char path[PATH_MAX];
    struct flock whole_file = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (!jm__lease_folder_path(folder, uuid, "lock", path, sizeof path)) return fail_path(err, uuid);
    /* Mode 0600: whoever can open the file can lock it. */
    *lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*lock < 0) return fail_file(err, "open", path);
    if (fcntl(*lock, F_OFD_SETLK, &whole_file) == 0) return JM_OK;
    int code = errno;
    close(*lock);
    *lock = -1;
    errno = code;
    if (code != EAGAIN && code != EACCES) return fail_file(err, "fcntl", path);
    return jm__fail(err, JM_BUSY, 0, NULL, "%s has a lease already", uuid);
}

bool jm__lease_is_held(const jm__lease_state *state, const jm__lease_folder *folder)
{
    char path[PATH_MAX];
    struct flock probe = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (!jm__lease_folder_path(folder, state->uuid, "lock", path, sizeof path)) return false;
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    bool has_info = fd >= 0 && fcntl(fd, F_OFD_GETLK, &probe) == 0;
    bool gone = fd < 0 && errno == ENOENT;
    if (fd >= 0) close(fd);
    if (has_info) return probe.l_type != F_UNLCK;
    return !gone && jm__process_lives(state->helper_pid, state->helper_start);
}
