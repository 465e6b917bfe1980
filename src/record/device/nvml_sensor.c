/* Each sensor of NVML as one small reading function. */
#include "record/device/nvml_sensor.h"

#include "base/clock.h"

static double value_number(int type, const jm__nvml_value *value)
{
    switch (type) {
    case JM_NVML_DOUBLE:
        return value->d;
    case JM_NVML_ULONG:
        return (double)value->ul;
    case JM_NVML_ULONGLONG:
        return (double)value->ull;
    case JM_NVML_LONGLONG:
        return (double)value->ll;
    case JM_NVML_INT:
        return value->i;
    case JM_NVML_USHORT:
        return value->us;
    default:
        return value->ui;
    }
}

static int one_value(int result, double value, jm__samples *out)
{
    if (result != JM_NVML_SUCCESS) return result;
    out->items[0].value = value;
    out->count = 1;
    return result;
}

/* A ring of time-stamped samples: mW for power, percent for utilisation. */
static int ring_read(const jm__nvml *nvml, jm__nvml_device device, int type, jm__samples *out)
{
    if (nvml->samples == NULL) return JM_NVML_NO_SYMBOL;
    jm__nvml_sample samples[JM_DEVICE_SAMPLES_MAX];
    unsigned count = JM_DEVICE_SAMPLES_MAX;
    int value_type = JM_NVML_UINT;
    int result = nvml->samples(device, type, 0, &value_type, &count, samples);
    if (result == JM_NVML_NOT_FOUND) { /* none yet */
        out->count = 0;
        return JM_NVML_SUCCESS;
    }
    if (result != JM_NVML_SUCCESS) return result;
    if (count > JM_DEVICE_SAMPLES_MAX) return JM_NVML_INSUFFICIENT_SIZE;
    double scale = type == JM_NVML_SAMPLES_POWER ? 1e-3 : 1.0;
    out->count = 0;
    for (unsigned i = 0; i < count; i++) {
        int64_t t_ns = (int64_t)samples[i].t_us * JM_NS_PER_US;
        if (t_ns == 0) continue; /* a slot that was never filled */
        out->items[out->count++] =
            (jm__sample){.t_ns = t_ns, .value = scale * value_number(value_type, &samples[i].value)};
    }
    return JM_NVML_SUCCESS;
}

static int field_read(const jm__nvml *nvml, jm__nvml_device device, unsigned id, unsigned scope,
                      jm__samples *out)
{
    if (nvml->fields == NULL) return JM_NVML_NO_SYMBOL;
    jm__nvml_field field = {.id = id, .scope = scope};
    int result = nvml->fields(device, 1, &field);
    if (result == JM_NVML_SUCCESS) result = field.result;
    return one_value(result, 1e-3 * value_number(field.value_type, &field.value), out);
}

static int instant_read(const jm__nvml *nvml, jm__nvml_device device, int scope, jm__samples *out)
{
    return field_read(nvml, device, JM_NVML_FIELD_POWER_INSTANT, (unsigned)scope, out);
}

static int average_read(const jm__nvml *nvml, jm__nvml_device device, int scope, jm__samples *out)
{
    return field_read(nvml, device, JM_NVML_FIELD_POWER_AVERAGE, (unsigned)scope, out);
}

static int usage_read(const jm__nvml *nvml, jm__nvml_device device, int selector, jm__samples *out)
{
    (void)selector;
    if (nvml->power == NULL) return JM_NVML_NO_SYMBOL;
    unsigned power_mw = 0;
    int result = nvml->power(device, &power_mw);
    return one_value(result, 1e-3 * power_mw, out);
}

static int energy_read(const jm__nvml *nvml, jm__nvml_device device, int selector, jm__samples *out)
{
    (void)selector;
    if (nvml->energy == NULL) return JM_NVML_NO_SYMBOL;
    unsigned long long energy_mj = 0;
    int result = nvml->energy(device, &energy_mj);
    return one_value(result, 1e-3 * (double)energy_mj, out);
}

