/* Boards, sensors and readings: plain rows, as in a recording.
 *
 * A missing value is marked as missing and has a reason; it is never just 0. Integers that can be missing
 * have a `has_` bit, or are negative as described below. */
#ifndef JOULEMAP_BOARD_H
#define JOULEMAP_BOARD_H

#include <joulemap/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a sensor measures: name, text, unit of its value */
#define JM_QUANTITY_MAP(X)                                                                                   \
    X(POWER, "power", "W")                                                                                   \
    X(MEMORY_POWER, "memory_power", "W")                                                                     \
    X(ENERGY, "energy", "J")                                                                                 \
    X(UTIL_GPU, "gpu_utilisation", "%")                                                                      \
    X(UTIL_MEMORY, "memory_utilisation", "%")                                                                \
    X(TEMPERATURE, "temperature", "C")                                                                       \
    X(CLOCK_SM, "clock_sm", "MHz")                                                                           \
    X(CLOCK_MEMORY, "clock_memory", "MHz")                                                                   \
    X(THROTTLE, "throttle_reasons", "bits")                                                                  \
    X(POWER_LIMIT, "power_limit", "W")

typedef enum jm_quantity {
#define X(name, text, unit) JM_QUANTITY_##name,
    JM_QUANTITY_MAP(X)
#undef X
        JM_QUANTITY_COUNT
} jm_quantity;

/* How a sensor's value follows the true power P; see docs/sensors.md */
#define JM_RESPONSE_MAP(X)                                                                                   \
    X(INSTANT, "instant")         /* P(t - lag) */                                                           \
    X(BOX, "box")                 /* mean of P over [t - lag - window, t - lag] */                           \
    X(FIRST_ORDER, "first_order") /* integral of P(t - lag - u) exp(-u/tau)/tau du */                        \
    X(COUNTER, "counter")         /* integral of P since an unknown start */

typedef enum jm_response {
#define X(name, text) JM_RESPONSE_##name,
    JM_RESPONSE_MAP(X)
#undef X
        JM_RESPONSE_COUNT
} jm_response;

/* The kind of a board. What a meter measures goes on into other boards. */
#define JM_BOARD_KIND_MAP(X)                                                                                 \
    X(GPU, "gpu")                                                                                            \
    X(CPU, "cpu") /* a package, its DRAM, a socket */                                                        \
    X(METER, "meter")

typedef enum jm_board_kind {
#define X(name, text) JM_BOARD_##name,
    JM_BOARD_KIND_MAP(X)
#undef X
        JM_BOARD_KIND_COUNT
} jm_board_kind;

#define JM_BOARD_TEXT 96

/* One board: a GPU, or a CPU package or DRAM domain. */
typedef struct jm_board {
    int64_t id;               /* number in a recording, from 1; 0 while it has none */
    char host[65];            /* machine that it is in; "" if unknown */
    char backend[16];         /* what reads it: "nvml", "rapl", ... */
    char name[JM_BOARD_TEXT]; /* "NVIDIA H200", "package-0" */
    char uuid[JM_BOARD_TEXT]; /* "GPU-..."; "" if unknown */
    char pci[32];             /* "00000000:01:00.0"; "" if none */
    char driver[48];          /* driver version; "" if unknown */
    char profile[32];         /* board profile in use ("h200"), "generic" if none fits */
    int32_t index;            /* index of the back end (NVML's order); -1 if none */
    int32_t cuda_index;       /* index after CUDA_VISIBLE_DEVICES; -1 if not visible */
    double power_limit_w;     /* enforced; NAN if unknown */
    double power_limit_min_w; /* NAN if unknown */
    double power_limit_max_w; /* NAN if unknown */
    double clock_limit_mhz;   /* highest SM clock that it allows; NAN if unknown */
    int32_t multiprocessors;  /* 0 if unknown */
    bool simulated;
    bool mig;      /* power is that of the whole board */
    bool upstream; /* its energy flows on into other boards of the recording (a meter at the wall): it is a
                      row of its own and in no total */
} jm_board;

