/* Work for the simulated board as libcuda's own calls give it: memory without content, modules of anything,
 * and launches that take a while, one behind the other, whatever they are. What the board draws meanwhile
 * follows from spans, as ever (README.md). One context, one stream. */
#include "cuda_abi.h"
#include "cuda_stand_in.h"
#include "nvml_abi.h"
#include "shared.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define LAUNCH_NS INT64_C(200000)

enum {
    MULTIPROCESSOR_COUNT = 16,
    CAPABILITY_MAJOR = 75,
    CAPABILITY_MINOR = 76,
    MULTIPROCESSORS = 132,
    EVENTS_MAX = 64
};

typedef struct sim_object {
    int64_t t_ns; /* of an event: when what was launched before it ends */
} sim_object;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t busy_until_ns; /* lock held */
static uint64_t taken_bytes;  /* likewise */
static sim_object events[EVENTS_MAX];
static size_t event_count; /* likewise */
static sim_object any;     /* a context, a stream, a module, a function */

/* When the stream has nothing left to do, after `longer_ns` more of work. */
static int64_t end_of_work(int64_t longer_ns)
{
    pthread_mutex_lock(&lock);
    const int64_t now_ns = sim_monotonic_ns();
    if (busy_until_ns < now_ns) busy_until_ns = now_ns;
    busy_until_ns += longer_ns;
    const int64_t end_ns = busy_until_ns;
    pthread_mutex_unlock(&lock);
    return end_ns;
}

/* A call that gives any object. */
static int give(const char *call, sim_object **to)
{
    if (to == NULL) return SIM_CUDA_INVALID_VALUE;
    *to = &any;
    return sim_cuda_check(call);
}

SIM_EXPORT int cuDeviceGetName(char *name, int size, int device);
int cuDeviceGetName(char *name, int size, int device)
{
    int result = sim_cuda_check(__func__);
    const sim_profile *board = sim_cuda_board(device);
    if (result != SIM_CUDA_SUCCESS) return result;
    if (board == NULL) return SIM_CUDA_INVALID_DEVICE;
    if (name == NULL || size <= 0) return SIM_CUDA_INVALID_VALUE;
    snprintf(name, (size_t)size, "%s", board->name);
    return SIM_CUDA_SUCCESS;
}

SIM_EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    int result = sim_cuda_check(__func__);
    const sim_profile *board = sim_cuda_board(device);
    if (result != SIM_CUDA_SUCCESS) return result;
    if (board == NULL) return SIM_CUDA_INVALID_DEVICE;
    if (value == NULL) return SIM_CUDA_INVALID_VALUE;
    *value = attribute == MULTIPROCESSOR_COUNT ? MULTIPROCESSORS
             : attribute == CAPABILITY_MAJOR   ? board->cc_major
             : attribute == CAPABILITY_MINOR   ? board->cc_minor
                                               : 0;
    return SIM_CUDA_SUCCESS;
}

SIM_EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    int result = sim_cuda_check(__func__);
    const sim_profile *board = sim_cuda_board(device);
    if (result != SIM_CUDA_SUCCESS) return result;
    if (board == NULL) return SIM_CUDA_INVALID_DEVICE;
    if (bytes == NULL) return SIM_CUDA_INVALID_VALUE;
    *bytes = (size_t)board->memory_bytes;
    return SIM_CUDA_SUCCESS;
}

SIM_EXPORT int cuDevicePrimaryCtxRetain(sim_object **context, int device);
int cuDevicePrimaryCtxRetain(sim_object **context, int device)
{
    if (sim_cuda_board(device) == NULL) return SIM_CUDA_INVALID_DEVICE;
    return give(__func__, context);
}

SIM_EXPORT int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    pthread_mutex_lock(&lock);
    taken_bytes = 0;
    pthread_mutex_unlock(&lock);
    return sim_cuda_check(__func__);
}

SIM_EXPORT int cuCtxSetCurrent(sim_object *context);
int cuCtxSetCurrent(sim_object *context)
{
    (void)context;
    return sim_cuda_check(__func__);
}

SIM_EXPORT int cuStreamCreate(sim_object **stream, unsigned flags);
int cuStreamCreate(sim_object **stream, unsigned flags)
{
    (void)flags;
    return give(__func__, stream);
}

