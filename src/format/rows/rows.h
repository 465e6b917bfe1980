/* The rows of a recording, as they pass from sampler and collector to writer, reader and attribution. Boards,
 * sensors and readings are in joulemap/board.h. Times are CLOCK_MONOTONIC. */
#ifndef JM_FORMAT_ROWS_ROWS_H
#define JM_FORMAT_ROWS_ROWS_H

#include "base/clock.h"

#include <inttypes.h>
#include <joulemap/board.h>
#include <joulemap/span.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A property of the run. */
typedef struct jm__meta {
    const char *key;
    const char *value;
} jm__meta;

/* A text that several rows share. */
typedef struct jm__name {
    int64_t id; /* from 1 */
    const char *text;
} jm__name;

typedef struct jm__span_kind_row {
    int64_t id; /* jm_span_kind */
    const char *text;
    bool process_wide;
} jm__span_kind_row;

/* Readings outside are invalid. The bounds are choices: the lowest idle of a board with NVML is 1 W, the
 * highest limit in 2026 a quarter of the upper one. */
#define JM_BOARD_LEAST_W 0.1
#define JM_BOARD_MOST_W  10e3

/* A board with all members unknown. */
extern const jm_board jm__board_blank;

/* The back ends of src/record/device, in the order of their boards, and the kind of their boards. Imported
 * boards are GPUs. */
#define JM_BACKEND_MAP(X)                                                                                    \
    X(nvml, GPU)                                                                                             \
    X(rapl, CPU)                                                                                             \
    X(hwmon, CPU)

/* A reused pid is another process: rows refer to a process by its id, users by its pid. */
typedef struct jm__process {
    int64_t id; /* row id, from 1 */
    int64_t pid;
    int64_t parent_pid;  /* 0: unknown */
    int64_t rank;        /* of a parallel program, as its launcher sets it; -1: none */
    int64_t start_ns;    /* first record seen */
    int64_t end_ns;      /* last record seen */
    const char *host;    /* NULL or "": unknown */
    const char *command; /* likewise */
} jm__process;

typedef struct jm__span {
    int64_t id;         /* row id, from 1 */
    int64_t process_id; /* jm__process.id */
    int64_t thread_id;  /* tid of the thread that began it */
    int64_t parent_id;  /* innermost span open on the same thread when it began, else the process-wide one; 0:
                           none */
    int64_t start_ns;
    int64_t end_ns;  /* -1: it did not end before a crash or the end of the run */
    int64_t name_id; /* row of `names` */
    int64_t type_id; /* row of `names`, 0: none */
    uint32_t samples;
    uint32_t tokens; /* 0: unknown */
    jm_span_kind kind;
    jm_payload_kind payload_kind; /* JM_PAYLOAD_NONE: no payload */
    jm_payload payload;           /* NATURAL: above INT64_MAX */
} jm__span;

/* What becomes known at the end of a span. */
typedef struct jm__span_end {
    int64_t span_id;
    int64_t end_ns;
    uint32_t samples; /* 0: as at its begin */
    uint32_t tokens;
} jm__span_end;

/* What a board was busy with: name, text in files */
#define JM_WORK_MAP(X)                                                                                       \
    X(KERNEL, "kernel")                                                                                      \
    X(MEMCPY, "memcpy")                                                                                      \
    X(MEMSET, "memset")

typedef enum jm__work {
    JM_WORK_FIRST_ = 0, /* 0 is no kind */
#define X(name, text) JM_WORK_##name,
    JM_WORK_MAP(X)
#undef X
} jm__work;

const char *jm__work_text(jm__work work);

/* What kernels have in common: one row per (name, launch shape, kind of work). */
typedef struct jm__kernel_class {
    int64_t id; /* from 1 */
    int64_t name_id;
    jm__work work;
    uint32_t grid[3];
    uint32_t block[3];
} jm__kernel_class;

/* Where kernels ran: one row per (process, board, context, stream). */
typedef struct jm__stream {
    int64_t id; /* from 1 */
    int64_t process_id;
    int64_t board_id;
    uint32_t context;
    uint32_t stream;
} jm__stream;

typedef struct jm__kernel {
    int64_t start_ns;
    int64_t end_ns;
    int64_t class_id;
    int64_t stream_id;
    int64_t span_id;   /* innermost span of the thread that launched it, 0: none */
    int64_t launch_ns; /* when the API call began, -1: unknown */
    int64_t bytes;     /* copies and sets; 0 for kernels */
    int64_t calls; /* how many launches this row represents: 1, except in imports of host-timed segments */
} jm__kernel;

typedef struct jm__mark {
    int64_t process_id; /* jm__process.id */
    int64_t thread_id;
    int64_t t_ns;
    int64_t name_id;
    const char *meta; /* JSON or NULL */
} jm__mark;

