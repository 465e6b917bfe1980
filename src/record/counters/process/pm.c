/* PM sampling by CUPTI's calls. */
#include "record/counters/process/pm.h"

#include "record/counters/chip.h"
#include "record/counters/helper.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool jm__pm_fail(jm__pm_error *error, const char *cure, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    snprintf(error->cure, sizeof error->cure, "%s", cure);
    return false;
}

/* ---- loading libcupti */

/* The name of the first required call that is missing or fails, or NULL. */
static const char *resolve(jm__pm_library *library, void *handle)
{
    int (*version)(uint32_t *);
    const struct {
        const char *symbol;
        void *slot;
        bool required;
    } calls[] = {{"cuptiGetVersion", &version, true},
                 {"cuptiGetResultString", &library->cuptiGetResultString, true},
#define X(symbol, type, last) {#symbol, &library->symbol, true},
                 JM_PM_MAP(X)
#undef X
#define X(symbol, type, last) {#symbol, &library->symbol, false},
                     JM_PM_OPTIONAL_MAP(X)
#undef X
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void *address = dlsym(handle, calls[i].symbol);
        if (address == NULL && calls[i].required) return calls[i].symbol;
        memcpy(calls[i].slot, &address, sizeof address);
    }
    return version(&library->version) == JM_CUPTI_SUCCESS ? NULL : calls[0].symbol;
}

static const char cure[] =
    "pip install nvidia-cuda-cupti, of CUDA 12.6 or newer, or name it in JOULEMAP_CUPTI";

static bool load(jm__pm_library *library, const char *path, jm__pm_error *error)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *library = (jm__pm_library){0};
    if (handle == NULL) { /* a bare name that the loader does not find is no error */
        if (path[0] != '/' || error->text[0] != '\0') return false;
        return jm__pm_fail(error, cure, "CUPTI could not be loaded (%.150s)", dlerror());
    }
    const char *missing = resolve(library, handle);
    if (missing == NULL) return true;
    dlclose(handle);
    return jm__pm_fail(error, cure, "%.110s lacks %s", path, missing);
}

/* Up to 12.9 the version counts releases (18: 12.1), since 13.0 it is xxyyzz: later versions are always
 * larger. */
static int newer_first(const void *left, const void *right)
{
    const jm__pm_library *a = left, *b = right;
    return (a->version < b->version) - (a->version > b->version);
}

bool jm__pm_libraries_load(jm__pm_libraries *all, char *const *paths, size_t count, jm__pm_error *error)
{
    *error = (jm__pm_error){0};
    all->count = 0;
    for (size_t i = 0; i < count && all->count < JM_CUPTI_CANDIDATES_MAX; i++)
        all->count += load(&all->items[all->count], paths[i], error);
    qsort(all->items, all->count, sizeof all->items[0], newer_first);
    if (all->count > 0) return true;
    return error->text[0] != '\0' ? false : jm__pm_fail(error, cure, "CUPTI was not found");
}

/* ---- finding the board by four calls of libcuda */

typedef struct cuda_calls {
    int (*cuInit)(unsigned flags);
    int (*cuDeviceGetCount)(int *count);
    int (*cuDeviceGet)(int *device, int ordinal);
    int (*cuDeviceGetUuid)(unsigned char uuid[16], int device);
} cuda_calls;

static const char no_driver[] = "install the NVIDIA driver";

static bool load_cuda(cuda_calls *calls, jm__pm_error *error)
{
    const char *override = getenv("JOULEMAP_CUDA");
    const char *path = override != NULL && override[0] != '\0' ? override : "libcuda.so.1";
    const struct {
        const char *symbol;
        void *slot;
    } symbols[] = {{"cuInit", &calls->cuInit},
                   {"cuDeviceGetCount", &calls->cuDeviceGetCount},
                   {"cuDeviceGet", &calls->cuDeviceGet},
                   {"cuDeviceGetUuid", &calls->cuDeviceGetUuid}};
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) return jm__pm_fail(error, no_driver, "CUDA could not be loaded (%.150s)", dlerror());
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = dlsym(library, symbols[i].symbol);
        if (address == NULL) return jm__pm_fail(error, no_driver, "%.100s lacks %s", path, symbols[i].symbol);
        memcpy(symbols[i].slot, &address, sizeof address);
    }
    return true;
}

