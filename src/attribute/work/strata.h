/* Extrapolation: steps whose edges alone were recorded, and the traced steps that represent them. */
#ifndef JM_ATTRIBUTE_WORK_STRATA_H
#define JM_ATTRIBUTE_WORK_STRATA_H

#include "attribute/input/window.h"
#include "base/vec.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A step of a process (or a phase without steps) and the time up to the next one: traced, or known by its
 * edges only. */
typedef struct jm__step_interval {
    int64_t start_ns, end_ns, step_end_ns;
    uint32_t span;    /* the step */
    uint32_t process; /* by index */
    uint32_t kind;
    uint32_t stratum;     /* traced: its burst's own; untraced: the one that it belongs to, JM__NO_STRATUM:
                             none */
    uint32_t burst_index; /* traced: its number in its burst */
    bool traced;
    bool warm_up;  /* traced, and represents only itself */
    bool recorded; /* untraced, but more than its edges was recorded */
} jm__step_interval;

/* Whether it represents untraced steps of its kind. */
static inline bool jm__step_interval_is_sampled(const jm__step_interval *step)
{
    return step->traced && !step->warm_up;
}

#define JM__NO_STRATUM UINT32_MAX

#define JM__NO_STEP_INTERVAL SIZE_MAX

/* Traced steps of one kind in one traced interval of their process. Each represents equally many others. */
typedef struct jm__traced_burst {
    uint32_t process, kind, free_kind; /* free: the kind regardless of context */
    uint32_t step_intervals, interval;
    uint32_t span;          /* of its first step */
    int64_t from_ns, to_ns; /* start of its first step, end of its last */
    double step_s;          /* total duration of its steps */
    double slowed_u_s;      /* standard uncertainty of slowed_s; fully correlated between bursts of a kind */
    double slowed_s;        /* how much longer tracing made its steps, in total; NAN: unknown */
} jm__traced_burst;

/* A burst and the steps of one kind that it represents. The first strata, with the bursts' own numbers,
 * represent steps of the burst's own kind. */
typedef struct jm__stratum {
    uint32_t burst;
    size_t span; /* a step whose rows take the work: a traced one, or for another kind an untraced one */
} jm__stratum;

/* A kind with a single burst gives no measure of the variation between bursts. */
typedef struct jm__single_burst_kind {
    uint32_t burst;
    double relative_u; /* standard uncertainty of a layer's time in the steps that it represents */
} jm__single_burst_kind;

typedef struct jm__strata {
    JM_VEC(jm__step_interval)
    step_intervals;                   /* by process and time, of processes with untraced steps */
    size_t *step_intervals_of;        /* [processes + 1]: the first of each process */
    uint32_t *step_interval_of_span;  /* [spans]: number + 1 of the step interval whose step it is or lies
                                         in; 0: none */
    JM_VEC(uint32_t) free_kind_of;    /* [kinds]: at number - 1, the kind regardless of context */
    JM_VEC(uint32_t) unsplit_kind_of; /* [kinds]: the kind before it was split by counts */
    JM_VEC(jm__traced_burst) bursts;  /* by kind and time */
    JM_VEC(jm__stratum) items;
    JM_VEC(jm__single_burst_kind) single_burst;
    jm__intervals *extrapolated; /* [processes]: time that traced steps represent */
    size_t processes;
    size_t marked;    /* steps whose edges alone count */
    size_t missing;   /* of those, the ones that no traced step represents */
    double slow_down; /* how much longer a traced step takes, relative; NAN: unknown */
} jm__strata;

/* Whether any traced step represents others. */
static inline bool jm__strata_any(const jm__strata *strata)
{
    return strata != NULL && strata->items.count > 0;
}

/* The step interval of a process at a time; JM__NO_STEP_INTERVAL: none. */
size_t jm__strata_step_interval_at(const jm__strata *strata, size_t process, int64_t t_ns);

/* Whether a span of this process does not count, since it began in extrapolated time. */
static inline bool jm__strata_exclude(const jm__strata *strata, size_t process, int64_t start_ns)
{
    return strata->extrapolated != NULL && jm__intervals_contain(&strata->extrapolated[process], start_ns);
}

void jm__strata_free(jm__strata *strata);

