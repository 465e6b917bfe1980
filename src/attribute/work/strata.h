/* Steps of which only the edges were recorded, and the traced steps that stand for them. */
#ifndef JM_ATTRIBUTE_WORK_STRATA_H
#define JM_ATTRIBUTE_WORK_STRATA_H

#include "attribute/input/window.h"
#include "base/vec.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A step of a process, or a phase without steps, with what follows it up to the next one. Traced, or told by
 * its edges. */
typedef struct jm__step_interval {
    int64_t start_ns, end_ns, step_end_ns;
    uint32_t span;    /* the step */
    uint32_t process; /* by index */
    uint32_t kind;
    uint32_t stratum;     /* of a traced one, its turn's own; of another, what stands for it: JM__NO_STRATUM:
                             nothing */
    uint32_t burst_place; /* of a traced one: which it is in its turn */
    bool traced;
    bool warm_up;  /* traced, and stands for itself alone */
    bool recorded; /* of another one: more than its edges was */
} jm__step_interval;

/* Does it stand for others of its kind? */
static inline bool jm__step_interval_strata(const jm__step_interval *step_interval)
{
    return step_interval->traced && !step_interval->warm_up;
}

#define JM__NO_STRATUM UINT32_MAX

#define JM__NO_STEP_INTERVAL SIZE_MAX

/* Traced steps of one kind in one traced interval of their process: each of them stands for as many others.
 */
typedef struct jm__traced_burst {
    uint32_t process, kind, loose_kind; /* loose: wherever it ran */
    uint32_t step_intervals, interval;
    uint32_t span;          /* of the first of its steps */
    int64_t from_ns, to_ns; /* of the first, of the last: their steps */
    double step_s;          /* that these took, all together */
    double slowed_u_s;      /* standard uncertainty of slowed_s; errors of all turns of a kind are as one */
    double slowed_s;        /* how much longer all of its steps took for being traced; NAN: not known */
} jm__traced_burst;

/* A turn, and steps of one kind that it stands for. The first stands are those of turns for their own kind,
 * by the same numbers. */
typedef struct jm__stratum {
    uint32_t burst;
    size_t span; /* one of those steps, in whose place the work is then; of the turn's own: of a traced one */
} jm__stratum;

/* Of a kind with a single turn nobody knows how much one turn differs from the next. */
typedef struct jm__single_burst_kind {
    uint32_t burst;
    double relative_u; /* standard uncertainty of what a layer takes in the steps that it stands for */
} jm__single_burst_kind;

typedef struct jm__strata {
    JM_VEC(jm__step_interval)
    step_intervals;                  /* by process and time, of processes that record steps alone at times */
    size_t *step_intervals_of;       /* [processes + 1]: where those of each begin */
    uint32_t *step_interval_of_span; /* [spans]: number + 1 of the step interval whose step it is or lies in;
                                        0: none */
    JM_VEC(uint32_t) loose_of;       /* [kinds]: by number - 1: the same wherever it ran */
    JM_VEC(uint32_t) whole_of;       /* [kinds]: what it was before it was parted by counts */
    JM_VEC(jm__traced_burst) bursts; /* by kind and time */
    JM_VEC(jm__stratum) items;
    JM_VEC(jm__single_burst_kind) single_burst;
    jm__intervals *extrapolated; /* [processes]: told by their steps, and by traced ones of their kind */
    size_t processes;
    size_t marked;    /* steps that were told by their edges */
    size_t missing;   /* of those, such as no traced step stands for */
    double slow_down; /* by how much a traced step took longer, relative; NAN: not known */
} jm__strata;

/* Does any traced step stand for others? */
static inline bool jm__strata_any(const jm__strata *strata)
{
    return strata != NULL && strata->items.count > 0;
}

/* The step interval that a moment of a process lies in; JM__NO_STEP_INTERVAL: in none. */
size_t jm__strata_step_interval_at(const jm__strata *strata, size_t process, int64_t t_ns);

/* Is a span of this process recorded only by the way, while steps alone counted: it began in time that traced
 * steps stand for. */
