/* A libcuda.so.1 that knows which boards there are: the second one as a MIG instance. FAKE_CUDA_UUID: there
 * is one board, of this UUID ("GPU-..."). */
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
