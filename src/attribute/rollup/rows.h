/* From a filled tree to rows: energies, intervals, provenance, order. */
#ifndef JM_ATTRIBUTE_ROLLUP_ROWS_H
#define JM_ATTRIBUTE_ROLLUP_ROWS_H

#include "attribute/attribution.h"
#include "attribute/rollup/subtotals.h"
#include "attribute/rollup/tree.h"

typedef struct jm__rows {
    jm_row *items;
    size_t count;
    size_t capacity;
    JM_VEC(size_t) nodes; /* of each row; JM__NO_NODE: of `(unresolved)` */
} jm__rows;

void jm__rows_free(jm__rows *rows);

/* How the figure of a row is known. */
jm_provenance jm__row_provenance(const jm__node *node, const jm__subtotal *sub);

/* Fills the totals too, and adds the row `(unresolved)`: what the parts leave of the total. Texts belong to
 * the tree. */
jm_status jm__rows_make(jm__rows *rows, jm_report_totals *totals, jm__tree *tree, const jm__attribution *a,
                        jm_error *err);

#endif
