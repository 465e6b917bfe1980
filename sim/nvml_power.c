/* NVML's calls for power, energy, limits and their samples. */
#include "world.h"

#include <math.h>
#include <string.h>

static unsigned int milliwatts(double watts)
{
    return (unsigned int)lround(watts * 1e3);
}

/* Lock held on entry, not on return: reading may take long. */
static nvmlReturn_t read_power(const char *call, sim_world *world, const sim_board *board, int channel,
                               unsigned int *mw)
{
    int64_t now_ns = sim_world_settle();
    nvmlReturn_t result = NVML_SUCCESS;
    if (mw == NULL)
        result = NVML_ERROR_INVALID_ARGUMENT;
    else if (board->profile->channels[channel].response == SIM_RESPONSE_NONE)
        result = NVML_ERROR_NOT_SUPPORTED;
    const sim_sample *sample = result == NVML_SUCCESS ? sim_board_newest(board, channel, now_ns) : NULL;
    if (sample != NULL)
        *mw = (unsigned)sim_number(world, call, board, 0, milliwatts(sample->value));
    else if (result == NVML_SUCCESS)
        result = NVML_ERROR_NO_DATA;
    const sim_profile *profile = board->profile;
    sim_leave();
    if (result == NVML_SUCCESS) sim_spend(profile, channel);
    return result;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *mw);
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *mw)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    return read_power(__func__, world, board,
                      board->profile->power_usage_is_average ? SIM_CHANNEL_AVERAGE : SIM_CHANNEL_INSTANT, mw);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *mj);
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *mj)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    int64_t now_ns = sim_world_settle();
    int64_t grid_ns;
    if (mj == NULL)
        result = NVML_ERROR_INVALID_ARGUMENT;
    else if (!sim_energy_mj(world, board, now_ns, mj, &grid_ns))
        result = NVML_ERROR_NO_DATA;
    else
        *mj = sim_number(world, __func__, board, 0, *mj);
    const sim_profile *profile = board->profile;
    sim_leave();
    if (result == NVML_SUCCESS) sim_spend(profile, SIM_CHANNEL_COUNTER);
    return result;
}

enum limit { LIMIT_CURRENT, LIMIT_DEFAULT, LIMIT_MIN, LIMIT_MAX };

static unsigned int limit_mw(const sim_world *world, const sim_board *board, enum limit which)
{
    switch (which) {
    case LIMIT_DEFAULT:
        return milliwatts(board->profile->limit_default_w);
    case LIMIT_MIN:
        return milliwatts(board->profile->limit_min_w);
    case LIMIT_MAX:
        return milliwatts(board->profile->limit_max_w);
    default:
        return milliwatts(sim_shared_latest(&world->shared, board->index, board->profile).limit_w);
    }
}

static nvmlReturn_t get_limit(const char *call, nvmlDevice_t device, enum limit which, unsigned int *mw)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(call, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    if (mw != NULL) *mw = (unsigned)sim_number(world, call, board, which, limit_mw(world, board, which));
    sim_leave();
    return mw != NULL ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int *mw);
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int *mw)
{
    return get_limit(__func__, device, LIMIT_CURRENT, mw);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *mw);
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *mw)
{
    return get_limit(__func__, device, LIMIT_CURRENT, mw);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned int *mw);
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t device, unsigned int *mw)
{
    return get_limit(__func__, device, LIMIT_DEFAULT, mw);
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device,
                                                                     unsigned int *min_mw,
                                                                     unsigned int *max_mw);
nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned int *min_mw,
                                                          unsigned int *max_mw)
{
    nvmlReturn_t result = get_limit(__func__, device, LIMIT_MIN, min_mw);
    return result == NVML_SUCCESS ? get_limit(__func__, device, LIMIT_MAX, max_mw) : result;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetPowerManagementMode(nvmlDevice_t device, unsigned int *mode);
nvmlReturn_t nvmlDeviceGetPowerManagementMode(nvmlDevice_t device, unsigned int *mode)
{
    unsigned int unused;
    nvmlReturn_t result = get_limit(__func__, device, LIMIT_CURRENT, &unused);
    if (result == NVML_SUCCESS && mode != NULL) *mode = 1;
    return result == NVML_SUCCESS && mode == NULL ? NVML_ERROR_INVALID_ARGUMENT : result;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device, unsigned int mw);
nvmlReturn_t nvmlDeviceSetPowerManagementLimit(nvmlDevice_t device, unsigned int mw)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    if (mw < limit_mw(world, board, LIMIT_MIN) || mw > limit_mw(world, board, LIMIT_MAX))
        result = NVML_ERROR_INVALID_ARGUMENT;
    else
        sim_shared_set_limit(&world->shared, board->index, board->profile, mw * 1e-3);
    sim_leave();
    return result;
}

