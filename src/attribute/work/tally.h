/* What the pass adds up, so that no item needs to be kept: by use (columns.h), by use in each row, by cause.
 */
#ifndef JM_ATTRIBUTE_WORK_TALLY_H
#define JM_ATTRIBUTE_WORK_TALLY_H

#include "attribute/input/places.h"
#include "attribute/input/window.h"
#include "attribute/work/strata.h"
#include "base/map.h"
#include "model/board_model.h"
#include <stdbool.h>
#include <stddef.h>

/* Name, words of a report; in the order of its rows. */
#define JM_IDLE_CAUSE_MAP(X)                                                                                 \
    X(LAUNCH, "between kernels, < 50 us")                                                                    \
    X(LATE, "launch or host late, < 1 ms")                                                                   \
    X(DATA, "waiting for data")                                                                              \
    X(COPY, "after a copy to the host")                                                                      \
    X(WAIT, "waiting, 1 ms and more")                                                                        \
    X(EDGE, "before and after")                                                                              \
    X(TRACING, "made by tracing") /* in any of the others: extrapolated_idle.c */

typedef enum jm__idle_cause {
#define X(name, text) JM_CAUSE_##name,
    JM_IDLE_CAUSE_MAP(X)
#undef X
        JM_IDLE_CAUSES
} jm__idle_cause;

/* What is known of a gap, in which nothing ran. */
typedef struct jm__gap {
    int64_t length_ns;
    double report_s; /* of it, in the report's windows */
    double data_s;   /* of that, in which a data loader was waited for */
    bool edge;       /* nothing ran in the report's windows before it, or nothing will after it */
    bool after_copy; /* what ended before it was a copy to the host */
} jm__gap;

/* A wait for data is one however long it is. After a copy to the host a program that waited for its result
 * launches late; a gap that is no longer than a launch takes tells nothing of that. What cannot be told goes
 * by the length. */
static inline jm__idle_cause jm__idle_cause_of(const jm__gap *gap)
{
    jm__idle_state state = jm__idle_state_after(gap->length_ns);
    if (gap->data_s > 0 && gap->data_s >= 0.5 * gap->report_s) return JM_CAUSE_DATA;
    if (gap->edge) return JM_CAUSE_EDGE;
    if (state == JM_IDLE_50_US) return JM_CAUSE_LAUNCH;
    if (gap->after_copy) return JM_CAUSE_COPY;
    return state == JM_IDLE_1_MS ? JM_CAUSE_LATE : JM_CAUSE_WAIT;
}

/* Seconds inside the windows of the report, inside those of them in which steps were steady, and inside those
 * that powers are learnt from. */
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
    double outside_s;          /* of the report's: in no span */
    double place_s[JM_PLACES]; /* of the report's, by where it lies */
    double ran_s;              /* sum of durations, whenever and beside whatever it ran; -1: never */
    int64_t calls;             /* whenever */
    double copies_s;           /* of the report's: copies with nothing but copies beside them */
    double exposed_s;          /* of the report's: collectives with no other kernel beside them */
    double extrapolated_s;     /* of the report's: of steps that traced ones stand for */
} jm__use_sum;

typedef JM_VEC(jm__use_sum) jm__use_sums;

/* What a use did in a row of the report, inside the report's windows. */
typedef struct jm__work_cell {
    uint32_t row;
    uint32_t use;
    double seconds;
    int64_t calls;             /* that began there */
    double extrapolated_s;     /* of steps that traced ones stand for, until jm__extrapolated_settle has added
                                  them */
    double extrapolated_calls; /* of those, and never in `calls` */
    int64_t start_ns;          /* of the first item */
    int64_t end_ns;            /* of the last */
} jm__work_cell;

typedef struct jm__work_cells {
    JM_VEC(jm__work_cell) items; /* in order of their first item */
    jm__map by_row;              /* numbers of items */
    size_t draws;                /* JM_DRAWS, or 0: none are kept */
    JM_VEC(double) off_s;        /* [items * draws]: what extrapolated_s is off by in each draw */
} jm__work_cells;

/* What the traced steps of one turn did on the board, whatever time is asked for: what others did, too. And
 * how long it was idle in them inside the report's windows. */
typedef struct jm__burst_sum {
    double busy_s;
    double idle_s[JM_IDLE_STATES][JM_IDLE_CAUSES];
    double report_s[JM_IDLE_STATES][JM_IDLE_CAUSES];
    double steady_s[JM_IDLE_STATES];
    double tracing_s[JM_IDLE_STATES]; /* of report_s: for being traced */
    double tracing_u_s;               /* standard uncertainty of their sum */
    double gaps[JM_IDLE_CAUSES];
} jm__burst_sum;

