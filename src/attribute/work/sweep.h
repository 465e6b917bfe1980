/* The sweep line over the work of one board: items come nearly in order of time, are put in order of start,
 * and pieces and sums go out. */
#ifndef JM_ATTRIBUTE_WORK_SWEEP_H
#define JM_ATTRIBUTE_WORK_SWEEP_H

#include "attribute/input/window.h"
#include "attribute/work/classes.h"
#include "attribute/work/pieces.h"
#include "attribute/work/strata.h"
#include "attribute/work/tally.h"

enum { JM_ORDER_REACH = 32768 }; /* items that may come before one that began earlier */

typedef jm_status (*jm__item_taker)(void *taker, const jm__item *item, jm_error *err);

typedef struct jm__time_order {
    jm__items items; /* waiting */
    bool unsorted;
    int64_t gone_ns; /* start of the last one that went out */
    jm__item_taker take;
    void *taker;
} jm__time_order;
void jm__time_order_begin(jm__time_order *order, jm__item_taker take, void *taker);
void jm__time_order_free(jm__time_order *order);

/* Sets `*late` and takes nothing if the item began before one that has gone out. */
jm_status jm__time_order_add(jm__time_order *order, const jm__item *item, bool *late, jm_error *err);

/* All that wait go out. */
jm_status jm__time_order_end(jm__time_order *order, jm_error *err);

/* Sort by start, then by end. */
void jm__items_sort(jm__items *items);

/* The sweep line over the work of one board: items come in order of start, pieces and sums go out. */

/* Codes of pieces: idle states first, then uses. */
static inline uint32_t jm__piece_code(uint32_t use)
{
    return JM_IDLE_STATES + use;
}

/* What an item counts for. */
typedef struct jm__counted_as {
    uint32_t use;
    bool outside; /* of all spans */
    jm__place place;
    size_t cell;   /* in the tally's work; JM__NO_CELL: nothing of it is the report's */
    size_t sum;    /* in the tally's collectives; SIZE_MAX: it is none */
    uint32_t view; /* of `extrapolated`: in which time it counts; 0: in all of the report's */
    const jm__step_interval
        *step_interval; /* the traced step that it is of, if that stands for others; else NULL */
    size_t lent;        /* cell of tally.lent; JM__NO_CELL: none */
} jm__counted_as;

/* In which time an item counts, and for which steps it stands: it is of the step interval that its span lies
 * in, by index, else of the one that it was launched in. `process`: by index, as many as there are if it is
 * not known. */
void jm__extrapolated_count_as(jm__counted_as *as, const jm__extrapolated *extrapolated, const jm__item *item,
                               size_t span, size_t process);

/* What is summed up of running work until it ends, or what runs beside it changes. */
typedef struct jm__portion {
    uint32_t use;
    jm__seconds inside;
    double ran_s;     /* by the clock */
    double copies_s;  /* of the report's: a copy with nothing but copies beside it */
    double exposed_s; /* of the report's: a collective with no other kernel beside it */
    double all_s, all_copies_s,
        all_exposed_s; /* shares, whatever time is asked for: for work that stands for other */
} jm__portion;

/* What passes for each unit of weight while a crowd runs. */
typedef struct jm__passed {
    jm__seconds inside;
    double copies_s, exposed_s, all_s, all_copies_s, all_exposed_s;
    double ran_s; /* for each item, whatever its weight */
} jm__passed;

/* Work that is running. */
typedef struct jm__running {
    jm__counted_as as;
    int64_t end_ns;
    uint32_t class_index; /* without groups of durations; UINT32_MAX: of no pair */
    uint32_t beside;      /* the class that `joint` is beside; UINT32_MAX: none yet */
    jm__copy copy;
    bool collective;
    float weight;
    jm__portion alone, joint;
    jm__passed since; /* in a crowd: what had passed when `alone` was brought up to date */
} jm__running;

/* Where a view stands. */
typedef struct jm__sweep_view {
    const jm__intervals *report; /* sorted, apart */
    const jm__intervals *steady;
    size_t report_at, steady_at; /* the first that may still matter */
    jm__seconds now;             /* of the interval that passes */
} jm__sweep_view;

/* What runs in an interval of one code: of 500 threads at the same layers there are a few. */
typedef struct jm__together {
    uint32_t code;
    uint32_t count;
    double weight;
} jm__together;

typedef struct jm__sweep {
    jm__pieces *pieces;
    jm__tally *tally;
    jm__sweep_view whole; /* the report's */
    const jm__intervals *learn;
    const jm__intervals *data; /* of the report's: in which data was waited for; NULL: nobody knows */
    size_t learn_at, data_at;
    const jm__extrapolated *extrapolated; /* NULL: no steps stand for others */
    jm__sweep_view *views;                /* [extrapolated->views] */
    size_t extrapolated_at, step_interval_at;
    bool one_gap;       /* all gaps are one idle state */
    bool before;        /* nothing has run yet */
    bool worked;        /* something has, in the report's windows */
    bool after_copy;    /* what ended last was a copy to the host */
    size_t kernels;     /* of what is running: all but copies */
    size_t collectives; /* of these */
    int64_t now_ns;
    /* The use of work that one other class runs beside, its own if there is none; false if memory is out.
     * NULL: nobody asks. */
    bool (*beside)(void *context, const jm__running *item, const jm__running *other, uint32_t *use);
    void *beside_context;
    JM_VEC(jm__running) running;   /* in a crowd a heap: what ends first comes first */
    bool crowded;                  /* so many that nobody looks at each of them at each change */
    jm__passed passed;             /* since it began, or was counted anew */
    size_t changes;                /* of it, likewise */
    JM_VEC(jm__together) together; /* in the interval that passes; in a crowd of count 0, too */
    JM_VEC(size_t) place_of;       /* [code]: in `together`, if that has it there */
} jm__sweep;

/* Work that overlaps shares the time by its weights; what no work covers is idle, by the length of the gap.
 * Covers all from from_ns on without a hole. `pieces` are begun, `tally` is empty. */
void jm__sweep_begin(jm__sweep *sweep, jm__pieces *pieces, jm__tally *tally, const jm__intervals *report,
                     const jm__intervals *steady, const jm__intervals *learn, int64_t from_ns);
void jm__sweep_free(jm__sweep *sweep);

/* Some steps stand for others; before the first item. False if memory is out. */
bool jm__sweep_stratum(jm__sweep *sweep, const jm__extrapolated *extrapolated);

/* The next item: none starts before the one before it. False if memory is out. */
bool jm__sweep_take(jm__sweep *sweep, const jm__item *item, const jm__counted_as *as);

/* To the end of all work, and to to_ns at least. False if memory is out. */
bool jm__sweep_end(jm__sweep *sweep, int64_t to_ns);

#endif
