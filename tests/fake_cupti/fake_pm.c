/* The PM sampling of the fake libcupti: scripted counters, and whatever can go wrong.
 *
 * Sample i of a start begins i ms after it and lasts one; its metric k is 1000 i + k. Environment:
 *
 *     FAKE_PM_CHIP=GH100          what the board's chip is called (default GH100)
 *     FAKE_PM_ERROR=CALL=CODE     that call fails so
 *     FAKE_PM_HANG=CALL           that call never returns
 *     FAKE_PM_CRASH=CALL          that call ends the process
 *     FAKE_PM_METRICS=N           so many metrics fit one pass (default: all)
 *     FAKE_PM_UNKNOWN=TEXT        metrics with this text in their name are not known
 *     FAKE_PM_OVERFLOW=N          at the n-th decode the buffer was full
 *     FAKE_PM_TAKEN=N             after a first time, another tool has the board for the next N
 *     FAKE_PM_NO_TIME=1           the chip counts cycles alone
 */
#include "record/cupti/pm_abi.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000
enum { CUPTI_UNKNOWN = 999 };

static struct {
    bool initialised, enabled, configured, sampling;
    bool full;                        /* its buffer was; only another object starts again */
    uint64_t started_ns, given, made; /* samples given out; made at the stop, 0: it goes on */
    uint64_t decodes, enables;
    size_t metrics;      /* of the configuration */
    uint32_t image_most; /* samples of an image */
} board;

struct jm__pm_host_ {
    size_t metrics;
};

/* An image as we lay it down. */
typedef struct image {
    uint64_t first, count;
} image;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_told(const char *variable, const char *call)
{
    const char *value = getenv(variable);
    return value != NULL && strncmp(value, call, strcspn(value, "=")) == 0 && value[0] != '\0' &&
           strlen(call) == strcspn(value, "=");
}

static int number_of(const char *variable, int otherwise)
{
    const char *value = getenv(variable);
    return value == NULL ? otherwise : atoi(value);
}

/* What every call does first. */
static int begin(const char *call, size_t given, size_t wanted)
{
    if (is_told("FAKE_PM_HANG", call))
        for (;;)
            pause();
    if (is_told("FAKE_PM_CRASH", call)) raise(SIGKILL);
    if (is_told("FAKE_PM_ERROR", call)) return atoi(strchr(getenv("FAKE_PM_ERROR"), '=') + 1);
    return given == wanted ? JM_CUPTI_SUCCESS : JM_CUPTI_INVALID_PARAMETER;
}

