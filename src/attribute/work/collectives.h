/* Collectives: which one a kernel belongs to, and how long ranks waited for each other.
 *
 * A span of kind "collective" around the launch (python/joulemap/_collectives.py, inject/nvtx.c) states the
 * operation, the group and the bytes; without one only the kernel's name is known. */
#ifndef JM_ATTRIBUTE_WORK_COLLECTIVES_H
#define JM_ATTRIBUTE_WORK_COLLECTIVES_H

#include "attribute/input/span_index.h"
#include "attribute/input/window.h"
#include "attribute/work/classes.h"
#include "base/map.h"
#include "base/strbuf.h"

#define JM__NO_COLLECTIVE UINT32_MAX

/* A channel: the k-th calls of all ranks belong together. One communicator, or one kernel's name. */
typedef struct jm__channel {
    bool pair;    /* sends and receives between two ranks */
    bool by_name; /* its group is unknown */
    size_t calls; /* of all ranks */
    bool unknown; /* too many calls, or a record of several calls */
} jm__channel;

typedef struct jm__collective {
    const char *name;      /* of its row: "all-reduce, dp (ranks 0,1)", or that of its kernels; there once */
    const char *operation; /* "all-reduce"; NULL: unknown from the kernel's name */
    const char *kernel;    /* name of its kernels; NULL: `operation` is from spans */
    const char *group;     /* "dp (ranks 0,1)"; NULL: unknown */
    uint32_t alias_of;     /* the first of this operation and group; itself, unless two communicators have the
                              same ranks */
    size_t channel;
} jm__collective;

/* A call, by the span around its launch. */
typedef struct jm__collective_info {
    uint32_t collective;
    size_t span;  /* of the collective, by index; JM__NO_SPAN: none */
    double bytes; /* NAN: unknown */
} jm__collective_info;

typedef struct jm__collective_call {
    int64_t from_ns;
    int64_t to_ns;
    int64_t all_ns;      /* when the last rank began; JM__ALONE: not matched */
    const char *kernel;  /* the same for all ranks of a collective; interned */
    uint32_t collective; /* row of jm__collectives */
} jm__collective_call;

typedef struct jm__rank_calls {
    size_t channel;
    int64_t process_id;
    size_t board;
    JM_VEC(jm__collective_call) calls;
} jm__rank_calls;

typedef struct jm__collectives {
    const jm__span_index *spans;
    const jm__classes *classes;
    JM_VEC(jm__collective) items;
    JM_VEC(jm__channel) channels;
    JM_VEC(jm__rank_calls) ranks; /* of each channel */
    jm__map numbers, channel_numbers, rank_numbers;
    jm__text_store texts;
} jm__collectives;
void jm__collectives_init(jm__collectives *collectives, const jm__span_index *spans,
                          const jm__classes *classes);
void jm__collectives_free(jm__collectives *collectives);

/* The collective of a kernel of this class, launched in `span` (by index; JM__NO_SPAN: in none);
 * JM__NO_COLLECTIVE: there are too many. False if memory is out. */
bool jm__collective_of(jm__collectives *collectives, size_t span, uint32_t class_index,
                       jm__collective_info *marked);

/* Waits of the ranks of a run in their collectives. A rank is a process on a board. Calls that belong
 * together end together, so ranks that began early waited for the one that began last.
 *
 * If all ranks called a channel equally often, their k-th calls belong together. If not (one had more
 * batches, or left earlier), calls that overlap in time belong together; unmatched calls are left out. */

/* Of one channel, all ranks together: 40 MiB. Channels with more are not compared. */
enum { JM_COLLECTIVE_CALLS_MAX = 1 << 20 };

/* Add a call on a board, in any order of time. False if memory is out. */
bool jm__collective_calls_add(jm__collectives *collectives, uint32_t collective, const char *kernel,
                              const jm__item *item, size_t board);

/* One rank in one collective, within the report's windows. */
typedef struct jm__collective_wait {
    uint32_t collective;
    int64_t process_id;
    size_t board;
    int64_t matched;  /* calls matched with those of other ranks */
    int64_t calls;    /* of those: it waited */
    int64_t late;     /* of those: it began last, and others waited for it */
    double wait_s;    /* its waiting */
    double awaited_s; /* waiting of the others for it */
} jm__collective_wait;

typedef JM_VEC(jm__collective_wait) jm__collective_waits;

/* Match the calls and sum up the waiting. windows[board]: of the report; NULL: the board is not requested.
 * Left out are channels of a single rank, sends and receives among more than two, and channels with too many
 * unmatched calls: more than 1 % if the group is unknown, else more than half. False if memory is out. */
bool jm__collective_waits_find(jm__collective_waits *waits, jm__collectives *collectives,
                               const jm__intervals *const *windows);

/* The board that caused most waiting in a collective with its aliases (JM__NO_COLLECTIVE: in all), and its
 * share of the waiting. SIZE_MAX: nobody waited, or all ranks are on one board. */
size_t jm__collective_awaited(const jm__collective_waits *waits, const jm__collectives *collectives,
                              uint32_t collective, double *share);

/* The ranks of a run are compared before the pass, so that a collective that waited is two items, the waiting
 * and the rest, each with a power of its own. */
typedef struct jm__ranks {
    jm__collectives collectives;
    jm__collective_waits waits;
    uint32_t *waiting; /* [kernel classes]: the class of its waiting, or itself if there is none */
} jm__ranks;

/* Reads the kernels once if there are collectives of several ranks; adds classes of waiting. windows[board]:
 * of the report; NULL: the board is not requested. */
jm_status jm__ranks_compare(jm__ranks *ranks, const jm__span_index *spans, jm__classes *classes,
                            const jm__intervals *const *windows, jm_error *err);
void jm__ranks_free(jm__ranks *ranks);

/* When the last rank began, if this call of a collective waited for it; else its own start. */
int64_t jm__ranks_all_ns(const jm__ranks *ranks, const jm__item *item, size_t board);

#endif
