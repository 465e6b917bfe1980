/* Functions of the suite's sources on the GPU, each source compiled once. */
#ifndef SUITE_MODULES_H
#define SUITE_MODULES_H

#include "suite/compiler.h"
#include "suite/driver.h"

enum { SUITE_MODULES_MAX = 32 };

typedef struct suite_module {
    const char *source;
    bool own;                 /* compiled with what the GPU's capability alone has */
    suite_cuda_handle module; /* NULL: it does not compile or load */
    jm_error fault;           /* then */
} suite_module;

typedef struct suite_modules {
    const suite_driver *driver;
    const suite_compiler *compiler;
    suite_module items[SUITE_MODULES_MAX];
    size_t count;
} suite_modules;

/* A function of kernels/SOURCE.cu (`own`: as suite_compiler_compile has it); `source` stays the caller's.
 * NOT_SUPPORTED: it does not compile, cannot be loaded, or is not there. */
jm_status suite_modules_find(suite_modules *modules, const char *source, bool own, const char *function,
                             suite_cuda_handle *handle, jm_error *err);

#endif
