/* What each node and all below it have, added up from the leaves of the tree. */
#ifndef JM_ATTRIBUTE_ROLLUP_SUBTOTALS_H
#define JM_ATTRIBUTE_ROLLUP_SUBTOTALS_H

#include "attribute/rollup/energy.h"
#include "attribute/rollup/means.h"

typedef struct jm__subtotal {
    jm__cell *cells; /* sorted by column; while adding up */
    size_t cell_count;
    double measured_j, measured_u_j, busy_s, merged_s;
    double work_j, forward_j, backward_j;
    double rest_j;    /* of a whole: what its parts leave of it */
    double whole_u_j; /* of a part of a whole: what the whole's error is in it */
    bool measured, shown;
    jm__energy energy;
    jm__mean_sums means;
} jm__subtotal;

/* Fills subtotals[tree->nodes.count], which are zero, and sorts the cells by node and column. Nodes get
 * self_j and whole, and the boards and times of what is below them. */
jm_status jm__subtotals_add_up(jm__subtotal *subtotals, jm__tree *tree, const jm__attribution *a,
                               const jm__means *means, jm_error *err);

/* What adding up left behind when it failed. */
void jm__subtotals_free(jm__subtotal *subtotals, size_t count);

#endif