/* The 16 bytes of "GPU-01234567-89ab-..."; false if the text is no such UUID. */
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

bool jm__pm_find_device(size_t *device, const char *uuid, jm__pm_error *error)
{
    cuda_calls cuda;
    unsigned char requested[16], own[16];
    int count = 0, handle, code;
    error->settled = true;
    if (!load_cuda(&cuda, error)) return false;
    if (!read_uuid(requested, uuid)) return jm__pm_fail(error, "", "%.100s is not a UUID of a board", uuid);
    if ((code = cuda.cuInit(0)) != 0 || (code = cuda.cuDeviceGetCount(&count)) != 0)
        return jm__pm_fail(error, "`nvidia-smi` should work first", "CUDA does not start: error %d", code);
    for (int i = 0; i < count; i++) {
        if (cuda.cuDeviceGet(&handle, i) != 0 || cuda.cuDeviceGetUuid(own, handle) != 0) continue;
        if (memcmp(own, requested, sizeof own) != 0) continue;
        *device = (size_t)i;
        return true;
    }
    return jm__pm_fail(error, "", "CUDA does not know the board %.100s", uuid);
}

/* ---- a board */

/* A choice: a quarter of the buffer of the first probe on an H100, which decoded five times as often.
 * Recordings count how often it was full. */
#define HARDWARE_BUFFER_BYTES ((size_t)128 << 20)
/* For chips that cannot sample by time: 1 ms of a system clock of 1.5 GHz. */
#define CYCLES_A_MS INT64_C(1500000)
/* No sample is longer than this; a stamp of 0 was never set. */
#define SAMPLE_MAX_NS (UINT64_C(1) * JM_NS_PER_S)

static bool fail(const jm__pm *pm, jm__pm_error *error, int result, const char *call)
{
    const char *text = NULL;
    error->settled = true;
    switch (result) {
    case JM_CUPTI_INSUFFICIENT_PRIVILEGES:
    case JM_CUPTI_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return jm__pm_fail(error, JM_COUNTERS_RIGHT_CURE, "this user may not read hardware counters");
    case JM_CUPTI_HARDWARE_BUSY:
        return jm__pm_fail(error, "end it, and record again",
                           "another tool (DCGM, Nsight) uses the board's counters");
    case JM_CUPTI_MIG_DEVICE_NOT_SUPPORTED:
        return jm__pm_fail(error, "", "the board is in MIG mode, where counters cannot be sampled");
    default:
        error->settled = false;
        if (pm->library->cuptiGetResultString(result, &text) != JM_CUPTI_SUCCESS || text == NULL)
            text = "no reason given";
        return jm__pm_fail(error, "", "%s: %.100s (%d)", call, text, result);
    }
}

