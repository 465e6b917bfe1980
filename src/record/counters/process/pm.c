/* The order of CUPTI's calls for PM sampling. */
#include "record/counters/process/pm.h"

#include "record/counters/chip.h"
#include "record/counters/helper.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool jm__pm_fail(jm__pm_error *fault, const char *cure, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    snprintf(fault->cure, sizeof fault->cure, "%s", cure);
    return false;
}

/* ---- each libcupti that was found */

/* The name of the first required call that is missing, or NULL. */
static const char *resolve(jm__pm_library *library, void *handle)
{
    const struct {
        const char *symbol;
        void *slot;
        bool required;
    } table[] = {{"cuptiGetResultString", &library->cuptiGetResultString, true},
#define X(symbol, type, last) {#symbol, &library->symbol, true},
                 JM_PM_MAP(X)
#undef X
#define X(symbol, type, last) {#symbol, &library->symbol, false},
                     JM_PM_OPTIONAL_MAP(X)
#undef X
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        void *address = dlsym(handle, table[i].symbol);
        if (address == NULL && table[i].required) return table[i].symbol;
        memcpy(table[i].slot, &address, sizeof address);
    }
    return NULL;
}

/* Up to 12.9 the version counts releases (18: 12.1), from 13.0 on it is xxyyzz: later is larger throughout.
 */
static bool ask_version(jm__pm_library *library, void *handle)
{
    int (*ask)(uint32_t *);
    void *address = dlsym(handle, "cuptiGetVersion");
    if (address == NULL) return false;
    memcpy(&ask, &address, sizeof ask);
    return ask(&library->version) == JM_CUPTI_SUCCESS;
}

static const char cure[] =
    "pip install nvidia-cuda-cupti, of CUDA 12.6 or newer, or name it in JOULEMAP_CUPTI";

static bool load(jm__pm_library *library, const char *path, jm__pm_error *fault)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *lacks = NULL;
    *library = (jm__pm_library){.path = path};
    if (handle == NULL) { /* a bare name that the loader does not find is no file at all */
        if (path[0] != '/' || fault->text[0] != '\0') return false;
        return jm__pm_fail(fault, cure, "CUPTI could not be loaded (%.150s)", dlerror());
    }
    if (ask_version(library, handle) && (lacks = resolve(library, handle)) == NULL) return true;
    dlclose(handle);
    return jm__pm_fail(fault, cure, "%.110s lacks %s", path, lacks != NULL ? lacks : "cuptiGetVersion");
}

static int newer_first(const void *left, const void *right)
{
    const jm__pm_library *a = left, *b = right;
    return (a->version < b->version) - (a->version > b->version);
}

bool jm__pm_libraries_load(jm__pm_libraries *all, char *const *paths, size_t count, jm__pm_error *fault)
{
    *fault = (jm__pm_error){0};
    all->count = 0;
    for (size_t i = 0; i < count && all->count < JM_CUPTI_CANDIDATES_MAX; i++)
        all->count += load(&all->items[all->count], paths[i], fault);
    qsort(all->items, all->count, sizeof all->items[0], newer_first);
    if (all->count > 0) return true;
    return fault->text[0] != '\0' ? false : jm__pm_fail(fault, cure, "CUPTI was not found");
}

/* ---- the four calls of libcuda that find a board */

typedef struct cuda_calls {
    int (*cuInit)(unsigned flags);
    int (*cuDeviceGetCount)(int *count);
    int (*cuDeviceGet)(int *device, int ordinal);
    int (*cuDeviceGetUuid)(unsigned char uuid[16], int device);
} cuda_calls;

static const char no_driver[] = "install the NVIDIA driver";

