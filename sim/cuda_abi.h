/* What the stand-ins for libcupti and libcuda return: numbers and names are NVIDIA's.
 *
 * Faults name them (JOULEMAP_SIM_FAULTS); those of CUPTI's that CUPTI's header calls CUPTI_ERROR_<name>. */
#ifndef SIM_CUDA_ABI_H
#define SIM_CUDA_ABI_H

/* number, name */
#define SIM_CUPTI_ERROR_MAP(X)                                                                               \
    X(1, INVALID_PARAMETER)                                                                                  \
    X(2, INVALID_DEVICE)                                                                                     \
    X(7, INVALID_OPERATION)                                                                                  \
    X(8, OUT_OF_MEMORY)                                                                                      \
    X(9, HARDWARE)                                                                                           \
    X(11, API_NOT_IMPLEMENTED)                                                                               \
    X(12, MAX_LIMIT_REACHED)                                                                                 \
    X(13, NOT_READY)                                                                                         \
    X(14, NOT_COMPATIBLE)                                                                                    \
    X(15, NOT_INITIALIZED)                                                                                   \
    X(17, INVALID_METRIC_NAME)                                                                               \
    X(26, HARDWARE_BUSY)                                                                                     \
    X(27, NOT_SUPPORTED)                                                                                     \
    X(33, VIRTUALIZED_DEVICE_NOT_SUPPORTED)                                                                  \
    X(35, INSUFFICIENT_PRIVILEGES)                                                                           \
    X(40, VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)                                                        \
    X(41, CONFIDENTIAL_COMPUTING_NOT_SUPPORTED)                                                              \
    X(43, MIG_DEVICE_NOT_SUPPORTED)                                                                          \
    X(46, INVALID_CHIP_NAME)                                                                                 \
    X(999, UNKNOWN)

/* Of libcuda: CUDA_ERROR_<name>. */
#define SIM_CUDA_ERROR_MAP(X)                                                                                \
    X(1, INVALID_VALUE)                                                                                      \
    X(2, OUT_OF_MEMORY)                                                                                      \
    X(3, NOT_INITIALIZED)                                                                                    \
    X(100, NO_DEVICE)                                                                                        \
    X(101, INVALID_DEVICE)                                                                                   \
    X(803, SYSTEM_DRIVER_MISMATCH)                                                                           \
    X(999, UNKNOWN)

enum {
    SIM_CUDA_SUCCESS = 0,
#define X(number, name) SIM_CUDA_##name = number,
    SIM_CUDA_ERROR_MAP(X)
#undef X
};

#endif
