/* Paths beside our own library, programs on PATH, helper processes. */
#include "base/helper.h"

#include "base/clock.h"
#include "base/vec.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

bool jm__own_folder(char *folder, size_t size)
{
    static const char here; /* an address in this library */
    Dl_info info;
    char path[PATH_MAX];
    if (dladdr(&here, &info) == 0 || info.dli_fname == NULL) return false;
    if (strchr(info.dli_fname, '/') == NULL || realpath(info.dli_fname, path) == NULL) {
        /* An executable that was found on PATH reports its bare name. */
        ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
        if (length <= 0) return false;
        path[length] = '\0';
    }
    char *slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash - path) >= size) return false;
    *slash = '\0';
    memcpy(folder, path, (size_t)(slash - path) + 1);
    return true;
}

bool jm__beside(const char *name, char *path, size_t size)
{
    char folder[PATH_MAX];
    static const char *const places[] = {"", "../"};
    if (!jm__own_folder(folder, sizeof folder)) {
        snprintf(path, size, "%s", name);
        return false;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int length = snprintf(path, size, "%s/%s%s", folder, places[i], name);
        if (length > 0 && (size_t)length < size && access(path, R_OK) == 0) return true;
    }
    snprintf(path, size, "%s/%s", folder, name);
    return false;
}

bool jm__on_path(const char *name, char *path, size_t size)
{
    const char *folder = getenv("PATH");
    while (folder != NULL && *folder != '\0') {
        struct stat about;
        int length = (int)strcspn(folder, ":"),
            written = snprintf(path, size, "%.*s/%s", length, folder, name);
        if (length > 0 && written > 0 && (size_t)written < size && stat(path, &about) == 0 &&
            S_ISREG(about.st_mode) && access(path, X_OK) == 0)
            return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}

/* ---- starting and ending a helper process ---- */

#define DEATH_NS (INT64_C(1) * JM_NS_PER_S) /* a process that hangs in the kernel may outlive its SIGKILL */

/* Does `variable` ("KEY=value") have this name? `name` may itself be a "KEY=...". */
static bool is_called(const char *variable, const char *name)
{
    size_t length = strcspn(name, "=");
    return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

static bool is_among(const char *variable, const char *const *names)
{
    for (; names != NULL && *names != NULL; names++)
        if (is_called(variable, *names)) return true;
    return false;
}

/* Variables that would record or trace the helper. */
static bool is_ours(const char *variable)
{
    static const char *const names[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "JOULEMAP_RUN",
                                        NULL};
    if (is_among(variable, names)) return true;
    return strncmp(variable, "LD_PRELOAD=", 11) == 0 && strstr(variable, "libjoulemap") != NULL;
}

/* One allocation: an array of `count` pointers, and the texts behind it. */
static char **pack_texts(const char *const *texts, size_t count, size_t bytes)
{
    char **array = malloc((count + 1) * sizeof *array + bytes);
    if (array == NULL) return NULL;
    char *at = (char *)(array + count + 1);
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(texts[i]) + 1;
        array[i] = memcpy(at, texts[i], size);
        at += size;
    }
    array[count] = NULL;
    return array;
}

char **jm__helper_environment(const char *const *unset, const char *const *variables)
{
    JM_VEC(const char *) texts = {0};
    size_t bytes = 0;
    bool has_memory = true;
    for (char **at = environ; at != NULL && *at != NULL && has_memory; at++)
        if (!is_ours(*at) && !is_among(*at, unset) && !is_among(*at, variables))
            has_memory = jm__vec_push(&texts, *at);
    for (; variables != NULL && *variables != NULL && has_memory; variables++)
        has_memory = jm__vec_push(&texts, *variables);
    for (size_t i = 0; i < texts.count; i++)
        bytes += strlen(texts.items[i]) + 1;
    char **environment = has_memory ? pack_texts(texts.items, texts.count, bytes) : NULL;
    jm__vec_free(&texts);
    return environment;
}

static void set_file(posix_spawn_file_actions_t *files, int number, int fd, int flags)
{
    if (fd >= 0)
        posix_spawn_file_actions_adddup2(files, fd, number);
    else
        posix_spawn_file_actions_addopen(files, number, "/dev/null", flags, 0);
}

int jm__helper_start(pid_t *child, const jm__helper *helper)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    set_file(&files, STDIN_FILENO, helper->input, O_RDONLY);
    set_file(&files, STDOUT_FILENO, helper->output, O_WRONLY);
    set_file(&files, STDERR_FILENO, -1, O_WRONLY);
    posix_spawnattr_setflags(&attributes, (short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                  (helper->own_group ? POSIX_SPAWN_SETPGROUP : 0)));
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    int code =
        posix_spawn(child, helper->command, &files, &attributes, helper->arguments, helper->environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return code;
}

bool jm__helper_reap(pid_t child, int *status, int64_t until_ns)
{
    const struct timespec poll_interval = {.tv_nsec = 2 * JM_NS_PER_MS};
    *status = 0;
    for (;;) {
        pid_t got = waitpid(child, status, WNOHANG);
        if (got == child || (got < 0 && errno == ECHILD)) return true;
        if (jm__now_ns() >= until_ns) return false;
        nanosleep(&poll_interval, NULL);
    }
}

void jm__helper_kill(pid_t child)
{
    int status;
    kill(child, SIGKILL);
    (void)jm__helper_reap(child, &status, jm__now_ns() + DEATH_NS);
}

void jm__helper_close_others(int kept)
{
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) return;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        int fd = atoi(entry->d_name);
        if (fd > STDERR_FILENO && fd != kept && fd != dirfd(folder)) close(fd);
    }
    closedir(folder);
}
