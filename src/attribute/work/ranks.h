/* The ranks of a run compared, before anything else is made of their kernels: so a collective that waited is
 * two pieces of work, the waiting and the rest, each with a power of its own. */
#ifndef JM_ATTRIBUTE_WORK_RANKS_H
#define JM_ATTRIBUTE_WORK_RANKS_H

#include "attribute/work/collective_waits.h"

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
                            const jm__windows *const *windows, jm_error *err);
void jm__ranks_free(jm__ranks *ranks);

/* When the other ranks had begun, if this call of a collective waited for them; its start if it did not, or
 * if nobody knows. */
int64_t jm__ranks_all_ns(const jm__ranks *ranks, const jm__item *item, size_t board);

#endif
