/* The simulated board as its tests load it: by dlopen, through NVML's own calls, each time in a folder of its
 * own. */
#ifndef TEST_SIM_LIBRARY_H
#define TEST_SIM_LIBRARY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../sim/nvml_abi.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ll

/* name here, symbol, type */
#define CALLS(X)                                                                                             \
    X(init, "nvmlInit_v2", nvmlReturn_t (*)(void))                                                           \
    X(shutdown, "nvmlShutdown", nvmlReturn_t (*)(void))                                                      \
    X(count, "nvmlDeviceGetCount_v2", nvmlReturn_t (*)(unsigned int *))                                      \
    X(handle, "nvmlDeviceGetHandleByIndex_v2", nvmlReturn_t (*)(unsigned int, nvmlDevice_t *))               \
    X(by_uuid, "nvmlDeviceGetHandleByUUID", nvmlReturn_t (*)(const char *, nvmlDevice_t *))                  \
    X(by_pci, "nvmlDeviceGetHandleByPciBusId_v2", nvmlReturn_t (*)(const char *, nvmlDevice_t *))            \
    X(name, "nvmlDeviceGetName", nvmlReturn_t (*)(nvmlDevice_t, char *, unsigned int))                       \
    X(uuid, "nvmlDeviceGetUUID", nvmlReturn_t (*)(nvmlDevice_t, char *, unsigned int))                       \
    X(pci, "nvmlDeviceGetPciInfo_v3", nvmlReturn_t (*)(nvmlDevice_t, nvmlPciInfo_t *))                       \
    X(samples, "nvmlDeviceGetSamples",                                                                       \
      nvmlReturn_t (*)(nvmlDevice_t, unsigned int, unsigned long long, unsigned int *, unsigned int *,       \
                       nvmlSample_t *))                                                                      \
    X(fields, "nvmlDeviceGetFieldValues", nvmlReturn_t (*)(nvmlDevice_t, int, nvmlFieldValue_t *))           \
    X(energy, "nvmlDeviceGetTotalEnergyConsumption", nvmlReturn_t (*)(nvmlDevice_t, unsigned long long *))   \
    X(power, "nvmlDeviceGetPowerUsage", nvmlReturn_t (*)(nvmlDevice_t, unsigned int *))                      \
    X(limit, "nvmlDeviceGetEnforcedPowerLimit", nvmlReturn_t (*)(nvmlDevice_t, unsigned int *))              \
    X(set_limit, "nvmlDeviceSetPowerManagementLimit", nvmlReturn_t (*)(nvmlDevice_t, unsigned int))          \
    X(clock, "nvmlDeviceGetClockInfo", nvmlReturn_t (*)(nvmlDevice_t, unsigned int, unsigned int *))         \
    X(lock, "nvmlDeviceSetGpuLockedClocks", nvmlReturn_t (*)(nvmlDevice_t, unsigned int, unsigned int))      \
    X(unlock, "nvmlDeviceResetGpuLockedClocks", nvmlReturn_t (*)(nvmlDevice_t))                              \
    X(reasons, "nvmlDeviceGetCurrentClocksEventReasons",                                                     \
      nvmlReturn_t (*)(nvmlDevice_t, unsigned long long *))                                                  \
    X(set_persistence, "nvmlDeviceSetPersistenceMode", nvmlReturn_t (*)(nvmlDevice_t, unsigned int))         \
    X(memory_v2, "nvmlDeviceGetMemoryInfo_v2", nvmlReturn_t (*)(nvmlDevice_t, nvmlMemory_v2_t *))            \
    X(gpm, "nvmlGpmQueryDeviceSupport", nvmlReturn_t (*)(nvmlDevice_t, nvmlGpmSupport_t *))                  \
    X(processes, "nvmlDeviceGetComputeRunningProcesses_v3",                                                  \
      nvmlReturn_t (*)(nvmlDevice_t, unsigned int *, nvmlProcessInfo_t *))                                   \
    X(version, "jmsim_version", const char *(*)(void))                                                       \
    X(attach, "jmsim_attach", int (*)(const char *, const char *))                                           \
    X(detach, "jmsim_detach", int (*)(void))                                                                 \
    X(missing, "jmsim_missing", int (*)(const char *))                                                       \
    X(error, "jmsim_error", const char *(*)(void))                                                           \
    X(overtaken, "jmsim_overtaken", unsigned long long (*)(void))                                            \
    X(epoch_ns, "jmsim_epoch_ns", long long (*)(void))

static struct {
#define X(name, symbol, type) __typeof__((type)0) name;
    CALLS(X)
#undef X
} nvml;

static char folder[64]; /* of the test that runs */

