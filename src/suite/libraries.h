/* Where libcuda and libnvrtc lie. */
#ifndef SUITE_LIBRARIES_H
#define SUITE_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

enum { SUITE_PATH = 1024, SUITE_NVRTC_MAX = 48 };

/* JOULEMAP_CUDA, else the stand-in of the simulated board, which lies beside this program, else
 * libcuda.so.1. */
void suite_libcuda_path(char *path, size_t size, bool simulated);

typedef struct suite_paths {
    char items[SUITE_NVRTC_MAX][SUITE_PATH];
    size_t count;
} suite_paths;

/* All libnvrtcs that may be there: JOULEMAP_NVRTC, that or none; that of the simulated board, if it is one;
 * else the loader's, by their names of CUDA 13, 12 and 11.2; the toolkit's (CUDA_HOME, CUDA_PATH,
 * /usr/local/cuda); those of packages of Python: beside this program, in VIRTUAL_ENV and
 * CONDA_PREFIX, of the Python that JOULEMAP_PYTHON names, of each python3 on PATH, of the user and of the
 * machine. */
void suite_libnvrtc_paths(suite_paths *paths, bool simulated);

#endif
