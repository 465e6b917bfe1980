/* The helper process: one lease from start to end, or one board put back. */
#include "cap/helper/serve.h"

#include "base/clock.h"
#include "base/helper.h"
#include "base/status.h"
#include "cap/helper/setter.h"
#include "cap/lease/reach.h"
#include "cap/lease/state.h"
#include "cap/lease/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct helper_guard {
    pid_t pid; /* 0: none */
    int link;  /* readable once it is gone; -1: none */
    int started;
} helper_guard;

typedef struct lease_server {
    jm__transport link;   /* to the holder */
    int holder;           /* readable once the holder is gone; -1: no pidfd on this kernel */
    double low_w, high_w; /* caps that the user may set; -INFINITY, INFINITY: the board's whole range */
    const char *board;    /* the only board that may be leased, by index or UUID; NULL: any */
    int terminated;       /* readable after SIGTERM */
    jm__lease_folder folder;
    int lock; /* the board's; -1: none is taken */
    helper_guard guard;
    jm__setter setter;
    jm__lease_state state;
    bool detached, has_set;
    int64_t deadline_ns; /* CLOCK_MONOTONIC; INT64_MAX: no end */
} lease_server;

/* ---- the guard of a helper: a second process that waits for the helper's end, and puts the board back if
 * the helper could not. A kill of either process leaves the other */

/* Most guards that one helper starts, if guards are killed again and again. */
enum { GUARDS_MAX = 1000 };
/* A lost board may come back soon. After these tries, the next use of joulemap restores it. */
enum { RETRIES = 20 };
#define RETRY_INTERVAL_NS (INT64_C(250) * JM_NS_PER_MS)

/* Start a guard for this process and board; it inherits the lock. False: the start failed, or too many guards
 * died. */
static bool guard_start(lease_server *server)
{
    char pid[24], start[24], name[] = "joulemap-cap", task[] = "guard";
    int sockets[2];
    helper_guard *guard = &server->guard;
    guard->pid = 0;
    guard->link = -1;
    if (guard->started++ >= GUARDS_MAX) return false;
    snprintf(pid, sizeof pid, "%lld", (long long)getpid());
    snprintf(start, sizeof start, "%lld", (long long)jm__process_start(getpid()));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return false;
    char *arguments[] = {name, task, server->folder.path, server->state.uuid, pid, start, NULL};
    const jm__helper process = {.command = "/proc/self/exe",
                                .arguments = arguments,
                                .environment = environ,
                                .input = server->lock,
                                .output = sockets[1],
                                .own_group = true};
    int code = jm__helper_start(&guard->pid, &process);
    close(sockets[1]);
    if (code != 0) {
        guard->pid = 0;
        close(sockets[0]);
        return false;
    }
    guard->link = sockets[0];
    return true;
}

/* The guard is gone: close its descriptor, collect its status. */
static void guard_reap(helper_guard *guard)
{
    int status;
    if (guard->link >= 0) close(guard->link);
    if (guard->pid > 0) (void)jm__helper_reap(guard->pid, &status, jm__now_ns() + JM_NS_PER_S);
    guard->pid = 0;
    guard->link = -1;
}

