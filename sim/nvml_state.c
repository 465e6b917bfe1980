/* NVML's calls for the state of a board: utilisation, memory, temperature, clocks, modes, processes. */
#include "world.h"

#include <math.h>
#include <string.h>

/* What one program holds on the board, about; the simulated board has no memory of its own to count. */
#define CONTEXT_BYTES (UINT64_C(620) << 20)

SIM_EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates);
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *rates)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    int64_t now_ns = sim_world_settle();
    const sim_sample *gpu = sim_board_newest(board, SIM_CHANNEL_UTILISATION, now_ns);
    const sim_sample *memory = sim_board_newest(board, SIM_CHANNEL_MEMORY_UTILISATION, now_ns);
    if (rates == NULL)
        result = NVML_ERROR_INVALID_ARGUMENT;
    else if (gpu == NULL || memory == NULL)
        result = NVML_ERROR_NOT_SUPPORTED;
    else
        *rates = (nvmlUtilization_t){
            (unsigned)sim_number(world, __func__, board, 0, (unsigned)lround(gpu->value)),
            (unsigned)sim_number(world, __func__, board, 1, (unsigned)lround(memory->value))};
    sim_leave();
    return result;
}

/* Lock held. */
static nvmlMemory_t memory_of(const sim_world *world, const sim_board *board)
{
    int processes = world->live != NULL ? sim_live_processes(world->live, board->index, NULL, 0) : 0;
    nvmlMemory_t memory = {.total = board->profile->memory_bytes};
    memory.used = (unsigned long long)processes * CONTEXT_BYTES;
    memory.free = memory.total - board->profile->memory_reserved_bytes - memory.used;
    return memory;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    sim_world_settle();
    if (memory != NULL) {
        *memory = memory_of(world, board);
        memory->used = memory->total - memory->free; /* version 1 counts what is reserved as used */
    }
    sim_leave();
    return memory != NULL ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory);
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    sim_world_settle();
    if (memory == NULL) {
        result = NVML_ERROR_INVALID_ARGUMENT;
    } else if (memory->version != NVML_STRUCT_VERSION(nvmlMemory_v2_t, 2)) {
        result = NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    } else {
        nvmlMemory_t now = memory_of(world, board);
        memory->total = now.total;
        memory->free = now.free;
        memory->used = now.used;
        memory->reserved = board->profile->memory_reserved_bytes;
    }
    sim_leave();
    return result;
}

/* Lock held: the board warms and cools with its power. */
static int temperature_c(const sim_board *board)
{
    sim_world_settle();
    return (int)lround(board->profile->ambient_c + board->profile->thermal_c_per_w * board->power.heat_w);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned int sensor,
                                                 unsigned int *celsius);
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned int sensor, unsigned int *celsius)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    if (sensor != 0 || celsius == NULL)
        result = NVML_ERROR_INVALID_ARGUMENT;
    else
        *celsius = (unsigned)sim_number(world, __func__, board, 0, (unsigned)temperature_c(board));
    sim_leave();
    return result;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature);
nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    if (temperature == NULL || temperature->sensorType != 0)
        result = NVML_ERROR_INVALID_ARGUMENT;
    else if (temperature->version != NVML_STRUCT_VERSION(nvmlTemperature_t, 1))
        result = NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    else
        temperature->temperature = temperature_c(board);
    sim_leave();
    return result;
}

/* --- clocks -------------------------------------------------------------------- */

static nvmlReturn_t get_clock(const char *call, nvmlDevice_t device, unsigned int type, bool maximum,
                              unsigned int *mhz)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(call, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    sim_world_settle();
    double clock = maximum ? board->profile->clock_max_mhz : board->power.clock_mhz;
    if (type == NVML_CLOCK_MEM) clock = board->profile->memory_clock_mhz;
    if (type >= NVML_CLOCK_COUNT || mhz == NULL)
        result = NVML_ERROR_INVALID_ARGUMENT;
    else if (type == NVML_CLOCK_VIDEO)
        result = NVML_ERROR_NOT_SUPPORTED;
    else
        *mhz = (unsigned)sim_number(world, call, board, type, (unsigned)lround(clock));
    sim_leave();
    return result;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned int type, unsigned int *mhz);
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned int type, unsigned int *mhz)
{
    return get_clock(__func__, device, type, false, mhz);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned int type, unsigned int *mhz);
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned int type, unsigned int *mhz)
{
    return get_clock(__func__, device, type, true, mhz);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned int *count,
                                                           unsigned int *mhz);
nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned int *count, unsigned int *mhz)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    sim_leave();
    if (count == NULL) return NVML_ERROR_INVALID_ARGUMENT;
    unsigned int room = *count;
    *count = 1;
    if (room < 1 || mhz == NULL) return NVML_ERROR_INSUFFICIENT_SIZE;
    mhz[0] = (unsigned)lround(board->profile->memory_clock_mhz);
    return NVML_SUCCESS;
}

#define CLOCK_STEP_MHZ 15

SIM_EXPORT nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned int memory_mhz,
                                                             unsigned int *count, unsigned int *mhz);
nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned int memory_mhz,
                                                  unsigned int *count, unsigned int *mhz)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    sim_leave();
    const sim_profile *profile = board->profile;
    if (count == NULL) return NVML_ERROR_INVALID_ARGUMENT;
    if (memory_mhz != (unsigned)lround(profile->memory_clock_mhz)) return NVML_ERROR_NOT_FOUND;
    unsigned int top = (unsigned)lround(profile->clock_max_mhz);
    unsigned int steps = (top - (unsigned)lround(profile->clock_min_mhz)) / CLOCK_STEP_MHZ + 1;
    unsigned int room = *count;
    *count = steps;
    if (room < steps || mhz == NULL) return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; i < steps; i++)
        mhz[i] = top - i * CLOCK_STEP_MHZ;
    return NVML_SUCCESS;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceSetGpuLockedClocks(nvmlDevice_t device, unsigned int min_mhz,
                                                     unsigned int max_mhz);
nvmlReturn_t nvmlDeviceSetGpuLockedClocks(nvmlDevice_t device, unsigned int min_mhz, unsigned int max_mhz)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    if (min_mhz > max_mhz || max_mhz < board->profile->clock_min_mhz)
        result = NVML_ERROR_INVALID_ARGUMENT;
    else
        sim_shared_set_lock(&world->shared, board->index, board->profile,
                            fmin(max_mhz, board->profile->clock_max_mhz));
    sim_leave();
    return result;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceResetGpuLockedClocks(nvmlDevice_t device);
nvmlReturn_t nvmlDeviceResetGpuLockedClocks(nvmlDevice_t device)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    sim_shared_set_lock(&world->shared, board->index, board->profile, board->profile->clock_max_mhz);
    sim_leave();
    return result;
}

/* There is one memory clock: to lock it to a range that holds it changes nothing. */
SIM_EXPORT nvmlReturn_t nvmlDeviceSetMemoryLockedClocks(nvmlDevice_t device, unsigned int min_mhz,
                                                        unsigned int max_mhz);
nvmlReturn_t nvmlDeviceSetMemoryLockedClocks(nvmlDevice_t device, unsigned int min_mhz, unsigned int max_mhz)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    double own = board->profile->memory_clock_mhz;
    sim_leave();
    return min_mhz <= max_mhz && min_mhz <= own && own <= max_mhz ? NVML_SUCCESS
                                                                  : NVML_ERROR_INVALID_ARGUMENT;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceResetMemoryLockedClocks(nvmlDevice_t device);
nvmlReturn_t nvmlDeviceResetMemoryLockedClocks(nvmlDevice_t device)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result == NVML_SUCCESS) sim_leave();
    return result;
}

static nvmlReturn_t get_reasons(const char *call, nvmlDevice_t device, unsigned long long *reasons)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(call, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    sim_world_settle();
    const sim_power *power = &board->power;
    unsigned long long now = 0;
    if (power->now.capped) now |= NVML_CLOCKS_EVENT_POWER_CAP;
    if (power->setting.lock_mhz < board->profile->clock_max_mhz) now |= NVML_CLOCKS_EVENT_SETTING;
    if (power->load_count == 0 && !power->context) now |= NVML_CLOCKS_EVENT_IDLE;
    if (reasons != NULL) *reasons = sim_number(world, call, board, 0, now);
    sim_leave();
    return reasons != NULL ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                                  unsigned long long *reasons);
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons)
{
    return get_reasons(__func__, device, reasons);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
                                                               unsigned long long *reasons);
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *reasons)
{
    return get_reasons(__func__, device, reasons);
}

/* --- modes ----------------------------------------------------------------------- */

SIM_EXPORT nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, unsigned int *mode);
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, unsigned int *mode)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    if (mode != NULL) *mode = (unsigned)atomic_load(&world->shared.state->persistence[board->index]);
    sim_leave();
    return mode != NULL ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t device, unsigned int mode);
nvmlReturn_t nvmlDeviceSetPersistenceMode(nvmlDevice_t device, unsigned int mode)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    if (mode <= 1) atomic_store(&world->shared.state->persistence[board->index], (int32_t)mode);
    sim_leave();
    return mode <= 1 ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, unsigned int *mode);
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, unsigned int *mode)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    sim_leave();
    if (mode == NULL) return NVML_ERROR_INVALID_ARGUMENT;
    *mode = 0; /* default: any number of contexts */
    return NVML_SUCCESS;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, unsigned int *state);
nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, unsigned int *state)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    sim_world_settle();
    if (state != NULL) *state = board->power.load_count == 0 && !board->power.context ? 8 : 0;
    sim_leave();
    return state != NULL ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current,
                                             unsigned int *pending);
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    unsigned int mode = (unsigned)sim_number(world, __func__, board, 0, 0);
    sim_leave();
    if (current == NULL || pending == NULL) return NVML_ERROR_INVALID_ARGUMENT;
    if (!board->profile->mig_capable) return NVML_ERROR_NOT_SUPPORTED;
    *current = mode;
    *pending = mode;
    return NVML_SUCCESS;
}

/* What this board does not have, said as the driver says it. */
static nvmlReturn_t refuse(const char *call, nvmlDevice_t device)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(call, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    sim_leave();
    return NVML_ERROR_NOT_SUPPORTED;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetC2cModeInfoV(nvmlDevice_t device, void *info);
nvmlReturn_t nvmlDeviceGetC2cModeInfoV(nvmlDevice_t device, void *info)
{
    (void)info;
    return refuse(__func__, device);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t device, void *percent);
nvmlReturn_t nvmlDeviceGetFanSpeed(nvmlDevice_t device, void *percent)
{
    (void)percent;
    return refuse(__func__, device);
}

/* GPM's counters are not simulated: asked rightly, the answer is no. */
SIM_EXPORT nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support);
nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *support)
{
    nvmlReturn_t result = refuse(__func__, device);
    if (result != NVML_ERROR_NOT_SUPPORTED) return result;
    if (support == NULL) return NVML_ERROR_INVALID_ARGUMENT;
    /* NVML's header gives this one structure a bare 1. */
    if (support->version != 1 && support->version != NVML_STRUCT_VERSION(nvmlGpmSupport_t, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    support->isSupportedDevice = 0;
    return NVML_SUCCESS;
}

/* --- processes --------------------------------------------------------------------- */

#define PROCESSES_MAX 256
#define NOT_AVAILABLE (~0ull)

/* Takes the pids; *count: room before, number after. `processes` NULL or too small: INSUFFICIENT_SIZE. */
static nvmlReturn_t get_processes(const char *call, nvmlDevice_t device, unsigned int *count, int32_t *pids,
                                  const void *processes)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(call, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    sim_world_settle();
    int found = world->live != NULL ? sim_live_processes(world->live, board->index, pids, PROCESSES_MAX) : 0;
    sim_leave();
    if (count == NULL) return NVML_ERROR_INVALID_ARGUMENT;
    unsigned int number = (unsigned)(found < PROCESSES_MAX ? found : PROCESSES_MAX);
    unsigned int room = *count;
    *count = number;
    return number > 0 && (processes == NULL || room < number) ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

static nvmlReturn_t list_processes(const char *call, nvmlDevice_t device, unsigned int *count,
                                   nvmlProcessInfo_t *list)
{
    int32_t pids[PROCESSES_MAX];
    nvmlReturn_t result = get_processes(call, device, count, pids, list);
    for (unsigned int i = 0; result == NVML_SUCCESS && i < *count; i++)
        list[i] = (nvmlProcessInfo_t){(unsigned)pids[i], NOT_AVAILABLE, ~0u, ~0u};
    return result;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *count,
                                                             nvmlProcessInfo_v1_t *list);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *count,
                                                  nvmlProcessInfo_v1_t *list)
{
    int32_t pids[PROCESSES_MAX];
    nvmlReturn_t result = get_processes(__func__, device, count, pids, list);
    for (unsigned int i = 0; result == NVML_SUCCESS && i < *count; i++)
        list[i] = (nvmlProcessInfo_v1_t){(unsigned)pids[i], NOT_AVAILABLE};
    return result;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *count,
                                                                nvmlProcessInfo_t *list);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *count,
                                                     nvmlProcessInfo_t *list)
{
    return list_processes(__func__, device, count, list);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
                                                                nvmlProcessInfo_t *list);
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
                                                     nvmlProcessInfo_t *list)
{
    return list_processes(__func__, device, count, list);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
                                                                 nvmlProcessInfo_t *list);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *count,
                                                      nvmlProcessInfo_t *list)
{
    (void)list;
    nvmlReturn_t result = refuse(__func__, device);
    if (result != NVML_ERROR_NOT_SUPPORTED) return result;
    if (count == NULL) return NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    return NVML_SUCCESS;
}
