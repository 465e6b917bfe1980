/* The NVML back end: loading libnvidia-ml, finding boards and working sensors, reading them. */
#include "record/device/nvml.h"

#include "base/clock.h"
#include "base/helper.h"
#include "base/no_fork.h"
#include "base/status.h"
#include "format/rows/rows.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- the library and its symbols */

static const struct {
    const char *symbol, *older;
    size_t offset;
    const char *lost; /* what is unavailable without it */
} symbols[] = {
#define X(slot, symbol, older, lost, arguments) {symbol, older, offsetof(jm__nvml, slot), lost},
    JM_NVML_MAP(X)
#undef X
};

static const char *error_text_fallback(int result)
{
    (void)result;
    return "an error that this NVML has no text for";
}

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

/* The path to load; false with a finding if the requested simulated board does not exist. */
static bool path_choose(const char *sim, char *path, size_t size, jm__findings *findings)
{
    const char *override = getenv("JOULEMAP_NVML");
    if (is_set(override)) {
        snprintf(path, size, "%s", override);
        return true;
    }
    if (!is_set(sim)) {
        snprintf(path, size, "libnvidia-ml.so.1");
        return true;
    }
    if (jm__beside("sim/libnvidia-ml.so.1", path, size)) return true;
    jm__finding_add(findings, "NVML (simulated)", false,
                    "build it (`make build`), or name the library in JOULEMAP_NVML",
                    "the simulated GPU was requested (%.40s), but %s is missing", sim, path);
    return false;
}

/* dlsym for functions: its result cannot be cast to a function pointer. NULL: no such symbol. */
static void function_find(void *library, const char *symbol, void *slot)
{
    void *address = dlsym(library, symbol);
    memcpy(slot, &address, sizeof address);
}

/* The simulated board may play that a symbol is missing. */
void *jm__nvml_symbol(const jm__nvml *nvml, const char *symbol)
{
    int (*missing)(const char *) = NULL;
    function_find(nvml->library, "jmsim_missing", &missing);
    if (missing != NULL && missing(symbol) != 0) return NULL;
    return dlsym(nvml->library, symbol);
}

/* Resolves all symbols; false if a required one is missing. */
static bool symbols_resolve(jm__nvml *nvml, jm__findings *findings)
{
    bool is_complete = true;
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = jm__nvml_symbol(nvml, symbols[i].symbol);
        if (address == NULL && symbols[i].older[0] != '\0') address = jm__nvml_symbol(nvml, symbols[i].older);
        memcpy((char *)nvml + symbols[i].offset, &address, sizeof address);
        if (address != NULL) continue;
        char subject[64];
        snprintf(subject, sizeof subject, "NVML: %.57s", symbols[i].symbol);
        jm__finding_add(findings, subject, false, "another driver version may have it",
                        "not in %.150s; without it is lost: %s", nvml->path, symbols[i].lost);
        is_complete = is_complete && strcmp(symbols[i].lost, JM_NVML_EVERYTHING) != 0;
    }
    void *address = jm__nvml_symbol(nvml, "nvmlErrorString");
    memcpy(&nvml->error_text, &address, sizeof address);
    if (nvml->error_text == NULL) nvml->error_text = error_text_fallback;
    return is_complete;
}

static void sim_attach(jm__nvml *nvml, const jm__device_options *options, jm__findings *findings)
{
    if (options->run_dir == NULL && options->truth_path == NULL) return;
    int (*attach)(const char *, const char *) = NULL;
    function_find(nvml->library, "jmsim_attach", &attach);
    if (attach == NULL) return;
    int result = attach(options->run_dir, options->truth_path);
    nvml->attached = result == 0;
    if (!nvml->attached)
        jm__finding_add(findings, "NVML (simulated): attach", false, "",
                        "the simulated GPU cannot follow %s (code %d)",
                        options->run_dir == NULL ? "a run" : options->run_dir, result);
}

/* Sets the requested profile in the environment, where the simulated board reads it. Returns the previous
 * value for environment_restore. */
