/* Which collective a kernel is of: what has one row, and whose calls ranks are compared by.
 *
 * A span of kind "collective" around the launch (python/joulemap/_collectives.py, inject/nvtx.c) says which
 * operation it is, in which group, and how many bytes; without one the kernel's name is all that is known. */
#ifndef JM_ATTRIBUTE_WORK_COLLECTIVES_H
#define JM_ATTRIBUTE_WORK_COLLECTIVES_H

#include "attribute/input/span_index.h"
#include "attribute/input/window.h"
#include "attribute/work/classes.h"
#include "base/map.h"
#include "base/strbuf.h"

#define JM__NO_COLLECTIVE UINT32_MAX

/* Whose k-th calls belong together: one communicator's, or those of one kernel's name. */
typedef struct jm__channel_key {
    int64_t group;    /* name of the communicator or group, 0: not known */
    int64_t pair;     /* 1: of sends and receives, which two ranks make */
    uintptr_t kernel; /* where the group is not known: the name, a text that is there once */
} jm__channel_key;

typedef struct jm__collective {
    const char *name;      /* of its row: "all-reduce, dp (ranks 0,1)", or that of its kernels; there once */
    const char *operation; /* "all-reduce"; NULL: its kernels' name tells none */
    const char *kernel;    /* name of its kernels; NULL: `operation` is told by spans */
    const char *group;     /* "dp (ranks 0,1)"; NULL: not known */
    uint32_t same_as;      /* the first one of this operation and group: itself, unless two communicators have
                              the same ranks */
    size_t channel;
} jm__collective;

/* What a call is, as far as the span around it knows. */
typedef struct jm__collective_marked {
    uint32_t collective;
    size_t span;  /* the collective's, by index; JM__NO_SPAN: none */
    double bytes; /* NAN: not told */
} jm__collective_marked;

typedef struct jm__collectives {
    const jm__span_index *spans;
    const jm__classes *classes;
    JM_VEC(jm__collective) items;
    JM_VEC(jm__channel_key) channels;
    jm__map numbers, channel_numbers;
    jm__text_store texts;
} jm__collectives;
void jm__collectives_init(jm__collectives *collectives, const jm__span_index *spans,
                          const jm__classes *classes);
void jm__collectives_free(jm__collectives *collectives);

/* Of a kernel of this class, launched in `span` (by index; JM__NO_SPAN: in none); JM__NO_COLLECTIVE: there
 * are too many. False if memory is out. */
bool jm__collective_of(jm__collectives *collectives, size_t span, uint32_t class_index,
                       jm__collective_marked *marked);

/* What the ranks of a run waited for each other in their collectives. A rank is a process on a board. Calls
 * that belong together end together, so who began first waited for who began last.
 *
 * The k-th calls of one channel (collectives.h) belong together where all ranks called it equally often.
 * Where they did not (one had more batches, or left earlier), calls belong together that were made at one
 * time; what fits nobody's is left out. */

/* Of one channel, all ranks together: 40 MiB. Of one with more nothing is said. */
enum { JM_COLLECTIVE_CALLS_MAX = 1 << 20 };

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
                               const jm__intervals *const *windows);

/* The board that was waited for most in a collective (JM__NO_COLLECTIVE: in all; else with those that are one
 * with it), and its share of the waiting; SIZE_MAX: nobody waited, or all ranks are on one. */
size_t jm__collective_awaited(const jm__collective_waits *waits, const jm__collectives *collectives,
                              uint32_t collective, double *share);

/* The ranks of a run compared, before anything else is made of their kernels: so a collective that waited is
 * two pieces of work, the waiting and the rest, each with a power of its own. */

typedef struct jm__ranks {
    jm__collectives collectives;
    jm__collective_calls calls;
    jm__collective_waits waits;
    uint32_t
        *waiting; /* [kernel classes]: the class of a collective's waiting; itself: it waits for nobody */
    size_t classes;
} jm__ranks;

/* Reads through the kernels once if there are collectives of several ranks; adds classes of waiting. [board]
 * of `windows`: those of the report, NULL: the board is not wanted. */
jm_status jm__ranks_compare(jm__ranks *ranks, const jm__span_index *spans, jm__classes *classes,
                            const jm__intervals *const *windows, jm_error *err);
void jm__ranks_free(jm__ranks *ranks);

/* When the other ranks had begun, if this call of a collective waited for them; its start if it did not, or
 * if nobody knows. */
int64_t jm__ranks_all_ns(const jm__ranks *ranks, const jm__item *item, size_t board);

#endif
