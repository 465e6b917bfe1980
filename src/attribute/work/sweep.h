/* The sweep line over the work of one board: items arrive nearly in order of time and are sorted by start;
 * the results are pieces and sums. */
#ifndef JM_ATTRIBUTE_WORK_SWEEP_H
#define JM_ATTRIBUTE_WORK_SWEEP_H

#include "attribute/input/window.h"
#include "attribute/work/classes.h"
#include "attribute/work/pieces.h"
#include "attribute/work/strata.h"
#include "attribute/work/tally.h"
#include "attribute/work/unrecorded.h"

enum { JM_ORDER_REACH = 32768 }; /* an item may arrive after this many that began later */

typedef jm_status (*jm__item_sink)(void *context, const jm__item *item, jm_error *err);

typedef struct jm__time_order {
    jm__items items; /* not yet emitted */
    bool unsorted;
    int64_t emitted_ns; /* start of the last emitted item */
    jm__item_sink emit;
    void *context;
} jm__time_order;
void jm__time_order_begin(jm__time_order *order, jm__item_sink emit, void *context);
void jm__time_order_free(jm__time_order *order);

/* Sets `*late` and does not take the item if it began before one that was emitted. */
jm_status jm__time_order_add(jm__time_order *order, const jm__item *item, bool *late, jm_error *err);

/* Emits all remaining items. */
jm_status jm__time_order_end(jm__time_order *order, jm_error *err);

/* Sort by start, then by end. */
void jm__items_sort(jm__items *items);

/* Where an item counts. */
typedef struct jm__counted_as {
    uint32_t use;
    bool outside; /* of all spans */
    jm__place place;
    size_t cell;   /* in tally.work; JM__NO_CELL: it is not in the report */
    size_t sum;    /* in tally.collectives; SIZE_MAX: it is no collective */
    uint32_t view; /* of `extrapolated`: the time in which it counts; 0: all of the report */
    const jm__step_interval *step_interval; /* its traced step, if that represents others; else NULL */
    size_t lent;                            /* cell of tally.lent; JM__NO_CELL: none */
} jm__counted_as;

/* Sets the view and the step interval of an item: the one that contains its span (by index), else the one
 * that contains its launch. `process`: by index; the number of processes if it is unknown. */
void jm__extrapolated_assign(jm__counted_as *as, const jm__extrapolated *extrapolated, const jm__item *item,
                             size_t span, size_t process);

/* Sums of running work. `all`: in any time, for extrapolation. */
typedef struct jm__portion {
    jm__seconds inside;
    double ran_s;                              /* wall time, not shared */
    double copies_s;                           /* in the report: a copy, only copies run beside it */
    double exposed_s;                          /* in the report: a collective, no other kernel runs */
    double all_s, all_copies_s, all_exposed_s; /* the same, in any time */
} jm__portion;

/* Work that is running. */
typedef struct jm__running {
    jm__counted_as as;
    int64_t end_ns;
    uint32_t class_index;
    uint32_t beside;    /* the other class of `joint`; UINT32_MAX: none */
    uint32_t joint_use; /* beside that class; its own: the two are no pair */
    jm__copy copy;
    bool collective;
    float weight;
    jm__portion alone, joint; /* until it ends or the work beside it changes */
    jm__portion since;        /* in a crowd: sweep.passed when `alone` was last updated */
} jm__running;

/* The position in a view's intervals. */
typedef struct jm__sweep_view {
    const jm__intervals *report; /* normalised */
    const jm__intervals *steady;
    size_t report_at, steady_at; /* the first intervals that may still matter */
    jm__seconds now;             /* of the current interval */
} jm__sweep_view;

/* Running work of one code: 500 threads in the same layers run only a few codes. */
typedef struct jm__active_code {
    uint32_t code;
    uint32_t count;
    double weight;
} jm__active_code;

typedef struct jm__sweep {
    jm__pieces *pieces;
    jm__tally *tally;
    jm__sweep_view whole; /* all time of the report */
    const jm__intervals *learn;
    const jm__intervals *data;          /* waits for data in the report; NULL: unknown */
    const jm__utilisation *utilisation; /* NULL: unknown */
    size_t learn_at, data_at;
    const jm__extrapolated *extrapolated; /* NULL: no step represents others */
    jm__sweep_view *views;                /* [extrapolated->views] */
    size_t extrapolated_at, step_interval_at;
    bool one_gap;       /* all gaps are one idle state */
    bool nothing_ran;   /* so far */
    bool worked;        /* something ran in the report's windows */
    bool after_copy;    /* the last item to end was a copy to the host */
    size_t kernels;     /* running items that are no copies */
    size_t collectives; /* of these */
    int64_t now_ns;
    /* The use of work beside one other class; its own if they are no pair; false if memory is out. NULL:
     * pairs are not looked for. */
    bool (*beside)(void *context, const jm__running *item, const jm__running *other, uint32_t *use);
    void *beside_context;
    JM_VEC(jm__running) running; /* in a crowd a heap by end */
    bool crowded;                /* too many to update each at each change */
    jm__portion passed; /* of a unit of weight, since the crowd began or was last updated as a whole */
    size_t changes;     /* in that time */
    JM_VEC(jm__active_code) active; /* in the current interval; in a crowd also of count 0 */
    JM_VEC(size_t) active_at;       /* [code]: index in `active`, valid if that item has the code */
} jm__sweep;

/* Overlapping work shares the time by its weights; time without work is idle, by the length of the gap.
 * Covers all time from from_ns on. `pieces` are begun, `tally` is empty. */
void jm__sweep_begin(jm__sweep *sweep, jm__pieces *pieces, jm__tally *tally, const jm__intervals *report,
                     const jm__intervals *steady, const jm__intervals *learn, int64_t from_ns);
void jm__sweep_free(jm__sweep *sweep);

/* Some steps represent others; call it before the first item. False if memory is out. */
bool jm__sweep_extrapolate(jm__sweep *sweep, const jm__extrapolated *extrapolated);

/* The next item, in order of start. False if memory is out. */
bool jm__sweep_take(jm__sweep *sweep, const jm__item *item, const jm__counted_as *as);

/* Continue to the end of all work, and at least to to_ns. False if memory is out. */
bool jm__sweep_end(jm__sweep *sweep, int64_t to_ns);

#endif