#define FAKE(symbol, type, last)                                                                             \
    __attribute__((visibility("default"))) int symbol(type *p);                                              \
    static int do_##symbol(type *p);                                                                         \
    int symbol(type *p)                                                                                      \
    {                                                                                                        \
        int result = begin(#symbol, p->size, offsetof(type, last) + sizeof p->last);                         \
        return result == JM_CUPTI_SUCCESS ? do_##symbol(p) : result;                                         \
    }                                                                                                        \
    static int do_##symbol(type *p)

FAKE(cuptiProfilerInitialize, jm__pm_initialize, reserved)
{
    board.initialised = p->reserved == NULL;
    return JM_CUPTI_SUCCESS;
}

FAKE(cuptiDeviceGetChipName, jm__pm_chip_name, name)
{
    const char *name = getenv("FAKE_PM_CHIP");
    p->name = name != NULL ? name : "GH100";
    return board.initialised ? JM_CUPTI_SUCCESS : JM_CUPTI_INVALID_OPERATION;
}

FAKE(cuptiPmSamplingGetCounterAvailability, jm__pm_availability, image)
{
    if (p->image != NULL) memset(p->image, 1, p->image_size);
    p->image_size = 64;
    return JM_CUPTI_SUCCESS;
}

FAKE(cuptiProfilerHostInitialize, jm__pm_host_initialize, host)
{
    if (p->profiler_type != JM_PM_PROFILER_TYPE || p->availability == NULL || p->chip == NULL)
        return JM_CUPTI_INVALID_PARAMETER;
    p->host = calloc(1, sizeof *p->host);
    return p->host != NULL ? JM_CUPTI_SUCCESS : JM_CUPTI_OUT_OF_MEMORY;
}

FAKE(cuptiProfilerHostDeinitialize, jm__pm_host_deinitialize, host)
{
    free(p->host);
    return JM_CUPTI_SUCCESS;
}

FAKE(cuptiProfilerHostConfigAddMetrics, jm__pm_add_metrics, metric_count)
{
    const char *unknown = getenv("FAKE_PM_UNKNOWN");
    for (size_t i = 0; i < p->metric_count; i++)
        if (unknown != NULL && strstr(p->metrics[i], unknown) != NULL) return JM_CUPTI_INVALID_METRIC_NAME;
    p->host->metrics += p->metric_count;
    return JM_CUPTI_SUCCESS;
}

FAKE(cuptiProfilerHostGetConfigImageSize, jm__pm_config_size, config_size)
{
    p->config_size = sizeof(size_t);
    return JM_CUPTI_SUCCESS;
}

FAKE(cuptiProfilerHostGetConfigImage, jm__pm_config, config)
{
    memcpy(p->config, &p->host->metrics, sizeof p->host->metrics);
    return JM_CUPTI_SUCCESS;
}

FAKE(cuptiProfilerHostGetNumOfPasses, jm__pm_passes, passes)
{
    size_t metrics;
    memcpy(&metrics, p->config, sizeof metrics);
    p->passes = metrics > (size_t)number_of("FAKE_PM_METRICS", 1000) ? 2 : 1;
    return JM_CUPTI_SUCCESS;
}

FAKE(cuptiPmSamplingEnable, jm__pm_enable_params, object)
{
    if (board.enabled) return JM_CUPTI_INVALID_OPERATION;
    if (board.enables > 0 && board.enables <= (uint64_t)number_of("FAKE_PM_TAKEN", 0)) {
        board.enables++;
        return JM_CUPTI_HARDWARE_BUSY;
    }
    board.enables++;
    board.enabled = true;
    board.full = false;
    p->object = (void *)&board;
    return JM_CUPTI_SUCCESS;
}

FAKE(cuptiPmSamplingDisable, jm__pm_do, object)
{
    board.enabled = false;
    return p->object == (void *)&board ? JM_CUPTI_SUCCESS : JM_CUPTI_INVALID_PARAMETER;
}

FAKE(cuptiPmSamplingSetConfig, jm__pm_set_config, append_mode)
{
    if (p->trigger == JM_PM_TRIGGER_TIME && getenv("FAKE_PM_NO_TIME") != NULL) return JM_CUPTI_NOT_SUPPORTED;
    if (p->trigger == JM_PM_TRIGGER_TIME && p->interval != MS) return JM_CUPTI_INVALID_PARAMETER;
    memcpy(&board.metrics, p->config, sizeof board.metrics);
    board.configured = board.enabled && p->hardware_buffer_size > 0;
    return board.configured ? JM_CUPTI_SUCCESS : JM_CUPTI_INVALID_OPERATION;
}

FAKE(cuptiPmSamplingGetCounterDataSize, jm__pm_data_size, data_size)
{
    board.image_most = p->samples_max;
    p->data_size = sizeof(image);
    return p->metric_count == board.metrics ? JM_CUPTI_SUCCESS : JM_CUPTI_INVALID_PARAMETER;
}

FAKE(cuptiPmSamplingCounterDataImageInitialize, jm__pm_data_initialize, data)
{
    memset(p->data, 0, p->data_size);
    return JM_CUPTI_SUCCESS;
}

FAKE(cuptiPmSamplingStart, jm__pm_do, object)
{
    if (!board.configured || board.sampling || p->object == NULL) return JM_CUPTI_INVALID_OPERATION;
    if (board.full) return CUPTI_UNKNOWN; /* as seen on an H100, driver 580 */
    board.sampling = true;
    board.started_ns = now_ns();
    board.given = board.made = 0;
    return JM_CUPTI_SUCCESS;
}

FAKE(cuptiPmSamplingStop, jm__pm_do, object)
{
    if (!board.sampling || p->object == NULL) return JM_CUPTI_INVALID_OPERATION;
    board.sampling = false;
    board.made = (now_ns() - board.started_ns) / MS;
    return JM_CUPTI_SUCCESS;
}

FAKE(cuptiPmSamplingDecodeData, jm__pm_decode_params, overflow)
{
    uint64_t made = board.sampling ? (now_ns() - board.started_ns) / MS : board.made;
    image decoded = {board.given, made - board.given};
    p->stop_reason = decoded.count > board.image_most ? JM_PM_DECODE_IMAGE_FULL : JM_PM_DECODE_ALL;
    if (decoded.count > board.image_most) decoded.count = board.image_most;
    board.given += decoded.count;
    memcpy(p->data, &decoded, sizeof decoded);
    board.decodes++;
    p->overflow = board.decodes == (uint64_t)number_of("FAKE_PM_OVERFLOW", 0);
    board.full = board.full || p->overflow;
    return JM_CUPTI_SUCCESS;
}

FAKE(cuptiPmSamplingGetCounterDataInfo, jm__pm_data_info, completed)
{
    image decoded;
    memcpy(&decoded, p->data, sizeof decoded);
    p->total = board.image_most;
    p->populated = p->completed = decoded.count;
    return JM_CUPTI_SUCCESS;
}

FAKE(cuptiPmSamplingCounterDataGetSampleInfo, jm__pm_sample_info, end)
{
    image decoded;
    memcpy(&decoded, p->data, sizeof decoded);
    if (p->sample >= decoded.count) return JM_CUPTI_INVALID_PARAMETER;
    p->start = board.started_ns + (decoded.first + p->sample) * MS;
    p->end = p->start + MS;
    return JM_CUPTI_SUCCESS;
}

FAKE(cuptiProfilerHostEvaluateToGpuValues, jm__pm_evaluate, values)
{
    image decoded;
    memcpy(&decoded, p->data, sizeof decoded);
    if (p->sample >= decoded.count || p->metric_count != board.metrics) return JM_CUPTI_INVALID_PARAMETER;
    for (size_t k = 0; k < p->metric_count; k++)
        p->values[k] = 1000.0 * (double)(decoded.first + p->sample) + (double)k;
    return JM_CUPTI_SUCCESS;
}
