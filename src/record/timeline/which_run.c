/* Finds the run of this program: from its environment, a run above that waits for it, or a recorder that
 * calls; and the door for programs that may not enter a run's folder. */
#include "record/timeline/which_run.h"

#include "base/clock.h"
#include "base/kept_file.h"
#include "base/private_file.h"
#include "base/thread.h"
#include "record/timeline/identity.h"
#include "record/timeline/ring_format.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- the environment. A program may clear it before its first span, at its start or in a launcher of
 * workers. */

static const char *const variables[JM_START_NAMES] = {
    [JM_START_RUN] = "JOULEMAP_RUN",
    [JM_START_DORMANT] = "JOULEMAP_DORMANT",
};

static char at_load[JM_START_NAMES][PATH_MAX]; /* "": unset */

static __attribute__((constructor)) void read_at_load(void)
{
    for (int i = 0; i < JM_START_NAMES; i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL && strlen(value) < sizeof at_load[i]) memcpy(at_load[i], value, strlen(value) + 1);
    }
}

const char *jm__start_variable(jm__start_name name, char *buffer, size_t size)
{
    const char *value = getenv(variables[name]);
    if (value == NULL && at_load[name][0] != '\0') value = at_load[name];
    if (value != NULL) return strlen(value) < size ? memcpy(buffer, value, strlen(value) + 1) : NULL;
    /* The initial environment, unless the program has overwritten it with its title. */
    char entry[32];
    snprintf(entry, sizeof entry, "%s=", variables[name]);
    ssize_t length = jm__process_value(JM_SELF, "environ", entry, '\0', buffer, size);
    return length >= 0 && (size_t)length < size ? buffer : NULL;
}

/* ---- runs of this user that wait for programs below some process */

/* Where recorders prefer to make their folders. */
static const char parent[] = "/dev/shm";

enum { ABOVE_MOST = 64 };

bool jm__run_is_alive(const char *run_dir)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int file = jm__private_file(run_dir, JM_RUN_FILE, O_RDWR);
    if (file < 0)
        return errno == EMFILE || errno == ENFILE; /* not visible without descriptors: assume it goes on */
    bool locked = fcntl(file, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
    close(file);
    return locked;
}

static bool is_descendant_of(pid_t pid)
{
    jm__process_stat now = {.parent = getpid()};
    for (int i = 0; i < ABOVE_MOST && now.parent > 1; i++) {
        if (now.parent == pid) return true;
        if (!jm__process_stat_read(now.parent, &now)) return false;
    }
    return false;
}

/* A folder in /dev/shm may belong to another container, where a pid means another process. */
static bool waits_for_us(const char *run_dir, bool *kernels)
{
    char text[96];
    unsigned long long pid_namespace;
    int pid, wants_kernels;
    int file = jm__private_file(run_dir, JM_EXPECTS_FILE, O_RDONLY);
    if (file < 0) return false;
    ssize_t count = read(file, text, sizeof text - 1);
    close(file);
    text[count > 0 ? count : 0] = '\0';
    if (sscanf(text, JM_EXPECTS_FORMAT, &pid, &pid_namespace, &wants_kernels) != 3) return false;
    if (pid_namespace != jm__namespace_of(JM_SELF, "pid") || !is_descendant_of((pid_t)pid)) return false;
    *kernels = wants_kernels != 0;
    return jm__run_is_alive(run_dir);
}

bool jm__run_above(char *run_dir, size_t size, bool *kernels)
{
    char prefix[48], path[sizeof parent + NAME_MAX + 2];
    snprintf(prefix, sizeof prefix, "joulemap-%u-", (unsigned)geteuid());
    DIR *entries = opendir(parent);
    if (entries == NULL) return false;
    bool found = false;
    for (struct dirent *entry; !found && (entry = readdir(entries)) != NULL;) {
        if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", parent, entry->d_name);
        found = strlen(path) < size && waits_for_us(path, kernels);
    }
    closedir(entries);
    if (found) memcpy(run_dir, path, strlen(path) + 1);
    return found;
}

/* ---- the door */

#define WAITING 64 /* queue length; the recorder looks 20 times a second */

