/* The sums of the pass, so that no item needs to be kept: by use (columns.h), by row and use, by cause. */
#ifndef JM_ATTRIBUTE_WORK_TALLY_H
#define JM_ATTRIBUTE_WORK_TALLY_H

#include "attribute/input/places.h"
#include "attribute/input/window.h"
#include "attribute/work/strata.h"
#include "base/map.h"
#include "model/board_model.h"
#include <stdbool.h>
#include <stddef.h>

/* Name, text in reports; in the order of a report's rows. */
#define JM_IDLE_CAUSE_MAP(X)                                                                                 \
    X(LAUNCH, "between kernels, < 50 us")                                                                    \
    X(LATE, "launch or host late, < 1 ms")                                                                   \
    X(DATA, "waiting for data")                                                                              \
    X(COPY, "after a copy to the host")                                                                      \
    X(WAIT, "waiting, 1 ms and more")                                                                        \
    X(EDGE, "before and after")                                                                              \
    X(TRACING, "made by tracing") /* taken out of the others: tally.c */

typedef enum jm__idle_cause {
#define X(name, text) JM_CAUSE_##name,
    JM_IDLE_CAUSE_MAP(X)
#undef X
        JM_IDLE_CAUSES
} jm__idle_cause;

/* A time in which nothing ran. */
typedef struct jm__gap {
    int64_t length_ns;
    double report_s; /* within the report's windows */
    double data_s;   /* of that, waiting for a data loader */
    bool edge;       /* before the first or after the last work in the report's windows */
    bool after_copy; /* the work before it was a copy to the host */
} jm__gap;

/* A wait for data counts as one at any length. A program that waited for a copy to the host launches late,
 * unless the gap is as short as a launch. All other gaps are classified by length. */
static inline jm__idle_cause jm__idle_cause_of(const jm__gap *gap)
{
    jm__idle_state state = jm__idle_state_after(gap->length_ns);
    if (gap->data_s > 0 && gap->data_s >= 0.5 * gap->report_s) return JM_CAUSE_DATA;
    if (gap->edge) return JM_CAUSE_EDGE;
    if (state == JM_IDLE_50_US) return JM_CAUSE_LAUNCH;
    if (gap->after_copy) return JM_CAUSE_COPY;
    return state == JM_IDLE_1_MS ? JM_CAUSE_LATE : JM_CAUSE_WAIT;
}

/* Seconds within the report's windows, of those within the steady state, and within the time from which
 * powers are learnt. */
typedef struct jm__seconds {
    double report_s;
    double steady_s;
    double learn_s;
} jm__seconds;

static inline void jm__seconds_add(jm__seconds *to, jm__seconds more, double share)
{
    to->report_s += more.report_s * share;
    to->steady_s += more.steady_s * share;
    to->learn_s += more.learn_s * share;
}

typedef struct jm__use_sum {
    jm__seconds inside;
    double outside_s;          /* in the report: in no span */
    double place_s[JM_PLACES]; /* in the report, by place */
    double ran_s;              /* sum of durations at any time, not shared; -1: never ran */
    int64_t calls;             /* at any time */
    double copies_s;           /* in the report: copies while only copies ran */
    double exposed_s;          /* in the report: collectives while no other kernel ran */
    double extrapolated_s;     /* in the report: extrapolated to untraced steps */
} jm__use_sum;

typedef JM_VEC(jm__use_sum) jm__use_sums;

/* The work of a use in a row of the report, within the report's windows. */
typedef struct jm__work_cell {
    uint32_t row;
    uint32_t use;
    double seconds;
    double steady_s;       /* of that, in the steady state */
    int64_t calls;         /* that began there */
    double extrapolated_s; /* extrapolated to untraced steps, until jm__extrapolated_settle adds it */
    double extrapolated_steady_s;
    double extrapolated_calls; /* the same; not in `calls` */
    int64_t start_ns;          /* of the first item */
    int64_t end_ns;            /* of the last */
} jm__work_cell;

typedef struct jm__work_cells {
    JM_VEC(jm__work_cell) items; /* in order of their first item */
    jm__map by_row;              /* numbers of items */
    size_t draws;                /* JM_DRAWS, or 0: none are kept */
    JM_VEC(double) off_s;        /* [items * draws]: error of extrapolated_s in each draw */
} jm__work_cells;

