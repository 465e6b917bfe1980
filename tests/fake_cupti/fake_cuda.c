/* A libcuda.so.1 that knows which boards there are: the second one as a MIG instance. FAKE_CUDA_UUID: there
 * is one board, of this UUID ("GPU-..."). What is launched on it does nothing. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
EXPORT int cuInit(unsigned flags);
EXPORT int cuDriverGetVersion(int *version);
EXPORT void fake_cuda_listen(void (*heard)(const char *call));
EXPORT int cuDeviceGetCount(int *count);
EXPORT int cuDeviceGet(int *device, int ordinal);
EXPORT int cuDeviceGetUuid(unsigned char *uuid, int device);
EXPORT int cuDeviceGetUuid_v2(unsigned char *uuid, int device);
EXPORT int cuDevicePrimaryCtxRetain(void **context, int device);
EXPORT int cuCtxSetCurrent(void *context);
EXPORT int cuStreamCreate(void **stream, unsigned flags);
EXPORT int cuStreamSynchronize(void *stream);
EXPORT int cuModuleLoadData(void **module, const void *image);
EXPORT int cuModuleGetFunction(void **function, void *module, const char *name);
EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream,
                          void **arguments, void **extra);

enum { INVALID_DEVICE = 101 };

/* 0 if it is told. */
static int fill_as_told(unsigned char *uuid, int device)
{
    const char *text = getenv("FAKE_CUDA_UUID");
    if (text == NULL || device != 0) return INVALID_DEVICE;
    text += strlen("GPU-");
    for (unsigned i = 0; i < 16; i++, text += 2) {
        unsigned value;
        text += *text == '-';
        if (sscanf(text, "%2x", &value) != 1) return INVALID_DEVICE;
        uuid[i] = (unsigned char)value;
    }
    return 0;
}

static int fill(unsigned char *uuid, int device, unsigned first)
{
    if (getenv("FAKE_CUDA_UUID") != NULL) return fill_as_told(uuid, device);
    if (device < 0 || device > 1) return INVALID_DEVICE;
    for (unsigned i = 0; i < 16; i++)
        uuid[i] = (unsigned char)(first + (unsigned)device * 0x10 + i);
    return 0;
}

/* What the fake libcupti has in place of CUPTI's own way into the driver. */
static void (*listener)(const char *call);

void fake_cuda_listen(void (*heard)(const char *call))
{
    listener = heard;
}

int cuDriverGetVersion(int *version)
{
    *version = 13000;
    if (listener != NULL) listener("cuDriverGetVersion");
    return 0;
}

int cuInit(unsigned flags)
{
    return flags == 0 ? 0 : 1;
}

int cuDeviceGetCount(int *count)
{
    *count = getenv("FAKE_CUDA_UUID") != NULL ? 1 : 2;
    return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return 0;
}

int cuDeviceGetUuid(unsigned char *uuid, int device)
{
    return fill(uuid, device, 0x10);
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
    return fill(uuid, device, device == 1 ? 0x40 : 0x10);
}

/* ---- launches */

static int any; /* a context, a stream, a module, a function */

static int give(void **to)
{
    *to = &any;
    return 0;
}

static int take(const void *object)
{
    return object == &any ? 0 : 1;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
    return device == 0 ? give(context) : INVALID_DEVICE;
}

int cuCtxSetCurrent(void *context)
{
    return take(context);
}

int cuStreamCreate(void **stream, unsigned flags)
{
    (void)flags;
    return give(stream);
}

int cuStreamSynchronize(void *stream)
{
    return take(stream);
}

int cuModuleLoadData(void **module, const void *image)
{
    (void)image;
    return give(module);
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    (void)name;
    return take(module) == 0 ? give(function) : 1;
}

int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **arguments,
                   void **extra)
{
    (void)shared_bytes;
    (void)arguments;
    (void)extra;
    const bool empty = grid_x * grid_y * grid_z == 0 || block_x * block_y * block_z == 0;
    return empty || take(function) != 0 ? 1 : take(stream);
}