/* One sensor of a board. Present, or missing with the reason. */
typedef struct jm_sensor {
    int64_t id;        /* number in a recording, from 1; 0 while it has none */
    int64_t board_id;  /* jm_board.id */
    char name[40];     /* "power_ring", "power_instant", "power_average", "energy_counter", ... */
    char source[96];   /* the call: "nvmlDeviceGetSamples(TOTAL_POWER)" */
    char missing[160]; /* why it cannot be read; "" if it can */
    jm_quantity quantity;
    jm_response response;
    int64_t period_ns; /* how often its value changes; 0 if unknown */
    int64_t lag_ns;
    int64_t lag_u_ns;     /* standard uncertainty of lag_ns */
    int64_t window_ns;    /* BOX: its width */
    int64_t tau_ns;       /* FIRST_ORDER: its time constant */
    int64_t tau_u_ns;     /* standard uncertainty of tau_ns or window_ns */
    int64_t read_cost_ns; /* measured mean cost of a read; 0 if not measured */
    double noise;         /* standard deviation of one reading in steady load, in its unit */
    double gain_u;        /* relative standard uncertainty of the absolute value (0.029) */
} jm_sensor;

typedef struct jm_reading {
    int64_t sensor_id;
    int64_t t_ns; /* CLOCK_MONOTONIC, as the sensor stamped it */
    double value;
} jm_reading;

JM_API jm_board_kind jm_board_kind_of(const jm_board *board);
JM_API const char *jm_board_kind_text(jm_board_kind kind);
JM_API const char *jm_quantity_text(jm_quantity quantity);
JM_API const char *jm_quantity_unit(jm_quantity quantity);
JM_API const char *jm_response_text(jm_response response);

/* A snapshot of the boards of this machine. */
typedef struct jm_inventory jm_inventory;

/* `sim`: profile name or path for the simulated board; NULL: JOULEMAP_SIM, or without it the real boards. A
 * machine without boards is no failure: jm_doctor_create shows why there are none. No process is started. */
JM_API jm_status jm_inventory_create(jm_inventory **out, const char *sim, jm_error *err);
JM_API void jm_inventory_free(jm_inventory *inventory);
JM_API size_t jm_inventory_board_count(const jm_inventory *inventory);
JM_API const jm_board *jm_inventory_board(const jm_inventory *inventory, size_t board);
JM_API size_t jm_inventory_sensor_count(const jm_inventory *inventory, size_t board);
JM_API const jm_sensor *jm_inventory_sensor(const jm_inventory *inventory, size_t board, size_t sensor);

typedef struct jm_board_memory {
    int64_t total_bytes;
    int64_t free_bytes; /* at the time of the call */
} jm_board_memory;

/* A GPU's memory now. NOT_SUPPORTED: the board has no memory of its own, or its driver does not report it. */
JM_API jm_status jm_inventory_memory(jm_inventory *inventory, size_t board, jm_board_memory *out,
                                     jm_error *err);

enum { JM_BOARD_PROCESSES = 64 };

/* What a board does now. A value that its sensors do not give is NAN; joules are a counter's, since an
 * unknown start. */
typedef struct jm_board_state {
    double power_w, energy_j, utilisation_percent, temperature_c, clock_mhz, power_limit_w;
    bool lost;                        /* it is gone, or needs a reset */
    char problem[160];                /* why its power cannot be read; "" if it can */
    int32_t pids[JM_BOARD_PROCESSES]; /* processes that compute on it, as the machine counts them */
    size_t process_count;
} jm_board_state;

/* Read it from the sensors; takes their cost of a read, milliseconds. One thread at a time. USAGE: no such
 * board. */
JM_API jm_status jm_inventory_state(jm_inventory *inventory, size_t board, jm_board_state *out,
                                    jm_error *err);

#ifdef __cplusplus
}
#endif
#endif
