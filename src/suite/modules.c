/* Compiling and loading what is asked for first. */
#include "suite/modules.h"

#include "suite/fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void load(const suite_modules *modules, suite_module *one)
{
    char *image, what[96];
    if (suite_compiler_compile(modules->compiler, one->source, one->own, &image, NULL, &one->fault) != JM_OK)
        return;
    int code = modules->driver->cuModuleLoadData(&one->module, image);
    free(image);
    if (code == 0) return;
    one->module = NULL;
    snprintf(what, sizeof what, "%s.cu cannot be loaded", one->source);
    suite_driver_fail(modules->driver, code, "cuModuleLoadData", what, &one->fault);
    one->fault.status = JM_NOT_SUPPORTED; /* other sources may be loaded */
}

jm_status suite_modules_find(suite_modules *modules, const char *source, bool own, const char *function,
                             suite_cuda_handle *handle, jm_error *err)
{
    size_t i = 0;
    while (i < modules->count && strcmp(modules->items[i].source, source) != 0)
        i++;
    if (i == SUITE_MODULES_MAX) return suite_fail(err, JM_LIMIT, "", "too many sources");
    suite_module *one = &modules->items[i];
    if (i == modules->count) {
        *one = (suite_module){.source = source, .own = own};
        modules->count++;
        load(modules, one);
    }
    if (one->module == NULL) {
        if (err != NULL) *err = one->fault;
        return one->fault.status;
    }
    int code = modules->driver->cuModuleGetFunction(handle, one->module, function);
    if (code == 0) return JM_OK;
    suite_driver_fail(modules->driver, code, "cuModuleGetFunction", function, err);
    if (err != NULL) err->status = JM_NOT_SUPPORTED;
    return JM_NOT_SUPPORTED;
}