static char *environment_set(const char *sim)
{
    const char *set = getenv("JOULEMAP_SIM");
    char *before = set == NULL ? NULL : strdup(set);
    if (is_set(sim)) setenv("JOULEMAP_SIM", sim, 1);
    return before;
}

static void environment_restore(const char *sim, char *before)
{
    if (is_set(sim) && before != NULL)
        setenv("JOULEMAP_SIM", before, 1);
    else if (is_set(sim))
        unsetenv("JOULEMAP_SIM");
    free(before);
}

static void library_open(jm__nvml *nvml, const char *path, bool sim, jm__findings *findings)
{
    nvml->library = jm__library_open(path, RTLD_NOW | RTLD_LOCAL);
    if (nvml->library == NULL) {
        jm__finding_add(findings, "NVML", false,
                        is_set(getenv("JOULEMAP_NVML")) ? "check the path in JOULEMAP_NVML"
                        : sim ? "build joulemap again: the simulated GPU comes with it"
                              : "install the NVIDIA driver, or use the simulated GPU: --sim h200",
                        "%.240s", dlerror());
        return;
    }
    snprintf(nvml->path, sizeof nvml->path, "%.255s", path);
    void *any = dlsym(nvml->library, "nvmlInit_v2");
    Dl_info info;
    if (any != NULL && dladdr(any, &info) != 0 && info.dli_fname != NULL)
        snprintf(nvml->path, sizeof nvml->path, "%.255s", info.dli_fname);
    nvml->simulated = dlsym(nvml->library, "jmsim_version") != NULL;
}

/* Adds the simulated board's own description of what it rejects: a profile, a script, a fault. */
static void sim_refusal_note(const jm__nvml *nvml, int result, jm__findings *findings)
{
    const char *(*why)(void) = NULL;
    function_find(nvml->library, "jmsim_error", &why);
    const char *text = why == NULL ? "" : why();
    jm__finding_add(findings, "NVML (simulated)", false,
                    "check JOULEMAP_SIM and the JOULEMAP_SIM_* variables", "%.200s",
                    text[0] != '\0' ? text : nvml->error_text(result));
}

/* Opens, resolves and initialises; false with a finding. */
static bool library_start(jm__nvml *nvml, const char *path, const jm__device_options *options, bool sim,
                          jm__findings *findings)
{
    library_open(nvml, path, sim, findings);
    if (nvml->library == NULL) return false;
    if (!symbols_resolve(nvml, findings)) {
        jm__finding_add(findings, "NVML", false, "update the NVIDIA driver", "%.200s lacks required calls",
                        nvml->path);
        return false;
    }
    if (nvml->simulated) sim_attach(nvml, options, findings);
    int result = nvml->init();
    if (result == JM_NVML_SUCCESS) return true;
    if (nvml->simulated) {
        sim_refusal_note(nvml, result, findings);
        return false;
    }
    jm__finding_add(findings, "NVML", false,
                    result == JM_NVML_DRIVER_NOT_LOADED ? "load the driver: sudo modprobe nvidia"
                                                        : "`nvidia-smi` should work first",
                    "nvmlInit_v2 of %.120s: %.80s (%d)", nvml->path, nvml->error_text(result), result);
    return false;
}

static void library_leave(jm__nvml *nvml, bool started)
{
    int (*detach)(void) = NULL;
    if (nvml->library == NULL) return;
    if (nvml->attached) function_find(nvml->library, "jmsim_detach", &detach);
    if (detach != NULL) (void)detach(); /* completes the truth file, though others may use the library */
    if (started) nvml->shutdown();
    jm__library_close(nvml->library);
    nvml->library = NULL;
}

void jm__nvml_load(jm__nvml *nvml, const jm__device_options *options, jm__findings *findings)
{
    *nvml = (jm__nvml){0};
    const char *sim = is_set(options->sim) ? options->sim : getenv("JOULEMAP_SIM");
    char path[4200];
    if (!path_choose(sim, path, sizeof path, findings)) return;
    char *before = environment_set(options->sim);
    bool started = library_start(nvml, path, options, is_set(sim), findings);
    environment_restore(options->sim, before);
    if (!started) library_leave(nvml, false);
}

void jm__nvml_unload(jm__nvml *nvml)
{
    library_leave(nvml, true);
}

