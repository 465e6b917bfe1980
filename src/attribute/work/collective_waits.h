/* What the ranks of a run waited for each other in their collectives. A rank is a process on a board. Calls
 * that belong together end together, so who began first waited for who began last.
 *
 * The k-th calls of one channel (collectives.h) belong together where all ranks called it equally often.
 * Where they did not (one had more batches, or left earlier), calls belong together that were made at one
 * time; what fits nobody's is left out. */
#ifndef JM_ATTRIBUTE_WORK_COLLECTIVE_WAITS_H
#define JM_ATTRIBUTE_WORK_COLLECTIVE_WAITS_H

#include "attribute/input/window.h"
#include "attribute/work/classes.h"
#include "attribute/work/collectives.h"
#include "base/map.h"

/* Of one channel, all ranks together: 40 MiB. Of one with more nothing is said. */
enum { JM_COLLECTIVE_CALLS_MAX = 1 << 20 };

/* Not matched with other ranks' calls. */
#define JM__ALONE INT64_MIN

typedef struct jm__collective_call {
    int64_t from_ns;
    int64_t to_ns;
    int64_t all_ns;      /* when the last rank had begun; JM__ALONE: nobody knows */
    const char *kernel;  /* what ran: ranks of one collective run the same; a text that is there once */
    uint32_t collective; /* row of jm__collectives */
} jm__collective_call;

typedef struct jm__channel {
    size_t calls; /* of all ranks */
    bool unknown; /* more than may be kept, or a record that stands for several */
    bool pair;    /* sends and receives: of two ranks */
    bool by_name; /* its group is not known */
} jm__channel;

typedef struct jm__rank_calls {
    size_t channel;
    int64_t process_id;
    size_t board;
    JM_VEC(jm__collective_call) calls;
} jm__rank_calls;

typedef struct jm__collective_calls {
    JM_VEC(jm__channel) channels;
    JM_VEC(jm__rank_calls) ranks;
    jm__map rank_at; /* numbers of ranks */
} jm__collective_calls;

void jm__collective_calls_free(jm__collective_calls *calls);

/* Another call on a board, in any order of time. False if memory is out. */
bool jm__collective_calls_add(jm__collective_calls *calls, const jm__collectives *collectives,
                              uint32_t collective, const char *kernel, const jm__item *item, size_t board);

/* Of one rank in one collective, inside the report's windows. */
typedef struct jm__collective_wait {
    uint32_t collective;
    int64_t process_id;
    size_t board;
    int64_t matched;  /* calls that other ranks' were found for */
    int64_t calls;    /* of those: in which it waited */
    int64_t late;     /* of those: in which it began last, and was waited for */
    double wait_s;    /* for those that began last */
    double awaited_s; /* that others waited for it */
} jm__collective_wait;

typedef JM_VEC(jm__collective_wait) jm__collective_waits;

/* Matches the calls, and sums up what was waited. [board] of `windows`: those of the report; NULL: the board
 * is not wanted. Nothing is said of a channel of a single rank, of sends and receives among more than two,
 * and where too few calls that should belong together do: of one whose group is not known, more than one in a
 * hundred of those that all ranks have, of another one half. False if memory is out. */
bool jm__collective_waits_find(jm__collective_waits *waits, jm__collective_calls *calls,
                               const jm__windows *const *windows);

/* After that: the call of a rank that began and ended then; NULL: it is not there. */
const jm__collective_call *jm__collective_call_at(const jm__collective_calls *calls, size_t channel,
                                                  const jm__item *item, size_t board);

/* The board that was waited for most in a collective (JM__NO_COLLECTIVE: in all; else with those that are one
 * with it), and its share of the waiting; SIZE_MAX: nobody waited, or all ranks are on one. */
size_t jm__collective_awaited(const jm__collective_waits *waits, const jm__collectives *collectives,
                              uint32_t collective, double *share);

#endif
