/* libnvrtc, loaded when it is needed, and the suite's sources compiled by it. One thread. */
#ifndef SUITE_COMPILER_H
#define SUITE_COMPILER_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct suite_program_object *suite_program;

/* symbol, arguments; all of them return 0 or an error's number */
#define SUITE_NVRTC_MAP(X)                                                                                   \
    X(nvrtcVersion, (int *major, int *minor))                                                                \
    X(nvrtcGetNumSupportedArchs, (int *count))                                                               \
    X(nvrtcGetSupportedArchs, (int *capabilities))                                                           \
    X(nvrtcCreateProgram, (suite_program * program, const char *source, const char *name, int count,         \
                           const char *const *headers, const char *const *names))                            \
    X(nvrtcCompileProgram, (suite_program program, int count, const char *const *options))                   \
    X(nvrtcGetProgramLogSize, (suite_program program, size_t * size))                                        \
    X(nvrtcGetProgramLog, (suite_program program, char *log))                                                \
    X(nvrtcGetCUBINSize, (suite_program program, size_t * size))                                             \
    X(nvrtcGetCUBIN, (suite_program program, char *cubin))                                                   \
    X(nvrtcGetPTXSize, (suite_program program, size_t * size))                                               \
    X(nvrtcGetPTX, (suite_program program, char *ptx))                                                       \
    X(nvrtcDestroyProgram, (suite_program * program))

typedef struct suite_compiler {
#define X(symbol, arguments) int(*symbol) arguments;
    SUITE_NVRTC_MAP(X)
#undef X
    int major, minor; /* its version */
    int capability;   /* what is compiled for: 90 */
    bool binary;      /* for that very one; else PTX, which the driver compiles */
} suite_compiler;

/* Load the first libnvrtc that this driver can work with and that knows the GPU. `capability`: the GPU's, 90
 * is 9.0; `driver`: CUDA's version that the driver knows, as 13000. NOT_SUPPORTED: there is none. */
jm_status suite_compiler_load(suite_compiler *compiler, int capability, int driver, bool simulated,
                              jm_error *err);

/* `own`: with what the GPU's capability alone has (sm_90a). The image of a source of the suite ("norm"), to
 * be freed, and its bytes (`size` may be NULL). NOT_SUPPORTED: it does not compile; the text has the
 * compiler's first words. */
jm_status suite_compiler_compile(const suite_compiler *compiler, const char *source, bool own, char **image,
                                 size_t *size, jm_error *err);

#endif
