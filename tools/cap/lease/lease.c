/* Boards with their caps and leases; the holder's side of a lease; ending leases of others. */
#include "base/clock.h"
#include "base/helper.h"
#include "base/options.h"
#include "base/status.h"
#include "cap/lease/reach.h"
#include "cap/lease/state.h"
#include "cap/lease/transport.h"
#include "record/device/nvml.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* ---- boards with their caps and leases */

struct jm_cap_boards {
    jm_cap_board *boards;
    size_t count;
};

double jm__cap_read_w(int (*call)(jm__nvml_device, unsigned *), jm__nvml_device device)
{
    unsigned mw = 0;
    return call != NULL && call(device, &mw) == JM_NVML_SUCCESS ? 1e-3 * mw : NAN;
}

void jm__cap_board_read(jm_cap_board *board, const jm__nvml *nvml, jm__nvml_device device)
{
    unsigned low_mw = 0, high_mw = 0;
    board->simulated = nvml->simulated;
    if (nvml->name == NULL || nvml->name(device, board->name, sizeof board->name) != JM_NVML_SUCCESS)
        snprintf(board->name, sizeof board->name, "NVIDIA GPU %d", (int)board->index);
    if (nvml->uuid == NULL || nvml->uuid(device, board->uuid, sizeof board->uuid) != JM_NVML_SUCCESS)
        board->uuid[0] = '\0';
    board->cap_w = jm__cap_read_w(nvml->limit_set, device);
    board->enforced_w = jm__cap_read_w(nvml->limit, device);
    board->default_w = jm__cap_read_w(nvml->limit_default, device);
    bool ranged =
        nvml->limit_range != NULL && nvml->limit_range(device, &low_mw, &high_mw) == JM_NVML_SUCCESS;
    board->low_w = ranged ? 1e-3 * low_mw : NAN;
    board->high_w = ranged ? 1e-3 * high_mw : NAN;
}

/* The argument after the last `option` in a command, as joulemap-cap parses it; "" if missing. False: no such
 * option. */
static bool option_of(const char *command, const char *option, char value[JM_BOARD_TEXT])
{
    bool found = false, is_next = false;
    for (size_t size; *(command += strspn(command, " ")) != '\0'; command += size) {
        size = strcspn(command, " ");
        if (is_next) snprintf(value, JM_BOARD_TEXT, "%.*s", (int)size, command);
        is_next = !is_next && size == strlen(option) && memcmp(command, option, size) == 0;
        if (is_next) value[0] = '\0';
        found = found || is_next;
    }
    return found;
}

/* JOULEMAP_CAP's command may set caps, within its --within. */
static void apply_bounds(jm_cap_board *board, const char *command)
{
    char within[JM_BOARD_TEXT];
    double low_w = -INFINITY, high_w = INFINITY;
    if (option_of(command, "--within", within) && !jm__within_read(within, &low_w, &high_w)) {
        snprintf(board->may_not_set, sizeof board->may_not_set, "JOULEMAP_CAP's --within is not LOW:HIGH");
        return;
    }
    low_w = fmax(board->low_w, low_w);
    high_w = fmin(board->high_w, high_w);
    if (low_w > high_w) {
        snprintf(board->may_not_set, sizeof board->may_not_set,
                 "JOULEMAP_CAP's --within is outside this GPU's range");
        return;
    }
    board->low_w = low_w;
    board->high_w = high_w;
    command += strspn(command, " ");
    snprintf(board->may_set, sizeof board->may_set, "%.*s", (int)strcspn(command, " "), command);
}

/* The command's --board names another board. */
static bool names_other_board(const jm_cap_board *board, const char *command)
{
    char name[JM_BOARD_TEXT], index[16];
    snprintf(index, sizeof index, "%d", (int)board->index);
    return option_of(command, "--board", name) && strcmp(name, index) != 0 && strcmp(name, board->uuid) != 0;
}

static void find_permission(jm_cap_board *board)
{
    if (isnan(board->low_w) || isnan(board->cap_w) || board->uuid[0] == '\0')
        snprintf(board->may_not_set, sizeof board->may_not_set, "this GPU's cap cannot be set");
    else if (jm__lease_command() != NULL && names_other_board(board, jm__lease_command()))
        snprintf(board->may_not_set, sizeof board->may_not_set,
                 "JOULEMAP_CAP is for another GPU: ask the administrator");
    else if (jm__lease_command() != NULL)
        apply_bounds(board, jm__lease_command());
    else if (board->simulated)
        snprintf(board->may_set, sizeof board->may_set, "simulated");
    else if (geteuid() == 0)
        snprintf(board->may_set, sizeof board->may_set, "root");
    else
        snprintf(board->may_not_set, sizeof board->may_not_set,
                 "only root may: use sudo, or a sudo rule for joulemap-cap (docs/caps.md)");
}