/* --- fields ------------------------------------------------------------------ */

/* The sensor behind a field; -1: none. */
static int field_channel(const nvmlFieldValue_t *field)
{
    switch (field->fieldId) {
    case NVML_FI_DEV_POWER_AVERAGE:
        if (field->scopeId == NVML_POWER_SCOPE_MEMORY) return SIM_CHANNEL_MEMORY_POWER;
        return field->scopeId == NVML_POWER_SCOPE_GPU ? SIM_CHANNEL_AVERAGE : -1;
    case NVML_FI_DEV_POWER_INSTANT:
        return field->scopeId == NVML_POWER_SCOPE_GPU ? SIM_CHANNEL_INSTANT : -1;
    case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION:
    case NVML_FI_DEV_ENERGY:
        return field->scopeId == 0 ? SIM_CHANNEL_COUNTER : -1;
    default:
        return -1;
    }
}

static nvmlReturn_t read_sensor_field(sim_world *world, const sim_board *board, int channel, int64_t now_ns,
                                      nvmlFieldValue_t *field)
{
    int64_t grid_ns = 0;
    if (board->profile->channels[channel].response == SIM_RESPONSE_NONE) return NVML_ERROR_NOT_SUPPORTED;
    if (channel == SIM_CHANNEL_COUNTER) {
        field->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
        if (!sim_energy_mj(world, board, now_ns, &field->value.ullVal, &grid_ns)) return NVML_ERROR_NO_DATA;
        field->value.ullVal =
            sim_number(world, "nvmlDeviceGetFieldValues", board, (unsigned)channel, field->value.ullVal);
    } else {
        const sim_sample *sample = sim_board_newest(board, channel, now_ns);
        if (sample == NULL) return NVML_ERROR_NO_DATA;
        field->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        field->value.uiVal = (unsigned)sim_number(world, "nvmlDeviceGetFieldValues", board, (unsigned)channel,
                                                  milliwatts(sample->value));
        grid_ns = sample->stamp_ns;
    }
    field->timestamp = sim_stamp_us(world, board, grid_ns);
    field->latencyUsec = (now_ns - grid_ns) / 1000;
    return NVML_SUCCESS;
}

static nvmlReturn_t read_field(sim_world *world, const sim_board *board, int64_t now_ns,
                               nvmlFieldValue_t *field)
{
    int channel = field_channel(field);
    if (channel >= 0) return read_sensor_field(world, board, channel, now_ns, field);
    enum limit which;
    switch (field->fieldId) {
    case NVML_FI_DEV_POWER_MIN_LIMIT:
        which = LIMIT_MIN;
        break;
    case NVML_FI_DEV_POWER_MAX_LIMIT:
        which = LIMIT_MAX;
        break;
    case NVML_FI_DEV_POWER_DEFAULT_LIMIT:
        which = LIMIT_DEFAULT;
        break;
    case NVML_FI_DEV_POWER_CURRENT_LIMIT:
    case NVML_FI_DEV_POWER_REQUESTED_LIMIT:
        which = LIMIT_CURRENT;
        break;
    default:
        return NVML_ERROR_NOT_SUPPORTED;
    }
    if (field->scopeId != NVML_POWER_SCOPE_GPU) return NVML_ERROR_NOT_SUPPORTED;
    field->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    field->value.uiVal = limit_mw(world, board, which);
    field->timestamp = sim_stamp_us(world, board, now_ns);
    return NVML_SUCCESS;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values);
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    if (count <= 0 || values == NULL) {
        sim_leave();
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    int64_t now_ns = sim_world_settle();
    for (int i = 0; i < count; i++) {
        values[i].timestamp = 0;
        values[i].latencyUsec = 0;
        values[i].nvmlReturn = read_field(world, board, now_ns, &values[i]);
    }
    const sim_profile *profile = board->profile;
    sim_leave();
    for (int i = 0; i < count; i++)
        if (values[i].nvmlReturn == NVML_SUCCESS && field_channel(&values[i]) >= 0)
            sim_spend(profile, field_channel(&values[i]));
    return NVML_SUCCESS;
}

