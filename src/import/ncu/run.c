/* Finds Nsight Compute, runs a program under it, and reports why nothing was counted. */
#include "import/ncu/run.h"

#include "base/clock.h"
#include "base/helper.h"
#include "base/status.h"
#include "import/ncu/ncu.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static bool in_home(char *out, size_t size, const char *variable)
{
    const char *home = getenv(variable);
    if (home == NULL || home[0] == '\0') return false;
    int written = snprintf(out, size, "%s/bin/ncu", home);
    return written > 0 && (size_t)written < size && is_program(out);
}

/* Compares the versions in the paths: 2025.10 is newer than 2025.9. */
static bool newest(char *out, size_t size, const char *root, const char *below_root)
{
    char pattern[PATH_MAX];
    glob_t found;
    const char *best = NULL;
    int written = snprintf(pattern, sizeof pattern, "%s%s", root, below_root);
    if (written < 0 || (size_t)written >= sizeof pattern || glob(pattern, 0, NULL, &found) != 0) return false;
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (is_program(found.gl_pathv[i]) && strlen(found.gl_pathv[i]) < size &&
            (best == NULL || strverscmp(found.gl_pathv[i], best) > 0))
            best = found.gl_pathv[i];
    if (best != NULL) snprintf(out, size, "%s", best);
    globfree(&found);
    return best != NULL;
}

jm_status jm__ncu_find(char *path, size_t size, const char *root, jm_error *err)
{
    if (jm__on_path("ncu", path, size) || in_home(path, size, "CUDA_HOME") ||
        in_home(path, size, "CUDA_PATH") || newest(path, size, root, "/usr/local/cuda*/bin/ncu") ||
        newest(path, size, root, "/opt/nvidia/nsight-compute/*/ncu"))
        return JM_OK;
    jm__fail(err, JM_NOT_FOUND, 0, NULL,
             "Nsight Compute (ncu) is not here; looked in PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda*, "
             "/opt/nvidia/nsight-compute");
    return jm__hint(err, JM_NOT_FOUND,
                    "it is part of the CUDA toolkit (package nsight-compute); a file that it wrote elsewhere "
                    "can be read too");
}

enum { STOP_S = 10, DEPTH_MAX = 16, POLL_MS = 20 };

/* ---- its command line */

static size_t count_of(const char *const *words)
{
    size_t count = 0;
    while (words != NULL && words[count] != NULL)
        count++;
    return count;
}

static char **append(char **to, const char *const *words, size_t count)
{
    if (count > 0) memcpy(to, words, count * sizeof *to);
    return to + count;
}

/* The argument vector: ncu, its options, the program. NULL: memory is out. */
static char **command_line(const char *ncu, const jm__ncu_job *job, const char *log)
{
    const char *const ours[] = {ncu,
                                "--csv",
                                "--page",
                                job->page,
                                "--metrics",
                                job->metrics,
                                "--target-processes",
                                "all",
                                "--clock-control",
                                "none",
                                "--cache-control",
                                "none"};
    const char *const end[] = {"--force-overwrite", "--log-file", log};
    size_t first = sizeof ours / sizeof ours[0], last = sizeof end / sizeof end[0];
    size_t options = count_of(job->options), words = count_of(job->command);
    char **all = calloc(first + options + last + words + 1, sizeof *all);
    if (all == NULL) return NULL;
    char **to = append(append(all, ours, first), job->options, options);
    append(append(to, end, last), job->command, words);
    return all;
}

/* ---- running it */

/* Starts ncu with the signals that we block or ignore set to their defaults. */
static jm_status start(pid_t *ncu, char **line, jm_error *err)
{
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    int code = posix_spawn(ncu, line[0], NULL, &attributes, line, environ);
    posix_spawnattr_destroy(&attributes);
    if (code == 0) return JM_OK;
    return jm__fail(err, JM_CHILD, code, "posix_spawn", "%s cannot be started: %s", line[0], strerror(code));
}

static void end_tree(pid_t pid, int signal_number, int depth);

static void end_children(const char *tasks, const char *task, int signal_number, int depth)
{
    char path[PATH_MAX];
    int child;
    snprintf(path, sizeof path, "%s/%.20s/children", tasks, task);
    FILE *children = fopen(path, "re");
    while (children != NULL && fscanf(children, "%d", &child) == 1)
        end_tree(child, signal_number, depth + 1);
    if (children != NULL) fclose(children);
}

