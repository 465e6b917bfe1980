/* NVML, or the simulated board, which is a library with NVML's ABI: loading it, its sensors, and CUDA's
 * numbers of its boards. */
#ifndef JM_RECORD_DEVICE_NVML_H
#define JM_RECORD_DEVICE_NVML_H

#include "format/rows/sensor_role.h"
#include "record/device/device.h"

#include <stddef.h>
#include <stdint.h>

typedef struct jm__nvml_device_ *jm__nvml_device; /* nvmlDevice_t */

enum { /* nvmlReturn_t */
       JM_NVML_SUCCESS = 0,
       JM_NVML_NOT_SUPPORTED = 3,
       JM_NVML_NO_PERMISSION = 4,
       JM_NVML_NOT_FOUND = 6,
       JM_NVML_INSUFFICIENT_SIZE = 7,
       JM_NVML_DRIVER_NOT_LOADED = 9,
       JM_NVML_GPU_IS_LOST = 15,
       JM_NVML_RESET_REQUIRED = 16,
};

enum { /* nvmlSamplingType_t */
       JM_NVML_SAMPLES_POWER = 0,
       JM_NVML_SAMPLES_UTIL_GPU = 1,
       JM_NVML_SAMPLES_UTIL_MEMORY = 2,
};

enum { /* field ids and scopes of nvmlDeviceGetFieldValues */
       JM_NVML_FIELD_POWER_AVERAGE = 185,
       JM_NVML_FIELD_POWER_INSTANT = 186,
       JM_NVML_SCOPE_BOARD = 0,
       JM_NVML_SCOPE_MEMORY = 2,
};

enum { JM_NVML_CLOCK_SM = 1, JM_NVML_CLOCK_MEMORY = 2, JM_NVML_TEMPERATURE_GPU = 0 };

enum { /* nvmlValueType_t */
       JM_NVML_DOUBLE = 0,
       JM_NVML_UINT = 1,
       JM_NVML_ULONG = 2,
       JM_NVML_ULONGLONG = 3,
       JM_NVML_LONGLONG = 4,
       JM_NVML_INT = 5,
       JM_NVML_USHORT = 6,
};

typedef union jm__nvml_value {
    double d;
    unsigned ui;
    unsigned long ul;
    unsigned long long ull;
    long long ll;
    int i;
    unsigned short us;
} jm__nvml_value;

typedef struct jm__nvml_sample {
    unsigned long long t_us; /* CLOCK_REALTIME */
    jm__nvml_value value;
} jm__nvml_sample;

typedef struct jm__nvml_process {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
} jm__nvml_process;

typedef struct jm__nvml_field {
    unsigned id;
    unsigned scope;
    long long t_us;
    long long latency_us;
    int value_type;
    int result;
    jm__nvml_value value;
} jm__nvml_field;

typedef struct jm__nvml_pci {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
} jm__nvml_pci;

typedef struct jm__nvml_utilisation {
    unsigned gpu, memory; /* percent */
} jm__nvml_utilisation;

typedef struct jm__nvml_memory {
    unsigned long long total, free, used; /* bytes */
} jm__nvml_memory;

_Static_assert(sizeof(jm__nvml_sample) == 16, "NVML layout");
_Static_assert(sizeof(jm__nvml_field) == 40, "NVML layout");
_Static_assert(sizeof(jm__nvml_pci) == 68, "NVML layout");
_Static_assert(sizeof(jm__nvml_utilisation) == 8, "NVML layout");
_Static_assert(sizeof(jm__nvml_memory) == 24, "NVML layout");

/* Slot, symbol, older symbol with the same signature ("" if none), what is unavailable without it, arguments.
 * Symbols marked "everything" are required. */
