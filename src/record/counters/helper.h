/* The recorder's end of one joulemap-counters process. All that comes from it is looked at before it is
 * believed: it shares a process with a driver and NVIDIA's libraries.
 *
 * It is no child of this process, once it has started (record/counters/process/serve.c): a program that waits
 * for all of its children would wait for it too. */
#ifndef JM_RECORD_COUNTERS_HELPER_H
#define JM_RECORD_COUNTERS_HELPER_H

#include "base/kept_file.h"
#include "base/strbuf.h"
#include "record/counters/frame.h"
#include "record/counters/way.h"

#include <joulemap/board.h>
#include <sys/types.h>

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
void jm__counter_helper_start(jm__counter_helper *helper, const jm__counter_way *way, const char *task,
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
