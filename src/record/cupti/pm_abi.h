/* The part of CUPTI that samples hardware counters (PM sampling, since CUDA 12.6), as far as it is used here.
 * These are our own declarations: headers of older toolkits lack them, and NVIDIA's profiler host headers are
 * C++ only. tests/fake_cupti/pm_abi_check.c checks them against the real headers.
 *
 * Each call takes one struct, which begins with its size up to and including its last member. */
#ifndef JM_RECORD_CUPTI_PM_ABI_H
#define JM_RECORD_CUPTI_PM_ABI_H

#include <stddef.h>
#include <stdint.h>

enum { /* CUptiResult */
       JM_CUPTI_SUCCESS = 0,
       JM_CUPTI_INVALID_PARAMETER = 1,
       JM_CUPTI_INVALID_OPERATION = 7,
       JM_CUPTI_OUT_OF_MEMORY = 8,
       JM_CUPTI_INVALID_METRIC_NAME = 17,
       JM_CUPTI_HARDWARE_BUSY = 26,
       JM_CUPTI_NOT_SUPPORTED = 27,
       JM_CUPTI_INSUFFICIENT_PRIVILEGES = 35,
       JM_CUPTI_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES = 40,
       JM_CUPTI_MIG_DEVICE_NOT_SUPPORTED = 43,
};

enum { JM_PM_PROFILER_TYPE = 1 };                           /* CUPTI_PROFILER_TYPE_PM_SAMPLING */
enum { JM_PM_TRIGGER_CYCLES = 0, JM_PM_TRIGGER_TIME = 1 };  /* CUpti_PmSampling_TriggerMode */
enum { JM_PM_DECODE_IMAGE_FULL = 1, JM_PM_DECODE_ALL = 2 }; /* CUpti_PmSampling_DecodeStopReason */
enum { JM_PM_KEEP_OLDEST = 0 };                             /* CUpti_PmSampling_HardwareBuffer_AppendMode */

typedef struct jm__pm_object_ jm__pm_object; /* CUpti_PmSampling_Object */
typedef struct jm__pm_host_ jm__pm_host;     /* CUpti_Profiler_Host_Object */

typedef struct jm__pm_initialize {
    size_t size;
    void *reserved;
} jm__pm_initialize;

typedef struct jm__pm_chip_name {
    size_t size;
    void *reserved;
    size_t device;
    const char *name; /* out */
} jm__pm_chip_name;

typedef struct jm__pm_availability {
    size_t size;
    void *reserved;
    size_t device;
    size_t image_size; /* out if image is NULL */
    uint8_t *image;
} jm__pm_availability;

typedef struct jm__pm_host_initialize {
    size_t size;
    void *reserved;
    int profiler_type;
    const char *chip;
    const uint8_t *availability;
    jm__pm_host *host; /* out */
} jm__pm_host_initialize;

typedef struct jm__pm_host_deinitialize {
    size_t size;
    void *reserved;
    jm__pm_host *host;
} jm__pm_host_deinitialize;

typedef struct jm__pm_add_metrics {
    size_t size;
    void *reserved;
    jm__pm_host *host;
    const char **metrics;
    size_t metric_count;
} jm__pm_add_metrics;

typedef struct jm__pm_config_size {
    size_t size;
    void *reserved;
    jm__pm_host *host;
    size_t config_size; /* out */
} jm__pm_config_size;

typedef struct jm__pm_config {
    size_t size;
    void *reserved;
    jm__pm_host *host;
    size_t config_size;
    uint8_t *config;
} jm__pm_config;

typedef struct jm__pm_passes {
    size_t size;
    void *reserved;
    size_t config_size;
    uint8_t *config;
    size_t passes; /* out */
} jm__pm_passes;

typedef struct jm__pm_enable_params {
    size_t size;
    void *reserved;
    size_t device;
    jm__pm_object *object; /* out */
} jm__pm_enable_params;

/* cuptiPmSamplingDisable, -Start and -Stop */
typedef struct jm__pm_do {
    size_t size;
    void *reserved;
    jm__pm_object *object;
} jm__pm_do;

