/* What the ranks of a run waited for each other in their collectives. A rank is a process on a board; the
 * k-th calls of one collective, by its kernel's name, belong together. They end together, so who began first
 * waited for who began last. */
#ifndef JM_ATTRIBUTE_WORK_COLLECTIVE_WAITS_H
#define JM_ATTRIBUTE_WORK_COLLECTIVE_WAITS_H

#include "attribute/work/classes.h"
#include "attribute/work/window.h"
#include "base/map.h"

/* Of one collective, all ranks together: 16 MiB. Of one with more nothing is said. */
enum { JM_COLLECTIVE_CALLS_MAX = 1 << 20 };

typedef struct jm__collective {
    const char *name;
    size_t calls; /* of all ranks */
    bool unknown; /* more than may be kept, or a record that stands for several */
} jm__collective;

typedef struct jm__rank_calls {
    size_t collective;
    int64_t process_id;
    size_t board;
    jm__windows calls; /* in order of their start; they may overlap */
} jm__rank_calls;

/* While items pass. */
typedef struct jm__collective_calls {
    JM_VEC(jm__collective) collectives;
    JM_VEC(jm__rank_calls) ranks;
    jm__map rank_at; /* numbers of ranks */
} jm__collective_calls;

void jm__collective_calls_free(jm__collective_calls *calls);

/* The next call on a board, of the collective of this name, a text that is there once. False if memory is
 * out. */
bool jm__collective_calls_add(jm__collective_calls *calls, const char *name, const jm__item *item,
                              size_t board);

/* Of one rank in one collective, inside the report's windows. */
typedef struct jm__collective_wait {
    const char *name;
    int64_t process_id;
    size_t board;
    int64_t calls;    /* in which it waited */
    double wait_s;    /* for those that began last */
    double ran_s;     /* in all */
    double awaited_s; /* that others waited for it */
} jm__collective_wait;

typedef JM_VEC(jm__collective_wait) jm__collective_waits;

/* [board] of `windows`: those of the report; NULL: the board is not wanted. Nothing is said of a collective
 * of a single rank, of ranks that did not call it equally often, and where more than one in a hundred of the
 * calls that should belong together cannot: one was over before another began. False if memory is out. */
bool jm__collective_waits_find(jm__collective_waits *waits, const jm__collective_calls *calls,
                               const jm__windows *const *windows);

/* The board that was waited for most in a collective (NULL: in all), and its share of the waiting; SIZE_MAX:
 * nobody waited, or all ranks are on one. */
size_t jm__collective_awaited(const jm__collective_waits *waits, const char *name, double *share);

#endif