/* Records that are missing, and why. */
typedef struct jm__loss {
    int64_t t_ns;
    int64_t process_id; /* jm__process.id, 0: none */
    int64_t count;
    const char *source; /* "ring", "cupti", "recorder" */
    const char *reason;
} jm__loss;

/* The prefix of the text of an event that concerns one process. */
#define JM_EVENT_OF_PROCESS "process %" PRId64 ": "

/* Kinds of an event: name, text in files, whether it has a value */
#define JM_EVENT_MAP(X)                                                                                      \
    X(CLOCK_STEP, "clock_step", true) /* CLOCK_REALTIME was set; ns */                                       \
    X(GAP, "gap", true)               /* readings are missing; ns */                                         \
    X(BOARD_LOST, "board_lost", false)                                                                       \
    X(BOARD_BACK, "board_back", false)                                                                       \
    X(BOARD_ABSENT, "board_absent", false)  /* it is in the machine but is not recorded */                   \
    X(COUNTER_RESET, "counter_reset", true) /* J before */                                                   \
    X(THROTTLE, "throttle", true)           /* reasons, as NVML's bits */                                    \
    X(SENSOR_FAILED, "sensor_failed", false)                                                                 \
    X(CUPTI, "cupti", false) /* a message of the injected library */                                         \
    X(RECORDER, "recorder", false)                                                                           \
    X(COUNTERS, "counters", false)   /* why hardware counters were not sampled */                            \
    X(SAMPLING, "sampling", true)    /* of hardware counters: 1: on from here, 0: off */                     \
    X(PROCESSES, "processes", false) /* processes on the board from here on: "4711 (python3), 4712" */

typedef enum jm_event_kind {
#define X(name, text, has_value) JM_EVENT_##name,
    JM_EVENT_MAP(X)
#undef X
        JM_EVENT_COUNT
} jm_event_kind;

typedef struct jm__event {
    jm_event_kind kind;
    int64_t t_ns;
    int64_t board_id; /* 0: none */
    double value;     /* not kept for a kind without one */
    char text[256];
} jm__event;

bool jm__event_has_value(jm_event_kind kind);

/* Hardware counters: many values a second, stored as blocks of samples.
 *
 * A set is the metrics that are read together on one board. A block holds samples of one set, one after the
 * other:
 *
 *     uint64  begin of the sample, ns after the block's start_ns
 *     uint64  its duration in ns
 *     float64 one value per metric, in the order of the set; NaN: not measured
 *
 * All are little-endian: a block of n samples of m metrics has n * 8 * (2 + m) bytes. */
/* Our units. Sets in other units hold rates. */
#define JM_COUNTER_EVENTS      "count"      /* events or cycles within the sample */
#define JM_COUNTER_PERCENT     "%"          /* of the maximum */
#define JM_COUNTER_SLOT_CYCLES "slot-cycle" /* the metrics of a set add up to slots times cycles */

#define JM_COUNTER_METRICS_MAX     256
#define JM_COUNTER_BLOCK_BYTES_MAX ((size_t)256 << 10)

typedef struct jm__bytes {
    const void *at;
    size_t size;
} jm__bytes;

typedef struct jm__counter_set {
    int64_t id; /* from 1 */
    int64_t board_id;
    int64_t metric_count;
    const char *metrics; /* names, as a JSON array */
    const char *units;   /* likewise */
    int64_t period_ns;   /* requested, from one sample to the next; 0: none */
} jm__counter_set;

/* Times are CLOCK_MONOTONIC. All samples lie in [start_ns, end_ns]. */
typedef struct jm__counter_block {
    int64_t set_id;
    int64_t start_ns;
    int64_t end_ns;
    int64_t count; /* of samples */
    jm__bytes data;
} jm__counter_block;

typedef struct jm__counter_sample {
    int64_t start_ns;
    int64_t end_ns;
    double values[JM_COUNTER_METRICS_MAX];
} jm__counter_sample;

/* The size of a block's data in bytes; 0 if a block cannot have that many samples or metrics. */
size_t jm__counter_block_size(int64_t count, int64_t metric_count);

/* Encode `count` samples as a block's data. `to` has room for jm__counter_block_size. */
void jm__counter_block_pack(void *to, int64_t block_start_ns, const jm__counter_sample *samples,
                            int64_t count, int64_t metric_count);

/* Does the size match, and do all samples lie in the block? */
bool jm__counter_block_is_sound(const jm__counter_block *block, int64_t metric_count);

/* Decode sample `index` of a valid block. */
void jm__counter_block_sample(const jm__counter_block *block, int64_t metric_count, int64_t index,
                              jm__counter_sample *sample);

/* What the sampler has cost so far. */
typedef struct jm__sampler_cost {
    int64_t cpu_ns;  /* CPU time of its thread; -1 in these: not recorded */
    int64_t calls;   /* sensor reads */
    int64_t call_ns; /* time spent in them */
} jm__sampler_cost;

#endif