/* --- samples ----------------------------------------------------------------- */

static int sample_channel(unsigned int type)
{
    switch (type) {
    case NVML_TOTAL_POWER_SAMPLES:
        return SIM_CHANNEL_RING;
    case NVML_GPU_UTILIZATION_SAMPLES:
    case NVML_ENC_UTILIZATION_SAMPLES:
    case NVML_DEC_UTILIZATION_SAMPLES:
        return SIM_CHANNEL_UTILISATION;
    case NVML_MEMORY_UTILIZATION_SAMPLES:
        return SIM_CHANNEL_MEMORY_UTILISATION;
    default:
        return -1;
    }
}

static unsigned int sample_number(unsigned int type, double value)
{
    if (type == NVML_TOTAL_POWER_SAMPLES) return milliwatts(value);
    /* No work here encodes or decodes video. */
    if (type == NVML_ENC_UTILIZATION_SAMPLES || type == NVML_DEC_UTILIZATION_SAMPLES) return 0;
    return (unsigned int)lround(value);
}

/* Faults strike samples by the time at which they are taken. False: the board had nothing new by then. */
static bool sample_value(const sim_world *world, const sim_board *board, unsigned int type,
                         const sim_sample *sample, unsigned int *value)
{
    const char *call = "nvmlDeviceGetSamples";
    int64_t t_ns = sample->grid_ns - board->epoch_ns;
    if (sim_fault_find(&world->faults, SIM_FAULT_HELD, call, board->index, t_ns) != NULL) return false;
    const sim_fault *glitch = sim_fault_find(&world->faults, SIM_FAULT_GLITCH, call, board->index, t_ns);
    *value = glitch != NULL ? (unsigned)glitch->number : sample_number(type, sample->value);
    return true;
}

/* The oldest that are newer than `seen_us` and fit. */
static unsigned int copy_samples(const sim_world *world, const sim_board *board, unsigned int type,
                                 unsigned long long seen_us, int64_t now_ns, nvmlSample_t *samples,
                                 unsigned int size)
{
    int channel = sample_channel(type);
    const sim_sample *newest = sim_board_newest(board, channel, now_ns);
    unsigned int count = 0;
    if (newest == NULL) return 0;
    for (int64_t number = newest->number - board->profile->channels[channel].depth + 1;
         number <= newest->number && count < size; number++) {
        const sim_sample *sample = sim_board_sample(board, channel, number, now_ns);
        if (sample == NULL) continue;
        unsigned long long stamp_us = (unsigned long long)sim_stamp_us(world, board, sample->stamp_ns);
        if (stamp_us <= seen_us) continue;
        memset(&samples[count], 0, sizeof samples[count]);
        samples[count].timeStamp = stamp_us;
        if (!sample_value(world, board, type, sample, &samples[count].sampleValue.uiVal)) continue;
        count++;
    }
    return count;
}

SIM_EXPORT nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, unsigned int type,
                                             unsigned long long seen_us, unsigned int *value_type,
                                             unsigned int *count, nvmlSample_t *samples);
nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, unsigned int type, unsigned long long seen_us,
                                  unsigned int *value_type, unsigned int *count, nvmlSample_t *samples)
{
    sim_world *world;
    sim_board *board;
    nvmlReturn_t result = sim_enter_device(__func__, device, &world, &board);
    if (result != NVML_SUCCESS) return result;
    int channel = sample_channel(type);
    if (value_type == NULL || count == NULL)
        result = NVML_ERROR_INVALID_ARGUMENT;
    else if (channel < 0 || board->profile->channels[channel].response == SIM_RESPONSE_NONE)
        result = NVML_ERROR_NOT_SUPPORTED;
    bool sized = result == NVML_SUCCESS && samples == NULL;
    if (result == NVML_SUCCESS) {
        *value_type = NVML_VALUE_TYPE_UNSIGNED_INT;
        int64_t now_ns = sized ? 0 : sim_world_settle();
        *count = sized ? (unsigned int)board->profile->channels[channel].depth
                       : copy_samples(world, board, type, seen_us, now_ns, samples, *count);
        if (*count == 0) result = NVML_ERROR_NOT_FOUND;
    }
    const sim_profile *profile = board->profile;
    sim_leave();
    if (!sized && (result == NVML_SUCCESS || result == NVML_ERROR_NOT_FOUND)) sim_spend(profile, channel);
    return result;
}