#define JM_NVML_MAP(X)                                                                                       \
    X(init, "nvmlInit_v2", "", JM_NVML_EVERYTHING, (void))                                                   \
    X(shutdown, "nvmlShutdown", "", JM_NVML_EVERYTHING, (void))                                              \
    X(device_count, "nvmlDeviceGetCount_v2", "", JM_NVML_EVERYTHING, (unsigned *))                           \
    X(device_by_index, "nvmlDeviceGetHandleByIndex_v2", "", JM_NVML_EVERYTHING,                              \
      (unsigned, jm__nvml_device *))                                                                         \
    X(device_by_uuid, "nvmlDeviceGetHandleByUUID", "", "finding a lost board again by its UUID",             \
      (const char *, jm__nvml_device *))                                                                     \
    X(driver_version, "nvmlSystemGetDriverVersion", "", "the driver's version", (char *, unsigned))          \
    X(nvml_version, "nvmlSystemGetNVMLVersion", "", "NVML's version", (char *, unsigned))                    \
    X(name, "nvmlDeviceGetName", "", "names of boards, and with them their profiles",                        \
      (jm__nvml_device, char *, unsigned))                                                                   \
    X(uuid, "nvmlDeviceGetUUID", "", "UUIDs of boards", (jm__nvml_device, char *, unsigned))                 \
    X(pci, "nvmlDeviceGetPciInfo_v3", "", "PCI ids", (jm__nvml_device, jm__nvml_pci *))                      \
    X(mig_mode, "nvmlDeviceGetMigMode", "", "whether a board is cut into MIG instances",                     \
      (jm__nvml_device, unsigned *, unsigned *))                                                             \
    X(mig_count, "nvmlDeviceGetMaxMigDeviceCount", "", "boards of MIG instances in CUDA_VISIBLE_DEVICES",    \
      (jm__nvml_device, unsigned *))                                                                         \
    X(mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex", "",                                               \
      "boards of MIG instances in CUDA_VISIBLE_DEVICES", (jm__nvml_device, unsigned, jm__nvml_device *))     \
    X(cores, "nvmlDeviceGetNumGpuCores", "", "how many multiprocessors a board has",                         \
      (jm__nvml_device, unsigned *))                                                                         \
    X(capability, "nvmlDeviceGetCudaComputeCapability", "", "how many multiprocessors a board has",          \
      (jm__nvml_device, int *, int *))                                                                       \
    X(processes, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2",       \
      "which processes use a board", (jm__nvml_device, unsigned *, jm__nvml_process *))                      \
    X(memory, "nvmlDeviceGetMemoryInfo", "", "how much memory a board has",                                  \
      (jm__nvml_device, jm__nvml_memory *))                                                                  \
    X(samples, "nvmlDeviceGetSamples", "", "the ring of power samples",                                      \
      (jm__nvml_device, int, unsigned long long, int *, unsigned *, jm__nvml_sample *))                      \
    X(fields, "nvmlDeviceGetFieldValues", "", "instant power, memory power",                                 \
      (jm__nvml_device, int, jm__nvml_field *))                                                              \
    X(power, "nvmlDeviceGetPowerUsage", "", "average power (then read as field 185)",                        \
      (jm__nvml_device, unsigned *))                                                                         \
    X(energy, "nvmlDeviceGetTotalEnergyConsumption", "", "the energy counter",                               \
      (jm__nvml_device, unsigned long long *))                                                               \
    X(utilisation, "nvmlDeviceGetUtilizationRates", "", "utilisation (then read from its ring)",             \
      (jm__nvml_device, jm__nvml_utilisation *))                                                             \
    X(temperature, "nvmlDeviceGetTemperature", "", "temperature", (jm__nvml_device, int, unsigned *))        \
    X(clock, "nvmlDeviceGetClockInfo", "", "clocks", (jm__nvml_device, int, unsigned *))                     \
    X(clock_limit, "nvmlDeviceGetMaxClockInfo", "", "the highest clock", (jm__nvml_device, int, unsigned *)) \
    X(throttle, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons",       \
      "throttle reasons", (jm__nvml_device, unsigned long long *))                                           \
    X(limit, "nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit", "the power limit",      \
      (jm__nvml_device, unsigned *))                                                                         \
    X(limit_set, "nvmlDeviceGetPowerManagementLimit", "", "the power cap as set",                            \
      (jm__nvml_device, unsigned *))                                                                         \
    X(limit_default, "nvmlDeviceGetPowerManagementDefaultLimit", "", "the power cap's default",              \
      (jm__nvml_device, unsigned *))                                                                         \
    X(limit_range, "nvmlDeviceGetPowerManagementLimitConstraints", "", "the range of the power limit",       \
      (jm__nvml_device, unsigned *, unsigned *))

#define JM_NVML_EVERYTHING "everything"

/* ---- loading */

typedef struct jm__nvml {
    void *library;
    char path[256]; /* as the loader resolved it */
    bool simulated;
    bool attached;                         /* the simulated board follows a run */
    const char *(*error_text)(int result); /* never NULL */
#define X(slot, symbol, older, lost, arguments) int(*slot) arguments;
    JM_NVML_MAP(X)
#undef X
} jm__nvml;

/* Loads, resolves and initialises. On failure `nvml->library` is NULL and findings have the reason. */
void jm__nvml_load(jm__nvml *nvml, const jm__device_options *options, jm__findings *findings);
void jm__nvml_unload(jm__nvml *nvml);

/* Any symbol of the library; NULL if it has none of that name. */
void *jm__nvml_symbol(const jm__nvml *nvml, const char *symbol);

/* Our status for a result of NVML. */
jm_status jm__nvml_status(int result);

/* ---- sensors of NVML: the role of each, and the call that reads it */

/* The result for a missing symbol; not one of NVML's results. */
#define JM_NVML_NO_SYMBOL (-1)

typedef struct jm__nvml_sensor {
    jm__sensor_role role;
    const char *source;
    bool buffered;
    int selector; /* an argument of `read`: ring type, field scope, clock */
    /* NVML's result or JM_NVML_NO_SYMBOL. Sets no stamps of unbuffered samples. */
    int (*read)(const jm__nvml *nvml, jm__nvml_device device, int selector, jm__samples *out);
} jm__nvml_sensor;

/* In order of preference within a role. Ends with the role OTHER. */
extern const jm__nvml_sensor jm__nvml_sensors[];

/* CUDA's number of each board, by CUDA_VISIBLE_DEVICES.
 *
 * CUDA's own order is assumed to be that of the PCI bus, which is NVML's. This holds with
 * CUDA_DEVICE_ORDER=PCI_BUS_ID, and with the default (FASTEST_FIRST) if all boards are equal. */
#define JM_CUDA_MIG_MAX 8

typedef struct jm__cuda_board {
    char uuid[96];                 /* "GPU-..."; "" if unknown */
    char mig[JM_CUDA_MIG_MAX][96]; /* "MIG-..." of its instances */
    size_t mig_count;
} jm__cuda_board;

/* `visible`: the value of the variable, NULL if unset. `indices[i]` is set to the CUDA index of board i, or
 * to -1 if CUDA does not see it. As in CUDA, the list ends at its first invalid entry. A MIG instance counts
 * as its board. */
void jm__cuda_visible_resolve(const char *visible, const jm__cuda_board *boards, size_t count, int *indices);

#endif
