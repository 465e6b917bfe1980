/* The NVML back end: which boards there are, which sensors work, reading them. */
#include "base/clock.h"
#include "base/status.h"
#include "format/rows/rows.h"
#include "record/device/cuda_visible.h"
#include "record/device/nvml_sensor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvml_board {
    jm__nvml_device device;
    bool lost;
    jm_board row;
    const jm__nvml_sensor *sensors[JM_DEVICE_SENSORS_MAX]; /* in the order of nvml_sensors() */
} nvml_board;

enum { MULTIPROCESSORS_MOST = 1024 }; /* what is more is no answer: the largest of 2026 has 160 */

typedef struct nvml_state {
    jm__nvml nvml;
    nvml_board *boards;
    size_t board_count;
    jm__samples scratch; /* of probes */
} nvml_state;

/* NVML tells cores; a multiprocessor has so many of them (CUDA C++ programming guide, "Compute
 * Capabilities"). 0: not known. */
static int32_t multiprocessors_of(const jm__nvml *nvml, jm__nvml_device device)
{
    unsigned cores = 0;
    int major = 0, minor = 0;
    if (nvml->cores == NULL || nvml->cores(device, &cores) != JM_NVML_SUCCESS) return 0;
    if (nvml->capability == NULL || nvml->capability(device, &major, &minor) != JM_NVML_SUCCESS) return 0;
    bool small = (major == 6 && minor == 0) || major == 7 || (major == 8 && minor == 0);
    unsigned each = major < 6 ? 0 : small ? 64 : 128;
    bool plausible = each > 0 && cores % each == 0 && cores / each <= MULTIPROCESSORS_MOST;
    return plausible ? (int32_t)(cores / each) : 0;
}

/* Identity, of which each part may be missing. */
static void identity_read(nvml_state *state, nvml_board *board, int index)
{
    const jm__nvml *nvml = &state->nvml;
    jm_board *row = &board->row;
    *row = jm__board_blank;
    row->index = index;
    row->simulated = nvml->simulated;
    if (nvml->name == NULL || nvml->name(board->device, row->name, sizeof row->name) != JM_NVML_SUCCESS)
        snprintf(row->name, sizeof row->name, "NVIDIA GPU %d", index);
    if (nvml->uuid != NULL && nvml->uuid(board->device, row->uuid, sizeof row->uuid) != JM_NVML_SUCCESS)
        row->uuid[0] = '\0';
    jm__nvml_pci pci = {0};
    if (nvml->pci != NULL && nvml->pci(board->device, &pci) == JM_NVML_SUCCESS)
        snprintf(row->pci, sizeof row->pci, "%.31s", pci.bus_id);
    if (nvml->driver_version != NULL) (void)nvml->driver_version(row->driver, sizeof row->driver);
    unsigned limit_mw = 0, min_mw = 0, max_mw = 0;
    if (nvml->limit != NULL && nvml->limit(board->device, &limit_mw) == JM_NVML_SUCCESS)
        row->power_limit_w = 1e-3 * limit_mw;
    if (nvml->limit_range != NULL && nvml->limit_range(board->device, &min_mw, &max_mw) == JM_NVML_SUCCESS) {
        row->power_limit_min_w = 1e-3 * min_mw;
        row->power_limit_max_w = 1e-3 * max_mw;
    }
    unsigned clock_mhz = 0;
    if (nvml->clock_limit != NULL &&
        nvml->clock_limit(board->device, JM_NVML_CLOCK_SM, &clock_mhz) == JM_NVML_SUCCESS)
        row->clock_limit_mhz = clock_mhz;
    row->multiprocessors = multiprocessors_of(nvml, board->device);
}