SIM_EXPORT int cuStreamSynchronize(sim_object *stream);
int cuStreamSynchronize(sim_object *stream)
{
    (void)stream;
    int result = sim_cuda_check(__func__);
    if (result != SIM_CUDA_SUCCESS) return result;
    const int64_t end_ns = end_of_work(0);
    const struct timespec end = {(time_t)(end_ns / 1000000000), (long)(end_ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {
    }
    return SIM_CUDA_SUCCESS;
}

SIM_EXPORT int cuEventCreate(sim_object **event, unsigned flags);
int cuEventCreate(sim_object **event, unsigned flags)
{
    (void)flags;
    if (event == NULL) return SIM_CUDA_INVALID_VALUE;
    int result = sim_cuda_check(__func__);
    if (result != SIM_CUDA_SUCCESS) return result;
    pthread_mutex_lock(&lock);
    *event = event_count < EVENTS_MAX ? &events[event_count++] : NULL; /* as long as the process */
    pthread_mutex_unlock(&lock);
    return *event != NULL ? SIM_CUDA_SUCCESS : SIM_CUDA_OUT_OF_MEMORY;
}

SIM_EXPORT int cuEventRecord(sim_object *event, sim_object *stream);
int cuEventRecord(sim_object *event, sim_object *stream)
{
    (void)stream;
    if (event == NULL) return SIM_CUDA_INVALID_VALUE;
    event->t_ns = end_of_work(0);
    return sim_cuda_check(__func__);
}

SIM_EXPORT int cuEventElapsedTime(float *ms, const sim_object *from, const sim_object *to);
int cuEventElapsedTime(float *ms, const sim_object *from, const sim_object *to)
{
    if (ms == NULL || from == NULL || to == NULL) return SIM_CUDA_INVALID_VALUE;
    *ms = (float)((double)(to->t_ns - from->t_ns) / 1e6);
    return sim_cuda_check(__func__);
}

SIM_EXPORT int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    const sim_profile *board = sim_cuda_board(0);
    int result = sim_cuda_check("cuMemAlloc");
    if (result != SIM_CUDA_SUCCESS) return result;
    if (address == NULL || bytes == 0) return SIM_CUDA_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    if (taken_bytes + bytes > board->memory_bytes) {
        result = SIM_CUDA_OUT_OF_MEMORY;
    } else {
        *address = 256 + taken_bytes;
        taken_bytes += bytes;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

SIM_EXPORT int cuModuleLoadData(sim_object **module, const void *image);
int cuModuleLoadData(sim_object **module, const void *image)
{
    return image != NULL ? give(__func__, module) : SIM_CUDA_INVALID_VALUE;
}

SIM_EXPORT int cuModuleGetFunction(sim_object **function, sim_object *module, const char *name);
int cuModuleGetFunction(sim_object **function, sim_object *module, const char *name)
{
    return module != NULL && name != NULL ? give(__func__, function) : SIM_CUDA_INVALID_VALUE;
}

SIM_EXPORT int cuFuncSetAttribute(sim_object *function, int attribute, int value);
int cuFuncSetAttribute(sim_object *function, int attribute, int value)
{
    (void)attribute;
    (void)value;
    return function != NULL ? sim_cuda_check(__func__) : SIM_CUDA_INVALID_VALUE;
}

SIM_EXPORT int cuLaunchKernel(sim_object *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                              sim_object *stream, void **arguments, void **extra);
int cuLaunchKernel(sim_object *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, sim_object *stream,
                   void **arguments, void **extra)
{
    (void)shared_bytes;
    (void)stream;
    (void)extra;
    if (function == NULL || arguments == NULL || grid_x * grid_y * grid_z == 0 ||
        block_x * block_y * block_z == 0 || block_x * block_y * block_z > 1024)
        return SIM_CUDA_INVALID_VALUE;
    int result = sim_cuda_check(__func__);
    if (result == SIM_CUDA_SUCCESS) end_of_work(LAUNCH_NS);
    return result;
}

SIM_EXPORT int cuProfilerStart(void);
int cuProfilerStart(void)
{
    return sim_cuda_check(__func__);
}

SIM_EXPORT int cuProfilerStop(void);
int cuProfilerStop(void)
{
    return sim_cuda_check(__func__);
}

static const struct {
    int number;
    const char *name;
} errors[] = {
#define X(number, name) {number, "CUDA_ERROR_" #name},
    SIM_CUDA_ERROR_MAP(X)
#undef X
};

SIM_EXPORT int cuGetErrorName(int error, const char **name);
int cuGetErrorName(int error, const char **name)
{
    if (name == NULL) return SIM_CUDA_INVALID_VALUE;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (errors[i].number != error) continue;
        *name = errors[i].name;
        return SIM_CUDA_SUCCESS;
    }
    *name = NULL;
    return SIM_CUDA_INVALID_VALUE;
}

SIM_EXPORT int cuGetErrorString(int error, const char **text);
int cuGetErrorString(int error, const char **text)
{
    int result = cuGetErrorName(error, text);
    if (result == SIM_CUDA_SUCCESS) *text = "simulated";
    return result;
}
