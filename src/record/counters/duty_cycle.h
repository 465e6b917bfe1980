/* When to sample a board's counters: for a quarter of a second at a time, often at first and then as often
 * as the share of each minute allows, and sooner for new work. The share is of the time that a sampler is on
 * the board, which draws more all the while. A sample costs 0.5 ms of CPU time (bench/results/counters.txt),
 * power, and a program that waits for its host some time (bench/results/sampler_draw.txt); kernels of one
 * class do the same from minute to minute.
 *
 * Samples are useless without traced work. If programs are traced in bursts, the bursts are sampled. The
 * sampler needs time to start, so it starts before a burst that was announced, or that is expected from the
 * distance of the last two.
 *
 * Pure functions of their inputs; all times are CLOCK_MONOTONIC. One thread at a time. */
#ifndef JM_RECORD_COUNTERS_DUTY_CYCLE_H
#define JM_RECORD_COUNTERS_DUTY_CYCLE_H

#include "base/clock.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Least length of an interval: each start costs half a second of CPU, and with its stop a third of a second
 * on the board. Longer ones if more is requested than such intervals a period apart make up. */
#define JM_DUTY_CYCLE_LENGTH_NS (JM_NS_PER_S / 4)
#define JM_DUTY_CYCLE_PERIOD_NS (10 * JM_NS_PER_S)
/* The same where bursts are waited for, which takes as long as they do. */
#define JM_DUTY_CYCLE_BURSTS_NS (JM_NS_PER_S / 2)
/* From the begin of the first interval to that of the second; then twice as long each time. */
#define JM_DUTY_CYCLE_GAP_NS (2 * JM_NS_PER_S)
/* A class is new until a millisecond of its work, one sample, was sampled. */
#define JM_DUTY_CYCLE_NEW_NS JM_NS_PER_MS
/* New classes matter if they are more than this share of the work. */
#define JM_DUTY_CYCLE_NEW_SHARE 0.02
/* Kernels are reported this late: CUPTI's buffers are flushed twice a second, and records wait in them. */
#define JM_DUTY_CYCLE_LATE_NS (1500 * JM_NS_PER_MS)

/* Sampling starts this long before an expected burst. A burst that does not come is given up after this
 * time. */
#define JM_DUTY_CYCLE_AHEAD_NS (600 * JM_NS_PER_MS)
#define JM_DUTY_CYCLE_SOON_NS  (2 * JM_NS_PER_S)

/* The helper's share of CPU time, and what its start and first seconds may cost. */
#define JM_DUTY_CYCLE_CPU_SHARE    0.03
#define JM_DUTY_CYCLE_CPU_START_NS (5 * JM_NS_PER_S)

#define JM_DUTY_CYCLE_DEFAULT_S 1.8   /* per minute: 3 % */
#define JM_DUTY_CYCLE_MIN_S     0.001 /* less counts as this */
#define JM_DUTY_CYCLE_ALWAYS_S  60.0  /* all the time, at any cost */

enum { JM_DUTY_CYCLE_CLASSES = 8192, JM_DUTY_CYCLE_INTERVALS = 16 };

/* Classes with ids that are equal modulo JM_DUTY_CYCLE_CLASSES count as one. */
typedef struct jm__duty_cycle_class {
    int64_t sampled_ns;   /* work in sampling intervals */
    int64_t unsampled_ns; /* work since the last interval */
} jm__duty_cycle_class;

typedef struct jm__duty_cycle_interval {
    int64_t start_ns;
    int64_t end_ns; /* INT64_MAX: still open */
} jm__duty_cycle_interval;