/* The MIG instances of a board, if it is cut into such. */
static void mig_read(const jm__nvml *nvml, nvml_board *board, jm__cuda_board *cuda)
{
    unsigned current = 0, pending = 0, count = 0;
    snprintf(cuda->uuid, sizeof cuda->uuid, "%s", board->row.uuid);
    if (nvml->mig_mode == NULL || nvml->mig_mode(board->device, &current, &pending) != JM_NVML_SUCCESS)
        return;
    board->row.mig = current != 0;
    if (!board->row.mig || nvml->mig_count == NULL || nvml->mig_by_index == NULL || nvml->uuid == NULL)
        return;
    if (nvml->mig_count(board->device, &count) != JM_NVML_SUCCESS) return;
    for (unsigned i = 0; i < count && cuda->mig_count < JM_CUDA_MIG_MAX; i++) {
        jm__nvml_device instance;
        if (nvml->mig_by_index(board->device, i, &instance) != JM_NVML_SUCCESS) continue;
        char *uuid = cuda->mig[cuda->mig_count];
        if (nvml->uuid(instance, uuid, sizeof cuda->mig[0]) == JM_NVML_SUCCESS) cuda->mig_count++;
    }
}

static bool boards_alike(const nvml_state *state)
{
    for (size_t i = 1; i < state->board_count; i++)
        if (strcmp(state->boards[i].row.name, state->boards[0].row.name) != 0) return false;
    return true;
}

static jm_status cuda_indices_fill(nvml_state *state, jm__findings *findings, jm_error *err)
{
    if (state->board_count == 0) return JM_OK;
    int indices[JM_DEVICE_BOARDS_MAX];
    jm__cuda_board *cuda = calloc(state->board_count, sizeof *cuda);
    if (cuda == NULL) return jm__no_memory(err, "calloc");
    for (size_t i = 0; i < state->board_count; i++)
        mig_read(&state->nvml, &state->boards[i], &cuda[i]);
    jm__cuda_visible_resolve(getenv("CUDA_VISIBLE_DEVICES"), cuda, state->board_count, indices);
    free(cuda);
    for (size_t i = 0; i < state->board_count; i++)
        state->boards[i].row.cuda_index = indices[i];
    const char *order = getenv("CUDA_DEVICE_ORDER");
    bool by_bus = order != NULL && strcmp(order, "PCI_BUS_ID") == 0;
    if (!by_bus && !boards_alike(state))
        jm__finding_add(findings, "CUDA's order of GPUs", false,
                        "set CUDA_DEVICE_ORDER=PCI_BUS_ID, or choose GPUs by UUID",
                        "the GPUs differ, and CUDA puts the fastest first: the CUDA indices shown assume "
                        "the order of the PCI bus");
    return JM_OK;
}

static void library_note(const nvml_state *state, jm__findings *findings)
{
    const jm__nvml *nvml = &state->nvml;
    char version[80] = "unknown", driver[80] = "unknown";
    if (nvml->nvml_version != NULL) (void)nvml->nvml_version(version, sizeof version);
    if (nvml->driver_version != NULL) (void)nvml->driver_version(driver, sizeof driver);
    jm__finding_add(findings, "NVML", true, "", "%s%.120s, version %.24s, driver %.24s, GPUs: %zu",
                    nvml->simulated ? "simulated: " : "", nvml->path, version, driver, state->board_count);
}

/* The library before what it lacks, although its versions are known last. */
static void finding_put_first(jm__findings *findings, size_t first)
{
    if (findings->count <= first + 1) return;
    jm_finding last = findings->items[findings->count - 1];
    memmove(&findings->items[first + 1], &findings->items[first],
            (findings->count - 1 - first) * sizeof findings->items[0]);
    findings->items[first] = last;
}

