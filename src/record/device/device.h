/* Boards and their sensors behind one small table of functions.
 *
 * A back end (NVML, RAPL) fills in what it finds and why the rest is missing.
 * Nothing here ever sets anything on a board. Used by one thread at a time. */
#ifndef JM_RECORD_DEVICE_DEVICE_H
#define JM_RECORD_DEVICE_DEVICE_H

#include "format/rows/rows.h"
#include "format/rows/sensor_role.h"

#include <joulemap/board.h>
#include <joulemap/finding.h>

#define JM_DEVICE_BOARDS_MAX  64
#define JM_DEVICE_SENSORS_MAX 16  /* a board */
#define JM_DEVICE_SAMPLES_MAX 512 /* one read */

typedef struct jm__device_options {
    const char *sim;        /* see jm_inventory_create */
    bool no_cpu;            /* leave back ends of CPUs out */
    const char *run_dir;    /* for the simulated board, NULL: none */
    const char *truth_path; /* for the simulated board, NULL: none */
    const char *sys_root;   /* folder that holds sys/ and proc/, NULL: "" (tests give a tree of their own) */
} jm__device_options;

/* What doctor shows; grows through jm__finding_add. */
typedef struct jm__findings {
    jm_finding *items;
    size_t count, capacity;
    char (*absent)[160]; /* GPUs that are in the machine and cannot be read at all: which, and why */
    size_t absent_count;
} jm__findings;

/* Out of memory loses the finding: it is a word to a human, not a result. */
void jm__finding_add(jm__findings *findings, const char *subject, bool works, const char *cure,
                     const char *format, ...) __attribute__((format(printf, 5, 6)));

typedef struct jm__device_sensor {
    jm_sensor row; /* name, source, missing, quantity; the rest is the board profile's */
    bool buffered; /* a read gives many samples with the board's own stamps */
} jm__device_sensor;

/* A board that cannot be opened is a finding, and absent. */
void jm__finding_add_absent(jm__findings *findings, const char *board, const char *cure, const char *format,
                            ...) __attribute__((format(printf, 4, 5)));

/* A sensor of this role that works and gives one value a read, until told otherwise. */
void jm__device_sensor_init(jm__device_sensor *sensor, jm__sensor_role role, const char *source);

/* One line of a small file of sysfs, without its end of line; false if it cannot be read. */
bool jm__device_line(const char *path, char *line, size_t size);

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
    /* Fails only for want of memory: what is not there is a finding, and no boards. */
    jm_status (*open)(void **state, const jm__device_options *options, jm__findings *findings, jm_error *err);
    size_t (*boards)(void *state, jm_board *boards, size_t capacity);
    size_t (*sensors)(void *state, size_t board, jm__device_sensor *sensors, size_t capacity);
    /* One sample, or all that a buffered sensor holds, oldest first (a part of them costs as much).
     * DEVICE_LOST: the board is gone; each later read looks for it again. */
    jm_status (*read)(void *state, size_t board, size_t sensor, jm__samples *out, jm_error *err);
    /* NULL: its boards have no memory of their own. */
    jm_status (*memory)(void *state, size_t board, jm_board_memory *out, jm_error *err);
    void (*close)(void *state);
    /* Pids of those who compute on it, as the machine counts them; NULL: nobody can. */
    jm_status (*processes)(void *state, size_t board, int32_t *pids, size_t capacity, size_t *count,
                           jm_error *err);
} jm__backend;

/* One more is a file here and a line of that map. */
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
/* Whoever opened them may add to what is known of a board or sensor. */
jm__device_sensor *jm__devices_sensor(const jm__devices *devices, size_t board, size_t sensor);
jm_status jm__devices_read(jm__devices *devices, size_t board, size_t sensor, jm__samples *out,
                           jm_error *err);
jm_status jm__devices_memory(jm__devices *devices, size_t board, jm_board_memory *out, jm_error *err);
jm_status jm__devices_processes(jm__devices *devices, size_t board, int32_t *pids, size_t capacity,
                                size_t *count, jm_error *err);
const jm__findings *jm__devices_findings(const jm__devices *devices);

#endif
