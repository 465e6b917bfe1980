/* From the sums of the pass to a filled tree. */
#ifndef JM_ATTRIBUTE_ROLLUP_ROLLUP_H
#define JM_ATTRIBUTE_ROLLUP_ROLLUP_H

#include "attribute/rollup/energy.h"
#include "attribute/rollup/requests.h"
#include "attribute/rollup/views.h"

typedef struct jm__rollup {
    jm__views views;
    jm__dominant dominant;
    jm__request_rows requests; /* by="request" alone */
    jm__row_of rows;           /* for the pass */
} jm__rollup;

/* Before the pass, which calls `rows`; initialises the tree. */
jm_status jm__rollup_begin(jm__rollup *rollup, jm__tree *tree, const jm__attribution *a, jm_error *err);

/* Put all work, idle time and measured energy of the requested boards into the tree. */
jm_status jm__rollup_fill(jm__rollup *rollup, jm_error *err);

void jm__rollup_free(jm__rollup *rollup);

#endif
