/* Samples and tokens of steps, told or found: what joules a sample and a token are made of. */
#ifndef JM_ATTRIBUTE_ROLLUP_AMOUNTS_H
#define JM_ATTRIBUTE_ROLLUP_AMOUNTS_H

#include "attribute/attribution.h"
#include "attribute/rollup/tree.h"

/* Add those of a step, by index, to its row and, unless a step around it tells its own, to the rows around
 * it; if they are of the time and process asked for. */
void jm__amounts_add(jm__tree *tree, const jm__attribution *a, size_t node, size_t span);

/* Of all steps, those inside another one that tells its own left out; -1: none told. */
int64_t jm__amount_sum(const jm__attribution *a, jm__amount amount);

#endif