static bool find_lease(jm_cap_board *board, const jm__lease_folder *folder)
{
    jm__lease_state state;
    jm_status status = jm__lease_state_read(&state, folder, board->uuid, NULL);
    if (status == JM_NOT_FOUND || (status == JM_OK && jm__lease_state_is_void(&state))) return false;
    board->has_lease = true;
    if (status != JM_OK) { /* jm_cap_restore reports the error */
        board->lease = (jm_cap_lease_info){.found_w = NAN, .cap_w = NAN, .lost = true};
        return true;
    }
    board->lease = state.info;
    board->lease.lost = !jm__lease_is_held(&state, folder);
    return true;
}

static void read_lease(jm_cap_board *board)
{
    jm__lease_folder folder;
    if (board->uuid[0] == '\0') return;
    if (jm__lease_folder_find(&folder, NULL) == JM_OK && find_lease(board, &folder)) return;
    if (jm__lease_folder_of_root(&folder)) (void)find_lease(board, &folder);
}

static jm_status fill(jm_cap_boards *boards, const jm__nvml *nvml, jm_error *err)
{
    unsigned count = 0;
    if (nvml->device_count(&count) != JM_NVML_SUCCESS || count == 0) return JM_OK;
    if (count > JM_DEVICE_BOARDS_MAX) count = JM_DEVICE_BOARDS_MAX;
    boards->boards = calloc(count, sizeof *boards->boards);
    if (boards->boards == NULL) return jm__no_memory(err, "calloc");
    for (unsigned i = 0; i < count; i++) {
        jm_cap_board *board = &boards->boards[boards->count];
        jm__nvml_device device;
        if (nvml->device_by_index(i, &device) != JM_NVML_SUCCESS) continue;
        *board = (jm_cap_board){.index = (int32_t)i};
        jm__cap_board_read(board, nvml, device);
        if (!isfinite(board->cap_w) && !isfinite(board->enforced_w)) continue;
        find_permission(board);
        read_lease(board);
        boards->count++;
    }
    return JM_OK;
}

jm_status jm_cap_boards_create(jm_cap_boards **out, const char *sim, jm_error *err)
{
    jm__nvml nvml;
    jm__findings findings = {0};
    const jm__device_options options = {.sim = sim, .no_cpu = true};
    *out = NULL;
    jm_cap_boards *boards = calloc(1, sizeof *boards);
    if (boards == NULL) return jm__no_memory(err, "calloc");
    jm__nvml_load(&nvml, &options, &findings);
    jm_status status = nvml.library == NULL ? JM_OK : fill(boards, &nvml, err);
    jm__nvml_unload(&nvml);
    free(findings.items);
    free(findings.absent);
    if (status == JM_OK)
        *out = boards;
    else
        jm_cap_boards_free(boards);
    return status;
}

void jm_cap_boards_free(jm_cap_boards *boards)
{
    if (boards == NULL) return;
    free(boards->boards);
    free(boards);
}

size_t jm_cap_boards_count(const jm_cap_boards *boards)
{
    return boards->count;
}

const jm_cap_board *jm_cap_boards_board(const jm_cap_boards *boards, size_t board)
{
    return board < boards->count ? &boards->boards[board] : NULL;
}

/* ---- the holder's side of a lease */

/* TAKE waits for NVML's start, and maybe for a guard. The other requests need two NVML calls and a file each.
 */
#define TAKE_NS  (INT64_C(60) * JM_NS_PER_S)
#define DEATH_NS JM_NS_PER_S

int64_t jm__lease_call_ns = 15 * JM_NS_PER_S;

struct jm_cap_lease {
    jm__lease_link link;
    jm__lease_folder folder;
    jm_cap_board board;
    pid_t owner; /* a forked child has a copy of this struct, but no lease */
    bool detached, has_set;
    int64_t helper_pid, helper_start;
    bool is_over;     /* the helper is gone, or will exit */
    bool is_restored; /* and the previous cap is back */
    char why[JM_LEASE_TEXT];
};

