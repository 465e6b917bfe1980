/* joulemap-counters: what it and the recorder say to each other, how it is started, and the recorder's end of
 * it. */
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

/* ---- Frames. Over a socket that is the helper's standard input and output: commands are one byte; answers
 * are frames: a head, and `size` bytes behind it. Both ends are of one machine and one build, so numbers are
 * as they lie in memory. */

/* Commands */
#define JM_COUNTERS_START 'b'
#define JM_COUNTERS_STOP  'e'
#define JM_COUNTERS_QUIT  'q' /* leave; as does the end of the recorder */

/* The cure that a fault names where a right is missing, by which the recorder knows. */
#define JM_COUNTERS_RIGHT_CURE                                                                               \
    "run as root, or have the administrator set NVreg_RestrictProfilingToAdminUsers=0"

#define JM_FRAME_MAGIC     0x434d504au /* "JPMC" */
#define JM_FRAME_BYTES_MAX (JM_COUNTER_BLOCK_BYTES_MAX + 1024)

typedef enum jm__frame_kind {
    JM_FRAME_HELLO =
        1, /* jm__frame_hello, then its texts, each with its NUL: chip, metric, unit, metric, ... */
    JM_FRAME_STARTED, /* nothing */
    JM_FRAME_SAMPLES, /* jm__frame_samples, then a block's data (format/rows/rows.h) */
    JM_FRAME_LOST,    /* int64_t: how many times the hardware's buffer was full; another sampler is made */
    JM_FRAME_STOPPED, /* nothing: all samples up to the stop have been sent, or it could not start just now */
    JM_FRAME_FAULT,   /* two texts, each with its NUL: what is wrong, the cure ("": none). Then it leaves. */
} jm__frame_kind;

typedef struct jm__frame_head {
    uint32_t magic;
    uint32_t kind;
    uint32_t size;
    uint32_t zero;
    int64_t cpu_ns; /* what the helper has used so far */
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

/* Writes all of it; false if nobody listens any more. */
bool jm__frame_send(int fd, jm__frame_kind kind, const void *head, size_t head_size, const void *rest,
                    size_t rest_size);

/* Frames out of a stream of bytes, one at a time. Zeroed: empty. */
typedef struct jm__frame_reader {
    unsigned char *bytes; /* JM_FRAME_BYTES_MAX and a head; allocated when the first come */
    size_t from, to;      /* what has come in and was not yet taken */
} jm__frame_reader;

/* ---- How joulemap-counters is started: which command, with which libraries to try, in which environment.
 * Found out once, in a thread of the program: the program may change its environment while a thread of ours
 * looks.
 */

typedef struct jm__counter_launch {
    char command[PATH_MAX];
    jm__cupti_candidates libraries;
    char **environment;
    char fault[200]; /* why there is no way: half a sentence; "" if there is one */
} jm__counter_launch;

/* `command` NULL: joulemap-counters, which lies beside this library. `sim`: the profile of the simulated
 * boards, NULL for real ones; `run_dir`: for those, NULL: none. Always gives a way or a fault. */
void jm__counter_launch_find(jm__counter_launch *way, const char *command, const char *sim,
                             const char *run_dir);
void jm__counter_launch_free(jm__counter_launch *way);

/* ---- The recorder's end of one joulemap-counters process. All that comes from it is looked at before it is
 * assumed: it shares a process with a driver and NVIDIA's libraries.
 *
 * It is no child of this process, once it has started (record/counters/process/serve.c): a program that waits
 * for all of its children would wait for it too. */

typedef enum jm__counter_state {
    JM_COUNTERS_PREPARING, /* CUDA starts, counters are chosen */
    JM_COUNTERS_IDLE,
    JM_COUNTERS_STARTING,
    JM_COUNTERS_SAMPLING,
    JM_COUNTERS_STOPPING, /* samples of before the stop still come */
    JM_COUNTERS_OVER,     /* the process is gone; `fault` says why, "" if it was told to */
} jm__counter_state;

typedef struct jm__counter_helper {
    jm__counter_state state;
    int64_t since_ns; /* in this state, or since it last said something */
    pid_t group;      /* of the process; 0: none */
    jm__kept_file link;
    jm__frame_reader reader;
    /* What it said at the start. */
    char chip[32];
    char *metrics, *units; /* JSON arrays */
    int64_t metric_count;
    int64_t period_ns;
    int64_t cpu_ns;     /* that it has used */
    int64_t began_ns;   /* the process */
    bool renewing;      /* its buffer was full, and no sample has come of another sampler */
    int64_t refused_ns; /* it could not start sampling then; 0: it could, the last time */
    int64_t samples;    /* that came */
    int64_t lost;       /* times that the hardware's buffer was full */
    char fault[200];    /* half a sentence */
    char cure[160];     /* "": there is none */
} jm__counter_helper;

/* Start it for a board. `task`: "serve", or "try": take the counters for a moment, say hello or a fault, and
 * leave. What fails is in `fault`. */
void jm__counter_helper_start(jm__counter_helper *helper, const jm__counter_launch *way, const char *task,
                              const jm_board *board);

/* GPUs do, and are found by their UUID. */
bool jm__counter_board_has_them(const jm_board *board);

/* JM_COUNTERS_START in IDLE, JM_COUNTERS_STOP in SAMPLING. */
void jm__counter_helper_tell(jm__counter_helper *helper, char command);

/* Take what it says, if anything. A block of samples is borrowed for the call. */
typedef void jm__counter_take(void *context, const jm__counter_block *block);
void jm__counter_helper_hear(jm__counter_helper *helper, jm__counter_take *take, void *context);

/* The descriptor to wait for; -1: none. */
int jm__counter_helper_fd(const jm__counter_helper *helper);

/* Let it leave by itself until then, else kill it; free what it has. `fault` and the numbers stay. */
void jm__counter_helper_end(jm__counter_helper *helper, int64_t until_ns);

#endif
