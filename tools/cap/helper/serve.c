/* A helper at work: one lease from its taking to its end, or one board put back. */
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
    int holder;           /* readable once the holder is gone; -1: this kernel cannot tell */
    double low_w, high_w; /* caps that whoever asks may set; -INFINITY, INFINITY: all that the board takes */
    const char *board;    /* the only one that may be taken, by index or UUID; NULL: any */
    int terminated;       /* readable once this process was told to end */
    jm__lease_folder folder;
    int lock; /* the board's; -1: none is taken */
    helper_guard guard;
    jm__setter setter;
    jm__lease_state state;
    bool detached, has_set;
    int64_t until_ns; /* CLOCK_MONOTONIC; INT64_MAX: no end */
} lease_server;

/* ---- the guard of a helper: a second process that does nothing but wait for the helper's end, and puts the
 * board back if the helper could not. Whoever kills one of the two leaves the other */

/* Guards of one helper: somebody kills them, or they cannot live here. */
enum { GUARDS_MAX = 1000 };
/* A board that is lost may come back soon; after that the next use of joulemap looks. */
enum { TRIES = 20 };
#define BETWEEN_TRIES_NS (INT64_C(250) * JM_NS_PER_MS)

/* Start one for this process and this board, whose lock it holds, too. False: it could not be started, or too
 * many of them died. */
static bool guard_start(helper_guard *guard, const jm__lease_folder *folder, const char *uuid, int lock)
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

/* It is gone: take its descriptor and its status. */
static void guard_reap(helper_guard *guard)
{
    int status;
    if (guard->link >= 0) close(guard->link);
    if (guard->pid > 0) (void)jm__helper_reap(guard->pid, &status, jm__now_ns() + JM_NS_PER_S);
    guard->pid = 0;
    guard->link = -1;
}

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

/* Its arguments: guard FOLDER UUID HELPER_PID HELPER_START. The lock is its standard input, and the helper's
 * end of the link its standard output. Returns the exit code. */
static int guard(char **argv)
{
    jm__lease_folder folder;
    ignore_signals();
    jm__helper_close_others(-1);
    snprintf(folder.path, sizeof folder.path, "%s", argv[2]);
    wait_for_helper();
    int64_t pid = strtoll(argv[4], NULL, 10), start = strtoll(argv[5], NULL, 10);
    for (int i = 0; i < TRIES && !try_once(&folder, argv[3], pid, start); i++)
        jm__sleep_ns(BETWEEN_TRIES_NS);
    return 0;
}

/* How long a guard may need for a board whose helper was killed, before the next one is refused. */
#define GUARD_NS (INT64_C(5) * JM_NS_PER_S)
#define LOOK_NS  (INT64_C(10) * JM_NS_PER_MS)

static int64_t unix_now_ns(void)
{
    return jm__anchor_take().realtime_ns;
}

/* ---- the lock */

