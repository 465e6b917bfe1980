/* NVML's binary interface as the simulated board speaks it: our own declarations, no nvml.h.
 *
 * Numbers and layouts are those of the driver's library. Structures with a version want
 * sizeof(struct) | version << 24 in their first word, as the driver does. */
#ifndef SIM_NVML_ABI_H
#define SIM_NVML_ABI_H

#include <stdint.h>

#define SIM_EXPORT __attribute__((visibility("default")))

/* number, name (without NVML_), text of nvmlErrorString */
#define NVML_RETURN_MAP(X)                                                                                   \
    X(0, SUCCESS, "Success")                                                                                 \
    X(1, ERROR_UNINITIALIZED, "Uninitialized")                                                               \
    X(2, ERROR_INVALID_ARGUMENT, "Invalid Argument")                                                         \
    X(3, ERROR_NOT_SUPPORTED, "Not Supported")                                                               \
    X(4, ERROR_NO_PERMISSION, "Insufficient Permissions")                                                    \
    X(5, ERROR_ALREADY_INITIALIZED, "Already Initialized")                                                   \
    X(6, ERROR_NOT_FOUND, "Not Found")                                                                       \
    X(7, ERROR_INSUFFICIENT_SIZE, "Insufficient Size")                                                       \
    X(8, ERROR_INSUFFICIENT_POWER, "Insufficient External Power")                                            \
    X(9, ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded")                                                       \
    X(10, ERROR_TIMEOUT, "Timeout")                                                                          \
    X(11, ERROR_IRQ_ISSUE, "Interrupt Request Issue")                                                        \
    X(12, ERROR_LIBRARY_NOT_FOUND, "NVML Shared Library Not Found")                                          \
    X(13, ERROR_FUNCTION_NOT_FOUND, "Function Not Found")                                                    \
    X(14, ERROR_CORRUPTED_INFOROM, "Corrupted infoROM")                                                      \
    X(15, ERROR_GPU_IS_LOST, "GPU is lost")                                                                  \
    X(16, ERROR_RESET_REQUIRED, "GPU requires reset")                                                        \
    X(17, ERROR_OPERATING_SYSTEM, "GPU access blocked by the operating system")                              \
    X(18, ERROR_LIB_RM_VERSION_MISMATCH, "Driver/library version mismatch")                                  \
    X(19, ERROR_IN_USE, "In use by another client")                                                          \
    X(20, ERROR_MEMORY, "Insufficient Memory")                                                               \
    X(21, ERROR_NO_DATA, "No data")                                                                          \
    X(22, ERROR_VGPU_ECC_NOT_SUPPORTED, "Operation is not supported while ECC is enabled")                   \
    X(23, ERROR_INSUFFICIENT_RESOURCES, "Insufficient Resources")                                            \
    X(24, ERROR_FREQ_NOT_SUPPORTED, "Frequency Not Supported")                                               \
    X(25, ERROR_ARGUMENT_VERSION_MISMATCH, "Argument Version Mismatch")                                      \
    X(26, ERROR_DEPRECATED, "Deprecated")                                                                    \
    X(27, ERROR_NOT_READY, "Not Ready")                                                                      \
    X(28, ERROR_GPU_NOT_FOUND, "GPU Not Found")                                                              \
    X(29, ERROR_INVALID_STATE, "Invalid State")                                                              \
    X(30, ERROR_RESET_TYPE_NOT_SUPPORTED, "Reset Type Not Supported")                                        \
    X(999, ERROR_UNKNOWN, "Unknown Error")

typedef enum nvmlReturn_t {
#define X(number, name, text) NVML_##name = number,
    NVML_RETURN_MAP(X)
#undef X
} nvmlReturn_t;

typedef struct nvmlDevice_st *nvmlDevice_t; /* opaque */

/* nvmlValueType_t */
enum {
    NVML_VALUE_TYPE_DOUBLE,
    NVML_VALUE_TYPE_UNSIGNED_INT,
    NVML_VALUE_TYPE_UNSIGNED_LONG,
    NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
};

/* nvmlSamplingType_t: those that are simulated */
enum {
    NVML_TOTAL_POWER_SAMPLES,
    NVML_GPU_UTILIZATION_SAMPLES,
    NVML_MEMORY_UTILIZATION_SAMPLES,
    NVML_ENC_UTILIZATION_SAMPLES,
    NVML_DEC_UTILIZATION_SAMPLES
};

/* nvmlClockType_t */
enum { NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_CLOCK_VIDEO, NVML_CLOCK_COUNT };

/* Field ids and scopes of nvmlDeviceGetFieldValues: those that are simulated */
enum {
    NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION = 83,
    NVML_FI_DEV_POWER_AVERAGE = 185,
    NVML_FI_DEV_POWER_INSTANT = 186,
    NVML_FI_DEV_POWER_MIN_LIMIT = 187,
    NVML_FI_DEV_POWER_MAX_LIMIT = 188,
    NVML_FI_DEV_POWER_DEFAULT_LIMIT = 189,
    NVML_FI_DEV_POWER_CURRENT_LIMIT = 190,
    NVML_FI_DEV_ENERGY = 191,
    NVML_FI_DEV_POWER_REQUESTED_LIMIT = 192,
};
enum { NVML_POWER_SCOPE_GPU, NVML_POWER_SCOPE_MODULE, NVML_POWER_SCOPE_MEMORY };

enum { NVML_CLOCKS_EVENT_IDLE = 1, NVML_CLOCKS_EVENT_SETTING = 2, NVML_CLOCKS_EVENT_POWER_CAP = 4 };

typedef union nvmlValue_t {
    double dVal;
    unsigned int uiVal;
    unsigned long ulVal;
    unsigned long long ullVal;
    signed long long sllVal;
} nvmlValue_t;

typedef struct nvmlSample_t {
    unsigned long long timeStamp; /* us of CLOCK_REALTIME */
    nvmlValue_t sampleValue;
} nvmlSample_t;

typedef struct nvmlFieldValue_t {
    unsigned int fieldId;
    unsigned int scopeId;
    long long timestamp; /* us of CLOCK_REALTIME */
    long long latencyUsec;
    unsigned int valueType;
    nvmlReturn_t nvmlReturn;
    nvmlValue_t value;
} nvmlFieldValue_t;

typedef struct nvmlUtilization_t {
    unsigned int gpu;
    unsigned int memory;
} nvmlUtilization_t;

typedef struct nvmlMemory_t {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
} nvmlMemory_t;

typedef struct nvmlMemory_v2_t {
    unsigned int version;
    unsigned long long total;
    unsigned long long reserved;
    unsigned long long free;
    unsigned long long used;
} nvmlMemory_v2_t;

typedef struct nvmlPciInfo_t {
    char busIdLegacy[16];
    unsigned int domain;
    unsigned int bus;
    unsigned int device;
    unsigned int pciDeviceId;
    unsigned int pciSubSystemId;
    char busId[32];
} nvmlPciInfo_t;

typedef struct nvmlPciInfoExt_t {
    unsigned int version;
    unsigned int domain;
    unsigned int bus;
    unsigned int device;
    unsigned int pciDeviceId;
    unsigned int pciSubSystemId;
    unsigned int baseClass;
    unsigned int subClass;
    char busId[32];
} nvmlPciInfoExt_t;

typedef struct nvmlTemperature_t {
    unsigned int version;
    unsigned int sensorType;
    int temperature;
} nvmlTemperature_t;

typedef struct nvmlProcessInfo_t {
    unsigned int pid;
    unsigned long long usedGpuMemory;
    unsigned int gpuInstanceId;
    unsigned int computeInstanceId;
} nvmlProcessInfo_t;

/* The first shape of the above, of drivers before 450. */
typedef struct nvmlProcessInfo_v1_t {
    unsigned int pid;
    unsigned long long usedGpuMemory;
} nvmlProcessInfo_v1_t;

typedef struct nvmlGpmSupport_t {
    unsigned int version;
    unsigned int isSupportedDevice;
} nvmlGpmSupport_t;

#define NVML_STRUCT_VERSION(type, number) ((unsigned int)(sizeof(type) | ((unsigned int)(number) << 24)))

_Static_assert(NVML_STRUCT_VERSION(nvmlMemory_v2_t, 2) == 0x02000028, "NVML layout");
_Static_assert(NVML_STRUCT_VERSION(nvmlPciInfoExt_t, 1) == 0x01000040, "NVML layout");
_Static_assert(NVML_STRUCT_VERSION(nvmlTemperature_t, 1) == 0x0100000c, "NVML layout");
_Static_assert(sizeof(nvmlFieldValue_t) == 40, "NVML layout");
_Static_assert(sizeof(nvmlPciInfo_t) == 68, "NVML layout");

#endif