#define TRY(pm, symbol, params, error)                                                                       \
    do {                                                                                                     \
        int result_ = (pm)->library->symbol(params);                                                         \
        if (result_ != JM_CUPTI_SUCCESS) return fail(pm, error, result_, #symbol);                           \
    } while (0)

static bool no_memory(jm__pm_error *error)
{
    return jm__pm_fail(error, "", "no memory for the sampler of counters");
}

/* ---- choosing */

static void host_free(jm__pm *pm)
{
    jm__pm_host_deinitialize end = JM_PM_INIT(jm__pm_host_deinitialize, host, .host = pm->host);
    if (pm->host != NULL && pm->library->cuptiProfilerHostDeinitialize != NULL)
        (void)pm->library->cuptiProfilerHostDeinitialize(&end);
    pm->host = NULL;
    free(pm->config);
    pm->config = NULL;
}

/* Makes a configuration of these counters in pm->host and pm->config. */
static bool configure(jm__pm *pm, const char *const *names, size_t count, jm__pm_error *error)
{
    host_free(pm);
    jm__pm_host_initialize host =
        JM_PM_INIT(jm__pm_host_initialize, host, .profiler_type = JM_PM_PROFILER_TYPE, .chip = pm->chip.name,
                   .availability = pm->availability);
    TRY(pm, cuptiProfilerHostInitialize, &host, error);
    pm->host = host.host;
    for (size_t i = 0; i < count; i++)
        pm->names[i] = names[i];
    jm__pm_add_metrics add = JM_PM_INIT(jm__pm_add_metrics, metric_count, .host = pm->host,
                                        .metrics = pm->names, .metric_count = count);
    TRY(pm, cuptiProfilerHostConfigAddMetrics, &add, error);
    jm__pm_config_size size = JM_PM_INIT(jm__pm_config_size, config_size, .host = pm->host);
    TRY(pm, cuptiProfilerHostGetConfigImageSize, &size, error);
    pm->config = malloc(size.config_size > 0 ? size.config_size : 1);
    pm->config_size = size.config_size;
    if (pm->config == NULL) return no_memory(error);
    jm__pm_config image = JM_PM_INIT(jm__pm_config, config, .host = pm->host, .config_size = pm->config_size,
                                     .config = pm->config);
    TRY(pm, cuptiProfilerHostGetConfigImage, &image, error);
    return true;
}

typedef struct fitting {
    jm__pm *pm;
    size_t configured;  /* number of counters in pm->config if they fit, else 0 */
    jm__pm_error error; /* of the last attempt that did not fit */
} fitting;

static bool fits(void *context, const char *const *names, size_t count)
{
    fitting *f = context;
    f->configured = 0;
    if (!configure(f->pm, names, count, &f->error)) return false;
    jm__pm_passes passes =
        JM_PM_INIT(jm__pm_passes, passes, .config_size = f->pm->config_size, .config = f->pm->config);
    if (f->pm->library->cuptiProfilerHostGetNumOfPasses(&passes) == JM_CUPTI_SUCCESS && passes.passes == 1)
        f->configured = count;
    return f->configured > 0;
}

/* Chooses from the chip's own list, or from the generic one if this CUPTI lacks all its counters. */
static size_t choose_from(jm__pm *pm, const char *list, const char *chip, fitting *f)
{
    jm_error err = {0};
    if (jm__chip_load(&pm->chip, list, &err) != JM_OK) {
        jm__pm_fail(&f->error, "", "%.190s", err.text);
        return 0;
    }
    snprintf(pm->chip.name, sizeof pm->chip.name, "%s", chip);
    return jm__chip_choose(&pm->chip, fits, f);
}

static bool choose(jm__pm *pm, const char *chip, jm__pm_error *error)
{
    fitting f = {.pm = pm};
    size_t count = choose_from(pm, chip, chip, &f);
    if (count == 0) count = choose_from(pm, "", chip, &f);
    if (count == 0) {
        if (f.error.text[0] == '\0')
            jm__pm_fail(&f.error, "", "none of the counters of this chip fit one pass");
        *error = f.error;
        return false;
    }
    for (size_t i = 0; i < count; i++)
        pm->names[i] = pm->chip.metrics[i].name; /* unchosen metrics were removed between them */
    if (f.configured == count) return true;      /* the last attempt fits exactly */
    return configure(pm, pm->names, count, error);
}

static bool query_availability(jm__pm *pm, jm__pm_error *error)
{
    jm__pm_availability query = JM_PM_INIT(jm__pm_availability, image, .device = pm->device);
    TRY(pm, cuptiPmSamplingGetCounterAvailability, &query, error);
    pm->availability = query.image = malloc(query.image_size > 0 ? query.image_size : 1);
    if (query.image == NULL) return no_memory(error);
    TRY(pm, cuptiPmSamplingGetCounterAvailability, &query, error);
    return true;
}

bool jm__pm_open(jm__pm *pm, const jm__pm_library *library, size_t device, jm__pm_error *error)
{
    *pm = (jm__pm){.library = library, .device = device};
    jm__pm_initialize initialize = JM_PM_INIT(jm__pm_initialize, reserved, .reserved = NULL);
    TRY(pm, cuptiProfilerInitialize, &initialize, error);
    jm__pm_chip_name name = JM_PM_INIT(jm__pm_chip_name, name, .device = device);
    TRY(pm, cuptiDeviceGetChipName, &name, error);
    pm->names = calloc(JM_COUNTER_METRICS_MAX, sizeof *pm->names);
    if (pm->names == NULL) return no_memory(error);
    return query_availability(pm, error) && choose(pm, name.name, error);
}

/* ---- sampling */

/* Newer CUPTIs need the last member, older ones may refuse a struct with it; not every chip samples by
 * time. */
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
        result = pm->library->cuptiPmSamplingSetConfig(&set);
    }
    return result;
}