/* ---- take */

/* /proc/self/cmdline as "python train.py". */
static void name_holder(char *who, size_t size)
{
    FILE *file = fopen("/proc/self/cmdline", "re");
    size_t count = file == NULL ? 0 : fread(who, 1, size - 1, file);
    if (file != NULL) (void)fclose(file);
    while (count > 0 && who[count - 1] == '\0')
        count--;
    for (size_t i = 0; i < count; i++)
        if ((unsigned char)who[i] < ' ') who[i] = ' '; /* end of an argument, or a newline in it */
    snprintf(who + count, size - count, "%s", count == 0 ? "a program" : "");
}

static jm__request request_of(const jm_cap_lease_options *options)
{
    jm__request request = {.kind = JM_REQUEST_TAKE,
                           .index = options->board,
                           .for_ns = options->for_ns,
                           .detached = options->detached,
                           .pid = getpid()};
    if (options->uuid != NULL) snprintf(request.uuid, sizeof request.uuid, "%s", options->uuid);
    if (options->who != NULL)
        snprintf(request.who, sizeof request.who, "%s", options->who);
    else
        name_holder(request.who, sizeof request.who);
    return request;
}

static jm_status take(jm_cap_lease *lease, const jm_cap_lease_options *options, jm_error *err)
{
    json_t *answer = NULL;
    const jm__request request = request_of(options);
    JM_TRY(jm__lease_folder_find(&lease->folder, err));
    JM_TRY(jm__lease_link_start(&lease->link, options->sim, options->run_dir, err));
    jm_status status = jm__lease_link_call(&lease->link, &request, TAKE_NS, &answer, err);
    if (status == JM_OK) status = jm__answer_status(answer, err);
    if (status == JM_OK) {
        jm__answer_board_read(&lease->board, answer);
        lease->helper_pid = json_integer_value(json_object_get(answer, "helper_pid"));
        lease->helper_start = json_integer_value(json_object_get(answer, "helper_start"));
    }
    json_decref(answer);
    return status;
}

jm_status jm_cap_lease_take(jm_cap_lease **out, const jm_cap_lease_options *options, jm_error *err)
{
    jm_cap_lease_options known;
    *out = NULL;
    JM_TRY(jm__options_copy(&known, sizeof known, options, "jm_cap_lease_take", err));
    if (known.for_ns < 0) return jm__fail(err, JM_USAGE, 0, NULL, "the time of a lease cannot be negative");
    if (known.uuid == NULL && known.board < 0)
        return jm__fail(err, JM_NOT_FOUND, 0, NULL, "there is no GPU %d", (int)known.board);
    jm_cap_lease *lease = calloc(1, sizeof *lease);
    if (lease == NULL) return jm__no_memory(err, "calloc");
    lease->owner = getpid();
    lease->detached = known.detached;
    jm_status status = take(lease, &known, err);
    if (status == JM_OK) {
        *out = lease;
        return JM_OK;
    }
    jm__lease_link_close(&lease->link); /* a helper that took the board then ends the lease */
    free(lease);
    return status;
}

const jm_cap_board *jm_cap_lease_board(const jm_cap_lease *lease)
{
    return &lease->board;
}

/* ---- requests */

static jm_status fail_over(const jm_cap_lease *lease, jm_error *err)
{
    jm_status status = lease->is_restored ? JM_NOT_FOUND : JM_DEVICE_LOST;
    jm__fail(err, status, 0, NULL, "the lease on GPU %d is over: %s", (int)lease->board.index, lease->why);
    return jm__hint(err, status, "%s", lease->is_restored ? "take it again" : "`joulemap cap restore`");
}

/* The helper does not answer: kill it, so that its guard puts the cap back. */
static jm_status lose_helper(jm_cap_lease *lease, const jm_error *why, jm_error *err)
{
    jm_error restore_err = {0};
    lease->is_over = true;
    snprintf(lease->why, sizeof lease->why, "%.*s", (int)sizeof lease->why - 1, why->text);
    jm__lease_link_close(&lease->link);
    (void)jm__process_signal(lease->helper_pid, lease->helper_start, SIGKILL);
    lease->is_restored =
        jm__lease_wait_restored(&lease->folder, lease->board.uuid, lease->helper_pid, lease->helper_start,
                                JM_LEASE_RESTORE_NS, &restore_err) == JM_OK;
    if (lease->is_restored) {
        jm__fail(err, JM_DEVICE_LOST, 0, NULL, "%s; GPU %d was put back to %.4g W", lease->why,
                 (int)lease->board.index, lease->board.cap_w);
        return jm__hint(err, JM_DEVICE_LOST, "take the lease again");
    }
    if (err != NULL) *err = restore_err;
    return restore_err.status;
}

