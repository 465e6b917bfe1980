/* Loading libcuda, starting a GPU, telling what failed. */
#include "suite/driver.h"

#include "suite/fault.h"
#include "suite/libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Of CUdevice_attribute. */
enum { MULTIPROCESSORS = 16, CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 };

/* Of CUresult. */
static const struct {
    int code;
    jm_status status;
    const char *hint;
} known[] = {
    {2, JM_NO_MEMORY, "end what else uses the GPU"},
    {46, JM_BUSY, "another process has the GPU for itself (compute mode EXCLUSIVE_PROCESS): end it"},
    {100, JM_NO_DEVICE, "CUDA_VISIBLE_DEVICES may hide it; `joulemap doctor` may tell more"},
    {101, JM_NO_DEVICE, "CUDA_VISIBLE_DEVICES may name one that is not there"},
    {201, JM_BUSY, "another process may have the GPU for itself"},
    {214, JM_DEVICE_LOST, "check `dmesg` for Xid messages; the GPU may need a reset"},
    {701, JM_NOT_SUPPORTED, ""}, /* a kernel asks for more than a multiprocessor has */
    {719, JM_DEVICE_LOST, "check `dmesg` for Xid messages; the GPU may need a reset"},
    {800, JM_NO_PERMISSION, "this user may not use the GPU: look at /dev/nvidia*"},
    {802, JM_BUSY, "the system is not ready yet: is nvidia-fabricmanager running?"},
    {803, JM_NOT_SUPPORTED,
     "driver and libcuda.so.1 are of different versions: reboot, or install one of them"},
    {804, JM_NOT_SUPPORTED, "leave out the compatibility libcuda, or install a newer driver"},
};

jm_status suite_driver_fail(const suite_driver *driver, int code, const char *call, const char *what,
                            jm_error *err)
{
    const char *name = NULL, *text = NULL;
    jm_status status = JM_INTERNAL;
    const char *hint = "";
    if (driver->cuGetErrorName(code, &name) != 0 || name == NULL) name = "unknown error";
    if (driver->cuGetErrorString(code, &text) != 0 || text == NULL) text = "";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].code != code) continue;
        status = known[i].status;
        hint = known[i].hint;
    }
    suite_fail(err, status, hint, "%s: %s returned %s (%d)%s%s", what, call, name, code,
               text[0] != '\0' ? ", " : "", text);
    if (err != NULL) {
        err->code = code;
        snprintf(err->call, sizeof err->call, "%s", call);
    }
    return status;
}

static jm_status resolve(suite_driver *driver, bool simulated, jm_error *err)
{
    char path[SUITE_PATH];
    const struct {
        const char *symbol;
        void *slot;
    } table[] = {
#define X(symbol, arguments) {#symbol, &driver->symbol},
        SUITE_CUDA_MAP(X)
#undef X
    };
    suite_libcuda_path(path, sizeof path, simulated);
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL)
        return suite_fail(err, JM_NOT_SUPPORTED, "install the NVIDIA driver", "CUDA could not be loaded (%s)",
                          dlerror());
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *address = dlsym(library, table[i].symbol);
        if (address == NULL)
            return suite_fail(err, JM_NOT_SUPPORTED, "install a driver of CUDA 11.2 or newer", "%s lacks %s",
                              path, table[i].symbol);
        memcpy(table[i].slot, &address, sizeof address);
    }
    return JM_OK;
}

jm_status suite_driver_load(suite_driver *driver, bool simulated, jm_error *err)
{
    static const char no_start[] = "CUDA does not start", no_gpu[] = "CUDA shows no GPU";
    int code, count = 0, major = 0, minor = 0;
    size_t bytes = 0;
    *driver = (suite_driver){0};
    SUITE_TRY(resolve(driver, simulated, err));
    if ((code = driver->cuInit(0)) != 0) return suite_driver_fail(driver, code, "cuInit", no_start, err);
    if ((code = driver->cuDriverGetVersion(&driver->version)) != 0)
        return suite_driver_fail(driver, code, "cuDriverGetVersion", no_start, err);
    if ((code = driver->cuDeviceGetCount(&count)) != 0 ||
        (code = driver->cuDeviceGet(&driver->device, 0)) != 0)
        return suite_driver_fail(driver, code, "cuDeviceGet", no_gpu, err);
    const int device = driver->device;
    if ((code = driver->cuDeviceGetAttribute(&major, CAPABILITY_MAJOR, device)) != 0 ||
        (code = driver->cuDeviceGetAttribute(&minor, CAPABILITY_MINOR, device)) != 0 ||
        (code = driver->cuDeviceGetAttribute(&driver->multiprocessors, MULTIPROCESSORS, device)) != 0)
        return suite_driver_fail(driver, code, "cuDeviceGetAttribute", no_gpu, err);
    if ((code = driver->cuDeviceTotalMem_v2(&bytes, device)) != 0 ||
        (code = driver->cuDeviceGetName(driver->name, sizeof driver->name, device)) != 0)
        return suite_driver_fail(driver, code, "cuDeviceGetName", no_gpu, err);
    driver->capability = 10 * major + minor;
    driver->memory_bytes = bytes;
    return JM_OK;
}

jm_status suite_driver_start(suite_driver *driver, jm_error *err)
{
    static const char what[] = "the GPU does not start";
    enum { NON_BLOCKING = 1 };
    suite_cuda_handle context = NULL;
    int code;
    if ((code = driver->cuDevicePrimaryCtxRetain(&context, driver->device)) != 0)
        return suite_driver_fail(driver, code, "cuDevicePrimaryCtxRetain", what, err);
    if ((code = driver->cuCtxSetCurrent(context)) != 0)
        return suite_driver_fail(driver, code, "cuCtxSetCurrent", what, err);
    if ((code = driver->cuStreamCreate(&driver->stream, NON_BLOCKING)) != 0)
        return suite_driver_fail(driver, code, "cuStreamCreate", what, err);
    if ((code = driver->cuEventCreate(&driver->begin, 0)) != 0 ||
        (code = driver->cuEventCreate(&driver->end, 0)) != 0)
        return suite_driver_fail(driver, code, "cuEventCreate", what, err);
    return JM_OK;
}

void suite_driver_stop(suite_driver *driver)
{
    if (driver->stream == NULL) return;
    driver->cuCtxSetCurrent(NULL);
    driver->cuDevicePrimaryCtxRelease_v2(driver->device); /* all of it goes with it */
    driver->stream = NULL;
}

jm_status suite_driver_take(suite_driver *driver, uint64_t bytes, suite_address *address, jm_error *err)
{
    int code = driver->cuMemAlloc_v2(address, (size_t)bytes);
    if (code != 0) return suite_driver_fail(driver, code, "cuMemAlloc", "no memory for a kernel's data", err);
    driver->taken_bytes += bytes;
    return JM_OK;
}
