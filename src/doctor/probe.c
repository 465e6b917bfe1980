/* Tries a library that may crash or hang, in a separate process: the side that starts it, and the process
 * itself. */
#include "doctor/probe.h"

#include "base/clock.h"
#include "base/helper.h"
#include "base/plain.h"
#include "record/cupti/search.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <joulemap/doctor.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The process prints one line: one of these words, a blank, the rest. */
#define JM_PROBE_WORD_CALLED "called" /* NUMBER */
#define JM_PROBE_WORD_FAULT  "fault"  /* TEXT */
#define JM_PROBE_WORD_ABSENT "absent" /* no rest; the file does not exist */

/* Start the process. 0, or an errno. */
static int start_process(pid_t *child, const char *command, const char *what, const char *library,
                         int answer_fd)
{
    char *const arguments[] = {(char[]){"joulemap"}, (char[]){"probe"}, strdup(what), strdup(library), NULL};
    char **environment = jm__helper_environment(NULL, NULL);
    const jm__helper helper = {.command = command,
                               .arguments = arguments,
                               .environment = environment,
                               .input = -1,
                               .output = answer_fd};
    int code = ENOMEM;
    if (arguments[2] != NULL && arguments[3] != NULL && environment != NULL)
        code = jm__helper_start(child, &helper);
    free(environment);
    free(arguments[2]);
    free(arguments[3]);
    return code;
}

/* Read one line without its newline. False at the time limit. */
static bool read_line(int fd, char *line, size_t size, int64_t until_ns)
{
    size_t length = 0;
    line[0] = '\0';
    for (;;) {
        int64_t left_ns = until_ns - jm__now_ns();
        struct pollfd readable = {.fd = fd, .events = POLLIN};
        if (left_ns <= 0) return false;
        int ready = poll(&readable, 1, (int)(left_ns / JM_NS_PER_MS) + 1);
        if (ready < 0 && errno != EINTR) return true;
        if (ready <= 0) continue;
        ssize_t count = read(fd, line + length, size - 1 - length);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return true;
        length += (size_t)count;
        line[length] = '\0';
        char *end = strchr(line, '\n');
        if (end != NULL) *end = '\0';
        if (end != NULL || length == size - 1) return true;
    }
}

static void parse_answer(jm__probe_answer *answer, const char *line, const char *library, int status)
{
    if (sscanf(line, JM_PROBE_WORD_CALLED " %u", &answer->number) == 1)
        answer->called = true;
    else if (strncmp(line, JM_PROBE_WORD_FAULT " ", strlen(JM_PROBE_WORD_FAULT) + 1) == 0)
        snprintf(answer->why, sizeof answer->why, "%.255s", line + strlen(JM_PROBE_WORD_FAULT) + 1);
    else if (strcmp(line, JM_PROBE_WORD_ABSENT) == 0)
        answer->absent = true;
    else if (WIFSIGNALED(status))
        snprintf(answer->why, sizeof answer->why, "trying %.160s crashed: %.60s", library,
                 strsignal(WTERMSIG(status)));
    else
        snprintf(answer->why, sizeof answer->why, "trying %.160s ended without an answer, code %d", library,
                 WEXITSTATUS(status));
}

void jm__probe_run(jm__probe_answer *answer, const char *what, const char *library, int64_t limit_ns)
{
    char command[PATH_MAX], line[512];
    int ends[2], status;
    pid_t child;
    *answer = (jm__probe_answer){0};
    if (!jm__beside("joulemap", command, sizeof command)) {
        snprintf(answer->why, sizeof answer->why,
                 "not tried: the command that tries it, %.180s, is not there", command);
        return;
    }
    int64_t until_ns = jm__now_ns() + limit_ns;
    int code = pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
    if (code == 0) {
        code = start_process(&child, command, what, library, ends[1]);
        close(ends[1]);
        if (code != 0) close(ends[0]);
    }
    if (code != 0) {
        snprintf(answer->why, sizeof answer->why, "not tried: %.160s cannot be started: %.60s", command,
                 strerror(code));
        return;
    }
    bool in_time = read_line(ends[0], line, sizeof line, until_ns);
    in_time = in_time && (line[0] != '\0' || jm__helper_reap(child, &status, until_ns));
    close(ends[0]);
    if (in_time && line[0] == '\0') {
        parse_answer(answer, line, library, status);
        return;
    }
    /* It has answered or timed out. */
    jm__helper_kill(child);
    if (in_time)
        parse_answer(answer, line, library, 0);
    else
        jm__print(answer->why, sizeof answer->why, "trying %.160s took longer than %.3g s", library,
                  (double)limit_ns / (double)JM_NS_PER_S);
}

/* ---- the process that tries the library */

#define LIFE_MAX_S 60 /* in case the process that started it is gone */

static void try_cuda(const char *library, char *line, size_t size)
{
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *address = loaded == NULL ? NULL : dlsym(loaded, "cuInit");
    if (address == NULL) {
        const char *text = dlerror();
        snprintf(line, size, JM_PROBE_WORD_FAULT " %s", text == NULL ? "no reason given" : text);
        return;
    }
    int (*init)(unsigned);
    memcpy(&init, &address, sizeof init);
    snprintf(line, size, JM_PROBE_WORD_CALLED " %u", (unsigned)init(0));
}

static void try_cupti(const char *library, char *line, size_t size)
{
    uint32_t version;
    char fault[480];
    if (jm__cupti_open(library, &version, fault, sizeof fault) != NULL)
        snprintf(line, size, JM_PROBE_WORD_CALLED " %u", version);
    else if (fault[0] == '\0')
        snprintf(line, size, JM_PROBE_WORD_ABSENT);
    else
        snprintf(line, size, JM_PROBE_WORD_FAULT " %s", fault);
}

int jm_doctor_probe(const char *what, const char *library)
{
    char line[512];
    const struct rlimit no_core = {0};
    /* Drop what the library itself prints. */
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), nowhere = open("/dev/null", O_WRONLY);
    if (out < 0 || nowhere < 0) return jm_status_exit_code(JM_IO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    jm__helper_close_others(out);
    setrlimit(RLIMIT_CORE, &no_core);
    alarm(LIFE_MAX_S);
    if (strcmp(what, JM_PROBE_CUDA) == 0)
        try_cuda(library, line, sizeof line - 1);
    else if (strcmp(what, JM_PROBE_CUPTI) == 0)
        try_cupti(library, line, sizeof line - 1);
    else
        return jm_status_exit_code(JM_USAGE);
    size_t length = strlen(line);
    line[length++] = '\n';
    bool written = write(out, line, length) == (ssize_t)length;
    _exit(written ? 0 : jm_status_exit_code(JM_IO)); /* skip exit handlers, in which a driver may hang */
}
