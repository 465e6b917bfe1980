/* A libcupti that samples the counters of the simulated boards: what CUPTI's PM sampling needs, no more.
 *
 * Images that CUPTI's callers carry about unseen are structs of ours. CUDA's number of a device is the
 * board's index. */
#include "cuda_abi.h"
#include "pm_sampler.h"
#include "world.h"

#include <cuda.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <cupti_version.h>
#include <stdlib.h>
#include <string.h>

#define X(number, name)                                                                                      \
    _Static_assert((int)CUPTI_ERROR_##name == (number), "what faults.c takes " #name " for");
SIM_CUPTI_ERROR_MAP(X)
#undef X

#define PERIOD_MIN_NS INT64_C(10000)
#define PERIOD_MAX_NS INT64_C(1000000000)
#define SYSCLK_GHZ    1.5 /* does not follow the load */

/* The caller's struct has all members up to this one. */
#define KNOWS(params, last)                                                                                  \
    ((params) != NULL &&                                                                                     \
     (params)->structSize >= offsetof(__typeof__(*(params)), last) + sizeof((params)->last))

struct CUpti_PmSampling_Object {
    bool enabled, configured;
    sim_pm_sampler pm;
};

static CUpti_PmSampling_Object objects[SIM_BOARDS]; /* by board; with the world's lock held */
static bool initialized;

struct CUpti_Profiler_Host_Object {
    int metrics[SIM_METRICS];
    size_t count;
};

static const char availability[16] = "counters of SIM1";
static const uint64_t config_magic = 0x53494d5f434f4e46, data_magic = 0x53494d5f44415441;

typedef struct config_image {
    uint64_t magic;
    CUpti_Profiler_Host_Object host;
} config_image;

typedef struct data_image {
    uint64_t magic;
    size_t most, count;
    sim_window samples[]; /* their times: CLOCK_REALTIME */
} data_image;

/* ---- in and out */

static CUptiResult result_of(nvmlReturn_t result)
{
    if ((int)result >= SIM_FOREIGN_ERROR) return (CUptiResult)((int)result - SIM_FOREIGN_ERROR);
    switch (result) {
    case NVML_SUCCESS:
        return CUPTI_SUCCESS;
    case NVML_ERROR_UNINITIALIZED:
        return CUPTI_ERROR_NOT_INITIALIZED;
    case NVML_ERROR_INVALID_ARGUMENT:
        return CUPTI_ERROR_INVALID_PARAMETER;
    case NVML_ERROR_FUNCTION_NOT_FOUND:
        return CUPTI_ERROR_API_NOT_IMPLEMENTED;
    case NVML_ERROR_NO_PERMISSION:
        return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    case NVML_ERROR_NOT_SUPPORTED:
        return CUPTI_ERROR_NOT_SUPPORTED;
    case NVML_ERROR_GPU_IS_LOST:
        return CUPTI_ERROR_HARDWARE;
    default:
        return CUPTI_ERROR_UNKNOWN;
    }
}

/* A call's faults hold; the world's lock is held only within calls that need it. */
static CUptiResult pass(const char *call)
{
    sim_world *unused;
    nvmlReturn_t result = sim_enter(call, &unused);
    if (result == NVML_SUCCESS) sim_leave();
    return result_of(result);
}

static CUptiResult enter_device(const char *call, size_t device, sim_world **world, sim_board **board)
{
    CUptiResult result = device < SIM_BOARDS ? CUPTI_SUCCESS : pass(call);
    if (result != CUPTI_SUCCESS) return result;
    if (device >= SIM_BOARDS) return CUPTI_ERROR_INVALID_DEVICE;
    nvmlReturn_t entered = sim_enter_device(call, sim_device((int)device), world, board);
    return entered == NVML_ERROR_INVALID_ARGUMENT ? CUPTI_ERROR_INVALID_DEVICE : result_of(entered);
}

static CUptiResult enter_object(const char *call, CUpti_PmSampling_Object *object, sim_world **world,
                                sim_board **board)
{
    if (object < objects || object >= objects + SIM_BOARDS) return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = enter_device(call, (size_t)(object - objects), world, board);
    if (result != CUPTI_SUCCESS || object->enabled) return result;
    sim_leave();
    return CUPTI_ERROR_INVALID_OPERATION;
}

/* ---- beginning */

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version)
{
    if (version == NULL) return CUPTI_ERROR_INVALID_PARAMETER;
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text)
{
    static const struct {
        CUptiResult result;
        const char *text;
    } known[] = {{CUPTI_SUCCESS, "CUPTI_SUCCESS"},
#define X(number, name) {CUPTI_ERROR_##name, "CUPTI_ERROR_" #name},
                 SIM_CUPTI_ERROR_MAP(X)
#undef X
    };
    for (size_t i = 0; text != NULL && i < sizeof known / sizeof *known; i++) {
        if (known[i].result != result) continue;
        *text = known[i].text;
        return CUPTI_SUCCESS;
    }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *params)
{
    if (!KNOWS(params, pPriv)) return CUPTI_ERROR_INVALID_PARAMETER;
    if (initialized) return CUPTI_SUCCESS;
    CUptiResult result = result_of(sim_world_init(__func__));
    initialized = result == CUPTI_SUCCESS;
    return result;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *params)
{
    sim_world *world;
    sim_board *board;
    if (!KNOWS(params, pChipName)) return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = enter_device(__func__, params->deviceIndex, &world, &board);
    if (result != CUPTI_SUCCESS) return result;
    sim_leave();
    params->pChipName = SIM_CHIP;
    return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiPmSamplingGetCounterAvailability(CUpti_PmSampling_GetCounterAvailability_Params *params)
{
    sim_world *world;
    sim_board *board;
    if (!KNOWS(params, pCounterAvailabilityImage)) return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = enter_device(__func__, params->deviceIndex, &world, &board);
    if (result != CUPTI_SUCCESS) return result;
    sim_leave();
    if (params->pCounterAvailabilityImage == NULL) {
        params->counterAvailabilityImageSize = sizeof availability;
        return CUPTI_SUCCESS;
    }
    if (params->counterAvailabilityImageSize < sizeof availability) return CUPTI_ERROR_INVALID_PARAMETER;
    memcpy(params->pCounterAvailabilityImage, availability, sizeof availability);
    return CUPTI_SUCCESS;
}

/* ---- the host: which metrics */

SIM_EXPORT CUptiResult CUPTIAPI cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *params)
{
    if (!KNOWS(params, pHostObject)) return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = pass(__func__);
    if (result != CUPTI_SUCCESS) return result;
    if (params->profilerType != CUPTI_PROFILER_TYPE_PM_SAMPLING) return CUPTI_ERROR_NOT_SUPPORTED;
    if (params->pChipName == NULL || strcmp(params->pChipName, SIM_CHIP) != 0)
        return CUPTI_ERROR_INVALID_CHIP_NAME;
    if (params->pCounterAvailabilityImage == NULL ||
        memcmp(params->pCounterAvailabilityImage, availability, sizeof availability) != 0)
        return CUPTI_ERROR_INVALID_PARAMETER;
    params->pHostObject = calloc(1, sizeof *params->pHostObject);
    return params->pHostObject != NULL ? CUPTI_SUCCESS : CUPTI_ERROR_OUT_OF_MEMORY;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *params)
{
    if (!KNOWS(params, pHostObject)) return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = pass(__func__);
    if (result != CUPTI_SUCCESS) return result;
    free(params->pHostObject);
    params->pHostObject = NULL;
    return CUPTI_SUCCESS;
}

