/* `joulemap attach`: record a program that runs already. */
#include "cli/recorder.h"
#include "cli/verb.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- a process and its descendants */

typedef struct process {
    pid_t pid, parent;
} process;

/* All processes. The caller frees the array. */
static process *list_processes(size_t *count)
{
    process *all = NULL;
    size_t capacity = 0;
    *count = 0;
    DIR *folder = opendir("/proc");
    if (folder == NULL) return NULL;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
        if (*count == capacity) {
            process *moved = realloc(all, (capacity = capacity == 0 ? 256 : 2 * capacity) * sizeof *all);
            if (moved == NULL) break;
            all = moved;
        }
        all[*count] = (process){(pid_t)atoi(entry->d_name), cli_child_parent(entry->d_name)};
        *count += all[*count].parent >= 0;
    }
    closedir(folder);
    return all;
}

/* Store `root`, then all its living descendants, at most `most`. Orphans are left out: their parent is gone.
 * Returns the number stored. */
static size_t descendants(pid_t root, pid_t *out, size_t most)
{
    size_t count, found = 0;
    process *all = list_processes(&count);
    if (most > 0) out[found++] = root;
    for (size_t next = 0; next < found; next++)
        for (size_t i = 0; i < count && found < most; i++)
            if (all[i].parent == out[next] && all[i].pid != root) out[found++] = all[i].pid;
    free(all);
    return found;
}

/* ---- following the processes */

#define NS_PER_S       INT64_C(1000000000)
#define POLL_NS        (NS_PER_S / 5)  /* how often the process's end is checked */
#define SCAN_NS        NS_PER_S        /* how often new processes and libraries are looked for */
#define RETRY_NS       (10 * NS_PER_S) /* how long a process that cannot be recorded is left alone */
#define PROCESSES_MOST 4096
#define REFUSED_MOST   256

static const cli_option options[] = {
    {"--output", 'o', "FILE", "the recording (default: joulemap-DATE-TIME-PID.joulemap)", NULL},
    {"--force", 'f', NULL, "replace an existing recording", NULL},
    {"--seconds", 0, "S", "detach after that many seconds (default: at Ctrl-C, or when the process ends)",
     NULL},
    {"--only", 0, NULL, "leave out the processes that it has started, and starts", NULL},
    CLI_SIM_OPTION,
    CLI_RECORDER_MEASURES,
    {0},
};

/* A process that is not tried again before until_ns. Each try would leave a fraction of a second recorded. */
typedef struct refused {
    pid_t pid;
    int64_t until_ns; /* INT64_MAX: never again */
} refused;

typedef struct attachment {
    const cli_args *args;
    cli_recorder recorder;
    pid_t pid;
    int pidfd; /* -1: the kernel has no pidfd_open */
    size_t following;
    jm_following root; /* how the process PID is followed */
    bool printed_kernels;
    refused refused[REFUSED_MOST];
    size_t refused_count;
    char why_refused[640]; /* first descendant that was refused, and why; "": none */
    char why_root[640];    /* why the process PID was refused; "" */
    bool printed_refused, printed_root;
} attachment;

static bool get_pid(const cli_args *args, pid_t *pid)
{
    const char *text = cli_operand(args, 0);
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno == 0 && end != text && *end == '\0' && value > 0 && value <= INT32_MAX) {
        *pid = (pid_t)value;
        return true;
    }
    cli_usage_error(args, "\"%.40s\" is not a process number; `nvidia-smi` and `pgrep` print them", text);
    return false;
}

/* The process's command line, quoted for a shell. The caller frees it. NULL: unknown. */
static char *read_command(pid_t pid)
{
    char path[64], *words[256] = {NULL}, *word = NULL;
    size_t capacity = 0, count = 0;
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) return NULL;
    while (count + 1 < sizeof words / sizeof *words && getdelim(&word, &capacity, '\0', file) > 0) {
        words[count] = strdup(word);
        if (words[count] == NULL) break;
        count++;
    }
    (void)fclose(file);
    free(word);
    char *text = count == 0 ? NULL : cli_child_text(words);
    while (count > 0)
        free(words[--count]);
    return text;
}

