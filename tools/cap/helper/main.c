/* The command joulemap-cap: holds one power cap for whoever started it, and puts back what it found. Not for
 * people. Of all that joulemap is made of this alone can set anything on a board.
 *
 *     joulemap-cap serve [--within LOW:HIGH] [--board N|UUID]
 *     joulemap-cap guard FOLDER UUID HELPER_PID HELPER_START
 *
 * A rule of sudo's or polkit's lets others than root set caps by it, within the bounds that the rule pins
 * (docs/caps.md). Whom a rule pins to either is refused clocks, too.
 */
#include "base/helper.h"
#include "cap/helper/serve.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* The holder has a child no longer: a program that waits for all of its children would wait for this one too;
 * and nothing that is meant for its terminal or its group is for this one. False in the process that is to
 * end at once. */
static bool leave_home(void)
{
    return fork() == 0 && setsid() >= 0;
}

/* SIGTERM puts back and leaves; all else that people send is not for this process. */
static void take_signals(jm__server *server)
{
    static const int ignored[] = {SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGUSR1, SIGUSR2};
    sigset_t terminate;
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    sigprocmask(SIG_BLOCK, &terminate, NULL);
    server->terminated = signalfd(-1, &terminate, SFD_CLOEXEC);
}

/* Last to be killed for want of memory, where one may say so. */
static void stay_alive(void)
{
    const struct rlimit no_core = {0};
    static const char score[] = "-900";
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    /* Who is not root may not, and is as everybody. */
    ssize_t written = fd < 0 ? -1 : write(fd, score, sizeof score - 1);
    (void)written;
    if (fd >= 0) close(fd);
    setrlimit(RLIMIT_CORE, &no_core);
}

static bool read_bounds(jm__server *server, char **argv)
{
    for (; argv[0] != NULL; argv += 2) {
        if (argv[1] == NULL) return false;
        if (strcmp(argv[0], "--board") == 0)
            server->board = argv[1];
        else if (strcmp(argv[0], "--within") != 0 ||
                 !jm__within_read(argv[1], &server->low_w, &server->high_w))
            return false;
    }
    return true;
}

static int fail_usage(void)
{
    fprintf(stderr,
            "joulemap-cap: started by joulemap alone, `joulemap cap` is for people; in a rule of sudo's:\n"
            "  joulemap-cap serve [--within LOW:HIGH] [--board N|UUID]\n");
    return jm_status_exit_code(JM_USAGE);
}

static int serve(char **argv)
{
    static jm__server server = {.lock = -1,
                                .holder = -1,
                                .guard = {.link = -1},
                                .until_ns = INT64_MAX,
                                .low_w = -INFINITY,
                                .high_w = INFINITY};
    if (!read_bounds(&server, argv)) return fail_usage();
    server.link.fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (server.link.fd < 0 || nowhere < 0) return jm_status_exit_code(JM_IO);
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO); /* what a library prints of itself goes nowhere */
    jm__helper_close_others(server.link.fd);
    if (!leave_home()) _exit(0);
    take_signals(&server);
    stay_alive();
    jm__serve(&server);
    _exit(0); /* a driver may hang in what it does at exit */
}

int main(int argc, char **argv)
{
    if (argc >= 2 && strcmp(argv[1], "serve") == 0) return serve(argv + 2);
    if (argc == 6 && strcmp(argv[1], "guard") == 0) return jm__guard_run(argc, argv);
    return fail_usage();
}