jm_status jm__nvml_status(int result)
{
    switch (result) {
    case JM_NVML_SUCCESS:
        return JM_OK;
    case JM_NVML_NOT_SUPPORTED:
    case JM_NVML_NO_SYMBOL:
        return JM_NOT_SUPPORTED;
    case JM_NVML_NO_PERMISSION:
        return JM_NO_PERMISSION;
    case JM_NVML_GPU_IS_LOST:
    case JM_NVML_RESET_REQUIRED:
        return JM_DEVICE_LOST;
    default:
        return JM_IO;
    }
}

/* ---- one small reading function per sensor */

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

/* Reads a ring of stamped samples: mW for power, percent for utilisation. */
static int ring_read(const jm__nvml *nvml, jm__nvml_device device, int type, jm__samples *out)
{
    if (nvml->samples == NULL) return JM_NVML_NO_SYMBOL;
    jm__nvml_sample samples[JM_DEVICE_SAMPLES_MAX];
    unsigned count = JM_DEVICE_SAMPLES_MAX;
    int value_type = JM_NVML_UINT;
    int result = nvml->samples(device, type, 0, &value_type, &count, samples);
    if (result == JM_NVML_NOT_FOUND) { /* no sample yet */
        out->count = 0;
        return JM_NVML_SUCCESS;
    }
    if (result != JM_NVML_SUCCESS) return result;
    if (count > JM_DEVICE_SAMPLES_MAX) return JM_NVML_INSUFFICIENT_SIZE;
    double scale = type == JM_NVML_SAMPLES_POWER ? 1e-3 : 1.0;
    out->count = 0;
    for (unsigned i = 0; i < count; i++) {
        int64_t t_ns = (int64_t)samples[i].t_us * JM_NS_PER_US;
        if (t_ns == 0) continue; /* the slot was never filled */
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

/* Defines the reader of one number. */
#define READER(name, slot, type, scale, arguments)                                                           \
    static int name(const jm__nvml *nvml, jm__nvml_device device, int selector, jm__samples *out)            \
    {                                                                                                        \
        (void)selector;                                                                                      \
        type value = 0;                                                                                      \
        if (nvml->slot == NULL) return JM_NVML_NO_SYMBOL;                                                    \
        int result = nvml->slot arguments;                                                                   \
        return one_value(result, (scale) * (double)value, out);                                              \
    }
READER(usage_read, power, unsigned, 1e-3, (device, &value))
READER(energy_read, energy, unsigned long long, 1e-3, (device, &value))
READER(throttle_read, throttle, unsigned long long, 1.0, (device, &value))
READER(limit_read, limit, unsigned, 1e-3, (device, &value))
READER(temperature_read, temperature, unsigned, 1.0, (device, selector, &value))
READER(clock_read, clock, unsigned, 1.0, (device, selector, &value))
#undef READER

static int utilisation_read(const jm__nvml *nvml, jm__nvml_device device, int of_memory, jm__samples *out)
{
    if (nvml->utilisation == NULL) return JM_NVML_NO_SYMBOL;
    jm__nvml_utilisation rates = {0};
    int result = nvml->utilisation(device, &rates);
    return one_value(result, of_memory ? rates.memory : rates.gpu, out);
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
_Static_assert(sizeof jm__nvml_sensors / sizeof jm__nvml_sensors[0] <= JM_DEVICE_SENSORS_MAX + 1,
               "the sensors of a board fit");

/* ---- CUDA_VISIBLE_DEVICES: indices, UUIDs, unique prefixes of UUIDs, MIG instances */

#define NO_BOARD (-1)

/* The board whose UUID has this prefix, if there is exactly one. */
static int by_uuid(const jm__cuda_board *boards, size_t count, const char *text, size_t length)
{
    int found = NO_BOARD;
    for (size_t i = 0; i < count; i++) {
        if (strncasecmp(boards[i].uuid, text, length) != 0) continue;
        if (found != NO_BOARD) return NO_BOARD;
        found = (int)i;
    }
    return found;
}

/* "MIG-<uuid>" of an instance, or the older "MIG-GPU-<uuid>/<gi>/<ci>", which contains the UUID of its
 * board. */
static int by_mig(const jm__cuda_board *boards, size_t count, const char *text, size_t length)
{
    if (length > 8 && strncasecmp(text, "MIG-GPU-", 8) == 0) {
        const char *slash = memchr(text, '/', length);
        if (slash == NULL) return NO_BOARD;
        return by_uuid(boards, count, text + 4, (size_t)(slash - text) - 4);
    }
    int found = NO_BOARD;
    size_t matches = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t mig = 0; mig < boards[i].mig_count; mig++) {
            if (strncasecmp(boards[i].mig[mig], text, length) != 0) continue;
            found = (int)i;
            matches++;
        }
    }
    return matches == 1 ? found : NO_BOARD;
}

static int entry_resolve(const jm__cuda_board *boards, size_t count, const char *text, size_t length)
{
    if (length > 4 && strncasecmp(text, "GPU-", 4) == 0) return by_uuid(boards, count, text, length);
    if (length > 4 && strncasecmp(text, "MIG-", 4) == 0) return by_mig(boards, count, text, length);
    int number = 0;
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)text[i]) || number > 1000) return NO_BOARD;
        number = number * 10 + (text[i] - '0');
    }
    return length > 0 && (size_t)number < count ? number : NO_BOARD;
}