static int utilisation_read(const jm__nvml *nvml, jm__nvml_device device, int of_memory, jm__samples *out)
{
    if (nvml->utilisation == NULL) return JM_NVML_NO_SYMBOL;
    jm__nvml_utilisation rates = {0};
    int result = nvml->utilisation(device, &rates);
    return one_value(result, of_memory ? rates.memory : rates.gpu, out);
}

static int temperature_read(const jm__nvml *nvml, jm__nvml_device device, int sensor, jm__samples *out)
{
    if (nvml->temperature == NULL) return JM_NVML_NO_SYMBOL;
    unsigned degrees = 0;
    int result = nvml->temperature(device, sensor, &degrees);
    return one_value(result, degrees, out);
}

static int clock_read(const jm__nvml *nvml, jm__nvml_device device, int clock, jm__samples *out)
{
    if (nvml->clock == NULL) return JM_NVML_NO_SYMBOL;
    unsigned mhz = 0;
    int result = nvml->clock(device, clock, &mhz);
    return one_value(result, mhz, out);
}

static int throttle_read(const jm__nvml *nvml, jm__nvml_device device, int selector, jm__samples *out)
{
    (void)selector;
    if (nvml->throttle == NULL) return JM_NVML_NO_SYMBOL;
    unsigned long long reasons = 0;
    int result = nvml->throttle(device, &reasons);
    return one_value(result, (double)reasons, out);
}

static int limit_read(const jm__nvml *nvml, jm__nvml_device device, int selector, jm__samples *out)
{
    (void)selector;
    if (nvml->limit == NULL) return JM_NVML_NO_SYMBOL;
    unsigned limit_mw = 0;
    int result = nvml->limit(device, &limit_mw);
    return one_value(result, 1e-3 * limit_mw, out);
}

const jm__nvml_sensor jm__nvml_sensors[] = {
    {JM_SENSOR_POWER_RING, "nvmlDeviceGetSamples(TOTAL_POWER)", true, JM_NVML_SAMPLES_POWER, ring_read},
    {JM_SENSOR_POWER_INSTANT, "nvmlDeviceGetFieldValues(186)", false, JM_NVML_SCOPE_BOARD, instant_read},
    {JM_SENSOR_POWER_AVERAGE, "nvmlDeviceGetPowerUsage", false, 0, usage_read},
    {JM_SENSOR_POWER_AVERAGE, "nvmlDeviceGetFieldValues(185)", false, JM_NVML_SCOPE_BOARD, average_read},
    {JM_SENSOR_MEMORY_POWER, "nvmlDeviceGetFieldValues(185, memory)", false, JM_NVML_SCOPE_MEMORY,
     average_read},
    {JM_SENSOR_ENERGY_COUNTER, "nvmlDeviceGetTotalEnergyConsumption", false, 0, energy_read},
    {JM_SENSOR_UTIL_GPU, "nvmlDeviceGetUtilizationRates", false, 0, utilisation_read},
    {JM_SENSOR_UTIL_GPU, "nvmlDeviceGetSamples(GPU_UTILIZATION)", true, JM_NVML_SAMPLES_UTIL_GPU, ring_read},
    {JM_SENSOR_UTIL_MEMORY, "nvmlDeviceGetUtilizationRates", false, 1, utilisation_read},
    {JM_SENSOR_UTIL_MEMORY, "nvmlDeviceGetSamples(MEMORY_UTILIZATION)", true, JM_NVML_SAMPLES_UTIL_MEMORY,
     ring_read},
    {JM_SENSOR_TEMPERATURE, "nvmlDeviceGetTemperature", false, JM_NVML_TEMPERATURE_GPU, temperature_read},
    {JM_SENSOR_CLOCK_SM, "nvmlDeviceGetClockInfo(SM)", false, JM_NVML_CLOCK_SM, clock_read},
    {JM_SENSOR_CLOCK_MEMORY, "nvmlDeviceGetClockInfo(MEM)", false, JM_NVML_CLOCK_MEMORY, clock_read},
    {JM_SENSOR_THROTTLE, "nvmlDeviceGetCurrentClocksEventReasons", false, 0, throttle_read},
    {JM_SENSOR_POWER_LIMIT, "nvmlDeviceGetEnforcedPowerLimit", false, 0, limit_read},
    {0},
};
