/* Starts the command of `record` and `stat` in the foreground, waits for its end and passes signals on to it.
 */
#include "cli/child.h"

#include <dirent.h>
#include <errno.h>
#include <joulemap/run.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const int handled[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
static sigset_t mask_before;

static bool file_limit_kills;

void cli_child_spare_file_limit(void)
{
    file_limit_kills = signal(SIGXFSZ, SIG_IGN) == SIG_DFL;
}

static void handled_set(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
        sigaddset(set, handled[i]);
}

void cli_child_prepare(void)
{
    sigset_t set;
    signal(SIGCHLD, SIG_DFL); /* an inherited SIG_IGN would hide the end of children */
    handled_set(&set);
    sigprocmask(SIG_BLOCK, &set, &mask_before);
    /* Orphans of the command become our children, so that cli_child_release sees them. */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* ---- start */

static bool same_key(const char *a, const char *b)
{
    size_t length = strcspn(a, "=");
    return strncmp(a, b, length) == 0 && b[length] == '=';
}

/* `ours`, then the variables of environ that it does not replace. Only the array is allocated. */
static char **merge(const char *const *ours)
{
    size_t count = 0, our_count = 0;
    while (environ[count] != NULL)
        count++;
    while (ours[our_count] != NULL)
        our_count++;
    char **merged = calloc(count + our_count + 1, sizeof *merged);
    if (merged == NULL) return NULL;
    memcpy(merged, ours, our_count * sizeof *merged);
    size_t end = our_count;
    for (size_t i = 0; i < count; i++) {
        bool replaced = false;
        for (size_t j = 0; j < our_count && !replaced; j++)
            replaced = same_key(ours[j], environ[i]);
        if (!replaced) merged[end++] = environ[i];
    }
    return merged;
}

static jm_status fail_to_start(cli_child *child, const char *name, int code, jm_error *err)
{
    bool missing = code == ENOENT || code == ENOTDIR;
    child->exit_code = missing ? 127 : 126;
    *err = (jm_error){.status = JM_CHILD, .code = code};
    snprintf(err->call, sizeof err->call, "posix_spawnp");
    snprintf(err->text, sizeof err->text, "%s cannot be started: %s", name, strerror(code));
    snprintf(err->hint, sizeof err->hint, "%s", jm_status_hint(JM_CHILD));
    return JM_CHILD;
}

jm_status cli_child_start(cli_child *child, char **command, const char *const *environment, jm_error *err)
{
    *child = (cli_child){0};
    char **merged = merge(environment);
    if (merged == NULL) return fail_to_start(child, command[0], ENOMEM, err);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    sigset_t defaults;
    sigemptyset(&defaults);
    if (file_limit_kills) sigaddset(&defaults, SIGXFSZ);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setsigmask(&attributes, &mask_before);
    child->start_ns = jm_now_ns();
    int code = posix_spawnp(&child->pid, command[0], NULL, &attributes, command, merged);
    posix_spawnattr_destroy(&attributes);
    free(merged);
    return code == 0 ? JM_OK : fail_to_start(child, command[0], code, err);
}

int cli_child_become(const char *program, char **command, jm_error *err)
{
    cli_child none = {0};
    if (file_limit_kills) signal(SIGXFSZ, SIG_DFL);
    execvp(program, command);
    fail_to_start(&none, program, errno, err);
    return none.exit_code;
}

/* ---- end */

/* Reap all children that ended; true if the command is one of them. */
static bool reap(cli_child *child)
{
    bool ended = false;
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != child->pid) continue;
        child->end_ns = jm_now_ns();
        child->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        child->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        ended = true;
    }
    return ended;
}

/* A signal from the kernel is a key on the terminal, which the whole foreground group gets anyway. */
static void pass_on(pid_t command, int number, const siginfo_t *info)
{
    if (info->si_code != SI_KERNEL) kill(command, number);
}

void cli_child_pass_signals_on(pid_t command)
{
    sigset_t set;
    siginfo_t info;
    int number;
    const struct timespec at_once = {0};
    handled_set(&set);
    while ((number = sigtimedwait(&set, &info, &at_once)) > 0)
        if (number != SIGCHLD) pass_on(command, number, &info);
}

