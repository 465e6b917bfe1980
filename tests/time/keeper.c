/* virtual-time COMMAND [ARGUMENT...]
 *
 * Runs a command whose time passes only while all its processes and threads sleep: then at once to when the
 * first of them wants to wake. What a processor does takes no time but 200 ns for each look at a clock, so a
 * busy machine changes nothing, and an hour of sleep ends in a moment. Exit code: the command's; 86 where all
 * sleep for ever. What the command leaves behind has a little time to end by itself. Inside of another
 * virtual-time, that one's time. */
#include "page.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_MIN_NS 20000
#define PAUSE_MAX_NS 4000000
#define STUCK_NS     (10 * NS_PER_S) /* real: asleep without a time to wake */
#define AFTER_NS     (10 * NS_PER_S) /* virtual: for what is left when the command has ended */
#define AFTER_REAL   (5 * NS_PER_S)

enum { TASKS = 4096, STUCK = 86 };

/* A thread of the command, with its files in /proc. */
typedef struct task {
    pid_t pid, tid;
    int stat, runs;
    bool found;
    /* as last seen */
    waiter *waits;
    uint32_t sequence;
    unsigned long long ran;
} task;

static page *shared;
static char folder[] = "/tmp/virtual-time-XXXXXX";
static task tasks[TASKS];
static int task_count;
static int pids_file = -1;

static int64_t real_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static int64_t now_ns(void)
{
    return atomic_load(&shared->now_ns);
}

static void fail(const char *what)
{
    fprintf(stderr, "virtual-time: %s: %s\n", what, strerror(errno));
    exit(STUCK);
}

/* ---- all threads of the command ---- */