static int load_library(void **state)
{
    (void)state;
    void *library = dlopen(JM_BUILD_DIR "/sim/libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) fprintf(stderr, "%s\n", dlerror());
    if (library == NULL) return -1;
#define X(name, symbol, type)                                                                                \
    *(void **)(void *)&nvml.name = dlsym(library, symbol);                                                   \
    if (nvml.name == NULL) return -1;
    CALLS(X)
#undef X
    return 0;
}

static int enter_folder(void **state)
{
    (void)state;
    static const char *const variables[] = {"JOULEMAP_SIM",       "JOULEMAP_SIM_SCRIPT", "JOULEMAP_SIM_TRUTH",
                                            "JOULEMAP_SIM_SEED",  "JOULEMAP_SIM_FAULTS", "JOULEMAP_RUN",
                                            "JOULEMAP_SIM_BOARD", "LOCAL_RANK"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    snprintf(folder, sizeof folder, "/tmp/joulemap-test-sim-XXXXXX");
    if (mkdtemp(folder) == NULL) return -1;
    return setenv("XDG_RUNTIME_DIR", folder, 1);
}

static int leave_folder(void **state)
{
    (void)state;
    nvml.detach();
    while (nvml.shutdown() == NVML_SUCCESS) {
    }
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static inline const char *write_file(const char *name, const char *text)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
    return path;
}

static inline int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

static inline void sleep_until_ns(int64_t t_ns)
{
    struct timespec at = {t_ns / NS_PER_S, t_ns % NS_PER_S};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
    }
}

/* Until so long after the boards' epoch. */
static inline void sleep_to(double t_s)
{
    sleep_until_ns(nvml.epoch_ns() + (int64_t)(t_s * 1e9));
}

static inline nvmlDevice_t open_board(unsigned int index)
{
    nvmlDevice_t device = NULL;
    assert_int_equal(nvml.init(), NVML_SUCCESS);
    assert_int_equal(nvml.handle(index, &device), NVML_SUCCESS);
    return device;
}

/* A stamp of the board in seconds since its epoch. The two clocks differ by a constant here: the tightest
 * reading of both so far tells it, for one that is interrupted can be off by as much as it took. */
static inline double seconds_of_stamp(unsigned long long stamp_us)
{
    static int64_t offset_ns, width_ns = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        struct timespec realtime;
        int64_t before_ns = now_ns();
        clock_gettime(CLOCK_REALTIME, &realtime);
        int64_t after_ns = now_ns();
        if (after_ns - before_ns >= width_ns) continue;
        width_ns = after_ns - before_ns;
        offset_ns =
            (int64_t)realtime.tv_sec * NS_PER_S + realtime.tv_nsec - (before_ns + (after_ns - before_ns) / 2);
    }
    return (double)((int64_t)stamp_us * 1000 - offset_ns - nvml.epoch_ns()) * 1e-9;
}

/* The counter in J, and its tick in seconds since the epoch. */
static inline double counter_j(nvmlDevice_t device, double *tick_s)
{
    nvmlFieldValue_t field = {.fieldId = NVML_FI_DEV_ENERGY};
    assert_int_equal(nvml.fields(device, 1, &field), NVML_SUCCESS);
    assert_int_equal(field.nvmlReturn, NVML_SUCCESS);
    if (tick_s != NULL) *tick_s = seconds_of_stamp((unsigned long long)field.timestamp);
    return (double)field.value.ullVal * 1e-3;
}

/* CSV: fields with a comma stand in quotes. No field here has a quote of its own. */
static inline int split_row(char *line, char **fields, int size)
{
    int count = 0;
    while (count < size) {
        bool quoted = *line == '"';
        fields[count++] = quoted ? ++line : line;
        line += strcspn(line, quoted ? "\"" : ",\n");
        if (quoted && *line != '\0') *line++ = '\0';
        bool more = *line == ',';
        *line++ = '\0';
        if (!more) break;
    }
    return count;
}

/* One row of a truth file; NaN fields where the file has none. False: there is no such row. */
static inline bool read_truth(const char *path, int board, const char *name, const char *kind, double *calls,
                              double *busy_s, double *energy_j)
{
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    char line[1024];
    bool found = false;
    while (!found && fgets(line, sizeof line, in) != NULL) {
        char *fields[7];
        int count = split_row(line, fields, 7);
        if (count != 7 || atoi(fields[0]) != board || strcmp(fields[1], name) != 0) continue;
        if (kind != NULL && strcmp(fields[3], kind) != 0) continue;
        if (calls != NULL) *calls = strtod(fields[4], NULL);
        if (busy_s != NULL) *busy_s = strtod(fields[5], NULL);
        if (energy_j != NULL) *energy_j = strtod(fields[6], NULL);
        found = true;
    }
    fclose(in);
    return found;
}

/* The sum of all rows of a board but (total), and (total). */
static inline void sum_truth(const char *path, double *sum_j, double *total_j)
{
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    char line[1024];
    *sum_j = 0;
    *total_j = -1;
    assert_non_null(fgets(line, sizeof line, in));
    assert_string_equal(line, "board,name,type,kind,calls,busy_s,energy_j\n");
    while (fgets(line, sizeof line, in) != NULL) {
        double energy_j = strtod(strrchr(line, ',') + 1, NULL);
        if (strstr(line, "(total)") != NULL)
            *total_j = energy_j;
        else
            *sum_j += energy_j;
    }
    fclose(in);
}

#endif
