/* Sets a board's power cap and clock, reads them back, and puts back the previous ones. */
#include "cap/helper/setter.h"

#include "base/status.h"
#include "cap/lease/reach.h"
#include "cap/lease/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* No board has a higher clock; used if the board does not report its own limit. */
#define CLOCK_MAX_MHZ 1e5
/* A previous cap may exceed the board's range by its rounding. */
#define ROUNDING_W 1e-3

/* ---- opening */

static jm_status start_nvml(jm__setter *setter, jm_error *err)
{
    jm__findings findings = {0};
    const jm__device_options options = {.no_cpu = true};
    jm__nvml_load(&setter->nvml, &options, &findings);
    jm_status status = JM_OK;
    if (setter->nvml.library == NULL) {
        const jm_finding *last = findings.count > 0 ? &findings.items[findings.count - 1] : NULL;
        status = jm__fail(err, JM_NO_DEVICE, 0, NULL, "no GPU can be reached: %s",
                          last == NULL ? "no memory" : last->detail);
        if (last != NULL && last->cure[0] != '\0') jm__hint(err, status, "%s", last->cure);
    }
    free(findings.items);
    free(findings.absent);
    return status;
}

static jm_status fail_call(const jm__setter *setter, int result, const char *call, jm_error *err)
{
    jm_status status = jm__nvml_status(result);
    jm__fail(err, status, result, call, "GPU %d: %s: %s", (int)setter->board.index, call,
             setter->nvml.error_text(result));
    if (status != JM_NO_PERMISSION) return status;
    return jm__hint(err, status,
                    geteuid() == 0
                        ? "root may not set it here either: the container needs that permission from its host"
                        : "run it as root, or with a sudo rule for joulemap-cap (docs/caps.md)");
}

static jm_status find_by_uuid(jm__setter *setter, const char *uuid, jm_error *err)
{
    unsigned count = 0;
    const jm__nvml *nvml = &setter->nvml;
    int result = nvml->device_count(&count), last = JM_NVML_SUCCESS;
    if (result != JM_NVML_SUCCESS) return fail_call(setter, result, "nvmlDeviceGetCount_v2", err);
    for (unsigned i = 0; i < count && nvml->uuid != NULL; i++) {
        char text[JM_BOARD_TEXT] = "";
        result = nvml->device_by_index(i, &setter->device);
        if (result == JM_NVML_SUCCESS) result = nvml->uuid(setter->device, text, sizeof text);
        if (result != JM_NVML_SUCCESS) last = result;
        setter->board.index = (int32_t)i;
        if (result == JM_NVML_SUCCESS && strcmp(text, uuid) == 0) return JM_OK;
    }
    setter->board.index = -1;
    if (jm__nvml_status(last) == JM_DEVICE_LOST)
        return jm__fail(err, JM_DEVICE_LOST, last, NULL, "%s is not found, and a GPU is lost", uuid);
    jm__fail(err, JM_NOT_FOUND, 0, NULL, "there is no GPU %s", uuid);
    return jm__hint(err, JM_NOT_FOUND, "`joulemap list` shows those there are");
}

static jm_status find_by_index(jm__setter *setter, int32_t index, jm_error *err)
{
    unsigned count = 0;
    int result = setter->nvml.device_count(&count);
    setter->board.index = index;
    if (result != JM_NVML_SUCCESS) return fail_call(setter, result, "nvmlDeviceGetCount_v2", err);
    if (index < 0 || (unsigned)index >= count) {
        jm__fail(err, JM_NOT_FOUND, 0, NULL, "there is no GPU %d", (int)index);
        return jm__hint(err, JM_NOT_FOUND, "`joulemap list` shows those there are");
    }
    result = setter->nvml.device_by_index((unsigned)index, &setter->device);
    if (result != JM_NVML_SUCCESS) return fail_call(setter, result, "nvmlDeviceGetHandleByIndex_v2", err);
    return JM_OK;
}

