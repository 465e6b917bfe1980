/* Ending leases of others: those that stand, and those that were lost. */
#include "base/status.h"
#include "cap/lease/process.h"
#include "cap/lease/reach.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void tell(jm_cap_restored *out, const jm__lease_state *state, const char *uuid, int32_t index)
{
    *out = (jm_cap_restored){.index = index, .lease = state->info, .left_w = NAN};
    snprintf(out->uuid, sizeof out->uuid, "%s", uuid);
}

/* The lease has ended: does the board have what was found? */
static void look_what_is_left(jm_cap_restored *out, const jm__lease_state *state)
{
    jm_cap_boards *boards;
    if (jm_cap_boards_create(&boards, state->sim[0] != '\0' ? state->sim : NULL, NULL) != JM_OK) return;
    for (size_t i = 0; i < jm_cap_boards_count(boards); i++) {
        const jm_cap_board *board = jm_cap_boards_board(boards, i);
        if (strcmp(board->uuid, out->uuid) == 0 && fabs(board->cap_w - state->info.found_w) > JM_SAME_W)
            out->left_w = board->cap_w;
    }
    jm_cap_boards_free(boards);
}

static void tell_fault(jm_cap_restored *out, const jm_error *err)
{
    snprintf(out->fault, sizeof out->fault, "%s%s%s", err->text, err->hint[0] != '\0' ? "; " : "", err->hint);
}

/* ---- reset */

/* Of a lease whose helper is another user's: root's, which a rule of sudo's may reach. */
static jm_status reset_of_root(const jm__lease_state *state, jm_error *err)
{
    int32_t index;
    if (jm__lease_command() != NULL) return jm__lease_ask_once(JM_ASK_RESET, state->uuid, &index, err);
    jm__fail(err, JM_NO_PERMISSION, EPERM, "kill", "GPU %d is held by %s of user %lld, whose it is to end",
             (int)state->index, state->info.who, (long long)state->info.uid);
    return jm__hint(err, JM_NO_PERMISSION, "sudo joulemap cap reset --board %d", (int)state->index);
}

static jm_status reset(const char *uuid, jm__lease_state *state, jm_error *err)
{
    jm__lease_folder folder, of_root;
    JM_TRY(jm__lease_folder_find(&folder, err));
    jm_status status = jm__lease_state_read(state, &folder, uuid, err);
    if (status == JM_NOT_FOUND && jm__lease_folder_of_root(&of_root) &&
        jm__lease_state_read(state, &of_root, uuid, NULL) == JM_OK) {
        return reset_of_root(state, err);
    }
    if (status == JM_NOT_FOUND) {
        jm__fail(err, JM_NOT_FOUND, 0, NULL, "%.95s has no lease", uuid);
        return jm__hint(err, JM_NOT_FOUND, "%s", "");
    }
    if (status != JM_OK) return status;
    int code = jm__process_signal(state->helper_pid, state->helper_start, SIGTERM);
    if (code == EPERM) return reset_of_root(state, err);
    int64_t pid = state->helper_pid, start = state->helper_start;
    status = jm__lease_await_back(&folder, uuid, pid, start, jm__lease_call_ns, err);
    if (status != JM_BUSY) return status;
    /* It stands still: its guard does not. */
    (void)jm__process_signal(pid, start, SIGKILL);
    return jm__lease_await_back(&folder, uuid, pid, start, JM_LEASE_BACK_NS, err);
}

jm_status jm_cap_reset(const char *uuid, jm_cap_restored *out, jm_error *err)
{
    jm__lease_state state = {.index = -1};
    jm_status status = reset(uuid, &state, err);
    if (out == NULL) return status;
    tell(out, &state, uuid, state.index);
    if (status == JM_OK) look_what_is_left(out, &state);
    return status;
}

/* ---- restore */

/* By a helper that lives. Where it is dead, but the lock is not free, its guard is at work, or both were just
 * killed: who restores waits for that. */
static bool stands(const jm__lease_state *state, const jm__lease_folder *folder)
{
    return jm__lease_is_kept(state, folder) && jm__process_lives(state->helper_pid, state->helper_start);
}

/* Another was quicker: it is put back, or the next lease has begun. */
static bool is_settled(const char *uuid, const jm__lease_folder *folder)
{
    jm__lease_state state;
    jm_status status = jm__lease_state_read(&state, folder, uuid, NULL);
    return status == JM_NOT_FOUND || (status == JM_OK && stands(&state, folder));
}

/* One state that lies there. False: there is nothing to say of it. */
static bool restore_one(const jm__lease_folder *folder, const char *uuid, bool may, jm_cap_restored *out)
{
    jm__lease_state state;
    jm_error err = {0};
    int32_t index = -1;
    jm_status status = jm__lease_state_read(&state, folder, uuid, &err);
    if (status == JM_NOT_FOUND) return false;
    if (status == JM_OK && stands(&state, folder)) return false;
    bool is_void = status == JM_OK && jm__lease_state_is_void(&state);
    if (is_void && !may) return false;
    if (status == JM_OK && !may) {
        status = jm__fail(&err, JM_NO_PERMISSION, 0, NULL, "that is for root to do");
        jm__hint(&err, status, "sudo joulemap cap restore");
        index = state.index;
    } else if (status == JM_OK) {
        status = jm__lease_ask_once(JM_ASK_RESTORE, uuid, &index, &err);
        if ((status == JM_NOT_FOUND || status == JM_BUSY) && is_settled(uuid, folder)) return false;
    }
    if (is_void && status == JM_OK) return false; /* nothing was to be put back */
    tell(out, &state, uuid, index);
    out->lease.lost = true;
    if (status != JM_OK)
        tell_fault(out, &err);
    else
        look_what_is_left(out, &state);
    return true;
}

static void restore_all(const jm__lease_folder *folder, bool may, jm_cap_restored *out, size_t capacity,
                        size_t *count)
{
    char uuid[JM_BOARD_TEXT];
    DIR *directory = opendir(folder->path);
    if (directory == NULL) return;
    while (jm__lease_folder_next(directory, uuid, sizeof uuid)) {
        jm_cap_restored one;
        if (!restore_one(folder, uuid, may, &one)) continue;
        if (*count < capacity) out[*count] = one;
        ++*count;
    }
    closedir(directory);
}

jm_status jm_cap_restore(jm_cap_restored *out, size_t capacity, size_t *count, jm_error *err)
{
    jm__lease_folder folder;
    size_t unused;
    if (count == NULL) count = &unused;
    *count = 0;
    jm_status status = jm__lease_folder_find(&folder, err);
    if (status != JM_OK && status != JM_NOT_FOUND) return status; /* who has no folder has no lease */
    if (status == JM_OK && access(folder.path, F_OK) == 0) {
        JM_TRY(jm__lease_folder_trust(&folder, err));
        restore_all(&folder, true, out, capacity, count);
    }
    if (jm__lease_folder_of_root(&folder)) restore_all(&folder, false, out, capacity, count);
    return JM_OK;
}
