/* Calls dormant programs into this run, and releases them (record/timeline/which_run.h). */
#include "base/clock.h"
#include "record/run/inside.h"
#include "record/timeline/identity.h"
#include "record/timeline/ring_format.h"
#include "record/timeline/which_run.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Time to find, load and start CUPTI: a second or two on a busy machine. */
#define JOIN_WAIT_MS 20000
/* Time to flush CUPTI; stopped programs are not awaited longer. */
#define LEAVE_WAIT_NS (5 * JM_NS_PER_S)
/* The least time for each program, however long others took. */
#define ANSWER_NS (JM_NS_PER_S / 2)
/* A program with one thread hears the call at its next span, within 0.1 s if it has many. */
#define SPAN_WAIT_MS 500
/* A program that closed our library's socket listens again only after a failed call. */
#define CALLS_TRIED  25 /* its thread may have to wait for a CPU */
#define CALL_WAIT_NS (20 * JM_NS_PER_MS)

/* The list of sockets is reused for this long; processes are looked for once a second. */
#define SOCKETS_NS (JM_NS_PER_S / 2)

/* Results of this recorder itself, in place of an answer's first letter (JM_DORMANT_*). */
#define SILENT   's'
#define UNCALLED 'u'

/* Spans first, so that kernels find theirs; released in reverse order. */
static const char writers[] = {JM_WRITER_CORE, JM_WRITER_NVTX};

/* ---- /proc */

/* The value of a variable in its initial environment; false: none. */
static bool read_variable(pid_t pid, const char *name, char value[JM_RUN_FOLDER_MAX])
{
    return jm__process_value(pid, "environ", name, '\0', value, JM_RUN_FOLDER_MAX) >= 0;
}

/* Has it a pid or network namespace of its own, with other pids or sockets? */
static bool is_in_container(pid_t pid)
{
    char pids[128];
    uint64_t theirs = jm__namespace_of(pid, "net"), ours = jm__namespace_of(JM_SELF, "net");
    if (theirs != 0 && ours != 0 && theirs != ours) return true;
    /* "NSpid:\t4711\t1": a number per namespace */
    return jm__process_value(pid, "status", "NSpid:\t", '\n', pids, sizeof pids) >= 0 &&
           strchr(pids, '\t') != NULL;
}

/* Is it stopped by a signal, so that it cannot answer? A process under ptrace stops and continues all the
 * time and does not count. */
static bool is_stopped(pid_t pid)
{
    jm__process_stat now;
    return jm__process_stat_read(pid, &now) && now.state == 'T';
}

/* ---- permission */

static jm_status fail_gone(int64_t pid, jm_error *err)
{
    return jm__fail(err, JM_NOT_FOUND, ESRCH, "jm_run_follow", "there is no process %" PRId64, pid);
}

static jm_status check_owner(int64_t pid, jm_error *err)
{
    char path[64];
    struct stat info;
    snprintf(path, sizeof path, "/proc/%" PRId64, pid);
    if (pid <= 0 || pid > INT32_MAX || stat(path, &info) != 0) return fail_gone(pid, err);
    if (info.st_uid == geteuid()) return JM_OK;
    const struct passwd *owner = getpwuid(info.st_uid);
    char name[64];
    if (owner != NULL)
        snprintf(name, sizeof name, "%.60s", owner->pw_name);
    else
        snprintf(name, sizeof name, "#%u", (unsigned)info.st_uid);
    jm__fail(err, JM_NO_PERMISSION, EPERM, "jm_run_follow",
             "process %" PRId64 " is %s's: only its own user can attach to it", pid, name);
    return jm__hint(err, JM_NO_PERMISSION, "sudo -u %s joulemap attach %" PRId64, name, pid);
}

/* Nothing in it listens: finds out why. */
static jm_status explain_silence(pid_t pid, jm_following *out, jm_error *err)
{
    char value[JM_RUN_FOLDER_MAX];
    if (kill(pid, 0) != 0 && errno == ESRCH) return fail_gone(pid, err);
    if (read_variable(pid, "JOULEMAP_RUN=", value) && jm__run_folder_is_alive(value)) {
        jm__fail(err, JM_BUSY, 0, "jm_run_follow",
                 "process %d is being recorded already, by the recorder of %s", (int)pid, value);
        return jm__hint(err, JM_BUSY, "that recording has it all: report it while it is written");
    }
    if (is_in_container(pid)) {
        jm__fail(err, JM_NOT_SUPPORTED, 0, "jm_run_follow",
                 "process %d runs in a container, where it has another number and other sockets", (int)pid);
        return jm__hint(err, JM_NOT_SUPPORTED,
                        "run `joulemap attach` inside of it, with the process's number there");
    }
    bool waits =
        read_variable(pid, JM_DORMANT_VARIABLE "=", value) && value[0] != '\0' && strcmp(value, "0") != 0;
    *out = waits ? JM_FOLLOWING_LATER : JM_FOLLOWING_NOTHING;
    return JM_OK;
}

