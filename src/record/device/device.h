/* Boards and their sensors behind one small table of functions.
 *
 * A back end (NVML, RAPL) lists what it finds and why the rest is missing. Nothing here changes a setting of
 * a board. Used by one thread at a time. */
#ifndef JM_RECORD_DEVICE_DEVICE_H
#define JM_RECORD_DEVICE_DEVICE_H

#include "format/rows/rows.h"
#include "format/rows/sensor_role.h"

#include <joulemap/board.h>
#include <joulemap/finding.h>

#define JM_DEVICE_BOARDS_MAX  64
#define JM_DEVICE_SENSORS_MAX 16  /* per board */
#define JM_DEVICE_SAMPLES_MAX 512 /* per read */

typedef struct jm__device_options {
    const char *sim;        /* see jm_inventory_create */
    bool no_cpu;            /* without the back ends of CPUs */
    const char *run_dir;    /* for the simulated board: where live spans are, NULL: none */
    const char *truth_path; /* for the simulated board: where it writes the true energies, NULL: nowhere */
    const char *sys_root;   /* folder that contains sys/ and proc/, NULL: "" (tests use their own tree) */
} jm__device_options;

/* The findings that doctor shows; grows through jm__finding_add. */
typedef struct jm__findings {
    jm_finding *items;
    size_t count, capacity;
    char (*absent)[160]; /* GPUs of the machine that cannot be read at all, with the reason */
    size_t absent_count;
} jm__findings;

/* Out of memory drops the finding: it is a message, not a result. */
void jm__finding_add(jm__findings *findings, const char *subject, bool works, const char *cure,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));

typedef struct jm__device_sensor {
    jm_sensor row; /* name, source, missing, quantity; the board profile sets the rest */
    bool buffered; /* a read gives many samples with stamps of the board */
} jm__device_sensor;

/* A finding for a board that cannot be opened, which becomes absent. */
void jm__finding_add_absent(jm__findings *findings, const char *board, const char *cure, const char *format,
                            ...) __attribute__((format(printf, 4, 5)));

/* A sensor of this role; by default it works and gives one value per read. */
void jm__device_sensor_init(jm__device_sensor *sensor, jm__sensor_role role, const char *source);

/* Reads the first line of a small file of sysfs, without its line end; false if it cannot be read. The format
 * gives its path. */
bool jm__device_read_line(char *line, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

typedef struct jm__sample {
    int64_t t_ns; /* buffered: CLOCK_REALTIME; else CLOCK_MONOTONIC, the middle of the call */
    double value; /* in the unit of its quantity */
} jm__sample;

typedef struct jm__samples {
    jm__sample items[JM_DEVICE_SAMPLES_MAX];
    size_t count;
} jm__samples;

typedef struct jm__backend {
    const char *name;
    /* Fails only if memory is out: missing hardware is a finding, with no boards. */
    jm_status (*open)(void **state, const jm__device_options *options, jm__findings *findings, jm_error *err);
    /* Fills the blank row of a board; false: there are not so many. */
    bool (*board)(void *state, size_t board, jm_board *row);
    /* At most JM_DEVICE_SENSORS_MAX; returns their number. */
    size_t (*sensors)(void *state, size_t board, jm__device_sensor *sensors);
    /* One sample, or everything in the buffer of a buffered sensor, oldest first (a part of it costs as
     * much). DEVICE_LOST: the board is gone; each later read looks for it again. */
    jm_status (*read)(void *state, size_t board, size_t sensor, jm__samples *out, jm_error *err);
    /* NULL: its boards have no memory. */
    jm_status (*memory)(void *state, size_t board, jm_board_memory *out, jm_error *err);
    void (*close)(void *state);
    /* Pids of processes that compute on it, as the machine counts them; NULL: not available. */
    jm_status (*processes)(void *state, size_t board, int32_t *pids, size_t capacity, size_t *count,
                           jm_error *err);
} jm__backend;

/* A new back end is a file here and a line of that map. */
#define X(name, kind) extern const jm__backend jm__backend_##name;
JM_BACKEND_MAP(X)
#undef X

/* All back ends, opened. */
typedef struct jm__devices jm__devices;

jm_status jm__devices_open(jm__devices **out, const jm__device_options *options, jm_error *err);
void jm__devices_close(jm__devices *devices);
size_t jm__devices_board_count(const jm__devices *devices);
jm_board *jm__devices_board(const jm__devices *devices, size_t board);
size_t jm__devices_sensor_count(const jm__devices *devices, size_t board);
/* The opener may fill in more of the board or sensor. */
jm__device_sensor *jm__devices_sensor(const jm__devices *devices, size_t board, size_t sensor);
jm_status jm__devices_read(jm__devices *devices, size_t board, size_t sensor, jm__samples *out,
                           jm_error *err);
jm_status jm__devices_memory(jm__devices *devices, size_t board, jm_board_memory *out, jm_error *err);
jm_status jm__devices_processes(jm__devices *devices, size_t board, int32_t *pids, size_t capacity,
                                size_t *count, jm_error *err);
const jm__findings *jm__devices_findings(const jm__devices *devices);

#endif