static bool has_ended(const attachment *a)
{
    struct pollfd end = {.fd = a->pidfd, .events = POLLIN};
    if (a->pidfd >= 0) return poll(&end, 1, 0) > 0;
    return kill(a->pid, 0) != 0 && errno == ESRCH;
}

static bool was_refused(const attachment *a, pid_t pid)
{
    int64_t now_ns = jm_now_ns();
    for (size_t i = 0; i < a->refused_count; i++)
        if (a->refused[i].pid == pid && a->refused[i].until_ns > now_ns) return true;
    return false;
}

/* The slot of this process, else one that has expired, else a new one; if full, the slot that expires first.
 */
static refused *refusal_slot(attachment *a, pid_t pid, int64_t now_ns)
{
    refused *place = NULL;
    for (size_t i = 0; i < a->refused_count; i++) {
        refused *one = &a->refused[i];
        if (one->pid == pid) return one;
        if (place == NULL || one->until_ns < place->until_ns) place = one;
    }
    bool is_over = place != NULL && place->until_ns <= now_ns;
    return is_over || a->refused_count == REFUSED_MOST ? place : &a->refused[a->refused_count++];
}

/* A process that has ended is no refusal. */
static void note_refusal(attachment *a, pid_t pid, const jm_error *err)
{
    if (err->status == JM_NOT_FOUND) return;
    bool for_good = err->status == JM_NOT_SUPPORTED; /* a stopped process may continue */
    int64_t now_ns = jm_now_ns();
    *refusal_slot(a, pid, now_ns) = (refused){pid, for_good ? INT64_MAX : now_ns + RETRY_NS};
    bool is_root = pid == a->pid;
    char *why = is_root ? a->why_root : a->why_refused;
    if (why[0] != '\0') return;
    snprintf(why, sizeof a->why_root, "%d%s is not recorded: %.500s", (int)pid,
             is_root ? "" : ", which it has started", err->text);
}

/* JM_FOLLOWING_NOTHING for a process that was refused and is not due for a retry. */
static jm_status follow(attachment *a, pid_t pid, jm_following *how, jm_error *err)
{
    *how = JM_FOLLOWING_NOTHING;
    if (was_refused(a, pid)) return JM_OK;
    jm_status status = jm_run_follow(a->recorder.run, pid, !cli_has(a->args, "--no-kernels"), how, err);
    if (status != JM_OK) note_refusal(a, pid, err);
    a->following += *how == JM_FOLLOWING;
    return status;
}

static jm_status follow_root(attachment *a, jm_error *err)
{
    a->following = 0;
    return follow(a, a->pid, &a->root, err);
}

static void follow_descendants(attachment *a)
{
    static pid_t all[PROCESSES_MOST];
    size_t count = cli_has(a->args, "--only") ? 1 : descendants(a->pid, all, PROCESSES_MOST);
    for (size_t i = 1; i < count; i++) {
        jm_following how;
        jm_error ignored;
        (void)follow(a, all[i], &how, &ignored);
        if (how == JM_FOLLOWING_LATER && a->root == JM_FOLLOWING_NOTHING) a->root = how;
    }
}

static void print_once(const attachment *a, bool *printed, const char *text)
{
    if (*printed || text == NULL || text[0] == '\0') return;
    *printed = true;
    cli_message(a->args, "%s", text);
}

static void print_missing(attachment *a)
{
    print_once(a, &a->printed_kernels, jm_run_kernels_missing(a->recorder.run));
    print_once(a, &a->printed_root, a->why_root);
    print_once(a, &a->printed_refused, a->why_refused);
}

static void print_boards_only(const attachment *a, const char *name, const char *until)
{
    cli_message(
        a->args,
        "%d (%.80s) was not started dormant: only the power of the boards is recorded, whoever uses them%s",
        (int)a->pid, name, until);
    cli_message_part("  to see its kernels and layers: joulemap dormant -- COMMAND, then attach");
    fputc('\n', stderr);
}