static jm_status fail_busy(const lease_server *server, const jm__lease_state *state, jm_error *err)
{
    const jm_cap_lease_info *info = &state->info;
    int64_t seconds = (unix_now_ns() - info->since_unix_ns) / JM_NS_PER_S;
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

/* Of a helper that lives the lock will not be free soon; of one that was killed, its guard is at work. */
static jm_status lock_board(lease_server *server, const char *uuid, jm_error *err)
{
    int64_t until_ns = jm__now_ns() + GUARD_NS;
    for (;;) {
        jm__lease_state state;
        jm_status status = jm__lease_lock_take(&server->lock, &server->folder, uuid, err);
        if (status != JM_BUSY) return status;
        bool known = jm__lease_state_read(&state, &server->folder, uuid, NULL) == JM_OK;
        bool lives = known && jm__process_lives(state.helper_pid, state.helper_start);
        if (!known) state.uuid[0] = '\0';
        if (lives || jm__now_ns() >= until_ns) return fail_busy(server, &state, err);
        jm__sleep_ns(LOOK_NS);
    }
}

/* The descriptor is the guard's, too: it would hold on to it for as long as it lives. */
static void unlock(lease_server *server)
{
    const struct flock whole_file = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    if (server->lock < 0) return;
    (void)fcntl(server->lock, F_OFD_SETLK, &whole_file);
    close(server->lock);
    server->lock = -1;
}

/* ---- the state */

static void copy_variable(char *out, size_t size, const char *name)
{
    const char *value = getenv(name);
    snprintf(out, size, "%s", value == NULL ? "" : value);
}

static bool fits(const char *name)
{
    const char *value = getenv(name);
    return value == NULL || strlen(value) < JM_STATE_SIM_MAX;
}

/* The user who asks: root's helper is told it by what let the user start it. -1: a user whom nobody knows. */
static int64_t asker(void)
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
    int64_t now_ns = unix_now_ns();
    *state = (jm__lease_state){
        .index = board->index,
        .holder_start = jm__process_start(request->pid),
        .helper_pid = getpid(),
        .helper_start = jm__process_start(getpid()),
        .before_w = NAN,
        .info = {.pid = request->pid, .uid = asker(), .since_unix_ns = now_ns, .found_w = NAN, .cap_w = NAN}};
    if (request->detached) state->info.pid = state->holder_start = 0; /* it is to outlive whoever that was */
    if (request->for_ns > 0) {
        state->info.until_unix_ns = now_ns + request->for_ns;
        server->until_ns = jm__now_ns() + request->for_ns;
    }
    jm__boot_id(state->boot, sizeof state->boot);
    snprintf(state->uuid, sizeof state->uuid, "%s", board->uuid);
    snprintf(state->name, sizeof state->name, "%s", board->name);
    snprintf(state->info.who, sizeof state->info.who, "%s", request->who);
    if (!board->simulated) return JM_OK;
    if (!fits("JOULEMAP_SIM") || !fits("JOULEMAP_RUN"))
        return jm__fail(err, JM_LIMIT, 0, NULL, "JOULEMAP_SIM or JOULEMAP_RUN is longer than %d bytes",
                        JM_STATE_SIM_MAX - 1);
    copy_variable(state->sim, sizeof state->sim, "JOULEMAP_SIM");
    copy_variable(state->run, sizeof state->run, "JOULEMAP_RUN");
    return JM_OK;
}

/* What another lease left: put back before this one looks what there is. */
static jm_status clear_lost(lease_server *server, jm_error *err)
{
    jm__lease_state left;
    const jm_cap_board *board = &server->setter.board;
    jm_status status = jm__lease_state_read(&left, &server->folder, board->uuid, err);
    if (status == JM_NOT_FOUND) return JM_OK;
    if (status != JM_OK) return status;
    /* Of another simulated board that has this one's UUID: nobody can see that one any more. */
    if (jm__lease_state_is_void(&left) || strcmp(left.sim, server->state.sim) != 0 ||
        strcmp(left.run, server->state.run) != 0)
        return jm__lease_state_remove(&server->folder, board->uuid, err);
    return jm__put_back(&server->setter, &left, &server->folder, err);
}

/* ---- begin and end */

/* All but the guard. Sets what is set: who may not do that may set nothing else. */
static jm_status begin(lease_server *server, const jm__request *request, jm_error *err)
{
    jm_cap_board *board = &server->setter.board;
    JM_TRY(fill_state(server, request, err));
    JM_TRY(clear_lost(server, err));
    /* Now: before the lock was ours, another lease may have stood. */
    JM_TRY(jm__setter_cap(&server->setter, &board->cap_w, err));
    server->state.info.found_w = server->state.before_w = board->cap_w;
    JM_TRY(jm__lease_state_write(&server->state, &server->folder, err));
    jm_status status = jm__setter_set(&server->setter, board->cap_w, &board->enforced_w, err);
    if (status != JM_OK) (void)jm__lease_state_remove(&server->folder, server->state.uuid, NULL);
    return status;
}