/* Returns the size of the address; 0: the name is too long. */
static socklen_t address_of(struct sockaddr_un *address, const char *run_dir)
{
    const char *slash = strrchr(run_dir, '/');
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "%s",
                          slash == NULL ? run_dir : slash + 1);
    if (length < 0 || (size_t)length >= sizeof address->sun_path - 1) return 0;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int open_door(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

int jm__door_make(const char *run_dir)
{
    struct sockaddr_un address;
    socklen_t size = address_of(&address, run_dir);
    int door = size == 0 ? -1 : open_door();
    if (door < 0) return -1;
    if (bind(door, (const struct sockaddr *)&address, size) == 0 && listen(door, WAITING) == 0) return door;
    close(door);
    return -1;
}

bool jm__door_next(int door, pid_t *pid, uid_t *uid)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    int line = accept4(door, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (line < 0) return false;
    bool has_credentials = getsockopt(line, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
    close(line);
    *pid = has_credentials ? peer.pid : 0;
    *uid = has_credentials ? peer.uid : 0;
    return has_credentials;
}

void jm__door_knock(const char *run_dir)
{
    struct sockaddr_un address;
    socklen_t size = address_of(&address, run_dir);
    int line = size == 0 ? -1 : open_door();
    if (line < 0) return;
    (void)connect(line, (const struct sockaddr *)&address, size);
    close(line);
}

/* ---- waiting for a recorder, and obeying it */

/* Above the low numbers that programs rely on or scan. */
#define DESCRIPTORS_FROM 200
/* The program may have closed our socket while another process still holds it. */
#define AGAIN_S 1
/* How late we notice that the program has closed our sockets; until then poll may look at other files with
 * their numbers. */
#define LOOK_MS 1000
/* Limits how often spans look for a caller and read the clock. A recorder calls once a second; a thread that
 * found no caller still exists then. */
#define SPANS_LOOK_NS (100 * JM_NS_PER_MS)
#define SPANS_MOST    16
#define LINGER_NS     (3 * JM_NS_PER_S)

/* Used by the listening thread only, or by the only thread. */
static jm__kept_file listener, recorder;
static const jm__dormant_part *_Atomic part;  /* NULL: not listening */
static char run_path[JM_DORMANT_MESSAGE_MAX]; /* "": not recorded */
static bool must_notify; /* the follower must be notified of a recorder that came or left */
static _Atomic bool is_listening;
static _Atomic bool has_thread;     /* the thread exists */
static _Atomic bool needs_thread;   /* it must always exist */
static _Atomic bool is_looking;     /* a span is looking for a caller */
static int64_t looked_ns, clock_ns; /* of spans: last look for a caller, last read of the clock */
_Atomic uint32_t jm__dormant_rest;
static _Atomic bool is_notifying;      /* a thread is notifying the follower */
static void (*_Atomic follower)(void); /* NULL: none */

bool jm__dormant_requested(void)
{
    static _Atomic int answer_cache; /* 0: unknown, 1: no, 2: yes */
    int answer = atomic_load_explicit(&answer_cache, memory_order_relaxed);
    if (answer == 0) {
        char value[8];
        const char *text = jm__start_variable(JM_START_DORMANT, value, sizeof value);
        answer = text != NULL && text[0] != '\0' && strcmp(text, "0") != 0 ? 2 : 1;
        atomic_store_explicit(&answer_cache, answer, memory_order_relaxed);
    }
    return answer == 2;
}

/* ---- sockets */

static bool keep_high(jm__kept_file *file, int fd)
{
    if (fd < 0) return false;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTORS_FROM);
    if (high >= 0) close(fd);
    return jm__kept_file_set(file, high >= 0 ? high : fd);
}

socklen_t jm__dormant_address(struct sockaddr_un *address, pid_t pid, char writer)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, JM_DORMANT_NAME "%llx-%d-%c",
                          (unsigned long long)jm__namespace_of(JM_SELF, "pid"), (int)pid, writer);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length); /* without a NUL */
}

static bool bind_somewhere(int fd)
{
    struct sockaddr_un address;
    socklen_t size = jm__dormant_address(&address, getpid(), (char)part->writer);
    if (bind(fd, (const struct sockaddr *)&address, size) == 0) return true;
    if (errno != EADDRINUSE) return false;
    char *end = (char *)&address + size;
    size +=
        (socklen_t)snprintf(end, sizeof address - size, JM_DORMANT_MORE, (unsigned long long)jm__now_ns());
    return bind(fd, (const struct sockaddr *)&address, size) == 0;
}

static bool start_listening(void)
{
    /* A caller that poll reported may be gone: accept must not wait for the next. */
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return false;
    if (bind_somewhere(fd) && listen(fd, 4) == 0) return keep_high(&listener, fd);
    close(fd);
    return false;
}