static void resolve(jm__setter *setter)
{
    void *address;
#define X(slot, symbol, arguments)                                                                           \
    address = jm__nvml_symbol(&setter->nvml, symbol);                                                        \
    memcpy(&setter->slot, &address, sizeof address);
    JM_SETTER_MAP(X)
#undef X
}

jm_status jm__setter_open(jm__setter *setter, const char *uuid, int32_t index, jm_error *err)
{
    *setter = (jm__setter){.board = {.index = -1}};
    JM_TRY(start_nvml(setter, err));
    resolve(setter);
    JM_TRY(uuid[0] != '\0' ? find_by_uuid(setter, uuid, err) : find_by_index(setter, index, err));
    jm__cap_board_read(&setter->board, &setter->nvml, setter->device);
    const jm_cap_board *board = &setter->board;
    if (setter->set_limit != NULL && isfinite(board->cap_w) && isfinite(board->low_w) &&
        board->uuid[0] != '\0')
        return JM_OK;
    /* A lost board answers no call; report that instead of NOT_SUPPORTED. */
    unsigned mw;
    int result =
        setter->nvml.limit_set == NULL ? JM_NVML_NOT_SUPPORTED : setter->nvml.limit_set(setter->device, &mw);
    if (jm__nvml_status(result) == JM_DEVICE_LOST)
        return fail_call(setter, result, "nvmlDeviceGetPowerManagementLimit", err);
    jm__fail(err, JM_NOT_SUPPORTED, 0, NULL, "GPU %d, %s: its power cap cannot be set", (int)board->index,
             board->name);
    return jm__hint(err, JM_NOT_SUPPORTED, "%s", "");
}

/* ---- setting */

jm_status jm__setter_cap(const jm__setter *setter, double *cap_w, jm_error *err)
{
    unsigned mw = 0;
    int result = setter->nvml.limit_set(setter->device, &mw);
    if (result != JM_NVML_SUCCESS) return fail_call(setter, result, "nvmlDeviceGetPowerManagementLimit", err);
    *cap_w = 1e-3 * mw;
    return JM_OK;
}

jm_status jm__setter_set(const jm__setter *setter, double cap_w, double *enforced_w, jm_error *err)
{
    const jm_cap_board *board = &setter->board;
    double present_w;
    if (!(cap_w >= board->low_w - ROUNDING_W && cap_w <= board->high_w + ROUNDING_W)) {
        jm__fail(err, JM_USAGE, 0, NULL, "GPU %d takes caps from %.4g to %.4g W, not %.6g W",
                 (int)board->index, board->low_w, board->high_w, cap_w);
        return jm__hint(err, JM_USAGE, "%s", "");
    }
    int result = setter->set_limit(setter->device, (unsigned)lround(1e3 * cap_w));
    if (result != JM_NVML_SUCCESS) return fail_call(setter, result, "nvmlDeviceSetPowerManagementLimit", err);
    JM_TRY(jm__setter_cap(setter, &present_w, err));
    if (!(fabs(present_w - cap_w) <= JM_SAME_W))
        return jm__fail(err, JM_IO, 0, NULL, "GPU %d was set to %.6g W and has %.6g W", (int)board->index,
                        cap_w, present_w);
    if (enforced_w == NULL) return JM_OK;
    *enforced_w = jm__cap_read_w(setter->nvml.limit, setter->device);
    return JM_OK;
}