/* The traced steps of one burst on the board. */
typedef struct jm__burst_sum {
    double busy_s;                                   /* at any time */
    double idle_s[JM_IDLE_STATES][JM_IDLE_CAUSES];   /* at any time */
    double report_s[JM_IDLE_STATES][JM_IDLE_CAUSES]; /* idle time within the report's windows */
    double steady_s[JM_IDLE_STATES][JM_IDLE_CAUSES]; /* of that, in the steady state */
    double tracing_s[JM_IDLE_STATES];                /* of report_s: caused by tracing */
    double tracing_steady_s[JM_IDLE_STATES];         /* of steady_s, likewise */
    double tracing_u_s;                              /* standard uncertainty of their sum */
    double gaps[JM_IDLE_CAUSES];
} jm__burst_sum;

/* Traced work that counts in rows of other steps: its burst, and the row of the traced step. */
typedef struct jm__lent_row {
    uint32_t burst;
    uint32_t row;
} jm__lent_row;

/* A row of collectives: those that began within the report's windows. */
typedef struct jm__collective_sum {
    uint32_t row;
    int64_t with_bytes, without_bytes; /* calls with known and with unknown bytes */
    double bytes;
    double ran_s;     /* durations without waiting, not shared */
    double exposed_s; /* of the row's shared time: while no other kernel ran */
} jm__collective_sum;

typedef JM_VEC(jm__collective_sum) jm__collective_sums;

typedef struct jm__tally {
    jm__use_sums uses;
    jm__seconds idle[JM_IDLE_STATES];
    double idle_s[JM_IDLE_STATES][JM_IDLE_CAUSES]; /* in the report; a state's joules are split by these */
    double idle_steady_s[JM_IDLE_STATES][JM_IDLE_CAUSES]; /* of that, in the steady state */
    int64_t gaps[JM_IDLE_CAUSES];                         /* that overlap the report's windows */
    jm__intervals unrecorded; /* work of which nothing is recorded, in traced time */
    jm__work_cells work;
    jm__work_cells
        waits; /* gaps within the report's windows: `row` is the cause, `use` that of the next work */
    jm__collective_sums collectives;
    jm__map collective_of; /* numbers of these, by row */
    double collective_s;   /* in the report: a collective ran */
    double exposed_s;      /* of that: no other kernel ran */
    /* Extrapolation; empty without it. */
    jm__use_sums extrapolated_uses; /* until jm__extrapolated_settle adds them to `uses` */
    jm__burst_sum *bursts;          /* [bursts] */
    JM_VEC(jm__lent_row) lent_rows;
    jm__map lent_at;        /* their numbers */
    jm__work_cells lent;    /* `row` is a number of lent_rows; seconds as traced, not multiplied */
    double beside_s;        /* extrapolated time of the report that traced work covers */
    double off_s[JM_DRAWS]; /* error of all extrapolated work, in each draw */
    double (*extrapolated_idle_s)[JM_IDLE_STATES]; /* [strata]: idle time of the represented steps */
} jm__tally;
void jm__tally_free(jm__tally *tally);

/* The sums of a use, new or not; NULL if memory is out. Valid until the next call. */
jm__use_sum *jm__use_sum_at(jm__use_sums *sums, uint32_t use);

/* The number of a row of collectives, new or not; SIZE_MAX if memory is out. */
size_t jm__tally_collective(jm__tally *tally, uint32_t row);

#define JM__NO_CELL SIZE_MAX

/* The cell of a row and use, new or not; JM__NO_CELL if memory is out. */
size_t jm__work_cell_at(jm__work_cells *cells, uint32_t row, uint32_t use);
void jm__work_cells_free(jm__work_cells *cells);

/* Add the error of some seconds of a cell, in each draw. */
static inline void jm__work_cell_off(jm__work_cells *cells, size_t cell, const double *draws, double seconds)
{
    double *off_s = cells->off_s.items + cell * JM_DRAWS;
    for (size_t r = 0; r < JM_DRAWS; r++)
        off_s[r] += draws[r] * seconds;
}

/* Add calls to the cell of a lent row; JM__NO_CELL if memory is out. */
size_t jm__tally_lend(jm__tally *tally, jm__lent_row row, uint32_t use, uint32_t calls);

void jm__use_sum_add(jm__use_sum *to, const jm__use_sum *from, double share);

/* Replace provisional uses: final_of[use] is the final one. False if memory is out. */
bool jm__tally_renumber(jm__tally *tally, const uint32_t *final_of);

/* After all work of a board has passed: add the extrapolated work to the sums of the report, and the idle
 * time that it leaves of the steps' time; take the part caused by tracing out of the traced steps' idle time.
 * `from_host`: work is spans of the host. */
void jm__extrapolated_settle(jm__tally *tally, const jm__extrapolated *extrapolated, bool from_host);

#endif
