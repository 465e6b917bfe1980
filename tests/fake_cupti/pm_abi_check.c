/* Our own declarations of PM sampling are NVIDIA's, where the headers at hand have it (from CUDA 12.6 on). */
#include "record/cupti/pm_abi.h"

#include <stddef.h>

#if __has_include(<cupti_pmsampling.h>)
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#define SAME(ours, last, theirs, their_last)                                                                 \
    _Static_assert(sizeof(ours) == sizeof(theirs) && offsetof(ours, last) == offsetof(theirs, their_last),   \
                   #ours " is not " #theirs)
SAME(jm__pm_initialize, reserved, CUpti_Profiler_Initialize_Params, pPriv);
SAME(jm__pm_chip_name, device, CUpti_Device_GetChipName_Params, deviceIndex);
SAME(jm__pm_chip_name, name, CUpti_Device_GetChipName_Params, pChipName);
SAME(jm__pm_availability, device, CUpti_PmSampling_GetCounterAvailability_Params, deviceIndex);
SAME(jm__pm_availability, image, CUpti_PmSampling_GetCounterAvailability_Params, pCounterAvailabilityImage);
SAME(jm__pm_host_initialize, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
SAME(jm__pm_host_initialize, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
SAME(jm__pm_host_deinitialize, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
SAME(jm__pm_add_metrics, metrics, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
SAME(jm__pm_add_metrics, metric_count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
SAME(jm__pm_config_size, config_size, CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize);
SAME(jm__pm_config, config, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
SAME(jm__pm_passes, config, CUpti_Profiler_Host_GetNumOfPasses_Params, pConfigImage);
SAME(jm__pm_passes, passes, CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses);
SAME(jm__pm_enable_params, object, CUpti_PmSampling_Enable_Params, pPmSamplingObject);
SAME(jm__pm_do, object, CUpti_PmSampling_Disable_Params, pPmSamplingObject);
SAME(jm__pm_do, object, CUpti_PmSampling_Start_Params, pPmSamplingObject);
SAME(jm__pm_do, object, CUpti_PmSampling_Stop_Params, pPmSamplingObject);
SAME(jm__pm_set_config, config, CUpti_PmSampling_SetConfig_Params, pConfig);
SAME(jm__pm_set_config, hardware_buffer_size, CUpti_PmSampling_SetConfig_Params, hardwareBufferSize);
SAME(jm__pm_set_config, interval, CUpti_PmSampling_SetConfig_Params, samplingInterval);
SAME(jm__pm_set_config, trigger, CUpti_PmSampling_SetConfig_Params, triggerMode);
SAME(jm__pm_set_config, append_mode, CUpti_PmSampling_SetConfig_Params, hwBufferAppendMode);
SAME(jm__pm_data_size, samples_max, CUpti_PmSampling_GetCounterDataSize_Params, maxSamples);
SAME(jm__pm_data_size, data_size, CUpti_PmSampling_GetCounterDataSize_Params, counterDataSize);
SAME(jm__pm_data_initialize, data_size, CUpti_PmSampling_CounterDataImage_Initialize_Params, counterDataSize);
SAME(jm__pm_data_initialize, data, CUpti_PmSampling_CounterDataImage_Initialize_Params, pCounterData);
SAME(jm__pm_decode_params, data, CUpti_PmSampling_DecodeData_Params, pCounterDataImage);
SAME(jm__pm_decode_params, stop_reason, CUpti_PmSampling_DecodeData_Params, decodeStopReason);
SAME(jm__pm_decode_params, overflow, CUpti_PmSampling_DecodeData_Params, overflow);
SAME(jm__pm_data_info, data, CUpti_PmSampling_GetCounterDataInfo_Params, pCounterDataImage);
SAME(jm__pm_data_info, completed, CUpti_PmSampling_GetCounterDataInfo_Params, numCompletedSamples);
SAME(jm__pm_sample_info, sample, CUpti_PmSampling_CounterData_GetSampleInfo_Params, sampleIndex);
SAME(jm__pm_sample_info, end, CUpti_PmSampling_CounterData_GetSampleInfo_Params, endTimestamp);
SAME(jm__pm_evaluate, sample, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
SAME(jm__pm_evaluate, metrics, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
SAME(jm__pm_evaluate, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);

#define IS(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours " is not " #theirs)
IS(JM_CUPTI_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
IS(JM_CUPTI_INVALID_OPERATION, CUPTI_ERROR_INVALID_OPERATION);
IS(JM_CUPTI_OUT_OF_MEMORY, CUPTI_ERROR_OUT_OF_MEMORY);
IS(JM_CUPTI_INVALID_METRIC_NAME, CUPTI_ERROR_INVALID_METRIC_NAME);
IS(JM_CUPTI_HARDWARE_BUSY, CUPTI_ERROR_HARDWARE_BUSY);
IS(JM_CUPTI_NOT_SUPPORTED, CUPTI_ERROR_NOT_SUPPORTED);
IS(JM_CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
IS(JM_CUPTI_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
   CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
IS(JM_CUPTI_MIG_DEVICE_NOT_SUPPORTED, CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED);
IS(JM_PM_PROFILER_TYPE, CUPTI_PROFILER_TYPE_PM_SAMPLING);
IS(JM_PM_TRIGGER_TIME, CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL);
IS(JM_PM_DECODE_IMAGE_FULL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL);
IS(JM_PM_DECODE_ALL, CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS);
IS(JM_PM_KEEP_OLDEST, CUPTI_PM_SAMPLING_HARDWARE_BUFFER_APPEND_MODE_KEEP_OLDEST);
#endif