/* ---- calling */

/* -1 with errno: ECONNREFUSED, nothing listens; EAGAIN, too many callers are waiting. Checks that the peer is
 * that process: any process may take such a name. */
static int call_at(const struct sockaddr_un *address, socklen_t address_size, pid_t pid)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return -1;
    if (connect(fd, (const struct sockaddr *)address, address_size) == 0 &&
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
        if (peer.pid == pid && peer.uid == geteuid()) return fd;
        errno = ECONNREFUSED;
    }
    int code = errno;
    close(fd);
    errno = code;
    return -1;
}

/* The listening sockets of dormant programs, "INODE @NAME" per line. Reads the kernel's list once for all
 * programs, since there may be thousands of sockets and processes. */
static const char *sockets_in_use(jm_run *run)
{
    char *line = NULL;
    size_t room = 0;
    FILE *list = jm__now_ns() - run->sockets_ns < SOCKETS_NS ? NULL : fopen("/proc/net/unix", "re");
    if (list != NULL) {
        run->sockets_ns = jm__now_ns();
        jm__strbuf_free(&run->sockets);
        while (getline(&line, &room, list) > 0) {
            unsigned long inode;
            const char *name = strchr(line, '@');
            if (name == NULL || strstr(name, JM_DORMANT_NAME) != name + 1) continue;
            if (sscanf(line, "%*s %*s %*s %*s %*s %*s %lu", &inode) == 1)
                jm__strbuf_format(&run->sockets, "%lu %s", inode, name);
        }
        free(line);
        fclose(list);
    }
    return run->sockets.text != NULL ? run->sockets.text : "";
}

/* Has the process that socket? `otherwise` if this cannot be seen. */
static bool has_socket(pid_t pid, unsigned long inode, bool otherwise)
{
    char path[64], requested[64], link[64];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    snprintf(requested, sizeof requested, "socket:[%lu]", inode);
    DIR *files = opendir(path);
    if (files == NULL) return otherwise;
    bool found = false;
    for (struct dirent *file; !found && (file = readdir(files)) != NULL;) {
        ssize_t length = readlinkat(dirfd(files), file->d_name, link, sizeof link - 1);
        link[length > 0 ? length : 0] = '\0';
        found = strcmp(link, requested) == 0;
    }
    closedir(files);
    return found;
}

/* Calls a program. If another process has taken its name, it listens at a longer one. */
static int call(jm_run *run, pid_t pid, char writer)
{
    struct sockaddr_un address, other = {.sun_family = AF_UNIX};
    socklen_t size = jm__dormant_address(&address, pid, writer);
    size_t length = size - offsetof(struct sockaddr_un, sun_path) - 1;
    bool is_taken = false;
    for (const char *line = sockets_in_use(run), *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        const char *name = strchr(line, '@') + 1;
        size_t name_length = (size_t)(end - name);
        if (name_length < length || name_length >= sizeof other.sun_path) continue;
        if (strncmp(name, address.sun_path + 1, length) != 0 || (name_length > length && name[length] != '-'))
            continue;
        if (has_socket(pid, strtoul(line, NULL, 10), name_length == length)) {
            memcpy(other.sun_path + 1, name, name_length);
            return call_at(&other, size + (socklen_t)(name_length - length), pid);
        }
        is_taken = is_taken || name_length == length;
    }
    int fd = call_at(&address, size, pid); /* it may have started listening since */
    if (fd < 0 && is_taken) errno = ECONNREFUSED;
    return fd;
}

typedef enum received { RECEIVED, CLOSED, NOTHING_IN_TIME } received;

