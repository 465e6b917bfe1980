/* Samples that the program told of its steps: what joules a sample are made of. */
#ifndef JM_ATTRIBUTE_ROLLUP_SAMPLES_H
#define JM_ATTRIBUTE_ROLLUP_SAMPLES_H

#include "attribute/attribution.h"
#include "attribute/rollup/tree.h"

/* Those of a step, by index, that count in this report; 0: none told, or not of the time or process asked
 * for. */
int64_t jm__samples_of(const jm__attribution *a, size_t span);

/* Add them to the step's row and, unless a step around it tells its own, to the rows around it. */
void jm__samples_add(jm__tree *tree, const jm__attribution *a, size_t node, size_t span);

/* Of all steps, those inside another one that tells its own left out; -1: none told. */
int64_t jm__samples_sum(const jm__attribution *a);

#endif