/* Signals from terminals and users. */
static void ignore_signals(void)
{
    static const int signals[] = {SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGTSTP, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        signal(signals[i], SIG_IGN);
}

/* The helper's socket closes however the helper ends. */
static void wait_for_helper(void)
{
    char byte;
    for (;;) {
        ssize_t count = read(STDOUT_FILENO, &byte, 1);
        if (count == 0 || (count < 0 && errno != EINTR)) return;
    }
}

/* True: nothing is left to do. */
static bool restore_once(const jm__lease_folder *folder, const char *uuid, int64_t helper_pid,
                         int64_t helper_start)
{
    jm__lease_state state;
    jm_error err;
    int32_t index;
    jm_status status = jm__lease_state_read(&state, folder, uuid, &err);
    if (status == JM_NOT_FOUND) return true;
    if (status != JM_OK) return false; /* out of descriptors or memory; retry */
    /* This lease is put back, and another has begun. */
    if (state.helper_pid != helper_pid || state.helper_start != helper_start) return true;
    return jm__put_back_lost(&state, folder, &index, &err) == JM_OK;
}

/* The guard process. Arguments: guard FOLDER UUID HELPER_PID HELPER_START. Standard input is the lock,
 * standard output the socket to the helper. Returns the exit code. */
static int guard(char **argv)
{
    jm__lease_folder folder;
    ignore_signals();
    signal(SIGTERM, SIG_IGN);
    jm__helper_close_others(-1);
    snprintf(folder.path, sizeof folder.path, "%s", argv[2]);
    wait_for_helper();
    int64_t pid = strtoll(argv[4], NULL, 10), start = strtoll(argv[5], NULL, 10);
    for (int i = 0; i < RETRIES && !restore_once(&folder, argv[3], pid, start); i++)
        jm__sleep_ns(RETRY_INTERVAL_NS);
    return 0;
}

/* How long a new lease waits for the guard of a killed helper. */
#define GUARD_NS (INT64_C(5) * JM_NS_PER_S)
#define POLL_NS  (INT64_C(10) * JM_NS_PER_MS)

/* ---- the lock */

static jm_status fail_busy(const lease_server *server, const jm__lease_state *state, jm_error *err)
{
    const jm_cap_lease_info *info = &state->info;
    int64_t seconds = (jm__anchor_take().realtime_ns - info->since_unix_ns) / JM_NS_PER_S;
    int index = (int)server->setter.board.index;
    if (state->uuid[0] == '\0')
        return jm__fail(err, JM_BUSY, 0, NULL, "GPU %d has a lease that begins or ends just now", index);
    if (info->pid > 0)
        jm__fail(err, JM_BUSY, 0, NULL, "GPU %d is held by %s (pid %lld, user %lld, for %lld s)", index,
                 info->who, (long long)info->pid, (long long)info->uid, (long long)seconds);
    else
        jm__fail(err, JM_BUSY, 0, NULL, "GPU %d is held by %s (user %lld, for %lld s)", index, info->who,
                 (long long)info->uid, (long long)seconds);
    return jm__hint(err, JM_BUSY, "wait for its end, or end it: `joulemap cap reset --board %d`", index);
}

/* A living helper keeps the lock. After a killed helper, its guard frees the lock soon. */
static jm_status lock_board(lease_server *server, const char *uuid, jm_error *err)
{
    int64_t deadline_ns = jm__now_ns() + GUARD_NS;
    for (;;) {
        jm__lease_state state;
        jm_status status = jm__lease_lock_take(&server->lock, &server->folder, uuid, err);
        if (status != JM_BUSY) return status;
        bool has_state = jm__lease_state_read(&state, &server->folder, uuid, NULL) == JM_OK;
        bool lives = has_state && jm__process_lives(state.helper_pid, state.helper_start);
        if (!has_state) state.uuid[0] = '\0';
        if (lives || jm__now_ns() >= deadline_ns) return fail_busy(server, &state, err);
        jm__sleep_ns(POLL_NS);
    }
}

/* The guard shares the descriptor: closing it here would not free the lock. */
static void unlock(lease_server *server)
{
    const struct flock whole_file = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    if (server->lock < 0) return;
    (void)fcntl(server->lock, F_OFD_SETLK, &whole_file);
    close(server->lock);
    server->lock = -1;
}

/* ---- the state */

/* False: it does not fit. */
static bool copy_variable(char out[JM_STATE_SIM_MAX], const char *name)
{
    const char *value = getenv(name);
    return snprintf(out, JM_STATE_SIM_MAX, "%s", value == NULL ? "" : value) < JM_STATE_SIM_MAX;
}

/* The requesting user. A helper that runs as root learns it from sudo, pkexec or doas. -1: unknown user. */
static int64_t requesting_user(void)
{
    if (geteuid() != 0) return (int64_t)getuid();
    const char *uid = getenv("SUDO_UID") != NULL ? getenv("SUDO_UID") : getenv("PKEXEC_UID");
    if (uid != NULL) return strtoll(uid, NULL, 10);
    const char *name = getenv("DOAS_USER");
    if (name == NULL) return (int64_t)getuid();
    const struct passwd *user = getpwnam(name);
    return user != NULL ? (int64_t)user->pw_uid : -1;
}

static jm_status fill_state(lease_server *server, const jm__request *request, jm_error *err)
{
    const jm_cap_board *board = &server->setter.board;
    jm__lease_state *state = &server->state;
    int64_t now_ns = jm__anchor_take().realtime_ns;
    *state = (jm__lease_state){.index = board->index,
                               .holder_start = jm__process_start(request->pid),
                               .helper_pid = getpid(),
                               .helper_start = jm__process_start(getpid()),
                               .before_w = NAN,
                               .info = {.pid = request->pid,
                                        .uid = requesting_user(),
                                        .since_unix_ns = now_ns,
                                        .found_w = NAN,
                                        .cap_w = NAN}};
    if (request->detached) state->info.pid = state->holder_start = 0; /* the lease outlives its holder */
    if (request->for_ns > 0) {
        state->info.until_unix_ns = now_ns + request->for_ns;
        server->deadline_ns = jm__now_ns() + request->for_ns;
    }
    jm__boot_id(state->boot, sizeof state->boot);
    snprintf(state->uuid, sizeof state->uuid, "%s", board->uuid);
    snprintf(state->name, sizeof state->name, "%s", board->name);
    snprintf(state->info.who, sizeof state->info.who, "%s", request->who);
    if (!board->simulated ||
        (copy_variable(state->sim, "JOULEMAP_SIM") && copy_variable(state->run, "JOULEMAP_RUN")))
        return JM_OK;
    return jm__fail(err, JM_LIMIT, 0, NULL, "JOULEMAP_SIM or JOULEMAP_RUN is longer than %d bytes",
                    JM_STATE_SIM_MAX - 1);
}

/* Put back what a lost lease left, before this lease reads the cap. */
static jm_status clear_lost(lease_server *server, jm_error *err)
{
    jm__lease_state lost;
    const jm_cap_board *board = &server->setter.board;
    jm_status status = jm__lease_state_read(&lost, &server->folder, board->uuid, err);
    if (status == JM_NOT_FOUND) return JM_OK;
    if (status != JM_OK) return status;
    /* The state of another simulated board with this UUID: that board is gone. */
    if (jm__lease_state_is_void(&lost) || strcmp(lost.sim, server->state.sim) != 0 ||
        strcmp(lost.run, server->state.run) != 0)
        return jm__lease_state_remove(&server->folder, board->uuid, err);
    return jm__put_back(&server->setter, &lost, &server->folder, err);
}

/* ---- begin and end */

/* Everything but the guard. It sets the present cap again: this shows whether this user may set caps. */
static jm_status begin(lease_server *server, const jm__request *request, jm_error *err)
{
    jm_cap_board *board = &server->setter.board;
    JM_TRY(fill_state(server, request, err));
    JM_TRY(clear_lost(server, err));
    /* Read the cap again: another lease may have held the board before the lock was free. */
    JM_TRY(jm__setter_cap(&server->setter, &board->cap_w, err));
    server->state.info.found_w = server->state.before_w = board->cap_w;
    JM_TRY(jm__lease_state_write(&server->state, &server->folder, err));
    jm_status status = jm__setter_set(&server->setter, board->cap_w, &board->enforced_w, err);
    if (status != JM_OK) (void)jm__lease_state_remove(&server->folder, server->state.uuid, NULL);
    return status;
}

static jm_status check_board(const lease_server *server, jm_error *err)
{
    char index[16];
    const jm_cap_board *board = &server->setter.board;
    snprintf(index, sizeof index, "%d", (int)board->index);
    if (server->board == NULL || strcmp(server->board, index) == 0 || strcmp(server->board, board->uuid) == 0)
        return JM_OK;
    jm__fail(err, JM_NO_PERMISSION, 0, NULL, "this user may set the cap of GPU %.95s, not that of GPU %s",
             server->board, index);
    return jm__hint(err, JM_NO_PERMISSION, "%s", "");
}

/* The lease ends with its holder. NOT_FOUND: it is gone already. */
static jm_status watch_holder(lease_server *server, pid_t pid, jm_error *err)
{
    server->holder = (int)syscall(SYS_pidfd_open, pid, 0);
    if (server->holder >= 0 || errno != ESRCH) return JM_OK;
    return jm__fail(err, JM_NOT_FOUND, ESRCH, NULL, "process %ld, which requested the lease, is gone",
                    (long)pid);
}

/* Put the board back; on success, free the lock. */
static jm_status put_board_back(lease_server *server, jm_error *err)
{
    /* After a failure the guard retries, and keeps the lock. */
    JM_TRY(jm__put_back(&server->setter, &server->state, &server->folder, err));
    unlock(server);
    guard_reap(&server->guard); /* the guard has nothing left to do */
    return JM_OK;
}

/* Take the requested board: lock, state, guard. `server->state` then has the cap from before. */
static jm_status take_board(lease_server *server, const jm__request *request, jm_error *err)
{
    jm_cap_board *board = &server->setter.board;
    JM_TRY(watch_holder(server, (pid_t)request->pid, err));
    JM_TRY(jm__lease_folder_make(&server->folder, err));
    JM_TRY(jm__setter_open(&server->setter, request->uuid, request->index, err));
    JM_TRY(check_board(server, err));
    JM_TRY(lock_board(server, board->uuid, err));
    jm_status status = begin(server, request, err);
    if (status != JM_OK) {
        unlock(server);
        return status;
    }
    server->detached = request->detached;
    snprintf(board->may_set, sizeof board->may_set, "%s",
             board->simulated ? "simulated"
             : geteuid() == 0 ? "root"
                              : "this user");
    if (guard_start(server)) return JM_OK;
    (void)put_board_back(server, err);
    return jm__fail(err, JM_IO, 0, "posix_spawn", "the guard of the lease cannot be started");
}

/* Make the helper of a lease end it. Only the lease's user and root may do that. */
static jm_status reset_lease(lease_server *server, const char *uuid, int32_t *index, jm_error *err)
{
    jm__lease_state state;
    JM_TRY(jm__lease_folder_trust(&server->folder, err));
    JM_TRY(jm__lease_state_read(&state, &server->folder, uuid, err));
    *index = state.index;
    if (requesting_user() != 0 && requesting_user() != state.info.uid)
        return jm__fail(err, JM_NO_PERMISSION, 0, NULL,
                        "GPU %d is held by %s of user %lld; only that user or root can end it",
                        (int)state.index, state.info.who, (long long)state.info.uid);
    (void)jm__process_signal(state.helper_pid, state.helper_start,
                             SIGTERM); /* if it is gone, its guard puts back */
    return jm__lease_wait_restored(&server->folder, uuid, state.helper_pid, state.helper_start,
                                   JM_LEASE_RESTORE_NS, err);
}

/* Put a board back to the cap from before a lost lease. */
static jm_status restore_lost(lease_server *server, const char *uuid, int32_t *index, jm_error *err)
{
    jm__lease_state state;
    JM_TRY(jm__lease_folder_trust(&server->folder, err));
    JM_TRY(lock_board(server, uuid, err));
    jm_status status = jm__lease_state_read(&state, &server->folder, uuid, err);
    if (status == JM_OK) status = jm__put_back_lost(&state, &server->folder, index, err);
    unlock(server);
    return status;
}

/* ---- serving a lease: requests, the end of the holder, the time limit, the death of the guard */

/* Time for the first request, and for sending an answer to a holder that may be stopped. */
#define FIRST_NS (INT64_C(30) * JM_NS_PER_S)
#define SEND_NS  (INT64_C(5) * JM_NS_PER_S)
/* If no guard could be started (no descriptors or processes), retry after this. */
enum { GUARD_RETRY_MS = 500 };

static bool send_answer(lease_server *server, json_t *object)
{
    return jm__transport_send(&server->link, object, jm__now_ns() + SEND_NS) == JM_TRANSPORT_LINE;
}

/* ---- requests */

/* The state is written before the cap is set, for whoever restores after a kill. */
static jm_status set_cap(lease_server *server, double cap_w, double *enforced_w, jm_error *err)
{
    jm__lease_state *state = &server->state;
    double before_w = state->info.cap_w;
    if (!(cap_w >= server->low_w && cap_w <= server->high_w)) {
        jm__fail(err, JM_NO_PERMISSION, 0, NULL, "GPU %d: this user may set %.4g to %.4g W, not %.6g W",
                 (int)state->index, server->low_w, server->high_w, cap_w);
        return jm__hint(err, JM_NO_PERMISSION, "%s", "");
    }
    if (isfinite(before_w)) state->before_w = before_w;
    state->info.cap_w = cap_w;
    JM_TRY(jm__lease_state_write(state, &server->folder, err));
    jm_status status = jm__setter_set(&server->setter, cap_w, enforced_w, err);
    if (status == JM_OK)
        server->has_set = true;
    else if (status == JM_USAGE) /* nothing was set */
        state->info.cap_w = before_w;
    return status;
}

static jm_status set_clock(lease_server *server, double clock_mhz, jm_error *err)
{
    bool was_held = server->state.clock_held;
    if (clock_mhz <= 0 && !was_held) return JM_OK; /* a clock that others hold stays */
    if (isfinite(server->high_w) || server->board != NULL) {
        jm__fail(err, JM_NO_PERMISSION, 0, NULL, "GPU %d: this user may set its cap, not its clock",
                 (int)server->state.index);
        return jm__hint(err, JM_NO_PERMISSION, "%s", "");
    }
    server->state.clock_held = true;
    JM_TRY(jm__lease_state_write(&server->state, &server->folder, err));
    jm_status status = jm__setter_clock(&server->setter, clock_mhz, err);
    if (status == JM_OK && clock_mhz > 0) server->has_set = true;
    if (status == JM_OK)
        server->state.clock_held = clock_mhz > 0;
    else if (status == JM_USAGE || status == JM_NOT_SUPPORTED || status == JM_NO_PERMISSION) {
        /* Nothing is held. With clock_held, an end would fail if the clock cannot be reset either. */
        server->state.clock_held = was_held;
        (void)jm__lease_state_write(&server->state, &server->folder, NULL);
    }
    return status;
}

/* The answer. *over: it is the last one. */
static json_t *handle_request(lease_server *server, const jm__request *request, bool *over)
{
    jm_error err = {0};
    double enforced_w = NAN;
    json_t *answer = jm__answer_ok();
    jm_status status = JM_OK;
    if (request->kind == JM_REQUEST_SET) {
        status = set_cap(server, request->number, &enforced_w, &err);
        if (isfinite(enforced_w)) json_object_set_new(answer, "enforced_w", json_real(enforced_w));
    } else if (request->kind == JM_REQUEST_CLOCK) {
        status = set_clock(server, request->number, &err);
    } else if (request->kind == JM_REQUEST_END) {
        *over = true;
        status = put_board_back(server, &err);
        if (status != JM_OK)
            jm__hint(&err, status, "%.4g W, the cap before, must still be put back: `joulemap cap restore`",
                     server->state.info.found_w);
    } else {
        status = jm__fail(&err, JM_USAGE, 0, NULL, "a lease has one board, from its first request on");
    }
    if (status == JM_OK) return answer;
    json_decref(answer);
    return jm__answer_fault(&err);
}

/* ---- a lease */

/* End the lease without a request of its holder. */
static void end_lease(lease_server *server, const char *why)
{
    jm_error err = {0};
    bool back = put_board_back(server, &err) == JM_OK;
    (void)send_answer(server,
                      json_pack("{s:s, s:b, s:s}", "over", back ? why : err.text, "back", back, "why", why));
}

static int wait_ms(const lease_server *server)
{
    const int most_ms = server->guard.link < 0 ? GUARD_RETRY_MS : 60000;
    if (server->deadline_ns == INT64_MAX) return server->guard.link < 0 ? most_ms : -1;
    int64_t left_ms = (server->deadline_ns - jm__now_ns()) / JM_NS_PER_MS + 1;
    return left_ms < 0 ? 0 : left_ms > most_ms ? most_ms : (int)left_ms;
}

/* Handle input from the holder. False: the lease is over. */
static bool handle_input(lease_server *server)
{
    json_t *object;
    jm_error err = {0};
    jm__request request;
    bool over = false;
    jm__transport_result received = jm__transport_receive(&server->link, &object, 0);
    if (received == JM_TRANSPORT_LATE) return true;
    if (received == JM_TRANSPORT_CLOSED && server->detached && server->has_set) {
        server->link.fd = -1; /* the lease goes on without its holder */
        server->holder = -1;
        return true;
    }
    if (received == JM_TRANSPORT_CLOSED) {
        end_lease(server, "its holder ended");
        return false;
    }
    jm_status status = received == JM_TRANSPORT_GARBAGE
                           ? jm__fail(&err, JM_BAD_DATA, 0, NULL, "a line is not a request")
                           : jm__request_read(&request, object, &err);
    json_decref(object);
    if (status != JM_OK) {
        (void)send_answer(server, jm__answer_fault(&err));
        end_lease(server, "its holder sent an invalid request");
        return false;
    }
    /* A failed send means that the holder is gone or stopped; its descriptors show which. */
    (void)send_answer(server, handle_request(server, &request, &over));
    return !over;
}

static void serve_lease(lease_server *server)
{
    for (;;) {
        struct pollfd ready[] = {{.fd = server->link.fd, .events = POLLIN},
                                 {.fd = server->holder, .events = POLLIN},
                                 {.fd = server->terminated, .events = POLLIN},
                                 {.fd = server->guard.link, .events = POLLIN}};
        if (poll(ready, 4, wait_ms(server)) < 0 && errno != EINTR) break;
        if (ready[2].revents != 0) break;
        if (jm__now_ns() >= server->deadline_ns) {
            end_lease(server, "its time was up");
            return;
        }
        if (ready[3].revents != 0) guard_reap(&server->guard);
        if (server->guard.link < 0) (void)guard_start(server);
        if (ready[0].revents != 0 && !handle_input(server)) return;
        /* Requests that the holder sent before its end come first. */
        if (ready[1].revents == 0 || ready[0].revents != 0) continue;
        if (server->detached && server->has_set) {
            server->holder = -1;
            continue;
        }
        end_lease(server, "its holder ended");
        return;
    }
    end_lease(server, "it was reset");
}

/* ---- the first request */

static void serve_once(lease_server *server, const jm__request *request)
{
    jm_error err = {0};
    int32_t index = -1; /* NVML's; -1: no such board */
    jm_status status = request->kind == JM_REQUEST_RESET ? reset_lease(server, request->uuid, &index, &err)
                                                         : restore_lost(server, request->uuid, &index, &err);
    json_t *answer = status == JM_OK ? jm__answer_ok() : jm__answer_fault(&err);
    if (answer != NULL) json_object_set_new(answer, "index", json_integer(index));
    (void)send_answer(server, answer);
}

/* The board as found, and the process that serves it. */
static json_t *taken_json(const lease_server *server)
{
    jm_cap_board board = server->setter.board;
    board.low_w = fmax(board.low_w, server->low_w);
    board.high_w = fmin(board.high_w, server->high_w);
    json_t *answer = jm__answer_board(&board);
    if (answer == NULL) return NULL;
    json_object_set_new(answer, "helper_pid", json_integer(server->state.helper_pid));
    json_object_set_new(answer, "helper_start", json_integer(server->state.helper_start));
    return answer;
}

/* Returns once the board is put back, or putting back failed. */
static void serve_holder(lease_server *server)
{
    json_t *object;
    jm_error err = {0};
    jm__request request;
    if (jm__transport_receive(&server->link, &object, jm__now_ns() + FIRST_NS) != JM_TRANSPORT_LINE) return;
    jm_status status = jm__request_read(&request, object, &err);
    json_decref(object);
    if (status == JM_OK) status = jm__lease_folder_find(&server->folder, &err);
    if (status == JM_OK && (request.kind == JM_REQUEST_RESTORE || request.kind == JM_REQUEST_RESET)) {
        serve_once(server, &request);
        return;
    }
    if (status == JM_OK && request.kind != JM_REQUEST_TAKE)
        status = jm__fail(&err, JM_USAGE, 0, NULL, "a lease begins with \"take\"");
    if (status == JM_OK) status = take_board(server, &request, &err);
    if (status != JM_OK)
        (void)send_answer(server, jm__answer_fault(&err));
    else if (send_answer(server, taken_json(server)))
        serve_lease(server);
    else
        end_lease(server, "its holder takes no answer");
}

/* ---- the process itself */

/* Detach from the holder: a program that waits for all its children must not wait for this one, and signals
 * for its terminal or group are not for this one. False in the parent, which must exit at once. */
static bool detach_from_parent(void)
{
    return fork() == 0 && setsid() >= 0;
}

/* SIGTERM ends the lease. */
static void set_up_signals(lease_server *server)
{
    sigset_t terminate;
    ignore_signals();
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    sigprocmask(SIG_BLOCK, &terminate, NULL);
    server->terminated = signalfd(-1, &terminate, SFD_CLOEXEC);
}

/* Be the last to be killed if memory is out, where permitted. No core file. */
static void protect_from_oom(void)
{
    const struct rlimit no_core = {0};
    static const char score[] = "-900";
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    /* Only root may do this; without it the process has the usual score. */
    ssize_t written = fd < 0 ? -1 : write(fd, score, sizeof score - 1);
    (void)written;
    if (fd >= 0) close(fd);
    setrlimit(RLIMIT_CORE, &no_core);
}

static bool read_bounds(lease_server *server, char **argv)
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
    fprintf(stderr, "joulemap-cap: only joulemap starts it; use `joulemap cap`. In a sudo rule:\n"
                    "  joulemap-cap serve [--within LOW:HIGH] [--board N|UUID]\n");
    return jm_status_exit_code(JM_USAGE);
}

static int serve(char **argv)
{
    static lease_server server = {.lock = -1,
                                  .holder = -1,
                                  .guard = {.link = -1},
                                  .deadline_ns = INT64_MAX,
                                  .low_w = -INFINITY,
                                  .high_w = INFINITY};
    if (!read_bounds(&server, argv)) return fail_usage();
    server.link.fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (server.link.fd < 0 || null_fd < 0) return jm_status_exit_code(JM_IO);
    dup2(null_fd, STDIN_FILENO);
    dup2(null_fd, STDOUT_FILENO); /* discards what libraries print */
    jm__helper_close_others(server.link.fd);
    if (!detach_from_parent()) _exit(0);
    set_up_signals(&server);
    protect_from_oom();
    serve_holder(&server);
    _exit(0); /* a driver's exit handlers may hang */
}

bool jm__cap_helper(int argc, char **argv, int *code)
{
    if (argc >= 2 && strcmp(argv[1], "serve") == 0)
        *code = serve(argv + 2);
    else if (argc == 6 && strcmp(argv[1], "guard") == 0)
        *code = guard(argv);
    else if (argc > 0 && strcmp(argv[0], "joulemap") == 0)
        return false;
    else
        *code = fail_usage();
    return true;
}