static int proc_open(pid_t pid, pid_t tid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", pid, tid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static void task_add(pid_t pid, pid_t tid)
{
    for (int i = 0; i < task_count; i++) {
        if (tasks[i].tid != tid) continue;
        tasks[i].found = true;
        return;
    }
    if (task_count == TASKS) fail("more than 4096 threads");
    task one = {.pid = pid,
                .tid = tid,
                .stat = proc_open(pid, tid, "stat"),
                .runs = proc_open(pid, tid, "schedstat")};
    one.found = one.stat >= 0 && one.runs >= 0;
    if (!one.found && (errno == EMFILE || errno == ENFILE)) fail("/proc");
    tasks[task_count++] = one;
}

static void walk(pid_t pid)
{
    char path[64];
    struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    while (threads != NULL && (entry = readdir(threads)) != NULL) {
        pid_t tid = (pid_t)atoi(entry->d_name);
        if (tid == 0) continue;
        if (pid != getpid()) task_add(pid, tid);
        int file = proc_open(pid, tid, "children");
        FILE *children = file < 0 ? NULL : fdopen(file, "r");
        for (int child; children != NULL && fscanf(children, "%d", &child) == 1;)
            walk((pid_t)child);
        if (children != NULL) fclose(children);
    }
    if (threads != NULL) closedir(threads);
}

/* The last number that a process or a thread on this machine was given. */
static long last_pid(void)
{
    char line[128] = "";
    ssize_t length = pread(pids_file, line, sizeof line - 1, 0);
    const char *last = length > 0 ? strrchr(line, ' ') : NULL;
    return last == NULL ? -1 : atol(last);
}

/* '\0': gone. */
static char state_of(const task *one)
{
    char line[128];
    ssize_t length = pread(one->stat, line, sizeof line - 1, 0);
    if (length <= 0) return '\0';
    line[length] = '\0';
    const char *end = strrchr(line, ')');
    return end == NULL || end[1] == '\0' ? '?' : end[2];
}

/* Who was not found may be there all the same: the kernel's list of children skips some while others end. */
static void tasks_drop_gone(void)
{
    int kept = 0;
    for (int i = 0; i < task_count; i++) {
        if (tasks[i].found || state_of(&tasks[i]) != '\0') {
            tasks[kept++] = tasks[i];
            continue;
        }
        close(tasks[i].stat);
        close(tasks[i].runs);
    }
    task_count = kept;
}

/* ---- who waits ---- */

static struct {
    int32_t tid;
    uint32_t sequence;
    waiter *at;
} listed[WAITERS];
static int listed_count;

/* The last of each thread: a signal handler may wait inside of a wait. */
static void listed_read(void)
{
    listed_count = 0;
    for (int i = 0; i < WAITERS; i++) {
        waiter *one = &shared->waiters[i];
        int32_t tid = atomic_load(&one->tid);
        uint32_t sequence = atomic_load(&one->sequence);
        int at = 0;
        if (tid <= 0) continue;
        while (at < listed_count && listed[at].tid != tid)
            at++;
        if (at < listed_count && (int32_t)(sequence - listed[at].sequence) < 0) continue;
        listed[at].tid = tid;
        listed[at].sequence = sequence;
        listed[at].at = one;
        if (at == listed_count) listed_count++;
    }
}

static void listed_find(task *of)
{
    of->waits = NULL;
    for (int i = 0; i < listed_count; i++) {
        if (listed[i].tid != of->tid) continue;
        of->waits = listed[i].at;
        of->sequence = listed[i].sequence;
    }
}

/* Says when the next wants to wake, and wakes those whose time has come: in this order, as who is woken may
 * take the processor from us. */
static void wake_due(int64_t t_ns)
{
    static waiter *woken[WAITERS];
    int due = 0;
    bool writing = false;
    uint32_t sequence = atomic_load(&shared->sequence);
    int64_t next_ns = NEVER;
    for (int i = 0; i < WAITERS; i++) {
        waiter *one = &shared->waiters[i];
        int32_t tid = atomic_load(&one->tid);
        writing = writing || tid < 0;
        if (tid <= 0 || atomic_load(&one->wakes_by) == NOT_ASLEEP) continue;
        int64_t until_ns = atomic_load(&one->until_ns);
        if (until_ns <= t_ns)
            woken[due++] = one;
        else if (until_ns < next_ns)
            next_ns = until_ns;
    }
    if (!writing && atomic_load(&shared->sequence) == sequence) /* who comes meanwhile lowers it */
        atomic_store(&shared->next_ns, next_ns);
    atomic_store(&shared->due, due);
    if (t_ns > now_ns()) atomic_fetch_add(&shared->now_ns, t_ns - now_ns());
    for (int i = 0; i < due; i++) {
        int by = atomic_load(&woken[i]->wakes_by);
        if (by == BY_ITSELF || by >= CONDITIONS) continue;
        _Atomic uint32_t *word = by == BY_OWN_WORD ? &woken[i]->word : &shared->conditions[by];
        atomic_fetch_add(word, 1);
        syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}

/* ---- whether all sleep ---- */

/* How often it got a processor. */
static unsigned long long ran_of(const task *one)
{
    char line[128];
    unsigned long long ran = 0;
    ssize_t length = pread(one->runs, line, sizeof line - 1, 0);
    if (length <= 0) return 0;
    line[length] = '\0';
    return sscanf(line, "%*u %*u %llu", &ran) == 1 ? ran : 0;
}

static bool is_sleep(char state)
{
    return state == 'S' || state == 'T' || state == 'Z' || state == 'X';
}

/* How many there are that were not known. */
static int tasks_find(void)
{
    int known = task_count;
    for (int i = 0; i < task_count; i++)
        tasks[i].found = false;
    walk(getpid());
    int fresh = task_count - known;
    tasks_drop_gone();
    return fresh;
}

/* Whether all sleep, and when the first of them wants to wake. Who waits for no time sleeps now, and has not
 * run when all have been looked at; who waits for a time sleeps after them, and is in the same wait in the
 * end. So there was a moment between at which all slept, and nobody was left to wake one. */
static bool all_sleep(int64_t *wake_ns)
{
    static long whole_pid = -1;
    static int runner; /* who ran the last time: mostly runs still */
    if (task_count == 0) (void)tasks_find();
    if (task_count == 0 || (runner < task_count && state_of(&tasks[runner]) == 'R')) return false;
    listed_read();
    *wake_ns = NEVER;
    for (int i = 0; i < task_count; i++) {
        task *one = &tasks[runner = i];
        listed_find(one);
        if (one->waits != NULL) continue;
        one->ran = ran_of(one);
        char state = state_of(one);
        if (state == '\0') (void)tasks_find();
        if (!is_sleep(state)) return false;
    }
    for (int i = 0; i < task_count; i++) {
        task *one = &tasks[runner = i];
        if (one->waits == NULL) continue;
        int64_t until_ns = atomic_load(&one->waits->until_ns);
        char state = state_of(one);
        if (state == '\0') (void)tasks_find();
        if (!is_sleep(state) || (state == 'S' && until_ns <= now_ns())) return false;
        if (state == 'S' && until_ns < *wake_ns) *wake_ns = until_ns;
    }
    /* Who is being made may not be seen yet; but nobody is while all sleep that are known. What is found now
     * is all until somebody on this machine makes another. */
    long pid = last_pid();
    if ((pid < 0 || pid != whole_pid) && (tasks_find() != 0 || tasks_find() != 0)) return false;
    for (int i = 0; i < task_count; i++) {
        const task *one = &tasks[runner = i];
        bool same = one->waits == NULL ? is_sleep(state_of(one)) && ran_of(one) == one->ran
                                       : atomic_load(&one->waits->tid) == one->tid &&
                                             atomic_load(&one->waits->sequence) == one->sequence;
        if (!same) return false;
    }
    whole_pid = pid;
    return true;
}

/* Waiters whose thread is gone. */
static void waiters_drop_gone(void)
{
    for (int i = 0; i < WAITERS; i++) {
        int32_t tid = atomic_load(&shared->waiters[i].tid);
        if (tid == 0) continue;
        bool found = false;
        for (int n = 0; n < task_count && !found; n++)
            found = tasks[n].tid == abs(tid);
        if (!found) atomic_compare_exchange_strong(&shared->waiters[i].tid, &tid, 0);
    }
}

/* ---- the command ---- */

static int64_t second_after(int64_t t_ns)
{
    return (t_ns + NS_PER_S - 1) / NS_PER_S * NS_PER_S;
}

static void page_create(void)
{
    char path[64];
    if (mkdtemp(folder) == NULL || chmod(folder, 0755) != 0) fail(folder);
    snprintf(path, sizeof path, "%s/page", folder);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0 || fchmod(file, 0666) != 0 || ftruncate(file, sizeof(page)) != 0) fail(path);
    shared = mmap(NULL, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (shared == MAP_FAILED) fail(path);
    close(file);
    setenv(PAGE_VARIABLE, path, 1);
    /* At whole seconds, so that what goes by them is the same in each run. */
    int64_t real = real_ns(CLOCK_MONOTONIC);
    shared->now_ns = second_after(real);
    shared->next_ns = NEVER;
    shared->realtime_ns = second_after(real_ns(CLOCK_REALTIME) - real);
    shared->boottime_ns = second_after(real_ns(CLOCK_BOOTTIME) - real);
}

/* By a link: no blank in the build folder's name divides LD_PRELOAD. */
static void preload_set(void)
{
    char own[PATH_MAX], library[PATH_MAX + 32], link[64], list[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length < 0) fail("/proc/self/exe");
    own[length] = '\0';
    *strrchr(own, '/') = '\0';
    snprintf(library, sizeof library, "%s/libvirtual_time.so", own);
    snprintf(link, sizeof link, "%s/libvirtual_time.so", folder);
    if (access(library, R_OK) != 0 || symlink(library, link) != 0) fail(library);
    const char *others = getenv("LD_PRELOAD");
    snprintf(list, sizeof list, "%s%s%s", link, others == NULL ? "" : ":", others == NULL ? "" : others);
    setenv("LD_PRELOAD", list, 1);
}

static void folder_remove(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/page", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/libvirtual_time.so", folder);
    unlink(path);
    rmdir(folder);
}

static pid_t command_start(char **arguments, const sigset_t *signals)
{
    pid_t keeper = getpid(), command = fork();
    if (command < 0) fail("fork");
    if (command > 0) return command;
    sigprocmask(SIG_SETMASK, signals, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) _exit(STUCK);
    execvp(arguments[0], arguments);
    fprintf(stderr, "virtual-time: %s: %s\n", arguments[0], strerror(errno));
    _exit(127);
}

static void kill_all(const char *why)
{
    if (why != NULL) fprintf(stderr, "virtual-time: %s\n", why);
    for (int i = 0; i < task_count; i++) {
        char line[128];
        ssize_t length = pread(tasks[i].stat, line, sizeof line - 1, 0);
        if (why != NULL && length > 0) fprintf(stderr, "  %.*s\n", (int)strcspn(line, ")") + 3, line);
        if (tasks[i].pid == tasks[i].tid) kill(tasks[i].pid, SIGKILL);
    }
}

static struct {
    pid_t pid;
    bool ended;
    int code;
    int64_t ended_ns, ended_real_ns;
} command;

/* false: no process is left. */
static bool reap(void)
{
    int how;
    pid_t pid;
    while ((pid = waitpid(-1, &how, WNOHANG)) > 0) {
        if (pid != command.pid) continue;
        command.ended = true;
        command.code = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
        command.ended_ns = now_ns();
        command.ended_real_ns = real_ns(CLOCK_MONOTONIC);
    }
    return pid == 0;
}

static int keep(const sigset_t *watched)
{
    int64_t stirred_ns = real_ns(CLOCK_MONOTONIC), pause_ns = PAUSE_MIN_NS;
    while (reap()) {
        int64_t wake_ns = NEVER, real = real_ns(CLOCK_MONOTONIC);
        bool asleep = all_sleep(&wake_ns);
        if (asleep && wake_ns < NEVER) waiters_drop_gone();
        wake_due(asleep && wake_ns < NEVER ? wake_ns : now_ns());
        if (!asleep || wake_ns < NEVER) stirred_ns = real;
        if (command.ended) {
            bool over = real - command.ended_real_ns > AFTER_REAL || now_ns() - command.ended_ns > AFTER_NS;
            if (over || (asleep && wake_ns == NEVER)) kill_all(NULL);
        } else if (real - stirred_ns > STUCK_NS) {
            kill_all("everybody sleeps and nobody has a deadline");
            return STUCK;
        }
        /* What runs for long is looked at seldom. */
        if (asleep && wake_ns < NEVER)
            pause_ns = PAUSE_MIN_NS;
        else if (pause_ns < PAUSE_MAX_NS)
            pause_ns += pause_ns / 4;
        siginfo_t info;
        struct timespec most = {0, pause_ns};
        int number = sigtimedwait(watched, &info, &most);
        if (number > 0 && number != SIGCHLD && info.si_code <= 0) kill(command.pid, number);
    }
    return command.code;
}

int main(int count, char **arguments)
{
    static const int passed[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD};
    if (count < 2 || arguments[1][0] == '-') {
        fputs("usage: virtual-time COMMAND [ARGUMENT...]\n", stderr);
        return 2;
    }
    if (getenv(PAGE_VARIABLE) != NULL) {
        execvp(arguments[1], arguments + 1);
        fail(arguments[1]);
    }
    page_create();
    atexit(folder_remove);
    preload_set();
    sigset_t watched, before;
    sigemptyset(&watched);
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
        sigaddset(&watched, passed[i]);
    sigprocmask(SIG_BLOCK, &watched, &before);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_TIMERSLACK, 1);
    command.pid = command_start(arguments + 1, &before);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    pids_file = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    return keep(&watched);
}