static bool has_metric(const CUpti_Profiler_Host_Object *host, int metric)
{
    for (size_t i = 0; i < host->count; i++)
        if (host->metrics[i] == metric) return true;
    return false;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *params)
{
    if (!KNOWS(params, numMetrics) || params->pHostObject == NULL ||
        (params->ppMetricNames == NULL && params->numMetrics > 0))
        return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = pass(__func__);
    if (result != CUPTI_SUCCESS) return result;
    for (size_t i = 0; i < params->numMetrics; i++)
        if (sim_metric_find(params->ppMetricNames[i]) < 0) return CUPTI_ERROR_INVALID_METRIC_NAME;
    for (size_t i = 0; i < params->numMetrics; i++) {
        int metric = sim_metric_find(params->ppMetricNames[i]);
        if (!has_metric(params->pHostObject, metric))
            params->pHostObject->metrics[params->pHostObject->count++] = metric;
    }
    return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *params)
{
    if (!KNOWS(params, configImageSize) || params->pHostObject == NULL) return CUPTI_ERROR_INVALID_PARAMETER;
    params->configImageSize = sizeof(config_image);
    return pass(__func__);
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *params)
{
    if (!KNOWS(params, pConfigImage) || params->pHostObject == NULL || params->pConfigImage == NULL ||
        params->configImageSize < sizeof(config_image))
        return CUPTI_ERROR_INVALID_PARAMETER;
    config_image image = {config_magic, *params->pHostObject};
    memcpy(params->pConfigImage, &image, sizeof image);
    return pass(__func__);
}

