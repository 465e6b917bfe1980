/* The four calls of libcuda that find a board. */
#include "record/counters/process/cuda.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct cuda_calls {
    int (*cuInit)(unsigned flags);
    int (*cuDeviceGetCount)(int *count);
    int (*cuDeviceGet)(int *device, int ordinal);
    int (*cuDeviceGetUuid)(unsigned char uuid[16], int device);
} cuda_calls;

static const char no_driver[] = "install the NVIDIA driver";

static bool load(cuda_calls *calls, jm__pm_fault *fault)
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

bool jm__pm_find_device(size_t *device, const char *uuid, jm__pm_fault *fault)
{
    cuda_calls cuda;
    unsigned char wanted[16], own[16];
    int count = 0, handle, code;
    fault->settled = true;
    if (!load(&cuda, fault)) return false;
    if (!read_uuid(wanted, uuid)) return jm__pm_fail(fault, "", "%.100s is no UUID of a board", uuid);
    if ((code = cuda.cuInit(0)) != 0 || (code = cuda.cuDeviceGetCount(&count)) != 0)
        return jm__pm_fail(fault, "`nvidia-smi` should work first", "CUDA does not start: error %d", code);
    for (int i = 0; i < count; i++) {
        if (cuda.cuDeviceGet(&handle, i) != 0 || cuda.cuDeviceGetUuid(own, handle) != 0) continue;
        if (memcmp(own, wanted, sizeof own) != 0) continue;
        *device = (size_t)i;
        return true;
    }
    return jm__pm_fail(fault, "", "CUDA does not know the board %.100s", uuid);
}
