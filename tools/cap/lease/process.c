/* A process by its number and its start. */
#include "cap/lease/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* The fields of /proc/PID/stat after the name, which may hold anything. */
enum { STATE_FIELD = 3, START_FIELD = 22 };

/* Its start, and the letter of its state; 0: there is none. */
static int64_t look(int64_t pid, char *state)
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
    return pid <= 0 ? 0 : look(pid, &state);
}

bool jm__process_lives(int64_t pid, int64_t start)
{
    char state = 'X';
    return pid > 0 && start != 0 && look(pid, &state) == start && state != 'Z' && state != 'X';
}

int jm__process_signal(int64_t pid, int64_t start, int signal)
{
    int code = 0;
    /* Held by the descriptor, the number cannot become another's between look and signal. */
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