static inline bool jm__strata_hide(const jm__strata *strata, size_t process, int64_t start_ns)
{
    return strata->extrapolated != NULL && jm__intervals_hold(&strata->extrapolated[process], start_ns);
}

void jm__strata_free(jm__strata *strata);

/* For how many steps each traced one stands, on one board and in the time of one report. */

/* What the traced steps of one turn differ from the others by is drawn so often, with signs of chance, and
 * of each draw every row knows what it would be off by: so the error of any sum of rows is the root mean
 * square of its draws, 1 in 8 of it unsure. As many turns as that and fewer have a draw each, and nothing is
 * left to chance. */
enum { JM_DRAWS = 32 };

/* Whose rows take the work of the steps that a turn stands for. */
typedef enum jm__extrapolated_rows {
    JM_EXTRAPOLATED_IN_ROWS, /* those of the traced work; of other kinds than the turn's own, what lies like
                                them */
    JM_EXTRAPOLATED_ALL,     /* those of the traced work, whatever the kind */
    JM_EXTRAPOLATED_BY_STEP  /* those of each such step */
} jm__extrapolated_rows;

/* Time of the report, less that in which a process is told by its steps: then its own records count for
 * nothing. */
typedef struct jm__extrapolated_view {
    jm__intervals report, steady;
} jm__extrapolated_view;

typedef struct jm__extrapolated {
    const jm__strata *strata; /* NULL: none; all that follows is empty then */
    /* [stands]: steps that each traced one of the turn stands for; parts of steps too. */
    double *steps, *steady_steps;
    double *seconds, *steady_s; /* [stands]: that all of those took */
    double *step_s;   /* [stands]: that those steps took in the report, without what comes behind them */
    double *recorded; /* [stands]: of those steps, such as were recorded to get ready, by their number */
    /* [turns]: the same of all stands of a turn, and of those whose rows are the work's own. */
    double *of_burst, *steady_of_burst, *in_row;
    float *of_step_interval; /* [step intervals], where rows are those of each step: its part of `steps`; else
                                NULL */
    bool *lends;             /* [turns]: some of it goes to other rows */
    double *draws;           /* [units * JM_DRAWS]: what a second of a step of this unit is in each draw */
    size_t *unit;            /* [turns]: the unit of its first step */
    uint32_t *partner;       /* [turns]: a neighbour of its kind; itself: it has none */
    double *parts; /* [turns * JM_DRAWS]: in each draw, of what a step of the partner is more than its own */
    bool *alone;   /* [turns]: each of its steps is a unit of its own: there is no other turn of its kind */
    double single_burst_u; /* of all that is stood for: relative, since nobody knows how turns of a kind
                              differ */
    double freedom;        /* degrees of freedom behind the draws */
    jm__extrapolated_rows rows;
    bool *uses;                          /* [processes]: does it work on the board */
    jm__intervals time;                  /* in which any process of the board is told by its steps */
    double time_s;                       /* of that, in the report */
    uint32_t *view_of;                   /* [processes]: 0: as the report is */
    JM_VEC(jm__extrapolated_view) views; /* from 1 on */
    uint32_t idle_view;                  /* outside of `time` */
    size_t idle_process;                 /* whose steps idle time is told by */
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

/* Its draws; of a traced step interval. */
static inline const double *jm__extrapolated_draws(const jm__extrapolated *extrapolated,
                                                   const jm__step_interval *step_interval)
{
    size_t unit = extrapolated->unit[step_interval->stratum] +
                  (extrapolated->alone[step_interval->stratum] ? step_interval->burst_place : 0);
    return extrapolated->draws + unit * JM_DRAWS;
}

/* 1 or -1, by chance, the same for the same two numbers. */
static inline double jm__draw_sign(uint64_t what, uint64_t draw)
{
    uint64_t x = what * UINT64_C(0x9e3779b97f4a7c15) + draw * UINT64_C(0xd1b54a32d192ed03) + 1;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((x ^ (x >> 31)) & 1) != 0 ? 1 : -1;
}

#endif