static jm_status call_helper(jm_cap_lease *lease, const jm__request *request, json_t **answer, jm_error *err)
{
    jm_error call_err;
    bool is_restored;
    *answer = NULL;
    if (lease->is_over) return fail_over(lease, err);
    jm_status status = jm__lease_link_call(&lease->link, request, jm__lease_call_ns, answer, &call_err);
    if (status == JM_NO_MEMORY) {
        if (err != NULL) *err = call_err;
        return status;
    }
    if (status != JM_OK) return lose_helper(lease, &call_err, err);
    const char *why = jm__answer_over(*answer, &is_restored);
    if (why == NULL) return jm__answer_status(*answer, err);
    lease->is_over = true;
    lease->is_restored = is_restored;
    snprintf(lease->why, sizeof lease->why, "%s", why);
    return fail_over(lease, err);
}

jm_status jm_cap_lease_set(jm_cap_lease *lease, double cap_w, double *enforced_w, jm_error *err)
{
    const jm__request request = {.kind = JM_REQUEST_SET, .number = cap_w};
    json_t *answer;
    if (enforced_w != NULL) *enforced_w = NAN;
    if (!isfinite(cap_w) || cap_w <= 0)
        return jm__fail(err, JM_USAGE, 0, NULL, "a power cap is a number of watts above 0");
    jm_status status = call_helper(lease, &request, &answer, err);
    if (status == JM_OK) lease->has_set = true;
    if (status == JM_OK && enforced_w != NULL) *enforced_w = jm__json_number(answer, "enforced_w");
    json_decref(answer);
    return status;
}

jm_status jm_cap_lease_clock(jm_cap_lease *lease, double clock_mhz, jm_error *err)
{
    const jm__request request = {.kind = JM_REQUEST_CLOCK, .number = clock_mhz};
    json_t *answer;
    if (!isfinite(clock_mhz) || clock_mhz < 0)
        return jm__fail(err, JM_USAGE, 0, NULL, "a clock is a number of MHz from 0 on");
    jm_status status = call_helper(lease, &request, &answer, err);
    if (status == JM_OK && clock_mhz > 0) lease->has_set = true;
    json_decref(answer);
    return status;
}

/* ---- end */

static jm_status end(jm_cap_lease *lease, jm_error *err)
{
    const jm__request request = {.kind = JM_REQUEST_END};
    json_t *answer;
    int status_of_helper;
    if (lease->owner != getpid()) return JM_OK;
    if (lease->detached && lease->has_set && !lease->is_over) return JM_OK;
    jm_status status = call_helper(lease, &request, &answer, err);
    json_decref(answer);
    if (status == JM_NO_MEMORY) { /* the request could not be sent: closing the link ends the lease */
        jm__lease_link_close(&lease->link);
        status = jm__lease_wait_restored(&lease->folder, lease->board.uuid, lease->helper_pid,
                                         lease->helper_start, JM_LEASE_RESTORE_NS, err);
    }
    if (lease->is_over && lease->is_restored) status = JM_OK;
    /* If this process adopts orphans, the helper is its child. */
    if (status == JM_OK && lease->helper_pid > 0)
        (void)jm__helper_reap((pid_t)lease->helper_pid, &status_of_helper, jm__now_ns() + DEATH_NS);
    return status;
}

jm_status jm_cap_lease_end(jm_cap_lease *lease, jm_error *err)
{
    if (lease == NULL) return JM_OK;
    jm_status status = end(lease, err);
    jm__lease_link_close(&lease->link);
    free(lease);
    return status;
}

/* ---- ending leases of others: active and lost ones */

static void fill_restored(jm_cap_restored *out, const jm__lease_state *state, const char *uuid, int32_t index)
{
    *out = (jm_cap_restored){.index = index, .lease = state->info, .left_w = NAN};
    snprintf(out->uuid, sizeof out->uuid, "%s", uuid);
}

/* Sets left_w if the board has another cap than before the lease. */
static void find_left_cap(jm_cap_restored *out, const jm__lease_state *state)
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