static jm_status boards_find(nvml_state *state, jm__findings *findings, jm_error *err)
{
    unsigned count = 0;
    int result = state->nvml.device_count(&count);
    if (result != JM_NVML_SUCCESS)
        jm__finding_add_absent(findings, "all GPUs", jm_status_hint(jm__nvml_status(result)),
                               "nvmlDeviceGetCount_v2: %.80s (%d)", state->nvml.error_text(result), result);
    if (count > JM_DEVICE_BOARDS_MAX) {
        jm__finding_add_absent(findings, "some GPUs", "", "%u GPUs are more than joulemap's maximum of %d",
                               count, JM_DEVICE_BOARDS_MAX);
        count = JM_DEVICE_BOARDS_MAX;
    }
    state->boards = calloc(count == 0 ? 1 : count, sizeof *state->boards);
    if (state->boards == NULL) return jm__no_memory(err, "calloc");
    for (unsigned i = 0; i < count; i++) {
        nvml_board *board = &state->boards[state->board_count];
        result = state->nvml.device_by_index(i, &board->device);
        if (result == JM_NVML_SUCCESS) {
            identity_read(state, board, (int)i);
            state->board_count++;
            continue;
        }
        char subject[64];
        snprintf(subject, sizeof subject, "GPU %u", i);
        jm__finding_add_absent(findings, subject, jm_status_hint(jm__nvml_status(result)),
                               "nvmlDeviceGetHandleByIndex_v2: %.60s (%d)", state->nvml.error_text(result),
                               result);
    }
    return cuda_indices_fill(state, findings, err);
}

static jm_status nvml_open(void **out, const jm__device_options *options, jm__findings *findings,
                           jm_error *err)
{
    nvml_state *state = calloc(1, sizeof *state);
    if (state == NULL) return jm__no_memory(err, "calloc");
    size_t first = findings->count;
    jm__nvml_load(&state->nvml, options, findings);
    if (state->nvml.library == NULL) {
        free(state);
        return JM_OK;
    }
    *out = state;
    JM_TRY(boards_find(state, findings, err));
    library_note(state, findings);
    finding_put_first(findings, first);
    return JM_OK;
}

static size_t nvml_boards(void *context, jm_board *boards, size_t capacity)
{
    nvml_state *state = context;
    size_t count = state->board_count < capacity ? state->board_count : capacity;
    for (size_t i = 0; i < count; i++)
        boards[i] = state->boards[i].row;
    return count;
}

static const char *reason_text(const jm__nvml *nvml, int result)
{
    return result == JM_NVML_NO_SYMBOL ? "this NVML has no such call" : nvml->error_text(result);
}

/* Ask for one value: a sensor is there if the board answers. */
static int sensor_probe(nvml_state *state, const nvml_board *board, const jm__nvml_sensor *sensor)
{
    return sensor->read(&state->nvml, board->device, sensor->selector, &state->scratch);
}

static size_t nvml_sensors(void *context, size_t number, jm__device_sensor *sensors, size_t capacity)
{
    nvml_state *state = context;
    nvml_board *board = &state->boards[number];
    size_t count = 0;
    for (const jm__nvml_sensor *sensor = jm__nvml_sensors; sensor->role != JM_SENSOR_OTHER; sensor++) {
        bool again = count > 0 && board->sensors[count - 1]->role == sensor->role;
        if (again && sensors[count - 1].row.missing[0] == '\0') continue; /* the preferred way works */
        int result = sensor_probe(state, board, sensor);
        if (again && result != JM_NVML_SUCCESS) continue; /* keep the first reason */
        if (!again && count == capacity) break;
        size_t slot = again ? count - 1 : count++;
        jm__device_sensor *out = &sensors[slot];
        jm__device_sensor_init(out, sensor->role, sensor->source);
        out->buffered = sensor->buffered;
        board->sensors[slot] = sensor;
        if (result != JM_NVML_SUCCESS)
            snprintf(out->row.missing, sizeof out->row.missing, "%s", reason_text(&state->nvml, result));
    }
    return count;
}