static bool enable(jm__pm *pm, jm__pm_error *error)
{
    jm__pm_enable_params enabled = JM_PM_INIT(jm__pm_enable_params, object, .device = pm->device);
    if (pm->object != NULL) return true;
    TRY(pm, cuptiPmSamplingEnable, &enabled, error);
    pm->object = enabled.object;
    int result = set_config(pm);
    if (result != JM_CUPTI_SUCCESS) return fail(pm, error, result, "cuptiPmSamplingSetConfig");
    jm__pm_data_size size =
        JM_PM_INIT(jm__pm_data_size, data_size, .object = pm->object, .metrics = pm->names,
                   .metric_count = pm->chip.metric_count, .samples_max = JM_PM_IMAGE_SAMPLES);
    TRY(pm, cuptiPmSamplingGetCounterDataSize, &size, error);
    if (pm->image_size > 0 && size.data_size > pm->image_size)
        return jm__pm_fail(error, "", "its images have grown from %zu to %zu bytes", pm->image_size,
                           size.data_size);
    if (pm->image_size == 0) pm->image_size = size.data_size;
    return true;
}

void jm__pm_disable(jm__pm *pm)
{
    jm__pm_do disable = JM_PM_INIT(jm__pm_do, object, .object = pm->object);
    if (pm->object != NULL && pm->library->cuptiPmSamplingDisable != NULL)
        (void)pm->library->cuptiPmSamplingDisable(&disable);
    pm->object = NULL;
}

bool jm__pm_start(jm__pm *pm, jm__pm_error *error)
{
    if (!enable(pm, error)) return false;
    jm__pm_do start = JM_PM_INIT(jm__pm_do, object, .object = pm->object);
    TRY(pm, cuptiPmSamplingStart, &start, error);
    return true;
}

bool jm__pm_stop(jm__pm *pm, jm__pm_error *error)
{
    jm__pm_do stop = JM_PM_INIT(jm__pm_do, object, .object = pm->object);
    TRY(pm, cuptiPmSamplingStop, &stop, error);
    return true;
}

uint8_t *jm__pm_image_make(const jm__pm *pm)
{
    return malloc(pm->image_size > 0 ? pm->image_size : 1);
}

bool jm__pm_decode(jm__pm *pm, jm__pm_image *image, jm__pm_error *error)
{
    jm__pm_data_initialize clear = JM_PM_INIT(jm__pm_data_initialize, data, .object = pm->object,
                                              .data_size = pm->image_size, .data = image->data);
    jm__pm_decode_params decode = JM_PM_INIT(jm__pm_decode_params, overflow, .object = pm->object,
                                             .data = image->data, .data_size = pm->image_size);
    jm__pm_data_info info =
        JM_PM_INIT(jm__pm_data_info, completed, .data = image->data, .data_size = pm->image_size);
    TRY(pm, cuptiPmSamplingCounterDataImageInitialize, &clear, error);
    image->anchor = jm__anchor_take();
    int result = pm->library->cuptiPmSamplingDecodeData(&decode);
    image->overflow = decode.overflow != 0 || result == JM_CUPTI_OUT_OF_MEMORY;
    if (result != JM_CUPTI_SUCCESS && !image->overflow)
        return fail(pm, error, result, "cuptiPmSamplingDecodeData");
    TRY(pm, cuptiPmSamplingGetCounterDataInfo, &info, error);
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
    if (pm->library->cuptiPmSamplingCounterDataGetSampleInfo(&info) != JM_CUPTI_SUCCESS) return false;
    if (info.start == 0 || info.end <= info.start || info.end - info.start > SAMPLE_MAX_NS) return false;
    if (pm->library->cuptiProfilerHostEvaluateToGpuValues(&evaluate) != JM_CUPTI_SUCCESS) return false;
    int64_t behind_ns = image->anchor.realtime_ns - image->anchor.monotonic_ns;
    sample->start_ns = (int64_t)info.start - behind_ns;
    sample->end_ns = (int64_t)info.end - behind_ns;
    return true;
}