static bool is_config(const uint8_t *image, size_t size)
{
    return image != NULL && size >= sizeof(config_image) &&
           memcmp(image, &config_magic, sizeof config_magic) == 0;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *params)
{
    if (!KNOWS(params, numOfPasses) || !is_config(params->pConfigImage, params->configImageSize))
        return CUPTI_ERROR_INVALID_PARAMETER;
    params->numOfPasses = 1; /* all that there are fit */
    return pass(__func__);
}

/* ---- sampling */

SIM_EXPORT CUptiResult CUPTIAPI cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params *params)
{
    sim_world *world;
    sim_board *board;
    if (!KNOWS(params, pPmSamplingObject)) return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = enter_device(__func__, params->deviceIndex, &world, &board);
    if (result != CUPTI_SUCCESS) return result;
    CUpti_PmSampling_Object *object = &objects[board->index];
    if (object->enabled) result = CUPTI_ERROR_INVALID_OPERATION;
    if (result == CUPTI_SUCCESS) {
        object->enabled = true;
        sim_shared_sample(&world->shared, board->index, board->profile, true);
        params->pPmSamplingObject = object;
    }
    sim_leave();
    return result;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params *params)
{
    sim_world *world;
    sim_board *board;
    if (!KNOWS(params, pPmSamplingObject)) return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = enter_object(__func__, params->pPmSamplingObject, &world, &board);
    if (result != CUPTI_SUCCESS) return result;
    CUpti_PmSampling_Object *object = params->pPmSamplingObject;
    sim_pm_stop(&object->pm, board);
    sim_pm_free(&object->pm);
    object->enabled = object->configured = false;
    sim_shared_sample(&world->shared, board->index, board->profile, false);
    sim_leave();
    return CUPTI_SUCCESS;
}

/* 0: no such interval. */
static int64_t period_of(const CUpti_PmSampling_SetConfig_Params *params)
{
    double ns = (double)params->samplingInterval;
    if (params->triggerMode == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL) ns /= SYSCLK_GHZ;
    return ns >= PERIOD_MIN_NS && ns <= PERIOD_MAX_NS ? (int64_t)ns : 0;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params *params)
{
    sim_world *world;
    sim_board *board;
    if (!KNOWS(params, triggerMode) || !is_config(params->pConfig, params->configSize) ||
        period_of(params) == 0)
        return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = enter_object(__func__, params->pPmSamplingObject, &world, &board);
    if (result != CUPTI_SUCCESS) return result;
    CUpti_PmSampling_Object *object = params->pPmSamplingObject;
    if (KNOWS(params, hwBufferAppendMode) &&
        params->hwBufferAppendMode != CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST)
        result = CUPTI_ERROR_NOT_SUPPORTED;
    else if (object->pm.running)
        result = CUPTI_ERROR_INVALID_OPERATION;
    else if (!sim_pm_configure(&object->pm, params->hardwareBufferSize, period_of(params)))
        result = CUPTI_ERROR_OUT_OF_MEMORY;
    object->configured = object->configured || result == CUPTI_SUCCESS;
    sim_leave();
    return result;
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiPmSamplingStart(CUpti_PmSampling_Start_Params *params)
{
    sim_world *world;
    sim_board *board;
    if (!KNOWS(params, pPmSamplingObject)) return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = enter_object(__func__, params->pPmSamplingObject, &world, &board);
    if (result != CUPTI_SUCCESS) return result;
    CUpti_PmSampling_Object *object = params->pPmSamplingObject;
    if (!object->configured || object->pm.running) result = CUPTI_ERROR_INVALID_OPERATION;
    if (object->pm.overflow) result = CUPTI_ERROR_UNKNOWN; /* as seen on an H100, driver 580 */
    if (result == CUPTI_SUCCESS) sim_pm_start(&object->pm, board, &world->labels, sim_world_settle());
    sim_leave();
    return result;
}

/* Returns when all samples up to now are in the buffer. */
SIM_EXPORT CUptiResult CUPTIAPI cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params *params)
{
    sim_world *world;
    sim_board *board;
    if (!KNOWS(params, pPmSamplingObject)) return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = enter_object(__func__, params->pPmSamplingObject, &world, &board);
    if (result != CUPTI_SUCCESS) return result;
    CUpti_PmSampling_Object *object = params->pPmSamplingObject;
    if (!object->pm.running) {
        sim_leave();
        return CUPTI_ERROR_INVALID_OPERATION;
    }
    sim_leave();
    sim_sleep_ns(SIM_HORIZON_NS);
    result = enter_object("", object, &world, &board); /* no second time for its faults */
    if (result != CUPTI_SUCCESS) return result;
    sim_world_settle();
    sim_pm_stop(&object->pm, board);
    sim_leave();
    return CUPTI_SUCCESS;
}

