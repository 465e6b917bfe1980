/* What the pass adds up, so that no item needs to be kept: by use (uses.h), and by use in each row. */
#ifndef JM_ATTRIBUTE_WORK_TALLY_H
#define JM_ATTRIBUTE_WORK_TALLY_H

#include "attribute/work/idle_cause.h"
#include "attribute/work/places.h"
#include "attribute/work/window.h"
#include "base/map.h"

#include <stddef.h>

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
} jm__use_sum;

/* What a use did in a row of the report, inside the report's windows. */
typedef struct jm__work_cell {
    uint32_t row;
    uint32_t use;
    double seconds;
    int64_t calls;    /* that began there */
    int64_t start_ns; /* of the first item */
    int64_t end_ns;   /* of the last */
} jm__work_cell;

typedef struct jm__work_cells {
    JM_VEC(jm__work_cell) items; /* in order of their first item */
    jm__map by_row;              /* numbers of items */
} jm__work_cells;

/* What is known of a row of collectives, of what began inside the report's windows. */
typedef struct jm__collective_sum {
    uint32_t row;
    int64_t told, untold; /* calls whose bytes are known, or not */
    double bytes;
    double ran_s;     /* durations without waiting, beside whatever they ran */
    double exposed_s; /* of the row's time (shares): no other kernel ran */
} jm__collective_sum;

typedef JM_VEC(jm__collective_sum) jm__collective_sums;

typedef struct jm__tally {
    JM_VEC(jm__use_sum) uses;
    jm__seconds idle[JM_IDLE_STATES];
    double idle_s[JM_IDLE_STATES]
                 [JM_IDLE_CAUSES]; /* of the report's, by cause: what parts a state's joules */
    int64_t gaps[JM_IDLE_CAUSES];  /* inside the report's windows, in part at least */
    jm__work_cells work;
    jm__collective_sums collectives;
    jm__map collective_of; /* numbers of these, by row */
    double collective_s;   /* of the report's: some collective ran */
    double exposed_s;      /* of that: and no other kernel */
    jm__work_cells waits;  /* gaps inside the report's windows: row is the cause, use what came after */
} jm__tally;

void jm__tally_free(jm__tally *tally);

/* The sums of a use, made if they are not there; NULL if memory is out. Valid until the next call. */
jm__use_sum *jm__tally_use(jm__tally *tally, uint32_t use);

/* The sums of a row of collectives, made if they are not there; SIZE_MAX if memory is out. */
size_t jm__tally_collective(jm__tally *tally, uint32_t row);

#define JM__NO_CELL SIZE_MAX

/* The cell of this row and use, made if it is not there; JM__NO_CELL if memory is out. */
size_t jm__work_cell_at(jm__work_cells *cells, uint32_t row, uint32_t use);

void jm__work_cells_free(jm__work_cells *cells);

/* Uses were provisional: `final_of[use]` is what they are. False if memory is out. */
bool jm__tally_renumber(jm__tally *tally, const uint32_t *final_of);

#endif
