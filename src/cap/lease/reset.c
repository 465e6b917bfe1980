/* Ending leases of others: those that stand, and those that were lost. */
#include "base/status.h"
#include "cap/lease/daemon.h"
#include "cap/lease/process.h"
#include "cap/lease/reach.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void tell(jm_cap_restored *out, const jm__lease_state *state, const char *uuid, int32_t index)
{
    *out = (jm_cap_restored){.index = index, .lease = state->info};
    snprintf(out->uuid, sizeof out->uuid, "%s", uuid);
}

static void tell_fault(jm_cap_restored *out, const jm_error *err)
{
    snprintf(out->fault, sizeof out->fault, "%s%s%s", err->text, err->hint[0] != '\0' ? "; " : "", err->hint);
}

/* ---- reset */

static jm_status fail_rights(const jm__lease_state *state, jm_error *err)
{
    jm__fail(err, JM_NO_PERMISSION, EPERM, "kill", "GPU %d is held by %s of user %lld, whose it is to end",
             (int)state->index, state->info.who, (long long)state->info.uid);
    return jm__hint(err, JM_NO_PERMISSION, "sudo joulemap cap reset --board %d", (int)state->index);
}

jm_status jm_cap_reset(const char *uuid, jm_cap_restored *out, jm_error *err)
{
    jm__lease_folder folder, of_root;
    jm__lease_state state;
    jm_cap_restored unused;
    if (out == NULL) out = &unused;
    *out = (jm_cap_restored){.index = -1};
    JM_TRY(jm__lease_folder_find(&folder, err));
    jm_status status = jm__lease_state_read(&state, &folder, uuid, err);
    if (status == JM_NOT_FOUND && jm__lease_folder_of_root(&of_root) &&
        jm__lease_state_read(&state, &of_root, uuid, NULL) == JM_OK) {
        tell(out, &state, uuid, state.index);
        return jm__capd_is_to_ask(NULL) ? jm__capd_reset(uuid, err) : fail_rights(&state, err);
    }
    if (status == JM_NOT_FOUND) {
        jm__fail(err, JM_NOT_FOUND, 0, NULL, "%.95s has no lease", uuid);
        return jm__hint(err, JM_NOT_FOUND, "%s", "");
    }
    if (status != JM_OK) return status;
    tell(out, &state, uuid, state.index);
    int code = jm__process_signal(state.helper_pid, state.helper_start, SIGTERM);
    if (code == EPERM) return jm__capd_is_to_ask(NULL) ? jm__capd_reset(uuid, err) : fail_rights(&state, err);
    int64_t pid = state.helper_pid, start = state.helper_start;
    status = jm__lease_await_back(&folder, uuid, pid, start, jm__lease_call_ns, err);
    if (status != JM_BUSY) return status;
    /* It stands still: its guard does not. */
    (void)jm__process_signal(pid, start, SIGKILL);
    return jm__lease_await_back(&folder, uuid, pid, start, JM_LEASE_BACK_NS, err);
}

/* ---- restore */

/* One state that lies there. False: there is nothing to say of it. */
static bool restore_one(const jm__lease_folder *folder, const char *uuid, bool may, jm_cap_restored *out)
{
    jm__lease_state state;
    jm_error err = {0};
    int32_t index = -1;
    jm_status status = jm__lease_state_read(&state, folder, uuid, &err);
    if (status == JM_NOT_FOUND) return false;
    if (status == JM_OK && jm__lease_is_kept(&state, folder)) return false;
    if (status == JM_OK && !may) {
        status = jm__fail(&err, JM_NO_PERMISSION, 0, NULL, "that is for root to do");
        jm__hint(&err, status, "sudo joulemap cap restore");
        index = state.index;
    } else if (status == JM_OK) {
        status = jm__lease_restore(folder, uuid, &index, &err);
        /* Another was quicker: it says so. */
        if (status == JM_NOT_FOUND && jm__lease_state_read(&state, folder, uuid, NULL) == JM_NOT_FOUND)
            return false;
    }
    tell(out, &state, uuid, index);
    out->lease.lost = true;
    if (status != JM_OK) tell_fault(out, &err);
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
