/* Boards with their caps and leases, as they stand. */
#include "base/status.h"
#include "cap/lease/reach.h"
#include "cap/lease/state.h"
#include "cap/lease/words.h"
#include "record/device/nvml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct jm_cap_boards {
    jm_cap_board *boards;
    size_t count;
};

static double read_w(int (*call)(jm__nvml_device, unsigned *), jm__nvml_device device)
{
    unsigned mw = 0;
    return call != NULL && call(device, &mw) == JM_NVML_SUCCESS ? 1e-3 * mw : NAN;
}

/* False: it has no cap that can be read. */
static bool look(jm_cap_board *board, const jm__nvml *nvml, unsigned index)
{
    jm__nvml_device device;
    unsigned low_mw = 0, high_mw = 0;
    if (nvml->device_by_index(index, &device) != JM_NVML_SUCCESS) return false;
    *board = (jm_cap_board){.index = (int32_t)index, .simulated = nvml->simulated};
    if (nvml->name == NULL || nvml->name(device, board->name, sizeof board->name) != JM_NVML_SUCCESS)
        snprintf(board->name, sizeof board->name, "NVIDIA GPU %u", index);
    if (nvml->uuid == NULL || nvml->uuid(device, board->uuid, sizeof board->uuid) != JM_NVML_SUCCESS)
        board->uuid[0] = '\0';
    board->cap_w = read_w(nvml->limit_set, device);
    board->enforced_w = read_w(nvml->limit, device);
    board->default_w = read_w(nvml->limit_default, device);
    bool ranged =
        nvml->limit_range != NULL && nvml->limit_range(device, &low_mw, &high_mw) == JM_NVML_SUCCESS;
    board->low_w = ranged ? 1e-3 * low_mw : NAN;
    board->high_w = ranged ? 1e-3 * high_mw : NAN;
    return isfinite(board->cap_w) || isfinite(board->enforced_w);
}

/* The word after the last `option` in a command, as joulemap-cap takes it, "" where none is. False: the
 * option is not there. */
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

/* By the command of JOULEMAP_CAP, within the bounds that stand in it. */
static void take_bounds(jm_cap_board *board, const char *command)
{
    char within[JM_BOARD_TEXT];
    double low_w = -INFINITY, high_w = INFINITY;
    if (option_of(command, "--within", within) && !jm__within_read(within, &low_w, &high_w)) {
        snprintf(board->may_not_set, sizeof board->may_not_set, "JOULEMAP_CAP's --within is no LOW:HIGH");
        return;
    }
    low_w = fmax(board->low_w, low_w);
    high_w = fmin(board->high_w, high_w);
    if (low_w > high_w) {
        snprintf(board->may_not_set, sizeof board->may_not_set,
                 "JOULEMAP_CAP's --within has no cap that this GPU takes");
        return;
    }
    board->low_w = low_w;
    board->high_w = high_w;
    command += strspn(command, " ");
    snprintf(board->may_set, sizeof board->may_set, "%.*s", (int)strcspn(command, " "), command);
}

/* That command names a board, and it is another. */
static bool is_of_another(const jm_cap_board *board, const char *command)
{
    char name[JM_BOARD_TEXT], index[16];
    snprintf(index, sizeof index, "%d", (int)board->index);
    return option_of(command, "--board", name) && strcmp(name, index) != 0 && strcmp(name, board->uuid) != 0;
}

static void look_for_right(jm_cap_board *board)
{
    if (isnan(board->low_w) || isnan(board->cap_w) || board->uuid[0] == '\0')
        snprintf(board->may_not_set, sizeof board->may_not_set, "this GPU's cap cannot be set");
    else if (jm__lease_command() != NULL && is_of_another(board, jm__lease_command()))
        snprintf(board->may_not_set, sizeof board->may_not_set,
                 "JOULEMAP_CAP is for another GPU: ask who looks after this machine");
    else if (jm__lease_command() != NULL)
        take_bounds(board, jm__lease_command());
    else if (board->simulated)
        snprintf(board->may_set, sizeof board->may_set, "simulated");
    else if (geteuid() == 0)
        snprintf(board->may_set, sizeof board->may_set, "root");
    else
        snprintf(board->may_not_set, sizeof board->may_not_set,
                 "root alone: use sudo, or a rule of sudo's for joulemap-cap (docs/caps.md)");
}

static bool find_lease(jm_cap_board *board, const jm__lease_folder *folder)
{
    jm__lease_state state;
    jm_status status = jm__lease_state_read(&state, folder, board->uuid, NULL);
    if (status == JM_NOT_FOUND || (status == JM_OK && jm__lease_state_is_void(&state))) return false;
    board->has_lease = true;
    if (status != JM_OK) { /* jm_cap_restore says what is the matter with it */
        board->lease = (jm_cap_lease_info){.found_w = NAN, .cap_w = NAN, .lost = true};
        return true;
    }
    board->lease = state.info;
    board->lease.lost = !jm__lease_is_kept(&state, folder);
    return true;
}

static void look_for_lease(jm_cap_board *board)
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
        if (!look(board, nvml, i)) continue;
        look_for_right(board);
        look_for_lease(board);
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
