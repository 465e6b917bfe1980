/* When a board's counters are sampled: at first, for a little of each minute, and again when work is new that
 * no sample has seen. A sample costs half a millisecond of CPU (bench/results/counters.txt), and what kernels
 * of a class do does not change from minute to minute.
 *
 * Samples tell nothing of work that is not traced. Of programs that are so in turns, turns are sampled: a
 * sampler needs some time to begin, so it does ahead of one that was announced, or that is expected as
 * the last two lay apart.
 *
 * A function of what it is told; all times CLOCK_MONOTONIC. One thread at a time. */
#ifndef JM_RECORD_COUNTERS_DUTY_CYCLE_H
#define JM_RECORD_COUNTERS_DUTY_CYCLE_H

#include "base/clock.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Work that runs in that many seconds is sampled at first. */
#define JM_DUTY_CYCLE_FIRST_NS (2 * JM_NS_PER_S)
/* Of a minute's seconds, at a time: each start costs half a second of CPU. */
#define JM_DUTY_CYCLE_PIECE_NS JM_NS_PER_S
/* At least, where work is new. */
#define JM_DUTY_CYCLE_AGAIN_NS (300 * JM_NS_PER_MS)
/* A class has been seen once it was sampled that long: twenty samples ... */
#define JM_DUTY_CYCLE_SEEN_NS (20 * JM_NS_PER_MS)
/* ... and those that were not, matter if together they are more than this share of the work. */
#define JM_DUTY_CYCLE_UNSEEN_SHARE 0.02
/* Kernels are told that late: CUPTI's buffers are emptied twice a second, and records rest. */
#define JM_DUTY_CYCLE_LATE_NS (1500 * JM_NS_PER_MS)

/* So long before a turn that is expected; what was announced, or expected, and does not come is given up. */
#define JM_DUTY_CYCLE_AHEAD_NS (600 * JM_NS_PER_MS)
#define JM_DUTY_CYCLE_SOON_NS  (2 * JM_NS_PER_S)

/* The helper's CPU time, of the elapsed time; and what its start and the first seconds may cost. */
#define JM_DUTY_CYCLE_CPU_SHARE    0.03
#define JM_DUTY_CYCLE_CPU_START_NS (5 * JM_NS_PER_S)

#define JM_DUTY_CYCLE_DEFAULT_S 2.0   /* of each minute */
#define JM_DUTY_CYCLE_LEAST_S   0.001 /* less is as good as none */
#define JM_DUTY_CYCLE_ALWAYS_S  60.0  /* as much as there is, whatever it costs */

enum { JM_DUTY_CYCLE_CLASSES = 8192, JM_DUTY_CYCLE_INTERVALS = 16 };

/* Classes whose numbers agree modulo JM_DUTY_CYCLE_CLASSES count as one. */
typedef struct jm__duty_cycle_class {
    int64_t sampled_ns; /* of its work */
    int64_t since_ns;   /* its work since the last interval */
} jm__duty_cycle_class;

typedef struct jm__duty_cycle_interval {
    int64_t start_ns;
    int64_t end_ns; /* INT64_MAX: not yet */
} jm__duty_cycle_interval;

typedef struct jm__duty_cycle {
    double seconds_a_minute;
    int64_t began_ns;
    int64_t told_at_ns;   /* when kernels were last told; 0: never */
    int64_t covered_ns;   /* work is told up to there */
    int64_t sampled_ns;   /* time with work in all intervals */
    int64_t since_ns;     /* work since the last interval, all classes */
    int64_t requested_ns; /* how long the interval that goes on is to be */
    bool in_bursts;       /* some process was not traced, from `untraced_ns` on */
    bool in_burst;        /* ... and is again */
    int64_t untraced_ns;
    bool
        was_silent; /* since then nothing was told for JM_DUTY_CYCLE_LATE_NS: what is, gets warm for a turn */
    bool announced; /* ... turns are: no other is expected */
    int64_t soon_ns;   /* when a turn was announced; 0: none is */
    int64_t burst_ns;  /* when the last turn began; 0: never, ... */
    int64_t apart_ns;  /* ... and how long after the one before; 0: not known */
    int64_t bursts_ns; /* of the interval that goes on, what lay in turns that are over */
    jm__duty_cycle_interval
        intervals[JM_DUTY_CYCLE_INTERVALS]; /* the last ones; [count - 1] modulo their number */
    size_t interval_count;
    size_t starts; /* of the sampler: also of intervals that counted for nothing */
    jm__duty_cycle_class classes[JM_DUTY_CYCLE_CLASSES];
} jm__duty_cycle;

