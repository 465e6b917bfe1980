/* The beginning and the end of a lease: lock, state before change, guard; and back. */
#include "base/clock.h"
#include "base/status.h"
#include "cap/helper/serve.h"
#include "cap/lease/process.h"
#include "cap/lease/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How long a guard may need for a board whose helper was killed, before the next one is refused. */
#define GUARD_NS (INT64_C(5) * JM_NS_PER_S)
#define LOOK_NS  (INT64_C(10) * JM_NS_PER_MS)

static int64_t unix_now_ns(void)
{
    return jm__anchor_take().realtime_ns;
}

/* ---- the lock */

static jm_status fail_busy(const jm__server *server, const jm__lease_state *state, jm_error *err)
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
static jm_status lock_board(jm__server *server, const char *uuid, jm_error *err)
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
static void unlock(jm__server *server)
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

static jm_status fill_state(jm__server *server, const jm__request *request, jm_error *err)
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
static jm_status clear_lost(jm__server *server, jm_error *err)
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
static jm_status begin(jm__server *server, const jm__request *request, jm_error *err)
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

static jm_status check_board(const jm__server *server, jm_error *err)
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
static jm_status watch_holder(jm__server *server, pid_t pid, jm_error *err)
{
    server->holder = (int)syscall(SYS_pidfd_open, pid, 0);
    if (server->holder >= 0 || errno != ESRCH) return JM_OK;
    return jm__fail(err, JM_NOT_FOUND, ESRCH, NULL, "process %ld, which asked for the lease, is gone",
                    (long)pid);
}

jm_status jm__server_take(jm__server *server, const jm__request *request, jm_error *err)
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
    if (jm__guard_start(&server->guard, &server->folder, board->uuid, server->lock)) return JM_OK;
    (void)jm__server_put_back(server, err);
    return jm__fail(err, JM_IO, 0, "posix_spawn", "the guard of the lease cannot be started");
}

jm_status jm__server_put_back(jm__server *server, jm_error *err)
{
    /* What could not be put back is the guard's, with the lock. */
    JM_TRY(jm__put_back(&server->setter, &server->state, &server->folder, err));
    unlock(server);
    jm__guard_reap(&server->guard); /* it finds nothing left to do */
    return JM_OK;
}

jm_status jm__server_reset(jm__server *server, const char *uuid, int32_t *index, jm_error *err)
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

jm_status jm__server_restore(jm__server *server, const char *uuid, int32_t *index, jm_error *err)
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
