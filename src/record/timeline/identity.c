/* /proc/PID and /proc/self. */
#include "record/timeline/identity.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROC_PATH_MAX = 64 };

static void proc_path(char path[PROC_PATH_MAX], pid_t pid, const char *file)
{
    if (pid == JM_SELF)
        snprintf(path, PROC_PATH_MAX, "/proc/self/%s", file);
    else
        snprintf(path, PROC_PATH_MAX, "/proc/%d/%s", (int)pid, file);
}

static int open_proc(pid_t pid, const char *file)
{
    char path[PROC_PATH_MAX];
    proc_path(path, pid, file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* After EBADF the program has closed all descriptors, and the number may belong to another file by now. */
static void close_proc(int fd, ssize_t count)
{
    if (count >= 0 || errno != EBADF) close(fd);
}

static ssize_t read_proc(pid_t pid, const char *file, char *text, size_t size)
{
    int fd = open_proc(pid, file);
    if (fd < 0) return -1;
    ssize_t count = read(fd, text, size - 1);
    close_proc(fd, count);
    if (count >= 0) text[count] = '\0';
    return count;
}

ssize_t jm__process_value(pid_t pid, const char *file, const char *name, int end, char *value, size_t size)
{
    char path[PROC_PATH_MAX], *entry = NULL;
    size_t room = 0, length = strlen(name);
    ssize_t found = -1;
    proc_path(path, pid, file);
    FILE *from = fopen(path, "re");
    if (from == NULL) return -1;
    while (found < 0 && getdelim(&entry, &room, end, from) > 0)
        if (strncmp(entry, name, length) == 0) found = snprintf(value, size, "%s", entry + length);
    free(entry);
    fclose(from);
    return found;
}

/* The folder has a link per thread. */
bool jm__process_has_threads(pid_t pid, nlink_t beside)
{
    char path[PROC_PATH_MAX];
    struct stat info;
    proc_path(path, pid, "task");
    return stat(path, &info) != 0 || info.st_nlink > 2 + 1 + beside;
}

bool jm__process_stat_read(pid_t pid, jm__process_stat *out)
{
    char text[512]; /* 22 numbers and a name of at most 64 letters */
    *out = (jm__process_stat){0};
    if (read_proc(pid, "stat", text, sizeof text) <= 0) return false;
    const char *after_name = strrchr(text, ')'); /* the name may contain anything */
    if (after_name != NULL &&
        sscanf(after_name + 1,
               " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %" SCNu64,
               &out->state, &out->parent, &out->start_ticks) == 3)
        return true;
    *out = (jm__process_stat){0};
    return false;
}

int64_t jm__process_start_ticks(pid_t pid)
{
    jm__process_stat now;
    return jm__process_stat_read(pid, &now) ? (int64_t)now.start_ticks : -1;
}

uint64_t jm__namespace_of(pid_t pid, const char *kind)
{
    char path[PROC_PATH_MAX], file[32];
    struct stat info;
    snprintf(file, sizeof file, "ns/%s", kind);
    proc_path(path, pid, file);
    return stat(path, &info) == 0 ? info.st_ino : 0;
}

/* The first line is "monotonic SECONDS NANOSECONDS": time_namespaces(7). It describes the namespace of future
 * children, which is this process's own unless it has just created another. */
int64_t jm__clock_ahead_ns(void)
{
    static const int64_t second_ns = INT64_C(1000000000);
    int before = errno;
    char text[128];
    int64_t seconds = 0, nanoseconds = 0;
    uint64_t own = jm__namespace_of(JM_SELF, "time");
    bool shown = own != 0 && own == jm__namespace_of(JM_SELF, "time_for_children");
    ssize_t count = !shown ? 0 : read_proc(JM_SELF, "timens_offsets", text, sizeof text);
    errno = before;
    if (count <= 0 || sscanf(text, "monotonic %" SCNd64 " %" SCNd64, &seconds, &nanoseconds) != 2) return 0;
    return seconds * second_ns + nanoseconds;
}

/* Its pid in its own namespace, which is the last of NSpid; 0: unknown. */
static pid_t innermost_pid(pid_t pid)
{
    char pids[512];
    if (jm__process_value(pid, "status", "NSpid:", '\n', pids, sizeof pids) < 0) return 0;
    const char *last = strrchr(pids, '\t');
    return last == NULL ? 0 : (pid_t)strtol(last, NULL, 10);
}

/* Compares namespaces, which /proc shows for processes of the same user; else start times. */
static bool matches(pid_t pid, const jm_ring_identity *identity)
{
    uint64_t pid_namespace = jm__namespace_of(pid, "pid");
    if (pid_namespace != 0) return pid_namespace == identity->pid_namespace;
    return jm__process_start_ticks(pid) == (int64_t)identity->start_ticks;
}

bool jm__namespace_is_first(uint64_t pid_namespace)
{
    return pid_namespace == 0xEFFFFFFC; /* PROC_PID_INIT_INO of Linux' proc_ns.h */
}

pid_t jm__process_here(pid_t pid, const jm_ring_identity *identity)
{
    pid_t found = 0;
    DIR *proc = opendir("/proc");
    if (proc == NULL) return 0;
    for (struct dirent *entry; found == 0 && (entry = readdir(proc)) != NULL;) {
        pid_t here = (pid_t)strtol(entry->d_name, NULL, 10);
        if (here > 0 && innermost_pid(here) == pid && matches(here, identity)) found = here;
    }
    closedir(proc);
    return found;
}

static void read_command(pid_t pid, char *text, size_t size)
{
    ssize_t count = read_proc(pid, "cmdline", text, size);
    while (count > 0 && text[count - 1] == '\0')
        count--;
    for (ssize_t i = 0; i < count; i++)
        if (text[i] == '\0') text[i] = ' ';
}

/* Variables in which launchers store a process's rank; the first one that is set counts. */
static const char *const rank_variables[] = {"RANK=", "OMPI_COMM_WORLD_RANK=", "SLURM_PROCID="};
enum { RANK_VARIABLES = sizeof rank_variables / sizeof *rank_variables, RANK_VARIABLE_MAX = 64 };

/* The rank of one variable (cut after RANK_VARIABLE_MAX), if it precedes `best` in the list. */
static void take_rank(const char *variable, size_t *best, int32_t *rank)
{
    for (size_t i = 0; i < *best; i++) {
        size_t length = strlen(rank_variables[i]);
        if (strncmp(variable, rank_variables[i], length) != 0) continue;
        char *end;
        long value = strtol(variable + length, &end, 10);
        if (end == variable + length || *end != '\0' || value < 0 || value > INT32_MAX) continue;
        *rank = (int32_t)value;
        *best = i;
    }
}

/* The rank in the initial environment of the process; -1: unset or not readable. */
static int32_t read_rank(pid_t pid)
{
    char block[256], variable[RANK_VARIABLE_MAX + 1];
    size_t length = 0, best = RANK_VARIABLES;
    int32_t rank = -1;
    int fd = open_proc(pid, "environ");
    if (fd < 0) return -1;
    ssize_t count;
    while ((count = read(fd, block, sizeof block)) > 0)
        for (ssize_t i = 0; i < count; i++) {
            if (block[i] != '\0') {
                if (length < RANK_VARIABLE_MAX) variable[length++] = block[i];
                continue;
            }
            variable[length] = '\0';
            take_rank(variable, &best, &rank);
            length = 0;
        }
    close_proc(fd, count);
    return rank;
}

bool jm__identity_read(pid_t pid, jm_ring_identity *identity)
{
    int before = errno;
    jm__process_stat own;
    memset(identity, 0, sizeof *identity);
    identity->rank = -1;
    bool found = jm__process_stat_read(pid, &own);
    if (found) {
        identity->start_ticks = own.start_ticks;
        identity->parent = own.parent;
        if (pid == JM_SELF) {
            identity->pid_namespace = jm__namespace_of(pid, "pid");
            identity->time_namespace = jm__namespace_of(pid, "time");
        }
        identity->rank = read_rank(pid);
        read_command(pid, identity->command, sizeof identity->command);
    }
    errno = before;
    return found;
}