jm_status jm__setter_clock(const jm__setter *setter, double clock_mhz, jm_error *err)
{
    bool hold = clock_mhz > 0;
    unsigned limit_mhz = 0;
    int index = (int)setter->board.index, result = JM_NVML_NOT_SUPPORTED;
    if (hold && !(clock_mhz >= 1 && clock_mhz <= CLOCK_MAX_MHZ)) {
        jm__fail(err, JM_USAGE, 0, NULL, "no GPU has an SM clock of %.6g MHz", clock_mhz);
        return jm__hint(err, JM_USAGE, "%s", "");
    }
    if (hold && setter->nvml.clock_limit != NULL &&
        setter->nvml.clock_limit(setter->device, JM_NVML_CLOCK_SM, &limit_mhz) == JM_NVML_SUCCESS &&
        clock_mhz > limit_mhz) {
        jm__fail(err, JM_USAGE, 0, NULL, "GPU %d's SM clock reaches %u MHz, not %.6g MHz", index, limit_mhz,
                 clock_mhz);
        return jm__hint(err, JM_USAGE, "%s", "");
    }
    if (hold && setter->lock_clocks != NULL)
        result = setter->lock_clocks(setter->device, 0, (unsigned)lround(clock_mhz));
    else if (!hold && setter->reset_clocks != NULL)
        result = setter->reset_clocks(setter->device);
    if (result == JM_NVML_SUCCESS) return JM_OK;
    return fail_call(setter, result, hold ? "nvmlDeviceSetGpuLockedClocks" : "nvmlDeviceResetGpuLockedClocks",
                     err);
}

/* ---- putting a board back, and updating its state */

/* The board's cap is one that the lease set: the last one, or the previous one (after a kill between writing
 * and setting). */
static bool was_set_by_lease(const jm__lease_state *state, double present_w)
{
    return fabs(present_w - state->info.cap_w) <= JM_SAME_W ||
           fabs(present_w - state->before_w) <= JM_SAME_W ||
           (isnan(state->before_w) &&
            isfinite(state->info.cap_w)); /* written by an older joulemap without this field */
}

static jm_status set_back(const jm__setter *setter, const jm__lease_state *state, jm_error *err)
{
    /* Put the cap back even if the clock fails: the cap costs time. A cap that somebody else set meanwhile
     * stays. */
    double present_w;
    jm_error clock_err = {0};
    jm_status clock = state->clock_held ? jm__setter_clock(setter, 0, &clock_err) : JM_OK;
    JM_TRY(jm__setter_cap(setter, &present_w, err));
    if (was_set_by_lease(state, present_w)) JM_TRY(jm__setter_set(setter, state->info.found_w, NULL, err));
    if (clock != JM_OK && err != NULL) *err = clock_err;
    return clock;
}

static void store_fault(jm__lease_state *state, const jm__lease_folder *folder, const jm_error *err)
{
    snprintf(state->fault, sizeof state->fault, "%.*s", (int)sizeof state->fault - 1, err->text);
    (void)jm__lease_state_write(state, folder, NULL);
}

jm_status jm__put_back(const jm__setter *setter, jm__lease_state *state, const jm__lease_folder *folder,
                       jm_error *err)
{
    jm_status status = set_back(setter, state, err);
    if (status == JM_OK) return jm__lease_state_remove(folder, state->uuid, err);
    store_fault(state, folder, err);
    return status;
}

jm_status jm__put_back_lost(jm__lease_state *state, const jm__lease_folder *folder, int32_t *index,
                            jm_error *err)
{
    jm__setter setter;
    *index = -1;
    bool run_is_gone = state->run[0] != '\0' && access(state->run, F_OK) != 0;
    if (run_is_gone || jm__lease_state_is_void(state))
        return jm__lease_state_remove(folder, state->uuid, err);
    if (state->sim[0] != '\0')
        setenv("JOULEMAP_SIM", state->sim, 1);
    else
        unsetenv("JOULEMAP_SIM");
    if (state->run[0] != '\0')
        setenv("JOULEMAP_RUN", state->run, 1);
    else
        unsetenv("JOULEMAP_RUN");
    jm_status status = jm__setter_open(&setter, state->uuid, 0, err);
    *index = setter.board.index;
    if (status == JM_OK) return jm__put_back(&setter, state, folder, err);
    store_fault(state, folder, err);
    return status;
}
