/* A row that was measured as a whole: what the fit's parts leave of it goes to them. */
#ifndef JM_ATTRIBUTE_ROLLUP_WHOLES_H
#define JM_ATTRIBUTE_ROLLUP_WHOLES_H

#include "attribute/attribution.h"
#include "attribute/rollup/subtotals.h"

/* After adding up. Adds to self_j of the rows within each whole, and to the sums of those around them, their
 * shares of what is left. */
jm_status jm__wholes_share(jm__subtotal *subtotals, jm__tree *tree, const jm__attribution *a, jm_error *err);

#endif