/* A lost board may be back under a new handle. */
static int board_find_again(nvml_state *state, nvml_board *board)
{
    int result = JM_NVML_NO_SYMBOL;
    if (state->nvml.device_by_uuid != NULL && board->row.uuid[0] != '\0')
        result = state->nvml.device_by_uuid(board->row.uuid, &board->device);
    if (result == JM_NVML_NO_SYMBOL)
        result = state->nvml.device_by_index((unsigned)board->row.index, &board->device);
    return result;
}

static jm_status nvml_read(void *context, size_t number, size_t slot, jm__samples *out, jm_error *err)
{
    nvml_state *state = context;
    nvml_board *board = &state->boards[number];
    const jm__nvml_sensor *sensor = board->sensors[slot];
    int result = board->lost ? board_find_again(state, board) : JM_NVML_SUCCESS;
    int64_t before_ns = jm__now_ns();
    if (result == JM_NVML_SUCCESS) result = sensor->read(&state->nvml, board->device, sensor->selector, out);
    int64_t after_call_ns = jm__now_ns();
    jm_status status = result == JM_NVML_NO_SYMBOL ? JM_NOT_SUPPORTED : jm__nvml_status(result);
    /* While a board is away, every refusal means that it is still away. */
    if (board->lost && status != JM_OK) status = JM_DEVICE_LOST;
    board->lost = status == JM_DEVICE_LOST;
    if (status != JM_OK)
        return jm__fail(err, status, result, sensor->source, "GPU %d: %s: %s", board->row.index,
                        jm__sensor_name(sensor->role), reason_text(&state->nvml, result));
    if (!sensor->buffered && out->count == 1)
        out->items[0].t_ns = before_ns + (after_call_ns - before_ns) / 2;
    return JM_OK;
}

static jm_status nvml_memory(void *context, size_t number, jm_board_memory *out, jm_error *err)
{
    nvml_state *state = context;
    const nvml_board *board = &state->boards[number];
    jm__nvml_memory memory = {0};
    int result = state->nvml.memory != NULL ? state->nvml.memory(board->device, &memory) : JM_NVML_NO_SYMBOL;
    if (result != JM_NVML_SUCCESS)
        return jm__fail(err, result == JM_NVML_NO_SYMBOL ? JM_NOT_SUPPORTED : jm__nvml_status(result), result,
                        "nvmlDeviceGetMemoryInfo", "GPU %d: memory: %s", board->row.index,
                        reason_text(&state->nvml, result));
    *out = (jm_board_memory){.total_bytes = (int64_t)memory.total, .free_bytes = (int64_t)memory.free};
    return JM_OK;
}

static jm_status nvml_processes(void *context, size_t number, int32_t *pids, size_t capacity, size_t *count,
                                jm_error *err)
{
    enum { MOST = 64 };
    nvml_state *state = context;
    const nvml_board *board = &state->boards[number];
    jm__nvml_process list[MOST];
    unsigned room = capacity < MOST ? (unsigned)capacity : MOST, given = room;
    int result = state->nvml.processes != NULL ? state->nvml.processes(board->device, &given, list)
                                               : JM_NVML_NO_SYMBOL;
    if (result != JM_NVML_SUCCESS) /* too many of them, too */
        return jm__fail(err, result == JM_NVML_NO_SYMBOL ? JM_NOT_SUPPORTED : jm__nvml_status(result), result,
                        "nvmlDeviceGetComputeRunningProcesses", "GPU %d: processes: %s", board->row.index,
                        reason_text(&state->nvml, result));
    for (unsigned i = 0; i < given && i < room; i++)
        if (list[i].pid > 0 && list[i].pid <= INT32_MAX) pids[(*count)++] = (int32_t)list[i].pid;
    return JM_OK;
}

static void nvml_close(void *context)
{
    nvml_state *state = context;
    jm__nvml_unload(&state->nvml);
    free(state->boards);
    free(state);
}

const jm__backend jm__backend_nvml = {"nvml",    nvml_open,   nvml_boards, nvml_sensors,
                                      nvml_read, nvml_memory, nvml_close,  nvml_processes};