/* Where rows are not those of the traced work: which turn it is of, and in which row it was. */
typedef struct jm__lent_row {
    uint32_t burst;
    uint32_t row;
} jm__lent_row;

/* What is known of a row of collectives, of what began inside the report's windows. */
typedef struct jm__collective_sum {
    uint32_t row;
    int64_t marked, unmarked; /* calls whose bytes are known, or not */
    double bytes;
    double ran_s;     /* durations without waiting, beside whatever they ran */
    double exposed_s; /* of the row's time (shares): no other kernel ran */
} jm__collective_sum;

typedef JM_VEC(jm__collective_sum) jm__collective_sums;

typedef struct jm__tally {
    jm__use_sums uses;
    jm__seconds idle[JM_IDLE_STATES];
    double idle_s[JM_IDLE_STATES]
                 [JM_IDLE_CAUSES]; /* of the report's, by cause: what parts a state's joules */
    int64_t gaps[JM_IDLE_CAUSES];  /* inside the report's windows, in part at least */
    jm__intervals rests; /* gaps of 1.5 s and more, in which the board did nothing that was recorded */
    jm__work_cells work;
    jm__work_cells waits; /* gaps inside the report's windows: row is the cause, use what came after */
    jm__collective_sums collectives;
    jm__map collective_of; /* numbers of these, by row */
    double collective_s;   /* of the report's: some collective ran */
    double exposed_s;      /* of that: and no other kernel */
    /* Of steps that traced ones stand for; empty where there are none. */
    jm__use_sums extrapolated_uses; /* until jm__extrapolated_settle has added them to the others */
    jm__burst_sum *bursts;          /* [turns] */
    JM_VEC(jm__lent_row) lent_rows;
    jm__map lent_at;        /* their numbers */
    jm__work_cells lent;    /* row is one of those; seconds of traced steps, as many as there were */
    double beside_s;        /* of the report's, told by steps: of work that was traced all the same */
    double off_s[JM_DRAWS]; /* all work that is stood for, in each draw */
    double (*extrapolated_idle_s)[JM_IDLE_STATES]; /* [stands]: how long the board was idle in its steps */
    double tracing_steady_s[JM_IDLE_STATES];       /* of idle[].steady_s */
} jm__tally;
void jm__tally_free(jm__tally *tally);

/* The sums of a use, made if they are not there; NULL if memory is out. Valid until the next call. */
jm__use_sum *jm__use_sum_at(jm__use_sums *sums, uint32_t use);

/* The sums of a row of collectives, made if they are not there; SIZE_MAX if memory is out. */
size_t jm__tally_collective(jm__tally *tally, uint32_t row);

#define JM__NO_CELL SIZE_MAX

/* The cell of this row and use, made if it is not there; JM__NO_CELL if memory is out. */
size_t jm__work_cell_at(jm__work_cells *cells, uint32_t row, uint32_t use);
void jm__work_cells_free(jm__work_cells *cells);

/* So many seconds more of a cell are off by this in each draw. */
static inline void jm__work_cell_off(jm__work_cells *cells, size_t cell, const double *draws, double seconds)
{
    double *off_s = cells->off_s.items + cell * JM_DRAWS;
    for (size_t r = 0; r < JM_DRAWS; r++)
        off_s[r] += draws[r] * seconds;
}

/* The cell of what a row lends, made if it is not there, and these calls in it; JM__NO_CELL if memory is out.
 */
size_t jm__tally_lend(jm__tally *tally, jm__lent_row row, uint32_t use, uint32_t calls);

/* What one use adds to another. */
void jm__use_sum_add(jm__use_sum *to, const jm__use_sum *from, double share);

/* Uses were provisional: `final_of[use]` is what they are. False if memory is out. */
bool jm__tally_renumber(jm__tally *tally, const uint32_t *final_of);

/* From what traced steps did to what all did that they stand for. */

/* Once all work of a board has passed: adds it to the sums of the report, with the idle time that it leaves
 * of the steps' time, and parts what tracing made of the idle time of the traced ones. `from_host`: work is
 * spans of the host. */
void jm__extrapolated_settle(jm__tally *tally, const jm__extrapolated *extrapolated, bool from_host);

#endif