static void answer(int fd, jm__dormant_answer how, const char *text)
{
    char message[JM_DORMANT_MESSAGE_MAX];
    int length = snprintf(message, sizeof message, "%c%s", (char)how, text);
    if (length >= (int)sizeof message) length = sizeof message - 1;
    (void)send(fd, message, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A process that may read this program's memory may record it. */
static bool is_allowed(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

/* A recorder hangs up if the program's spans found its call too late. */
static bool has_hung_up(int fd)
{
    struct pollfd line = {.fd = fd};
    return poll(&line, 1, 0) > 0 && (line.revents & POLLHUP) != 0;
}

/* ---- messages of the recorder */

static void leave(void)
{
    if (run_path[0] == '\0') return;
    part->leave(run_path);
    run_path[0] = '\0';
    must_notify = true;
}

static void begin(const char *message)
{
    unsigned long long magic;
    int kernels, at = 0;
    char why[512] = "";
    jm__dormant_answer how = JM_DORMANT_FAILED;
    if (sscanf(message, JM_DORMANT_RECORD "%n", &magic, &kernels, &at) != 2 || at == 0 ||
        magic != JM_RING_MAGIC)
        snprintf(why, sizeof why, "it was started with another version of joulemap");
    else if (run_path[0] != '\0' && strcmp(run_path, message + at) != 0)
        how = JM_DORMANT_BUSY;
    else
        how = part->join(message + at, kernels != 0, why, sizeof why);
    if (how == JM_DORMANT_RECORDING || how == JM_DORMANT_NO_KERNELS) {
        snprintf(run_path, sizeof run_path, "%s", message + at);
        must_notify = true;
    }
    if (jm__kept_file_is_ours(&recorder))
        answer(recorder.fd_plus_one - 1, how, why); /* joining may have taken long */
}

static void hear_recorder(void)
{
    char message[JM_DORMANT_MESSAGE_MAX];
    ssize_t length = recv(recorder.fd_plus_one - 1, message, sizeof message - 1, MSG_DONTWAIT);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
    message[length > 0 ? length : 0] = '\0';
    if (length > 0 && strcmp(message, JM_DORMANT_END) != 0 && !has_hung_up(recorder.fd_plus_one - 1)) {
        begin(message);
        return;
    }
    leave();
    if (length > 0 && jm__kept_file_is_ours(&recorder))
        answer(recorder.fd_plus_one - 1, JM_DORMANT_ENDED, "");
    jm__kept_file_close(&recorder);
}

static void drop_if_gone(void)
{
    if (!jm__kept_file_is_ours(&recorder) || !has_hung_up(recorder.fd_plus_one - 1)) return;
    leave();
    jm__kept_file_close(&recorder);
}

static void take_call(void)
{
    int fd = accept4(listener.fd_plus_one - 1, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        /* No descriptor is left: poll would report the waiting caller again at once. */
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) sleep(AGAIN_S);
        return;
    }
    drop_if_gone();
    if (!is_allowed(fd) || has_hung_up(fd)) {
        close(fd);
    } else if (jm__kept_file_is_ours(&recorder)) {
        answer(fd, JM_DORMANT_BUSY, "another recorder is attached to it");
        close(fd);
    } else {
        keep_high(&recorder, fd);
    }
}

/* ---- the thread */

/* Replaces a socket that the program has closed, and leaves a run whose link it closed or which is over. */
static bool look_after_descriptors(void)
{
    if (recorder.fd_plus_one != 0 && !jm__kept_file_is_ours(&recorder)) {
        recorder = (jm__kept_file){0};
        leave();
    }
    if (recorder.fd_plus_one == 0 && run_path[0] != '\0' && !jm__run_is_alive(run_path)) leave();
    return jm__kept_file_is_ours(&listener) || start_listening();
}

/* Waits in poll, not in accept: accept takes the lowest free descriptor before it sleeps. A program that
 * closes its input and opens another expects descriptor 0. */
static void poll_once(void)
{
    struct pollfd lines[2] = {{.fd = listener.fd_plus_one - 1, .events = POLLIN},
                              {.fd = recorder.fd_plus_one - 1, .events = POLLIN}}; /* -1: ignored by poll */
    if (poll(lines, 2, LOOK_MS) <= 0) return;
    if (lines[1].revents != 0 && jm__kept_file_is_ours(&recorder)) hear_recorder();
    if (lines[0].revents != 0 && jm__kept_file_is_ours(&listener)) take_call();
}

static void *notify(void *unused)
{
    void (*current)(void) = follower;
    (void)unused;
    if (current != NULL) current();
    is_notifying = false;
    return NULL;
}

/* Uses a short-lived thread: the follower may wait for an interpreter's lock, and recorders must not. */
static void notify_follower(void)
{
    pthread_t thread;
    if (!must_notify || atomic_exchange(&is_notifying, true)) return; /* it is notified again afterwards */
    bool starts = follower != NULL;
    must_notify = starts && pthread_create(&thread, NULL, notify, NULL) != 0;
    if (starts && !must_notify)
        pthread_detach(thread);
    else
        is_notifying = false;
}

/* No recorder is attached, and spans can look for callers. */
static bool may_end(int64_t idle_since_ns)
{
    if (recorder.fd_plus_one != 0 || run_path[0] != '\0' || must_notify || is_notifying || needs_thread)
        return false;
    return jm__now_ns() - idle_since_ns > LINGER_NS && !jm__process_has_threads(JM_SELF, 1);
}

static void let_spans_look(void)
{
    looked_ns = clock_ns = jm__now_ns();
    atomic_store(&has_thread, false);
    atomic_store(&jm__dormant_rest, 1);
}

static void start_waiting(void);

static void *wait_for_recorders(void *unused)
{
    (void)unused;
    pthread_setname_np(pthread_self(), "joulemap-wait");
    int64_t idle_since_ns = jm__now_ns();
    while (!may_end(idle_since_ns)) {
        if (look_after_descriptors())
            poll_once();
        else
            sleep(AGAIN_S);
        if (recorder.fd_plus_one != 0) idle_since_ns = jm__now_ns();
        notify_follower();
    }
    let_spans_look();
    if (needs_thread) start_waiting(); /* if it was set after may_end, while this thread still existed */
    return NULL;
}

static void start_waiting(void)
{
    pthread_t thread;
    if (atomic_exchange(&has_thread, true)) return;
    atomic_store(&jm__dormant_rest, 0);
    if (jm__thread_start(&thread, wait_for_recorders, NULL) == 0)
        pthread_detach(thread);
    else
        let_spans_look();
}

static bool somebody_calls(void)
{
    struct pollfd line = {.fd = listener.fd_plus_one - 1, .events = POLLIN};
    return look_after_descriptors() && poll(&line, 1, 0) > 0;
}

/* Infrequent spans look each time, so that a call does not wait for many of them. */
static bool is_due(void)
{
    static uint32_t passed = 1;
    int64_t now_ns = jm__now_ns();
    passed = now_ns - clock_ns >= SPANS_LOOK_NS ? 1 : passed < SPANS_MOST ? 2 * passed : passed;
    clock_ns = now_ns;
    atomic_store(&jm__dormant_rest, passed);
    if (now_ns - looked_ns < SPANS_LOOK_NS) return false;
    looked_ns = now_ns;
    return true;
}

void jm__dormant_look(void)
{
    int before = errno;
    if (atomic_exchange(&is_looking, true)) return; /* another thread is looking */
    if (has_thread)
        atomic_store(&jm__dormant_rest, 0);
    else if (is_due() && (jm__process_has_threads(JM_SELF, 0) || somebody_calls()))
        start_waiting();
    atomic_store(&is_looking, false);
    errno = before;
}

/* The child has no waiting thread, and its copies would keep the parent's sockets open. */
static void after_fork_in_child(void)
{
    jm__kept_file_close(&listener);
    jm__kept_file_close(&recorder);
    run_path[0] = '\0';
    atomic_store(&is_listening, false);
    atomic_store(&jm__dormant_rest, 0);
    is_notifying = has_thread = is_looking = false;
}

/* Not when listening begins: that happens under a lock that a concurrent fork takes (track.c). */
static __attribute__((constructor)) void set_up_at_load(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

void jm__dormant_follow(void (*changed)(void))
{
    follower = changed;
}

void jm__dormant_needs_thread(bool needed)
{
    needs_thread = needed;
    if (needed && is_listening) start_waiting();
}

void jm__dormant_begin(const jm__dormant_part *own, const char *run_dir)
{
    part = own; /* first: a thread that is_listening permits needs it */
    if (atomic_exchange(&is_listening, true)) return;
    must_notify = true; /* about the initial state */
    if (run_dir != NULL) snprintf(run_path, sizeof run_path, "%s", run_dir);
    (void)start_listening(); /* at once, to hear calls from here on; retried on failure */
    if (run_path[0] != '\0' || needs_thread || jm__process_has_threads(JM_SELF, 0))
        start_waiting();
    else
        let_spans_look();
}