bool cli_child_wait_until(cli_child *child, int64_t until_ns)
{
    sigset_t set;
    handled_set(&set);
    for (;;) {
        siginfo_t info;
        if (reap(child)) return true;
        int64_t left_ns = until_ns - jm_now_ns();
        if (left_ns <= 0) return false;
        const struct timespec left = {.tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000};
        int number = sigtimedwait(&set, &info, &left);
        if (number > 0 && number != SIGCHLD) pass_on(child->pid, number, &info);
    }
}

void cli_child_wait(cli_child *child)
{
    while (!cli_child_wait_until(child, INT64_MAX)) {
    }
}

/* The beginning of /proc/PID/`file`; "" if the process is gone. */
static void read_proc_file(const char *pid, const char *file, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s/%s", pid, file);
    FILE *from = fopen(path, "re");
    size_t count = from == NULL ? 0 : fread(out, 1, size - 1, from);
    if (from != NULL) (void)fclose(from);
    out[count] = '\0';
}

pid_t cli_child_parent(const char *pid)
{
    char text[512], state;
    int parent;
    read_proc_file(pid, "stat", text, sizeof text);
    const char *end = strrchr(text, ')'); /* NAME may contain any character, parentheses too */
    bool lives = end != NULL && sscanf(end + 1, " %c %d", &state, &parent) == 2 && state != 'Z';
    return lives ? (pid_t)parent : -1;
}

/* The guard of a cap lease lives some seconds longer than the lease if the GPU is lost. */
static bool is_helper_of_ours(const char *pid)
{
    char name[32];
    read_proc_file(pid, "cmdline", name, sizeof name); /* up to the end of its first word */
    return strcmp(name, "joulemap-cap") == 0 || strcmp(name, "joulemap-counters") == 0;
}

/* Whether a child exists that is not a helper of ours. Without /proc every child counts. */
static bool command_has_children(void)
{
    DIR *folder = opendir("/proc");
    if (folder == NULL) return true;
    bool found = false;
    for (struct dirent *entry; !found && (entry = readdir(folder)) != NULL;) {
        const char *pid = entry->d_name;
        found =
            pid[0] >= '1' && pid[0] <= '9' && cli_child_parent(pid) == getpid() && !is_helper_of_ours(pid);
    }
    closedir(folder);
    return found;
}

/* Whether processes of the command still run, orphans too. A process that is just ending gets up to 50 ms. */
static bool processes_are_left(void)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    pid_t pid = 0;
    for (int tries = 0; pid == 0 && tries < 10; tries++) {
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
        }
        if (pid == 0) nanosleep(&moment, NULL);
    }
    return pid == 0 && command_has_children();
}

void cli_child_release(cli_child *child)
{
    sigset_t set;
    handled_set(&set);
    const struct timespec at_once = {0};
    child->left_processes = processes_are_left();
    while (sigtimedwait(&set, NULL, &at_once) > 0 || errno == EINTR) {
    }
    sigprocmask(SIG_SETMASK, &mask_before, NULL);
}

/* ---- command lines as text */

static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%^";
    return word[0] != '\0' && word[strspn(word, plain)] == '\0';
}

static void print_word(FILE *out, const char *word)
{
    if (is_plain(word)) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word != '\0'; word++)
        *word == '\'' ? fputs("'\\''", out) : fputc(*word, out);
    fputc('\'', out);
}

/* Close a stream of open_memstream. Returns its text; NULL if memory is out. */
static char *text_of(FILE *out, char **text)
{
    if (fclose(out) == 0) return *text;
    free(*text);
    return NULL;
}

char *cli_child_text(char **command)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return NULL;
    for (char **word = command; *word != NULL; word++) {
        if (word != command) fputc(' ', out);
        print_word(out, *word);
    }
    return text_of(out, &text);
}

char *cli_typed_path(const char *path)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return NULL;
    if (path[0] == '-') fputs("./", out);
    print_word(out, path);
    return text_of(out, &text);
}