void jm__duty_cycle_init(jm__duty_cycle *duty_cycle, double seconds_a_minute, int64_t now_ns);

/* A kernel ran on the board. */
void jm__duty_cycle_kernel(jm__duty_cycle *duty_cycle, int64_t class_id, int64_t start_ns, int64_t end_ns,
                           int64_t now_ns);

/* A process that works on the board began to be traced, or no longer is, or soon will be; of several see
 * below.
 */
typedef enum jm__duty_cycle_burst {
    JM_DUTY_CYCLE_TRACED,
    JM_DUTY_CYCLE_UNTRACED,
    JM_DUTY_CYCLE_SOON,
    JM_DUTY_CYCLE_NO_BURSTS, /* whoever works on it is traced all of the time */
} jm__duty_cycle_burst;
void jm__duty_cycle_tell_burst(jm__duty_cycle *duty_cycle, jm__duty_cycle_burst what, int64_t t_ns);

/* Whether to sample now; `cpu_ns`: what the helper has used so far. The caller tells when sampling truly
 * begins and ends. */
bool jm__duty_cycle_wants(jm__duty_cycle *duty_cycle, int64_t now_ns, int64_t cpu_ns);
void jm__duty_cycle_began(jm__duty_cycle *duty_cycle, int64_t t_ns);
void jm__duty_cycle_ended(jm__duty_cycle *duty_cycle, int64_t t_ns);

/* ---- Of a run's processes that are traced in turns: whose turns are a board's. A rank's say nothing of the
 * boards that others work on. One thread at a time. */

/* Boards are numbered from 0 to 63; bit i is the i-th. */
typedef uint64_t jm__burst_boards;

typedef struct jm__burst_process {
    int64_t id;
    jm__burst_boards boards; /* kernels of it were seen there; 0: nowhere yet, so it may be any that nobody is
                              * known to work on */
    bool takes_bursts;       /* it was once not traced */
    bool traced;             /* it said last that it is */
} jm__burst_process;

typedef struct jm__bursts_of_boards {
    JM_VEC(jm__burst_process) processes;
} jm__bursts_of_boards;

/* Zeroed is ready; free with this. */
void jm__bursts_of_boards_free(jm__bursts_of_boards *bursts);

/* Boards of which something is news, since a process has ended, or speaks for others than before. */
typedef struct jm__bursts_news {
    jm__burst_boards untraced;  /* somebody takes turns there, and nobody of them is traced */
    jm__burst_boards no_bursts; /* nobody takes turns any more */
} jm__bursts_news;

/* Kernels of the process run on the board: those who were seen nowhere do not speak for it now, nor this
 * process for boards of nobody. Without memory nothing changes. */
jm__bursts_news jm__bursts_of_boards_works(jm__bursts_of_boards *bursts, int64_t process_id, size_t board);

/* The process says so; the boards that it is true of. That it is not traced is not, while another one is that
 * works there. */
jm__burst_boards jm__bursts_of_boards_said(jm__bursts_of_boards *bursts, int64_t process_id,
                                           jm__duty_cycle_burst what);

jm__bursts_news jm__bursts_of_boards_ended(jm__bursts_of_boards *bursts, int64_t process_id);

#endif
