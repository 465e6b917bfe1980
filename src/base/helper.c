/* Starting and ending a helper process. */
#include "base/helper.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEATH_NS (INT64_C(1) * JM_NS_PER_S) /* a process that hangs in the kernel may outlive its SIGKILL */

/* `variable` ("KEY=value") is that of this name, or of this "KEY=..." */
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

/* Nothing of a run shall begin in the helper, and nothing be traced. */
static bool is_ours(const char *variable)
{
    static const char *const names[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "JOULEMAP_RUN",
                                        NULL};
    if (is_among(variable, names)) return true;
    return strncmp(variable, "LD_PRELOAD=", 11) == 0 && strstr(variable, "libjoulemap") != NULL;
}

/* Only the array is allocated; the texts are borrowed. */
static char **environment_make(const jm__helper *helper)
{
    size_t count = 0, more = 0, kept = 0;
    while (environ != NULL && environ[count] != NULL)
        count++;
    while (helper->variables != NULL && helper->variables[more] != NULL)
        more++;
    char **clean = calloc(count + more + 1, sizeof *clean);
    for (size_t i = 0; clean != NULL && i < count; i++)
        if (!is_ours(environ[i]) && !is_among(environ[i], helper->unset) &&
            !is_among(environ[i], helper->variables))
            clean[kept++] = environ[i];
    for (size_t i = 0; clean != NULL && i < more; i++)
        memcpy(&clean[kept++], &helper->variables[i], sizeof *clean); /* posix_spawn takes no const */
    return clean;
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
    char **environment = environment_make(helper);
    if (environment == NULL) return ENOMEM;
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
    int code = posix_spawn(child, helper->command, &files, &attributes, helper->arguments, environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    free(environment);
    return code;
}

bool jm__helper_reap(pid_t child, int *status, int64_t until_ns)
{
    const struct timespec moment = {.tv_nsec = 2 * JM_NS_PER_MS};
    *status = 0;
    for (;;) {
        pid_t got = waitpid(child, status, WNOHANG);
        if (got == child || (got < 0 && errno == ECHILD)) return true;
        if (jm__now_ns() >= until_ns) return false;
        nanosleep(&moment, NULL);
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