/* Kills the tree below a process, children of all its threads first: the program is a child of ncu. */
static void end_tree(pid_t pid, int signal_number, int depth)
{
    char tasks[64];
    snprintf(tasks, sizeof tasks, "/proc/%d/task", (int)pid);
    DIR *folder = depth < DEPTH_MAX ? opendir(tasks) : NULL;
    for (const struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (entry->d_name[0] != '.') end_children(tasks, entry->d_name, signal_number, depth);
    if (folder != NULL) closedir(folder);
    kill(pid, signal_number);
}

static void stop(pid_t ncu)
{
    static const int signals[] = {SIGTERM, SIGKILL};
    int status;
    for (int i = 0; i < 2; i++) {
        end_tree(ncu, signals[i], 0);
        if (jm__helper_reap(ncu, &status, jm__now_ns() + STOP_S * JM_NS_PER_S)) return;
    }
}

/* Waits until ncu ends or has to be ended. */
static jm_status wait_for(pid_t ncu, const jm__ncu_job *job, int *status, jm_error *err)
{
    int64_t begin_ns = jm__now_ns();
    while (!jm__helper_reap(ncu, status, jm__now_ns() + POLL_MS * JM_NS_PER_MS)) {
        bool late = job->timeout_s > 0 && (double)(jm__now_ns() - begin_ns) / 1e9 >= job->timeout_s;
        bool ended = job->goes_on != NULL && !job->goes_on(job->context, (int64_t)ncu);
        if (!late && !ended) continue;
        stop(ncu);
        if (ended) return jm__fail(err, JM_BUSY, 0, NULL, "ncu was ended before it had finished");
        jm__fail(err, JM_BUSY, 0, NULL,
                 "ncu, which runs each kernel several times, had not finished after %g s and was ended",
                 job->timeout_s);
        return jm__hint(err, JM_BUSY,
                        "profile fewer (ncu's --launch-count 100; joulemap estimate "
                        "--ncu-options=\"--launch-count 100\"), or allow more time");
    }
    return JM_OK;
}

/* ---- its output */

/* Has the file a table? `why`: otherwise ncu's reason and its meaning. */
static bool has_table(const char *path, char *why, size_t size)
{
    FILE *file = fopen(path, "re");
    char line[4096], error_line[256] = "";
    bool found = false;
    why[0] = '\0';
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        const char *means = jm__ncu_explain(line);
        found = strncmp(line, "\"ID\",", 5) == 0;
        line[strcspn(line, "\r\n")] = '\0';
        if (means != NULL && why[0] == '\0') snprintf(why, size, ": %s", means);
        if (error_line[0] == '\0' && strncmp(line, "==ERROR==", 9) == 0)
            snprintf(error_line, sizeof error_line, ": %.200s", line + 9 + strspn(line + 9, " "));
    }
    if (file != NULL) fclose(file);
    size_t used = strlen(why);
    snprintf(why + used, size - used, "%s", error_line);
    return found;
}

static jm_status take_table(const char *log, const char *csv, int exit_code, jm_error *err)
{
    char why[1024];
    if (!has_table(log, why, sizeof why))
        return jm__fail(err, JM_BAD_DATA, 0, NULL, "ncu counted nothing (exit code %d)%s", exit_code, why);
    if (rename(log, csv) == 0) return JM_OK;
    return jm__fail(err, JM_IO, errno, "rename", "%s cannot be written: %s", csv, strerror(errno));
}

jm_status jm__ncu_run(const char *ncu, const jm__ncu_job *job, int *exit_code, jm_error *err)
{
    char log[PATH_MAX];
    pid_t pid;
    int status = 0;
    *exit_code = 0;
    int length = snprintf(log, sizeof log, "%s.%d-part", job->csv, (int)getpid());
    if (length < 0 || (size_t)length >= sizeof log)
        return jm__fail(err, JM_USAGE, 0, NULL, "the path of the file for counters is too long");
    char **line = command_line(ncu, job, log);
    if (line == NULL) return jm__no_memory(err, "jm__ncu_run");
    jm_status result = start(&pid, line, err);
    free(line);
    if (result == JM_OK) {
        result = wait_for(pid, job, &status, err);
        *exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        if (result == JM_OK) result = take_table(log, job->csv, *exit_code, err);
    }
    unlink(log); /* already renamed on success */
    return result;
}