/* Receives an answer, NUL-terminated. */
static received receive(int fd, int timeout_ms, char *message, size_t size)
{
    struct pollfd line = {.fd = fd, .events = POLLIN};
    int ready;
    do {
        ready = poll(&line, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) return NOTHING_IN_TIME;
    ssize_t count = recv(fd, message, size - 1, 0);
    /* If the peer closed with our message unread, only a second recv returns its message. */
    if (count < 0 && errno == ECONNRESET) count = recv(fd, message, size - 1, 0);
    if (count <= 0) return CLOSED;
    message[count] = '\0';
    return RECEIVED;
}

static jm_status report_refusal(int64_t pid, const char *answer, jm_error *err)
{
    if (answer[0] == JM_DORMANT_BUSY) {
        jm__fail(err, JM_BUSY, 0, "jm_run_follow", "process %" PRId64 " is being recorded already%s%s", pid,
                 answer[1] != '\0' ? ": " : "", answer + 1);
        return jm__hint(err, JM_BUSY, "end that recording first");
    }
    if (answer[0] == JM_DORMANT_LATER) {
        jm__fail(err, JM_BUSY, 0, "jm_run_follow", "process %" PRId64 " cannot be recorded yet: %.300s", pid,
                 answer + 1);
        return jm__hint(err, JM_BUSY, "attach again a little later");
    }
    if (answer[0] == SILENT) {
        jm__fail(err, JM_BUSY, 0, "jm_run_follow", "process %" PRId64 " %.300s", pid, answer + 1);
        return jm__hint(err, JM_BUSY, "`kill -CONT %" PRId64 "` lets a stopped one go on; then attach again",
                        pid);
    }
    if (answer[0] == UNCALLED)
        return jm__fail(err, JM_IO, 0, "jm_run_follow", "process %" PRId64 " cannot be called: %.300s", pid,
                        answer + 1);
    jm__fail(err, JM_NOT_SUPPORTED, 0, "jm_run_follow", "process %" PRId64 " cannot be recorded: %.300s", pid,
             answer + 1);
    return jm__hint(err, JM_NOT_SUPPORTED,
                    "the process and this recorder need the same joulemap and the same /dev/shm");
}

static void answer_stopped(char *answer, size_t size)
{
    snprintf(answer, size, "%cis stopped", SILENT);
}

/* The answer for a process that could not be called. */
static void answer_uncalled(pid_t pid, int code, char *answer, size_t size)
{
    answer[0] = '\0';
    if (code == EAGAIN && is_stopped(pid))
        answer_stopped(answer, size);
    else if (code == EAGAIN)
        snprintf(answer, size, "%cdoes not answer, and others wait for it already", SILENT);
    else if (code != ECONNREFUSED)
        snprintf(answer, size, "%c%s", UNCALLED, strerror(code));
}

/* False: its only thread has no spans that could answer. */
static bool receive_answer(int fd, pid_t pid, received *how, char *answer, size_t size)
{
    *how = receive(fd, SPAN_WAIT_MS, answer, size);
    if (*how == NOTHING_IN_TIME && !jm__process_has_threads(pid, 0)) return false;
    if (*how == NOTHING_IN_TIME) *how = receive(fd, JOIN_WAIT_MS - SPAN_WAIT_MS, answer, size);
    return true;
}

/* Returns the descriptor of a process that is recorded now, else -1; `answer` is "" if nothing listens. */
static int start_recording(jm_run *run, pid_t pid, char writer, bool kernels, char *answer, size_t size)
{
    char message[JM_DORMANT_MESSAGE_MAX];
    snprintf(message, sizeof message, JM_DORMANT_RECORD "%s", (unsigned long long)JM_RING_MAGIC,
             kernels ? 1 : 0, run->folder.path);
    for (int i = 0; i < CALLS_TRIED; i++) {
        if (i > 0) jm__sleep_ns(CALL_WAIT_NS);
        int fd = call(run, pid, writer);
        if (fd < 0) {
            answer_uncalled(pid, errno, answer, size);
            if (i > 0 && answer[0] == '\0') continue; /* it may listen again at any moment */
            return -1;
        }
        if (is_stopped(pid)) {
            answer_stopped(answer, size);
            close(fd);
            return -1;
        }
        (void)send(fd, message, strlen(message),
                   MSG_NOSIGNAL); /* fails if it was refused: the answer has the reason */
        received how;
        if (!receive_answer(fd, pid, &how, answer, size)) {
            close(fd);
            answer[0] = '\0';
            return -1;
        }
        if (how == RECEIVED && (answer[0] == JM_DORMANT_RECORDING || answer[0] == JM_DORMANT_NO_KERNELS))
            return fd;
        close(fd); /* closing also ends what it may begin later */
        if (how == NOTHING_IN_TIME)
            snprintf(answer, size, "%cdoes not answer within %d s", SILENT, JOIN_WAIT_MS / 1000);
        if (how != CLOSED) return -1;
        answer[0] = '\0';
    }
    return -1;
}

/* ---- followed processes */

/* Closes the links of a process (0: none), which ends its recording, and of those that have closed their end,
 * by exiting or by exec. */
static void close_links(jm_run *run, pid_t pid)
{
    size_t kept = 0;
    for (size_t i = 0; i < run->followed.count; i++) {
        char byte;
        jm__followed one = run->followed.items[i];
        if (one.pid == pid || recv(one.line, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
            close(one.line);
        else
            run->followed.items[kept++] = one;
    }
    run->followed.count = kept;
}

static bool is_followed(const jm_run *run, pid_t pid, char writer)
{
    for (size_t i = 0; i < run->followed.count; i++)
        if (run->followed.items[i].pid == pid && run->followed.items[i].writer == writer) return true;
    return false;
}

/* Records one library of that process. */
static jm_status follow(jm_run *run, pid_t pid, char writer, bool kernels, bool *joined, jm_error *err)
{
    char answer[JM_DORMANT_MESSAGE_MAX];
    if (is_followed(run, pid, writer)) {
        *joined = true;
        return JM_OK;
    }
    int line = start_recording(run, pid, writer, kernels, answer, sizeof answer);
    if (line < 0) return answer[0] == '\0' ? JM_OK : report_refusal(pid, answer, err);
    if (!jm__vec_push(&run->followed, ((jm__followed){pid, writer, line}))) {
        close(line);
        return jm__no_memory(err, "jm_run_follow");
    }
    if (answer[0] == JM_DORMANT_NO_KERNELS)
        snprintf(run->kernels_missing, sizeof run->kernels_missing, "%.500s", answer + 1);
    *joined = true;
    return JM_OK;
}

jm_status jm_run_follow(jm_run *run, int64_t pid, bool kernels, jm_following *out, jm_error *err)
{
    bool joined = false;
    *out = JM_FOLLOWING_NOTHING;
    if (run->attached || run->collector == NULL || run->owner != getpid() || atomic_load(&run->stopped))
        return jm__fail(err, JM_NOT_SUPPORTED, 0, "jm_run_follow", "this run cannot record other processes");
    JM_TRY(check_owner(pid, err));
    close_links(run, 0);
    for (size_t i = 0; i < sizeof writers; i++) {
        jm_status status = follow(run, (pid_t)pid, writers[i], kernels, &joined, err);
        if (status == JM_OK) continue;
        close_links(run, (pid_t)pid); /* spans alone would look complete */
        return status;
    }
    if (!joined) return explain_silence((pid_t)pid, out, err);
    *out = JM_FOLLOWING;
    return JM_OK;
}

jm_status jm_run_expect(jm_run *run, int64_t pid, bool kernels, jm_error *err)
{
    if (run->attached || run->collector == NULL || run->owner != getpid() || atomic_load(&run->stopped))
        return jm__fail(err, JM_NOT_SUPPORTED, 0, "jm_run_expect", "this run cannot record other processes");
    JM_TRY(check_owner(pid, err));
    if (jm__run_folder_expect(&run->folder, pid, kernels)) return JM_OK;
    return jm__fail(err, JM_IO, errno, "open", "the folder of the run cannot be written");
}

static void report_silent(jm_run *run, pid_t pid)
{
    pthread_mutex_lock(&run->writer_lock);
    jm__run_report_process(run, JM_EVENT_RECORDER, pid,
                           "it did not answer as it was let go, what it had last may be missing");
    pthread_mutex_unlock(&run->writer_lock);
}

static void release(jm_run *run, char writer, int64_t until_ns)
{
    char answer[JM_DORMANT_MESSAGE_MAX];
    for (size_t i = 0; i < run->followed.count; i++) {
        if (run->followed.items[i].writer != writer) continue;
        (void)send(run->followed.items[i].line, JM_DORMANT_END, strlen(JM_DORMANT_END), MSG_NOSIGNAL);
    }
    for (size_t i = 0; i < run->followed.count; i++) {
        const jm__followed *one = &run->followed.items[i];
        if (one->writer != writer) continue;
        int64_t left_ns = until_ns - jm__now_ns();
        int wait_ms = left_ns > 0 ? (int)(left_ns / JM_NS_PER_MS) + 1 : 0; /* it may have answered already */
        if (receive(one->line, wait_ms, answer, sizeof answer) == NOTHING_IN_TIME)
            report_silent(run, one->pid);
        close(one->line);
    }
}

void jm__run_release_followed(jm_run *run)
{
    int64_t until_ns = jm__now_ns() + LEAVE_WAIT_NS;
    if (run->folder.path[0] != '\0' && !run->attached) (void)jm__run_folder_expect(&run->folder, 0, false);
    for (size_t i = sizeof writers; i > 0; i--) {
        int64_t least_ns = jm__now_ns() + ANSWER_NS;
        release(run, writers[i - 1], least_ns > until_ns ? least_ns : until_ns);
    }
    jm__vec_free(&run->followed);
    run->followed.count = 0;
}