/* ---- images of samples */

static data_image *image_of(const uint8_t *bytes, size_t size)
{
    data_image *image = (data_image *)(uintptr_t)bytes;
    bool good = bytes != NULL && (uintptr_t)bytes % _Alignof(data_image) == 0 && size >= sizeof *image &&
                image->magic == data_magic &&
                image->most <= (size - sizeof *image) / sizeof *image->samples && image->count <= image->most;
    return good ? image : NULL;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params *params)
{
    if (!KNOWS(params, counterDataSize) || params->maxSamples == 0) return CUPTI_ERROR_INVALID_PARAMETER;
    params->counterDataSize = sizeof(data_image) + params->maxSamples * sizeof(sim_window);
    return pass(__func__);
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiPmSamplingCounterDataImageInitialize(CUpti_PmSampling_CounterDataImage_Initialize_Params *params)
{
    if (!KNOWS(params, pCounterData) || params->pCounterData == NULL ||
        params->counterDataSize < sizeof(data_image))
        return CUPTI_ERROR_INVALID_PARAMETER;
    data_image empty = {data_magic, (params->counterDataSize - sizeof empty) / sizeof(sim_window), 0};
    memcpy(params->pCounterData, &empty, sizeof empty);
    return pass(__func__);
}

SIM_EXPORT CUptiResult CUPTIAPI cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *params)
{
    sim_world *world;
    sim_board *board;
    if (!KNOWS(params, overflow)) return CUPTI_ERROR_INVALID_PARAMETER;
    data_image *image = image_of(params->pCounterDataImage, params->counterDataImageSize);
    if (image == NULL) return CUPTI_ERROR_INVALID_PARAMETER;
    CUptiResult result = enter_object(__func__, params->pPmSamplingObject, &world, &board);
    if (result != CUPTI_SUCCESS) return result;
    sim_pm_sampler *pm = &params->pPmSamplingObject->pm;
    sim_window sample;
    sim_world_settle();
    while (image->count < image->most && sim_pm_take(pm, &sample)) {
        sample.start_ns = sim_stamp_ns(world, board, sample.start_ns);
        sample.end_ns = sim_stamp_ns(world, board, sample.end_ns);
        image->samples[image->count++] = sample;
    }
    params->decodeStopReason = pm->count > 0 ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
                                             : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
    params->overflow = pm->overflow;
    sim_leave();
    return CUPTI_SUCCESS;
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params *params)
{
    if (!KNOWS(params, numCompletedSamples)) return CUPTI_ERROR_INVALID_PARAMETER;
    const data_image *image = image_of(params->pCounterDataImage, params->counterDataImageSize);
    if (image == NULL) return CUPTI_ERROR_INVALID_PARAMETER;
    params->numTotalSamples = image->most;
    params->numPopulatedSamples = params->numCompletedSamples = image->count;
    return pass(__func__);
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiPmSamplingCounterDataGetSampleInfo(CUpti_PmSampling_CounterData_GetSampleInfo_Params *params)
{
    if (!KNOWS(params, endTimestamp)) return CUPTI_ERROR_INVALID_PARAMETER;
    const data_image *image = image_of(params->pCounterDataImage, params->counterDataImageSize);
    if (image == NULL || params->sampleIndex >= image->count) return CUPTI_ERROR_INVALID_PARAMETER;
    params->startTimestamp = (uint64_t)image->samples[params->sampleIndex].start_ns;
    params->endTimestamp = (uint64_t)image->samples[params->sampleIndex].end_ns;
    return pass(__func__);
}

SIM_EXPORT CUptiResult CUPTIAPI
cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *params)
{
    if (!KNOWS(params, pMetricValues) || params->pHostObject == NULL || params->ppMetricNames == NULL ||
        params->pMetricValues == NULL)
        return CUPTI_ERROR_INVALID_PARAMETER;
    const data_image *image = image_of(params->pCounterDataImage, params->counterDataImageSize);
    if (image == NULL || params->rangeIndex >= image->count) return CUPTI_ERROR_INVALID_PARAMETER;
    for (size_t i = 0; i < params->numMetrics; i++) {
        int metric = sim_metric_find(params->ppMetricNames[i]);
        if (metric < 0 || !has_metric(params->pHostObject, metric)) return CUPTI_ERROR_INVALID_METRIC_NAME;
        params->pMetricValues[i] = image->samples[params->rangeIndex].values[metric];
    }
    return pass(__func__);
}