typedef struct jm__pm_set_config {
    size_t size;
    void *reserved;
    jm__pm_object *object;
    size_t config_size;
    const uint8_t *config;
    size_t hardware_buffer_size;
    uint64_t interval; /* ns, or cycles */
    int trigger;
    int append_mode;
} jm__pm_set_config;

typedef struct jm__pm_data_size {
    size_t size;
    void *reserved;
    jm__pm_object *object;
    const char **metrics;
    size_t metric_count;
    uint32_t samples_max;
    size_t data_size; /* out */
} jm__pm_data_size;

typedef struct jm__pm_data_initialize {
    size_t size;
    void *reserved;
    jm__pm_object *object;
    size_t data_size;
    uint8_t *data;
} jm__pm_data_initialize;

typedef struct jm__pm_decode_params {
    size_t size;
    void *reserved;
    jm__pm_object *object;
    uint8_t *data;
    size_t data_size;
    int stop_reason;  /* out */
    uint8_t overflow; /* out */
} jm__pm_decode_params;

typedef struct jm__pm_data_info {
    size_t size;
    void *reserved;
    const uint8_t *data;
    size_t data_size;
    size_t total, populated, completed; /* out */
} jm__pm_data_info;

typedef struct jm__pm_sample_info {
    size_t size;
    void *reserved;
    jm__pm_object *object;
    const uint8_t *data;
    size_t data_size;
    size_t sample;
    uint64_t start, end; /* out: ns, CLOCK_REALTIME */
} jm__pm_sample_info;

typedef struct jm__pm_evaluate {
    size_t size;
    void *reserved;
    jm__pm_host *host;
    const uint8_t *data;
    size_t data_size;
    size_t sample;
    const char **metrics;
    size_t metric_count;
    double *values;
} jm__pm_evaluate;

/* Required calls: symbol, its struct, the struct's last member */
#define JM_PM_MAP(X)                                                                                         \
    X(cuptiProfilerInitialize, jm__pm_initialize, reserved)                                                  \
    X(cuptiDeviceGetChipName, jm__pm_chip_name, name)                                                        \
    X(cuptiPmSamplingGetCounterAvailability, jm__pm_availability, image)                                     \
    X(cuptiProfilerHostInitialize, jm__pm_host_initialize, host)                                             \
    X(cuptiProfilerHostConfigAddMetrics, jm__pm_add_metrics, metric_count)                                   \
    X(cuptiProfilerHostGetConfigImageSize, jm__pm_config_size, config_size)                                  \
    X(cuptiProfilerHostGetConfigImage, jm__pm_config, config)                                                \
    X(cuptiProfilerHostGetNumOfPasses, jm__pm_passes, passes)                                                \
    X(cuptiPmSamplingEnable, jm__pm_enable_params, object)                                                   \
    X(cuptiPmSamplingSetConfig, jm__pm_set_config, append_mode)                                              \
    X(cuptiPmSamplingGetCounterDataSize, jm__pm_data_size, data_size)                                        \
    X(cuptiPmSamplingCounterDataImageInitialize, jm__pm_data_initialize, data)                               \
    X(cuptiPmSamplingStart, jm__pm_do, object)                                                               \
    X(cuptiPmSamplingStop, jm__pm_do, object)                                                                \
    X(cuptiPmSamplingDecodeData, jm__pm_decode_params, overflow)                                             \
    X(cuptiPmSamplingGetCounterDataInfo, jm__pm_data_info, completed)                                        \
    X(cuptiPmSamplingCounterDataGetSampleInfo, jm__pm_sample_info, end)                                      \
    X(cuptiProfilerHostEvaluateToGpuValues, jm__pm_evaluate, values)

/* Calls that clean up; without them the end of the process does. */
#define JM_PM_OPTIONAL_MAP(X)                                                                                \
    X(cuptiProfilerHostDeinitialize, jm__pm_host_deinitialize, host)                                         \
    X(cuptiPmSamplingDisable, jm__pm_do, object)

/* A zeroed struct with its size set. */
#define JM_PM_INIT(type, last, ...)                                                                          \
    {                                                                                                        \
        .size = offsetof(type, last) + sizeof(((type *)0)->last), __VA_ARGS__                                \
    }

#endif