void jm__cuda_visible_resolve(const char *visible, const jm__cuda_board *boards, size_t count, int *indices)
{
    for (size_t i = 0; i < count; i++)
        indices[i] = visible == NULL ? (int)i : NO_BOARD;
    if (visible == NULL) return;
    int next = 0;
    for (const char *entry = visible; entry != NULL;) {
        const char *comma = strchr(entry, ',');
        size_t length = comma == NULL ? strlen(entry) : (size_t)(comma - entry);
        while (length > 0 && isspace((unsigned char)entry[0])) {
            entry++;
            length--;
        }
        while (length > 0 && isspace((unsigned char)entry[length - 1]))
            length--;
        int board = entry_resolve(boards, count, entry, length);
        if (board == NO_BOARD) return;
        if (indices[board] == NO_BOARD)
            indices[board] = next; /* the first of several instances of a board counts */
        next++;
        entry = comma == NULL ? NULL : comma + 1;
    }
}

/* ---- the back end */

typedef struct nvml_board {
    jm__nvml_device device;
    bool lost;
    jm_board row;
    const jm__nvml_sensor *sensors[JM_DEVICE_SENSORS_MAX]; /* in the order of jm__nvml_sensors */
} nvml_board;

enum { MULTIPROCESSORS_MAX = 1024 }; /* plausibility limit: the largest GPU of 2026 has 160 */

typedef struct nvml_state {
    jm__nvml nvml;
    nvml_board boards[JM_DEVICE_BOARDS_MAX];
    size_t board_count;
    jm__samples scratch; /* for probes */
} nvml_state;

/* NVML reports cores; the cores per multiprocessor are in the CUDA C++ programming guide, "Compute
 * Capabilities". 0: unknown. */
static int32_t multiprocessors_of(const jm__nvml *nvml, jm__nvml_device device)
{
    unsigned cores = 0;
    int major = 0, minor = 0;
    if (nvml->cores == NULL || nvml->cores(device, &cores) != JM_NVML_SUCCESS) return 0;
    if (nvml->capability == NULL || nvml->capability(device, &major, &minor) != JM_NVML_SUCCESS) return 0;
    bool small = (major == 6 && minor == 0) || major == 7 || (major == 8 && minor == 0);
    unsigned cores_per_multiprocessor = major < 6 ? 0 : small ? 64 : 128;
    bool plausible = cores_per_multiprocessor > 0 && cores % cores_per_multiprocessor == 0 &&
                     cores / cores_per_multiprocessor <= MULTIPROCESSORS_MAX;
    return plausible ? (int32_t)(cores / cores_per_multiprocessor) : 0;
}

/* Reads the identity of a board; each part may be missing. */
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