static void describe_right(jm_cap_board *board)
{
    snprintf(board->may_set, sizeof board->may_set, "%s",
             board->simulated ? "simulated"
             : geteuid() == 0 ? "root"
                              : "this user");
}

static jm_status check_board(const lease_server *server, jm_error *err)
{
    char index[16];
    const jm_cap_board *board = &server->setter.board;
    snprintf(index, sizeof index, "%d", (int)board->index);
    if (server->board == NULL || strcmp(server->board, index) == 0 || strcmp(server->board, board->uuid) == 0)
        return JM_OK;
    jm__fail(err, JM_NO_PERMISSION, 0, NULL, "this user may set the cap of GPU %.95s, not of GPU %s",
             server->board, index);
    return jm__hint(err, JM_NO_PERMISSION, "%s", "");
}

/* The lease ends with its holder, which may be gone already. */
static jm_status watch_holder(lease_server *server, pid_t pid, jm_error *err)
{
    server->holder = (int)syscall(SYS_pidfd_open, pid, 0);
    if (server->holder >= 0 || errno != ESRCH) return JM_OK;
    return jm__fail(err, JM_NOT_FOUND, ESRCH, NULL, "process %ld, which asked for the lease, is gone",
                    (long)pid);
}

/* Put back, and let go of the lock if that worked. */
static jm_status put_board_back(lease_server *server, jm_error *err)
{
    /* What could not be put back is the guard's, with the lock. */
    JM_TRY(jm__put_back(&server->setter, &server->state, &server->folder, err));
    unlock(server);
    guard_reap(&server->guard); /* it finds nothing left to do */
    return JM_OK;
}

/* Take the board that is asked for: lock, state, guard. In `server->state` what was found. */
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
    describe_right(board);
    if (guard_start(&server->guard, &server->folder, board->uuid, server->lock)) return JM_OK;
    (void)put_board_back(server, err);
    return jm__fail(err, JM_IO, 0, "posix_spawn", "the guard of the lease cannot be started");
}

/* Have the helper of a lease end it, if it is the lease of who asks, or root asks. */
static jm_status reset_lease(lease_server *server, const char *uuid, int32_t *index, jm_error *err)
{
    jm__lease_state state;
    *index = -1;
    JM_TRY(jm__lease_folder_trust(&server->folder, err));
    JM_TRY(jm__lease_state_read(&state, &server->folder, uuid, err));
    *index = state.index;
    if (asker() != 0 && asker() != state.info.uid)
        return jm__fail(err, JM_NO_PERMISSION, 0, NULL,
                        "GPU %d is held by %s of user %lld, whose it is to end", (int)state.index,
                        state.info.who, (long long)state.info.uid);
    (void)jm__process_signal(state.helper_pid, state.helper_start, SIGTERM); /* gone: its guard is at work */
    return jm__lease_await_back(&server->folder, uuid, state.helper_pid, state.helper_start, JM_LEASE_BACK_NS,
                                err);
}

/* Put back what a lost lease on this board found. `index`: NVML's, -1: not there. */
static jm_status restore_lost(lease_server *server, const char *uuid, int32_t *index, jm_error *err)
{
    *index = -1;
    jm__lease_state state;
    JM_TRY(jm__lease_folder_trust(&server->folder, err));
    JM_TRY(lock_board(server, uuid, err));
    jm_status status = jm__lease_state_read(&state, &server->folder, uuid, err);
    if (status == JM_OK) status = jm__put_back_lost(&state, &server->folder, index, err);
    unlock(server);
    return status;
}

/* ---- obeying a holder, and noticing that it is gone, that time is up, that the guard was killed */

/* Who started this process asks at once; and takes an answer, unless it stands still. */
#define FIRST_NS (INT64_C(30) * JM_NS_PER_S)
#define SAY_NS   (INT64_C(5) * JM_NS_PER_S)
/* A guard that could not be started is tried again: descriptors or processes had run out. */
enum { WITHOUT_GUARD_MS = 500 };