/* The sampling error of bursts is drawn this often, with random signs; every row has its error in each draw.
 * The standard uncertainty of any sum of rows is the root mean square of its draws, itself uncertain by 1/8.
 * Up to this many pairs of bursts have a draw each, which is exact. */
enum { JM_DRAWS = 32 };

/* Which rows take the work of the steps that a burst represents. */
typedef enum jm__extrapolated_rows {
    JM_EXTRAPOLATED_IN_ROWS, /* rows of the traced work; for other kinds, the corresponding rows */
    JM_EXTRAPOLATED_ALL,     /* rows of the traced work, for all kinds */
    JM_EXTRAPOLATED_BY_STEP  /* rows of each represented step */
} jm__extrapolated_rows;

/* Time of the report less a process's extrapolated time, in which its own records do not count. */
typedef struct jm__extrapolated_view {
    jm__intervals report, steady;
} jm__extrapolated_view;

/* What a burst represents in a stratum, in the time of one report. */
typedef struct jm__stratum_sum {
    double steps, steady_steps; /* that each traced step of the burst represents; may be fractional */
    double seconds, steady_s;   /* of all represented step intervals */
    double step_s;              /* of the represented steps alone, in the report */
    double recorded;            /* number of represented steps that were recorded as warm-up */
} jm__stratum_sum;

/* The same in all its strata. Errors are drawn by unit: a burst, or a single step of a kind with one burst.
 */
typedef struct jm__represented {
    double steps, steady_steps;
    double in_row; /* of `steps`: in strata whose rows are the work's own */
    double in_row_steady;
    size_t unit;      /* of its first step */
    uint32_t partner; /* the neighbouring burst of its kind, itself if there is none */
    bool lends;       /* some of its work goes to other rows */
    bool alone;       /* the only one of its kind, so each step is a unit */
} jm__represented;

/* How many steps each traced one represents, on one board and in the time of one report. */
typedef struct jm__extrapolated {
    const jm__strata *strata; /* NULL: none, and all that follows is empty */
    jm__stratum_sum *of_stratum;
    jm__represented *of_burst;
    float
        *of_step_interval; /* [step intervals]: its part of `steps` with JM_EXTRAPOLATED_BY_STEP; else NULL */
    double *draws;         /* [units * JM_DRAWS]: error of a second of a step, in each draw */
    double *parts;         /* [bursts * JM_DRAWS]: factor of the difference to the partner, in each draw */
    double single_burst_u; /* standard uncertainty of all that is extrapolated from single bursts, relative */
    double freedom;        /* degrees of freedom behind the draws */
    jm__extrapolated_rows rows;
    bool *uses;                          /* [processes]: whether it works on the board */
    jm__intervals time;                  /* extrapolated time of any process of the board */
    double time_s;                       /* of that, in the report */
    uint32_t *view_of;                   /* [processes]: number of its view; 0: all of the report */
    JM_VEC(jm__extrapolated_view) views; /* number 1 is the first */
    uint32_t idle_view;                  /* the time outside `time` */
    size_t idle_process;                 /* the process whose steps idle time is counted in */
} jm__extrapolated;

typedef struct jm__extrapolated_requested {
    const jm__strata *strata;
    const jm__intervals *report;
    const jm__intervals *steady;
    const bool *uses; /* [processes]; NULL: all */
    jm__extrapolated_rows rows;
} jm__extrapolated_requested;

/* False if memory is out. Free it in any case. */
bool jm__extrapolated_find(jm__extrapolated *out, const jm__extrapolated_requested *requested);
void jm__extrapolated_free(jm__extrapolated *extrapolated);

/* The draws of a traced step interval. */
static inline const double *jm__extrapolated_draws(const jm__extrapolated *extrapolated,
                                                   const jm__step_interval *step)
{
    size_t unit = extrapolated->of_burst[step->stratum].unit +
                  (extrapolated->of_burst[step->stratum].alone ? step->burst_index : 0);
    return extrapolated->draws + unit * JM_DRAWS;
}

/* A random sign, 1 or -1; the same for the same arguments. */
static inline double jm__draw_sign(uint64_t item, uint64_t draw)
{
    uint64_t x = item * UINT64_C(0x9e3779b97f4a7c15) + draw * UINT64_C(0xd1b54a32d192ed03) + 1;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((x ^ (x >> 31)) & 1) != 0 ? 1 : -1;
}

#endif