static bool load_cuda(cuda_calls *calls, jm__pm_error *fault)
{
    const char *given = getenv("JOULEMAP_CUDA");
    const char *path = given != NULL && given[0] != '\0' ? given : "libcuda.so.1";
    const struct {
        const char *symbol;
        void *slot;
    } table[] = {{"cuInit", &calls->cuInit},
                 {"cuDeviceGetCount", &calls->cuDeviceGetCount},
                 {"cuDeviceGet", &calls->cuDeviceGet},
                 {"cuDeviceGetUuid", &calls->cuDeviceGetUuid}};
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) return jm__pm_fail(fault, no_driver, "CUDA could not be loaded (%.150s)", dlerror());
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        void *address = dlsym(library, table[i].symbol);
        if (address == NULL) return jm__pm_fail(fault, no_driver, "%.100s lacks %s", path, table[i].symbol);
        memcpy(table[i].slot, &address, sizeof address);
    }
    return true;
}

/* The 16 bytes of "GPU-01234567-89ab-..."; false if it is none. */
static bool read_uuid(unsigned char uuid[16], const char *text)
{
    size_t digits = 0;
    if (strncmp(text, "GPU-", 4) != 0) return false;
    for (text += 4; *text != '\0'; text++) {
        if (*text == '-') continue;
        if (!isxdigit((unsigned char)*text) || digits == 32) return false;
        int value = isdigit((unsigned char)*text) ? *text - '0' : tolower((unsigned char)*text) - 'a' + 10;
        uuid[digits / 2] = (unsigned char)(digits % 2 == 0 ? value << 4 : uuid[digits / 2] | value);
        digits++;
    }
    return digits == 32;
}

bool jm__pm_find_device(size_t *device, const char *uuid, jm__pm_error *fault)
{
    cuda_calls cuda;
    unsigned char requested[16], own[16];
    int count = 0, handle, code;
    fault->settled = true;
    if (!load_cuda(&cuda, fault)) return false;
    if (!read_uuid(requested, uuid)) return jm__pm_fail(fault, "", "%.100s is no UUID of a board", uuid);
    if ((code = cuda.cuInit(0)) != 0 || (code = cuda.cuDeviceGetCount(&count)) != 0)
        return jm__pm_fail(fault, "`nvidia-smi` should work first", "CUDA does not start: error %d", code);
    for (int i = 0; i < count; i++) {
        if (cuda.cuDeviceGet(&handle, i) != 0 || cuda.cuDeviceGetUuid(own, handle) != 0) continue;
        if (memcmp(own, requested, sizeof own) != 0) continue;
        *device = (size_t)i;
        return true;
    }
    return jm__pm_fail(fault, "", "CUDA does not know the board %.100s", uuid);
}

/* ---- a board */

/* A choice: a quarter of what the first probe on an H100 took, which decoded five times as often. Recordings
 * count the times that it was full. */
#define HARDWARE_BUFFER_BYTES ((size_t)128 << 20)
/* Where a chip refuses to count time: a millisecond of a system clock of 1.5 GHz. */
#define CYCLES_A_MS INT64_C(1500000)
/* No sample lasts that long; a stamp of 0 was never set. */
#define SAMPLE_MAX_NS (UINT64_C(1) * JM_NS_PER_S)

/* Fill `params` and make the call. */
#define CALL(pm, symbol, params) ((pm)->library->symbol(params))

static bool fail(const jm__pm *pm, jm__pm_error *fault, int result, const char *call)
{
    const char *text = NULL;
    fault->settled = true;
    switch (result) {
    case JM_CUPTI_INSUFFICIENT_PRIVILEGES:
    case JM_CUPTI_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return jm__pm_fail(fault, JM_COUNTERS_RIGHT_CURE, "this user may not read hardware counters");
    case JM_CUPTI_HARDWARE_BUSY:
        return jm__pm_fail(fault, "end it, and record again",
                           "another tool (DCGM, Nsight) uses the board's counters");
    case JM_CUPTI_MIG_DEVICE_NOT_SUPPORTED:
        return jm__pm_fail(fault, "", "the board is in MIG mode, where counters cannot be sampled");
    default:
        fault->settled = false;
        if (pm->library->cuptiGetResultString(result, &text) != JM_CUPTI_SUCCESS || text == NULL)
            text = "no reason given";
        return jm__pm_fail(fault, "", "%s: %.100s (%d)", call, text, result);
    }
}

