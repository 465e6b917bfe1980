/* Where each node stands among the rows: parents before their children. */
#ifndef JM_ATTRIBUTE_ROLLUP_ROW_ORDER_H
#define JM_ATTRIBUTE_ROLLUP_ROW_ORDER_H

#include "attribute/rollup/subtotals.h"

typedef struct jm__row_order {
    size_t *nodes;  /* [nodes of the tree], as rows */
    int32_t *depth; /* [nodes of the tree], by node */
} jm__row_order;

/* Siblings as the program ran; kernels and types by their energy. */
jm_status jm__row_order_find(jm__row_order *order, const jm__tree *tree, const jm__subtotal *subtotals,
                             jm_by by, jm_error *err);
void jm__row_order_free(jm__row_order *order);

#endif
