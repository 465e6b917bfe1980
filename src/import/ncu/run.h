/* Finds Nsight Compute (ncu) and runs a program under it. */
#ifndef JM_IMPORT_NCU_RUN_H
#define JM_IMPORT_NCU_RUN_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Searches PATH, CUDA_HOME, CUDA_PATH, the newest of /usr/local/cuda* and the newest of
 * /opt/nvidia/nsight-compute. `root` is put before the last two ("" normally). NOT_FOUND lists the places. */
jm_status jm__ncu_find(char *path, size_t size, const char *root, jm_error *err);

typedef struct jm__ncu_job {
    const char *const *command; /* the program and its arguments, NULL-terminated */
    const char *const *options; /* options for ncu, NULL-terminated; NULL: none */
    const char *page;           /* "raw", "details" */
    const char *metrics;        /* "a,b,c" */
    const char *csv;            /* the file to write */
    double timeout_s;           /* 0: none */
    bool (*goes_on)(void *context,
                    int64_t ncu_pid); /* polled several times a second, false ends the run; NULL: never */
    void *context;
} jm__ncu_job;

/* Runs ncu in the foreground, with clocks and caches left alone. OK: `csv` has a table, and *exit_code is
 * ncu's, which is the program's (128 + signal if one ended it). On failure `csv` stays as it was. CHILD: ncu
 * cannot be started. BUSY: timeout or ended by `goes_on`; all started processes are killed. BAD_DATA: nothing
 * was counted, with ncu's reason. */
jm_status jm__ncu_run(const char *ncu, const jm__ncu_job *job, int *exit_code, jm_error *err);

#endif