static bool say(lease_server *server, json_t *object)
{
    return jm__transport_send(&server->link, object, jm__now_ns() + SAY_NS) == JM_TRANSPORT_LINE;
}

/* ---- requests */

/* Written down before it is set: whoever comes after a kill knows of it. */
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

static bool is_refused(jm_status status)
{
    return status == JM_USAGE || status == JM_NOT_SUPPORTED || status == JM_NO_PERMISSION;
}

static jm_status hold_clock(lease_server *server, double clock_mhz, jm_error *err)
{
    bool before = server->state.clock_held;
    if (clock_mhz <= 0 && !before) return JM_OK; /* what others hold is theirs */
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
    else if (is_refused(status)) { /* nothing is to be let go of: where that cannot be done either, no end
                                      would be */
        server->state.clock_held = before;
        (void)jm__lease_state_write(&server->state, &server->folder, NULL);
    }
    return status;
}

static json_t *with_watts(json_t *answer, const char *key, double watts)
{
    if (answer != NULL && isfinite(watts)) json_object_set_new(answer, key, json_real(watts));
    return answer;
}

/* The answer; *over: it was the last. */
static json_t *obey(lease_server *server, const jm__request *request, bool *over)
{
    jm_error err = {0};
    double enforced_w = NAN;
    json_t *answer = jm__answer_ok();
    jm_status status = JM_OK;
    if (request->ask == JM_ASK_SET) {
        status = set_cap(server, request->number, &enforced_w, &err);
        answer = with_watts(answer, "enforced_w", enforced_w);
    } else if (request->ask == JM_ASK_CLOCK) {
        status = hold_clock(server, request->number, &err);
    } else if (request->ask == JM_ASK_END) {
        *over = true;
        status = put_board_back(server, &err);
        if (status != JM_OK)
            jm__hint(&err, status, "%.4g W, as found, is still to be put back: `joulemap cap restore`",
                     server->state.info.found_w);
    } else {
        status = jm__fail(&err, JM_USAGE, 0, NULL, "a lease has one board, from its first request on");
    }
    if (status == JM_OK) return answer;
    json_decref(answer);
    return jm__answer_fault(&err);
}

/* ---- a lease */

/* It ends for another reason than its holder's word. */
static void leave(lease_server *server, const char *why)
{
    jm_error err = {0};
    bool back = put_board_back(server, &err) == JM_OK;
    (void)say(server, json_pack("{s:s, s:b, s:s}", "over", back ? why : err.text, "back", back, "why", why));
}

static int wait_ms(const lease_server *server)
{
    const int most_ms = server->guard.link < 0 ? WITHOUT_GUARD_MS : 60000;
    if (server->until_ns == INT64_MAX) return server->guard.link < 0 ? most_ms : -1;
    int64_t left_ms = (server->until_ns - jm__now_ns()) / JM_NS_PER_MS + 1;
    return left_ms < 0 ? 0 : left_ms > most_ms ? most_ms : (int)left_ms;
}

/* What came over the link. False: the lease is over. */
static bool hear(lease_server *server)
{
    json_t *object;
    jm_error err = {0};
    jm__request request;
    bool over = false;
    jm__transport_is is = jm__transport_receive(&server->link, &object, 0);
    if (is == JM_TRANSPORT_LATE) return true;
    if (is == JM_TRANSPORT_CLOSED && server->detached && server->has_set) {
        server->link.fd = -1; /* from now on it stands by itself */
        server->holder = -1;
        return true;
    }
    if (is == JM_TRANSPORT_CLOSED) {
        leave(server, "its holder ended");
        return false;
    }
    jm_status status = is == JM_TRANSPORT_GARBAGE
                           ? jm__fail(&err, JM_BAD_DATA, 0, NULL, "a line is no request")
                           : jm__request_read(&request, object, &err);
    json_decref(object);
    if (status != JM_OK) {
        (void)say(server, jm__answer_fault(&err));
        leave(server, "its holder said what cannot be understood");
        return false;
    }
    /* One that does not hear the answer is gone, or stands still: the descriptors tell. */
    (void)say(server, obey(server, &request, &over));
    return !over;
}