/* ---- reset */

/* The helper belongs to another user: only root's can be reached, by a sudo rule. */
static jm_status reset_of_root(const jm__lease_state *state, jm_error *err)
{
    int32_t index;
    if (jm__lease_command() != NULL) return jm__lease_call_once(JM_REQUEST_RESET, state->uuid, &index, err);
    jm__fail(err, JM_NO_PERMISSION, EPERM, "kill",
             "GPU %d is held by %s of user %lld; only that user or root can end it", (int)state->index,
             state->info.who, (long long)state->info.uid);
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
    status = jm__lease_wait_restored(&folder, uuid, pid, start, jm__lease_call_ns, err);
    if (status != JM_BUSY) return status;
    /* The helper is stopped: kill it, and its guard puts back. */
    (void)jm__process_signal(pid, start, SIGKILL);
    return jm__lease_wait_restored(&folder, uuid, pid, start, JM_LEASE_RESTORE_NS, err);
}

jm_status jm_cap_reset(const char *uuid, jm_cap_restored *out, jm_error *err)
{
    jm__lease_state state = {.index = -1};
    jm_status status = reset(uuid, &state, err);
    if (out == NULL) return status;
    fill_restored(out, &state, uuid, state.index);
    if (status == JM_OK) find_left_cap(out, &state);
    return status;
}

/* ---- restore */

/* Its helper lives and holds the lock. If the helper is dead and the lock is taken, its guard is at work;
 * restoring waits for it. */
static bool is_active(const jm__lease_state *state, const jm__lease_folder *folder)
{
    return jm__lease_is_held(state, folder) && jm__process_lives(state->helper_pid, state->helper_start);
}

/* Somebody else put it back, or the next lease has begun. */
static bool is_settled(const char *uuid, const jm__lease_folder *folder)
{
    jm__lease_state state;
    jm_status status = jm__lease_state_read(&state, folder, uuid, NULL);
    return status == JM_NOT_FOUND || (status == JM_OK && is_active(&state, folder));
}

/* One state of the folder. False: nothing to report. */
static bool restore_one(const jm__lease_folder *folder, const char *uuid, bool permitted,
                        jm_cap_restored *out)
{
    jm__lease_state state;
    jm_error err = {0};
    int32_t index = -1;
    jm_status status = jm__lease_state_read(&state, folder, uuid, &err);
    if (status == JM_NOT_FOUND) return false;
    if (status == JM_OK && is_active(&state, folder)) return false;
    bool is_void = status == JM_OK && jm__lease_state_is_void(&state);
    if (is_void && !permitted) return false;
    if (status == JM_OK && !permitted) {
        status = jm__fail(&err, JM_NO_PERMISSION, 0, NULL, "only root can do that");
        jm__hint(&err, status, "sudo joulemap cap restore");
        index = state.index;
    } else if (status == JM_OK) {
        status = jm__lease_call_once(JM_REQUEST_RESTORE, uuid, &index, &err);
        if ((status == JM_NOT_FOUND || status == JM_BUSY) && is_settled(uuid, folder)) return false;
    }
    if (is_void && status == JM_OK) return false; /* nothing had to be put back */
    fill_restored(out, &state, uuid, index);
    out->lease.lost = true;
    if (status != JM_OK)
        snprintf(out->fault, sizeof out->fault, "%s%s%s", err.text, err.hint[0] != '\0' ? "; " : "",
                 err.hint);
    else
        find_left_cap(out, &state);
    return true;
}

static void restore_all(const jm__lease_folder *folder, bool permitted, jm_cap_restored *out, size_t capacity,
                        size_t *count)
{
    char uuid[JM_BOARD_TEXT];
    DIR *directory = opendir(folder->path);
    if (directory == NULL) return;
    while (jm__lease_folder_next(directory, uuid, sizeof uuid)) {
        jm_cap_restored one;
        if (!restore_one(folder, uuid, permitted, &one)) continue;
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
    if (status != JM_OK && status != JM_NOT_FOUND) return status; /* without a folder there is no lease */
    if (status == JM_OK && access(folder.path, F_OK) == 0) {
        JM_TRY(jm__lease_folder_trust(&folder, err));
        restore_all(&folder, true, out, capacity, count);
    }
    if (jm__lease_folder_of_root(&folder)) restore_all(&folder, false, out, capacity, count);
    return JM_OK;
}