#define TRY(pm, symbol, params, fault)                                                                       \
    do {                                                                                                     \
        int result_ = CALL(pm, symbol, params);                                                              \
        if (result_ != JM_CUPTI_SUCCESS) return fail(pm, fault, result_, #symbol);                           \
    } while (0)

static bool no_memory(jm__pm_error *fault)
{
    return jm__pm_fail(fault, "", "no memory for the sampler of counters");
}

/* ---- choosing */

static void host_free(jm__pm *pm)
{
    jm__pm_host_deinitialize end = JM_PM_INIT(jm__pm_host_deinitialize, host, .host = pm->host);
    if (pm->host != NULL && pm->library->cuptiProfilerHostDeinitialize != NULL)
        (void)CALL(pm, cuptiProfilerHostDeinitialize, &end);
    pm->host = NULL;
    free(pm->config);
    pm->config = NULL;
}

/* A configuration of these counters, in pm->host and pm->config. */
static bool configure(jm__pm *pm, const char *const *names, size_t count, jm__pm_error *fault)
{
    host_free(pm);
    jm__pm_host_initialize host =
        JM_PM_INIT(jm__pm_host_initialize, host, .profiler_type = JM_PM_PROFILER_TYPE, .chip = pm->chip.name,
                   .availability = pm->availability);
    TRY(pm, cuptiProfilerHostInitialize, &host, fault);
    pm->host = host.host;
    for (size_t i = 0; i < count; i++)
        pm->names[i] = names[i];
    jm__pm_add_metrics add = JM_PM_INIT(jm__pm_add_metrics, metric_count, .host = pm->host,
                                        .metrics = pm->names, .metric_count = count);
    TRY(pm, cuptiProfilerHostConfigAddMetrics, &add, fault);
    jm__pm_config_size size = JM_PM_INIT(jm__pm_config_size, config_size, .host = pm->host);
    TRY(pm, cuptiProfilerHostGetConfigImageSize, &size, fault);
    pm->config = malloc(size.config_size > 0 ? size.config_size : 1);
    pm->config_size = size.config_size;
    if (pm->config == NULL) return no_memory(fault);
    jm__pm_config image = JM_PM_INIT(jm__pm_config, config, .host = pm->host, .config_size = pm->config_size,
                                     .config = pm->config);
    TRY(pm, cuptiProfilerHostGetConfigImage, &image, fault);
    return true;
}

typedef struct fitting {
    jm__pm *pm;
    size_t configured;  /* how many counters pm->config has now, if it is one that fits; else 0 */
    jm__pm_error fault; /* of the last that did not fit */
} fitting;

static bool fits(void *context, const char *const *names, size_t count)
{
    fitting *f = context;
    f->configured = 0;
    if (!configure(f->pm, names, count, &f->fault)) return false;
    jm__pm_passes passes =
        JM_PM_INIT(jm__pm_passes, passes, .config_size = f->pm->config_size, .config = f->pm->config);
    if (CALL(f->pm, cuptiProfilerHostGetNumOfPasses, &passes) == JM_CUPTI_SUCCESS && passes.passes == 1)
        f->configured = count;
    return f->configured > 0;
}

/* The list of its own, or what is for all chips where this CUPTI knows none of that. */
static size_t choose_from(jm__pm *pm, const char *list, const char *chip, fitting *f)
{
    jm_error err = {0};
    if (jm__chip_load(&pm->chip, list, &err) != JM_OK) {
        jm__pm_fail(&f->fault, "", "%.190s", err.text);
        return 0;
    }
    snprintf(pm->chip.name, sizeof pm->chip.name, "%s", chip);
    return jm__chip_choose(&pm->chip, fits, f);
}

static bool choose(jm__pm *pm, const char *chip, jm__pm_error *fault)
{
    fitting f = {.pm = pm};
    const char *names[JM_COUNTER_METRICS_MAX];
    size_t count = choose_from(pm, chip, chip, &f);
    if (count == 0) count = choose_from(pm, "", chip, &f);
    if (count == 0) {
        if (f.fault.text[0] == '\0')
            jm__pm_fail(&f.fault, "", "none of the counters of this chip fit one pass");
        *fault = f.fault;
        return false;
    }
    for (size_t i = 0; i < count; i++)
        pm->names[i] = names[i] = pm->chip.metrics[i].name; /* those that were left out made room */
    if (f.configured == count) return true;                 /* the last that was tried is the one */
    return configure(pm, names, count, fault);
}

static bool ask_availability(jm__pm *pm, jm__pm_error *fault)
{
    jm__pm_availability ask = JM_PM_INIT(jm__pm_availability, image, .device = pm->device);
    TRY(pm, cuptiPmSamplingGetCounterAvailability, &ask, fault);
    pm->availability = ask.image = malloc(ask.image_size > 0 ? ask.image_size : 1);
    if (ask.image == NULL) return no_memory(fault);
    TRY(pm, cuptiPmSamplingGetCounterAvailability, &ask, fault);
    return true;
}

bool jm__pm_open(jm__pm *pm, const jm__pm_library *library, size_t device, jm__pm_error *fault)
{
    *pm = (jm__pm){.library = library, .device = device};
    jm__pm_initialize initialize = JM_PM_INIT(jm__pm_initialize, reserved, .reserved = NULL);
    TRY(pm, cuptiProfilerInitialize, &initialize, fault);
    jm__pm_chip_name name = JM_PM_INIT(jm__pm_chip_name, name, .device = device);
    TRY(pm, cuptiDeviceGetChipName, &name, fault);
    pm->names = calloc(JM_COUNTER_METRICS_MAX, sizeof *pm->names);
    if (pm->names == NULL) return no_memory(fault);
    return ask_availability(pm, fault) && choose(pm, name.name, fault);
}

/* ---- sampling */

/* Newer CUPTIs know the last member, older ones may refuse a struct that has it; not every chip counts time.
 */
static int set_config(jm__pm *pm)
{
    jm__pm_set_config set =
        JM_PM_INIT(jm__pm_set_config, append_mode, .object = pm->object, .config_size = pm->config_size,
                   .config = pm->config, .hardware_buffer_size = HARDWARE_BUFFER_BYTES,
                   .append_mode = JM_PM_KEEP_OLDEST);
    int result = JM_CUPTI_INVALID_PARAMETER;
    for (int attempt = 0; attempt < 4 && result != JM_CUPTI_SUCCESS; attempt++) {
        bool cycles = attempt % 2 == 1 || pm->chip.interval_ns == 0;
        set.trigger = cycles ? JM_PM_TRIGGER_CYCLES : JM_PM_TRIGGER_TIME;
        set.interval = (uint64_t)(!cycles                        ? pm->chip.interval_ns
                                  : pm->chip.interval_cycles > 0 ? pm->chip.interval_cycles
                                                                 : CYCLES_A_MS);
        if (attempt == 2) set.size = offsetof(jm__pm_set_config, append_mode);
        result = CALL(pm, cuptiPmSamplingSetConfig, &set);
    }
    return result;
}

static bool enable(jm__pm *pm, jm__pm_error *fault)
{
    jm__pm_enable_params taken = JM_PM_INIT(jm__pm_enable_params, object, .device = pm->device);
    if (pm->object != NULL) return true;
    TRY(pm, cuptiPmSamplingEnable, &taken, fault);
    pm->object = taken.object;
    int result = set_config(pm);
    if (result != JM_CUPTI_SUCCESS) return fail(pm, fault, result, "cuptiPmSamplingSetConfig");
    jm__pm_data_size size =
        JM_PM_INIT(jm__pm_data_size, data_size, .object = pm->object, .metrics = pm->names,
                   .metric_count = pm->chip.metric_count, .samples_max = JM_PM_IMAGE_SAMPLES);
    TRY(pm, cuptiPmSamplingGetCounterDataSize, &size, fault);
    if (pm->image_size > 0 && size.data_size > pm->image_size)
        return jm__pm_fail(fault, "", "its images have grown from %zu to %zu bytes", pm->image_size,
                           size.data_size);
    if (pm->image_size == 0) pm->image_size = size.data_size;
    return true;
}

void jm__pm_disable(jm__pm *pm)
{
    jm__pm_do disable = JM_PM_INIT(jm__pm_do, object, .object = pm->object);
    if (pm->object != NULL && pm->library->cuptiPmSamplingDisable != NULL)
        (void)CALL(pm, cuptiPmSamplingDisable, &disable);
    pm->object = NULL;
}

bool jm__pm_start(jm__pm *pm, jm__pm_error *fault)
{
    if (!enable(pm, fault)) return false;
    jm__pm_do start = JM_PM_INIT(jm__pm_do, object, .object = pm->object);
    TRY(pm, cuptiPmSamplingStart, &start, fault);
    return true;
}

bool jm__pm_stop(jm__pm *pm, jm__pm_error *fault)
{
    jm__pm_do stop = JM_PM_INIT(jm__pm_do, object, .object = pm->object);
    TRY(pm, cuptiPmSamplingStop, &stop, fault);
    return true;
}

uint8_t *jm__pm_image_make(const jm__pm *pm)
{
    return malloc(pm->image_size > 0 ? pm->image_size : 1);
}

bool jm__pm_decode(jm__pm *pm, jm__pm_image *image, jm__pm_error *fault)
{
    jm__pm_data_initialize clear = JM_PM_INIT(jm__pm_data_initialize, data, .object = pm->object,
                                              .data_size = pm->image_size, .data = image->data);
    jm__pm_decode_params decode = JM_PM_INIT(jm__pm_decode_params, overflow, .object = pm->object,
                                             .data = image->data, .data_size = pm->image_size);
    jm__pm_data_info info =
        JM_PM_INIT(jm__pm_data_info, completed, .data = image->data, .data_size = pm->image_size);
    TRY(pm, cuptiPmSamplingCounterDataImageInitialize, &clear, fault);
    image->anchor = jm__anchor_take();
    int result = CALL(pm, cuptiPmSamplingDecodeData, &decode);
    image->overflow = decode.overflow != 0 || result == JM_CUPTI_OUT_OF_MEMORY;
    if (result != JM_CUPTI_SUCCESS && !image->overflow)
        return fail(pm, fault, result, "cuptiPmSamplingDecodeData");
    TRY(pm, cuptiPmSamplingGetCounterDataInfo, &info, fault);
    image->samples = info.completed < JM_PM_IMAGE_SAMPLES ? info.completed : JM_PM_IMAGE_SAMPLES;
    image->full = decode.stop_reason == JM_PM_DECODE_IMAGE_FULL && image->samples > 0;
    return true;
}

bool jm__pm_sample(const jm__pm *pm, const jm__pm_image *image, size_t index, jm__counter_sample *sample)
{
    jm__pm_sample_info info = JM_PM_INIT(jm__pm_sample_info, end, .object = pm->object, .data = image->data,
                                         .data_size = pm->image_size, .sample = index);
    jm__pm_evaluate evaluate = JM_PM_INIT(jm__pm_evaluate, values, .host = pm->host, .data = image->data,
                                          .data_size = pm->image_size, .sample = index, .metrics = pm->names,
                                          .metric_count = pm->chip.metric_count, .values = sample->values);
    if (CALL(pm, cuptiPmSamplingCounterDataGetSampleInfo, &info) != JM_CUPTI_SUCCESS) return false;
    if (info.start == 0 || info.end <= info.start || info.end - info.start > SAMPLE_MAX_NS) return false;
    if (CALL(pm, cuptiProfilerHostEvaluateToGpuValues, &evaluate) != JM_CUPTI_SUCCESS) return false;
    int64_t behind_ns = image->anchor.realtime_ns - image->anchor.monotonic_ns;
    sample->start_ns = (int64_t)info.start - behind_ns;
    sample->end_ns = (int64_t)info.end - behind_ns;
    return true;
}