static void hold(lease_server *server)
{
    for (;;) {
        struct pollfd ready[] = {{.fd = server->link.fd, .events = POLLIN},
                                 {.fd = server->holder, .events = POLLIN},
                                 {.fd = server->terminated, .events = POLLIN},
                                 {.fd = server->guard.link, .events = POLLIN}};
        if (poll(ready, 4, wait_ms(server)) < 0 && errno != EINTR) break;
        if (ready[2].revents != 0) break;
        if (jm__now_ns() >= server->until_ns) {
            leave(server, "its time was up");
            return;
        }
        if (ready[3].revents != 0) guard_reap(&server->guard);
        if (server->guard.link < 0)
            (void)guard_start(&server->guard, &server->folder, server->state.uuid, server->lock);
        if (ready[0].revents != 0 && !hear(server)) return;
        /* What the holder asked for before it went was done first. */
        if (ready[1].revents == 0 || ready[0].revents != 0) continue;
        if (server->detached && server->has_set) {
            server->holder = -1;
            continue;
        }
        leave(server, "its holder ended");
        return;
    }
    leave(server, "it was reset");
}

/* ---- the first request */

static void do_once(lease_server *server, const jm__request *request)
{
    jm_error err = {0};
    int32_t index;
    jm_status status = request->ask == JM_ASK_RESET ? reset_lease(server, request->uuid, &index, &err)
                                                    : restore_lost(server, request->uuid, &index, &err);
    json_t *answer = status == JM_OK ? jm__answer_ok() : jm__answer_fault(&err);
    if (answer != NULL) json_object_set_new(answer, "index", json_integer(index));
    (void)say(server, answer);
}

/* The board as it was found, and which process to look for where this one does not answer. */
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

/* Returns once the board is put back, or could not be. */
static void talk(lease_server *server)
{
    json_t *object;
    jm_error err = {0};
    jm__request request;
    if (jm__transport_receive(&server->link, &object, jm__now_ns() + FIRST_NS) != JM_TRANSPORT_LINE) return;
    jm_status status = jm__request_read(&request, object, &err);
    json_decref(object);
    if (status == JM_OK) status = jm__lease_folder_find(&server->folder, &err);
    if (status == JM_OK && (request.ask == JM_ASK_RESTORE || request.ask == JM_ASK_RESET)) {
        do_once(server, &request);
        return;
    }
    if (status == JM_OK && request.ask != JM_ASK_TAKE)
        status = jm__fail(&err, JM_USAGE, 0, NULL, "a lease begins with \"take\"");
    if (status == JM_OK) status = take_board(server, &request, &err);
    if (status != JM_OK)
        (void)say(server, jm__answer_fault(&err));
    else if (say(server, taken_json(server)))
        hold(server);
    else
        leave(server, "its holder takes no answer");
}

/* ---- the process itself */

/* The holder has a child no longer: a program that waits for all of its children would wait for this one too;
 * and nothing that is meant for its terminal or its group is for this one. False in the process that is to
 * end at once. */
static bool leave_home(void)
{
    return fork() == 0 && setsid() >= 0;
}

/* SIGTERM puts back and leaves; all else that people send is not for this process. */
static void take_signals(lease_server *server)
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
    fprintf(stderr,
            "joulemap-cap: started by joulemap alone, `joulemap cap` is for people; in a rule of sudo's:\n"
            "  joulemap-cap serve [--within LOW:HIGH] [--board N|UUID]\n");
    return jm_status_exit_code(JM_USAGE);
}

static int serve(char **argv)
{
    static lease_server server = {.lock = -1,
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
    talk(&server);
    _exit(0); /* a driver may hang in what it does at exit */
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
