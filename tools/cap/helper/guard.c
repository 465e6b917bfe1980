/* A second process that puts the board back if the first is killed. */
#include "cap/helper/guard.h"

#include "base/clock.h"
#include "base/helper.h"
#include "cap/helper/put_back.h"
#include "cap/lease/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Guards of one helper: somebody kills them, or they cannot live here. */
enum { GUARDS_MAX = 1000 };
/* A board that is lost may come back soon; after that the next use of joulemap looks. */
enum { TRIES = 20 };
#define BETWEEN_TRIES_NS (INT64_C(250) * JM_NS_PER_MS)

/* ---- the helper's side */

bool jm__guard_start(jm__guard *guard, const jm__lease_folder *folder, const char *uuid, int lock)
{
    char pid[24], start[24], path[PATH_MAX], name[] = "joulemap-cap", task[] = "guard", board[JM_BOARD_TEXT];
    int ends[2];
    guard->pid = 0;
    guard->link = -1;
    if (guard->started++ >= GUARDS_MAX) return false;
    snprintf(pid, sizeof pid, "%lld", (long long)getpid());
    snprintf(start, sizeof start, "%lld", (long long)jm__process_start(getpid()));
    snprintf(path, sizeof path, "%s", folder->path);
    snprintf(board, sizeof board, "%s", uuid);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    char *arguments[] = {name, task, path, board, pid, start, NULL};
    const jm__helper process = {.command = "/proc/self/exe",
                                .arguments = arguments,
                                .environment = environ,
                                .input = lock,
                                .output = ends[1],
                                .own_group = true};
    int code = jm__helper_start(&guard->pid, &process);
    close(ends[1]);
    if (code != 0) {
        guard->pid = 0;
        close(ends[0]);
        return false;
    }
    guard->link = ends[0];
    return true;
}

void jm__guard_reap(jm__guard *guard)
{
    int status;
    if (guard->link >= 0) close(guard->link);
    if (guard->pid > 0) (void)jm__helper_reap(guard->pid, &status, jm__now_ns() + JM_NS_PER_S);
    guard->pid = 0;
    guard->link = -1;
}

/* ---- the guard */

static void ignore_signals(void)
{
    static const int signals[] = {SIGINT, SIGHUP, SIGQUIT, SIGTERM, SIGPIPE, SIGTSTP, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], SIG_IGN);
}

/* Its end of the link closes however it ends. */
static void wait_for_helper(void)
{
    char byte;
    for (;;) {
        ssize_t count = read(STDOUT_FILENO, &byte, 1);
        if (count == 0 || (count < 0 && errno != EINTR)) return;
    }
}

/* True: there is nothing left to do. */
static bool try_once(const jm__lease_folder *folder, const char *uuid, int64_t helper_pid,
                     int64_t helper_start)
{
    jm__lease_state state;
    jm_error err;
    int32_t index;
    jm_status status = jm__lease_state_read(&state, folder, uuid, &err);
    if (status == JM_NOT_FOUND) return true;
    if (status != JM_OK) return false; /* no descriptor or no memory for it now */
    /* Another lease, which began as this one was put back. */
    if (state.helper_pid != helper_pid || state.helper_start != helper_start) return true;
    return jm__put_back_lost(&state, folder, &index, &err) == JM_OK;
}

int jm__guard_run(int argc, char **argv)
{
    jm__lease_folder folder;
    if (argc < 6) return jm_status_exit_code(JM_USAGE);
    ignore_signals();
    jm__helper_close_others(-1);
    snprintf(folder.path, sizeof folder.path, "%s", argv[2]);
    wait_for_helper();
    int64_t pid = strtoll(argv[4], NULL, 10), start = strtoll(argv[5], NULL, 10);
    for (int i = 0; i < TRIES && !try_once(&folder, argv[3], pid, start); i++)
        jm__sleep_ns(BETWEEN_TRIES_NS);
    return 0;
}