static void print_start(attachment *a, const char *command)
{
    const char *name = command == NULL ? "?" : command;
    const char *until = cli_has(a->args, "--seconds") ? "" : "; Ctrl-C detaches";
    char more[64] = "";
    if (a->following > 1) snprintf(more, sizeof more, " and %zu processes that it started", a->following - 1);
    if (a->following > 0)
        cli_message(a->args, "recording %d (%.80s)%s%s", (int)a->pid, name, more, until);
    else if (a->root == JM_FOLLOWING_LATER)
        cli_message(
            a->args,
            "%d (%.80s) uses neither CUDA nor NVTX nor joulemap yet: it is recorded from when it does%s",
            (int)a->pid, name, until);
    else
        print_boards_only(a, name, until);
    print_missing(a);
}

/* Wait until a signal arrives, the process ends or `seconds` have passed (0: no limit), and follow new
 * processes. */
static void wait_for_end(attachment *a, double seconds)
{
    sigset_t ends;
    sigemptyset(&ends);
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&ends, numbers[i]);
    int64_t start_ns = jm_now_ns(), scanned_ns = start_ns;
    int64_t until_ns = seconds > 0 ? start_ns + (int64_t)(seconds * (double)NS_PER_S) : INT64_MAX;
    while (!has_ended(a)) {
        int64_t now_ns = jm_now_ns(), left_ns = until_ns - now_ns;
        if (left_ns <= 0) return;
        if (left_ns > POLL_NS) left_ns = POLL_NS;
        const struct timespec wait = {.tv_nsec = left_ns};
        if (sigtimedwait(&ends, NULL, &wait) > 0) return;
        if (jm_now_ns() - scanned_ns < SCAN_NS) continue;
        jm_error ignored;
        (void)follow_root(a, &ignored);
        follow_descendants(a);
        print_missing(a);
        scanned_ns = jm_now_ns();
    }
    cli_message(a->args, "%d has ended", (int)a->pid);
}

static int record(attachment *a, const char *command, double seconds)
{
    jm_error err;
    int code = cli_recorder_start_for(&a->recorder, a->args, command);
    if (code != CLI_GO_ON) return code;
    if (follow_root(a, &err) != JM_OK) {
        cli_recorder_discard(&a->recorder);
        return cli_fail(a->args, &err);
    }
    if (!cli_has(a->args, "--only"))
        (void)jm_run_expect(a->recorder.run, a->pid, !cli_has(a->args, "--no-kernels"), &err);
    follow_descendants(a);
    cli_recorder_keep(&a->recorder, a->pid);
    print_start(a, command);
    wait_for_end(a, seconds);
    code = cli_recorder_end(&a->recorder);
    cli_recorder_print_summary(&a->recorder);
    return code;
}

static int run_attach(const cli_args *args)
{
    attachment a = {.args = args, .pidfd = -1};
    double seconds = 0;
    if (!get_pid(args, &a.pid) || !cli_get_real(args, "--seconds", 0, 1e9, &seconds))
        return jm_status_exit_code(JM_USAGE);
    a.pidfd = (int)syscall(SYS_pidfd_open, a.pid, 0);
    if (a.pidfd < 0 && errno == ESRCH)
        return cli_error(args, JM_NOT_FOUND, "`nvidia-smi` and `pgrep` print process numbers",
                         "there is no process %d", (int)a.pid);
    char *command = read_command(a.pid);
    int code = record(&a, command, seconds);
    free(command);
    if (a.pidfd >= 0) close(a.pidfd);
    return code;
}

const cli_verb cli_verb_attach = {
    .name = "attach",
    .usage = "[options] PID",
    .summary = "record a program that runs already",
    .description =
        "Records the power of all GPUs, and of process PID and those that it started their kernels, NVTX "
        "ranges and spans, if they were started by `joulemap dormant`: from now until Ctrl-C, the end of "
        "--seconds or of the process. The process goes on unchanged and can be attached to again. It is "
        "neither stopped nor traced nor sent a signal.\n\n"
        "Of a program that was started otherwise, only the power of the boards is recorded, whoever uses "
        "them.\n\n"
        "  joulemap attach --seconds 60 -o minute.joulemap 4711\n"
        "  joulemap report minute.joulemap --by layer",
    .options = options,
    .min_operands = 1,
    .max_operands = 1,
    .looks_at_gpus = true,
    .run = run_attach,
};
