/* joulemap-counters, a process that samples hardware counters: its protocol, how it is started, and the
 * recorder's end of it. */
#ifndef JM_RECORD_COUNTERS_HELPER_H
#define JM_RECORD_COUNTERS_HELPER_H

#include "base/kept_file.h"
#include "base/strbuf.h"
#include "format/rows/rows.h"
#include "record/cupti/search.h"

#include <joulemap/board.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- Frames. The link is a socket, the helper's standard input and output. Commands are one byte; answers
 * are frames of a head and `size` bytes. Both ends run on one machine from one build, so numbers have the
 * machine's layout. */

/* Commands */
#define JM_COUNTERS_START 'b'
#define JM_COUNTERS_STOP  'e'
#define JM_COUNTERS_QUIT  'q' /* exit; as does the end of the recorder */

/* The cure in an error for missing rights, by which the recorder recognises it. */
#define JM_COUNTERS_RIGHT_CURE                                                                               \
    "run as root, or have the administrator set NVreg_RestrictProfilingToAdminUsers=0"

#define JM_FRAME_MAGIC     0x434d504au /* "JPMC" */
#define JM_FRAME_BYTES_MAX (JM_COUNTER_BLOCK_BYTES_MAX + 1024)

typedef enum jm__frame_kind {
    JM_FRAME_HELLO = 1, /* jm__frame_hello, then NUL-terminated texts: chip, metric, unit, metric, ... */
    JM_FRAME_STARTED,   /* empty */
    JM_FRAME_SAMPLES,   /* jm__frame_samples, then a block's data (format/rows/rows.h) */
    JM_FRAME_LOST,      /* int64_t: how often the hardware buffer was full; another sampler is made */
    JM_FRAME_STOPPED,   /* empty: all samples up to the stop were sent, or it could not start now */
    JM_FRAME_ERROR,     /* two NUL-terminated texts: the error, and its cure or "". Then it exits. */
} jm__frame_kind;

typedef struct jm__frame_head {
    uint32_t magic;
    uint32_t kind;
    uint32_t size;
    uint32_t zero;
    int64_t cpu_ns; /* CPU time of the helper so far */
} jm__frame_head;

typedef struct jm__frame_hello {
    int64_t metric_count;
    int64_t period_ns;
} jm__frame_hello;

typedef struct jm__frame_samples {
    int64_t start_ns; /* CLOCK_MONOTONIC */
    int64_t end_ns;
    int64_t count;
} jm__frame_samples;

/* Writes all of it; false if the other end is closed. */
bool jm__frame_send(int fd, jm__frame_kind kind, const void *head, size_t head_size, const void *rest,
                    size_t rest_size);

/* Splits a byte stream into frames. Zero-initialise. */
typedef struct jm__frame_reader {
    unsigned char *bytes; /* JM_FRAME_BYTES_MAX and a head; allocated on first use */
    size_t from, to;      /* received and not yet handled */
} jm__frame_reader;

/* ---- How joulemap-counters is started: command, candidate libraries, environment. Determined once, on a
 * thread of the program, which may change its environment at any time. */

typedef struct jm__counter_launch {
    char command[PATH_MAX];
    jm__cupti_candidates libraries;
    char **environment;
    char error[200]; /* why it cannot be started: half a sentence; "" if it can */
} jm__counter_launch;

/* `command` NULL: joulemap-counters beside this library. `sim`: the profile of simulated boards, NULL for
 * real ones; `run_dir`: for simulated ones, NULL: none. Sets either the launch or an error. */
void jm__counter_launch_find(jm__counter_launch *launch, const char *command, const char *sim,
                             const char *run_dir);
void jm__counter_launch_free(jm__counter_launch *launch);

/* ---- The recorder's end of one joulemap-counters process. Everything that it sends is checked: it shares a
 * process with a driver and NVIDIA's libraries.
 *
 * After its start it is no child of this process (record/counters/process/serve.c): a program that waits for
 * all of its children would wait for it too. */

typedef enum jm__counter_state {
    JM_COUNTERS_PREPARING, /* starting CUDA, choosing counters */
    JM_COUNTERS_IDLE,
    JM_COUNTERS_STARTING,
    JM_COUNTERS_SAMPLING,
    JM_COUNTERS_STOPPING, /* samples from before the stop still arrive */
    JM_COUNTERS_OVER,     /* the process is gone; `error` says why, "" if it was ended on purpose */
} jm__counter_state;

typedef struct jm__counter_helper {
    jm__counter_state state;
    int64_t since_ns; /* since the state changed or something was received */
    pid_t group;      /* process group; 0: none */
    jm__kept_file link;
    jm__frame_reader reader;
    /* From its hello. */
    char chip[32];
    char *metrics, *units; /* JSON arrays */
    int64_t metric_count;
    int64_t period_ns;
    int64_t cpu_ns;     /* CPU time that it has used */
    int64_t began_ns;   /* of the process */
    bool renewing;      /* its buffer was full, and the new sampler has sent nothing yet */
    int64_t refused_ns; /* when it last failed to start sampling; 0: the last start worked */
    int64_t samples;    /* received */
    int64_t lost;       /* how often the hardware buffer was full */
    char error[200];    /* half a sentence */
    char cure[160];     /* "": there is none */
} jm__counter_helper;

/* Starts it for a board. `task`: "serve", or "try": take the counters for a moment, send hello or an error,
 * and exit. Failures are in `error`. */
void jm__counter_helper_start(jm__counter_helper *helper, const jm__counter_launch *launch, const char *task,
                              const jm_board *board);

/* True for GPUs with a UUID. */
bool jm__board_has_counters(const jm_board *board);

/* JM_COUNTERS_START in IDLE, JM_COUNTERS_STOP in SAMPLING. */
void jm__counter_helper_command(jm__counter_helper *helper, char command);

/* Handles received frames, if any. A block of samples is borrowed for the call. */
typedef void jm__counter_take(void *context, const jm__counter_block *block);
void jm__counter_helper_receive(jm__counter_helper *helper, jm__counter_take *take, void *context);

/* The descriptor to poll; -1: none. */
int jm__counter_helper_fd(const jm__counter_helper *helper);

/* Waits for its exit until `until_ns`, else kills it; frees its memory. `error` and the numbers stay. */
void jm__counter_helper_end(jm__counter_helper *helper, int64_t until_ns);

#endif
