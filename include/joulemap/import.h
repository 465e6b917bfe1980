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
    X(SEGMENTS, segments, "Host-timed work: part,kernel,t_start_s,t_end_s,kernel_launches[,phase].")         \
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

/* A part becomes a phase, one that says in which phase it lies a window of that. BAD_DATA names file, line
 * and column; nothing half made is left. */
JM_API jm_status jm_recording_import(const jm_import_options *options, jm_error *err);

typedef struct jm_counters_options {
    uint32_t size;        /* sizeof(jm_counters_options): lets it grow */
    bool overwrite;       /* replace an existing file */
    const char *onto;     /* the recording of the same time; it stays as it is */
    const char *path;     /* the recording to write: that one, and the counters */
    const char *counters; /* CSV: start_ns,end_ns,METRIC... */
    const char *board;    /* index of the GPU (jm_board.index) as text; NULL: the one there is */
    const char *ncu;      /* or what Nsight Compute counted of the same program, ncu --csv --page raw */
} jm_counters_options;

/* A recording with hardware counters that were read beside it: a line of the file is what was counted in a
 * window, the windows in their order. Times are of CLOCK_REALTIME; for a recording that jm_recording_import
 * made, of the clock of its files. A field without text was not measured. A metric is in percent if its name
 * has "pct" in it or ends in ".ratio", else it is a count.
 *
 * With `ncu`, kernels of the recording get what ncu counted of the same kernels, which go by name, launch
 * shape and order; a recording that has counters of its own is refused (USAGE), none in common is NOT_FOUND.
 *
 * A damaged recording gives what can be read of it, one of an older version becomes one of this version.
 * BAD_DATA names file, line and column; nothing half made is left. BUSY: it is still being recorded. */
JM_API jm_status jm_recording_add_counters(const jm_counters_options *options, jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