/* Reads the MIG instances of a board. */
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
    bool equal = true;
    for (size_t i = 0; i < state->board_count; i++) {
        state->boards[i].row.cuda_index = indices[i];
        equal = equal && strcmp(state->boards[i].row.name, state->boards[0].row.name) == 0;
    }
    const char *order = getenv("CUDA_DEVICE_ORDER");
    bool by_bus = order != NULL && strcmp(order, "PCI_BUS_ID") == 0;
    if (!by_bus && !equal)
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

/* Moves the last finding, of the library, before those of its missing symbols; its versions are known only at
 * the end. */
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

static bool nvml_board_row(void *context, size_t number, jm_board *row)
{
    const nvml_state *state = context;
    if (number >= state->board_count) return false;
    *row = state->boards[number].row;
    return true;
}

static const char *reason_text(const jm__nvml *nvml, int result)
{
    return result == JM_NVML_NO_SYMBOL ? "this NVML has no such call" : nvml->error_text(result);
}

static size_t nvml_sensors(void *context, size_t number, jm__device_sensor *sensors)
{
    nvml_state *state = context;
    nvml_board *board = &state->boards[number];
    size_t count = 0;
    for (const jm__nvml_sensor *sensor = jm__nvml_sensors; sensor->role != JM_SENSOR_OTHER; sensor++) {
        bool same_role = count > 0 && board->sensors[count - 1]->role == sensor->role;
        if (same_role && sensors[count - 1].row.missing[0] == '\0') continue; /* the preferred call works */
        /* A sensor exists if the board answers. */
        int result = sensor->read(&state->nvml, board->device, sensor->selector, &state->scratch);
        if (same_role && result != JM_NVML_SUCCESS) continue; /* keep the first error */
        size_t slot = same_role ? count - 1 : count++;
        jm__device_sensor *out = &sensors[slot];
        jm__device_sensor_init(out, sensor->role, sensor->source);
        out->buffered = sensor->buffered;
        board->sensors[slot] = sensor;
        if (result != JM_NVML_SUCCESS)
            snprintf(out->row.missing, sizeof out->row.missing, "%s", reason_text(&state->nvml, result));
    }
    return count;
}

/* A lost board may have returned under a new handle. */
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
    jm_status status = jm__nvml_status(result);
    /* While a board is lost, every error means that it is still lost. */
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
        return jm__fail(err, jm__nvml_status(result), result, "nvmlDeviceGetMemoryInfo", "GPU %d: memory: %s",
                        board->row.index, reason_text(&state->nvml, result));
    *out = (jm_board_memory){.total_bytes = (int64_t)memory.total, .free_bytes = (int64_t)memory.free};
    return JM_OK;
}

static jm_status nvml_processes(void *context, size_t number, int32_t *pids, size_t capacity, size_t *count,
                                jm_error *err)
{
    enum { PROCESSES_MAX = 64 };
    nvml_state *state = context;
    const nvml_board *board = &state->boards[number];
    jm__nvml_process list[PROCESSES_MAX];
    unsigned room = capacity < PROCESSES_MAX ? (unsigned)capacity : PROCESSES_MAX, returned = room;
    int result = state->nvml.processes != NULL ? state->nvml.processes(board->device, &returned, list)
                                               : JM_NVML_NO_SYMBOL;
    if (result != JM_NVML_SUCCESS) /* also if there are too many */
        return jm__fail(err, jm__nvml_status(result), result, "nvmlDeviceGetComputeRunningProcesses",
                        "GPU %d: processes: %s", board->row.index, reason_text(&state->nvml, result));
    for (unsigned i = 0; i < returned && i < room; i++)
        if (list[i].pid > 0 && list[i].pid <= INT32_MAX) pids[(*count)++] = (int32_t)list[i].pid;
    return JM_OK;
}

static void nvml_close(void *context)
{
    nvml_state *state = context;
    jm__nvml_unload(&state->nvml);
    free(state);
}

const jm__backend jm__backend_nvml = {.name = "nvml",
                                      .open = nvml_open,
                                      .board = nvml_board_row,
                                      .sensors = nvml_sensors,
                                      .read = nvml_read,
                                      .memory = nvml_memory,
                                      .close = nvml_close,
                                      .processes = nvml_processes};