typedef struct jm__duty_cycle {
    double seconds_a_minute;
    int64_t began_ns;
    int64_t reported_at_ns; /* when kernels were last reported; 0: never */
    int64_t covered_ns;     /* work is reported up to here */
    int64_t sampled_ns;     /* length of all finished intervals */
    int64_t on_board_ns;    /* of the sampler for them, starts and stops included */
    int64_t unsampled_ns;   /* work since the last interval, all classes */
    int64_t requested_ns;   /* length of the current interval */
    bool in_bursts;         /* some process was untraced, since `untraced_ns` */
    bool in_burst;          /* ... and is traced again */
    int64_t untraced_ns;
    bool was_silent;  /* since then no kernels came for JM_DUTY_CYCLE_LATE_NS: newer ones are the warm-up of a
                         burst */
    bool announced;   /* bursts are announced: none is expected without */
    int64_t soon_ns;  /* when a burst was announced; 0: none is */
    int64_t burst_ns; /* begin of the last burst; 0: none yet */
    int64_t burst_spacing_ns; /* time between the begins of the last two; 0: unknown */
    int64_t bursts_ns;        /* time of finished bursts within the current interval */
    jm__duty_cycle_interval intervals[JM_DUTY_CYCLE_INTERVALS]; /* the last ones, a ring; the newest is [count
                                                                   - 1] modulo its size */
    size_t interval_count;
    size_t starts; /* starts of the sampler, including intervals that saw no traced work */
    jm__duty_cycle_class classes[JM_DUTY_CYCLE_CLASSES];
} jm__duty_cycle;

void jm__duty_cycle_init(jm__duty_cycle *duty_cycle, double seconds_a_minute, int64_t now_ns);

/* A kernel ran on the board. */
void jm__duty_cycle_kernel(jm__duty_cycle *duty_cycle, int64_t class_id, int64_t start_ns, int64_t end_ns,
                           int64_t now_ns);

/* A change of tracing on the board; jm__bursts_of_boards combines several processes. */
typedef enum jm__duty_cycle_burst {
    JM_DUTY_CYCLE_TRACED,
    JM_DUTY_CYCLE_UNTRACED,
    JM_DUTY_CYCLE_SOON,
    JM_DUTY_CYCLE_NO_BURSTS, /* its processes are traced all the time */
} jm__duty_cycle_burst;
void jm__duty_cycle_note_burst(jm__duty_cycle *duty_cycle, jm__duty_cycle_burst what, int64_t t_ns);

/* Should it sample now? `cpu_ns`: what the helper has used so far. The caller reports when sampling really
 * begins and ends. */
bool jm__duty_cycle_should_sample(jm__duty_cycle *duty_cycle, int64_t now_ns, int64_t cpu_ns);
void jm__duty_cycle_began(jm__duty_cycle *duty_cycle, int64_t t_ns);
void jm__duty_cycle_ended(jm__duty_cycle *duty_cycle, int64_t t_ns);

/* The sampler has left the board, on which it was for so long. */
void jm__duty_cycle_left(jm__duty_cycle *duty_cycle, int64_t on_board_ns);

/* ---- Which boards a process's bursts concern: a rank's bursts do not concern boards of other ranks. One
 * thread at a time. */

/* Bit i is board i, 0 to 63. */
typedef uint64_t jm__burst_boards;

typedef struct jm__burst_process {
    int64_t id;
    jm__burst_boards boards; /* boards with kernels of it; 0: none yet, so it may use any board that no
                                process is known to use */
    bool takes_bursts;       /* it was untraced at some time */
    bool traced;             /* by its last mark */
} jm__burst_process;

typedef struct jm__bursts_of_boards {
    JM_VEC(jm__burst_process) processes;
} jm__bursts_of_boards;

/* Zero-initialise; free with this. */
void jm__bursts_of_boards_free(jm__bursts_of_boards *bursts);

/* Boards whose state changed because a process ended or its boards became known. */
typedef struct jm__burst_changes {
    jm__burst_boards untraced;  /* a process with bursts works there, and none is traced now */
    jm__burst_boards no_bursts; /* no process with bursts works there any more */
} jm__burst_changes;

/* Kernels of the process run on the board. Processes without known boards no longer count for it, nor does
 * this process for unused boards. Without memory nothing changes. */
jm__burst_changes jm__bursts_of_boards_runs_on(jm__bursts_of_boards *bursts, int64_t process_id,
                                               size_t board);

/* The process marks a change; returns the boards on which it takes effect. Untraced takes effect only where
 * no other process is traced. */
jm__burst_boards jm__bursts_of_boards_mark(jm__bursts_of_boards *bursts, int64_t process_id,
                                           jm__duty_cycle_burst what);

jm__burst_changes jm__bursts_of_boards_ended(jm__bursts_of_boards *bursts, int64_t process_id);

#endif
