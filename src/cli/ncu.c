/* Finding ncu, starting it, and what it says when it counted nothing. */
#include "cli/ncu.h"
#include "cli/child.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORDS_MAX = 64, STOP_S = 10, DEPTH_MAX = 16 };

/* ---- where it is */

static bool is_program(const char *path)
{
    return access(path, X_OK) == 0;
}

static bool on_path(char out[PATH_MAX])
{
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");
        int written = snprintf(out, PATH_MAX, "%.*s/ncu", (int)length, path);
        if (length > 0 && written > 0 && written < PATH_MAX && is_program(out)) return true;
        path += length + (path[length] == ':');
    }
    return false;
}

static bool below(char out[PATH_MAX], const char *variable)
{
    const char *home = getenv(variable);
    if (home == NULL || home[0] == '\0') return false;
    int written = snprintf(out, PATH_MAX, "%s/bin/ncu", home);
    return written > 0 && written < PATH_MAX && is_program(out);
}

/* By the versions in their names: 2025.10 is newer than 2025.9. */
static int newer(const char *a, const char *b)
{
    return strverscmp(a, b);
}

static bool newest(char out[PATH_MAX], const char *pattern)
{
    glob_t found;
    const char *best = NULL;
    if (glob(pattern, 0, NULL, &found) != 0) return false;
    for (size_t i = 0; i < found.gl_pathc; i++)
        if (is_program(found.gl_pathv[i]) && (best == NULL || newer(found.gl_pathv[i], best) > 0))
            best = found.gl_pathv[i];
    if (best != NULL) snprintf(out, PATH_MAX, "%s", best);
    globfree(&found);
    return best != NULL;
}

static bool find(char out[PATH_MAX])
{
    return on_path(out) || below(out, "CUDA_HOME") || below(out, "CUDA_PATH") ||
           newest(out, "/usr/local/cuda*/bin/ncu") || newest(out, "/opt/nvidia/nsight-compute/*/ncu");
}

/* ---- its command line */

typedef struct words {
    char *items[WORDS_MAX];
    int count;
} words;

static char constant[][24] = {
    "--csv", "--page",          "--metrics", "--target-processes", "all",       "--clock-control",
    "none",  "--cache-control", "none",      "--force-overwrite",  "--log-file"};

static bool add(words *w, char *word)
{
    if (w->count + 1 >= WORDS_MAX) return false;
    w->items[w->count++] = word;
    w->items[w->count] = NULL;
    return true;
}

/* The line is one array: ncu, its words, then the program's. NULL: memory is out. */
static char **join(const words *w, char **command)
{
    size_t count = 0;
    while (command[count] != NULL)
        count++;
    char **all = calloc((size_t)w->count + count + 1, sizeof *all);
    if (all == NULL) return NULL;
    memcpy(all, w->items, (size_t)w->count * sizeof *all);
    memcpy(all + w->count, command, count * sizeof *all);
    return all;
}

/* ---- running it */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* The program is ncu's child: all below a process first, then itself. */
static void end_tree(pid_t pid, int signal_number, int depth)
{
    char path[64];
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *children = depth < DEPTH_MAX ? fopen(path, "r") : NULL;
    while (children != NULL && fscanf(children, "%d", &child) == 1)
        end_tree(child, signal_number, depth + 1);
    if (children != NULL) fclose(children);
    kill(pid, signal_number);
}

static void stop(cli_child *child)
{
    static const int signals[] = {SIGTERM, SIGKILL};
    for (int i = 0; i < 2; i++) {
        end_tree(child->pid, signals[i], 0);
        if (cli_child_wait_until(child, now_ns() + (int64_t)STOP_S * INT64_C(1000000000))) return;
    }
}

/* Does the file have a table? `why`: what ncu says otherwise. */
static bool has_table(const char *path, char *why, size_t size)
{
    FILE *file = fopen(path, "r");
    char line[4096];
    bool found = false;
    why[0] = '\0';
    while (file != NULL && !found && fgets(line, sizeof line, file) != NULL) {
        const char *means = jm_estimate_explain(line);
        found = strncmp(line, "\"ID\",", 5) == 0;
        if (means != NULL && why[0] == '\0') snprintf(why, size, "%s", means);
    }
    if (file != NULL) fclose(file);
    return found;
}

static int run(const cli_args *args, char **line, const cli_ncu_wishes *wishes, int *program)
{
    cli_child child = {0};
    jm_error err = {0};
    char why[512];
    static const char *const nothing[] = {NULL};
    bool ended = true;
    cli_child_prepare();
    jm_status status = cli_child_start(&child, line, nothing, &err);
    if (status == JM_OK && wishes->timeout_s > 0)
        ended = cli_child_wait_until(&child, now_ns() + (int64_t)(wishes->timeout_s * 1e9));
    if (status == JM_OK && !ended) stop(&child);
    if (status == JM_OK && ended) cli_child_wait(&child);
    cli_child_release(&child);
    if (status != JM_OK) return cli_fail(args, &err);
    *program = child.exit_code;
    if (!ended)
        return cli_error(
            args, JM_BUSY, "profile fewer (--ncu-options=\"--launch-count 100\"), or allow more time",
            "ncu, which runs each kernel several times, had not finished after %g s and was ended",
            wishes->timeout_s);
    if (has_table(wishes->to, why, sizeof why)) return 0;
    return cli_error(args, JM_BAD_DATA, "", "ncu counted nothing (exit code %d)%s%s", child.exit_code,
                     why[0] != '\0' ? ": " : "", why);
}

int cli_ncu_run(const cli_args *args, const cli_ncu_wishes *wishes, int *program)
{
    char ncu[PATH_MAX];
    words w = {0};
    if (!find(ncu))
        return cli_error(
            args, JM_NOT_FOUND,
            "it is part of the CUDA toolkit; a file that it wrote elsewhere can be read too: --csv",
            "Nsight Compute (ncu) is not here; looked in PATH, CUDA_HOME, CUDA_PATH, /usr/local/cuda*, "
            "/opt/nvidia/nsight-compute");
    char *texts[] = {strdup(wishes->page), strdup(wishes->metrics), strdup(wishes->to),
                     strdup(wishes->options != NULL ? wishes->options : "")};
    bool fine = texts[0] != NULL && texts[1] != NULL && texts[2] != NULL && texts[3] != NULL && add(&w, ncu);
    for (size_t i = 0; fine && i < sizeof constant / sizeof constant[0]; i++) {
        fine = add(&w, constant[i]);
        if (fine && i == 1) fine = add(&w, texts[0]);
        if (fine && i == 2) fine = add(&w, texts[1]);
    }
    fine = fine && add(&w, texts[2]);
    char *rest = NULL;
    for (char *word = fine ? strtok_r(texts[3], " ", &rest) : NULL; fine && word != NULL;
         word = strtok_r(NULL, " ", &rest))
        fine = add(&w, word);
    char **line = fine ? join(&w, wishes->command) : NULL;
    int code = line != NULL ? run(args, line, wishes, program)
                            : cli_error(args, JM_NO_MEMORY, "", "out of memory, or too many --ncu-options");
    free(line);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        free(texts[i]);
    return code;
}
