/* A burst between two events. */
#include "suite/launch.h"

#include "suite/fault.h"

#include <stdio.h>

static int launch(const suite_driver *driver, const suite_call *call)
{
    suite_work work = call->work;
    void *arguments[] = {&work};
    return driver->cuLaunchKernel(call->function, call->blocks, 1, 1, SUITE_THREADS, 1, 1, call->shared_bytes,
                                  driver->stream, arguments, NULL);
}

jm_status suite_allow(const suite_driver *driver, const suite_call *call, const char *name, jm_error *err)
{
    enum { USUAL_BYTES = 48 << 10, MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };
    if (call->shared_bytes <= USUAL_BYTES) return JM_OK;
    if (driver->cuFuncSetAttribute(call->function, MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)call->shared_bytes) ==
        0)
        return JM_OK;
    return suite_fail(err, JM_NOT_SUPPORTED, "", "%s: no %u bytes of shared memory", name,
                      call->shared_bytes);
}

jm_status suite_play(const suite_driver *driver, const suite_call *call, const char *name, uint32_t calls,
                     double *seconds, jm_error *err)
{
    float ms = 0;
    const char *at = "cuEventRecord";
    int code = driver->cuEventRecord(driver->begin, driver->stream);
    for (uint32_t i = 0; i < calls && code == 0; i++) {
        at = "cuLaunchKernel";
        code = launch(driver, call);
    }
    if (code == 0) code = driver->cuEventRecord(driver->end, driver->stream);
    if (code == 0) {
        at = "cuStreamSynchronize";
        code = driver->cuStreamSynchronize(driver->stream);
    }
    if (code == 0) code = driver->cuEventElapsedTime(&ms, driver->begin, driver->end);
    *seconds = (double)ms / 1e3;
    if (code == 0) return JM_OK;
    char what[160];
    snprintf(what, sizeof what, "%s failed", name);
    return suite_driver_fail(driver, code, at, what, err);
}
