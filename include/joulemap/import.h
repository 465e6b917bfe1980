/* Recordings made from CSV files, plain or gzipped. */
#ifndef JOULEMAP_IMPORT_H
#define JOULEMAP_IMPORT_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sources, in the order in which they are read: name, option of `joulemap import`, help text. A new one is a
 * line at the end and src/import/OPTION.c with jm__import_OPTION. */
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
    const char *board;                  /* profile that describes the sensors; NULL: generic */
    const char *files[JM_IMPORT_COUNT]; /* NULL: none; at least one is required */
} jm_import_options;

/* A part becomes a phase, or a window if it names the phase it belongs to. BAD_DATA names file, line and
 * column; no partial file is left. */
JM_API jm_status jm_recording_import(const jm_import_options *options, jm_error *err);

typedef struct jm_counters_options {
    uint32_t size;        /* sizeof(jm_counters_options): lets it grow */
    bool overwrite;       /* replace an existing file */
    const char *onto;     /* the recording of the same time; it is not changed */
    const char *path;     /* the recording to write: `onto` with the counters */
    const char *counters; /* CSV: start_ns,end_ns,METRIC... */
    const char *board;    /* index of the GPU (jm_board.index) as text; NULL: the only one */
    const char *ncu;      /* or counts of the same program by Nsight Compute, ncu --csv --page raw */
} jm_counters_options;

/* Add hardware counters that were read beside a recording. A line of the file is a window with its counts;
 * windows are in order. Times are CLOCK_REALTIME, or for a recording of jm_recording_import the clock of its
 * files. An empty field was not measured. A metric is in percent if its name contains "pct" or ends in
 * ".ratio", else it is a count.
 *
 * With `ncu`, kernels of the recording get the counts of the same kernels by name, launch shape and order.
 * USAGE: the recording has counters of its own. NOT_FOUND: no common kernels.
 *
 * Of a damaged recording what can be read is kept; an older version is converted to this one. BAD_DATA names
 * file, line and column; no partial file is left. BUSY: it is still being recorded. */
JM_API jm_status jm_recording_add_counters(const jm_counters_options *options, jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
