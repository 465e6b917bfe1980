/* A libcuda.so.1 that knows which boards there are: the second one as a MIG instance. */
__attribute__((visibility("default"))) int cuDeviceGetUuid(unsigned char *uuid, int device);
__attribute__((visibility("default"))) int cuDeviceGetUuid_v2(unsigned char *uuid, int device);

static int fill(unsigned char *uuid, int device, unsigned first)
{
    if (device < 0 || device > 1) return 101; /* CUDA_ERROR_INVALID_DEVICE */
    for (unsigned i = 0; i < 16; i++)
        uuid[i] = (unsigned char)(first + (unsigned)device * 0x10 + i);
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
