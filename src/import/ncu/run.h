/* Where Nsight Compute (ncu) is, and a program under it. */
#ifndef JM_IMPORT_NCU_RUN_H
#define JM_IMPORT_NCU_RUN_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* On PATH, in CUDA_HOME, CUDA_PATH, the newest of /usr/local/cuda*, the newest of /opt/nvidia/nsight-compute.
 * `root`: what stands before the last two; "": nothing. NOT_FOUND says where was looked. */
jm_status jm__ncu_find(char *path, size_t size, const char *root, jm_error *err);

typedef struct jm__ncu_given {
    const char *const *command;                      /* the program and its arguments, NULL-terminated */
    const char *const *options;                      /* words for ncu, likewise; NULL: none */
    const char *page;                                /* "raw", "details" */
    const char *metrics;                             /* "a,b,c" */
    const char *csv;                                 /* the file to write */
    double timeout_s;                                /* 0: none */
    bool (*goes_on)(void *context, int64_t ncu_pid); /* asked some times a second; NULL: it does */
    void *context;
} jm__ncu_given;

/* Run it, in the foreground, clocks and caches left as they are. OK: `csv` has a table, and *exit_code is
 * that of ncu, which is the program's (128 + signal if one ended it). Else nothing is at `csv` that was not
 * there before: CHILD, it cannot be started; BUSY, time is out or somebody ended it, and with it all that it
 * started; BAD_DATA, it counted nothing, with ncu's reason. */
jm_status jm__ncu_run(const char *ncu, const jm__ncu_given *given, int *exit_code, jm_error *err);

#endif
