/* Recordings made from other people's data: CSV files, plain or gzipped. */
#ifndef JOULEMAP_IMPORT_H
#define JOULEMAP_IMPORT_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What can be imported, in the order in which it is read: name, option of `joulemap import`, what it is for.
 * A new one is a line at the end and src/import/OPTION.c, which gives jm__import_OPTION. */
#define JM_IMPORT_MAP(X)                                                                                     \
    X(READINGS, readings, "Sensor readings: sensor,t_s,value.")                                              \
    X(SEGMENTS, segments, "Host-timed work: part,kernel,t_start_s,t_end_s,kernel_launches.")                 \
    X(KERNELS, kernels, "Kernels: t_start_s,duration_us,kernel,stream,part.")                                \
    X(METER, meter, "Power at the wall or on a supply line: t_s,power_w[,meter].")

typedef enum jm_import_source {
#define X(name, option, text) JM_IMPORT_##name,
    JM_IMPORT_MAP(X)
#undef X
        JM_IMPORT_COUNT
} jm_import_source;

typedef struct jm_import_options {
    uint32_t size;                      /* sizeof(jm_import_options): lets it grow */
    bool overwrite;                     /* replace an existing file */
    const char *path;                   /* the recording to write */
    const char *board;                  /* profile that knows the sensors; NULL: generic */
    const char *files[JM_IMPORT_COUNT]; /* NULL: none of that; one at least there must be */
} jm_import_options;

/* A part becomes a phase. BAD_DATA names file, line and column; nothing half made is left. */
JM_API jm_status jm_recording_import(const jm_import_options *options, jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
