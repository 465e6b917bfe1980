/* libcuda, loaded when it is needed: one GPU, one stream. One thread.
 *
 * Our own declarations, no cuda.h; none of these calls sets anything of the board. */
#ifndef SUITE_DRIVER_H
#define SUITE_DRIVER_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct suite_cuda_object *suite_cuda_handle; /* a context, stream, event, module or function */
typedef uint64_t suite_address;                      /* in the GPU's memory; 0: none */

/* symbol, arguments */
#define SUITE_CUDA_MAP(X)                                                                                    \
    X(cuInit, (unsigned flags))                                                                              \
    X(cuDriverGetVersion, (int *version))                                                                    \
    X(cuDeviceGetCount, (int *count))                                                                        \
    X(cuDeviceGet, (int *device, int ordinal))                                                               \
    X(cuDeviceGetName, (char *name, int size, int device))                                                   \
    X(cuDeviceGetAttribute, (int *value, int attribute, int device))                                         \
    X(cuDeviceTotalMem_v2, (size_t * bytes, int device))                                                     \
    X(cuDevicePrimaryCtxRetain, (suite_cuda_handle * context, int device))                                   \
    X(cuDevicePrimaryCtxRelease_v2, (int device))                                                            \
    X(cuCtxSetCurrent, (suite_cuda_handle context))                                                          \
    X(cuStreamCreate, (suite_cuda_handle * stream, unsigned flags))                                          \
    X(cuStreamSynchronize, (suite_cuda_handle stream))                                                       \
    X(cuEventCreate, (suite_cuda_handle * event, unsigned flags))                                            \
    X(cuEventRecord, (suite_cuda_handle event, suite_cuda_handle stream))                                    \
    X(cuEventElapsedTime, (float *ms, suite_cuda_handle from, suite_cuda_handle to))                         \
    X(cuMemAlloc_v2, (suite_address * address, size_t bytes))                                                \
    X(cuModuleLoadData, (suite_cuda_handle * module, const void *image))                                     \
    X(cuModuleGetFunction, (suite_cuda_handle * function, suite_cuda_handle module, const char *name))       \
    X(cuFuncSetAttribute, (suite_cuda_handle function, int attribute, int value))                            \
    X(cuLaunchKernel, (suite_cuda_handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,        \
                       unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,          \
                       suite_cuda_handle stream, void **arguments, void **extra))                            \
    X(cuProfilerStart, (void))                                                                               \
    X(cuProfilerStop, (void))                                                                                \
    X(cuGetErrorName, (int code, const char **name))                                                         \
    X(cuGetErrorString, (int code, const char **text))

typedef struct suite_driver {
#define X(symbol, arguments) int(*symbol) arguments;
    SUITE_CUDA_MAP(X)
#undef X
    suite_cuda_handle stream, begin, end; /* the stream, events of a burst */
    int version;                          /* of CUDA, as 13000: the newest that the driver knows */
    int device;
    int capability; /* 90: 9.0 */
    int multiprocessors;
    uint64_t memory_bytes;
    uint64_t taken_bytes; /* by suite_driver_take */
    char name[96];
} suite_driver;

/* Load it (JOULEMAP_CUDA, or that of the simulated board, else libcuda.so.1) and find the first GPU that it
 * shows; no context yet. NOT_SUPPORTED: there is no driver, or one that is too old; NO_DEVICE. */
jm_status suite_driver_load(suite_driver *driver, bool simulated, jm_error *err);

/* Make its context, a stream and two events. BUSY: somebody else has the GPU for himself. */
jm_status suite_driver_start(suite_driver *driver, jm_error *err);

/* Memory goes back to the GPU. */
void suite_driver_stop(suite_driver *driver);

/* Memory of the GPU, until the end. NO_MEMORY if there is not enough. */
jm_status suite_driver_take(suite_driver *driver, uint64_t bytes, suite_address *address, jm_error *err);

/* The fault of a call that returned `code`, which is not 0; `what` is half a sentence: "the GPU does not
 * start". */
jm_status suite_driver_fail(const suite_driver *driver, int code, const char *call, const char *what,
                            jm_error *err);

#endif
